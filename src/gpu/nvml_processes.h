/* SPDX-License-Identifier: Apache-2.0
 * nvml_processes.h - who uses a GPU, and how much of it.
 *
 * Numbers are of the PID namespace of the caller; one that the driver cannot translate is not there, or foreign.
 */
#ifndef HU_GPU_NVML_PROCESSES_H
#define HU_GPU_NVML_PROCESSES_H

#include "gpu/nvml.h"

/* A buffer that grows with what the driver has, kept between calls.  Begin with zeros; free rows. */
typedef struct {
    void    *rows;
    unsigned room;
} hu_nvml_buffer;

enum { HU_NVML_PROCESSES_MOST = 4096 };

#define HU_NVML_NO_BYTES UINT64_MAX

/*
 * Processes that compute on it, those of MPS among them, each once; at most `room` of them go to `out`, and *n says how many
 * there are.  `memory` (NULL: nobody wants it) gets the device memory of each in bytes, HU_NVML_NO_BYTES where it is
 * not told.  The list may grow between two calls: it is asked again with more room.
 */
hu_nvml_class hu_nvml_list(hu_nvml *n, const hu_nvml_device *d, hu_nvml_buffer *buffer, uint32_t *out, uint64_t *memory,
                           size_t room, size_t *count, int *code);

/* Share of the SMs that a process used in its last sample. */
typedef struct {
    uint32_t pid;
    double   busy;
    uint64_t at_us;
} hu_nvml_process_use;

/*
 * What processes used since *since_us (the driver's clock; 0: all that it has), which moves on: the last sample of each, at
 * most `room`; a share above 100 % is garbage and left out.  LATER: nobody used it.
 */
hu_nvml_class hu_nvml_uses(hu_nvml *n, hu_nvml_device *d, hu_nvml_buffer *buffer, uint64_t *since_us,
                           hu_nvml_process_use *out, size_t room, size_t *count, int *code);

#endif
