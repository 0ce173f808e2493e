/* SPDX-License-Identifier: Apache-2.0
 * xla_threads.c - when XLA's threads work. */
#include "analyze/xla_threads.h"

/* A thread of Python's, by its name: ranges there are the program's, and it may well run beside the one that waits. */
static bool is_python(const hu_trace *trace, const hu_track *t)
{
    const hu_str name = t->name ? hu_trace_text(trace, t->name) : HU_STR("");

    return hu_str_starts_lower(name, HU_STR("python")) || hu_str_starts(name, HU_STR("MainThread")) ||
           hu_str_starts(name, HU_STR("Thread-"));
}

bool hu_xla_threads_find(const hu_trace *trace, uint32_t but_track, hu_arena *arena, hu_intervals *out)
{
    const hu_slices s = hu_trace_slices(trace);
    const hu_track *tracks;
    size_t          n_tracks;

    *out = (hu_intervals){0};
    if (!hu_str_starts(hu_trace_get_info(trace)->tool, HU_STR("XLA profiler")))
        return true;
    tracks = hu_trace_tracks(trace, &n_tracks);
    for (size_t i = 0; i < s.n; i++) /* the Chrome form has ranges where the other one has operators */
        if (s.track[i] != but_track &&
            (s.kind[i] == HU_KIND_CPU_OP || (s.kind[i] == HU_KIND_USER && tracks[s.track[i]].type == HU_TRACK_HOST &&
                                             !is_python(trace, &tracks[s.track[i]]))) &&
            !hu_intervals_add(arena, out, s.start_ns[i], s.start_ns[i] + s.dur_ns[i]))
            return false;
    return hu_intervals_unite(arena, out);
}

bool hu_xla_threads_is_look(hu_str name)
{
    static const hu_str frames[] = {{": _value", 8}, {": block_until_ready", 19}, {": __array__", 11}};

    for (size_t i = 0; i < HU_COUNT(frames); i++)
        if (hu_str_ends(name, frames[i]))
            return true;
    return hu_str_equal(name, HU_STR("np.asarray(jax.Array)"));
}

int64_t hu_xla_threads_in(const hu_intervals *work, int64_t start_ns, int64_t end_ns)
{
    size_t  low = 0, high = work->n;
    int64_t sum = 0;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (work->at[middle].end_ns <= start_ns)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < work->n && work->at[low].start_ns < end_ns; low++) {
        const int64_t from = work->at[low].start_ns > start_ns ? work->at[low].start_ns : start_ns;
        const int64_t to = work->at[low].end_ns < end_ns ? work->at[low].end_ns : end_ns;

        sum += to - from;
    }
    return sum;
}
