#include "weight_tables.h"

/* For every group, what is in each of its bins: the rounds, and sums of their places on both axes and of the products. Bins
 * that hold a round are written one group after the other, `sizes` of each; `table` is all zero, before and after. Says how
 * many there are. The rows of group g are order[edges[g]] to order[edges[g + 1]], or those themselves without an order.
 */
EXPORT(weight_tables)(const double *excess, const double *reward, const int32_t *order, const int64_t *edges, int64_t groups,
                      double *table, int32_t *bins, double *sums, int64_t *sizes) {
    double some_excess[BLOCK], some_reward[BLOCK], weight_places[BLOCK], reward_places[BLOCK];
    int32_t columns[BLOCK], rows[BLOCK];
    int64_t found = 0;
    for (int64_t g = 0; g < groups; g++) {
        const int64_t first = found;
        for (int64_t start = edges[g]; start < edges[g + 1]; start += BLOCK) {
            const int64_t count = fewer(BLOCK, edges[g + 1] - start);
            for (int64_t i = 0; i < count; i++) {
                const int64_t row = order ? order[start + i] : start + i;
                some_excess[i] = excess[row];
                some_reward[i] = reward[row];
            }
            weight_bins(some_excess, count, columns, weight_places);
            reward_bins(some_reward, count, rows, reward_places);
            for (int64_t i = 0; i < count; i++) {
                const int32_t bin = rows[i] + columns[i];
                double *of_bin = table + PLACES * bin;
                bins[found] = bin;
                found += of_bin[0] == 0.0;
                fill_bin(of_bin, weight_places[i], reward_places[i]);
            }
        }
        for (int64_t k = first; k < found; k++) {
            double *of_bin = table + PLACES * bins[k];
            memcpy(sums + PLACES * k, of_bin, PLACES * sizeof *sums);
            memset(of_bin, 0, PLACES * sizeof *of_bin);
        }
        sizes[g] = found - first;
    }
    return found;
}
