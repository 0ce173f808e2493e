/* SPDX-License-Identifier: Apache-2.0
 * joint.c - one order for the sweeps of all ranks, found once, in which everything comes after what it waits for.
 *
 * A rank alone is swept in the order in which its nodes began.  That does not do for several: of two collectives of
 * different groups one rank may launch this one first and the other that one, on streams of their own, and both are right.
 * So the order is found by Kahn's algorithm over all instants: a node's begin and end, an operation's start, and the
 * meetings.  It holds for every set of costs, and each replay is then a sweep without a queue.  What Kahn's algorithm cannot
 * reach hangs.
 */
#include "graph/joint.h"

#include "graph/walk.h"

enum { MOST_PARKED = 8 };

typedef struct {
    uint32_t rank, index; /* of an operation, or of a node when is_node */
    bool     is_node;
} guest;

typedef struct {
    uint32_t first, n; /* rows of `guest` */
    uint32_t met;
    uint32_t last;       /* the row that came last in the last sweep */
    uint32_t rank, call; /* of one of them, in its hu_comm.calls_at */
} meeting;

enum { AT_BEGIN, AT_START, AT_END, AT_MEETING };

typedef struct {
    uint32_t index;
    uint16_t rank;
    uint8_t  at;
} instant;

typedef struct {
    const hu_graph *graph;
    hu_replay      *replay;
    uint32_t       *of_op, *of_node; /* meeting; HU_NONE */
    int64_t        *ends_ns;
    uint32_t        last_op;
    uint32_t        base; /* of its units, while the order is found: begins, ends, operations */
} member;

struct hu_joint {
    member   *rank;
    size_t    n;
    guest    *guest;
    meeting  *meeting;
    size_t    n_meetings;
    instant  *order;
    size_t    n_order;
    hu_parked parked[MOST_PARKED];
    size_t    n_parked;
};

/* who meets */

/* The node of a call on the host: all of it, not a piece between others that it holds. */
static bool is_whole_node(const hu_node *n, const hu_comm_call *call)
{
    return n->call == HU_CALL_NONE && n->class == HU_CLASS_HOST_COMM && n->seen_ns >= call->dur_ns - call->dur_ns / 8;
}

static bool find_calls(const hu_joint_rank *rank, hu_arena *scratch, hu_map *call_of_slice)
{
    if (!hu_map_init(call_of_slice, scratch, rank->comm->n_calls_at + 1))
        return false;
    for (size_t i = 0; i < rank->comm->n_calls_at; i++) {
        uint32_t *place = rank->met[i] == HU_NONE ? NULL : hu_map_put(call_of_slice, rank->comm->calls_at[i].slice);

        if (place)
            *place = (uint32_t)i;
        else if (rank->met[i] != HU_NONE)
            return false;
    }
    return true;
}

/* Whether an operation or a node of a slice is of a collective: its number in hu_rendezvous.met. */
static uint32_t met_by(const hu_joint_rank *rank, const hu_map *call_of_slice, uint32_t slice, const hu_node *n)
{
    const uint32_t call = slice == HU_NONE ? HU_MAP_NONE : hu_map_get(call_of_slice, slice);

    if (call == HU_MAP_NONE || (n && !is_whole_node(n, &rank->comm->calls_at[call])))
        return HU_NONE;
    return rank->met[call];
}

/* of_op and of_node hold numbers of hu_rendezvous.met for now. */
static bool find_guests(hu_joint *j, const hu_joint_rank *ranks, hu_arena *arena, hu_arena *scratch)
{
    for (size_t r = 0; r < j->n; r++) {
        member         *m = &j->rank[r];
        const hu_graph *g = m->graph;
        hu_map          call_of_slice;

        m->of_op = hu_arena_alloc(arena, (g->n_ops + 1) * sizeof *m->of_op);
        m->of_node = hu_arena_alloc(arena, (g->n_nodes + 1) * sizeof *m->of_node);
        if (!m->of_op || !m->of_node || !find_calls(&ranks[r], scratch, &call_of_slice))
            return false;
        for (size_t i = 0; i < g->n_ops; i++)
            m->of_op[i] = g->op[i].class == HU_CLASS_COMM ? met_by(&ranks[r], &call_of_slice, g->op[i].slice, NULL)
                                                          : HU_NONE;
        for (size_t i = 0; i < g->n_nodes; i++)
            m->of_node[i] = g->node[i].class == HU_CLASS_HOST_COMM
                                ? met_by(&ranks[r], &call_of_slice, g->node[i].slice, &g->node[i])
                                : HU_NONE;
    }
    return true;
}

/* How many ranks meet at most, and in how many of their windows each meeting lies. */
static bool count_guests(const hu_joint *j, const hu_joint_rank *ranks, hu_arena *scratch, size_t *n_met,
                         uint32_t **expected, uint32_t **found)
{
    *n_met = 0;
    for (size_t r = 0; r < j->n; r++)
        for (size_t i = 0; i < ranks[r].comm->n_calls_at; i++)
            if (ranks[r].met[i] != HU_NONE && ranks[r].met[i] >= *n_met)
                *n_met = ranks[r].met[i] + 1;
    *expected = hu_arena_calloc(scratch, *n_met + 1, sizeof **expected);
    *found = hu_arena_calloc(scratch, *n_met + 1, sizeof **found);
    if (!*expected || !*found)
        return false;
    for (size_t r = 0; r < j->n; r++) {
        for (size_t i = 0; i < ranks[r].comm->n_calls_at; i++)
            if (ranks[r].met[i] != HU_NONE)
                ++(*expected)[ranks[r].met[i]];
        for (size_t i = 0; i < j->rank[r].graph->n_ops; i++)
            if (j->rank[r].of_op[i] != HU_NONE)
                ++(*found)[j->rank[r].of_op[i]];
        for (size_t i = 0; i < j->rank[r].graph->n_nodes; i++)
            if (j->rank[r].of_node[i] != HU_NONE)
                ++(*found)[j->rank[r].of_node[i]];
    }
    return true;
}

static void sit_down(hu_joint *j, uint32_t *meeting_of_met, uint32_t *of, guest g)
{
    meeting *m;

    if (*of == HU_NONE)
        return;
    *of = meeting_of_met[*of];
    if (*of == HU_NONE)
        return;
    m = &j->meeting[*of];
    j->guest[m->first + m->n++] = g;
}

/* Only meetings that all of their ranks have in their windows, once; of each, a call of its first rank. */
static bool find_meetings(hu_joint *j, const hu_joint_rank *ranks, hu_arena *arena, hu_arena *scratch)
{
    uint32_t *expected, *found, *meeting_of_met, guests = 0;
    size_t    n_met;

    if (!find_guests(j, ranks, arena, scratch) || !count_guests(j, ranks, scratch, &n_met, &expected, &found))
        return false;
    meeting_of_met = hu_arena_alloc(scratch, (n_met + 1) * sizeof *meeting_of_met);
    j->meeting = hu_arena_calloc(arena, n_met + 1, sizeof *j->meeting);
    if (!meeting_of_met || !j->meeting)
        return false;
    for (uint32_t k = 0; k < n_met; k++) {
        meeting_of_met[k] = HU_NONE;
        if (expected[k] < 2 || found[k] != expected[k])
            continue;
        meeting_of_met[k] = (uint32_t)j->n_meetings;
        j->meeting[j->n_meetings++] = (meeting){.first = guests, .met = k};
        guests += expected[k];
    }
    j->guest = hu_arena_calloc(arena, guests + 1, sizeof *j->guest);
    for (uint32_t r = 0; j->guest && r < j->n; r++) {
        for (uint32_t i = 0; i < j->rank[r].graph->n_ops; i++)
            sit_down(j, meeting_of_met, &j->rank[r].of_op[i], (guest){r, i, false});
        for (uint32_t i = 0; i < j->rank[r].graph->n_nodes; i++)
            sit_down(j, meeting_of_met, &j->rank[r].of_node[i], (guest){r, i, true});
    }
    for (uint32_t r = (uint32_t)j->n; j->guest && r-- > 0;)
        for (uint32_t i = 0; i < ranks[r].comm->n_calls_at; i++) {
            const uint32_t m = ranks[r].met[i] == HU_NONE ? HU_NONE : meeting_of_met[ranks[r].met[i]];

            if (m != HU_NONE) {
                j->meeting[m].rank = r;
                j->meeting[m].call = i;
            }
        }
    return j->guest != NULL;
}

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

/* An operation ends when it has started, unless others have a word in it. */
static uint32_t finish_of(const wiring *w, size_t r, uint32_t op)
{
    const uint32_t m = w->j->rank[r].of_op[op];

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
    const member   *m = &w->j->rank[r];
    const hu_graph *g = m->graph;
    const hu_node  *n = &g->node[i];

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
        const guest *g = &w->j->guest[k];

        wire(w, g->is_node ? begin_of(w, g->rank, g->index) : start_of(w, g->rank, g->index), meeting_unit(w, m));
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

static instant instant_of(const wiring *w, uint32_t unit)
{
    const hu_joint *j = w->j;
    size_t          low = 0, high = j->n;

    if (unit >= w->n_units - j->n_meetings)
        return (instant){.at = AT_MEETING, .index = unit - (uint32_t)(w->n_units - j->n_meetings)};
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;

        if (j->rank[middle].base <= unit)
            low = middle;
        else
            high = middle;
    }
    unit -= j->rank[low].base;
    if (unit < j->rank[low].graph->n_nodes)
        return (instant){.at = AT_BEGIN, .rank = (uint16_t)low, .index = unit};
    unit -= (uint32_t)j->rank[low].graph->n_nodes;
    if (unit < j->rank[low].graph->n_nodes)
        return (instant){.at = AT_END, .rank = (uint16_t)low, .index = unit};
    return (instant){.at = AT_START, .rank = (uint16_t)low, .index = unit - (uint32_t)j->rank[low].graph->n_nodes};
}

/* Meetings to which somebody has come and somebody cannot. */
static void find_parked(hu_joint *j, const wiring *w)
{
    for (uint32_t m = 0; m < j->n_meetings && j->n_parked < MOST_PARKED; m++) {
        size_t come = SIZE_MAX, missing = SIZE_MAX;

        if (w->left[meeting_unit(w, m)] == 0)
            continue;
        for (uint32_t k = j->meeting[m].first; k < j->meeting[m].first + j->meeting[m].n; k++) {
            const guest   *g = &j->guest[k];
            const uint32_t unit = g->is_node ? begin_of(w, g->rank, g->index) : start_of(w, g->rank, g->index);
            size_t        *which = w->left[unit] ? &missing : &come;

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
    size_t    depth = 0;

    j->order = hu_arena_alloc(arena, (w->n_units + 1) * sizeof *j->order);
    if (!stack || !j->order)
        return false;
    for (uint32_t u = (uint32_t)w->n_units; u-- > 0;)
        if (w->left[u] == 0)
            stack[depth++] = u;
    while (depth) {
        const uint32_t u = stack[--depth];

        j->order[j->n_order++] = instant_of(w, u);
        for (uint32_t k = w->first[u + 1]; k-- > w->first[u];)
            if (--w->left[w->out[k]] == 0)
                stack[depth++] = w->out[k];
    }
    if (j->n_order < w->n_units)
        find_parked(j, w);
    return true;
}

static int make(hu_joint *j, const hu_joint_rank *ranks, hu_arena *arena, hu_arena *scratch, hu_error *err)
{
    wiring   w = {.j = j};
    uint64_t links = 0;

    if (!find_meetings(j, ranks, arena, scratch))
        return hu_fail_memory(err);
    for (size_t r = 0; r < j->n; r++) {
        const hu_graph *g = j->rank[r].graph;

        j->rank[r].base = (uint32_t)w.n_units;
        w.n_units += 2 * g->n_nodes + g->n_ops;
        links += 5 * (uint64_t)g->n_nodes + 3 * (uint64_t)g->n_ops + g->n_links;
        if (w.n_units + j->n_meetings > UINT32_MAX / 2 || links > UINT32_MAX / 2 || r > UINT16_MAX)
            return hu_fail(err, HU_ELIMIT, NULL, HU_NO_OFFSET, "too many ranks for a joint replay");
    }
    w.n_units += j->n_meetings;
    return make_wiring(&w, scratch) && find_order(j, &w, arena, scratch) ? 0 : hu_fail_memory(err);
}

hu_joint *hu_joint_new(const hu_joint_rank *ranks, size_t n, hu_arena *arena, hu_error *err)
{
    hu_arena *scratch = hu_arena_new();
    hu_joint *j = scratch ? hu_arena_calloc(arena, 1, sizeof *j) : NULL;
    int       rc = 0;

    if (j)
        j->rank = hu_arena_calloc(arena, n + 1, sizeof *j->rank);
    for (size_t r = 0; j && j->rank && r < n; r++) {
        member *m = &j->rank[r];

        m->graph = ranks[r].graph;
        m->replay = hu_replay_new(m->graph, arena);
        m->ends_ns = hu_arena_alloc(arena, m->graph->n_marks * sizeof *m->ends_ns);
        if (!m->replay || !m->ends_ns)
            break;
        m->replay->origin_ns = ranks[r].origin_ns;
        j->n = r + 1;
    }
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

static int64_t arrival_of(const hu_joint *j, const guest *g)
{
    const hu_replay *r = j->rank[g->rank].replay;

    return g->is_node ? r->node_begin[g->index] : r->op_start[g->index];
}

/* All have come. */
static void meet(hu_joint *j, hu_costs *const *costs, meeting *m)
{
    int64_t arrival = INT64_MIN, tau = INT64_MAX;

    for (uint32_t k = m->first; k < m->first + m->n; k++) {
        const guest    *g = &j->guest[k];
        const hu_costs *c = costs[g->rank];
        const int64_t   cost = (g->is_node ? c->node[g->index] : c->op[g->index]) * c->scale;

        tau = cost < tau ? cost : tau;
        if (arrival_of(j, g) > arrival) {
            arrival = arrival_of(j, g);
            m->last = k;
        }
    }
    for (uint32_t k = m->first; k < m->first + m->n; k++) {
        const guest *g = &j->guest[k];

        if (g->is_node)
            j->rank[g->rank].replay->node_end[g->index] = arrival + tau;
        else
            hu_sweep_finish(j->rank[g->rank].replay, costs[g->rank], g->index, arrival + tau);
    }
}

HU_SWEEP_INLINE void sweep(hu_joint *j, hu_costs *const *costs, bool path)
{
    for (size_t r = 0; r < j->n; r++)
        hu_sweep_reset(j->rank[r].replay);
    for (size_t k = 0; k < j->n_order; k++) {
        const instant   at = j->order[k];
        member         *m = &j->rank[at.rank];
        hu_replay      *r = m->replay;
        const hu_costs *c = costs[at.rank];

        if (at.at == AT_BEGIN) {
            hu_sweep_begin(r, c, at.index);
        } else if (at.at == AT_START) {
            hu_sweep_start(r, c, at.index, path);
            if (m->of_op[at.index] == HU_NONE)
                hu_sweep_finish(r, c, at.index, r->op_start[at.index] + c->op[at.index] * c->scale);
        } else if (at.at == AT_END) {
            const bool alone = m->of_node[at.index] == HU_NONE;

            hu_sweep_end(r, c, at.index,
                         alone ? r->node_begin[at.index] + c->node[at.index] * c->scale : r->node_end[at.index], path);
        } else {
            meet(j, costs, &j->meeting[at.index]);
        }
    }
    for (size_t r = 0; r < j->n; r++)
        hu_sweep_ends(j->rank[r].replay, costs[r], j->rank[r].ends_ns, &j->rank[r].last_op);
}

double hu_joint_run(hu_joint *j, hu_costs *const *costs, double *step_ns)
{
    double sum = 0;

    sweep(j, costs, false);
    for (size_t r = 0; r < j->n; r++) {
        const double step = hu_replay_step_ns(j->rank[r].graph, j->rank[r].ends_ns);

        if (step_ns)
            step_ns[r] = step;
        sum += step;
    }
    return sum / (double)j->n;
}

/* Where the walk is when it is at the end of what ranks do together: at the arrival of the last, on that rank. */
static int leave_meeting(hu_joint *j, hu_walk *w, hu_path *paths, uint32_t m, size_t *rank, uint32_t *i)
{
    const guest *last = &j->guest[j->meeting[m].last];

    *rank = last->rank;
    *i = last->index;
    w->r = j->rank[*rank].replay;
    w->path = &paths[*rank];
    hu_walk_add(w, last->is_node ? HU_CLASS_HOST_COMM : HU_CLASS_COMM, HU_NONE, arrival_of(j, last));
    return last->is_node ? HU_WALK_NODE_BEGIN : HU_WALK_OP_START;
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
        const member *m = &j->rank[r];

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
        joint = at == HU_WALK_OP_END                                         ? j->rank[rank].of_op[i]
                : at == HU_WALK_NODE_END && w.r->node_end_by[i] == HU_BY_OWN ? j->rank[rank].of_node[i]
                                                                             : HU_NONE;
        at = joint != HU_NONE ? leave_meeting(j, &w, paths, joint, &rank, &i) : hu_walk_step(&w, costs[rank], at, &i);
    }
    if (w.now_ns > w.from_ns)
        hu_walk_add(&w, HU_CLASS_FROZEN, HU_NONE, w.from_ns);
    for (size_t r = 0; r < j->n; r++)
        for (hu_class c = 0; c < HU_CLASS_COUNT; c++)
            paths[r].total_ns += paths[r].by_class[c];
    return 0;
}
