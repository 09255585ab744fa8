/* Log sums of terms under weight control: from each term a capped share of the weight is taken off, and its mean, known for
 * every cap from the distributions over actions, is added back.
 */
#include "common.h"

/* Components that are worked on at once, in vectors. */
enum { TILE = 32 };
/* Products are turned into logarithms when they grow, and after this many units: what rounding takes adds up till then. */
enum { MOST_FACTORS = 256 };
static const double LARGE = 1e140;

/* Fields in the order in which control.py packs them; rounds are grouped into units, and units into groups. */
typedef struct {
    int64_t units, groups;
    const int64_t *codes;        /* of each unit: its group, negative for none; null: all are one */
    const int64_t *unit_starts;  /* of each unit: its first round; null: each round is a unit */
    const double *divisor;       /* of each unit: divides the sum over its rounds */
    const double *padding;       /* of each unit: what is added to that sum */
    const double *keep;          /* of each unit: the probability with which it was kept, or null */
    const double *values;        /* of each round: its term */
    const double *taken;         /* what is taken off, before the cap */
    const int64_t *starts;       /* the first of its actions */
    const double *expected;      /* of each action: what would be taken off, times its share */
    const double *shares;        /* how often production takes it */
    int64_t count;               /* components, filled up to whole tiles */
    const double *caps, *offsets, *smoothings;
    double *products;            /* (groups, count), zeros: products of factors, minus 1 */
    int64_t *factors;            /* (groups), zeros: how many are in them */
    double *totals, *lost;       /* (groups, count) */
    double *sums;                /* (groups, count), zeros: of the terms with their offsets */
    double *deepest;             /* by how much, relative to 1 + offset, a term fell below its floor */
} Control;

/* sum_a min(expected_a, cap share_a) for every cap of a tile. */
static inline void capped_means(const double *restrict expected, const double *restrict shares, int64_t actions,
                                const double *restrict caps, double *restrict means) {
    double sums[TILE] = {0.0};
    for (int64_t a = 0; a < actions; a++) {
        const double whole = expected[a], share = shares[a];
        for (int64_t j = 0; j < TILE; j++) sums[j] += smaller(caps[j] * share, whole);
    }
    memcpy(means, sums, sizeof sums);
}

/* The sum of the terms of a unit over its rounds, for every component of a tile. */
static inline void unit_terms(const Control *c, int64_t first, int64_t last, int64_t tile, double *restrict terms) {
    const double *caps = c->caps + tile, *offsets = c->offsets + tile;
    double means[TILE], sums[TILE] = {0.0};
    for (int64_t i = first; i < last; i++) {
        const int64_t start = c->starts[i];
        capped_means(c->expected + start, c->shares + start, c->starts[i + 1] - start, caps, means);
        const double value = c->values[i], taken = c->taken[i];
        double below = 0.0;
#pragma omp simd reduction(+ : below)
        for (int64_t j = 0; j < TILE; j++) {
            const double term = value + means[j] - smaller(caps[j], taken);
            below += term + offsets[j] < 0.0 ? 1.0 : 0.0;
            sums[j] += term;
        }
        if (below > 0.0)
            for (int64_t j = 0; j < TILE; j++) {
                const double term = value + means[j] - smaller(caps[j], taken) + offsets[j];
                if (tile + j < c->count) *c->deepest = larger(*c->deepest, -term / (1.0 + offsets[j]));
            }
    }
    memcpy(terms, sums, sizeof sums);
}

static void settle(const Control *c, int64_t group) {
    double *products = c->products + group * c->count;
    for (int64_t j = 0; j < c->count; j++) {
        add_exactly(&c->totals[group * c->count + j], &c->lost[group * c->count + j], log1p(products[j]));
        products[j] = 0.0;
    }
    c->factors[group] = 0;
}

/* Add log(1 + smoothing (mean term of a unit + offset) / keep) to every component's total in its group, and what is scaled
 * by the smoothing there to its sum.
 */
EXPORT(controlled_log_sums)(const Control *c) {
    double terms[TILE];
    for (int64_t u = 0; u < c->units; u++) {
        const int64_t group = c->codes ? c->codes[u] : 0;
        if (group < 0) continue;
        const int64_t first = c->unit_starts ? c->unit_starts[u] : u, last = c->unit_starts ? c->unit_starts[u + 1] : u + 1;
        const double divisor = c->divisor ? c->divisor[u] : 1.0, padding = c->padding ? c->padding[u] : 0.0;
        const double scale = c->keep ? 1.0 / c->keep[u] : 1.0;
        double large = 0.0;
        for (int64_t tile = 0; tile < c->count; tile += TILE) {
            const double *offsets = c->offsets + tile, *smoothings = c->smoothings + tile;
            double *products = c->products + group * c->count + tile, *sums = c->sums + group * c->count + tile;
            unit_terms(c, first, last, tile, terms);
            if (c->unit_starts)
                for (int64_t j = 0; j < TILE; j++) terms[j] = (terms[j] + padding) / divisor;
#pragma omp simd reduction(+ : large)
            for (int64_t j = 0; j < TILE; j++) {
                const double shifted = larger((terms[j] + offsets[j]) * scale, 0.0);
                const double y = smoothings[j] * shifted;
                sums[j] += shifted;
                products[j] = (products[j] + y) + products[j] * y;
                large += products[j] < LARGE ? 0.0 : 1.0;
            }
        }
        if (large > 0.0 || ++c->factors[group] == MOST_FACTORS) settle(c, group);
    }
    for (int64_t group = 0; group < c->groups; group++) {
        settle(c, group);
        for (int64_t j = 0; j < c->count; j++) c->totals[group * c->count + j] += c->lost[group * c->count + j];
    }
    return 0;
}
