/* SPDX-License-Identifier: Apache-2.0
 * tally.h - how much a session has recorded so far, counted from its files while others write them. */
#ifndef HU_RECORD_TALLY_H
#define HU_RECORD_TALLY_H

#include "protocol/format.h"

typedef struct {
    uint32_t        processes, running; /* that attached, whatever they became by exec; that still run */
    uint32_t        doors;              /* HU_DOOR_*: that were entered in any of them */
    uint64_t        records;            /* in rings and drained; of a session that runs: about */
    uint64_t        bytes;              /* on disk */
    uint64_t        lost[HU_LOSS_REASONS];
    uint64_t        lost_in_all;                      /* without what a flight recorder overwrites by design */
    uint32_t        cuda_processes[HU_CUDA_STATES];   /* whose CUDA door stands so, ... */
    hu_cuda_facts   cuda[HU_CUDA_STATES];             /* ... and the facts of one of them */
    hu_cuda_facts   cuda_losses;                      /* sums over all */
    hu_opencl_facts opencl;                           /* sums over all of what is counted */
    uint32_t        pythons;                          /* processes that are a Python, ... */
    uint32_t        isolated;                         /* ... that leave PYTHONPATH or `site` out: -I, -E, -S */
    uint32_t        torch_processes[HU_TORCH_STATES]; /* whose hook of --pytorch stands so */
    hu_torch_facts  torch;                            /* of the process with most steps, then operators */
    uint64_t        decoding_ns;                      /* CPU time of our threads in the programs */
} hu_tally;

/* All zero when there is nothing to read. */
void hu_tally_session(const char *path, hu_tally *out);

#endif
