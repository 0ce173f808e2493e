/* SPDX-License-Identifier: Apache-2.0
 * cpu.c - asks the processor once per trace; cheap enough to keep no state. */
#include "base/cpu.h"

#include <stdlib.h>
#include <string.h>

static const char *const names[] = {
    [HU_CPU_SCALAR] = "scalar", [HU_CPU_NEON] = "neon", [HU_CPU_AVX2] = "avx2", [HU_CPU_AVX512] = "avx512"};

static hu_cpu best(void)
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

hu_cpu hu_cpu_detect(void)
{
    const char  *asked = getenv("HOLDUP_CPU");
    const hu_cpu have = best();

    for (hu_cpu cpu = HU_CPU_SCALAR; asked && cpu < have; cpu++)
        if (strcmp(asked, names[cpu]) == 0 && (cpu != HU_CPU_NEON || have == HU_CPU_NEON))
            return cpu;
    return have;
}

const char *hu_cpu_name(hu_cpu cpu)
{
    return names[cpu];
}
