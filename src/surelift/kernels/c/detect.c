/* Which of the instruction sets compiled in here this machine has: 0 baseline, 1 AVX2 with FMA, 2 AVX-512. */
#include <stdint.h>

#if defined(_WIN32)
#define SHOWN __declspec(dllexport)
#else
#define SHOWN __attribute__((visibility("default")))
#endif

#if defined(__x86_64__)
#include <cpuid.h>

/* Asked of the processor itself: not every compiler comes with the library behind __builtin_cpu_supports. */
SHOWN int64_t instruction_set(void) {
    enum { FMA = 1 << 12, OSXSAVE = 1 << 27, AVX2 = 1 << 5 };
    const uint32_t avx512 = 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31; /* F, DQ, BW, VL */
    uint32_t eax, ebx, ecx, edx, saved, upper;
    if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx & FMA) || !(ecx & OSXSAVE)) return 0;
    /* Registers that the operating system does not save may not be used. */
    __asm__("xgetbv" : "=a"(saved), "=d"(upper) : "c"(0));
    if ((saved & 0x06) != 0x06 || !__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) || !(ebx & AVX2)) return 0;
    return (saved & 0xe6) == 0xe6 && (ebx & avx512) == avx512 ? 2 : 1;
}
#else
SHOWN int64_t instruction_set(void) { return 0; }
#endif
