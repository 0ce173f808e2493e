/* SPDX-License-Identifier: Apache-2.0
 * host_work.c - host time between launches, by its length.
 *
 * A stretch is what a thread does from one launch to the next.  An eager job has thousands of them, of some microseconds to
 * some hundred: operators, Python, the calls themselves.  One launch for many kernels takes them away.  A piece of host time
 * far longer than the usual stretch of the same trace is something else: an operator that computes on the processor, a
 * function, time of which nothing was recorded.  No graph of kernels takes that away, and it has a name.
 *
 * What follows a call that waited for the device works on what it waited for, and cannot be in a graph either, so there a
 * piece counts as long much earlier.  Without a device, operators stand for launches.
 *
 * The name of a piece is that of the innermost slice which covers most of it.
 */
#include "graph/host_work.h"

#include <stdlib.h>

#include "analyze/xla_threads.h"
#include "base/map.h"
#include "base/sort.h"

enum {
    LEAST_LONG_NS = 200000, /* no piece below is long: an operator with its Python in a trace with stacks */
    MOST_SHORT_NS = 2000000,
    LEAST_BEHIND_WAIT_NS = 50000,
    FEWEST_LAUNCHES = 10, /* per step; fewer are no reason for a graph */
    LONG_FACTOR = 10,     /* of the median stretch */
    BEHIND_WAIT_FACTOR = 3,
    RANGE_FACTOR = 2, /* a range this much longer than the piece is no name for it */
    SHORT_OPERATOR_NS = 50000,
    RARE_PART = 5,      /* fewer than one of so many calls are long */
    FEWEST_REGULAR = 3, /* without steps */
    FEWEST_BLOCKED = 5,
    LONG_KERNEL_NS = 10000,
    CLOCKS_NS = 2000,        /* clocks of host and device disagree by so much */
    USUAL_LAUNCH_NS = 10000, /* no launch that does not wait takes longer, in the median */
};

static const double COVERS = 0.7;         /* of a piece, the slice that names it */
static const double BLOCKED_SHARE = 0.95; /* of the launches */

enum {
    PARTS = HU_CLASS_BIT(PYTHON) | HU_CLASS_BIT(UNRECORDED) | HU_CLASS_BIT(OTHER_CALL),
    NAMED_APART = HU_IN_DATA | HU_IN_IO | HU_IN_GC | HU_IN_STALL | HU_IN_START,
};

typedef struct {
    const hu_graph  *g;
    hu_arena        *arena, *scratch;
    const hu_track **track; /* by lane */
    uint32_t        *next;  /* by node: the next of its lane; HU_NONE */
    uint32_t        *first; /* by lane */
    bool            *launches;
    uint8_t         *is_mark;
    hu_map           row_of_name;
    hu_intervals     others; /* when XLA's threads work; empty for other profilers */
    HU_VEC(hu_block) rows;
    hu_host_work *out;
} work;

static bool has_device(const work *w)
{
    return w->g->ask->n_work > 0;
}

static bool is_launch(const work *w, const hu_node *n)
{
    if (!has_device(w))
        return n->class == HU_CLASS_OPERATOR && n->call == HU_CALL_NONE;
    return n->class == HU_CLASS_LAUNCH_CALL;
}

/* Host time that a launch may cost. */
static bool is_part(const work *w, const hu_node *n)
{
    const unsigned parts = has_device(w) ? PARTS | HU_CLASS_BIT(OPERATOR) : PARTS;

    return 1u << n->class & parts && !(n->in & NAMED_APART);
}

static bool waits(const hu_node *n)
{
    return n->n_waits > 0 && n->call != HU_CALL_NONE;
}

static bool is_in_window(const hu_graph *g, const hu_node *n)
{
    return n->start_ns >= g->mark[0].host_end_ns && n->start_ns < g->mark[g->n_marks - 1].host_end_ns;
}

static bool prepare(work *w)
{
    const hu_graph *g = w->g;
    uint32_t        lane = 0, *last;

    w->track = hu_arena_calloc(w->scratch, g->n_lanes + 1, sizeof *w->track);
    w->first = hu_arena_alloc(w->scratch, (g->n_lanes + 1) * sizeof *w->first);
    last = hu_arena_alloc(w->scratch, (g->n_lanes + 1) * sizeof *last);
    w->launches = hu_arena_calloc(w->scratch, g->n_lanes + 1, sizeof *w->launches);
    w->next = hu_arena_alloc(w->scratch, (g->n_nodes + 1) * sizeof *w->next);
    w->is_mark = hu_arena_calloc(w->scratch, g->n_nodes + 1, 1);
    w->out->role = hu_arena_calloc(w->arena, g->n_nodes + 1, 1);
    w->out->is_use = hu_arena_calloc(w->arena, g->n_nodes + 1, 1);
    w->out->block = hu_arena_alloc(w->arena, (g->n_nodes + 1) * sizeof *w->out->block);
    if (!w->track || !w->first || !last || !w->launches || !w->next || !w->is_mark || !w->out->role || !w->out->is_use ||
        !w->out->block || !hu_map_init(&w->row_of_name, w->scratch, 64))
        return false;
    memset(w->out->block, 0xff, (g->n_nodes + 1) * sizeof *w->out->block);
    memset(w->first, 0xff, (g->n_lanes + 1) * sizeof *w->first);
    for (uint32_t t = 0; t < g->ask->n_tracks && lane < g->n_lanes; t++)
        if (g->ask->tracks[t].type == HU_TRACK_HOST) /* lanes are the host's tracks in their order (lanes.c) */
            w->track[lane++] = &g->ask->tracks[t];
    for (size_t i = 0; i < g->n_marks; i++)
        w->is_mark[g->mark[i].mark] = 1;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const hu_node *n = &g->node[i];

        w->next[i] = HU_NONE;
        *(w->first[n->lane] == HU_NONE ? &w->first[n->lane] : &w->next[last[n->lane]]) = i;
        last[n->lane] = i;
        if (n->class == HU_CLASS_LAUNCH_CALL) {
            w->launches[n->lane] = true;
            w->out->launches += n->n_ops > 0 && is_in_window(g, n);
        }
    }
    return true;
}

/*
 * CUDA_LAUNCH_BLOCKING=1, AMD_SERIALIZE_KERNEL=3: a launch returns when its own kernel has ended.  A call that does not wait
 * returns about when its kernel begins, so nearly all of them returning late is no chance; short kernels alone say nothing,
 * for they can end before a slow call returns.
 */
static bool find_blocked(work *w)
{
    const hu_graph *g = w->g;
    int64_t        *starts = hu_arena_alloc(w->scratch, (g->n_ops + 1) * sizeof *starts);
    size_t          long_ones = 0, long_blocked = 0, n = 0, blocked = 0;
    int64_t         median_ns;

    if (!starts)
        return false;
    for (size_t i = 0; i < g->n_nodes; i++) {
        const uint32_t own = g->node[i].call == HU_CALL_KERNEL ? hu_graph_own_op(g->op, &g->node[i]) : HU_NONE;
        bool           is_late;

        if (own == HU_NONE || !g->op[own].has_launch)
            continue;
        is_late = g->op[own].start_ns + g->op[own].cost_ns <= g->node[i].start_ns + g->node[i].seen_ns + CLOCKS_NS;
        long_ones += g->op[own].cost_ns >= LONG_KERNEL_NS;
        long_blocked += g->op[own].cost_ns >= LONG_KERNEL_NS && is_late;
        blocked += is_late;
        starts[n++] = g->op[own].start_ns - g->node[i].start_ns;
        w->out->role[i] = is_late ? HU_WORK_BLOCKED : HU_WORK_OTHER;
    }
    w->out->is_blocking = long_ones >= FEWEST_BLOCKED && (double)long_blocked >= BLOCKED_SHARE * (double)long_ones &&
                          (double)blocked >= BLOCKED_SHARE * (double)n;
    w->out->blocked = (int64_t)blocked;
    median_ns = n ? hu_sort_nth_i64(starts, n, n / 2) : 0;
    w->out->launch_ns = median_ns > 0 && median_ns < USUAL_LAUNCH_NS ? median_ns : USUAL_LAUNCH_NS;
    if (!w->out->is_blocking)
        memset(w->out->role, HU_WORK_OTHER, g->n_nodes);
    return true;
}

static bool is_asked(const work *w, uint32_t lane)
{
    return w->first[lane] != HU_NONE && (w->launches[lane] || lane == w->g->main_lane);
}

/* The usual host time before a launch, over all threads that launch. */
static bool measure_limit(work *w)
{
    const hu_graph *g = w->g;
    int64_t        *samples = hu_arena_alloc(w->scratch, (g->n_nodes + 1) * sizeof *samples);
    size_t          n = 0;

    if (!samples)
        return false;
    for (uint32_t lane = 0; lane < g->n_lanes; lane++) {
        int64_t stretch = 0;

        for (uint32_t i = is_asked(w, lane) ? w->first[lane] : HU_NONE; i != HU_NONE; i = w->next[i]) {
            const hu_node *node = &g->node[i];

            if (is_launch(w, node)) {
                samples[n++] = stretch + (has_device(w) && w->out->role[i] != HU_WORK_BLOCKED ? node->cost_ns : 0);
                stretch = 0;
            } else {
                stretch = w->is_mark[i] || !is_part(w, node) ? 0 : stretch;
                stretch += is_part(w, node) ? node->cost_ns : 0;
            }
        }
    }
    w->out->median_ns = n ? hu_sort_nth_i64(samples, n, n / 2) : 0;
    w->out->has_many = w->out->launches >= FEWEST_LAUNCHES * (int64_t)(g->n_marks - 1);
    w->out->limit_ns = w->out->has_many || !has_device(w) ? LONG_FACTOR * w->out->median_ns : 0;
    w->out->limit_ns = w->out->limit_ns < LEAST_LONG_NS ? LEAST_LONG_NS : w->out->limit_ns;
    w->out->limit_ns = w->out->limit_ns > MOST_SHORT_NS ? MOST_SHORT_NS : w->out->limit_ns;
    return true;
}

static int64_t limit_behind_wait(const hu_host_work *h)
{
    const int64_t limit = BEHIND_WAIT_FACTOR * h->median_ns;

    return limit < LEAST_BEHIND_WAIT_NS ? LEAST_BEHIND_WAIT_NS : limit < h->limit_ns ? limit : h->limit_ns;
}

/*
 * Does another thread launch work for most of this time?  Then the hole is a wait for that thread, whether or not it was
 * joined.
 */
static bool is_anothers_time(const work *w, const hu_node *n)
{
    const hu_graph *g = w->g;
    const int64_t   end = n->start_ns + n->seen_ns;
    int64_t         first = end, last = n->start_ns;

    for (size_t i = (size_t)(n - g->node) + 1; i < g->n_nodes && g->node[i].start_ns < end; i++) {
        if (g->node[i].lane == n->lane || g->node[i].class != HU_CLASS_LAUNCH_CALL)
            continue;
        first = g->node[i].start_ns < first ? g->node[i].start_ns : first;
        last = g->node[i].start_ns;
    }
    return last - first > n->seen_ns / 2;
}

/* The profiler's own work: its calls that begin and end a trace are in it, but in no run of the program without it. */
static bool is_profilers(const hu_ask *ask, uint32_t slice)
{
    for (uint32_t at = slice; at != HU_NONE; at = ask->s.parent[at])
        if (ask->s.kind[at] == HU_KIND_PYTHON && hu_names_is_profiler(hu_ask_name(ask, at)))
            return true;
    return false;
}

/* Is it what marks the steps?  As a name for a piece of one it would say no more than that there is a step. */
static bool is_step(const hu_ask *ask, uint32_t slice)
{
    return ask->names[ask->s.name[slice]] & HU_NAME_STEP || hu_ask_is_mark(ask, slice);
}

static bool covers(const hu_ask *ask, uint32_t slice, int64_t start_ns, int64_t end_ns)
{
    const int64_t from = ask->s.start_ns[slice] > start_ns ? ask->s.start_ns[slice] : start_ns;
    const int64_t to = hu_ask_end(ask, slice) < end_ns ? hu_ask_end(ask, slice) : end_ns;

    return hu_kind_in(ask->s.kind[slice], HU_KINDS_HOST) && !is_step(ask, slice) &&
           (double)(to - from) >= COVERS * (double)(end_ns - start_ns);
}

/* The innermost slice that covers most of a node; HU_NONE. */
static uint32_t cover_of(const work *w, const hu_node *n)
{
    const hu_ask   *ask = w->g->ask;
    const hu_track *t = w->track[n->lane];
    const int64_t   end = n->start_ns + n->seen_ns;
    uint32_t        best = HU_NONE;

    for (uint32_t at = n->slice; at != HU_NONE && best == HU_NONE; at = ask->s.parent[at])
        if (covers(ask, at, n->start_ns, end))
            best = at;
    for (uint32_t k = t ? hu_ask_first_from(ask, t, n->start_ns) : 0; t && k < t->count; k++) {
        const uint32_t i = ask->order[t->first + k];

        if (ask->s.start_ns[i] >= end)
            break;
        if (covers(ask, i, n->start_ns, end))
            best = i;
    }
    return best;
}

/* Does an operator launch work?  Then it computes on the device, and takes the processor for something else. */
static bool has_launch(const hu_ask *ask, uint32_t op)
{
    const hu_track *t = &ask->tracks[ask->s.track[op]];
    const int64_t   end = hu_ask_end(ask, op);

    for (uint32_t k = hu_ask_first_from(ask, t, ask->s.start_ns[op]); k < t->count; k++) {
        const uint32_t i = ask->order[t->first + k];

        if (ask->s.start_ns[i] >= end)
            return false;
        if (hu_kind_in(ask->s.kind[i], HU_KINDS_CALL) && ask->names[ask->s.name[i]] & HU_NAME_LAUNCH)
            return true;
    }
    return false;
}

static hu_block_kind kind_of(const hu_ask *ask, uint32_t cover, int64_t length_ns)
{
    if (cover == HU_NONE)
        return HU_BLOCK_UNRECORDED;
    switch (ask->s.kind[cover]) {
    case HU_KIND_CPU_OP:
        return HU_BLOCK_OPERATOR;
    case HU_KIND_PYTHON:
        return HU_BLOCK_PYTHON;
    case HU_KIND_USER:
        return ask->s.dur_ns[cover] <= RANGE_FACTOR * length_ns ? HU_BLOCK_RANGE : HU_BLOCK_UNRECORDED;
    default:
        return HU_BLOCK_CALL;
    }
}

/* A hole of the main thread's while XLA's threads work, or a look at a value that they compute: it waits for them. */
static bool is_wait_for_xla(const work *w, const hu_node *n)
{
    const uint32_t cover = cover_of(w, n);

    return hu_xla_threads_are_awaited(&w->others, n->start_ns, n->start_ns + n->seen_ns) &&
           (kind_of(w->g->ask, cover, n->seen_ns) == HU_BLOCK_UNRECORDED ||
            (cover != HU_NONE && hu_xla_threads_is_look(hu_ask_name(w->g->ask, cover))));
}

static bool add_block(work *w, uint32_t node)
{
    const hu_node      *n = &w->g->node[node];
    const uint32_t      cover = cover_of(w, n);
    const hu_block_kind kind = kind_of(w->g->ask, cover, n->seen_ns);
    const uint32_t      name = cover == HU_NONE ? 0 : w->g->ask->s.name[cover];
    uint32_t           *place = hu_map_put(&w->row_of_name, (uint64_t)kind << 32 | name);
    hu_block           *row;

    if (!place)
        return false;
    if (*place == HU_MAP_NONE) {
        *place = (uint32_t)w->rows.n;
        if (!hu_vec_push(w->arena, &w->rows,
                         ((hu_block){.name = name,
                                     .kind = kind,
                                     .longest = node,
                                     .launches = kind == HU_BLOCK_OPERATOR && has_launch(w->g->ask, cover)})))
            return false;
    }
    w->out->role[node] = HU_WORK_LONG;
    w->out->block[node] = *place;
    row = &w->rows.at[*place];
    if (!is_in_window(w->g, n))
        return true;
    row->total_ns += n->cost_ns;
    row->count++;
    if (n->cost_ns > row->longest_ns) {
        row->longest_ns = n->cost_ns;
        row->longest = node;
    }
    return true;
}

/* From the begin to the end of each capture on a track, and what makes a graph ready to run; in the whole trace, for the
   window may begin inside. */
static bool find_captures(work *w, const hu_track *t, hu_intervals *out)
{
    const hu_ask *ask = w->g->ask;
    int64_t       since = INT64_MAX;

    *out = (hu_intervals){0};
    for (uint32_t k = 0; k < t->count; k++) {
        const uint32_t i = ask->order[t->first + k];
        hu_str         name;

        if (!hu_kind_in(ask->s.kind[i], HU_KINDS_CALL))
            continue;
        name = hu_ask_name(ask, i);
        if (hu_str_has(name, HU_STR("StreamBeginCapture")) && since == INT64_MAX)
            since = ask->s.start_ns[i];
        else if (hu_str_has(name, HU_STR("GraphInstantiate")) && since == INT64_MAX) {
            if (!hu_intervals_add(w->scratch, out, ask->s.start_ns[i], hu_ask_end(ask, i)))
                return false;
        } else if (hu_str_has(name, HU_STR("StreamEndCapture")) && since != INT64_MAX) {
            if (!hu_intervals_add(w->scratch, out, since, hu_ask_end(ask, i)))
                return false;
            since = INT64_MAX;
        }
    }
    return hu_intervals_unite(w->scratch, out);
}

/* Without a device: operators so short that calling them is most of what they take, and the time between them. */
static bool is_short(const work *w, const hu_node *n, bool is_own)
{
    return has_device(w) ? is_own
                         : (is_launch(w, n) && n->cost_ns <= SHORT_OPERATOR_NS && !(n->in & NAMED_APART)) ||
                               (is_own && hu_graph_piece_ns(n) <= SHORT_OPERATOR_NS);
}

/*
 * Without a device an operator is the job's own work.  One that draws random numbers, or sorts, is rarely the model's: it
 * makes data, once or ahead of time as well.
 */
static bool makes_data(const work *w, const hu_node *n)
{
    static const char *const parts[] = {"aten::normal", "aten::uniform_", "aten::rand",         "aten::exponential_",
                                        "aten::sort",   "aten::argsort",  "aten::_unique",      "aten::unique",
                                        "aten::histc",  "aten::bincount", "aten::searchsorted", "aten::multinomial"};

    if (has_device(w) || n->class != HU_CLASS_OPERATOR || n->slice == HU_NONE)
        return false;
    for (size_t k = 0; k < HU_COUNT(parts); k++)
        if (hu_str_starts(hu_ask_name(w->g->ask, n->slice), hu_str_of(parts[k])))
            return true;
    return false;
}

/*
 * May a piece behind a wait be work on what was waited for?  Not in an operator that launches: that gets its own launch
 * ready, whatever lies before it.
 */
static bool uses_result(const work *w, const hu_node *n)
{
    return is_part(w, n) && !(n->class == HU_CLASS_OPERATOR && n->slice != HU_NONE && has_launch(w->g->ask, n->slice));
}

static bool reads_device(const hu_node *n)
{
    return waits(n) && (n->call == HU_CALL_SYNC || n->call == HU_CALL_COPY);
}

static bool walk_lane(work *w, uint32_t lane)
{
    const hu_graph *g = w->g;
    hu_host_work   *out = w->out;
    const int64_t   behind_wait = limit_behind_wait(out);
    hu_intervals    captures = {0};
    size_t          at = 0;
    bool            waited = false, has_read = false;

    if (w->track[lane] && !find_captures(w, w->track[lane], &captures))
        return false;

    for (uint32_t i = w->first[lane]; i != HU_NONE; i = w->next[i]) {
        const hu_node *n = &g->node[i];
        const bool     is_own = (has_device(w) && is_launch(w, n)) || is_part(w, n) || makes_data(w, n);

        while (at < captures.n && captures.at[at].end_ns <= n->start_ns)
            at++;
        if (out->role[i] == HU_WORK_BLOCKED) {
            waited = true;
            continue;
        }
        if (at < captures.n && captures.at[at].start_ns <= n->start_ns) {
            out->role[i] = HU_WORK_CAPTURE;
        } else if (is_own && (hu_graph_piece_ns(n) > out->limit_ns ||
                              (waited && hu_graph_piece_ns(n) > behind_wait && uses_result(w, n)))) {
            /* a thread that is not the main one waits for work where nothing was recorded */
            if (n->class == HU_CLASS_UNRECORDED && (lane != g->main_lane || is_anothers_time(w, n)))
                continue;
            if (lane == g->main_lane && is_wait_for_xla(w, n))
                continue;
            if (is_profilers(g->ask, n->slice) || is_profilers(g->ask, cover_of(w, n)))
                continue;
            if (!add_block(w, i))
                return false;
            out->is_use[i] = has_read && n->class != HU_CLASS_OPERATOR && is_part(w, n);
        } else if (is_short(w, n, is_own)) {
            out->role[i] = HU_WORK_SHORT;
            out->short_ns += is_in_window(g, n) ? n->cost_ns : 0;
            out->launches += !has_device(w) && is_launch(w, n) && is_in_window(g, n);
        }
        if (is_launch(w, n))
            waited = has_read = false;
        waited = waited || waits(n);
        has_read = has_read || reads_device(n);
    }
    return true;
}

/*
 * Operators that launch work, or of a name that hardly ever takes so long, in few of the steps: whatever stopped the thread
 * there, it is not the operator's work, and the trace does not say what it is.
 */
static bool find_pauses(work *w)
{
    const hu_ask *ask = w->g->ask;
    const size_t  names = hu_trace_string_count(ask->trace), steps = w->g->n_marks - 1;
    uint32_t     *calls = hu_arena_calloc(w->scratch, names + 1, sizeof *calls);
    uint32_t     *longs = hu_arena_calloc(w->scratch, names + 1, sizeof *longs);

    if (!calls || !longs)
        return false;
    for (uint32_t i = 0; i < ask->s.n; i++) {
        if (ask->s.kind[i] != HU_KIND_CPU_OP)
            continue;
        calls[ask->s.name[i]]++;
        longs[ask->s.name[i]] += ask->s.dur_ns[i] > w->out->limit_ns;
    }
    for (size_t r = 0; r < w->rows.n; r++) {
        hu_block    *row = &w->rows.at[r];
        const bool   is_rare = longs[row->name] * RARE_PART < calls[row->name];
        const size_t regular = row->launches && is_rare ? 2 * steps : steps; /* usually it launches at once: in each step */

        if (row->kind == HU_BLOCK_OPERATOR && (row->launches || is_rare) &&
            2 * (size_t)row->count < (steps > 1 ? regular : 2 * FEWEST_REGULAR)) {
            row->kind = HU_BLOCK_UNRECORDED;
            row->is_pause = true;
        }
    }
    return true;
}

typedef struct {
    int64_t  total_ns;
    uint32_t row;
} rank;

static int by_total(const void *left, const void *right)
{
    const rank *a = left, *b = right;

    if (a->total_ns != b->total_ns)
        return a->total_ns > b->total_ns ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

/* The rows by total, and the nodes' numbers of them. */
static bool order_rows(work *w)
{
    const size_t n = w->rows.n;
    uint32_t    *place = hu_arena_alloc(w->scratch, (n + 1) * sizeof *place);
    rank        *ranks = hu_arena_alloc(w->scratch, (n + 1) * sizeof *ranks);

    w->out->at = hu_arena_alloc(w->arena, (n + 1) * sizeof *w->out->at);
    if (!place || !ranks || !w->out->at)
        return false;
    for (size_t i = 0; i < n; i++)
        ranks[i] = (rank){w->rows.at[i].total_ns, (uint32_t)i};
    if (n)
        qsort(ranks, n, sizeof *ranks, by_total);
    for (size_t i = 0; i < n; i++) {
        w->out->at[i] = w->rows.at[ranks[i].row];
        place[ranks[i].row] = (uint32_t)i;
    }
    for (size_t i = 0; i < w->g->n_nodes; i++)
        if (w->out->block[i] != HU_NONE)
            w->out->block[i] = place[w->out->block[i]];
    w->out->n = n;
    return true;
}

bool hu_host_work_find(const hu_graph *g, hu_arena *arena, hu_arena *scratch, hu_host_work *out)
{
    work w = {.g = g, .arena = arena, .scratch = scratch, .out = out};

    *out = (hu_host_work){0};
    if (!prepare(&w) || !find_blocked(&w) || !measure_limit(&w) ||
        !hu_xla_threads_find(g->ask->trace, hu_graph_main_track(g), scratch, &w.others))
        return false;
    for (uint32_t lane = 0; lane < g->n_lanes; lane++)
        if (is_asked(&w, lane) && !walk_lane(&w, lane))
            return false;
    return find_pauses(&w) && order_rows(&w);
}
