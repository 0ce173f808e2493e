/* SPDX-License-Identifier: Apache-2.0
 * replay.c - one sweep over the nodes in the order in which they began.
 *
 * That order is a valid one for every set of costs, because each link points forward in it: work is launched before it
 * runs, an event is recorded before it is waited for, a queue is filled before it is full.  So no heap and no worklist is
 * needed, and every instant is computed once, from instants that are final.
 *
 * All lanes begin at 0, when the window does.
 *
 *     begin(node) = max(end of the lane's last node, end of what handed over + w)
 *     start(op)   = max(begin(node) + latency, end of the stream's last op + gap, deps + w) + frozen
 *     end(op)     = start + cost
 *     end(node)   = max(begin + cost, what it waits for + w, the op that frees a place in the queue)
 *
 * For the critical path the sweep remembers of each instant which term was the largest; walking back from the end gives
 * pieces that follow each other without a hole, so that their lengths sum to the time exactly.
 */
#include "graph/replay.h"

#include <stdlib.h>

#include "base/map.h"

enum { EXTERNAL_NS = 100000 };     /* a delay this long has a cause outside of the stream */

/* Which term was the largest.  Above BY_LINK: a row of g->link. */
enum { BY_OWN, BY_LAUNCH, BY_BEFORE, BY_START, BY_FULL, BY_HOST, BY_LINK };

struct hu_replay {
    const hu_graph *g;
    int64_t  *lane_end, *stream_end;
    uint32_t *stream_last;
    int64_t  *node_begin, *node_end, *op_start, *op_end;
    uint32_t *node_end_by, *op_by;                      /* NULL until a path is asked for */
    uint32_t *op_before;                                /* the one that BY_BEFORE means, after edits */
    uint32_t *lane_before;                              /* the node before in its lane */
    hu_arena *arena;
};

hu_costs *hu_costs_new(const hu_graph *g, hu_arena *arena)
{
    hu_costs *c = hu_arena_calloc(arena, 1, sizeof *c);

    if (!c)
        return NULL;
    c->node = hu_arena_alloc(arena, (g->n_nodes + 1) * sizeof *c->node);
    c->op = hu_arena_alloc(arena, (g->n_ops + 1) * sizeof *c->op);
    c->node_flags = hu_arena_alloc(arena, g->n_nodes + 1);
    c->op_flags = hu_arena_alloc(arena, g->n_ops + 1);
    if (!c->node || !c->op || !c->node_flags || !c->op_flags)
        return NULL;
    hu_costs_reset(g, c);
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
}

hu_replay *hu_replay_new(const hu_graph *g, hu_arena *arena)
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
    return r;
}

static inline int64_t instant_of(const hu_replay *r, const hu_link *link)
{
    return link->at == HU_AT_OP_END     ? r->op_end[link->from]
           : link->at == HU_AT_OP_START ? r->op_start[link->from]
                                        : r->node_end[link->from];
}

/* Does a frozen delay follow what comes before it?  A short one is the device's own noise in either reading. */
static inline bool follows(const hu_op *op, const hu_costs *c)
{
    return c->anchor == HU_ANCHOR_PREDECESSOR || op->frozen_ns < EXTERNAL_NS;
}

bool hu_replay_is_external(const hu_op *op)
{
    return op->frozen_ns >= EXTERNAL_NS;
}

/* `path` is a constant at both places of call, so that the sweep without one does not pay for it. */
static inline __attribute__((always_inline)) void run_op(hu_replay *r, const hu_costs *c, uint32_t i, int64_t begin_ns,
                                                         bool path)
{
    const hu_op *op = &r->g->op[i];
    int64_t      start = INT64_MIN;
    uint32_t     by = BY_START;

    if (op->has_launch) {
        start = begin_ns + op->launch_ns * c->scale;
        by = BY_LAUNCH;
    }
    if (r->stream_last[op->stream] != HU_NONE) {
        const int64_t free = r->stream_end[op->stream] + op->gap_ns * c->scale;

        if (free > start) {
            start = free;
            by = BY_BEFORE;
        }
        if (path)
            r->op_before[i] = r->stream_last[op->stream];
    } else if (path) {
        r->op_before[i] = HU_NONE;
    }
    for (uint32_t k = op->deps; k < op->deps + op->n_deps; k++) {
        const hu_link *link = &r->g->link[k];
        int64_t        at;

        if (link->at != HU_AT_NODE_END && c->op_flags[link->from] & HU_EDIT_DETACHED)
            continue;
        at = instant_of(r, link) + link->weight_ns * c->scale;
        if (at > start) {
            start = at;
            by = BY_LINK + k;
        }
    }
    if (start == INT64_MIN)
        start = 0;
    if (op->frozen_ns) {
        const int64_t tied = begin_ns + (op->start_ns - r->g->node[op->node].start_ns) * c->scale;

        if (follows(op, c))
            start += op->frozen_ns * c->scale;
        else if (tied > start) {
            start = tied;
            by = BY_HOST;
        }
    }
    r->op_start[i] = start;
    r->op_end[i] = start + c->op[i] * c->scale;
    if (path)
        r->op_by[i] = by;
    if (!(c->op_flags[i] & HU_EDIT_DETACHED)) {
        r->stream_end[op->stream] = r->op_end[i];
        r->stream_last[op->stream] = i;
    }
}

static inline __attribute__((always_inline)) void run_node(hu_replay *r, const hu_costs *c, uint32_t i, bool path)
{
    const hu_graph *g = r->g;
    const hu_node  *n = &g->node[i];
    int64_t         begin = r->lane_end[n->lane], end;
    uint32_t        by = BY_OWN;

    if (n->after != HU_NONE) {
        const int64_t at = instant_of(r, &g->link[n->after]) + g->link[n->after].weight_ns * c->scale;

        begin = at > begin ? at : begin;
    }
    r->node_begin[i] = begin;
    for (uint32_t k = n->ops; k < n->ops + n->n_ops; k++)
        run_op(r, c, k, begin, path);
    end = begin + c->node[i] * c->scale;
    if (n->n_ops && g->op[n->ops].full != HU_NONE && r->op_end[g->op[n->ops].full] > end) {
        end = r->op_end[g->op[n->ops].full];
        by = BY_FULL;
    }
    if (!(c->node_flags[i] & HU_EDIT_NO_WAIT)) {
        for (uint32_t k = n->waits; k < n->waits + n->n_waits; k++) {
            const hu_link *link = &g->link[k];
            int64_t        at;

            if (link->at != HU_AT_NODE_END && c->op_flags[link->from] & HU_EDIT_DETACHED)
                continue;
            at = instant_of(r, link) + link->weight_ns * c->scale;
            if (at > end) {
                end = at;
                by = BY_LINK + k;
            }
        }
    }
    r->node_end[i] = end;
    r->lane_end[n->lane] = end;
    if (path)
        r->node_end_by[i] = by;
}

/* When each step ended; *last_op is the operation that ended the last one, HU_NONE when the host's mark did. */
static void find_ends(const hu_replay *r, int64_t *ends_ns, uint32_t *last_op)
{
    const hu_graph *g = r->g;
    const size_t    last = g->n_marks - 1;

    for (size_t m = 0; m < g->n_marks; m++)
        ends_ns[m] = g->mark[m].mark < g->n_nodes ? r->node_begin[g->mark[m].mark] : r->lane_end[g->main_lane];
    *last_op = HU_NONE;
    for (uint32_t i = 0; i < g->n_ops; i++) {
        const size_t m = (size_t)(g->op[i].step + 1);

        if (r->op_end[i] > ends_ns[m]) {
            ends_ns[m] = r->op_end[i];
            *last_op = m == last ? i : *last_op;
        }
    }
    for (size_t m = 1; m < g->n_marks; m++)
        if (ends_ns[m] < ends_ns[m - 1])
            ends_ns[m] = ends_ns[m - 1];
}

static inline __attribute__((always_inline)) void sweep(hu_replay *r, const hu_costs *c, int64_t *ends_ns, uint32_t *last_op,
                                                        bool path)
{
    const hu_graph *g = r->g;

    for (uint32_t k = 0; k < g->n_lanes; k++)
        r->lane_end[k] = 0;
    for (uint32_t k = 0; k < g->n_streams; k++)
        r->stream_last[k] = HU_NONE;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        run_node(r, c, i, path);
    find_ends(r, ends_ns, last_op);
}

void hu_replay_run(hu_replay *r, const hu_costs *c, int64_t *ends_ns)
{
    uint32_t last_op;

    sweep(r, c, ends_ns, &last_op, false);
}

hu_replay_instants hu_replay_get(const hu_replay *r)
{
    return (hu_replay_instants){r->node_begin, r->node_end, r->op_start, r->op_end};
}

double hu_replay_step_ns(const hu_graph *g, const int64_t *ends_ns)
{
    return (double)(ends_ns[g->n_marks - 1] - ends_ns[0]) / (double)(g->n_marks - 1);
}

/* The path back from the end, piece by piece. */
typedef struct {
    hu_replay *r;
    hu_path   *path;
    int64_t    from_ns;         /* what lies before is not of the window */
    int64_t    now_ns;
    hu_map     row_of_key;
    HU_VEC(hu_path_row) rows;
    hu_arena  *arena;           /* NULL: no rows */
    bool       failed;
} walk;

static void add(walk *w, hu_class class, uint32_t slice, int64_t to_ns)
{
    const int64_t until = to_ns > w->from_ns ? to_ns : w->from_ns, length = w->now_ns - until;
    const hu_ask *ask = w->r->g->ask;
    uint32_t      name = slice == HU_NONE ? 0 : ask->s.name[slice], *place;

    w->now_ns = until;
    if (length == 0)
        return;
    w->path->by_class[class] += length;
    if (!w->arena || w->failed)
        return;
    place = hu_map_put(&w->row_of_key, (uint64_t)class << 32 | name);
    if (place && *place == HU_MAP_NONE) {
        *place = (uint32_t)w->rows.n;
        if (!hu_vec_push(w->arena, &w->rows, ((hu_path_row){.name = name, .class = (uint8_t)class})))
            place = NULL;
    }
    if (!place) {
        w->failed = true;
        return;
    }
    w->rows.at[*place].total_ns += length;
    w->rows.at[*place].count++;
}

enum { AT_NODE_BEGIN, AT_NODE_END, AT_OP_START, AT_OP_END, AT_WINDOW };

/* Along a link; returns the kind of instant it comes from. */
static int follow(walk *w, const hu_link *link, uint32_t *i)
{
    const hu_replay *r = w->r;

    add(w, (hu_class)link->class, HU_NONE, instant_of(r, link));
    *i = link->from;
    return link->at == HU_AT_OP_END ? AT_OP_END : link->at == HU_AT_OP_START ? AT_OP_START : AT_NODE_END;
}

static int leave_op_start(walk *w, const hu_costs *c, uint32_t *i)
{
    const hu_replay *r = w->r;
    const hu_op     *op = &r->g->op[*i];
    const uint32_t   by = r->op_by[*i];

    if (op->frozen_ns && follows(op, c))
        add(w, HU_CLASS_FROZEN, HU_NONE, w->now_ns - op->frozen_ns * c->scale);
    if (by == BY_LAUNCH || by == BY_HOST) {
        add(w, by == BY_HOST ? HU_CLASS_FROZEN : HU_CLASS_LAUNCH, HU_NONE, r->node_begin[op->node]);
        *i = op->node;
        return AT_NODE_BEGIN;
    }
    if (by == BY_BEFORE) {
        add(w, HU_CLASS_GAP, HU_NONE, r->op_end[r->op_before[*i]]);
        *i = r->op_before[*i];
        return AT_OP_END;
    }
    if (by == BY_START) {
        add(w, HU_CLASS_FROZEN, HU_NONE, w->from_ns);
        return AT_WINDOW;
    }
    return follow(w, &r->g->link[by - BY_LINK], i);
}

static int leave_node_end(walk *w, uint32_t *i)
{
    const hu_replay *r = w->r;
    const hu_node   *n = &r->g->node[*i];
    const uint32_t   by = r->node_end_by[*i];

    if (by == BY_OWN) {
        add(w, (hu_class)n->class, n->slice, r->node_begin[*i]);
        return AT_NODE_BEGIN;
    }
    if (by == BY_FULL) {
        *i = r->g->op[n->ops].full;
        add(w, HU_CLASS_LAUNCH_CALL, n->slice, r->op_end[*i]);
        return AT_OP_END;
    }
    return follow(w, &r->g->link[by - BY_LINK], i);
}

/* Did a node begin when the one before it on its thread ended, or when another thread handed over? */
static bool follows_lane(const hu_replay *r, uint32_t i)
{
    const uint32_t before = r->lane_before[i];

    return r->g->node[i].after == HU_NONE || r->node_begin[i] == (before == HU_NONE ? 0 : r->node_end[before]);
}

static void walk_back(walk *w, const hu_costs *c, int at, uint32_t i)
{
    const hu_replay *r = w->r;
    const hu_graph  *g = r->g;

    while (w->now_ns > w->from_ns && at != AT_WINDOW) {
        if (at == AT_OP_END) {
            add(w, (hu_class)g->op[i].class, g->op[i].slice, r->op_start[i]);
            at = AT_OP_START;
        } else if (at == AT_OP_START) {
            at = leave_op_start(w, c, &i);
        } else if (at == AT_NODE_END) {
            at = leave_node_end(w, &i);
        } else if (follows_lane(r, i)) {
            i = r->lane_before[i];
            at = i == HU_NONE ? AT_WINDOW : AT_NODE_END;
        } else {
            at = follow(w, &g->link[g->node[i].after], &i);
        }
    }
    if (w->now_ns > w->from_ns)
        add(w, HU_CLASS_FROZEN, HU_NONE, w->from_ns);
}

/* The latest times at which instants may lie; the mirror image of the sweep. */
typedef struct {
    const hu_replay *r;
    const hu_costs  *c;
    int64_t *begin, *end;           /* by node */
    int64_t *start, *stop;          /* by operation */
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
    const int64_t frozen = op->frozen_ns && follows(op, l->c) ? op->frozen_ns * l->c->scale : 0;
    int64_t       ready;

    at_most(&l->start[i], l->stop[i] - l->c->op[i] * l->c->scale);
    ready = l->start[i] - frozen;
    if (op->has_launch)
        at_most(&l->begin[op->node], ready - op->launch_ns * l->c->scale);
    if (l->r->op_before[i] != HU_NONE)
        at_most(&l->stop[l->r->op_before[i]], ready - op->gap_ns * l->c->scale);
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
    if (n->after != HU_NONE)
        hold_link(l, &g->link[n->after], l->begin[i]);
    if (l->r->lane_before[i] != HU_NONE)
        at_most(&l->end[l->r->lane_before[i]], l->begin[i]);
}

int hu_replay_slack(const hu_replay *r, const hu_costs *c, const int64_t *ends_ns, hu_arena *scratch, int64_t *slack_ns,
                    hu_error *err)
{
    const hu_graph *g = r->g;
    const int64_t   last = ends_ns[g->n_marks - 1];
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

static bool make_room(hu_replay *r)
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
    walk            w = {.r = r, .path = out, .arena = arena};
    uint32_t        op, i;
    int             at;

    *out = (hu_path){0};
    if (!make_room(r) || (arena && !hu_map_init(&w.row_of_key, arena, 256)))
        return hu_fail_memory(err);
    sweep(r, c, ends_ns, &op, true);
    w.from_ns = ends_ns[0];
    w.now_ns = ends_ns[last];
    out->total_ns = w.now_ns - w.from_ns;
    if (op != HU_NONE) {
        i = op;
        at = AT_OP_END;
    } else if (g->mark[last].mark < g->n_nodes) {
        i = g->mark[last].mark;
        at = AT_NODE_BEGIN;
    } else {
        for (i = (uint32_t)g->n_nodes - 1; g->node[i].lane != g->main_lane && i; i--)
            ;
        at = AT_NODE_END;
    }
    walk_back(&w, c, at, i);
    if (w.failed)
        return hu_fail_memory(err);
    if (w.rows.n)
        qsort(w.rows.at, w.rows.n, sizeof *w.rows.at, by_total);
    out->at = w.rows.at;
    out->n = w.rows.n;
    return 0;
}
