/* SPDX-License-Identifier: Apache-2.0
 * gpu_sampler.h - samples the GPUs through NVML while a job runs, in a process of its own.
 *
 * A call into a driver that hangs cannot be cancelled, and a thread inside of it would keep its whole process from ending.
 * So the process that asks is neither the job's nor the supervisor's, is nobody's child, and is left behind if need be.
 */
#ifndef HU_RECORD_GPU_SAMPLER_H
#define HU_RECORD_GPU_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct {
    const char *library; /* of tests; NULL: the system's, and only where a driver is loaded */
    const char *visible; /* CUDA_VISIBLE_DEVICES of the job; NULL: not set */
    const char *order;   /* CUDA_DEVICE_ORDER of the job; NULL: not set */
    unsigned    hz;
    uint64_t    max_bytes; /* of the file; 0: no limit */
} hu_gpu_sampler_options;

typedef struct {
    pid_t pid; /* 0: there is none */
    int   to, from;
} hu_gpu_sampler;

/* Starts it, where there is a driver.  Before the supervisor prepares for children of the job.  False: there is none. */
bool hu_gpu_sampler_start(const hu_gpu_sampler_options *options, const char *session, hu_gpu_sampler *out);

/*
 * Asks it to end, and waits for that no longer than HU_GPU_PATIENCE_MS.  False: it is inside of a call that does not
 * return; it was killed, which a driver may ignore.
 */
enum { HU_GPU_PATIENCE_MS = 500 };
bool hu_gpu_sampler_stop(hu_gpu_sampler *which);

#endif
