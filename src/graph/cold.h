/* SPDX-License-Identifier: Apache-2.0
 * cold.h - calls that first load code or make the device ready, operators that set something up. */
#ifndef HU_GRAPH_COLD_H
#define HU_GRAPH_COLD_H

#include "analyze/ask.h"
#include "base/map.h"

/* The slices of such calls -> ns of them that are left for the launch itself; and of operators that set something up at
   their first call.  The map lives in `arena`.  False: no memory. */
bool hu_cold_find(const hu_ask *ask, hu_arena *arena, hu_map *out);

/* Launches in which the profiler worked before their kernel began -> ns of them behind that work.  The map lives in `arena`.
   False: no memory. */
bool hu_cold_find_profiled(const hu_ask *ask, hu_arena *arena, hu_map *out);

/* Is it a call that loads or compiles code for the device, by its name? */
bool hu_cold_loads_code(hu_str name);

#endif
