/* SPDX-License-Identifier: Apache-2.0
 * cpu.c - asks the processor once per trace; cheap enough to keep no state. */
#include "base/cpu.h"

#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

static const char *const names[] = {
    [HU_CPU_SCALAR] = "scalar", [HU_CPU_NEON] = "neon", [HU_CPU_AVX2] = "avx2", [HU_CPU_AVX512] = "avx512"};

#if defined(__x86_64__)
/* Bits of XCR0, Intel's manual, volume 1, 13.3: what the kernel saves when it changes threads. */
enum { YMM = 0x06, ZMM = 0xe6 };

/* Not __builtin_cpu_supports: not every compiler's library has what it calls. */
static unsigned features(void)
{
    unsigned a, b, c, d;

    return __get_cpuid_count(7, 0, &a, &b, &c, &d) ? b : 0;
}

static unsigned saved_registers(void)
{
    unsigned a, b, c, d;

    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE))
        return 0;
    __asm__ volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
    return a;
}
#endif

hu_cpu hu_cpu_best(void)
{
#if defined(__x86_64__)
    enum { AVX2 = bit_AVX2 | bit_BMI | bit_BMI2, AVX512 = AVX2 | bit_AVX512F | bit_AVX512BW | bit_AVX512VL };
    const unsigned has = features(), saved = saved_registers();

    if ((has & (unsigned)AVX512) == (unsigned)AVX512 && (saved & ZMM) == ZMM)
        return HU_CPU_AVX512;
    return (has & AVX2) == AVX2 && (saved & YMM) == YMM ? HU_CPU_AVX2 : HU_CPU_SCALAR;
#elif defined(__aarch64__)
    return HU_CPU_NEON;
#else
    return HU_CPU_SCALAR;
#endif
}

hu_cpu hu_cpu_chosen(void)
{
    const char  *asked = getenv("HOLDUP_CPU");
    const hu_cpu have = hu_cpu_best();

    for (hu_cpu cpu = HU_CPU_SCALAR; asked && cpu <= have; cpu++)
        if (strcmp(asked, names[cpu]) == 0 && (cpu != HU_CPU_NEON || have == HU_CPU_NEON))
            return cpu;
    /* Events are short: 64 bytes at once took 0 to 16 % longer than 32, on an EPYC and on an Emerald Rapids. */
    return have == HU_CPU_AVX512 ? HU_CPU_AVX2 : have;
}

const char *hu_cpu_name(hu_cpu cpu)
{
    return names[cpu];
}
