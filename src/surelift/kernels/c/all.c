/* All loops, as one file to compile. */
#include "batch.c"
#include "columns.c"
#include "control.c"
#include "log_products.c"
#include "log_sums.c"
#include "sorting.c"
#include "sums.c"
#include "texts.c"
