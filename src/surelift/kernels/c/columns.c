#include "columns.h"

/* A column in double precision; says how many values are not between two numbers. */
EXPORT(read_numbers)(const void *source, int64_t kind, int64_t rows, double least, double most, double *target) {
    int64_t outside = 0;
    for (int64_t start = 0; start < rows; start += BLOCK) {
        const int64_t count = fewer(BLOCK, rows - start);
        outside += copy_numbers(source, kind, start, count, least, most, target + start);
    }
    return outside;
}

/* The hashes of rounds: the first lane into `words`, where wanted, and the sums of halves of both into `totals`. A column is
 * numbers, or, where `others` has a second one for it, two words for each round.
 */
EXPORT(hash_columns)(const void *const *columns, const void *const *others, int64_t count, int64_t rows, uint64_t *words,
                     uint64_t *totals) {
    _Alignas(64) uint64_t low[BLOCK], high[BLOCK];
    for (int64_t start = 0; start < rows; start += BLOCK) {
        const int64_t part = fewer(BLOCK, rows - start);
        begin_hashes(low, high, part);
        for (int64_t c = 0; c < count; c++) {
            if (others[c]) {
                mix_words((const uint64_t *)columns[c] + start, low, SEEDS[0], part);
                mix_words((const uint64_t *)others[c] + start, high, SEEDS[1], part);
            } else {
                mix_numbers((const double *)columns[c] + start, low, high, part);
            }
        }
        finish_hashes(low, part, totals);
        finish_hashes(high, part, totals + 2);
        if (words) memcpy(words + start, low, (size_t)part * sizeof *words);
    }
    return 0;
}

/* How many values are not between two numbers, both allowed. */
EXPORT(count_outside)(const double *values, int64_t rows, double least, double most) {
    return count_outside(values, rows, least, most);
}
