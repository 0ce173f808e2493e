/* SPDX-License-Identifier: Apache-2.0
 * cpu.h - which instruction set the hot loops may use, decided at run time. */
#ifndef HU_BASE_CPU_H
#define HU_BASE_CPU_H

typedef enum { HU_CPU_SCALAR, HU_CPU_NEON, HU_CPU_AVX2, HU_CPU_AVX512, HU_CPU_COUNT } hu_cpu;

/* The widest that this machine has and this build contains. */
hu_cpu hu_cpu_best(void);

/* What scans: the fastest by measurement, or HOLDUP_CPU=scalar|neon|avx2|avx512 where the machine has that. */
hu_cpu hu_cpu_chosen(void);

const char *hu_cpu_name(hu_cpu cpu);

#endif
