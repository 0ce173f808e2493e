/* SPDX-License-Identifier: Apache-2.0
 * joined.c - whose end the main thread waits for (joins.c has the links), and which other threads do the same work.
 *
 * Threads that do the same work are recognised by the function in which most of their CPU samples are: names of threads say
 * less, since most have that of their process.  A Java launcher that starts the program's own main thread and waits for it
 * does not count.
 */
#include "graph/joined.h"

#include "analyze/jvm.h"
#include "base/map.h"

enum {
    LEAST_RUN_NS = 10000000, /* of a thread, for a finding to be about it */
    FEW_SAMPLES = 10,        /* fewer say nothing of what a thread does */
    OTHER_CALLS = HU_CLASS_BIT(IO) | HU_CLASS_BIT(LOCK) | HU_CLASS_BIT(SLEEP) | HU_CLASS_BIT(WAIT) | HU_CLASS_BIT(HOST_COMM),
};

typedef struct {
    const hu_graph  *g;
    hu_arena        *arena, *scratch;
    const hu_track **track;     /* by lane */
    uint32_t        *number;    /* by lane: of its track */
    int64_t         *cpu_ns;    /* by lane: that it runs */
    int64_t         *wants_ns;  /* by lane: that it waits for a CPU, outside of calls */
    int64_t         *wait_ns;   /* by lane: of the main thread, for its end */
    hu_joined_group *of;        /* by lane: its samples */
    bool            *is_behind; /* by lane: those that the main thread joins wait for it */
    hu_joined       *out;
} work;

bool hu_joined_is_barrier(const hu_graph *g, size_t node)
{
    const hu_node *n = &g->node[node];

    return n->class == HU_CLASS_WAIT && n->slice != HU_NONE &&
           hu_str_equal(hu_ask_name(g->ask, n->slice), HU_STR("pthread_barrier_wait"));
}

static bool map_lanes(work *w)
{
    const hu_ask *ask = w->g->ask;
    const size_t  room = w->g->n_lanes + 1;
    uint32_t      lane = 0;

    w->track = hu_arena_calloc(w->scratch, room, sizeof *w->track);
    w->number = hu_arena_calloc(w->scratch, room, sizeof *w->number);
    w->out->lane_ns = hu_arena_calloc(w->arena, room, sizeof *w->out->lane_ns);
    w->out->barrier_ns = hu_arena_calloc(w->arena, room, sizeof *w->out->barrier_ns);
    w->cpu_ns = hu_arena_calloc(w->scratch, room, sizeof *w->cpu_ns);
    w->wants_ns = hu_arena_calloc(w->scratch, room, sizeof *w->wants_ns);
    w->wait_ns = hu_arena_calloc(w->scratch, room, sizeof *w->wait_ns);
    w->of = hu_arena_calloc(w->scratch, room, sizeof *w->of);
    w->is_behind = hu_arena_calloc(w->scratch, room, sizeof *w->is_behind);
    w->out->run_ns = hu_arena_calloc(w->arena, w->g->n_nodes + 1, sizeof *w->out->run_ns);
    w->out->ready_ns = hu_arena_calloc(w->arena, w->g->n_nodes + 1, sizeof *w->out->ready_ns);
    w->out->mate = hu_arena_alloc(w->arena, room * sizeof *w->out->mate);
    if (!w->track || !w->number || !w->out->lane_ns || !w->out->barrier_ns || !w->cpu_ns || !w->wants_ns || !w->wait_ns ||
        !w->of || !w->is_behind || !w->out->run_ns || !w->out->ready_ns || !w->out->mate)
        return false;
    for (uint32_t t = 0; t < ask->n_tracks && lane < w->g->n_lanes; t++)
        if (ask->tracks[t].type == HU_TRACK_HOST) {
            w->number[lane] = t;
            w->track[lane++] = &ask->tracks[t];
        }
    for (size_t i = 0; i < w->g->n_lanes; i++)
        w->out->mate[i] = HU_NONE;
    return lane == w->g->n_lanes;
}

/* By node, that its thread runs: by the scheduler's states, of a thread without them what is no call. */
static bool find_runs(work *w)
{
    const hu_graph   *g = w->g;
    size_t            n;
    const hu_stretch *s = hu_trace_stretches(g->ask->trace, &n);
    uint32_t         *at = hu_arena_calloc(w->scratch, g->n_lanes + 1, sizeof *at);

    if (!at)
        return false;
    for (size_t i = 0; i < g->n_nodes; i++) {
        const hu_node  *node = &g->node[i];
        const hu_track *t = w->track[node->lane];
        const int64_t   end = node->start_ns + node->seen_ns;
        const bool      is_call = (1u << node->class & OTHER_CALLS) != 0;
        int64_t         run = 0, ready = 0;

        while (at[node->lane] < t->n_stretches && s[t->first_stretch + at[node->lane]].end_ns <= node->start_ns)
            at[node->lane]++;
        for (uint32_t k = at[node->lane]; k < t->n_stretches && s[t->first_stretch + k].start_ns < end; k++) {
            const hu_stretch *x = &s[t->first_stretch + k];
            const int64_t     from = x->start_ns > node->start_ns ? x->start_ns : node->start_ns;

            if (x->state == HU_THREAD_RUNNING)
                run += (x->end_ns < end ? x->end_ns : end) - from;
            else if (x->state == HU_THREAD_RUNNABLE)
                ready += (x->end_ns < end ? x->end_ns : end) - from;
        }
        if (!t->n_stretches && !is_call && (node->call != HU_CALL_NONE || node->slice != HU_NONE))
            run = node->seen_ns;
        if (node->merged != HU_NONE && t->n_stretches) { /* its pieces lie elsewhere in its chunk */
            run = g->merged[node->merged].run_ns;
            ready = g->merged[node->merged].ready_ns;
        }
        w->cpu_ns[node->lane] += run;
        w->out->barrier_ns[node->lane] += hu_joined_is_barrier(g, i) ? node->seen_ns : 0;
        if (is_call)
            continue;
        w->out->run_ns[i] = run;
        w->out->ready_ns[i] = ready;
        w->wants_ns[node->lane] += ready;
        w->out->lane_ns[node->lane] += run;
    }
    return true;
}

/* By lane, the function that most of its samples are in. */
static bool find_functions(work *w)
{
    const hu_trace      *trace = w->g->ask->trace;
    size_t               n;
    const hu_cpu_sample *samples = hu_trace_cpu_samples(trace, &n);
    uint32_t            *lane_of = hu_arena_alloc(w->scratch, (w->g->ask->n_tracks + 1) * sizeof *lane_of);
    hu_map               place;
    HU_VEC(int64_t) counts = {0};

    if (!lane_of || !hu_map_init(&place, w->scratch, 64))
        return false;
    for (uint32_t t = 0; t < w->g->ask->n_tracks; t++)
        lane_of[t] = HU_NONE;
    for (uint32_t lane = 0; lane < w->g->n_lanes; lane++)
        lane_of[w->number[lane]] = lane;
    for (size_t i = 0; i < n; i++) {
        const uint32_t lane = samples[i].track < w->g->ask->n_tracks ? lane_of[samples[i].track] : HU_NONE;
        const uint32_t function = samples[i].stack ? hu_trace_cpu_stack(trace, samples[i].stack)->function : 0;
        uint32_t      *at;

        if (lane == HU_NONE)
            continue;
        w->of[lane].samples++;
        if (!function)
            continue;
        at = hu_map_put(&place, (uint64_t)lane << 32 | function);
        if (!at)
            return false;
        if (*at == HU_MAP_NONE) {
            *at = (uint32_t)counts.n;
            if (!hu_vec_push(w->scratch, &counts, 0))
                return false;
        }
        if (++counts.at[*at] > w->of[lane].in_function) {
            w->of[lane].in_function = counts.at[*at];
            w->of[lane].function = function;
        }
    }
    return true;
}

/* Whose end does the main thread wait for, and how long? */
static void find_waits(work *w)
{
    const hu_graph *g = w->g;
    const hu_node  *before = NULL;

    for (size_t i = 0; i < g->n_nodes; i++) {
        const hu_node *n = &g->node[i];

        if (n->lane != g->main_lane)
            continue;
        if (before && before->class == HU_CLASS_WAIT && before->slice != HU_NONE && n->after != HU_NONE &&
            g->link[n->after].at == HU_AT_NODE_END &&
            hu_str_starts(hu_ask_name(g->ask, before->slice), HU_STR("pthread_join"))) {
            const uint32_t lane = g->node[g->link[n->after].from].lane;

            if (w->track[lane]->pid == w->track[g->main_lane]->pid)
                w->wait_ns[lane] += before->seen_ns;
        }
        before = n;
    }
}

/*
 * A thread that the main thread joins may itself wait for another one, which wakes it (wakes.c): then the main thread waits
 * for that one.
 */
static bool find_behind(work *w)
{
    const hu_graph *g = w->g;
    const size_t    room = g->n_lanes + 1;
    int64_t        *by = hu_arena_calloc(w->scratch, room, sizeof *by); /* by lane: of waits of `lane`, those that it ends */
    const hu_node  *before = NULL;

    for (uint32_t lane = 0; by && lane < g->n_lanes; lane++) {
        uint32_t most = lane;

        if (!w->wait_ns[lane])
            continue;
        memset(by, 0, room * sizeof *by);
        before = NULL;
        for (size_t i = 0; i < g->n_nodes; i++) {
            const hu_node *n = &g->node[i];

            if (n->lane != lane)
                continue;
            if (before && before->class == HU_CLASS_WAIT && n->after != HU_NONE && g->link[n->after].at == HU_AT_NODE_END) {
                const uint32_t from = g->node[g->link[n->after].from].lane;

                by[from] += before->seen_ns;
                most = by[from] > by[most] ? from : most;
            }
            before = n;
        }
        if (most == lane || most == g->main_lane || 2 * by[most] < w->wait_ns[lane])
            continue;
        w->wait_ns[most] += w->wait_ns[lane];
        w->wait_ns[lane] = 0;
        w->is_behind[most] = true;
        return true;
    }
    return by != NULL;
}

/* Do two threads do the same work at the same time? */
static bool is_alike(const work *w, uint32_t a, uint32_t b)
{
    const hu_track *x = w->track[a], *y = w->track[b];

    return x->pid == y->pid && w->of[a].samples >= FEW_SAMPLES && w->of[b].samples >= 1 && w->of[a].function &&
           w->of[a].function == w->of[b].function && 2 * w->of[a].in_function >= w->of[a].samples &&
           x->born_ns < y->died_ns && y->born_ns < x->died_ns;
}

/* Does a thread compute for most of its life, or want to, and does no other one that may do the same work? */
static bool is_alone_and_busy(const work *w, uint32_t lane, uint32_t row)
{
    const hu_track *t = w->track[lane];

    if (2 * (w->out->lane_ns[lane] + w->wants_ns[lane]) < t->died_ns - t->born_ns)
        return false;
    for (uint32_t other = 0; other < w->g->n_lanes && w->out->at[row].n == 1; other++)
        if (other != lane && other != w->g->main_lane && 2 * w->cpu_ns[other] > w->out->lane_ns[lane])
            return false;
    return true;
}

static int64_t find_share(const work *w, uint32_t row)
{
    const hu_joined_group *x = &w->out->at[row];
    const int64_t          cpus = hu_trace_get_info(w->g->ask->trace)->cpus;
    int64_t                most = x->all_ns, least;

    if (!is_alone_and_busy(w, x->lane, row) || (x->n == 1 && cpus <= 0))
        return x->run_ns;
    for (uint32_t lane = 0; lane < w->g->n_lanes; lane++)
        most += w->out->mate[lane] == row ? 0 : w->cpu_ns[lane];
    least = cpus > 0 ? most / cpus : 0;
    if (x->n > 1 && x->all_ns / x->n > least)
        least = x->all_ns / x->n;
    return least < x->run_ns ? least : x->run_ns;
}

/* The group of a thread that is waited for: it, and who does the same. */
static void add_group(work *w, uint32_t waited)
{
    const uint32_t   row = (uint32_t)w->out->n;
    hu_joined_group *x = &w->out->at[w->out->n++];

    *x = (hu_joined_group){.lane = waited, .is_behind = w->is_behind[waited]};
    for (uint32_t lane = 0; lane < w->g->n_lanes; lane++) {
        if (lane == w->g->main_lane || w->out->mate[lane] != HU_NONE || (lane != waited && !is_alike(w, waited, lane)))
            continue;
        w->out->mate[lane] = row;
        x->n++;
        x->all_ns += w->out->lane_ns[lane];
        x->wait_ns += w->wait_ns[lane];
        x->lane = w->out->lane_ns[lane] > w->out->lane_ns[x->lane] ? lane : x->lane;
    }
    x->track = w->number[x->lane];
    x->run_ns = w->out->lane_ns[x->lane];
    x->function = 2 * w->of[x->lane].in_function >= w->of[x->lane].samples ? w->of[x->lane].function : 0;
    x->samples = w->of[x->lane].samples;
    x->in_function = w->of[x->lane].in_function;
    x->wants_ns = w->wants_ns[x->lane];
    x->share_ns = find_share(w, row);
}

static bool is_launcher(const work *w)
{
    const hu_track *main = w->track[w->g->main_lane];

    return main->tid == main->pid && hu_jvm_is(w->g->ask->trace, main->pid);
}

bool hu_joined_find(const hu_graph *g, hu_arena *arena, hu_arena *scratch, hu_joined *out)
{
    work w = {.g = g, .arena = arena, .scratch = scratch, .out = out};

    *out = (hu_joined){0};
    if (!g->is_whole || g->n_ops || g->n_lanes < 2 || g->main_lane >= g->n_lanes)
        return true;
    if (!map_lanes(&w)) {
        const bool has_memory = w.out->mate != NULL;

        *out = (hu_joined){0};
        return has_memory; /* a graph of nobody, whose one lane is no track */
    }
    if (is_launcher(&w))
        return true;
    find_waits(&w);
    if (!find_behind(&w))
        return false;
    out->at = hu_arena_calloc(arena, g->n_lanes + 1, sizeof *out->at);
    if (!out->at || !find_runs(&w) || !find_functions(&w))
        return false;
    for (uint32_t lane = 0; lane < g->n_lanes; lane++)
        if (w.wait_ns[lane] && out->mate[lane] == HU_NONE)
            add_group(&w, lane);
    for (uint32_t lane = 0; lane < g->n_lanes; lane++)
        if (out->mate[lane] != HU_NONE && out->at[out->mate[lane]].run_ns < LEAST_RUN_NS)
            out->mate[lane] = HU_NONE;
    return true;
}
