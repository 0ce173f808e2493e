/* SPDX-License-Identifier: Apache-2.0
 * sight.h - which slices of a trace can be told apart in a piece of time that so many pixels show. */
#ifndef HU_TIMELINE_SIGHT_H
#define HU_TIMELINE_SIGHT_H

#include "timeline/windows.h"

/* Where slices end, for one block of them after the other: what a piece of time needs not look at. */
typedef struct hu_sight_index hu_sight_index;

typedef struct {
    const hu_trace       *trace;
    const hu_sight_index *index; /* of the trace; NULL: every slice is looked at */
    const hu_windows     *windows;
    const uint8_t        *rows;      /* hu_nest_rows */
    int64_t               origin_ns; /* from which the windows count */
    int64_t               least_ns;  /* of shorter ones beside each other one stands for all; 0: none */
} hu_sight;

typedef struct {
    uint32_t *number;    /* 1 + place among those that are seen, by slice; 0: it is not */
    uint32_t *per_track; /* how many */
    uint32_t  n;
} hu_seen;

/* hu_nest_rows of the trace; NULL: all of its threads nest. */
const uint8_t *hu_sight_rows(const hu_sight_index *index);

/* In `arena`; for whoever asks for many pieces of one trace.  NULL when there is no memory. */
hu_sight_index *hu_sight_index_new(const hu_trace *trace, hu_arena *arena);

/* Numbers what is seen, track by track in their order, counters left out; in `arena`.  Returns 0 or HU_ENOMEM. */
int hu_sight_choose(const hu_sight *sight, hu_arena *arena, hu_seen *out, hu_error *err);

/* Places in hu_trace_order(): the first from `place` on that may be seen, and the first of a track behind all that are. */
uint32_t hu_sight_from(const hu_sight *sight, uint32_t place);
uint32_t hu_sight_end(const hu_sight *sight, const hu_track *track);

#endif
