/* SPDX-License-Identifier: Apache-2.0
 * calls.h - what the program calls in the runtime and the driver of its device, and which of it waits. */
#ifndef HU_ANALYZE_CALLS_H
#define HU_ANALYZE_CALLS_H

#include "analyze/ask.h"

typedef struct {
    hu_str   name;
    hu_stats duration; /* in ns; of ranks that were merged without quantiles */
    bool     is_sync;  /* waits for the device */
    bool     is_alloc; /* takes or frees memory of the driver */
} hu_call;

/* One place that waits for the device. */
typedef struct {
    hu_str  call, op; /* op: the operators around it, innermost first; "" none */
    hu_str  stack;    /* Python frames around it, innermost first; "" not recorded */
    int64_t calls, total_ns, max_ns;
    int64_t final_calls,
        final_ns; /* of them behind the last launch and in no step: nothing is left that could come sooner */
} hu_wait;

enum { HU_WAIT_FRAMES = 6 };

typedef struct {
    hu_call *at; /* by total, then name */
    size_t   n;
    int64_t  total_ns;
    hu_wait *waits; /* by total_ns, then texts */
    size_t   n_waits;
    int64_t  wait_ns, wait_calls, final_ns, final_calls;
    int64_t  alloc_ns, alloc_calls;
    int64_t  alloc_calls_in_steps; /* in the steps that count, where a caching allocator should need none */
} hu_calls;

/* Rows live in the arena of `ask`, names are borrowed from the trace.  Returns 0 or HU_ENOMEM. */
int hu_calls_measure(const hu_ask *ask, hu_calls *out, hu_error *err);

/* Adds the rows of another rank to equal ones.  Texts are borrowed.  False when there is no memory. */
bool hu_calls_merge(hu_calls *into, const hu_calls *from, hu_arena *arena);

#endif
