/* SPDX-License-Identifier: Apache-2.0
 * select.c - GPU work belongs to the time of its launch, because devices run behind their host. */
#include "analyze/select.h"

int64_t hu_select_time(const hu_trace *trace, const hu_slices *slices, uint32_t slice)
{
    const uint32_t launch = hu_kind_in(slices->kind[slice], HU_KINDS_DEVICE) ? hu_trace_launch_of(trace, slice) : HU_NONE;

    return slices->start_ns[launch != HU_NONE ? launch : slice];
}

/* The first window that ends behind a time. */
static size_t first_behind(const hu_intervals *windows, int64_t time_ns)
{
    size_t low = 0, high = windows->n;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (windows->at[middle].end_ns <= time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

size_t hu_select_find(const hu_intervals *windows, int64_t time_ns)
{
    const size_t low = first_behind(windows, time_ns);

    return low < windows->n && windows->at[low].start_ns <= time_ns ? low : windows->n;
}

bool hu_select_in(const hu_intervals *windows, int64_t time_ns)
{
    return !windows || hu_select_find(windows, time_ns) < windows->n;
}

bool hu_select_in_near(const hu_intervals *windows, int64_t time_ns, size_t *near)
{
    const hu_interval *at = windows->at;
    size_t             i = *near;

    if ((i < windows->n && at[i].end_ns <= time_ns) || (i && at[i - 1].end_ns > time_ns))
        *near = i = first_behind(windows, time_ns);
    return i < windows->n && at[i].start_ns <= time_ns;
}
