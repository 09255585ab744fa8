/* Sums, squares and extremes by group. The rows of group g are order[edges[g]] to order[edges[g + 1]], or those themselves
 * without an order.
 */
#include "columns.h"

/* The rows of a block, where they lie or brought together. */
static const double *gathered(const double *values, const int32_t *order, int64_t start, int64_t count, double *room) {
    if (!order) return values + start;
    for (int64_t i = 0; i < count; i++) room[i] = values[order[start + i]];
    return room;
}

/* So many are added as they come, and their sums exactly. */
enum { FEW = 128 };

/* Into `sums` (groups, 2) the sum and that of squares. */
EXPORT(group_sums)(const double *values, const int32_t *order, const int64_t *edges, int64_t groups, double *sums) {
    double room[BLOCK];
    for (int64_t g = 0; g < groups; g++) {
        double lost[2] = {0.0, 0.0};
        for (int64_t start = edges[g]; start < edges[g + 1]; start += BLOCK) {
            const int64_t count = fewer(BLOCK, edges[g + 1] - start);
            const double *x = gathered(values, order, start, count, room);
            for (int64_t first = 0; first < count; first += FEW) {
                const int64_t last = fewer(first + FEW, count);
                double total = 0.0, squares = 0.0;
#pragma omp simd reduction(+ : total, squares)
                for (int64_t i = first; i < last; i++) {
                    total += x[i];
                    squares += x[i] * x[i];
                }
                add_exactly(&sums[2 * g], &lost[0], total);
                add_exactly(&sums[2 * g + 1], &lost[1], squares);
            }
        }
        sums[2 * g] += lost[0];
        sums[2 * g + 1] += lost[1];
    }
    return 0;
}

/* Into `extremes` (groups, 2) the smallest and the largest of numbers that are not negative. */
EXPORT(group_extremes)(const double *values, const int32_t *order, const int64_t *edges, int64_t groups, double *extremes) {
    double room[BLOCK];
    for (int64_t g = 0; g < groups; g++)
        for (int64_t start = edges[g]; start < edges[g + 1]; start += BLOCK) {
            const int64_t count = fewer(BLOCK, edges[g + 1] - start);
            const double *x = gathered(values, order, start, count, room);
            extremes[2 * g] = smaller(extremes[2 * g], smallest_of(x, count));
            extremes[2 * g + 1] = larger(extremes[2 * g + 1], largest_of(x, count));
        }
    return 0;
}

/* (sum over each cluster + padding * what it lacks) / its divisor. */
EXPORT(cluster_means)(const double *values, const int64_t *starts, const double *divisor, int64_t clusters, double padding,
                      double *means) {
    for (int64_t c = 0; c < clusters; c++) {
        double total = 0.0;
        for (int64_t i = starts[c]; i < starts[c + 1]; i++) total += values[i];
        means[c] = (total + padding * (divisor[c] - (double)(starts[c + 1] - starts[c]))) / divisor[c];
    }
    return 0;
}

/* Weights p / q and weights minus 1, (p - q) / q; says how many weights are above a limit, or no number. */
EXPORT(weigh)(const double *restrict p, const double *restrict q, int64_t rows, double most, double *restrict weight,
              double *restrict excess) {
    double beyond = 0.0;
#pragma omp simd reduction(+ : beyond)
    for (int64_t i = 0; i < rows; i++) {
        const double w = p[i] / q[i];
        weight[i] = w;
        excess[i] = (p[i] - q[i]) / q[i];
        beyond += w <= most ? 0.0 : 1.0;
    }
    return (int64_t)beyond;
}

/* By the exponent of each weight, clipped to `bins`, the rounds and their summed weight, into `sizes` (groups, bins, 2). */
EXPORT(group_sizes)(const double *weights, const int32_t *order, const int64_t *edges, int64_t groups, int64_t shift,
                    int64_t bins, double *sizes) {
    for (int64_t g = 0; g < groups; g++) {
        double *of_group = sizes + g * bins * 2;
        for (int64_t i = edges[g]; i < edges[g + 1]; i++) {
            const double weight = weights[order ? order[i] : i];
            int64_t bits;
            memcpy(&bits, &weight, sizeof bits);
            /* As frexp has it, of numbers in [0.5, 1); what is too small for an exponent of its own is in the first bin. */
            int64_t bin = weight > 0.0 ? (bits >> 52) - 1022 + shift : 0;
            bin = bin < 0 ? 0 : bin >= bins ? bins - 1 : bin;
            of_group[2 * bin] += 1.0;
            of_group[2 * bin + 1] += weight;
        }
    }
    return 0;
}

/* The places of up to `most` largest weights of each group, the earlier first among equals, into `places` (groups, most). */
EXPORT(group_largest)(const double *weights, const int32_t *order, const int64_t *edges, int64_t groups, int64_t most,
                      int64_t *places) {
    for (int64_t g = 0; g < groups; g++) {
        int64_t *top = places + g * most, found = 0;
        for (int64_t i = edges[g]; i < edges[g + 1]; i++) {
            const int64_t place = order ? order[i] : i;
            if (found == most && !(weights[place] > weights[top[most - 1]])) continue;
            int64_t k = found < most ? found++ : most - 1;
            for (; k > 0 && weights[place] > weights[top[k - 1]]; k--) top[k] = top[k - 1];
            top[k] = place;
        }
    }
    return 0;
}
