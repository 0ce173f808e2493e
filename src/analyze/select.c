/* SPDX-License-Identifier: Apache-2.0
 * select.c - walks tracks in their order, so that each stream is one sorted run. */
#include "analyze/select.h"

int hu_select_kinds(const hu_trace *trace, unsigned kinds, hu_arena *arena, hu_intervals *out, hu_error *err)
{
    const hu_slices s = hu_trace_slices(trace);
    const uint32_t *order = hu_trace_order(trace);

    *out = (hu_intervals){0};
    for (size_t k = 0; k < s.n; k++) {
        const uint32_t i = order[k];

        if (hu_kind_in(s.kind[i], kinds) && !hu_intervals_add(arena, out, s.start_ns[i], s.start_ns[i] + s.dur_ns[i]))
            return hu_fail_memory(err);
    }
    return hu_intervals_unite(arena, out) ? 0 : hu_fail_memory(err);
}

int64_t hu_select_time(const hu_trace *trace, const hu_slices *slices, uint32_t slice)
{
    const uint32_t launch = hu_kind_in(slices->kind[slice], HU_KINDS_DEVICE) ? hu_trace_launch_of(trace, slice) : HU_NONE;

    return slices->start_ns[launch != HU_NONE ? launch : slice];
}

size_t hu_select_find(const hu_intervals *windows, int64_t time_ns)
{
    size_t low = 0, high = windows->n;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (windows->at[middle].end_ns <= time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low < windows->n && windows->at[low].start_ns <= time_ns ? low : windows->n;
}

bool hu_select_in(const hu_intervals *windows, int64_t time_ns)
{
    return !windows || hu_select_find(windows, time_ns) < windows->n;
}
