/* Which of the instruction sets compiled in here this machine has: 0 baseline, 1 AVX2 with FMA, 2 AVX-512. */
#include <stdint.h>

#if defined(_WIN32)
__declspec(dllexport)
#else
__attribute__((visibility("default")))
#endif
int64_t instruction_set(void) {
#if defined(__x86_64__) || defined(_M_X64)
    __builtin_cpu_init();
    if (!(__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))) return 0;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512bw"))
        return 2;
    return 1;
#else
    return 0;
#endif
}
