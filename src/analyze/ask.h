/* SPDX-License-Identifier: Apache-2.0
 * ask.h - what every question gets: the trace, what was found out about it once, and where its answer may live. */
#ifndef HU_ANALYZE_ASK_H
#define HU_ANALYZE_ASK_H

#include "analyze/names.h"
#include "analyze/precision.h"
#include "analyze/select.h"
#include "analyze/steps.h"
#include "analyze/wait_frames.h"

typedef struct {
    const hu_trace *trace;
    hu_slices       s;     /* its kinds are those of analyze/comm_kernels.h */
    const uint32_t *order; /* hu_trace_order() */
    const hu_track *tracks;
    size_t          n_tracks;
    const uint8_t  *names;     /* HU_NAME_* by string id */
    const uint8_t  *waits;     /* hu_wait_frame by string id, for Python frames */
    const uint8_t  *precision; /* hu_precision by string id, for the types of operators' inputs */
    bool            has_jvm;
    unsigned        kinds;     /* bits of those that occur */
    const uint8_t  *recompute; /* by slice: hu_overheads_find_recompute */

    const uint32_t *work; /* device slices of all streams by start; n_work of them */
    size_t          n_work;
    hu_intervals    compute, comm, memcpy, memset; /* their unions, over all streams */
    hu_intervals    kernels, copies, busy;         /* compute ∪ comm, memcpy ∪ memset, everything */

    const hu_steps              *steps;      /* NULL until they are known */
    uint32_t                     main_track; /* hu_main_thread_find, once the steps are known */
    const struct hu_phase_spans *phases;     /* hu_phase_spans_find, once the steps are known; NULL until then */
    const hu_intervals          *scope;      /* only what was launched or began in here; NULL: everything */
    const hu_intervals          *counted;    /* the steps that count in means; NULL: none */

    hu_arena *arena;   /* answers live here */
    hu_arena *scratch; /* the way to them */
} hu_ask;

/* Fills *out but for `steps`, `scope` and `counted`.  Returns 0 or HU_ENOMEM. */
int hu_ask_prepare(const hu_trace *trace, hu_arena *arena, hu_arena *scratch, hu_ask *out, hu_error *err);

static inline int64_t hu_ask_end(const hu_ask *ask, uint32_t slice)
{
    return ask->s.start_ns[slice] + ask->s.dur_ns[slice];
}

/* Was this device slice launched, or did this host slice begin, inside the scope? */
static inline bool hu_ask_has(const hu_ask *ask, uint32_t slice)
{
    return !ask->scope || hu_select_in(ask->scope, hu_select_time(ask->trace, &ask->s, slice));
}

/* The innermost slice of these kinds on a host track at a time, or HU_NONE. */
uint32_t hu_ask_slice_at(const hu_ask *ask, uint32_t track, int64_t time_ns, unsigned kinds);

/* Is it a Python frame in which its thread waits, and for what? */
static inline hu_wait_frame hu_ask_waits(const hu_ask *ask, uint32_t slice)
{
    return hu_wait_frame_at(ask->waits, &ask->s, slice);
}

/* The name of a slice, borrowed from the trace. */
static inline hu_str hu_ask_name(const hu_ask *ask, uint32_t slice)
{
    return hu_trace_text(ask->trace, ask->s.name[slice]);
}

/* Is it the mark of a step and nothing else?  What recurs may also be the data loader, which is work of its own. */
static inline bool hu_ask_is_mark(const hu_ask *ask, uint32_t slice)
{
    if (ask->names[ask->s.name[slice]] & HU_NAME_STEP)
        return true;
    return ask->s.kind[slice] == HU_KIND_USER &&
           !(ask->names[ask->s.name[slice]] & (HU_NAME_DATA_LOADER | HU_NAME_COMM | HU_NAME_GC)) &&
           hu_steps_is_mark(ask->steps, hu_ask_name(ask, slice));
}

/* The first slice of a track, by its place in the track's order, that begins at or after a time; t->count: none does. */
uint32_t hu_ask_first_from(const hu_ask *ask, const hu_track *t, int64_t time_ns);

#endif
