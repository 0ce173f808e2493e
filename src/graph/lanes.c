/* SPDX-License-Identifier: Apache-2.0
 * lanes.c - each host thread as a chain of nodes: outermost calls, and the time between them cut where its class changes.
 *
 * A thread's slices nest, so a stack says at any time in what it is.  Nodes of one thread follow each other without holes
 * from the start of the window to its end; time in no slice is a node too, because without it the thread would run ahead.
 */
#include <stdlib.h>

#include "analyze/autograd_threads.h"
#include "analyze/host_calls.h"
#include "analyze/mpi_calls.h"
#include "analyze/thread_states.h"
#include "graph/build.h"
#include "graph/merge.h"
#include "graph/page_faults.h"

enum { MOST_DEPTH = 512, MOST_NODES = 8 /* for each slice that a window may have: merged, what is left is two apiece */ };

typedef struct {
    int64_t  end_ns;
    uint32_t slice;
    uint8_t class, in;
} frame;

typedef struct {
    hu_building   *b;
    uint32_t       lane;
    int64_t        now_ns;
    frame          stack[MOST_DEPTH];
    size_t         depth;
    const int64_t *cuts; /* times at which a node must begin, sorted */
    size_t         n_cuts, next_cut;
    hu_merge       merge;
} walk;

int64_t hu_build_node_end(const hu_building *b, uint32_t node)
{
    return b->nodes.at[node].start_ns + b->nodes.at[node].seen_ns;
}

/* Consecutive system calls are kept apart, also of the same function: each may wait for another thread. */
static bool is_other_call(const hu_ask *ask, uint32_t a, uint32_t b)
{
    return a != HU_NONE && b != HU_NONE && a != b && ask->s.kind[a] == HU_KIND_OS_CALL &&
           ask->s.kind[b] == HU_KIND_OS_CALL && ask->s.parent[b] != a;
}

static bool put(walk *w, int64_t start_ns, int64_t end_ns, const frame *f, hu_call_kind call)
{
    hu_building *b = w->b;
    hu_node     *last = b->nodes.n ? &b->nodes.at[b->nodes.n - 1] : NULL;
    hu_node      fresh = {.start_ns = start_ns,
                          .seen_ns = end_ns - start_ns,
                          .lane = w->lane,
                          .slice = f->slice,
                          .after = HU_NONE,
                          .waits = HU_NONE,
                          .merged = HU_NONE,
                          .class = f->class,
                          .in = f->in,
                          .call = (uint8_t)call};

    if (call == HU_CALL_NONE) {
        if (end_ns <= start_ns)
            return true;
        if (last && last->lane == w->lane && last->call == HU_CALL_NONE && last->class == f->class && last->in == f->in &&
            last->start_ns + last->seen_ns == start_ns && !is_other_call(b->ask, last->slice, f->slice) &&
            !(w->next_cut && w->cuts[w->next_cut - 1] == start_ns)) {
            last->seen_ns += end_ns - start_ns;
            return true;
        }
    }
    return hu_merge_push(&w->merge, &fresh);
}

/* Time on the thread goes on to `until` in what is on top of the stack. */
static bool pass(walk *w, int64_t until_ns)
{
    const frame  nothing = {.slice = HU_NONE, .class = HU_CLASS_UNRECORDED};
    const frame *top = w->depth ? &w->stack[w->depth - 1] : &nothing;

    while (w->next_cut < w->n_cuts && w->cuts[w->next_cut] <= until_ns) {
        const int64_t cut = w->cuts[w->next_cut];

        if (cut > w->now_ns && !put(w, w->now_ns, cut, top, HU_CALL_NONE))
            return false;
        w->now_ns = cut > w->now_ns ? cut : w->now_ns;
        w->next_cut++;
    }
    if (until_ns > w->now_ns) {
        if (!put(w, w->now_ns, until_ns, top, HU_CALL_NONE))
            return false;
        w->now_ns = until_ns;
    }
    return true;
}

static bool leave_until(walk *w, int64_t time_ns)
{
    while (w->depth && w->stack[w->depth - 1].end_ns <= time_ns) {
        if (!pass(w, w->stack[w->depth - 1].end_ns))
            return false;
        w->depth--;
    }
    return pass(w, time_ns);
}

/* A wait in accept() is for whoever comes, and no transfer: a server that waits for its clients is not slowed by it. */
static hu_class class_of_call(const hu_ask *ask, uint32_t slice)
{
    const hu_host_class class = hu_host_calls_class(ask, slice);

    if (class == HU_HOST_NETWORK && hu_str_starts(hu_ask_name(ask, slice), HU_STR("accept")))
        return HU_CLASS_WAIT;
    switch (class) {
    case HU_HOST_FILE_READ:
    case HU_HOST_FILE_WRITE:
    case HU_HOST_FILE_META:
    case HU_HOST_FSYNC:
    case HU_HOST_NETWORK:
        return HU_CLASS_IO;
    case HU_HOST_LOCK:
        return HU_CLASS_LOCK;
    case HU_HOST_SLEEP:
        return HU_CLASS_SLEEP;
    default:
        return HU_CLASS_WAIT;
    }
}

/* A call of the system is what it waits for, unless it is how a call of MPI waits; one in another is part of that. */
static frame frame_of_call(const walk *w, uint32_t i)
{
    const hu_ask *ask = w->b->ask;
    const frame  *top = w->depth ? &w->stack[w->depth - 1] : NULL;
    frame         f = {.end_ns = hu_ask_end(ask, i), .slice = i, .in = top ? top->in : 0};

    f.class = (uint8_t)(hu_page_faults_is_memory(ask, i) ? HU_CLASS_OTHER_CALL : class_of_call(ask, i));
    if (top && (top->class == HU_CLASS_HOST_COMM ||
                (top->slice != HU_NONE && hu_kind_in(ask->s.kind[top->slice], HU_BIT(OS_CALL) | HU_BIT(MPI)))))
        f.class = top->class;
    if (f.class == HU_CLASS_IO)
        f.in |= HU_IN_IO;
    return f;
}

/* All frames below one that waits are how it waits. */
static hu_class class_of_frame(const hu_ask *ask, uint32_t i, const frame *top)
{
    if (top && top->slice != HU_NONE && hu_ask_waits(ask, top->slice) != HU_WAITS_NOT)
        return (hu_class)top->class;
    switch (hu_ask_waits(ask, i)) {
    case HU_WAITS_FOR_OTHERS:
        return HU_CLASS_WAIT;
    case HU_WAITS_FOR_TIME:
        return HU_CLASS_SLEEP;
    default:
        return HU_CLASS_PYTHON;
    }
}

static frame frame_of(walk *w, uint32_t i)
{
    const hu_ask *ask = w->b->ask;
    const uint8_t flags = ask->names[ask->s.name[i]];
    const frame  *top = w->depth ? &w->stack[w->depth - 1] : NULL;
    frame         f = {.end_ns = hu_ask_end(ask, i), .slice = i, .class = HU_CLASS_PYTHON};

    if (ask->s.kind[i] == HU_KIND_OS_CALL)
        return frame_of_call(w, i);
    f.in = hu_build_label(w->b, ask->s.name[i]) | (top ? top->in : 0);
    if (w->b->recompute[i])
        f.in |= HU_IN_RECOMPUTE;
    if (hu_map_get(&w->b->cold_of_call, i) != HU_MAP_NONE)
        f.in |= HU_IN_COMPILE;
    if (hu_mpi_calls_starts_or_ends(ask, i)) {
        f.class = HU_CLASS_OTHER_CALL;
        f.in |= HU_IN_START;
    } else if (flags & HU_NAME_COMM || ask->s.kind[i] == HU_KIND_MPI || hu_str_starts(hu_ask_name(ask, i), HU_STR("c10d::")))
        f.class = HU_CLASS_HOST_COMM;
    else if (flags & HU_NAME_STEP)
        f.class = top ? top->class : HU_CLASS_UNRECORDED;
    else if (ask->s.kind[i] == HU_KIND_CPU_OP)
        f.class = HU_CLASS_OPERATOR;
    else if (ask->s.kind[i] == HU_KIND_PYTHON)
        f.class = (uint8_t)class_of_frame(ask, i, top);
    if (f.in & HU_IN_DATA)
        f.class = HU_CLASS_DATA;
    if (f.in & HU_IN_IO)
        f.class = HU_CLASS_IO;
    if (f.in & HU_IN_COMPILE)
        f.class = HU_CLASS_COMPILE_CALL;
    if (f.in & HU_IN_GC)
        f.class = HU_CLASS_GC;
    return f;
}

/* A launch that first loads code, or in which the profiler works first, is two nodes: *start_ns moves to where it launches
   (cold.c). */
static bool put_first(walk *w, int64_t *start_ns, int64_t end_ns, const frame *call, uint32_t i)
{
    const uint32_t own_ns = hu_map_get(&w->b->own_of_call, i);
    const uint32_t launch_ns = own_ns == HU_MAP_NONE ? hu_map_get(&w->b->cold_of_call, i) : own_ns;
    const int64_t  ready = end_ns - launch_ns;
    frame          first = *call;

    if (launch_ns == HU_MAP_NONE || ready <= *start_ns)
        return true;
    first.class = own_ns == HU_MAP_NONE ? HU_CLASS_COMPILE_CALL : HU_CLASS_OTHER_CALL;
    if (!put(w, *start_ns, ready, &first, HU_CALL_NONE))
        return false;
    *start_ns = ready;
    return true;
}

static bool enter(walk *w, uint32_t i)
{
    const hu_ask *ask = w->b->ask;
    int64_t       start = ask->s.start_ns[i] > w->now_ns ? ask->s.start_ns[i] : w->now_ns;
    frame         f;

    if (hu_kind_in(ask->s.kind[i], HU_KINDS_CALL)) {
        hu_call_kind  kind;
        const int64_t end = hu_ask_end(ask, i) > start ? hu_ask_end(ask, i) : start;

        f = (frame){.slice = i, .in = w->depth ? w->stack[w->depth - 1].in : 0};
        f.class = (uint8_t)hu_build_call_class(ask, i, &kind);
        w->now_ns = end;
        return put_first(w, &start, end, &f, i) && put(w, start, end, &f, kind);
    }
    f = frame_of(w, i);
    if (w->depth < MOST_DEPTH)
        w->stack[w->depth++] = f;
    return true;
}

/* What was open when the window began: the parents of its first slice, outermost first. */
static void open_parents(walk *w, uint32_t first)
{
    const hu_ask *ask = w->b->ask;
    uint32_t      chain[MOST_DEPTH];
    size_t        n = 0;

    for (uint32_t at = ask->s.parent[first]; at != HU_NONE && n < MOST_DEPTH; at = ask->s.parent[at])
        if (hu_kind_in(ask->s.kind[at], HU_KINDS_HOST) && !hu_kind_in(ask->s.kind[at], HU_KINDS_CALL))
            chain[n++] = at;
    while (n) {
        const frame f = frame_of(w, chain[--n]);

        w->stack[w->depth++] = f;
    }
}

static bool walk_track(walk *w, const hu_track *t)
{
    const hu_building *b = w->b;
    const hu_ask      *ask = b->ask;
    uint32_t           k = hu_ask_first_from(ask, t, b->from_ns);

    w->now_ns = b->from_ns;
    w->depth = 0;
    w->next_cut = 0;
    if (k < t->count)
        open_parents(w, ask->order[t->first + k]);
    for (; k < t->count; k++) {
        const uint32_t i = ask->order[t->first + k];

        if (ask->s.start_ns[i] >= b->to_ns)
            break;
        if (!hu_kind_in(ask->s.kind[i], HU_KINDS_HOST) || ask->s.start_ns[i] + ask->s.dur_ns[i] < w->now_ns ||
            (ask->s.start_ns[i] < w->now_ns && hu_kind_in(ask->s.kind[i], HU_KINDS_CALL)))
            continue;
        if (!leave_until(w, ask->s.start_ns[i] > w->now_ns ? ask->s.start_ns[i] : w->now_ns) || !enter(w, i))
            return false;
    }
    if (!b->g->is_whole)
        return w->now_ns >= b->to_ns || leave_until(w, b->to_ns);
    if (t->n_stretches) { /* its life was recorded: it ends with that */
        const int64_t died_ns = t->died_ns > w->now_ns ? t->died_ns : w->now_ns;

        return leave_until(w, died_ns < b->to_ns ? died_ns : b->to_ns);
    }
    /* without steps the last thing that a thread does ends it: a device that runs on is no work of the thread */
    return w->depth == 0 || leave_until(w, w->stack[0].end_ns < b->to_ns ? w->stack[0].end_ns : b->to_ns);
}

/* A piece without length behind the last one of a thread, for what its last call waits for. */
static bool end_lane(walk *w)
{
    const hu_node end = {.start_ns = w->now_ns,
                         .lane = w->lane,
                         .slice = HU_NONE,
                         .after = HU_NONE,
                         .waits = HU_NONE,
                         .merged = HU_NONE,
                         .class = HU_CLASS_UNRECORDED};

    return hu_vec_push(w->b->ask->arena, &w->b->nodes, end);
}

static bool is_before(const hu_node *a, const hu_node *b)
{
    return a->start_ns != b->start_ns ? a->start_ns < b->start_ns
           : a->lane != b->lane       ? a->lane < b->lane
                                      : a->after < b->after;
}

static size_t run_end(const hu_node *at, size_t from, size_t n)
{
    size_t end = from + 1;

    while (end < n && is_before(&at[end - 1], &at[end]))
        end++;
    return end;
}

/* Merges at[0, middle) and at[middle, n); `spare` has room for the first part. */
static void merge_runs(hu_node *at, size_t middle, size_t n, hu_node *spare)
{
    size_t i = 0, j = middle, to = 0;

    memcpy(spare, at, middle * sizeof *at);
    while (i < middle && j < n)
        at[to++] = is_before(&at[j], &spare[i]) ? at[j++] : spare[i++];
    memcpy(at + to, spare + i, (middle - i) * sizeof *at);
}

/* Sorted by start: lanes lie one after the other, each in order, so that a few runs are merged.  `after` holds the place in
   its lane meanwhile, so that equal starts keep their order.  False: no memory. */
static bool merge_lanes(hu_building *b)
{
    hu_node     *at = b->nodes.at, *spare;
    const size_t n = b->nodes.n;

    if (b->g->n_lanes < 2 || n == 0 || run_end(at, 0, n) == n)
        return true;
    spare = hu_arena_grow(b->ask->scratch, NULL, n * sizeof *spare);
    if (!spare)
        return false;
    for (size_t middle; (middle = run_end(at, 0, n)) < n;)
        for (size_t from = 0, end; from < n; from = end) {
            middle = run_end(at, from, n);
            end = middle < n ? run_end(at, middle, n) : n;
            if (middle < n)
                merge_runs(at + from, middle - from, end - from, spare);
        }
    hu_arena_drop(b->ask->scratch, spare);
    return true;
}

static int sort_nodes(hu_building *b, hu_error *err)
{
    for (size_t i = 0; i < b->nodes.n; i++)
        b->nodes.at[i].after = (uint32_t)i;
    b->node_of_call = hu_arena_calloc(b->ask->scratch, b->ask->s.n + 1, sizeof *b->node_of_call);
    if (!b->node_of_call || !merge_lanes(b))
        return hu_fail_memory(err);
    for (uint32_t i = 0; i < b->nodes.n; i++) {
        b->nodes.at[i].after = HU_NONE;
        b->nodes.at[i].cost_ns = b->nodes.at[i].seen_ns;
        if (b->nodes.at[i].call != HU_CALL_NONE)
            b->node_of_call[b->nodes.at[i].slice] = i + 1;
    }
    return 0;
}

/* Marks: where the guard ends, then where each step of the window ends. */
static int64_t *list_cuts(const hu_building *b, size_t *n)
{
    const hu_steps *steps = b->ask->steps;
    int64_t        *cuts = hu_arena_alloc(b->ask->scratch, (b->g->n_marks + 1) * sizeof *cuts);

    *n = 0;
    if (!cuts || b->g->is_whole)
        return cuts;
    cuts[(*n)++] = steps->at[b->first_mark].marks.start_ns;
    for (size_t i = 0; i + 1 < b->g->n_marks; i++)
        cuts[(*n)++] = steps->at[b->first_mark + i].host_end_ns;
    return cuts;
}

static int find_marks(hu_building *b, const int64_t *cuts, size_t n, hu_error *err)
{
    const uint32_t end = (uint32_t)b->nodes.n;
    uint32_t       at = 0;

    if (b->g->is_whole) {
        b->g->n_marks = 2;
        n = 0;
    }
    b->g->mark = hu_arena_calloc(b->ask->arena, b->g->n_marks, sizeof *b->g->mark);
    if (!b->g->mark)
        return hu_fail_memory(err);
    for (size_t i = 0; i < b->g->n_marks; i++)
        b->g->mark[i] = (hu_mark){.mark = i ? end : 0, .host_end_ns = i ? b->to_ns : b->from_ns};
    for (size_t i = 0; i < n; i++) {
        while (at < end && (b->nodes.at[at].lane != b->g->main_lane || b->nodes.at[at].start_ns < cuts[i]))
            at++;
        b->g->mark[i] = (hu_mark){.mark = at, .host_end_ns = cuts[i]};
    }
    return 0;
}

bool hu_build_lane_nodes(const hu_building *b, hu_lane_nodes *out)
{
    out->of_lane = hu_arena_alloc(b->ask->scratch, (b->nodes.n + 1) * sizeof *out->of_lane);
    out->first = hu_arena_calloc(b->ask->scratch, b->g->n_lanes + 2, sizeof *out->first);
    if (!out->of_lane || !out->first)
        return false;
    for (size_t i = 0; i < b->nodes.n; i++)
        out->first[b->nodes.at[i].lane + 2]++;
    for (uint32_t k = 1; k < b->g->n_lanes + 2; k++)
        out->first[k] += out->first[k - 1];
    for (uint32_t i = 0; i < b->nodes.n; i++)
        out->of_lane[out->first[b->nodes.at[i].lane + 1]++] = i;
    return true;
}

/* Walks all host threads; is_engine[] by lane. */
static bool walk_lanes(walk *w, uint32_t main_track, const uint8_t *engines, int64_t *cuts, size_t n_cuts,
                       uint8_t *is_engine)
{
    hu_building  *b = w->b;
    const hu_ask *ask = b->ask;

    b->g->n_lanes = 0;
    b->nodes.n = b->merged.n = 0;
    for (uint32_t t = 0; t < ask->n_tracks; t++) {
        const bool is_main = t == main_track;

        if (ask->tracks[t].type != HU_TRACK_HOST)
            continue;
        w->lane = b->g->n_lanes++;
        is_engine[w->lane] = engines[t];
        if (is_main)
            b->g->main_lane = w->lane;
        w->cuts = is_main ? cuts : &ask->tracks[t].born_ns; /* what comes before its birth is no work of it */
        w->n_cuts = is_main ? n_cuts : b->g->is_whole && ask->tracks[t].n_stretches ? 1 : 0;
        if (b->first_cut) {
            w->cuts = b->wake_cuts + b->first_cut[t];
            w->n_cuts = b->first_cut[t + 1] - b->first_cut[t];
        }
        hu_merge_begin(&w->merge, b, &ask->tracks[t]);
        if (!walk_track(w, &ask->tracks[t]) || !hu_merge_end(&w->merge) ||
            (is_main && b->g->is_whole && hu_build_has_calls(b) && !end_lane(w)))
            return false;
    }
    return true;
}

int hu_build_lanes(hu_building *b, size_t most, hu_error *err)
{
    const hu_ask  *ask = b->ask;
    const uint32_t main_track = ask->main_track;
    const uint8_t *engines = hu_autograd_threads_find(ask->trace, ask->scratch);
    uint8_t       *is_engine = hu_arena_calloc(ask->scratch, ask->n_tracks + 1, 1); /* by lane */
    walk          *w = hu_arena_calloc(ask->scratch, 1, sizeof *w);
    size_t         n_cuts;
    int64_t       *cuts = list_cuts(b, &n_cuts);

    b->recompute = ask->recompute;
    if (!hu_build_wakes_find(b, main_track) || !w || !cuts || !b->recompute || !engines || !is_engine)
        return hu_fail_memory(err);
    w->b = b;
    if (!walk_lanes(w, main_track, engines, cuts, n_cuts, is_engine))
        return hu_fail_memory(err);
    if (b->merges && b->nodes.n > MOST_NODES * most) {
        hu_build_shorten(b, (double)(MOST_NODES * most) / (double)b->nodes.n);
        if (!walk_lanes(w, main_track, engines, cuts, n_cuts, is_engine))
            return hu_fail_memory(err);
    }
    if (b->nodes.n == 0) {
        /* no host at all, or none that does anything: one thread that does nothing */
        const hu_node nobody = {.start_ns = b->from_ns,
                                .slice = HU_NONE,
                                .after = HU_NONE,
                                .waits = HU_NONE,
                                .merged = HU_NONE,
                                .class = HU_CLASS_UNRECORDED};

        b->g->n_lanes = 1;
        b->g->main_lane = 0;
        if (!hu_vec_push(ask->arena, &b->nodes, nobody))
            return hu_fail_memory(err);
    }
    if (!hu_build_bursts(b, is_engine) || !hu_build_cut_looks(b))
        return hu_fail_memory(err);
    if (sort_nodes(b, err) < 0)
        return HU_ENOMEM;
    return find_marks(b, cuts, n_cuts, err);
}
