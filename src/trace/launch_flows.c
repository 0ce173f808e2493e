/* SPDX-License-Identifier: Apache-2.0
 * launch_flows.c - a flow names neither of its slices: each is the one on the flow's row that begins when it does.  Of
 * several the one with the flow's name, for an operator may begin with the one inside of it.
 */
#include "trace/launch_flows.h"

#include "base/map.h"
#include "trace/columns.h"

/* The slice on the flow's row that begins with it, or HU_NONE; by binary search in the row's order. */
static uint32_t slice_at(const hu_trace *t, const hu_flow *f, unsigned kinds)
{
    const hu_track *track = &t->tracks.at[f->track];
    uint32_t        low = track->first, high = track->first + track->count, found = HU_NONE;

    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;

        if (t->start_ns[t->order[middle]] < f->time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < track->first + track->count && t->start_ns[t->order[low]] == f->time_ns; low++) {
        const uint32_t i = t->order[low];

        if (!hu_kind_in(t->kind[i], kinds))
            continue;
        if (t->name[i] == f->name)
            return i;
        found = found == HU_NONE ? i : found;
    }
    return found;
}

bool hu_trace_link_launches(hu_trace *t, hu_arena *scratch)
{
    hu_map operators;

    if (!t->launches.n)
        return true;
    if (!hu_map_init(&operators, scratch, t->launches.n / 2))
        return false;
    for (size_t i = 0; i < t->launches.n; i++) {
        const hu_flow *f = &t->launches.at[i];
        uint32_t      *place = f->is_end ? NULL : hu_map_put(&operators, f->id);

        if (!f->is_end && !place)
            return false;
        if (place)
            *place = slice_at(t, f, HU_BIT(CPU_OP) | HU_BIT(USER));
    }
    for (size_t i = 0; i < t->launches.n; i++) {
        const hu_flow *f = &t->launches.at[i];
        const uint32_t work = f->is_end ? slice_at(t, f, HU_KINDS_DEVICE) : HU_NONE;

        if (work != HU_NONE && t->parent[work] == HU_NONE)
            t->parent[work] = hu_map_get(&operators, f->id);
    }
    hu_map_drop(&operators);
    hu_arena_drop(t->arena, t->launches.at);
    t->launches.at = NULL;
    t->launches.n = t->launches.cap = 0;
    return true;
}
