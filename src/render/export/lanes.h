/* SPDX-License-Identifier: Apache-2.0
 * lanes.h - the rows of a viewer: on each, slices begin and end like brackets, which is all that viewers can draw. */
#ifndef HU_RENDER_EXPORT_LANES_H
#define HU_RENDER_EXPORT_LANES_H

#include "render/export/export.h"

/* A slice as it is drawn, which may be shorter than it was: see lanes.c. */
typedef struct {
    uint32_t slice;
    uint32_t below; /* what it lies in, in hu_lane.at; HU_NONE */
    int64_t  start_ns, end_ns;
} hu_drawn;

typedef struct {
    uint32_t  track, number; /* of the trace; 0 for the first lane of its track */
    hu_drawn *at;            /* by start, the outer one first */
    size_t    n;
} hu_lane;

typedef struct {
    hu_lane *at; /* by track, then number; none is empty */
    size_t   n;
} hu_lanes;

/* All slices that the part keeps.  Lives in `arena`.  Returns 0 or HU_ENOMEM. */
int hu_lanes_build(const hu_export_part *part, hu_arena *arena, hu_lanes *out, hu_error *err);

/* Walks the brackets of a lane in order: start with {.lane = lane, .top = HU_NONE}. */
typedef struct {
    const hu_lane *lane;
    size_t         next;
    uint32_t       top; /* the innermost open one, in lane->at; HU_NONE */
} hu_lane_walk;

typedef struct {
    const hu_drawn *drawn;
    int64_t         time_ns;
    bool            is_end;
} hu_bracket;

/* False when all are closed. */
bool hu_lane_next(hu_lane_walk *walk, hu_bracket *out);

#endif
