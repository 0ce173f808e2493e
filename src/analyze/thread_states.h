/* SPDX-License-Identifier: Apache-2.0
 * thread_states.h - what a thread did all its life: in which state it was, and in which recorded call meanwhile. */
#ifndef HU_ANALYZE_THREAD_STATES_H
#define HU_ANALYZE_THREAD_STATES_H

#include "analyze/ask.h"

/* What a thread is inside of: a class of calls of the system (hu_host_class), or one of these. */
typedef enum {
    HU_WITHIN_TEAM = HU_HOST_CLASS_COUNT, /* a barrier of OpenMP, whatever is called to wait there */
    HU_WITHIN_COMM,                       /* MPI, and ranges of collectives */
    HU_WITHIN_CODE,                       /* no call that was recorded */
    HU_WITHIN_COUNT,
} hu_within;

/* Every nanosecond of a set of windows is in one cell, so that the cells sum to the windows exactly. */
typedef struct {
    int64_t ns[HU_THREAD_STATE_COUNT][HU_WITHIN_COUNT];
} hu_thread_states;

/* What all threads have in common; lives in the scratch memory of `ask`. */
typedef struct {
    const hu_ask     *ask;
    const uint8_t    *inner; /* hu_host_calls_find_inner */
    const uint8_t    *comm;  /* by slice: it waits for another thread's collective; NULL: none does */
    const uint32_t   *notes; /* by track: the row of its waits for a CPU; HU_NONE */
    const hu_stretch *stretches;
    hu_state_source   source; /* of this trace; HU_STATES_NONE: waits for a CPU and calls are all that is known */
    uint32_t          main;   /* with HU_STATES_SUMS: the command's main thread, of which sums are known; HU_NONE */
} hu_thread_asker;

/* Returns false when there is no memory. */
bool hu_thread_states_prepare(const hu_ask *ask, hu_thread_asker *out);

/*
 * Shares out the windows, sorted and disjoint, among the states and calls of a host thread.  Where its states are
 * estimates (hu_state_source), sums are as recorded and waits are taken to be in the recorded calls.  False: no memory.
 */
bool hu_thread_states_measure(const hu_thread_asker *asker, uint32_t track, const hu_intervals *windows,
                              hu_thread_states *out);

/* CPU time of a host thread in all its life; -1 not known. */
int64_t hu_thread_cpu_ns(const hu_thread_asker *asker, uint32_t track);

/* Is it known when, or how long, this thread ran? */
bool hu_thread_has_states(const hu_thread_asker *asker, uint32_t track);

int64_t hu_thread_states_sum(const hu_thread_states *s, hu_sched_state state);

/* When a thread lived: as recorded, and from the first to the last thing that it did.  Empty: it did nothing. */
hu_interval hu_thread_life(const hu_trace *trace, uint32_t track);

/* Were lives of threads recorded? */
bool hu_thread_has_lives(const hu_trace *trace);

/* "running", "runnable", "waiting", "unknown". */
const char *hu_thread_state_key(unsigned state);
/* "switches", "schedstat", "sums", "none". */
const char *hu_state_source_key(int64_t source);

#endif
