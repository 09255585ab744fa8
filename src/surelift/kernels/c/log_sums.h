/* For factors 1 + y >= 1, q = prod(1 + y) - 1 is kept instead of the product: (1 + a)(1 + b) - 1 = (a + b) + ab adds and
 * multiplies numbers that are never negative, so that nothing cancels, however small the y. Of eight rows,
 * prod(1 + s x_i) - 1 is a polynomial in s whose coefficients, the elementary symmetric sums of the x_i, serve every
 * smoothing s. A block of rows then costs one logarithm for each smoothing, and blocks are added up with compensation.
 */
#ifndef SURELIFT_LOG_SUMS_H
#define SURELIFT_LOG_SUMS_H

#include "common.h"

enum { AT_ONCE = 4, SPLIT = 16, WHOLE = 1 };
static const double BIG = 1e300, LARGEST_LOGARITHM = 690.0;

/* Of the rows x[j], x[j + width], ..., the sums e[0][j] of them, e[1][j] of products of two, up to all eight. */
static void symmetric_sums(const double *restrict x, int64_t width, double (*restrict e)[STRIPE]) {
    for (int64_t j = 0; j < width; j++) {
        double s = x[j] + x[j + width], p = x[j] * x[j + width];
        double t = x[j + 2 * width] + x[j + 3 * width], r = x[j + 2 * width] * x[j + 3 * width];
        double f1 = s + t, f2 = p + r + s * t, f3 = p * t + r * s, f4 = p * r;
        s = x[j + 4 * width] + x[j + 5 * width], p = x[j + 4 * width] * x[j + 5 * width];
        t = x[j + 6 * width] + x[j + 7 * width], r = x[j + 6 * width] * x[j + 7 * width];
        double g1 = s + t, g2 = p + r + s * t, g3 = p * t + r * s, g4 = p * r;
        e[0][j] = f1 + g1;
        e[1][j] = f2 + f1 * g1 + g2;
        e[2][j] = f3 + f2 * g1 + f1 * g2 + g3;
        e[3][j] = f4 + f3 * g1 + f2 * g2 + f1 * g3 + g4;
        e[4][j] = f4 * g1 + f3 * g2 + f2 * g3 + f1 * g4;
        e[5][j] = f4 * g2 + f3 * g3 + f2 * g4;
        e[6][j] = f4 * g3 + f3 * g4;
        e[7][j] = f4 * g4;
    }
}

#define POLYNOMIAL(c, s) \
    ((s) * (c[0] + (s) * (c[1] + (s) * (c[2] + (s) * (c[3] + (s) * (c[4] + (s) * (c[5] + (s) * (c[6] + (s) * c[7]))))))))

/* The products of eight factors, minus 1, for several smoothings at once, which share the loads. */
static void products_of_8(const double (*restrict e)[STRIPE], int64_t width, const double *restrict s,
                          double (*restrict u)[STRIPE]) {
    const double s0 = s[0], s1 = s[1], s2 = s[2], s3 = s[3];
    for (int64_t j = 0; j < width; j++) {
        const double c[8] = {e[0][j], e[1][j], e[2][j], e[3][j], e[4][j], e[5][j], e[6][j], e[7][j]};
        u[0][j] = POLYNOMIAL(c, s0);
        u[1][j] = POLYNOMIAL(c, s1);
        u[2][j] = POLYNOMIAL(c, s2);
        u[3][j] = POLYNOMIAL(c, s3);
    }
}

/* The same for sixteen rows: two groups of eight, put together before they are stored. */
static void products_of_16(const double (*restrict e)[STRIPE], int64_t half, const double *restrict s,
                           double (*restrict u)[STRIPE]) {
    const double s0 = s[0], s1 = s[1], s2 = s[2], s3 = s[3];
    for (int64_t j = 0; j < half; j++) {
        const int64_t k = j + half;
        const double c[8] = {e[0][j], e[1][j], e[2][j], e[3][j], e[4][j], e[5][j], e[6][j], e[7][j]};
        const double d[8] = {e[0][k], e[1][k], e[2][k], e[3][k], e[4][k], e[5][k], e[6][k], e[7][k]};
        double a = POLYNOMIAL(c, s0), b = POLYNOMIAL(d, s0);
        u[0][j] = (a + b) + a * b;
        a = POLYNOMIAL(c, s1), b = POLYNOMIAL(d, s1);
        u[1][j] = (a + b) + a * b;
        a = POLYNOMIAL(c, s2), b = POLYNOMIAL(d, s2);
        u[2][j] = (a + b) + a * b;
        a = POLYNOMIAL(c, s3), b = POLYNOMIAL(d, s3);
        u[3][j] = (a + b) + a * b;
    }
}

/* Put products together until at most `most` are left; says how many. */
static int64_t folded(double *restrict u, int64_t count, int64_t most) {
    while (count > most) {
        int64_t half = (count + 1) / 2;
        for (int64_t j = 0; j < count - half; j++) {
            double a = u[j], b = u[j + half];
            u[j] = (a + b) + a * b;
        }
        count = half;
    }
    return count;
}

/* A number of at least 1 as a fraction in [0.5, 1) and a power of two, which is added to `powers`. */
static inline double fraction_of(double number, int64_t *powers) {
    int64_t bits;
    memcpy(&bits, &number, sizeof bits);
    *powers += (bits >> 52) - 1022;
    bits = (bits & INT64_C(0x000FFFFFFFFFFFFF)) | INT64_C(0x3FE0000000000000);
    memcpy(&number, &bits, sizeof bits);
    return number;
}

/* The sum of log(1 + u_j), or infinity where a product has grown too large to be one. */
static double logarithm(const double *u, int64_t count) {
    if (count == 1) return u[0] < BIG ? log1p(u[0]) : INFINITY;
    /* A fraction is at least a half, so that 512 of them, the most there are, cannot underflow. */
    double product = 1.0;
    int64_t powers = 0;
    for (int64_t j = 0; j < count; j++) {
        if (!(u[j] < BIG)) return INFINITY;
        product *= fraction_of(1.0 + u[j], &powers);
    }
    double total = (double)powers * LOG_2 + log(product);
    if (total > 8.0 * (double)count) return total;
    /* What rounding 1 + u took away would count. */
    double lost = 0.0;
    total = 0.0;
    for (int64_t j = 0; j < count; j++) add_exactly(&total, &lost, log1p(u[j]));
    return total + lost;
}

/* One logarithm a row, also where the product overflows. */
static double directly(const double *x, int64_t count, double smoothing) {
    double total = 0.0, lost = 0.0;
    for (int64_t i = 0; i < count; i++) {
        double y = smoothing * x[i];
        add_exactly(&total, &lost, y < INFINITY ? log1p(y) : log(smoothing) + log(x[i]));
    }
    return total + lost;
}

/* Add up to 4096 rows x >= 0 to the log sums of every smoothing. Has room for 127 rows more, which it fills with zeros. */
static void add_block(double *restrict x, int64_t rows, const double *restrict smoothings, int64_t count,
                      double *restrict totals, double *restrict lost) {
    _Alignas(64) double e[8][STRIPE], u[AT_ONCE][STRIPE];
    if (rows == 0) return;
    const int64_t width = ((rows + 7) / 8 + 15) / 16 * 16;
    memset(x + rows, 0, (size_t)(8 * width - rows) * sizeof(double));
    symmetric_sums(x, width, e);
    double mean = 0.0;
#pragma omp simd reduction(+ : mean)
    for (int64_t j = 0; j < width; j++) mean += e[0][j];
    mean /= (double)rows;
    /* Where products of all rows overflow they are split earlier: into sixteen, or each eight alone. */
    int64_t most = WHOLE;
    for (int64_t k = 0; k < count; k += AT_ONCE) {
        const int64_t used = fewer(AT_ONCE, count - k);
        double s[AT_ONCE], sums[AT_ONCE];
        for (int64_t a = 0; a < AT_ONCE; a++) s[a] = smoothings[k + fewer(a, used - 1)];
        /* A sum of logarithms is at most that of their mean, which tells beforehand. */
        if (most == WHOLE && (double)rows * log1p(s[used - 1] * mean) > LARGEST_LOGARITHM) most = SPLIT;
        for (;;) {
            bool fits = true;
            int64_t left = width;
            if (most < STRIPE) {
                left = width / 2;
                products_of_16((const double(*)[STRIPE])e, left, s, u);
            } else {
                products_of_8((const double(*)[STRIPE])e, width, s, u);
            }
            for (int64_t a = 0; a < used; a++) {
                sums[a] = logarithm(u[a], most < STRIPE ? folded(u[a], left, most) : left);
                fits &= sums[a] < BIG;
            }
            if (fits || most == STRIPE) break;
            most = most == WHOLE ? SPLIT : STRIPE;
        }
        for (int64_t a = 0; a < used; a++) {
            if (!(sums[a] < BIG)) sums[a] = directly(x, rows, s[a]);
            add_exactly(&totals[k + a], &lost[k + a], sums[a]);
        }
    }
}

enum { BLOCK_ROOM = BLOCK + 128 };

#endif
