/* All loops, as one file to compile. */
#include "log_products.c"
#include "log_sums.c"
#include "quadrature.c"
#include "redraws.c"
#include "resamples.c"
#include "sorting.c"
#include "vector_hashes.c"
