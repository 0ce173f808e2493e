/* SPDX-License-Identifier: Apache-2.0
 * thread_sweep.h - a thread's time by call and by state, of calls that follow each other: one pass, and no lists. */
#ifndef HU_ANALYZE_THREAD_SWEEP_H
#define HU_ANALYZE_THREAD_SWEEP_H

#include "analyze/thread_states.h"

/* A thread's time in windows, by what it was in, and of that what it was in each known state. */
typedef struct {
    int64_t in_ns[HU_WITHIN_COUNT], common_ns[HU_THREAD_UNKNOWN][HU_WITHIN_COUNT];
} hu_thread_places;

typedef struct {
    const hu_intervals *windows;
    hu_intervals        state[HU_THREAD_UNKNOWN];      /* in the windows */
    size_t              window, at[HU_THREAD_UNKNOWN]; /* what ends before the last call begins is behind */
    int64_t             end_ns;                        /* of the last call */
    hu_thread_places   *out;
} hu_thread_sweep;

/* Both lists are sorted and disjoint.  False: no memory. */
bool hu_thread_sweep_begin(hu_thread_sweep *s, const hu_intervals *windows, const hu_intervals state[HU_THREAD_STATE_COUNT],
                           hu_arena *arena, hu_thread_places *out);

/* Adds a call; false: it begins before the last one ended, and what was added is of no use. */
bool hu_thread_sweep_call(hu_thread_sweep *s, hu_within in, int64_t start_ns, int64_t end_ns);

/* What no call had is the thread's own code. */
void hu_thread_sweep_end(hu_thread_sweep *s);

#endif
