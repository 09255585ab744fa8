#include "common.h"

/* How many times the log is redrawn at once, as in redraws.py; and after how many rounds their sums join the others. */
enum { REDRAWN = 500, JOINED_ROUNDS = 64 };

/* The actions of one round as an alias table: column j holds its own weight below the threshold, in 32-bit fixed point, and
 * another's above it.
 */
typedef struct {
    double *weights; /* both of every column, one beside the other */
    double *scaled;
    int64_t *threshold, *small, *large;
} Alias;

static void fill_alias(Alias table, const double *chances, const double *weights, int64_t size) {
    double total = 0.0;
    int64_t smalls = 0, larges = 0;
    for (int64_t j = 0; j < size; j++) total += chances[j];
    for (int64_t j = 0; j < size; j++) {
        table.scaled[j] = chances[j] / total * (double)size;
        table.weights[2 * j] = table.weights[2 * j + 1] = weights[j];
        table.threshold[j] = UINT32_MAX;
        if (table.scaled[j] < 1.0)
            table.small[smalls++] = j;
        else
            table.large[larges++] = j;
    }
    while (smalls > 0 && larges > 0) {
        const int64_t poor = table.small[--smalls], rich = table.large[larges - 1];
        table.threshold[poor] = (int64_t)(table.scaled[poor] * UINT32_MAX);
        table.weights[2 * poor + 1] = weights[rich];
        table.scaled[rich] -= 1.0 - table.scaled[poor];
        if (table.scaled[rich] < 1.0) {
            larges--;
            table.small[smalls++] = rich;
        }
    }
}

/* A weight for every lane, drawn by a hash of the counter and the lane. */
static void draw_weights(Alias table, int64_t size, uint64_t counter, int64_t lanes, double *restrict redrawn) {
    uint64_t words[REDRAWN];
    for (int64_t j = 0; j < lanes; j++)
        words[j] = (scrambled((counter + (uint64_t)j) * UINT64_C(0x9E3779B97F4A7C15)) >> 32) * (uint64_t)size;
    for (int64_t j = 0; j < lanes; j++) {
        const int64_t column = (int64_t)(words[j] >> 32), rest = (int64_t)(words[j] & UINT32_MAX);
        redrawn[j] = table.weights[2 * column + (rest > table.threshold[column])];
    }
}

/* Redraw the log once in every lane, from the last round to the first: sums of (weight/mixed + redrawn/swapped)^2, and of
 * (redrawn/total)^2. Needs room for 3 real and 3 whole numbers for every action of the largest round.
 */
EXPORT(redraw)(const double *logged, const double *prefix, const double *chances, const double *weights,
               const int64_t *starts, int64_t rounds, uint64_t counter, int64_t lanes, double *reals, int64_t *wholes,
               int64_t most, double *variances, double *expected) {
    const Alias table = {reals, reals + 2 * most, wholes, wholes + most, wholes + 2 * most};
    double redrawn[REDRAWN], suffix[REDRAWN], varied[REDRAWN], squares[REDRAWN], lost[REDRAWN], lost_squares[REDRAWN];
    for (int64_t j = 0; j < lanes; j++)
        suffix[j] = varied[j] = squares[j] = lost[j] = lost_squares[j] = variances[j] = expected[j] = 0.0;
    for (int64_t k = rounds - 1; k >= 0; k--) {
        const int64_t size = starts[k + 1] - starts[k];
        fill_alias(table, chances + starts[k], weights + starts[k], size);
        draw_weights(table, size, counter + (uint64_t)k * REDRAWN, lanes, redrawn);
        const double weight = logged[k], before = k > 0 ? prefix[k - 1] : 0.0;
#pragma omp simd
        for (int64_t j = 0; j < lanes; j++) {
            const double others = before + suffix[j], mixed = others + weight, swapped = others + redrawn[j];
            /* With one division where neither sum is zero. */
            const double product = mixed * swapped, change = (weight * swapped + redrawn[j] * mixed) / product;
            const double ones = (mixed > 0.0 ? 1.0 : 0.0) + (swapped > 0.0 ? 1.0 : 0.0);
            const double kept = product > 0.0 ? change : ones;
            varied[j] += kept * kept;
            squares[j] += redrawn[j] * redrawn[j];
            suffix[j] += redrawn[j];
        }
        if (k % JOINED_ROUNDS == 0)
            for (int64_t j = 0; j < lanes; j++) {
                add_exactly(&variances[j], &lost[j], varied[j]);
                add_exactly(&expected[j], &lost_squares[j], squares[j]);
                varied[j] = squares[j] = 0.0;
            }
    }
    for (int64_t j = 0; j < lanes; j++) {
        variances[j] += lost[j];
        expected[j] = suffix[j] > 0.0 ? (expected[j] + lost_squares[j]) / (suffix[j] * suffix[j]) : 1.0;
    }
    return 0;
}
