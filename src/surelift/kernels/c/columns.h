/* Columns as they lie in memory, read in blocks as double precision, and the hashes of the rounds. */
#ifndef SURELIFT_COLUMNS_H
#define SURELIFT_COLUMNS_H

#include "common.h"

/* The order of `KINDS` in columns.py. */
enum { FLOAT64, FLOAT32, INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, UINT64 };

/* Copies, and counts what is not between two numbers; a comparison with what is no number is false, so that it counts. */
#define COPY(type)                                                            \
    do {                                                                      \
        const type *restrict from = (const type *)source + start;             \
        _Pragma("omp simd reduction(+ : outside)") for (int64_t i = 0; i < count; i++) { \
            const double value = (double)from[i];                             \
            target[i] = value;                                                \
            outside += value >= least && value <= most ? 0.0 : 1.0;           \
        }                                                                     \
    } while (0)

/* A column in double precision; says how many values are not between two numbers, both allowed. */
static int64_t copy_numbers(const void *source, int64_t kind, int64_t start, int64_t count, double least, double most,
                            double *restrict target) {
    double outside = 0.0;
    switch (kind) {
    case FLOAT64: COPY(double); break;
    case FLOAT32: COPY(float); break;
    case INT8: COPY(int8_t); break;
    case INT16: COPY(int16_t); break;
    case INT32: COPY(int32_t); break;
    case INT64: COPY(int64_t); break;
    case UINT8: COPY(uint8_t); break;
    case UINT16: COPY(uint16_t); break;
    case UINT32: COPY(uint32_t); break;
    case UINT64: COPY(uint64_t); break;
    }
    return (int64_t)outside;
}

/* How many values are not between two numbers, both allowed; what is no number is not. */
static int64_t count_outside(const double *restrict values, int64_t count, double least, double most) {
    double outside = 0.0;
#pragma omp simd reduction(+ : outside)
    for (int64_t i = 0; i < count; i++) outside += values[i] >= least && values[i] <= most ? 0.0 : 1.0;
    return (int64_t)outside;
}

static const uint64_t SEEDS[2] = {UINT64_C(0x9E3779B97F4A7C15), UINT64_C(0xD1B54A32D192ED03)};

static void begin_hashes(uint64_t *restrict low, uint64_t *restrict high, int64_t count) {
    for (int64_t i = 0; i < count; i++) low[i] = SEEDS[0], high[i] = SEEDS[1];
}

static inline uint64_t bits_of(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    /* Of -0.0 the bits are those of 0.0: equal numbers. */
    return bits << 1 ? bits : 0;
}

static inline uint64_t mixed(uint64_t lane, uint64_t bits, uint64_t seed) {
    const uint64_t word = (lane ^ bits) * seed;
    return word ^ (word >> 29);
}

/* Mix a column into both lanes of the hashes of its rounds. */
static void mix_numbers(const double *restrict values, uint64_t *restrict low, uint64_t *restrict high, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        const uint64_t bits = bits_of(values[i]);
        low[i] = mixed(low[i], bits, SEEDS[0]);
        high[i] = mixed(high[i], bits, SEEDS[1]);
    }
}

/* Begin the hashes with two columns at once. */
static void begin_hashes_with(const double *restrict first, const double *restrict second, uint64_t *restrict low,
                              uint64_t *restrict high, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        const uint64_t one = bits_of(first[i]), two = bits_of(second[i]);
        low[i] = mixed(mixed(SEEDS[0], one, SEEDS[0]), two, SEEDS[0]);
        high[i] = mixed(mixed(SEEDS[1], one, SEEDS[1]), two, SEEDS[1]);
    }
}

static void mix_words(const uint64_t *restrict words, uint64_t *restrict lane, uint64_t seed, int64_t count) {
    for (int64_t i = 0; i < count; i++) lane[i] = mixed(lane[i], words[i], seed);
}

/* Scramble every word, and add the lower and the upper 32 bits apart: neither sum can overflow. */
static void finish_hashes(uint64_t *restrict lane, int64_t count, uint64_t *restrict totals) {
    uint64_t low = 0, high = 0;
    for (int64_t i = 0; i < count; i++) {
        const uint64_t word = scrambled(lane[i]);
        lane[i] = word;
        low += word & UINT64_C(0xFFFFFFFF);
        high += word >> 32;
    }
    totals[0] += low;
    totals[1] += high;
}

/* Of numbers that are not negative: their bits are in the same order, and integers are compared many at a time. */
static double largest_of(const double *values, int64_t count) {
    int64_t top = 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t bits;
        memcpy(&bits, values + i, sizeof bits);
        top = bits > top ? bits : top;
    }
    double found;
    memcpy(&found, &top, sizeof found);
    return found;
}

static double smallest_of(const double *values, int64_t count) {
    int64_t least = INT64_MAX;
    for (int64_t i = 0; i < count; i++) {
        int64_t bits;
        memcpy(&bits, values + i, sizeof bits);
        least = bits < least ? bits : least;
    }
    double found;
    memcpy(&found, &least, sizeof found);
    return found;
}

#endif
