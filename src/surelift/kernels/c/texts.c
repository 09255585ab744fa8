#include "common.h"

/* A hash of 64 bits for each text: bytes offsets[i] to offsets[i + 1] of `bytes`, in offsets of 32 or 64 bits. */
EXPORT(hash_texts)(const uint8_t *bytes, const void *offsets, int64_t wide, int64_t rows, uint64_t *words) {
    for (int64_t i = 0; i < rows; i++) {
        const int64_t start = wide ? ((const int64_t *)offsets)[i] : ((const int32_t *)offsets)[i];
        const int64_t stop = wide ? ((const int64_t *)offsets)[i + 1] : ((const int32_t *)offsets)[i + 1];
        uint64_t word = UINT64_C(0x9E3779B97F4A7C15) ^ (uint64_t)(stop - start);
        for (int64_t at = start; at < stop; at += 8) {
            uint64_t part = 0;
            memcpy(&part, bytes + at, (size_t)fewer(8, stop - at));
            word = scrambled(word ^ part);
        }
        words[i] = word;
    }
    return 0;
}
