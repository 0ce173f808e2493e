/* SPDX-License-Identifier: Apache-2.0
 * unknown.c - what has a category, and none that a profiler of this field writes. */
#include "analyze/unknown.h"

bool hu_unknown_is(const hu_trace *trace, uint32_t slice)
{
    const hu_slices s = hu_trace_slices(trace);
    size_t          n_tracks;

    return s.kind[slice] == HU_KIND_OTHER && s.detail[slice] == HU_NONE &&
           hu_trace_tracks(trace, &n_tracks)[s.track[slice]].type != HU_TRACK_STREAM &&
           !hu_str_equal(hu_trace_get_info(trace)->tool, HU_STR("holdup run"));
}

bool hu_unknown_unite(const hu_trace *trace, hu_arena *scratch, hu_intervals *out)
{
    const hu_slices s = hu_trace_slices(trace);

    *out = (hu_intervals){0};
    for (uint32_t i = 0; i < s.n; i++)
        if (hu_unknown_is(trace, i) && !hu_intervals_add(scratch, out, s.start_ns[i], s.start_ns[i] + s.dur_ns[i]))
            return false;
    return hu_intervals_unite(scratch, out);
}
