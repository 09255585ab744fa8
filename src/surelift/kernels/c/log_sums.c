#include "log_sums.h"

typedef struct {
    double still, below;
} Signs;

/* The rows of a block, plus the offset and at least zero; counts those where nothing was added to it, and those below the
 * floor.
 */
static Signs shifted(const double *values, const int32_t *order, int64_t rows, double offset, double floor, double *block) {
    double still = 0.0, below = 0.0;
    if (order) {
        for (int64_t i = 0; i < rows; i++) block[i] = values[order[i]];
        values = block;
    }
#pragma omp simd reduction(+ : still, below)
    for (int64_t i = 0; i < rows; i++) {
        const double value = values[i] + offset;
        still += value == offset ? 1.0 : 0.0;
        below += value < floor ? 1.0 : 0.0;
        block[i] = value > 0.0 ? value : 0.0;
    }
    return (Signs){still, below};
}

/* For every group, sum log(1 + smoothing max(value + offset, 0)), into totals (groups, count); says how many rows have
 * value + offset below the floor. The rows of group g are order[edges[g]] to order[edges[g + 1]], or those themselves
 * without an order.
 */
EXPORT(log_sums)(const double *values, double offset, double floor, const int32_t *order, const int64_t *edges,
                 int64_t groups, const double *smoothings, int64_t count, double *totals, double *lost) {
    _Alignas(64) double block[BLOCK_ROOM], few[BLOCK_ROOM];
    double below = 0.0;
    for (int64_t g = 0; g < groups; g++) {
        double *total = totals + g * count, *missing = lost + g * count;
        double alike = 0.0;
        int64_t filled = 0;
        for (int64_t start = edges[g]; start < edges[g + 1]; start += BLOCK) {
            const int64_t rows = fewer(BLOCK, edges[g + 1] - start);
            const Signs signs =
                shifted(order ? values : values + start, order ? order + start : NULL, rows, offset, floor, block);
            below += signs.below;
            if (5.0 * signs.still < 3.0 * (double)rows) {
                add_block(block, rows, smoothings, count, total, missing);
                continue;
            }
            /* Most rows add the same, log(1 + smoothing offset): they are counted, and the others wait for a whole block. */
            alike += signs.still;
            if (filled + rows - (int64_t)signs.still > BLOCK) {
                add_block(few, filled, smoothings, count, total, missing);
                filled = 0;
            }
            for (int64_t i = 0; i < rows; i++) {
                few[filled] = block[i];
                filled += block[i] != offset;
            }
        }
        add_block(few, filled, smoothings, count, total, missing);
        for (int64_t k = 0; k < count; k++) {
            if (alike > 0.0 && offset > 0.0) add_exactly(&total[k], &missing[k], alike * log1p(smoothings[k] * offset));
            total[k] += missing[k];
        }
    }
    return (int64_t)below;
}
