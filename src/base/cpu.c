/* SPDX-License-Identifier: Apache-2.0
 * cpu.c - asks the processor once per trace; cheap enough to keep no state. */
#include "base/cpu.h"

#include <stdlib.h>
#include <string.h>

static const char *const names[] = {
    [HU_CPU_SCALAR] = "scalar", [HU_CPU_NEON] = "neon", [HU_CPU_AVX2] = "avx2", [HU_CPU_AVX512] = "avx512"};

hu_cpu hu_cpu_best(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("bmi2"))
        return HU_CPU_AVX512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2"))
        return HU_CPU_AVX2;
    return HU_CPU_SCALAR;
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
