/* SPDX-License-Identifier: Apache-2.0
 * allocations.h - allocations of a rank as rows, and the curves of all pools, for a browser that shows a range of them. */
#ifndef HU_TIMELINE_ALLOCATIONS_H
#define HU_TIMELINE_ALLOCATIONS_H

#include "analyze/digest.h"
#include "timeline/put.h"
#include "timeline/sight.h"

enum { HU_ALLOCATIONS_MOST = 100000 };

/*
 * Writes the member "allocations" of `head`, and to *out the columns that it speaks of, as allocations.c describes them.
 * `seen` are the slices of the timeline, `origin_ns` is where its times begin.  Of more than HU_ALLOCATIONS_MOST rows the
 * largest are there.  Of a trace without allocations nothing is written.  Returns 0 or HU_ENOMEM.
 */
int hu_allocations_encode(const hu_trace *trace, const hu_digest *d, const hu_seen *seen, int64_t origin_ns, hu_arena *arena,
                          hu_json_out *head, hu_str *out, hu_error *err);

#endif
