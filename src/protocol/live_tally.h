/* SPDX-License-Identifier: Apache-2.0
 * live_tally.h - what a process under `holdup run` counts of its steps while they run, in the head of its ring file.
 *
 * One thread writes, the one that marks the steps; the supervisor reads and makes datagrams of it (live.h).  All times are
 * ticks of the session's clock.  `version` is odd while the tally is written: a reader takes what it copied between two
 * equal even values.
 */
#ifndef HU_PROTOCOL_LIVE_TALLY_H
#define HU_PROTOCOL_LIVE_TALLY_H

#include "protocol/live.h"

typedef struct {
    uint32_t version;
    uint32_t is_used;  /* this process tells: it has marked a step or a count, and is no worker that only has phases */
    uint32_t measured; /* bits of hu_live_cause that are recorded in here ... */
    uint32_t hidden;   /* ... and those that cannot be, whatever was recorded: collectives of NCCL run on the device */
    uint32_t is_in_step;
    uint32_t now;   /* hu_live_cause + 1; 0: none */
    uint64_t began; /* of the process, as hu_live_datagram.began: for one that ended before anybody could look */
    uint64_t now_since;
    int32_t  local_size; /* as hu_live_datagram's */
    char     step_id[HU_LIVE_STEP_BYTES];
    uint64_t counted;     /* the open step's time is laid upon its causes up to here */
    int64_t  step_number; /* of the one that runs, or of the last one */
    uint64_t step_since, last_step;
    uint64_t steps, step_ticks;
    uint64_t samples, tokens, checkpoints;
    uint64_t cause_ticks[HU_LIVE_CAUSES_ROOM]; /* of the steps that are over */
    uint64_t open_ticks[HU_LIVE_CAUSES_ROOM];  /* of the step that runs */
    uint64_t histogram[HU_LIVE_LIMITS + 1];

    /* gloo: its threads count themselves, and the thread of the steps says when it waits for somebody */
    uint64_t waits_since;               /* 0: it does not */
    uint32_t gloo_threads, gloo_idle;   /* that run collectives; of these, that wait for one to run */
    uint32_t gloo_taken, gloo_reserved; /* how often one of them found work */
} hu_live_tally;

#endif
