#include "common.h"

/* Products of factors 1 + y, |y| <= 3/4, in lanes, with one logarithm a block. What rounding takes from a product is kept
 * beside it, so that factors closer to 1 than its digits reach are counted too.
 */
enum { PRODUCTS = 16, PRODUCT_TURNS = 16 };

/* Multiply by 1 + y + rest, where the rest is what rounding took from y. */
static inline void grow(double *product, double *lost, double y, double rest) {
    const double before = *product, after = before + before * y;
    const double less = (before - after) + before * y;
    *lost = (*lost + less) + (*lost * (y + rest) + before * rest);
    *product = after;
}

/* Bring a product between 3/4 and 3/2, and count the powers of 2 taken from it. What was lost is given back to it as far as
 * it can hold it. */
static inline void rescale(double *product, double *lost, int64_t *powers) {
    uint64_t bits;
    const double whole = *product + *lost;
    *lost -= whole - *product;
    memcpy(&bits, &whole, sizeof bits);
    const uint64_t power = ((bits + (UINT64_C(1) << 51)) >> 52) - 1023, inverse = (1023 - power) << 52;
    double factor;
    memcpy(&factor, &inverse, sizeof factor);
    *product = whole * factor;
    *lost *= factor;
    *powers += (int64_t)power;
}

/* The sum of log(1 + rate x). After the rows there is room, filled with zeros, for one more in every lane. */
static double log_product(const double *restrict x, int64_t rows, double rate) {
    double product[PRODUCTS], lost[PRODUCTS];
    int64_t powers[PRODUCTS];
    for (int64_t j = 0; j < PRODUCTS; j++) product[j] = 1.0, lost[j] = 0.0, powers[j] = 0;
    for (int64_t start = 0; start < rows;) {
        const int64_t stop = fewer(start + PRODUCT_TURNS * PRODUCTS, rows);
        for (; start < stop; start += PRODUCTS)
#pragma omp simd
            for (int64_t j = 0; j < PRODUCTS; j++) grow(&product[j], &lost[j], rate * x[start + j], 0.0);
#pragma omp simd
        for (int64_t j = 0; j < PRODUCTS; j++) rescale(&product[j], &lost[j], &powers[j]);
    }
    for (int64_t half = PRODUCTS / 2; half > 0; half /= 2)
        for (int64_t j = 0; j < half; j++) {
            grow(&product[j], &lost[j], product[j + half] - 1.0, lost[j + half]);
            powers[j] += powers[j + half];
        }
    rescale(product, lost, powers);
    return (double)powers[0] * LOG_2 + log1p((product[0] - 1.0) + lost[0]);
}

/* One logarithm a row, where a factor may be nearly zero. */
static double log_factors(const double *x, int64_t rows, double rate) {
    double total = 0.0, lost = 0.0;
    for (int64_t i = 0; i < rows; i++) add_exactly(&total, &lost, log1p(rate * x[i]));
    return total + lost;
}

/* For every group, sum log(1 + rate x) into totals (groups, count). The rows of group g are order[edges[g]]
 * to order[edges[g + 1]], or those themselves without an order.
 */
EXPORT(log_products)(const double *x, const int32_t *order, const int64_t *edges, int64_t groups, const double *rates,
                     int64_t count, double *totals, double *lost) {
    double block[BLOCK + PRODUCTS], largest = 0.0;
    for (int64_t k = 0; k < count; k++) largest = larger(largest, fabs(rates[k]));
    for (int64_t g = 0; g < groups; g++) {
        double *total = totals + g * count, *missing = lost + g * count;
        for (int64_t start = edges[g]; start < edges[g + 1]; start += BLOCK) {
            const int64_t rows = fewer(BLOCK, edges[g + 1] - start);
            if (order)
                for (int64_t i = 0; i < rows; i++) block[i] = x[order[start + i]];
            else
                memcpy(block, x + start, (size_t)rows * sizeof(double));
            memset(block + rows, 0, PRODUCTS * sizeof(double));
            double beyond = 0.0;
#pragma omp simd reduction(+ : beyond)
            for (int64_t i = 0; i < rows; i++) beyond += largest * fabs(block[i]) <= 0.75 ? 0.0 : 1.0;
            for (int64_t k = 0; k < count; k++)
                add_exactly(&total[k], &missing[k],
                            beyond == 0.0 ? log_product(block, rows, rates[k]) : log_factors(block, rows, rates[k]));
        }
        for (int64_t k = 0; k < count; k++) total[k] += missing[k];
    }
    return 0;
}
