/* SPDX-License-Identifier: Apache-2.0
 * gpu_file.h - the file `gpu` of a session: what was sampled of the GPUs beside the job (gpu_sampler.h).
 *
 * Records of different kinds, each of which says its length: what a reader does not know, it skips.  Times are
 * CLOCK_BOOTTIME.
 */
#ifndef HU_RECORD_GPU_FILE_H
#define HU_RECORD_GPU_FILE_H

#include <stdint.h>

#include "base/gpu_counters.h"

#define HU_GPU_FILE_MAGIC 0x3153555047554855ull /* "UHUGPUS1" */

typedef struct {
    uint64_t magic;
    uint32_t version, unused;
    int64_t  period_ns;
} hu_gpu_file_head;

typedef enum {
    HU_GPU_ROW_DEVICE = 1,
    HU_GPU_ROW_SAMPLE,
    HU_GPU_ROW_PROCESS,
    HU_GPU_ROW_PROBLEM,
    HU_GPU_ROW_END
} hu_gpu_row_type;

typedef struct {
    uint16_t type, bytes; /* hu_gpu_row_type; of the whole record */
    uint32_t device;      /* the driver's number of it */
} hu_gpu_row;

/* Texts end in '\0' and are "" where they are not known, numbers 0. */
typedef struct {
    hu_gpu_row row;
    char       name[96], uuid[96], bus[32], driver[96];
    uint32_t   most_sm_mhz, most_memory_mhz, power_limit_mw, is_mig;
    uint64_t   memory_bytes;
} hu_gpu_row_device;

typedef struct {
    hu_gpu_row row;
    int64_t    ns;
    uint32_t   has; /* bits of hu_gpu_quantity, as the values below */
    uint32_t   unused;
    int64_t    value[HU_GPU_QUANTITY_COUNT];
} hu_gpu_row_sample;

/* This process was seen to compute on the device. */
typedef struct {
    hu_gpu_row row;
    uint32_t   pid, unused;
} hu_gpu_row_process;

/* From here on the device gives no values. */
typedef struct {
    hu_gpu_row row;
    int64_t    ns;
    char       words[96];
} hu_gpu_row_problem;

/* The last record of a sampler that ended in time. */
typedef struct {
    hu_gpu_row row;
    int64_t    ns, cpu_ns;
} hu_gpu_row_end;

#endif
