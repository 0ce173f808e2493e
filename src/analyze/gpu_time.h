/* SPDX-License-Identifier: Apache-2.0
 * gpu_time.h - where the device's time goes over the whole capture, in exact unions of intervals. */
#ifndef HU_ANALYZE_GPU_TIME_H
#define HU_ANALYZE_GPU_TIME_H

#include "analyze/ask.h"

/* Bits of the parts that split_ns tells apart. */
enum { HU_PART_COMPUTE = 1, HU_PART_COMM = 2, HU_PART_MEMORY = 4, HU_PART_SETS = 8 };

typedef struct {
    int64_t n_slices; /* device slices of all kinds; 0: no device was used or recorded */
    int64_t n_kernels, n_comm, n_memcpy, n_memset;
    int64_t span_ns;    /* first start to last end of any GPU work */
    int64_t busy_ns;    /* kernels ∪ copies ∪ sets */
    int64_t compute_ns; /* kernels that are not communication */
    int64_t comm_ns, memcpy_ns, memset_ns;
    int64_t overlapped_comm_ns; /* comm ∩ compute */
    int64_t exposed_memcpy_ns;  /* memcpy ∖ (compute ∪ comm) */
    int64_t kernel_sum_ns;      /* plain sum over compute kernels: more than the union when they overlap */
    int64_t comm_sum_ns;
    int64_t split_ns[HU_PART_SETS]; /* by the HU_PART_* that run at once, [0] idle; sum = span; memory = copies and sets */
} hu_gpu_time;

/* Fills *out.  Without device work everything is 0, which is an answer, not an error.  Returns 0 or HU_ENOMEM. */
int hu_gpu_time_measure(const hu_ask *ask, hu_gpu_time *out, hu_error *err);

/* Adds another rank: sums of ns, so that shares are means weighted by span. */
void hu_gpu_time_merge(hu_gpu_time *into, const hu_gpu_time *from);

int64_t hu_gpu_time_idle_ns(const hu_gpu_time *g);

/* Communication that no computation hid: what perfect overlap could win at most, not what it will win. */
int64_t hu_gpu_time_exposed_comm_ns(const hu_gpu_time *g);

#endif
