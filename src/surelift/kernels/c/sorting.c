#include "common.h"

/* A counting sort: `edges` (groups + 1 zeros) become where each group starts, `order` the rows of group after group. */
EXPORT(sort_by_code)(const int64_t *codes, int64_t rows, int64_t groups, int32_t *order, int64_t *edges) {
    for (int64_t i = 0; i < rows; i++)
        if (codes[i] >= 0) edges[codes[i] + 1]++;
    for (int64_t g = 0; g < groups; g++) edges[g + 1] += edges[g];
    for (int64_t i = 0; i < rows; i++)
        if (codes[i] >= 0) order[edges[codes[i]]++] = (int32_t)i;
    for (int64_t g = groups; g > 0; g--) edges[g] = edges[g - 1];
    edges[0] = 0;
    return 0;
}

/* A block for each number, from the upper half of its hash. */
EXPORT(random_blocks)(const uint64_t *restrict numbers, int64_t rows, int64_t count, int64_t *restrict codes) {
    for (int64_t i = 0; i < rows; i++) codes[i] = (int64_t)((scrambled(numbers[i]) >> 32) * (uint64_t)count >> 32);
    return 0;
}
