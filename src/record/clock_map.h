/* SPDX-License-Identifier: Apache-2.0
 * clock_map.h - ticks of records to nanoseconds of CLOCK_BOOTTIME, which is the clock of Perfetto traces.
 *
 * Several clocks read at one moment are a knot; between two knots time is a straight line, in integers, so that no
 * nanosecond is lost.  Before the first and behind the last knot the mean rate goes on.
 */
#ifndef HU_RECORD_CLOCK_MAP_H
#define HU_RECORD_CLOCK_MAP_H

#include "base/arena.h"
#include "protocol/format.h"

typedef struct {
    hu_clock_snapshot *knots; /* by ticks, at least one, both clocks rising */
    size_t             n;
    uint64_t           mean_ticks, mean_ns; /* the mean rate: so many ns in so many ticks */
    size_t             last;                /* where the last time was found */
    size_t             n_refused;           /* snapshots that contradict the others */
} hu_clock_map;

/*
 * Makes a map of snapshots in any order, which it sorts.  `ticks_per_second` counts where one snapshot is all there is;
 * 0: not known.  Of snapshots that come too close, and of those that contradict, the earlier one stays.
 * False when there is no memory, or no snapshot that makes sense: then the map is the identity.
 */
bool hu_clock_map_build(hu_clock_snapshot *snapshots, size_t n, double ticks_per_second, hu_arena *arena, hu_clock_map *out);

/* From 0 to HU_TIME_MAX_NS; what is beyond is the nearer of the two. */
int64_t hu_clock_map_ns(hu_clock_map *map, uint64_t ticks);

#endif
