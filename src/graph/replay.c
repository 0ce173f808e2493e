/* SPDX-License-Identifier: Apache-2.0
 * replay.c - one sweep over the nodes in the order in which they began.
 *
 * That order is a valid one for every set of costs, because each link points forward in it: work is launched before it
 * runs, an event is recorded before it is waited for, a queue is filled before it is full.  So no heap and no worklist is
 * needed, and every instant is computed once, from instants that are final.
 *
 * All lanes begin at 0, when the window does; where several ranks are replayed together, at the rank's origin.
 *
 *     begin(node) = max(end of the lane's last node, end of what handed over + w)
 *     start(op)   = max(begin(node) + latency, end of the stream's last op + gap, deps + w) + frozen
 *     end(op)     = start + cost
 *     end(node)   = max(begin + cost, what it waits for + w, the op that frees a place in the queue)
 *
 * Most nodes launch nothing and wait for nothing.  Such follow each other in chains, which are found once for all sweeps.
 *
 * A step ends twice: when the host reaches its mark, and when the work launched up to there has ended too.  Over the window
 * the longer of the two is its length: were the GPU faster, it would first work off its backlog and then wait for the host;
 * were the host faster, it would only add to the backlog.  By how much the GPU caught up in the measured window
 * (analyze/steady.h) does not count: that is where in its ups and downs the capture began and ended.
 *
 * For the critical path the sweep remembers of each instant which term was the largest; walking back from the end gives
 * pieces that follow each other without a hole, so that their lengths sum to the time exactly.
 */
#include <stdlib.h>

#include "graph/walk.h"

static hu_costs *make_costs(const hu_graph *g, hu_arena *arena)
{
    hu_costs *c = hu_arena_calloc(arena, 1, sizeof *c);

    if (!c)
        return NULL;
    c->node = hu_arena_alloc(arena, (g->n_nodes + 1) * sizeof *c->node);
    c->op = hu_arena_alloc(arena, (g->n_ops + 1) * sizeof *c->op);
    c->node_flags = hu_arena_alloc(arena, g->n_nodes + 1);
    c->op_flags = hu_arena_alloc(arena, g->n_ops + 1);
    return c->node && c->op && c->node_flags && c->op_flags ? c : NULL;
}

hu_costs *hu_costs_new(const hu_graph *g, hu_arena *arena)
{
    hu_costs *c = make_costs(g, arena);

    if (c)
        hu_costs_reset(g, c);
    return c;
}

hu_costs *hu_costs_like(const hu_graph *g, const hu_costs *from, hu_arena *arena)
{
    hu_costs *c = make_costs(g, arena);

    if (c)
        hu_costs_copy(g, from, c);
    return c;
}

void hu_costs_reset(const hu_graph *g, hu_costs *c)
{
    for (size_t i = 0; i < g->n_nodes; i++)
        c->node[i] = g->node[i].cost_ns;
    for (size_t i = 0; i < g->n_ops; i++)
        c->op[i] = g->op[i].cost_ns;
    memset(c->node_flags, 0, g->n_nodes + 1);
    memset(c->op_flags, 0, g->n_ops + 1);
    c->anchor = HU_ANCHOR_PREDECESSOR;
    c->scale = 1;
    c->gap_more_ns = 0;
}

void hu_costs_copy(const hu_graph *g, const hu_costs *from, hu_costs *to)
{
    memcpy(to->node, from->node, g->n_nodes * sizeof *to->node);
    memcpy(to->op, from->op, g->n_ops * sizeof *to->op);
    memcpy(to->node_flags, from->node_flags, g->n_nodes);
    memcpy(to->op_flags, from->op_flags, g->n_ops);
    to->anchor = from->anchor;
    to->scale = from->scale;
    to->gap_more_ns = from->gap_more_ns;
}

static bool find_chains(hu_replay *r)
{
    const hu_graph *g = r->g;

    for (uint32_t i = 0; i < g->n_nodes; i++) {
        hu_chain chain = {.first = i, .lane = g->node[i].lane};

        while (i < g->n_nodes && g->node[i].lane == chain.lane && hu_sweep_is_plain(&g->node[i]))
            i++;
        chain.end = i;
        if (!hu_vec_push(r->arena, &r->chains, chain))
            return false;
    }
    return true;
}

static bool find_steps(hu_replay *r)
{
    const hu_graph *g = r->g;

    for (uint32_t i = 0; i < g->n_ops;) {
        hu_step_ops ops = {.first = i, .step = g->op[i].step};

        while (i < g->n_ops && g->op[i].step == ops.step)
            i++;
        ops.end = i;
        if (!hu_vec_push(r->arena, &r->steps, ops))
            return false;
    }
    return true;
}

hu_replay *hu_sweep_new(const hu_graph *g, hu_arena *arena)
{
    hu_replay *r = hu_arena_calloc(arena, 1, sizeof *r);

    if (!r)
        return NULL;
    r->g = g;
    r->arena = arena;
    r->lane_end = hu_arena_alloc(arena, (g->n_lanes + 1) * sizeof *r->lane_end);
    r->stream_end = hu_arena_alloc(arena, (g->n_streams + 1) * sizeof *r->stream_end);
    r->stream_last = hu_arena_alloc(arena, (g->n_streams + 1) * sizeof *r->stream_last);
    r->node_begin = hu_arena_alloc(arena, (g->n_nodes + 1) * sizeof *r->node_begin);
    r->node_end = hu_arena_alloc(arena, (g->n_nodes + 1) * sizeof *r->node_end);
    r->op_start = hu_arena_alloc(arena, (g->n_ops + 1) * sizeof *r->op_start);
    r->op_end = hu_arena_alloc(arena, (g->n_ops + 1) * sizeof *r->op_end);
    if (!r->lane_end || !r->stream_end || !r->stream_last || !r->node_begin || !r->node_end || !r->op_start || !r->op_end)
        return NULL;
    return find_steps(r) ? r : NULL;
}

hu_replay *hu_replay_new(const hu_graph *g, hu_arena *arena)
{
    hu_replay *r = hu_sweep_new(g, arena);

    return r && find_chains(r) ? r : NULL;
}

bool hu_replay_is_external(const hu_op *op)
{
    return op->frozen_ns >= HU_EXTERNAL_NS;
}

static inline __attribute__((always_inline)) void run_node(hu_replay *r, const hu_costs *c, uint32_t i, bool path)
{
    const hu_node *n = &r->g->node[i];

    hu_sweep_begin(r, c, i);
    for (uint32_t k = n->ops; k < n->ops + n->n_ops; k++) {
        hu_sweep_start(r, c, k, path);
        hu_sweep_finish(r, c, k, r->op_start[k] + c->op[k] * c->scale);
    }
    hu_sweep_end(r, c, i, r->node_begin[i] + c->node[i] * c->scale, path);
}

static int64_t mark_of(const hu_replay *r, size_t m)
{
    const hu_graph *g = r->g;

    return g->mark[m].mark < g->n_nodes ? r->node_begin[g->mark[m].mark] : r->lane_end[g->main_lane];
}

/* The end of a step that is not in the trace, which the first one begins at: as hu_steady_measure says. */
static void begin_first(const hu_replay *r, int64_t *ends_ns)
{
    const int64_t mark = mark_of(r, 0), behind = ends_ns[1] - mark_of(r, 1);
    int64_t       begin = INT64_MAX;

    for (size_t k = 0; k < r->steps.n; k++)
        for (uint32_t i = r->steps.at[k].first; r->steps.at[k].step == 0 && i < r->steps.at[k].end; i++)
            begin = r->op_start[i] < begin ? r->op_start[i] : begin;
    if (begin == INT64_MAX)
        return;
    begin = begin < mark + behind ? begin : mark + behind;
    ends_ns[0] = begin > ends_ns[0] ? begin : ends_ns[0];
}

static int64_t last_end(const hu_replay *r, const hu_step_ops *ops)
{
    int64_t end = r->op_end[ops->first];

    for (uint32_t i = ops->first + 1; i < ops->end; i++)
        end = r->op_end[i] > end ? r->op_end[i] : end;
    return end;
}

/* When the host's mark was reached and all work launched up to it had ended, for each step. */
static void ends_of_steps(const hu_replay *r, int64_t *ends_ns, uint32_t *last_op)
{
    const hu_graph *g = r->g;
    const size_t    last = g->n_marks - 1;

    for (size_t m = 0; m < g->n_marks; m++)
        ends_ns[m] = mark_of(r, m);
    for (size_t k = 0; k < r->steps.n; k++) {
        const hu_step_ops *ops = &r->steps.at[k];
        const size_t       m = (size_t)(ops->step + 1);
        const int64_t      end = last_end(r, ops);

        if (end <= ends_ns[m])
            continue;
        ends_ns[m] = end;
        for (uint32_t i = ops->first; m == last && i < ops->end; i++)
            if (r->op_end[i] == end) {
                *last_op = i;
                break;
            }
    }
    if (g->is_first)
        begin_first(r, ends_ns);
    for (size_t m = 1; m < g->n_marks; m++)
        if (ends_ns[m] < ends_ns[m - 1])
            ends_ns[m] = ends_ns[m - 1];
}

void hu_sweep_ends(hu_replay *r, const hu_costs *c, int64_t *ends_ns, uint32_t *last_op)
{
    const hu_graph *g = r->g;
    const size_t    last = g->n_marks - 1;
    const int64_t   shrunk_ns = g->shrunk_ns * c->scale;

    *last_op = HU_NONE;
    ends_of_steps(r, ends_ns, last_op);
    r->is_by_marks = mark_of(r, last) - mark_of(r, 0) - shrunk_ns > ends_ns[last] - ends_ns[0];
    if (!r->is_by_marks)
        return;
    for (size_t m = 0; m < g->n_marks; m++)
        ends_ns[m] = mark_of(r, m) - shrunk_ns * (int64_t)m / (int64_t)last;
    *last_op = HU_NONE;
}

static inline __attribute__((always_inline)) void sweep(hu_replay *r, const hu_costs *c, int64_t *ends_ns, uint32_t *last_op,
                                                        bool path)
{
    const hu_graph *g = r->g;

    hu_sweep_reset(r);
    for (size_t k = 0; k < r->chains.n; k++) {
        const hu_chain *chain = &r->chains.at[k];

        hu_sweep_chain(r, c, chain, path);
        if (chain->end < g->n_nodes)
            run_node(r, c, chain->end, path);
    }
    hu_sweep_ends(r, c, ends_ns, last_op);
}

void hu_replay_run(hu_replay *r, const hu_costs *c, int64_t *ends_ns)
{
    uint32_t last_op;

    sweep(r, c, ends_ns, &last_op, false);
}

double hu_replay_by_ends_ns(const hu_replay *r, int64_t *ends_ns)
{
    uint32_t unused = HU_NONE;

    ends_of_steps(r, ends_ns, &unused);
    return hu_replay_step_ns(r->g, ends_ns);
}

hu_replay_instants hu_replay_get(const hu_replay *r)
{
    return (hu_replay_instants){r->node_begin, r->node_end, r->op_start, r->op_end};
}

int64_t hu_replay_seen_ns(const hu_replay *r, size_t step)
{
    const hu_graph *g = r->g;
    const int64_t   last = (int64_t)g->n_marks - 1;

    if (!r->is_by_marks)
        return g->mark[step + 1].end_ns - g->mark[step].end_ns;
    return g->mark[step + 1].host_end_ns - g->mark[step].host_end_ns - g->shrunk_ns / last;
}

bool hu_replay_work_ends(const hu_replay *r, int64_t *ends_ns)
{
    const hu_graph *g = r->g;
    const hu_mark  *last = &g->mark[g->n_marks - 1];
    uint32_t        unused = HU_NONE;

    if (!r->is_by_marks || last->end_ns == last->host_end_ns)
        return false;
    ends_of_steps(r, ends_ns, &unused);
    return true;
}

double hu_replay_step_ns(const hu_graph *g, const int64_t *ends_ns)
{
    return (double)(ends_ns[g->n_marks - 1] - ends_ns[0]) / (double)(g->n_marks - 1);
}

/* The latest times at which instants may lie; the mirror image of the sweep. */
typedef struct {
    const hu_replay *r;
    const hu_costs  *c;
    int64_t         *begin, *end;  /* by node */
    int64_t         *start, *stop; /* by operation */
} latest;

static void at_most(int64_t *time_ns, int64_t bound_ns)
{
    if (bound_ns < *time_ns)
        *time_ns = bound_ns;
}

static void hold_link(latest *l, const hu_link *link, int64_t bound_ns)
{
    int64_t *from = link->at == HU_AT_OP_END ? l->stop : link->at == HU_AT_OP_START ? l->start : l->end;

    if (link->at != HU_AT_NODE_END && l->c->op_flags[link->from] & HU_EDIT_DETACHED)
        return;
    at_most(&from[link->from], bound_ns - link->weight_ns * l->c->scale);
}

static void hold_op(latest *l, uint32_t i)
{
    const hu_op  *op = &l->r->g->op[i];
    const int64_t frozen = op->frozen_ns && hu_sweep_follows(op, l->c) ? op->frozen_ns * l->c->scale : 0;
    int64_t       ready;

    at_most(&l->start[i], l->stop[i] - l->c->op[i] * l->c->scale);
    ready = l->start[i] - frozen;
    if (op->has_launch)
        at_most(&l->begin[op->node], ready - op->launch_ns * l->c->scale);
    if (l->r->op_before[i] != HU_NONE)
        at_most(&l->stop[l->r->op_before[i]], ready - hu_sweep_gap_ns(l->r->g, op, l->c) * l->c->scale);
    for (uint32_t k = op->deps; k < op->deps + op->n_deps; k++)
        hold_link(l, &l->r->g->link[k], ready);
}

static void hold_node(latest *l, uint32_t i)
{
    const hu_graph *g = l->r->g;
    const hu_node  *n = &g->node[i];

    if (!(l->c->node_flags[i] & HU_EDIT_NO_WAIT))
        for (uint32_t k = n->waits; k < n->waits + n->n_waits; k++)
            hold_link(l, &g->link[k], l->end[i]);
    if (n->n_ops && g->op[n->ops].full != HU_NONE)
        at_most(&l->stop[g->op[n->ops].full], l->end[i]);
    for (uint32_t k = n->ops + n->n_ops; k-- > n->ops;)
        hold_op(l, k);
    at_most(&l->begin[i], l->end[i] - l->c->node[i] * l->c->scale);
    if (n->after != HU_NONE && !(l->c->node_flags[i] & HU_EDIT_NO_AFTER))
        hold_link(l, &g->link[n->after], l->begin[i]);
    if (l->r->lane_before[i] != HU_NONE)
        at_most(&l->end[l->r->lane_before[i]], l->begin[i]);
}

int hu_replay_slack(const hu_replay *r, const hu_costs *c, const int64_t *ends_ns, hu_arena *scratch, int64_t *slack_ns,
                    hu_error *err)
{
    const hu_graph *g = r->g;
    int64_t         last = ends_ns[g->n_marks - 1];
    latest          l = {.r = r, .c = c};

    l.begin = hu_arena_alloc(scratch, (g->n_nodes + 1) * sizeof *l.begin);
    l.end = hu_arena_alloc(scratch, (g->n_nodes + 1) * sizeof *l.end);
    l.start = hu_arena_alloc(scratch, (g->n_ops + 1) * sizeof *l.start);
    l.stop = hu_arena_alloc(scratch, (g->n_ops + 1) * sizeof *l.stop);
    if (!l.begin || !l.end || !l.start || !l.stop)
        return hu_fail_memory(err);
    for (size_t i = 0; i < g->n_nodes; i++) {
        /* only the main thread's marks end a step; what other threads still do then delays nothing */
        l.begin[i] = l.end[i] = INT64_MAX / 4;
        if (g->node[i].lane == g->main_lane)
            l.end[i] = last;
    }
    for (size_t i = 0; i < g->n_ops; i++) {
        l.start[i] = INT64_MAX / 4;
        l.stop[i] = last;
    }
    for (uint32_t i = (uint32_t)g->n_nodes; i-- > 0;)
        hold_node(&l, i);
    for (size_t i = 0; i < g->n_ops; i++)
        slack_ns[i] = l.stop[i] > r->op_end[i] ? l.stop[i] - r->op_end[i] : 0;
    return 0;
}

static int by_total(const void *left, const void *right)
{
    const hu_path_row *a = left, *b = right;

    if (a->total_ns != b->total_ns)
        return a->total_ns > b->total_ns ? -1 : 1;
    if (a->class != b->class)
        return a->class < b->class ? -1 : 1;
    return (a->name > b->name) - (a->name < b->name);
}

bool hu_sweep_keep_path(hu_replay *r)
{
    const hu_graph *g = r->g;
    uint32_t       *last;

    if (r->op_by)
        return true;
    r->node_end_by = hu_arena_alloc(r->arena, (g->n_nodes + 1) * sizeof *r->node_end_by);
    r->lane_before = hu_arena_alloc(r->arena, (g->n_nodes + 1) * sizeof *r->lane_before);
    r->op_before = hu_arena_alloc(r->arena, (g->n_ops + 1) * sizeof *r->op_before);
    last = hu_arena_alloc(r->arena, (g->n_lanes + 1) * sizeof *last);
    if (!r->node_end_by || !r->lane_before || !r->op_before || !last)
        return false;
    memset(last, 0xff, g->n_lanes * sizeof *last);
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        r->lane_before[i] = last[g->node[i].lane];
        last[g->node[i].lane] = i;
    }
    r->op_by = hu_arena_alloc(r->arena, (g->n_ops + 1) * sizeof *r->op_by);
    return r->op_by != NULL;
}

int hu_replay_path(hu_replay *r, const hu_costs *c, int64_t *ends_ns, hu_arena *arena, hu_path *out, hu_error *err)
{
    const hu_graph *g = r->g;
    const size_t    last = g->n_marks - 1;
    hu_walk         w = {.r = r, .path = out, .arena = arena, .steps_left = hu_walk_most(g)};
    uint32_t        op, i;
    int             at;

    *out = (hu_path){.track_ns = arena ? hu_arena_calloc(arena, g->ask->n_tracks + 1, sizeof *out->track_ns) : NULL};
    if (!hu_sweep_keep_path(r) || (arena && (!out->track_ns || !hu_map_init(&w.row_of_key, arena, 256))))
        return hu_fail_memory(err);
    if (arena)
        w.beside = hu_beside_find(g);
    sweep(r, c, ends_ns, &op, true);
    w.from_ns = ends_ns[0];
    w.now_ns = ends_ns[last];
    out->total_ns = w.now_ns - w.from_ns;
    at = hu_walk_first(r, op, &i);
    while (hu_walk_goes_on(&w, at))
        at = hu_walk_step(&w, c, at, &i);
    if (w.now_ns > w.from_ns)
        hu_walk_add(&w, HU_CLASS_FROZEN, HU_NONE, w.from_ns);
    if (w.failed)
        return hu_fail_memory(err);
    if (w.rows.n)
        qsort(w.rows.at, w.rows.n, sizeof *w.rows.at, by_total);
    out->at = w.rows.at;
    out->n = w.rows.n;
    return 0;
}
