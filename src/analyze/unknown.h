/* SPDX-License-Identifier: Apache-2.0
 * unknown.h - events of a kind that nobody here knows: time that was recorded, and that no answer can explain. */
#ifndef HU_ANALYZE_UNKNOWN_H
#define HU_ANALYZE_UNKNOWN_H

#include "base/interval.h"
#include "trace/trace.h"

/* Is it one?  Rows of a device that show its work once more, and the spans of NCCL that `holdup run` writes, are none. */
bool hu_unknown_is(const hu_trace *trace, uint32_t slice);

/* Their union.  False: no memory. */
bool hu_unknown_unite(const hu_trace *trace, hu_arena *scratch, hu_intervals *out);

#endif
