/* The probabilities of a Gaussian argmax. With z = t - d_a for the standardised score d_a of each action, measured from the
 * largest, the density of "the largest score is t and belongs to action a" is m(z_a) exp(sum_b log Phi(z_b)), where
 * m = phi/Phi: one sum over the actions serves them all. The nodes t are evenly spaced, so for one action all of them have
 * the same phase between the entries of a table of log Phi, and a fourth-order Taylor step from the nearest phase takes a
 * few multiplications per node and no error function. Nothing becomes subnormal, which would be a hundred times slower.
 */
#include "common.h"

/* USUAL_NODES are those of training: loops of a fixed length are faster. */
enum { MOST_NODES = 256, USUAL_NODES = 32 };

typedef struct {
    double first, step, farthest, least;
    int64_t nodes, phases, entries; /* of the table: 5 coefficients of so many entries at every phase */
} Quadrature;

#define REAL float
#define WORD uint32_t
#define TYPED(name) name##_32
#define ROUNDER 0x1.8p23f
#define BIAS 127
#define FRACTION_BITS 23
#define LN_2_HIGH 0.693359375f
#define LN_2_LOW -2.12194440e-4f
#define SERIES(r) \
    (1 + r * (1 + r * (1 / 2.0f + r * (1 / 6.0f + r * (1 / 24.0f + r * (1 / 120.0f + r * (1 / 720.0f)))))))
#include "quadrature.h"
#undef REAL
#undef WORD
#undef TYPED
#undef ROUNDER
#undef BIAS
#undef FRACTION_BITS
#undef LN_2_HIGH
#undef LN_2_LOW
#undef SERIES

#define REAL double
#define WORD uint64_t
#define TYPED(name) name##_64
#define ROUNDER 0x1.8p52
#define BIAS 1023
#define FRACTION_BITS 52
#define LN_2_HIGH 6.93147180369123816490e-01
#define LN_2_LOW 1.90821492927058770002e-10
#define SERIES_FROM_7(r) \
    (1 / 5040.0 + r * (1 / 40320.0 + r * (1 / 362880.0 + r * (1 / 3628800.0 + r * (1 / 39916800.0 + r * (1 / 479001600.0))))))
#define SERIES(r) \
    (1 + r * (1 + r * (1 / 2.0 + r * (1 / 6.0 + r * (1 / 24.0 + r * (1 / 120.0 + r * (1 / 720.0 + r * SERIES_FROM_7(r))))))))
#include "quadrature.h"
