/* SPDX-License-Identifier: Apache-2.0
 * stacks.c - equal stacks become one place of a tree.
 *
 * A stack begins with the thread, then the slices of the host from the outermost one in.
 *
 *     host:    self time (trace/nest.h): each instant of a thread counts once
 *     device:  length of the work, below what launched it, calls of the runtime left out; work whose launch is not
 *              known goes below its stream
 *
 *     cpu:     samples of the CPU, below their thread: functions, beside the slices of the same thread
 *
 * All count only what lies in the window.  What nests deeper than HU_STACKS_DEEPEST is counted where the limit is, so
 * sums stay what they are.
 */
#include "render/export/stacks.h"

#include "base/map.h"
#include "render/export/track_names.h"
#include "trace/nest.h"

typedef struct {
    const hu_export_part *part;
    hu_slices             s;
    hu_arena             *arena;
    HU_VEC(hu_stack) stacks;
    hu_map    below;   /* place and frame -> place */
    uint32_t *place;   /* by slice; 0 none */
    int64_t  *self_ns; /* by slice */
    uint32_t  n_strings;
    bool      no_memory;
} work;

static uint32_t child(work *w, uint32_t above, uint32_t frame)
{
    const uint32_t depth = w->stacks.at[above].depth + 1;
    uint32_t      *place;

    if (depth > HU_STACKS_DEEPEST)
        return above;
    place = hu_map_put(&w->below, (uint64_t)above << 32 | frame);
    if (place && *place != HU_MAP_NONE)
        return *place;
    if (!place || !hu_vec_push(w->arena, &w->stacks, ((hu_stack){.above = above, .frame = frame, .depth = depth}))) {
        if (place)
            *place = 0;
        w->no_memory = true;
        return above;
    }
    return *place = (uint32_t)w->stacks.n - 1;
}

/* What is no slice of the host but drawn on its thread counts with its length. */
static void add_thread(work *w, hu_nest *nest, uint32_t number, const hu_track *track)
{
    const uint32_t *order = hu_trace_order(w->part->trace) + track->first;

    for (uint32_t i = 0; i < track->count && !w->no_memory; i++) {
        const uint32_t slice = order[i], parent = w->s.parent[slice];
        const uint32_t above = parent != HU_NONE ? w->place[parent] : child(w, 0, w->n_strings + number);

        w->place[slice] = child(w, above, w->s.name[slice]);
        if (!hu_kind_in(w->s.kind[slice], nest->kinds))
            w->self_ns[slice] = hu_export_inside_ns(w->part, &w->s, slice);
    }
    w->no_memory = w->no_memory || !hu_nest_thread(nest, &w->s, order, track->count);
}

static void add_host(work *w)
{
    size_t          n_tracks;
    const hu_track *tracks = hu_trace_tracks(w->part->trace, &n_tracks);
    hu_nest         nest = {.kinds = HU_KINDS_HOST, .window = w->part->window, .self_ns = w->self_ns, .arena = w->arena};

    for (size_t t = 0; t < n_tracks; t++)
        if (tracks[t].type == HU_TRACK_HOST)
            add_thread(w, &nest, (uint32_t)t, &tracks[t]);
    for (uint32_t i = 0; i < w->s.n; i++)
        if (w->self_ns[i] > 0)
            w->stacks.at[w->place[i]].host_ns += w->self_ns[i];
}

static void add_device(work *w)
{
    for (uint32_t i = 0; i < w->s.n && !w->no_memory; i++) {
        uint32_t above = w->s.parent[i], place;

        if (!hu_kind_in(w->s.kind[i], HU_KINDS_DEVICE))
            continue;
        while (above != HU_NONE && hu_kind_in(w->s.kind[above], HU_KINDS_CALL))
            above = w->s.parent[above];
        place = above != HU_NONE && w->place[above] ? w->place[above] : child(w, 0, w->n_strings + w->s.track[i]);
        place = child(w, place, w->s.name[i]);
        w->stacks.at[place].device_ns += hu_export_inside_ns(w->part, &w->s, i);
    }
}

static uint32_t sampled(work *w, uint32_t track, uint32_t stack)
{
    uint32_t functions[HU_STACKS_DEEPEST];
    uint32_t at = child(w, 0, w->n_strings + track);
    size_t   n = 0;

    for (; stack && n < HU_STACKS_DEEPEST; stack = hu_trace_cpu_stack(w->part->trace, stack)->caller)
        functions[n++] = hu_trace_cpu_stack(w->part->trace, stack)->function;
    while (n)
        at = child(w, at, functions[--n]);
    return at;
}

static void add_samples(work *w)
{
    const int64_t        each_ns = hu_trace_get_info(w->part->trace)->cpu_sample_ns;
    size_t               n;
    const hu_cpu_sample *samples = hu_trace_cpu_samples(w->part->trace, &n);

    for (size_t i = 0; i < n && !w->no_memory; i++) {
        uint32_t place;

        if (samples[i].time_ns < w->part->window.start_ns || samples[i].time_ns >= w->part->window.end_ns)
            continue;
        place = sampled(w, samples[i].track, samples[i].stack); /* may move the stacks, so not in their index */
        w->stacks.at[place].cpu_ns += each_ns ? each_ns : 1;
    }
}

static hu_str *name_tracks(const hu_trace *trace, hu_arena *arena)
{
    size_t          n;
    const hu_track *tracks = hu_trace_tracks(trace, &n);
    hu_str         *names = hu_arena_alloc(arena, (n + 1) * sizeof *names);

    for (size_t t = 0; names && t < n; t++) {
        names[t] = hu_track_name(trace, &tracks[t], arena);
        if (!names[t].p)
            return NULL;
    }
    return names;
}

int hu_stacks_build(const hu_export_part *part, hu_arena *arena, hu_stacks *out, hu_error *err)
{
    hu_arena *scratch = hu_arena_new();
    hu_str   *names = name_tracks(part->trace, arena);
    work      w = {.part = part, .s = hu_trace_slices(part->trace), .arena = arena};

    w.n_strings = hu_trace_string_count(part->trace);
    w.no_memory = !scratch || !names || !hu_map_init(&w.below, scratch, 0) ||
                  !(w.place = hu_arena_calloc(scratch, w.s.n + 1, sizeof *w.place)) ||
                  !(w.self_ns = hu_arena_calloc(scratch, w.s.n + 1, sizeof *w.self_ns)) ||
                  !hu_vec_push(arena, &w.stacks, ((hu_stack){0}));
    if (!w.no_memory)
        add_host(&w);
    if (!w.no_memory)
        add_device(&w);
    if (!w.no_memory)
        add_samples(&w);
    hu_arena_free(scratch);
    if (w.no_memory)
        return hu_fail_memory(err);
    *out = (hu_stacks){w.stacks.at, w.stacks.n, w.n_strings, names};
    return 0;
}

size_t hu_stacks_path(const hu_stacks *stacks, size_t at, uint32_t frames[HU_STACKS_DEEPEST])
{
    const size_t depth = stacks->at[at].depth;

    for (size_t i = depth; i > 0; i--, at = stacks->at[at].above)
        frames[i - 1] = stacks->at[at].frame;
    return depth;
}

hu_str hu_stacks_text(const hu_export_part *part, const hu_stacks *stacks, uint32_t frame)
{
    return frame < stacks->n_strings ? hu_trace_text(part->trace, frame) : stacks->tracks[frame - stacks->n_strings];
}
