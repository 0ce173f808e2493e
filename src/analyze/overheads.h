/* SPDX-License-Identifier: Apache-2.0
 * overheads.h - time that buys nothing: recomputed activations, Python's garbage collector, the profiler itself. */
#ifndef HU_ANALYZE_OVERHEADS_H
#define HU_ANALYZE_OVERHEADS_H

#include "analyze/ask.h"

/* One operator that runs a second time in backward. */
typedef struct {
    hu_str  name;
    int64_t calls, device_ns, host_ns;
} hu_recompute;

/* The profiler's own work, by name. */
typedef struct {
    hu_str  name;
    int64_t calls, total_ns;
} hu_overhead;

typedef struct {
    int64_t span_ns; /* from the first start to the last end of anything */

    int64_t       recompute_calls; /* forward operators that ran inside of backward, the outermost of each */
    int64_t       recompute_host_ns, recompute_device_ns;
    int64_t       device_ns;  /* all device work, as a sum, to compare with */
    hu_recompute *recomputed; /* by device_ns, host_ns, name: operators that launched work or are leaves */
    size_t        n_recomputed;

    int64_t gc_calls, gc_ns; /* union over threads */
    int64_t gc_most_ns;
    bool    gc_recorded; /* the trace has Python frames or the collector's own record */

    int64_t      profiler_ns;          /* union */
    int64_t      profiler_in_steps_ns; /* of it inside the steps */
    hu_overhead *at;                   /* by total_ns, then name */
    size_t       n;
} hu_overheads;

/* Rows live in the arena of `ask`, names are borrowed from the trace.  Returns 0 or HU_ENOMEM. */
int hu_overheads_measure(const hu_ask *ask, hu_overheads *out, hu_error *err);

/* Adds the rows of another rank to equal ones.  Texts are borrowed.  False when there is no memory. */
bool hu_overheads_merge(hu_overheads *into, const hu_overheads *from, hu_arena *arena);

/*
 * Which operators recompute: by slice, 1 for a forward operator inside of backward and all that is in it, else 0; lives in
 * `arena`, NULL when there is no memory.
 */
const uint8_t *hu_overheads_find_recompute(const hu_ask *ask, hu_arena *arena);

#endif
