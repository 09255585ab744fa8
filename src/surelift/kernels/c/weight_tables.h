/* A table of weights by rewards: each round is put into a bin of both axes, with its places within them.
 *
 * Edges are read off the bits of a number: of |weight - 1| from 2^-12 to 2^16 four in every power of two, of a reward, or of
 * 1 minus a reward, from 2^-14 to 1/2 two; below the first edge there is one at 0. All of 0, 1 and 1/2 are edges. A place
 * within a bin is linear, from 0 at its lower edge to 1 at the upper one.
 */
#ifndef SURELIFT_WEIGHT_TABLES_H
#define SURELIFT_WEIGHT_TABLES_H

#include "common.h"

/* As in weight_tables.py: the bin that begins at weight 1; how many there are of weights, and of rewards. */
enum { WEIGHT_ONE = 50, WEIGHT_BINS = 164, REWARD_BINS = 54, PLACES = 4 };

typedef struct {
    int64_t step;
    double place;
} Step;

/* How many edges lie below a number of at most the largest edge, and where it is between the next two. `bits` of the
 * mantissa tell the edges within a power of two apart; the least edge is 2^-octaves.
 */
static inline Step step_of(double number, double least, int bits, int octaves) {
    const double above = larger(number, least);
    int64_t word;
    memcpy(&word, &above, sizeof word);
    const int shift = 52 - bits;
    const int64_t step = (word >> shift) - ((int64_t)(1023 - octaves) << bits) + 1;
    const int64_t rest = ((word & ((INT64_C(1) << shift) - 1)) << bits) | INT64_C(0x3FF0000000000000);
    double place;
    memcpy(&place, &rest, sizeof place);
    const bool below = number < least;
    return (Step){below ? 0 : step, below ? number / least : place - 1.0};
}

/* Of weights given by what they exceed 1 by. */
static void weight_bins(const double *restrict excess, int64_t count, int32_t *restrict bins, double *restrict places) {
#pragma omp simd
    for (int64_t i = 0; i < count; i++) {
        const bool less = excess[i] < 0.0;
        const Step found = step_of(smaller(fabs(excess[i]), less ? 1.0 : 65536.0), 0x1p-12, 2, 12);
        bins[i] = (int32_t)(less ? WEIGHT_ONE - 1 - found.step : WEIGHT_ONE + found.step);
        places[i] = less ? 1.0 - found.place : found.place;
    }
}

/* Of rewards in [0, 1]: where the row of their bin begins in a table. */
static void reward_bins(const double *restrict reward, int64_t count, int32_t *restrict rows, double *restrict places) {
#pragma omp simd
    for (int64_t i = 0; i < count; i++) {
        const bool more = reward[i] > 0.5;
        const Step found = step_of(larger(more ? 1.0 - reward[i] : reward[i], 0.0), 0x1p-14, 1, 14);
        rows[i] = (int32_t)(WEIGHT_BINS * (more ? REWARD_BINS - 1 - found.step : found.step));
        places[i] = more ? 1.0 - found.place : found.place;
    }
}

static inline void fill_bin(double *bin, double weight_place, double reward_place) {
    bin[0] += 1.0;
    bin[1] += weight_place;
    bin[2] += reward_place;
    bin[3] += weight_place * reward_place;
}

#endif
