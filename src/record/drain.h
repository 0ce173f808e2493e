/* SPDX-License-Identifier: Apache-2.0
 * drain.h - one live ring file: full blocks go to its drain file, and back to the program.
 *
 * Open blocks are left alone: what is in them is in the page cache and outlives the program, and reading them would take
 * their cache lines away from the thread that writes.
 */
#ifndef HU_RECORD_DRAIN_H
#define HU_RECORD_DRAIN_H

#include <stdbool.h>

#include "protocol/format.h"

/* Limits and sums of a session. */
typedef struct {
    uint64_t max_bytes; /* 0: none */
    uint64_t bytes, drained, dropped;
    bool     is_flight; /* threads reuse their own blocks: only those of ended threads are ours */
    bool     is_disk_full;
} hu_drain_budget;

typedef struct hu_drain hu_drain;

/* Maps a ring file.  NULL: it is none (yet), or there is no memory: *is_none tells which, and a later try may help. */
hu_drain *hu_drain_open(const char *ring_path, bool *is_none);

/* Unmaps; nothing is written. */
void hu_drain_close(hu_drain *d);

/* The head of its ring, mapped: the program may write to it at any time. */
const hu_ring_head *hu_drain_head_of(const hu_drain *d);

/* It was alive at `ticks`: what ends with a process that dies together with its supervisor ends no earlier. */
void hu_drain_saw(hu_drain *d, uint64_t ticks);

/* Copies and gives back what is full.  Returns how much of the limit of its ring is in use, in parts of 256. */
uint32_t hu_drain_round(hu_drain *d, hu_drain_budget *budget);

/* The process is dead: notes what was dropped for the limit, and when the death was seen (NULL: it was not, and the
 * process may live in another namespace); then the ring file is cut to what it holds. */
void hu_drain_end(hu_drain *d, hu_drain_budget *budget, const hu_clock_snapshot *seen);

#endif
