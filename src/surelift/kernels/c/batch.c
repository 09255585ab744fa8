/* All sums of a batch of plain columns in one pass, in blocks that stay in the first cache: validated, hashed, weighed, and
 * turned into terms and their log sums.
 */
#include "columns.h"
#include "log_sums.h"
#include "weight_tables.h"

/* Fields as `Columns` in batch.py has them. */
typedef struct {
    int64_t rows, candidates, terms;
    const void *const *columns; /* reward, propensity, and one for each candidate */
    const int64_t *kinds;
    const double *least, *most;  /* of each column, both allowed */
    double zero, divisor;        /* (reward - zero) / divisor lies in [0, 1] */
    const double *alphas;        /* of each candidate, its share in a blend with production */
    const int64_t *first_term;   /* of each candidate, and behind the last */
    const int64_t *paired;       /* of each term: made of the weight minus 1 */
    const int64_t *complement;   /* of what production did not earn */
    const double *offsets;
    const int64_t *first;        /* of each term, its first smoothing, and behind the last */
    const double *smoothings;
    double *totals, *lost;       /* of each smoothing */
    int64_t *zeros;              /* of each term: rounds that were counted instead of added */
    double *moments;             /* (terms, 2): the sum, and that of squares */
    double *weights;             /* (candidates, 3): the sum, that of squares, the largest */
    uint64_t *hashes;            /* lower and upper halves of both lanes */
    double *others;              /* the sum of rewards, the smallest propensity */
    double *pending;             /* (terms, BLOCK_ROOM) terms that wait for a whole block, or null */
    double *tables;              /* (candidates, REWARD_BINS, WEIGHT_BINS, PLACES) by weight and reward, or null */
} Batch;

/* Rounds that are looked at together for whether any was paid. */
enum { AT_A_GLANCE = 32 };

typedef struct {
    double total, squares;
} Pair;

/* Weights, and weights minus 1, of a blend with production. */
static Pair weigh(const double *restrict probability, const double *restrict propensity, double alpha, int64_t count,
                  double *restrict weight, double *restrict excess) {
    double total = 0.0, squares = 0.0;
#pragma omp simd reduction(+ : total, squares)
    for (int64_t i = 0; i < count; i++) {
        const double q = propensity[i], p = smaller(probability[i], 1.0), inverse = 1.0 / q;
        const double w = ((1.0 - alpha) * q + alpha * p) * inverse;
        weight[i] = w;
        excess[i] = alpha * ((p - q) * inverse);
        total += w;
        squares += w * w;
    }
    return (Pair){total, squares};
}

/* factor r, or factor (1 - r), plus the offset; the sums of the terms without it. */
static Pair all_terms(const double *restrict factor, const double *restrict reward, bool complement, double offset,
                      int64_t count, double *restrict x) {
    const double sign = complement ? -1.0 : 1.0, shift = complement ? 1.0 : 0.0;
    double total = 0.0, squares = 0.0;
#pragma omp simd reduction(+ : total, squares)
    for (int64_t i = 0; i < count; i++) {
        const double term = factor[i] * (shift + sign * reward[i]);
        /* A term may fall below its floor by rounding, never by more: no weight of a blend is below its smallest. */
        x[i] = larger(term + offset, 0.0);
        total += term;
        squares += term * term;
    }
    return (Pair){total, squares};
}

/* The same for the rounds in `places` only: the others earned nothing. */
static Pair some_terms(const double *restrict factor, const double *restrict reward, const int32_t *restrict places,
                       double offset, int64_t count, double *restrict x) {
    double total = 0.0, squares = 0.0;
    for (int64_t i = 0; i < count; i++) {
        const double term = factor[places[i]] * reward[places[i]];
        x[i] = larger(term + offset, 0.0);
        total += term;
        squares += term * term;
    }
    return (Pair){total, squares};
}

/* Put every round into its bin, by the weight of the policy that is blended with production, and the reward. */
static void fill_table(const double *restrict excess, double alpha, const int32_t *restrict rows,
                       const double *restrict reward_places, int64_t count, double *restrict own, double *restrict table) {
    double places[BLOCK];
    int32_t columns[BLOCK];
    const double inverse = alpha > 0.0 ? 1.0 / alpha : 0.0;
    for (int64_t i = 0; i < count; i++) own[i] = excess[i] * inverse;
    weight_bins(own, count, columns, places);
    for (int64_t i = 0; i < count; i++) {
        fill_bin(table + PLACES * (rows[i] + columns[i]), places[i], reward_places[i]);
    }
}

/* Where the reward is not zero, without a branch for each: a place is written down, and kept if so. */
static int64_t find_paying(const double *restrict reward, int64_t count, int32_t *restrict places) {
    int64_t paying = 0;
    for (int64_t start = 0; start < count; start += AT_A_GLANCE) {
        const int64_t stop = fewer(start + AT_A_GLANCE, count);
        double any = 0.0;
#pragma omp simd reduction(+ : any)
        for (int64_t i = start; i < stop; i++) any += reward[i];
        if (any == 0.0) continue;
        for (int64_t i = start; i < stop; i++) {
            places[paying] = (int32_t)i;
            paying += reward[i] != 0.0;
        }
    }
    return paying;
}

/* Says whether every value is where it should be; if not, the sums mean nothing. A round without a reward adds a constant,
 * log(1 + smoothing offset), to what is about the reward: where most are such, they are only counted.
 */
EXPORT(add_up_batch)(const Batch *b) {
    _Alignas(64) double raw[BLOCK], propensity[BLOCK], probability[BLOCK], scaled[BLOCK], weight[BLOCK], excess[BLOCK], x[BLOCK_ROOM];
    _Alignas(64) uint64_t low[BLOCK], high[BLOCK];
    double reward_places[BLOCK];
    int32_t places[BLOCK + 1], rows[BLOCK];
    int64_t filled[256] = {0};
    const bool plain = b->zero == 0.0 && b->divisor == 1.0;
    for (int64_t start = 0; start < b->rows; start += BLOCK) {
        const int64_t count = fewer(BLOCK, b->rows - start);
        if (copy_numbers(b->columns[0], b->kinds[0], start, count, b->least[0], b->most[0], raw)) return false;
        if (copy_numbers(b->columns[1], b->kinds[1], start, count, b->least[1], b->most[1], propensity)) return false;
        const double *reward = raw;
        if (!plain) {
            for (int64_t i = 0; i < count; i++) scaled[i] = (raw[i] - b->zero) / b->divisor;
            reward = scaled;
        }
        begin_hashes_with(raw, propensity, low, high, count);
        double earned = 0.0;
#pragma omp simd reduction(+ : earned)
        for (int64_t i = 0; i < count; i++) earned += reward[i];
        b->others[0] += earned;
        b->others[1] = smaller(b->others[1], smallest_of(propensity, count));
        const int64_t paying = find_paying(reward, count, places);
        if (b->tables) reward_bins(reward, count, rows, reward_places);
        for (int64_t c = 0; c < b->candidates; c++) {
            const int64_t k = 2 + c;
            if (copy_numbers(b->columns[k], b->kinds[k], start, count, b->least[k], b->most[k], probability)) return false;
            mix_numbers(probability, low, high, count);
            const Pair sums = weigh(probability, propensity, b->alphas[c], count, weight, excess);
            if (b->tables)
                fill_table(excess, b->alphas[c], rows, reward_places, count, x,
                           b->tables + c * REWARD_BINS * WEIGHT_BINS * PLACES);
            double *of_weights = b->weights + 3 * c;
            of_weights[0] += sums.total;
            of_weights[1] += sums.squares;
            of_weights[2] = larger(of_weights[2], largest_of(weight, count));
            for (int64_t t = b->first_term[c]; t < b->first_term[c + 1]; t++) {
                const int64_t first = b->first[t], size = b->first[t + 1] - first;
                const double *factor = b->paired[t] ? excess : weight, *smoothings = b->smoothings + first;
                double *totals = b->totals + first, *lost = b->lost + first;
                Pair terms;
                if (!b->complement[t] && 5 * paying < 2 * count) {
                    double *waiting = x;
                    if (b->pending) {
                        waiting = b->pending + t * BLOCK_ROOM;
                        if (filled[t] + paying > BLOCK) {
                            add_block(waiting, filled[t], smoothings, size, totals, lost);
                            filled[t] = 0;
                        }
                        waiting += filled[t];
                        filled[t] += paying;
                    }
                    terms = some_terms(factor, reward, places, b->offsets[t], paying, waiting);
                    if (!b->pending) add_block(waiting, paying, smoothings, size, totals, lost);
                    b->zeros[t] += count - paying;
                } else {
                    terms = all_terms(factor, reward, b->complement[t], b->offsets[t], count, x);
                    add_block(x, count, smoothings, size, totals, lost);
                }
                b->moments[2 * t] += terms.total;
                b->moments[2 * t + 1] += terms.squares;
            }
        }
        finish_hashes(low, count, b->hashes);
        finish_hashes(high, count, b->hashes + 2);
    }
    for (int64_t t = 0; b->pending && t < b->terms; t++) {
        const int64_t first = b->first[t];
        add_block(b->pending + t * BLOCK_ROOM, filled[t], b->smoothings + first, b->first[t + 1] - first, b->totals + first,
                  b->lost + first);
    }
    return true;
}
