/* SPDX-License-Identifier: Apache-2.0
 * kin.c - a map over the processes of a recording.  Process numbers wrap, so a chain of parents may be endless. */
#include "graph/kin.h"

enum { MOST_GENERATIONS = 64 };

bool hu_kin_find(const hu_trace *trace, hu_arena *arena, hu_kin *out)
{
    size_t          n;
    const hu_track *tracks = hu_trace_tracks(trace, &n);

    if (!hu_map_init(&out->parent_of, arena, 64))
        return false;
    for (size_t t = 0; t < n; t++) {
        uint32_t *place;

        if (tracks[t].type != HU_TRACK_HOST || tracks[t].pid_is_text || tracks[t].parent_pid <= 0 ||
            tracks[t].parent_pid >= HU_MAP_NONE)
            continue;
        place = hu_map_put(&out->parent_of, (uint64_t)tracks[t].pid);
        if (!place)
            return false;
        *place = (uint32_t)tracks[t].parent_pid;
    }
    return true;
}

int64_t hu_kin_parent(const hu_kin *kin, int64_t pid)
{
    const uint32_t parent = hu_map_get(&kin->parent_of, (uint64_t)pid);

    return parent == HU_MAP_NONE ? 0 : parent;
}

bool hu_kin_descends(const hu_kin *kin, int64_t pid, int64_t from)
{
    for (int i = 0; i < MOST_GENERATIONS; i++) {
        pid = hu_kin_parent(kin, pid);
        if (pid == from || !pid)
            return pid == from && from;
    }
    return false;
}
