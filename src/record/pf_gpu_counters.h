/* SPDX-License-Identifier: Apache-2.0
 * pf_gpu_counters.h - counters of the GPUs that a file's processes use. */
#ifndef HU_RECORD_PF_GPU_COUNTERS_H
#define HU_RECORD_PF_GPU_COUNTERS_H

#include "record/gpu_read.h"
#include "record/pf.h"

/* A device that a process of the file worked on: what CUDA calls it there, and its board. */
typedef struct {
    uint32_t number;
    uint8_t  uuid[HU_GPU_UUID_BYTES]; /* all 0: not known */
} hu_pf_gpu_used;

typedef struct {
    const char           *session;
    const hu_gpus_seen   *gpus;
    const hu_pf_gpu_used *used;
    size_t                n_used;
    const uint32_t       *own, *known; /* processes of the file; of the whole session */
    size_t                n_own, n_known;
    int64_t               first_ns, end_ns; /* what is written, CLOCK_MONOTONIC; end 0: all */
} hu_pf_gpu_options;

/*
 * Which GPUs belong to a file: those that its processes worked on, by their UUIDs; where not all of these are known, also
 * those that its processes were seen on; and where no process of the session was seen on any (a container has numbers of its
 * own), all.
 *
 * What CUDA calls a GPU is known where the file's processes agree: the number means one GPU, and the GPU has one number.
 */
enum { HU_PF_NO_NUMBER = -1 };

typedef struct {
    bool    is_ours[HU_GPU_MOST]; /* by their place in hu_gpus_seen */
    int32_t number[HU_GPU_MOST];  /* CUDA's; HU_PF_NO_NUMBER: not known */
    bool    is_known;             /* what `is_ours` says is sure */
    bool    by_process;           /* processes of the session were seen on some */
} hu_pf_gpu_choice;

hu_pf_gpu_choice hu_pf_gpus_choose(const hu_pf_gpu_options *options);

/* Tracks and samples.  False: no memory. */
bool hu_pf_gpus_write(hu_pf *p, hu_pf_sequence *s, const hu_pf_gpu_options *options, const hu_pf_gpu_choice *choice);

/* A line for each GPU of the file, for the attribute holdup.gpus, as analyze/gpu_clocks.c reads it; in `arena`. */
hu_str hu_pf_gpus_lines(const hu_pf *p, const hu_pf_gpu_options *options, const hu_pf_gpu_choice *choice, hu_arena *arena);

#endif
