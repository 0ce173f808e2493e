/* SPDX-License-Identifier: Apache-2.0
 * jvm.c - told by names of threads and by who joins whom, not by the name of the command: any program may hold a JVM. */
#include "analyze/jvm.h"

#include "analyze/thread_states.h"

static bool is_vm_thread(const hu_trace *trace, const hu_track *t)
{
    return t->type == HU_TRACK_HOST && t->name && hu_str_equal(hu_trace_text(trace, t->name), HU_STR("VM Thread"));
}

bool hu_jvm_is(const hu_trace *trace, int64_t pid)
{
    size_t          n;
    const hu_track *tracks = hu_trace_tracks(trace, &n);

    for (size_t t = 0; t < n; t++)
        if (is_vm_thread(trace, &tracks[t]) && !tracks[t].pid_is_text && tracks[t].pid == pid)
            return true;
    return false;
}

bool hu_jvm_is_any(const hu_trace *trace)
{
    size_t          n;
    const hu_track *tracks = hu_trace_tracks(trace, &n);

    for (size_t t = 0; t < n; t++)
        if (is_vm_thread(trace, &tracks[t]))
            return true;
    return false;
}

/* The join that takes most of a thread's life; empty: none does. */
static hu_interval find_join(const hu_trace *trace, uint32_t track)
{
    const hu_slices   s = hu_trace_slices(trace);
    size_t            n;
    const hu_track   *t = &hu_trace_tracks(trace, &n)[track];
    const uint32_t   *order = hu_trace_order(trace) + t->first;
    const hu_interval life = hu_thread_life(trace, track);

    for (uint32_t k = 0; k < t->count; k++)
        if (s.kind[order[k]] == HU_KIND_OS_CALL && 2 * s.dur_ns[order[k]] > life.end_ns - life.start_ns &&
            hu_str_starts(hu_trace_text(trace, s.name[order[k]]), HU_STR("pthread_join")))
            return (hu_interval){s.start_ns[order[k]], s.start_ns[order[k]] + s.dur_ns[order[k]]};
    return (hu_interval){0, 0};
}

uint32_t hu_jvm_main_thread(const hu_trace *trace, uint32_t first)
{
    size_t            n;
    const hu_track   *tracks = hu_trace_tracks(trace, &n);
    const hu_interval join = find_join(trace, first);
    uint32_t          best = first;
    int64_t           born = INT64_MAX;

    if (join.end_ns <= join.start_ns)
        return first;
    for (uint32_t t = 0; t < n; t++) {
        hu_interval life;

        if (t == first || tracks[t].type != HU_TRACK_HOST || tracks[t].pid_is_text || tracks[t].pid != tracks[first].pid ||
            (!tracks[t].count && !tracks[t].n_stretches))
            continue;
        life = hu_thread_life(trace, t);
        /* the others are made by it, and it ends with the join */
        if (life.start_ns < born && 2 * (life.end_ns - join.start_ns) > join.end_ns - join.start_ns) {
            best = t;
            born = life.start_ns;
        }
    }
    return best;
}
