/* SPDX-License-Identifier: Apache-2.0
 * joint.c - one order for the sweeps of all ranks, found once, in which everything comes after what it waits for.
 *
 * A rank alone is swept in the order in which its nodes began.  That does not do for several: of two collectives of
 * different groups one rank may launch this one first and the other that one, on streams of their own, and both are right.
 * So the order is found by Kahn's algorithm over all instants: a node's begin and end, an operation's start, and the
 * meetings.  It holds for every set of costs, and each replay is then a sweep without a queue.  What Kahn's algorithm cannot
 * reach hangs.
 *
 * A node that begins and ends without anything in between is one instant of the order, and so are nodes in a row that wait
 * for nothing, and operations in a row.
 */
#include "graph/joint.h"

#include "graph/joint_meetings.h"
#include "graph/walk.h"

enum { FEWEST_MARKS = 3 };

enum { AT_BEGIN, AT_START, AT_END, AT_NODE, AT_CHAIN, AT_MEETING, AT_FINISH };

/* the order */

typedef struct {
    const hu_joint *j;
    uint32_t       *out, *first; /* units that wait for unit u: out[first[u] .. first[u + 1]) */
    uint32_t       *left;        /* units that u still waits for */
    size_t          n_units;
    bool            fills; /* else counts */
} wiring;

static uint32_t begin_of(const wiring *w, size_t r, uint32_t i)
{
    return w->j->rank[r].base + i;
}

static uint32_t end_of(const wiring *w, size_t r, uint32_t i)
{
    return w->j->rank[r].base + (uint32_t)w->j->rank[r].graph->n_nodes + i;
}

static uint32_t start_of(const wiring *w, size_t r, uint32_t op)
{
    return w->j->rank[r].base + 2 * (uint32_t)w->j->rank[r].graph->n_nodes + op;
}

static uint32_t meeting_unit(const wiring *w, uint32_t m)
{
    return (uint32_t)(w->n_units - w->j->n_meetings) + m;
}

static uint32_t several_unit(const wiring *w, uint32_t i)
{
    return (uint32_t)(w->n_units - w->j->n_meetings - w->j->n_several) + i;
}

/* An operation ends when it has started, unless others have a word in it. */
static uint32_t finish_of(const wiring *w, size_t r, uint32_t op)
{
    const uint32_t m = w->j->rank[r].of_op[op], several = w->j->rank[r].several_of_op[op];

    if (several != HU_NONE)
        return several_unit(w, several);
    return m == HU_NONE ? start_of(w, r, op) : meeting_unit(w, m);
}

static void wire(wiring *w, uint32_t from, uint32_t to)
{
    if (w->fills) {
        w->out[w->first[from]++] = to;
        return;
    }
    w->first[from + 2]++;
    w->left[to]++;
}

static uint32_t unit_of_link(const wiring *w, size_t r, const hu_link *link)
{
    return link->at == HU_AT_OP_END     ? finish_of(w, r, link->from)
           : link->at == HU_AT_OP_START ? start_of(w, r, link->from)
                                        : end_of(w, r, link->from);
}

static void wire_node(wiring *w, size_t r, uint32_t i, uint32_t *last_of_lane)
{
    const hu_joint_member *m = &w->j->rank[r];
    const hu_graph        *g = m->graph;
    const hu_node         *n = &g->node[i];

    if (last_of_lane[n->lane] != HU_NONE)
        wire(w, end_of(w, r, last_of_lane[n->lane]), begin_of(w, r, i));
    last_of_lane[n->lane] = i;
    if (n->after != HU_NONE)
        wire(w, unit_of_link(w, r, &g->link[n->after]), begin_of(w, r, i));
    wire(w, begin_of(w, r, i), end_of(w, r, i));
    if (m->of_node[i] != HU_NONE)
        wire(w, meeting_unit(w, m->of_node[i]), end_of(w, r, i));
    if (n->n_ops && g->op[n->ops].full != HU_NONE)
        wire(w, finish_of(w, r, g->op[n->ops].full), end_of(w, r, i));
    for (uint32_t k = n->waits; k < n->waits + n->n_waits; k++)
        wire(w, unit_of_link(w, r, &g->link[k]), end_of(w, r, i));
}

static void wire_op(wiring *w, size_t r, uint32_t i, uint32_t *last_of_stream)
{
    const hu_graph *g = w->j->rank[r].graph;
    const hu_op    *op = &g->op[i];

    wire(w, begin_of(w, r, op->node), start_of(w, r, i));
    if (last_of_stream[op->stream] != HU_NONE)
        wire(w, finish_of(w, r, last_of_stream[op->stream]), start_of(w, r, i));
    last_of_stream[op->stream] = i;
    for (uint32_t k = op->deps; k < op->deps + op->n_deps; k++)
        wire(w, unit_of_link(w, r, &g->link[k]), start_of(w, r, i));
}

static void wire_meeting(wiring *w, uint32_t m)
{
    for (uint32_t k = w->j->meeting[m].first; k < w->j->meeting[m].first + w->j->meeting[m].n; k++) {
        const hu_joint_guest *g = &w->j->guest[k];

        wire(w, g->is_node ? begin_of(w, g->rank, g->index) : start_of(w, g->rank, g->index), meeting_unit(w, m));
        if (g->several != HU_NONE)
            wire(w, meeting_unit(w, m), several_unit(w, g->several));
    }
}

/* Twice: once to count, once to fill. */
static void wire_all(wiring *w, uint32_t *last)
{
    for (size_t r = 0; r < w->j->n; r++) {
        const hu_graph *g = w->j->rank[r].graph;

        memset(last, 0xff, (g->n_lanes + g->n_streams) * sizeof *last);
        for (uint32_t i = 0; i < g->n_nodes; i++) {
            wire_node(w, r, i, last);
            for (uint32_t k = g->node[i].ops; k < g->node[i].ops + g->node[i].n_ops; k++)
                wire_op(w, r, k, last + g->n_lanes);
        }
    }
    for (uint32_t m = 0; m < w->j->n_meetings; m++)
        wire_meeting(w, m);
}

static bool make_wiring(wiring *w, hu_arena *scratch)
{
    uint32_t *last, most = 0;

    for (size_t r = 0; r < w->j->n; r++)
        if (w->j->rank[r].graph->n_lanes + w->j->rank[r].graph->n_streams > most)
            most = w->j->rank[r].graph->n_lanes + w->j->rank[r].graph->n_streams;
    last = hu_arena_alloc(scratch, (most + 1) * sizeof *last);
    w->first = hu_arena_calloc(scratch, w->n_units + 3, sizeof *w->first);
    w->left = hu_arena_calloc(scratch, w->n_units + 1, sizeof *w->left);
    if (!last || !w->first || !w->left)
        return false;
    wire_all(w, last);
    /* first[u + 2] holds the count of u; summed, first[u + 1] is where u begins, and behind the filling where it ends */
    for (size_t u = 2; u < w->n_units + 3; u++)
        w->first[u] += w->first[u - 1];
    w->out = hu_arena_alloc(scratch, (w->first[w->n_units + 1] + (size_t)1) * sizeof *w->out);
    if (!w->out)
        return false;
    w->fills = true;
    w->first++;
    wire_all(w, last);
    w->first--;
    return true;
}

static hu_joint_instant one(uint8_t at, size_t rank, uint32_t index)
{
    return (hu_joint_instant){.at = at, .rank = (uint16_t)rank, .index = index, .end = index + 1};
}

static hu_joint_instant instant_of(const wiring *w, uint32_t unit)
{
    const hu_joint *j = w->j;
    size_t          low = 0, high = j->n;

    if (unit >= w->n_units - j->n_meetings)
        return one(AT_MEETING, 0, unit - (uint32_t)(w->n_units - j->n_meetings));
    if (unit >= w->n_units - j->n_meetings - j->n_several)
        return one(AT_FINISH, 0, unit - (uint32_t)(w->n_units - j->n_meetings - j->n_several));
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;

        if (j->rank[middle].base <= unit)
            low = middle;
        else
            high = middle;
    }
    unit -= j->rank[low].base;
    if (unit < j->rank[low].graph->n_nodes)
        return one(AT_BEGIN, low, unit);
    unit -= (uint32_t)j->rank[low].graph->n_nodes;
    if (unit < j->rank[low].graph->n_nodes)
        return one(AT_END, low, unit);
    return one(AT_START, low, unit - (uint32_t)j->rank[low].graph->n_nodes);
}

/* Does an instant come right behind another one of the same kind and rank? */
static bool follows(const hu_joint_instant *before, const hu_joint_instant *x)
{
    return before->at == x->at && before->rank == x->rank && before->end == x->index;
}

static void add_instant(hu_joint *j, hu_joint_instant x)
{
    hu_joint_instant      *last = j->n_order ? &j->order[j->n_order - 1] : NULL;
    const hu_joint_member *m = &j->rank[x.rank];

    if (last && x.at == AT_END && last->at == AT_BEGIN && last->rank == x.rank && last->index == x.index &&
        m->of_node[x.index] == HU_NONE) {
        x.at = hu_sweep_is_plain(&m->graph->node[x.index]) ? AT_CHAIN : AT_NODE;
        last = --j->n_order ? last - 1 : NULL;
    }
    if (last && follows(last, &x) &&
        (x.at == AT_START || (x.at == AT_CHAIN && m->graph->node[last->index].lane == m->graph->node[x.index].lane)))
        last->end = x.end;
    else
        j->order[j->n_order++] = x;
}

/* Meetings to which somebody has come and somebody cannot. */
static void find_parked(hu_joint *j, const wiring *w)
{
    for (uint32_t m = 0; m < j->n_meetings && j->n_parked < HU_JOINT_PARKED; m++) {
        size_t come = SIZE_MAX, missing = SIZE_MAX;

        if (w->left[meeting_unit(w, m)] == 0)
            continue;
        for (uint32_t k = j->meeting[m].first; k < j->meeting[m].first + j->meeting[m].n; k++) {
            const hu_joint_guest *g = &j->guest[k];
            const uint32_t        unit = g->is_node ? begin_of(w, g->rank, g->index) : start_of(w, g->rank, g->index);
            size_t               *which = w->left[unit] ? &missing : &come;

            *which = *which == SIZE_MAX ? g->rank : *which;
        }
        if (come != SIZE_MAX && missing != SIZE_MAX)
            j->parked[j->n_parked++] = (hu_parked){j->meeting[m].met, come, missing};
    }
}

/* Depth first, so that a rank goes on as far as it can and its graph stays in the cache. */
static bool find_order(hu_joint *j, wiring *w, hu_arena *arena, hu_arena *scratch)
{
    uint32_t *stack = hu_arena_alloc(scratch, (w->n_units + 1) * sizeof *stack);
    size_t    depth = 0, reached = 0;

    j->order = hu_arena_alloc(arena, (w->n_units + 1) * sizeof *j->order);
    if (!stack || !j->order)
        return false;
    for (uint32_t u = (uint32_t)w->n_units; u-- > 0;)
        if (w->left[u] == 0)
            stack[depth++] = u;
    while (depth) {
        const uint32_t u = stack[--depth];

        add_instant(j, instant_of(w, u));
        reached++;
        for (uint32_t k = w->first[u + 1]; k-- > w->first[u];)
            if (--w->left[w->out[k]] == 0)
                stack[depth++] = w->out[k];
    }
    if (reached < w->n_units)
        find_parked(j, w);
    return true;
}

static int make(hu_joint *j, const hu_joint_rank *ranks, hu_arena *arena, hu_arena *scratch, hu_error *err)
{
    wiring   w = {.j = j};
    uint64_t links = 0;

    if (!hu_joint_find_meetings(j, ranks, arena, scratch))
        return hu_fail_memory(err);
    for (size_t r = 0; r < j->n; r++) {
        const hu_graph *g = j->rank[r].graph;

        j->rank[r].base = (uint32_t)w.n_units;
        w.n_units += 2 * g->n_nodes + g->n_ops;
        links += 5 * (uint64_t)g->n_nodes + 3 * (uint64_t)g->n_ops + g->n_links;
        if (w.n_units + j->n_meetings + j->n_several > UINT32_MAX / 2 || links > UINT32_MAX / 2 || r > UINT16_MAX)
            return hu_fail(err, HU_ELIMIT, NULL, HU_NO_OFFSET, "too many ranks for a joint replay");
    }
    w.n_units += j->n_several + j->n_meetings;
    return make_wiring(&w, scratch) && find_order(j, &w, arena, scratch) ? 0 : hu_fail_memory(err);
}

/* What a sweep over a rank writes. */
static bool make_room(hu_joint_member *m, int64_t origin_ns, hu_arena *arena)
{
    m->replay = hu_sweep_new(m->graph, arena);
    m->ends_ns = hu_arena_alloc(arena, m->graph->n_marks * sizeof *m->ends_ns);
    if (!m->replay || !m->ends_ns)
        return false;
    m->replay->origin_ns = origin_ns;
    return true;
}

static void *copy_rows(hu_arena *arena, const void *rows, size_t bytes)
{
    void *copy = hu_arena_alloc(arena, bytes + 1);

    if (copy && bytes)
        memcpy(copy, rows, bytes);
    return copy;
}

hu_joint *hu_joint_fork(const hu_joint *j, hu_arena *arena)
{
    hu_joint *fork = copy_rows(arena, j, sizeof *j);

    if (!fork)
        return NULL;
    fork->rank = copy_rows(arena, j->rank, j->n * sizeof *j->rank);
    fork->meeting = copy_rows(arena, j->meeting, j->n_meetings * sizeof *j->meeting);
    fork->several = copy_rows(arena, j->several, j->n_several * sizeof *j->several);
    if (!fork->rank || !fork->meeting || !fork->several)
        return NULL;
    for (size_t r = 0; r < j->n; r++)
        if (!make_room(&fork->rank[r], j->rank[r].replay->origin_ns, arena))
            return NULL;
    return fork;
}

hu_joint *hu_joint_new(const hu_joint_rank *ranks, size_t n, hu_arena *arena, hu_error *err)
{
    hu_arena *scratch = hu_arena_new();
    hu_joint *j = scratch ? hu_arena_calloc(arena, 1, sizeof *j) : NULL;
    int       rc = 0;

    if (j)
        j->rank = hu_arena_calloc(arena, n + 1, sizeof *j->rank);
    for (size_t r = 0; j && j->rank && r < n; r++) {
        j->rank[r].graph = ranks[r].graph;
        if (!make_room(&j->rank[r], ranks[r].origin_ns, arena))
            break;
        j->n = r + 1;
    }
    for (size_t r = 0; j && r < j->n; r++)
        j->has_latest = (r == 0 || j->has_latest) && ranks[r].has_clock && j->rank[r].graph->n_marks >= FEWEST_MARKS &&
                        j->rank[r].graph->n_marks == j->rank[0].graph->n_marks;
    if (!j || !j->rank || j->n < n)
        rc = hu_fail_memory(err);
    else
        rc = make(j, ranks, arena, scratch, err);
    hu_arena_free(scratch);
    return rc < 0 ? NULL : j;
}

const hu_parked *hu_joint_parked(const hu_joint *j, size_t *n)
{
    *n = j->n_parked;
    return j->parked;
}

size_t hu_joint_count(const hu_joint *j)
{
    return j->n_meetings;
}

size_t hu_joint_messages(const hu_joint *j)
{
    return j->n_messages;
}

bool hu_joint_is_message(const hu_joint *j, uint32_t meeting)
{
    return j->meeting[meeting].is_message;
}

bool hu_joint_is_of_all(const hu_joint *j, uint32_t meeting)
{
    return j->meeting[meeting].n == j->n;
}

void hu_joint_call(const hu_joint *j, uint32_t m, size_t *rank, uint32_t *call)
{
    *rank = j->meeting[m].rank;
    *call = j->meeting[m].call;
}

uint32_t hu_joint_of_op(const hu_joint *j, size_t rank, uint32_t op)
{
    return j->rank[rank].of_op[op];
}

uint32_t hu_joint_of_node(const hu_joint *j, size_t rank, uint32_t node)
{
    return j->rank[rank].of_node[node];
}

/* sweeps */

static int64_t cost_of(hu_costs *const *costs, const hu_joint_guest *g)
{
    const hu_costs *c = costs[g->rank];

    return (g->is_node ? c->node[g->index] : c->op[g->index]) * c->scale;
}

static int64_t arrival_of(const hu_joint *j, hu_costs *const *costs, const hu_joint_guest *g)
{
    const hu_replay *r = j->rank[g->rank].replay;

    return g->is_node ? r->node_begin[g->index] : r->op_start[g->index] + (g->is_early ? cost_of(costs, g) : 0);
}

/* It is over for one who takes part. */
static void leave(hu_joint *j, hu_costs *const *costs, const hu_joint_guest *g, uint32_t meeting, int64_t end_ns)
{
    hu_joint_several *s = g->several == HU_NONE ? NULL : &j->several[g->several];

    if (g->is_early)
        return;
    if (g->is_node) {
        j->rank[g->rank].replay->node_end[g->index] = end_ns;
    } else if (!s) {
        hu_sweep_finish(j->rank[g->rank].replay, costs[g->rank], g->index, end_ns);
    } else if (s->by == HU_NONE || end_ns > s->end_ns) {
        s->end_ns = end_ns;
        s->by = meeting;
    }
}

/* All have come. */
static void meet(hu_joint *j, hu_costs *const *costs, uint32_t which)
{
    hu_joint_meeting *m = &j->meeting[which];
    int64_t           arrival = INT64_MIN, tau = INT64_MAX;

    for (uint32_t k = m->first; k < m->first + m->n; k++) {
        const hu_joint_guest *g = &j->guest[k];

        if (!g->is_early && cost_of(costs, g) < tau)
            tau = cost_of(costs, g);
        if (arrival_of(j, costs, g) > arrival) {
            arrival = arrival_of(j, costs, g);
            m->last = k;
        }
    }
    for (uint32_t k = m->first; k < m->first + m->n; k++)
        leave(j, costs, &j->guest[k], which, arrival + tau);
}

HU_SWEEP_INLINE void sweep_ops(hu_joint_member *m, const hu_costs *c, const hu_joint_instant *at, bool path)
{
    hu_replay *r = m->replay;

    for (uint32_t i = at->index; i < at->end; i++) {
        hu_sweep_start(r, c, i, path);
        if (m->of_op[i] == HU_NONE)
            hu_sweep_finish(r, c, i, r->op_start[i] + c->op[i] * c->scale);
    }
}

HU_SWEEP_INLINE void sweep_instant(hu_joint *j, hu_costs *const *costs, const hu_joint_instant *at, bool path)
{
    hu_joint_member *m = &j->rank[at->rank];
    hu_replay       *r = m->replay;
    const hu_costs  *c = costs[at->rank];
    const uint32_t   i = at->index;

    switch (at->at) {
    case AT_CHAIN:
        hu_sweep_chain(r, c, &(hu_chain){i, at->end, m->graph->node[i].lane}, path);
        break;
    case AT_NODE:
        hu_sweep_begin(r, c, i);
        hu_sweep_end(r, c, i, r->node_begin[i] + c->node[i] * c->scale, path);
        break;
    case AT_START:
        sweep_ops(m, c, at, path);
        break;
    case AT_BEGIN:
        hu_sweep_begin(r, c, i);
        break;
    case AT_END:
        hu_sweep_end(r, c, i, m->of_node[i] == HU_NONE ? r->node_begin[i] + c->node[i] * c->scale : r->node_end[i], path);
        break;
    case AT_MEETING:
        meet(j, costs, i);
        break;
    default:
        hu_sweep_finish(j->rank[j->several[i].rank].replay, costs[j->several[i].rank], j->several[i].op,
                        j->several[i].end_ns);
    }
}

HU_SWEEP_INLINE void sweep(hu_joint *j, hu_costs *const *costs, bool path)
{
    for (size_t r = 0; r < j->n; r++)
        hu_sweep_reset(j->rank[r].replay);
    for (size_t i = 0; i < j->n_several; i++)
        j->several[i].by = HU_NONE;
    for (size_t k = 0; k < j->n_order; k++)
        sweep_instant(j, costs, &j->order[k], path);
    for (size_t r = 0; r < j->n; r++)
        hu_sweep_ends(j->rank[r].replay, costs[r], j->rank[r].ends_ns, &j->rank[r].last_op);
}

const int64_t *hu_joint_ends_ns(const hu_joint *j, size_t rank)
{
    return j->rank[rank].ends_ns;
}

double hu_joint_mean_ns(const hu_joint *j)
{
    double sum = 0;

    for (size_t r = 0; r < j->n; r++)
        sum += hu_replay_step_ns(j->rank[r].graph, j->rank[r].ends_ns);
    return sum / (double)j->n;
}

size_t hu_joint_marks(const hu_joint *j)
{
    for (size_t r = 1; r < j->n; r++)
        if (j->rank[r].graph->n_marks != j->rank[0].graph->n_marks)
            return 0;
    return j->rank[0].graph->n_marks;
}

void hu_joint_ends(const hu_joint *j, int64_t *ends)
{
    for (size_t k = 0; k < hu_joint_marks(j); k++) {
        int64_t last = INT64_MIN;
        double  sum = 0;

        for (size_t r = 0; r < j->n; r++) {
            last = j->rank[r].ends_ns[k] > last ? j->rank[r].ends_ns[k] : last;
            sum += (double)(j->rank[r].ends_ns[k] - j->rank[r].ends_ns[0]) / (double)j->n;
        }
        ends[k] = j->has_latest ? last : (int64_t)sum;
    }
}

double hu_joint_run(hu_joint *j, hu_costs *const *costs)
{
    int64_t first = INT64_MIN, last = INT64_MIN;

    sweep(j, costs, false);
    if (!j->has_latest)
        return hu_joint_mean_ns(j);
    for (size_t r = 0; r < j->n; r++) {
        const int64_t *ends = j->rank[r].ends_ns;

        first = ends[0] > first ? ends[0] : first;
        last = ends[j->rank[r].graph->n_marks - 1] > last ? ends[j->rank[r].graph->n_marks - 1] : last;
    }
    return (double)(last - first) / (double)(j->rank[0].graph->n_marks - 1);
}

/*
 * Where the walk is when it is at the end of what ranks do together: at the arrival of the last, on that rank.  Of a
 * send that was over before, that is its end.
 */
static int leave_meeting(hu_joint *j, hu_costs *const *costs, hu_walk *w, hu_path *paths, uint32_t m, size_t *rank,
                         uint32_t *i)
{
    const hu_joint_guest *last = &j->guest[j->meeting[m].last];

    if (last->is_early) /* the transfer is the receiver's */
        hu_walk_add(w, HU_CLASS_COMM, HU_NONE, arrival_of(j, costs, last));
    *rank = last->rank;
    *i = last->index;
    w->r = j->rank[*rank].replay;
    w->path = &paths[*rank];
    if (last->is_early)
        return HU_WALK_OP_END;
    hu_walk_add(w, last->is_node ? HU_CLASS_HOST_COMM : HU_CLASS_COMM, HU_NONE, arrival_of(j, costs, last));
    return last->is_node ? HU_WALK_NODE_BEGIN : HU_WALK_OP_START;
}

/* The meeting that an operation's end is of. */
static uint32_t meeting_of_end(const hu_joint *j, size_t rank, uint32_t op)
{
    const uint32_t several = j->rank[rank].several_of_op[op];

    return several == HU_NONE ? j->rank[rank].of_op[op] : j->several[several].by;
}

int hu_joint_path(hu_joint *j, hu_costs *const *costs, hu_path *paths, hu_error *err)
{
    size_t   rank = 0;
    uint32_t i, joint;
    int      at;
    hu_walk  w = {0};

    memset(paths, 0, j->n * sizeof *paths);
    for (size_t r = 0; r < j->n; r++)
        if (!hu_sweep_keep_path(j->rank[r].replay))
            return hu_fail_memory(err);
    sweep(j, costs, true);
    for (size_t r = 0; r < j->n; r++)
        w.steps_left += hu_walk_most(j->rank[r].graph);
    w.now_ns = INT64_MIN;
    w.from_ns = INT64_MAX;
    for (size_t r = 0; r < j->n; r++) {
        const hu_joint_member *m = &j->rank[r];

        if (m->ends_ns[m->graph->n_marks - 1] > w.now_ns) {
            w.now_ns = m->ends_ns[m->graph->n_marks - 1];
            w.from_ns = m->ends_ns[0];
            rank = r;
        }
    }
    w.r = j->rank[rank].replay;
    w.path = &paths[rank];
    at = hu_walk_first(w.r, j->rank[rank].last_op, &i);
    while (hu_walk_goes_on(&w, at)) {
        joint = at == HU_WALK_OP_END                                         ? meeting_of_end(j, rank, i)
                : at == HU_WALK_NODE_END && w.r->node_end_by[i] == HU_BY_OWN ? j->rank[rank].of_node[i]
                                                                             : HU_NONE;
        at = joint != HU_NONE ? leave_meeting(j, costs, &w, paths, joint, &rank, &i) : hu_walk_step(&w, costs[rank], at, &i);
    }
    if (w.now_ns > w.from_ns)
        hu_walk_add(&w, HU_CLASS_FROZEN, HU_NONE, w.from_ns);
    for (size_t r = 0; r < j->n; r++)
        for (hu_class c = 0; c < HU_CLASS_COUNT; c++)
            paths[r].total_ns += paths[r].by_class[c];
    return 0;
}
