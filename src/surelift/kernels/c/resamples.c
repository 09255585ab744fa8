#include "common.h"

/* Poisson resamples, some of them and some rows at a time. Terms are added over a few rows, then over a block, then over
 * all blocks: rounding grows with the number of additions in a row.
 */
enum { DRAWS = 32, FEW_ROWS = 16, RESAMPLED = 1024, EDGES = 12 };

typedef struct {
    uint32_t first[RESAMPLED], second[RESAMPLED];
    double terms[RESAMPLED], others[RESAMPLED];
    int64_t rows;
} Resampled;

/* How often a round enters a resample: how many of the edges the chance, a hash of both their numbers, has reached. */
static inline uint32_t copies(uint32_t first, uint32_t second, const uint32_t *edges) {
    uint32_t word = first, reached = 0;
    word = (word ^ (word >> 16)) * UINT32_C(0x7FEB352D) ^ second;
    word = (word ^ (word >> 15)) * UINT32_C(0x846CA68B);
    word ^= word >> 16;
    for (int k = 0; k < EDGES; k++) reached += word >= edges[k];
    return reached;
}

static void resample_block(const Resampled *block, const uint32_t *edges, int64_t draw, double *restrict sums,
                           double *restrict other_sums, double *restrict rounds) {
    uint32_t shifts[DRAWS], seen[DRAWS], limits[EDGES];
    memcpy(limits, edges, sizeof limits);
    for (int64_t j = 0; j < DRAWS; j++) {
        shifts[j] = (uint32_t)(draw + j + 1) * UINT32_C(0x9E3779B9);
        seen[j] = 0;
        sums[j] = other_sums[j] = 0.0;
    }
    for (int64_t i = 0; i < block->rows;) {
        const int64_t stop = fewer(i + FEW_ROWS, block->rows);
        double part[DRAWS] = {0.0}, other_part[DRAWS] = {0.0};
        for (; i < stop; i++) {
            const uint32_t first = block->first[i], second = block->second[i];
            const double term = block->terms[i], other = block->others[i];
            if (term == 0.0 && other == 0.0) {
#pragma omp simd
                for (int64_t j = 0; j < DRAWS; j++) seen[j] += copies(first + shifts[j], second, limits);
                continue;
            }
#pragma omp simd
            for (int64_t j = 0; j < DRAWS; j++) {
                const uint32_t count = copies(first + shifts[j], second, limits);
                seen[j] += count;
                part[j] += (double)(int32_t)count * term;
                other_part[j] += (double)(int32_t)count * other;
            }
        }
        for (int64_t j = 0; j < DRAWS; j++) sums[j] += part[j], other_sums[j] += other_part[j];
    }
    for (int64_t j = 0; j < DRAWS; j++) rounds[j] = (double)seen[j];
}

/* For every group and resample the sums of two terms and the number of rounds, into totals (groups, 3, draws). A round is
 * known by its number; the rows of group g are order[edges[g]] to order[edges[g + 1]], or those themselves without an order.
 */
EXPORT(resample)(const double *terms, const double *others, const uint64_t *numbers, const int32_t *order,
                 const int64_t *edges, int64_t groups, const uint32_t *chances, int64_t draws, double *totals, double *lost) {
    Resampled block;
    double sums[DRAWS], other_sums[DRAWS], rounds[DRAWS];
    for (int64_t g = 0; g < groups; g++) {
        double *total = totals + 3 * g * draws, *missing = lost + 2 * g * draws;
        for (int64_t start = edges[g]; start < edges[g + 1]; start += RESAMPLED) {
            block.rows = fewer(RESAMPLED, edges[g + 1] - start);
            for (int64_t i = 0; i < block.rows; i++) {
                const int64_t row = order ? order[start + i] : start + i;
                const uint64_t word = scrambled((numbers[row] + 1) * UINT64_C(0x9E3779B97F4A7C15));
                block.first[i] = (uint32_t)word;
                block.second[i] = (uint32_t)(word >> 32);
                block.terms[i] = terms[row];
                block.others[i] = others[row];
            }
            for (int64_t draw = 0; draw < draws; draw += DRAWS) {
                resample_block(&block, chances, draw, sums, other_sums, rounds);
                for (int64_t j = 0, k = draw; j < fewer(DRAWS, draws - draw); j++, k++) {
                    add_exactly(&total[k], &missing[k], sums[j]);
                    add_exactly(&total[draws + k], &missing[draws + k], other_sums[j]);
                    total[2 * draws + k] += rounds[j];
                }
            }
        }
        for (int64_t k = 0; k < 2 * draws; k++) total[k] += missing[k];
    }
    return 0;
}
