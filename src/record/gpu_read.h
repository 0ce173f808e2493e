/* SPDX-License-Identifier: Apache-2.0
 * gpu_read.h - reads the file `gpu` of a session (gpu_file.h), which may end anywhere. */
#ifndef HU_RECORD_GPU_READ_H
#define HU_RECORD_GPU_READ_H

#include <stdbool.h>

#include "base/arena.h"
#include "record/gpu_file.h"

typedef struct {
    hu_gpu_row_device about;
    uint32_t          has; /* bits of hu_gpu_quantity that ever had a value */
    HU_VEC(uint32_t) pids; /* that computed on it */
    int64_t problem_ns;    /* since when it gave no values; 0: always did */
    char    problem[96];
} hu_gpu_seen;

typedef struct {
    hu_gpu_seen *at; /* HU_GPU_MOST, of which n are there */
    size_t       n;
    int64_t      period_ns, cpu_ns;  /* between two looks, as asked for; of the sampler, 0 unknown */
    bool         has_file, is_whole; /* is_whole: the sampler ended by itself */
    char         problem[96];        /* of all: why there are no GPUs; "" */
} hu_gpus_seen;

/* All but the samples.  False: no memory. */
bool hu_gpus_read(const char *session, hu_arena *arena, hu_gpus_seen *out);

/* The samples one after the other, in the order of time; stops when `take` returns false. */
void hu_gpus_each(const char *session, bool (*take)(void *context, const hu_gpu_row_sample *sample), void *context);

#endif
