/* What all loops share. Every file is compiled once for each instruction set, with its name as ISA. */
#ifndef SURELIFT_COMMON_H
#define SURELIFT_COMMON_H

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define JOINED_(name, isa) name##_##isa
#define JOINED(name, isa) JOINED_(name, isa)

#if defined(_WIN32)
#define SHOWN __declspec(dllexport)
#else
#define SHOWN __attribute__((visibility("default")))
#endif

/* A function that Python calls: its name ends in that of the instruction set, and it returns 64 bits. */
#define EXPORT(name) SHOWN int64_t JOINED(name, ISA)

/* Rows that stay in the first cache while they are worked on: eight stripes of 512. */
enum { STRIPE = 512, BLOCK = 8 * STRIPE };

static const double LOG_2 = 0.693147180559945309417232121458;

static inline double larger(double a, double b) { return a > b ? a : b; }
static inline double smaller(double a, double b) { return a < b ? a : b; }
static inline int64_t fewer(int64_t a, int64_t b) { return a < b ? a : b; }

/* Neumaier's sum: what the total cannot hold is kept apart. */
static inline void add_exactly(double *total, double *lost, double term) {
    double grown = *total + term;
    *lost += fabs(*total) >= fabs(term) ? (*total - grown) + term : (term - grown) + *total;
    *total = grown;
}

/* The finaliser of splitmix64: each input bit flips about half of the output bits. */
static inline uint64_t scrambled(uint64_t word) {
    word = (word ^ (word >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    word = (word ^ (word >> 27)) * UINT64_C(0x94D049BB133111EB);
    return word ^ (word >> 31);
}

#endif
