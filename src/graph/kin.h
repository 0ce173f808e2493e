/* SPDX-License-Identifier: Apache-2.0
 * kin.h - which process started which, by their numbers. */
#ifndef HU_GRAPH_KIN_H
#define HU_GRAPH_KIN_H

#include "base/map.h"
#include "trace/trace.h"

typedef struct {
    hu_map parent_of; /* number -> that of the process that started it, where it is known */
} hu_kin;

/* Lives in `arena`.  False: no memory. */
bool hu_kin_find(const hu_trace *trace, hu_arena *arena, hu_kin *out);

/* The process that started this one; 0 not known. */
int64_t hu_kin_parent(const hu_kin *kin, int64_t pid);

/* Was it started by the other one, or by a process that was? */
bool hu_kin_descends(const hu_kin *kin, int64_t pid, int64_t from);

#endif
