/* SPDX-License-Identifier: Apache-2.0
 * pf_gpu_borders.h - which GPU work belongs to the steps or ranges that a process recorded. */
#ifndef HU_RECORD_PF_GPU_BORDERS_H
#define HU_RECORD_PF_GPU_BORDERS_H

#include "record/pf.h"

typedef struct {
    uint64_t ticks;
    uint32_t correlation;
} hu_gpu_call;

typedef struct {
    HU_VEC(uint64_t) marks; /* ticks: it was opened, closed, opened ..., none of it twice; none: all belongs to it */
    bool is_open_before;    /* the first mark closes it */
    HU_VEC(hu_gpu_call) calls;
} hu_gpu_borders;

/* Reads the marks of all threads.  None where everything is recorded, or not all marks are there.  False: no memory. */
bool hu_gpu_borders_find(hu_pf *p, hu_gpu_borders *out);

/* A call of CUDA and when it began; after all of them, _sort.  False: no memory. */
bool hu_gpu_borders_add_call(hu_pf *p, hu_gpu_borders *b, uint32_t correlation, uint64_t ticks);
void hu_gpu_borders_sort(hu_gpu_borders *b);

/* Does it belong to what was to be recorded?  Work of the device (is_work): by when its call began; else by its own time. */
bool hu_gpu_borders_have(const hu_gpu_borders *b, bool is_work, uint32_t correlation, uint64_t ticks);

#endif
