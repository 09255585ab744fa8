/* All sums of a batch in one pass, in blocks that stay in the first cache. Rows come as plain columns, which are looked
 * through, hashed and weighed on the way, or as arrays of weights. A term is a line in the reward; the terms of the rows of a
 * unit are put together, scaled, and turned into log sums by group.
 */
#include "columns.h"
#include "log_sums.h"
#include "weight_tables.h"

/* Fields in the order in which loop.py packs them. Nothing is where a pointer is null. */
typedef struct {
    int64_t rows, policies, terms, units, groups, room, extras;
    const void *const *columns;  /* reward, propensity, and one for each policy, as they lie in memory */
    const int64_t *kinds;
    const double *least, *most;  /* of each column, both allowed */
    double zero, divisor;        /* (reward - zero) / divisor lies in [0, 1] */
    const double *alphas;        /* of each policy, its share in a blend with production */
    const double *const *extra;  /* columns that are hashed between the propensity and the policies */
    const double *earned;        /* without columns: what stands for the reward of a row */
    const double *missed;        /* and for 1 minus it, where that is another number */
    const double *propensity;
    const double *const *weights, *const *excess;
    const int64_t *starts;       /* of each unit its first row, and behind the last; else every row is a unit */
    const double *divisors;      /* of each unit: divides the sum over its rows */
    const double *const *padding; /* of each term: what is added to that sum, or null */
    const double *scale;         /* of each unit: how many it stands for */
    const int64_t *codes;        /* of each unit: its group, negative for none; else all are one */
    const int64_t *first_term;   /* of each policy, and behind the last: terms that need no other policy, in this order */
    const int64_t *first_piece;  /* of each term, and behind the last */
    const int64_t *pieces;       /* 2 policy, plus 1 for the excess weight */
    const double *at_zero, *at_one; /* of each piece: how often it counts where the reward is 0, and where it is 1 */
    const double *constants;     /* (terms, 2): besides */
    const double *offsets;
    const int64_t *first;        /* of each term, its first smoothing, and behind the last */
    const double *smoothings;
    double *totals, *lost;       /* (groups, smoothings) */
    int64_t *zeros;              /* (groups, terms): units that were counted instead of added */
    double *moments;             /* (groups, terms, 3): the sum, that of squares, the largest of a row */
    double *deepest;             /* of each term: how far below minus its offset a row fell, relative to 1 + offset */
    double *smallest;            /* (groups): the smallest propensity */
    uint64_t *hashes;            /* lower and upper halves of both lanes */
    double *pending;             /* (terms, groups, room + 128): numbers that wait for a whole block */
    int64_t *filled;             /* (terms, groups), zeros */
    double *tables;              /* (policies, REWARD_BINS, WEIGHT_BINS, PLACES) by weight and reward */
    double *open;                /* (terms), zeros: sums over the rows so far of a unit that goes on in the next block */
    double *values;              /* (BLOCK): room for the terms of units */
    double *const *kept;         /* of each term: where its numbers of all units are kept, or null */
    int64_t *counted;            /* (groups + 1): where the rows of each group begin, in a block by group */
} Loop;

/* With more groups than this a block has few rows of each, and is not sorted by them. */
enum { AT_A_GLANCE = 32, FEW_GROUPS = 256 };

/* Weights, and weights minus 1, of a blend with production. */
static void weigh_block(const double *restrict probability, const double *restrict propensity, double alpha, int64_t count,
                        double *restrict weight, double *restrict excess) {
#pragma omp simd
    for (int64_t i = 0; i < count; i++) {
        const double q = propensity[i], p = smaller(probability[i], 1.0), inverse = 1.0 / q;
        weight[i] = ((1.0 - alpha) * q + alpha * p) * inverse;
        excess[i] = alpha * ((p - q) * inverse);
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

/* One end of a term: a constant, and so often each of its pieces. */
static void end_of(const double *const *pieces, const double *coefficients, int64_t count, double constant, int64_t rows,
                   double *restrict end) {
    const double *restrict first = count ? pieces[0] : end;
    const double by = count ? coefficients[0] : 0.0;
#pragma omp simd
    for (int64_t i = 0; i < rows; i++) end[i] = constant + (count ? by * first[i] : 0.0);
    for (int64_t k = 1; k < count; k++) {
        const double *restrict piece = pieces[k];
        const double each = coefficients[k];
        if (each == 0.0) continue;
#pragma omp simd
        for (int64_t i = 0; i < rows; i++) end[i] += each * piece[i];
    }
}

static void keep_values(const Loop *b, int64_t t, int64_t first, const double *restrict values, int64_t count) {
    if (b->kept && b->kept[t]) memcpy(b->kept[t] + first, values, (size_t)count * sizeof(double));
}

static bool nothing(const double *coefficients, int64_t count, double constant) {
    if (constant != 0.0) return false;
    for (int64_t k = 0; k < count; k++)
        if (coefficients[k] != 0.0) return false;
    return true;
}

/* The terms of rows: from its end at zero to that at one, by what stands for the reward. */
static void terms_of(const Loop *b, int64_t t, const double *const *pieces, const double *restrict earned,
                     const double *restrict missed, int64_t rows, double *restrict x) {
    double other[BLOCK];
    const int64_t first = b->first_piece[t], count = b->first_piece[t + 1] - first;
    const double *low = b->at_zero + first, *high = b->at_one + first, *constants = b->constants + 2 * t;
    if (!missed && nothing(low, count, constants[0])) {
        end_of(pieces, high, count, constants[1], rows, x);
#pragma omp simd
        for (int64_t i = 0; i < rows; i++) x[i] *= earned[i];
        return;
    }
    if (!missed && nothing(high, count, constants[1])) {
        end_of(pieces, low, count, constants[0], rows, x);
#pragma omp simd
        for (int64_t i = 0; i < rows; i++) x[i] *= 1.0 - earned[i];
        return;
    }
    end_of(pieces, low, count, constants[0], rows, other);
    end_of(pieces, high, count, constants[1], rows, x);
    if (!missed) {
#pragma omp simd
        for (int64_t i = 0; i < rows; i++) x[i] = x[i] * earned[i] + other[i] * (1.0 - earned[i]);
        return;
    }
#pragma omp simd
    for (int64_t i = 0; i < rows; i++) {
        const double span = x[i] - other[i];
        x[i] = span >= 0.0 ? other[i] + span * earned[i] : x[i] - span * missed[i];
    }
}

typedef struct {
    double total, squares, largest, least;
} Seen;

static Seen seen_in(const double *restrict x, int64_t count) {
    double total = 0.0, squares = 0.0, largest = 0.0, least = 0.0;
#pragma omp simd reduction(+ : total, squares) reduction(max : largest) reduction(min : least)
    for (int64_t i = 0; i < count; i++) {
        total += x[i];
        squares += x[i] * x[i];
        largest = x[i] > largest ? x[i] : largest;
        least = x[i] < least ? x[i] : least;
    }
    return (Seen){total, squares, largest, least};
}

/* Terms that are one piece times the reward, or times what it lacks to 1, seen in the pass that makes them. */
static Seen line_of_one(const double *restrict piece, double at_zero, double at_one, const double *restrict earned,
                        int64_t count, double *restrict x) {
    const double slope = at_one - at_zero;
    double total = 0.0, squares = 0.0, largest = 0.0, least = 0.0;
#pragma omp simd reduction(+ : total, squares) reduction(max : largest) reduction(min : least)
    for (int64_t i = 0; i < count; i++) {
        const double term = piece[i] * (at_zero + slope * earned[i]);
        total += term;
        squares += term * term;
        largest = term > largest ? term : largest;
        least = term < least ? term : least;
        x[i] = term;
    }
    return (Seen){total, squares, largest, least};
}

static void flush(const Loop *b, int64_t t, int64_t g) {
    const int64_t place = t * b->groups + g, first = b->first[t], all = b->first[b->terms];
    add_block(b->pending + place * (b->room + 128), b->filled[place], b->smoothings + first, b->first[t + 1] - first,
              b->totals + g * all + first, b->lost + g * all + first);
    b->filled[place] = 0;
}

/* Numbers of units of one group, shifted by the offset and scaled, wait for a whole block of it. */
static void wait_in_group(const Loop *b, int64_t t, int64_t g, const double *restrict values, const double *restrict scale,
                          int64_t count) {
    const double offset = b->offsets[t];
    const int64_t place = t * b->groups + g;
    for (int64_t start = 0; start < count;) {
        if (b->filled[place] == b->room) flush(b, t, g);
        const int64_t some = fewer(count - start, b->room - b->filled[place]);
        double *restrict to = b->pending + place * (b->room + 128) + b->filled[place];
        if (scale) {
#pragma omp simd
            for (int64_t i = 0; i < some; i++) to[i] = larger(values[start + i] + offset, 0.0) * scale[start + i];
        } else {
#pragma omp simd
            for (int64_t i = 0; i < some; i++) to[i] = larger(values[start + i] + offset, 0.0);
        }
        b->filled[place] += some;
        start += some;
    }
}

static void wait_for_block(const Loop *b, int64_t t, const double *restrict values, const double *restrict scale,
                           const int64_t *restrict codes, int64_t count) {
    const double offset = b->offsets[t];
    if (!codes) {
        wait_in_group(b, t, 0, values, scale, count);
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        if (codes[i] < 0) continue;
        const int64_t place = t * b->groups + codes[i];
        if (b->filled[place] == b->room) flush(b, t, codes[i]);
        const double shifted = larger(values[i] + offset, 0.0);
        b->pending[place * (b->room + 128) + b->filled[place]++] = scale ? shifted * scale[i] : shifted;
    }
}

/* The moments of units; those of one group at once. */
static void add_moments(const Loop *b, int64_t t, const double *restrict values, const double *restrict scale,
                        const int64_t *restrict codes, int64_t count) {
    if (!codes && !scale) {
        const Seen seen = seen_in(values, count);
        b->moments[3 * t] += seen.total;
        b->moments[3 * t + 1] += seen.squares;
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        const int64_t g = codes ? codes[i] : 0;
        if (g < 0) continue;
        double *of_group = b->moments + 3 * (g * b->terms + t);
        const double value = scale ? values[i] * scale[i] : values[i];
        of_group[0] += value;
        of_group[1] += value * value;
    }
}

/* Rows that are units of several groups, in one go: their moments, the largest, and for log sums those that wait. */
static void add_by_group(const Loop *b, int64_t t, const double *restrict values, const int64_t *restrict codes, int64_t count,
                         bool logs) {
    const double offset = b->offsets[t];
    for (int64_t i = 0; i < count; i++) {
        const int64_t g = codes[i];
        if (g < 0) continue;
        const double value = values[i];
        double *of_group = b->moments + 3 * (g * b->terms + t);
        of_group[0] += value;
        of_group[1] += value * value;
        of_group[2] = larger(of_group[2], value);
        if (!logs) continue;
        const int64_t place = t * b->groups + g;
        if (b->filled[place] == b->room) flush(b, t, g);
        b->pending[place * (b->room + 128) + b->filled[place]++] = larger(value + offset, 0.0);
    }
}

/* What is known of one block of rows. */
typedef struct {
    int64_t start, count;
    int64_t unit, last; /* the first unit that it has rows of, and behind the last that it completes */
    const double *earned, *missed;
    const int32_t *places; /* rows that earned something, where few did */
    const int32_t *sorted; /* rows by group, or null */
    int64_t paying;
    bool few;
} Block;

/* The same of a whole block, group by group. */
static void add_sorted(const Loop *b, int64_t t, const double *restrict x, const Block *block, bool logs) {
    double values[BLOCK];
    const int64_t known = b->counted[b->groups];
    for (int64_t i = 0; i < known; i++) values[i] = x[block->sorted[i]];
    for (int64_t g = 0; g < b->groups; g++) {
        const int64_t first = b->counted[g], count = b->counted[g + 1] - first;
        if (count == 0) continue;
        const Seen seen = seen_in(values + first, count);
        double *of_group = b->moments + 3 * (g * b->terms + t);
        of_group[0] += seen.total;
        of_group[1] += seen.squares;
        of_group[2] = larger(of_group[2], seen.largest);
        if (logs) wait_in_group(b, t, g, values + first, NULL, count);
    }
}

/* Rows by group, and where those of each begin; rows of no group are behind. */
static void sort_by_group(const int64_t *restrict codes, int64_t count, int64_t groups, int64_t *restrict begins,
                          int32_t *restrict sorted) {
    int64_t next[FEW_GROUPS];
    memset(begins, 0, (size_t)(groups + 1) * sizeof(int64_t));
    for (int64_t i = 0; i < count; i++)
        if (codes[i] >= 0) begins[codes[i] + 1]++;
    for (int64_t g = 0; g < groups; g++) {
        next[g] = begins[g];
        begins[g + 1] += begins[g];
    }
    for (int64_t i = 0; i < count; i++)
        if (codes[i] >= 0) sorted[next[codes[i]]++] = (int32_t)i;
}

static void largest_by_group(const Loop *b, int64_t t, const double *restrict x, const Block *block) {
    if (!b->codes) {
        const Seen seen = seen_in(x, block->count);
        b->moments[3 * t + 2] = larger(b->moments[3 * t + 2], seen.largest);
        return;
    }
    int64_t unit = block->unit;
    for (int64_t i = 0; i < block->count; i++) {
        const int64_t row = block->start + i;
        if (b->starts)
            while (row >= b->starts[unit + 1]) unit++;
        else
            unit = row;
        if (b->codes[unit] < 0) continue;
        double *largest = b->moments + 3 * (b->codes[unit] * b->terms + t) + 2;
        *largest = larger(*largest, x[i]);
    }
}

/* One term over one block. */
static void add_term(const Loop *b, int64_t t, const double *const *pieces, const Block *block, double *restrict x) {
    const bool logs = b->first[t + 1] > b->first[t];
    const double offset = b->offsets[t];
    const int64_t first = b->first_piece[t], count = b->first_piece[t + 1] - first;
    if (block->few && !(b->kept && b->kept[t]) && nothing(b->at_zero + first, count, b->constants[2 * t])) {
        double some[BLOCK], values[BLOCK];
        const double *of_some[4];
        double gathered[2][BLOCK];
        for (int64_t k = 0; k < count; k++) {
            for (int64_t i = 0; i < block->paying; i++) gathered[k][i] = pieces[k][block->places[i]];
            of_some[k] = gathered[k];
        }
        for (int64_t i = 0; i < block->paying; i++) some[i] = block->earned[block->places[i]];
        terms_of(b, t, of_some, some, NULL, block->paying, values);
        const Seen seen = seen_in(values, block->paying);
        b->deepest[t] = larger(b->deepest[t], -(seen.least + offset) / (1.0 + offset));
        if (b->codes) {
            int64_t codes[BLOCK];
            for (int64_t i = 0; i < block->paying; i++) codes[i] = b->codes[block->start + block->places[i]];
            add_by_group(b, t, values, codes, block->paying, logs);
            for (int64_t g = 0; logs && g < b->groups; g++) b->zeros[g * b->terms + t] += b->counted[g + 1] - b->counted[g];
            for (int64_t i = 0; logs && i < block->paying; i++)
                if (codes[i] >= 0) b->zeros[codes[i] * b->terms + t]--;
            return;
        }
        b->moments[3 * t] += seen.total;
        b->moments[3 * t + 1] += seen.squares;
        b->moments[3 * t + 2] = larger(b->moments[3 * t + 2], seen.largest);
        if (logs) {
            wait_for_block(b, t, values, NULL, NULL, block->paying);
            b->zeros[t] += block->count - block->paying;
        }
        return;
    }
    const double *low = b->at_zero + first, *high = b->at_one + first, *constants = b->constants + 2 * t;
    const bool moments_alone = !logs && !b->starts && !b->scale && !b->codes && !(b->kept && b->kept[t]);
    const bool one = count == 1 && !block->missed && constants[0] == 0.0 && constants[1] == 0.0;
    Seen seen;
    if (moments_alone && one && low[0] == 1.0 && high[0] == 1.0) {
        seen = seen_in(pieces[0], block->count);
    } else if (moments_alone && count == 0 && !block->missed && constants[0] == 0.0 && constants[1] == 1.0) {
        seen = seen_in(block->earned, block->count);
    } else if (one && (low[0] == 0.0 || high[0] == 0.0)) {
        seen = line_of_one(pieces[0], low[0], high[0], block->earned, block->count, x);
    } else {
        terms_of(b, t, pieces, block->earned, block->missed, block->count, x);
        seen = seen_in(x, block->count);
    }
    b->deepest[t] = larger(b->deepest[t], -(seen.least + offset) / (1.0 + offset));
    if (!b->starts) {
        keep_values(b, t, block->start, x, block->count);
        const double *scale = b->scale ? b->scale + block->start : NULL;
        const int64_t *codes = b->codes ? b->codes + block->start : NULL;
        if (codes && !scale) {
            if (block->sorted) add_sorted(b, t, x, block, logs);
            else add_by_group(b, t, x, codes, block->count, logs);
            return;
        }
        if (!codes) b->moments[3 * t + 2] = larger(b->moments[3 * t + 2], seen.largest);
        else largest_by_group(b, t, x, block);
        if (!codes && !scale) {
            b->moments[3 * t] += seen.total;
            b->moments[3 * t + 1] += seen.squares;
        } else {
            add_moments(b, t, x, scale, codes, block->count);
        }
        if (!logs) return;
        if (!codes && !scale) {
            const int64_t all = b->first[t];
#pragma omp simd
            for (int64_t i = 0; i < block->count; i++) x[i] = larger(x[i] + offset, 0.0);
            add_block(x, block->count, b->smoothings + all, b->first[t + 1] - all, b->totals + all, b->lost + all);
        } else {
            wait_for_block(b, t, x, scale, codes, block->count);
        }
        return;
    }
    largest_by_group(b, t, x, block);
    /* From rows to units: what a unit's rows in this block add up to, and whether it ends here. */
    const int64_t end = block->start + block->count, done = block->last - block->unit;
    double sum = b->open[t];
    double *restrict values = b->values;
    int64_t row = block->start;
    for (int64_t u = block->unit; u < block->last; u++) {
        for (; row < b->starts[u + 1]; row++) sum += x[row - block->start];
        values[u - block->unit] = (sum + (b->padding && b->padding[t] ? b->padding[t][u] : 0.0)) / b->divisors[u];
        sum = 0.0;
    }
    for (; row < end; row++) sum += x[row - block->start];
    b->open[t] = sum;
    keep_values(b, t, block->unit, values, done);
    const double *scale = b->scale ? b->scale + block->unit : NULL;
    const int64_t *codes = b->codes ? b->codes + block->unit : NULL;
    add_moments(b, t, values, scale, codes, done);
    if (logs) wait_for_block(b, t, values, scale, codes, done);
}

/* Put every row into its bin, by the weight of the policy that is blended with production, and the reward. */
static void fill_table(const double *restrict excess, double alpha, const int32_t *restrict rows,
                       const double *restrict reward_places, int64_t count, double *restrict own, double *restrict table) {
    double places[BLOCK];
    int32_t columns[BLOCK];
    const double inverse = alpha > 0.0 ? 1.0 / alpha : 0.0;
    for (int64_t i = 0; i < count; i++) own[i] = excess[i] * inverse;
    weight_bins(own, count, columns, places);
    for (int64_t i = 0; i < count; i++) fill_bin(table + PLACES * (rows[i] + columns[i]), places[i], reward_places[i]);
}

static void smallest_by_group(const Loop *b, const double *restrict propensity, const Block *block) {
    if (!b->codes) {
        b->smallest[0] = smaller(b->smallest[0], smallest_of(propensity, block->count));
        return;
    }
    int64_t unit = block->unit;
    for (int64_t i = 0; i < block->count; i++) {
        if (b->starts)
            while (block->start + i >= b->starts[unit + 1]) unit++;
        else
            unit = block->start + i;
        if (b->codes[unit] >= 0) b->smallest[b->codes[unit]] = smaller(b->smallest[b->codes[unit]], propensity[i]);
    }
}

/* Says whether every value is where it should be; if not, the sums mean nothing. A row without a reward adds a constant,
 * log(1 + smoothing offset), to what is about the reward: where most are such, they are only counted.
 */
EXPORT(add_up)(const Loop *b) {
    _Alignas(64) double raw[BLOCK], propensity[BLOCK], probability[BLOCK], scaled[BLOCK], weight[BLOCK], excess[BLOCK], x[BLOCK_ROOM];
    _Alignas(64) uint64_t low[BLOCK], high[BLOCK];
    double reward_places[BLOCK];
    int32_t places[BLOCK + 1], rows[BLOCK], sorted[BLOCK];
    const bool plain = b->zero == 0.0 && b->divisor == 1.0, simple = !b->starts && !b->scale && !b->missed;
    int64_t unit = 0;
    for (int64_t start = 0; start < b->rows; start += BLOCK) {
        const int64_t count = fewer(BLOCK, b->rows - start);
        Block block = {start, count, b->starts ? unit : start, start + count, NULL, NULL, places, NULL, count, false};
        if (b->columns) {
            if (copy_numbers(b->columns[0], b->kinds[0], start, count, b->least[0], b->most[0], raw)) return false;
            if (copy_numbers(b->columns[1], b->kinds[1], start, count, b->least[1], b->most[1], propensity)) return false;
            block.earned = raw;
            if (!plain) {
                for (int64_t i = 0; i < count; i++) scaled[i] = (raw[i] - b->zero) / b->divisor;
                block.earned = scaled;
            }
            begin_hashes_with(raw, propensity, low, high, count);
            for (int64_t k = 0; k < b->extras; k++) mix_numbers(b->extra[k] + start, low, high, count);
        } else {
            block.earned = b->earned + start;
            block.missed = b->missed ? b->missed + start : NULL;
        }
        smallest_by_group(b, b->columns ? propensity : b->propensity + start, &block);
        if (b->starts) {
            block.last = unit;
            while (block.last < b->units && b->starts[block.last + 1] <= start + count) block.last++;
        }
        if (simple) {
            block.paying = find_paying(block.earned, count, places);
            block.few = 5 * block.paying < 2 * count;
        }
        if (simple && b->codes && b->groups <= FEW_GROUPS) {
            sort_by_group(b->codes + start, count, b->groups, b->counted, sorted);
            block.sorted = sorted;
        } else if (b->codes) {
            block.few = false;
        }
        if (b->tables) reward_bins(block.earned, count, rows, reward_places);
        for (int64_t p = 0; p <= b->policies; p++) {
            const double *of_one[2] = {NULL, NULL};
            if (p < b->policies && b->columns) {
                const int64_t k = 2 + p;
                if (copy_numbers(b->columns[k], b->kinds[k], start, count, b->least[k], b->most[k], probability)) return false;
                mix_numbers(probability, low, high, count);
                weigh_block(probability, propensity, b->alphas[p], count, weight, excess);
                of_one[0] = weight;
                of_one[1] = excess;
            } else if (p < b->policies) {
                of_one[0] = b->weights[p] + start;
                of_one[1] = b->excess[p] + start;
            }
            if (b->tables && p < b->policies)
                fill_table(of_one[1], b->alphas[p], rows, reward_places, count, x, b->tables + p * REWARD_BINS * WEIGHT_BINS * PLACES);
            for (int64_t t = b->first_term[p]; t < b->first_term[p + 1]; t++) {
                const double *pieces[4];
                for (int64_t k = b->first_piece[t]; k < b->first_piece[t + 1]; k++) {
                    const int64_t piece = b->pieces[k];
                    pieces[k - b->first_piece[t]] = p < b->policies && piece / 2 == p ? of_one[piece % 2]
                                                    : piece % 2 ? b->excess[piece / 2] + start
                                                                : b->weights[piece / 2] + start;
                }
                add_term(b, t, pieces, &block, x);
            }
        }
        if (b->columns) {
            finish_hashes(low, count, b->hashes);
            finish_hashes(high, count, b->hashes + 2);
        }
        if (b->starts) unit = block.last;
    }
    for (int64_t t = 0; t < b->terms; t++)
        for (int64_t g = 0; b->first[t + 1] > b->first[t] && g < b->groups; g++) flush(b, t, g);
    return true;
}
