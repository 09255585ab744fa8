#include "common.h"

/* How many entries are hashed at once, whichever vectors they belong to. */
enum { HASHED = 1024 };

/* For every seed and vector the sum of the hashes of its entries and their positions, into sums (count, vectors). Vector v
 * is values[starts[v]] to values[starts[v + 1]]. Minus zero is taken as zero.
 * The values are floats if single, else doubles; equal ones have equal hashes.
 */
EXPORT(hash_vectors)(const void *values, int64_t single, const int64_t *starts, int64_t vectors, const uint64_t *seeds,
                     int64_t count, uint64_t *sums) {
    double block[HASHED];
    uint64_t bits[HASHED], positions[HASHED], words[HASHED];
    memset(sums, 0, (size_t)(count * vectors) * sizeof(uint64_t));
    int64_t first = 0;
    for (int64_t start = 0; start < starts[vectors]; start += HASHED) {
        const int64_t entries = fewer(HASHED, starts[vectors] - start);
        if (single)
            for (int64_t i = 0; i < entries; i++) block[i] = ((const float *)values)[start + i];
        else
            memcpy(block, (const double *)values + start, (size_t)entries * sizeof(double));
        memcpy(bits, block, (size_t)entries * sizeof(uint64_t));
        for (int64_t i = 0; i < entries; i++) bits[i] = block[i] != 0.0 ? bits[i] : 0;
        int64_t vector = first;
        for (int64_t i = 0; i < entries; vector++)
            for (; i < fewer(entries, starts[vector + 1] - start); i++)
                positions[i] = (uint64_t)(start + i - starts[vector]);
        for (int64_t k = 0; k < count; k++) {
            const uint64_t seed = seeds[k];
            for (int64_t i = 0; i < entries; i++) words[i] = scrambled(scrambled(bits[i] + seed) + positions[i] * seed);
            vector = first;
            for (int64_t i = 0; i < entries; vector++) {
                uint64_t sum = 0;
                for (; i < fewer(entries, starts[vector + 1] - start); i++) sum += words[i];
                sums[k * vectors + vector] += sum;
            }
        }
        /* The last vector may go on in the next block. */
        first = vector - 1;
    }
    return 0;
}
