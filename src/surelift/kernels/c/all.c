/* All loops, as one file to compile. */
#include "log_sums.c"
#include "sorting.c"
