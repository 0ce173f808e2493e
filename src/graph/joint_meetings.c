/* SPDX-License-Identifier: Apache-2.0
 * joint_meetings.c - finds the collectives and messages of several ranks in their graphs.
 *
 * A call of a rank (hu_comm_call) is a piece of device work or a call of the host, and each of these is an operation or
 * a node of the rank's graph.  Messages that are sent and received by one kernel (batch_isend_irecv) are several calls
 * of one operation: it takes part in several meetings.
 */
#include "graph/joint_meetings.h"

#include "base/map.h"

/* The calls of one rank that meet somebody, by their slice. */
typedef struct {
    hu_map    first; /* of a slice: a call */
    uint32_t *next;  /* of a call: the next one of its slice; HU_NONE */
} call_index;

/* What is known of a number of hu_rendezvous.met. */
typedef struct {
    uint32_t expected, found; /* calls that have it; of them in the windows */
    uint32_t meeting;         /* HU_NONE: not all are there */
} attendance;

typedef struct {
    hu_joint            *j;
    const hu_joint_rank *ranks;
    hu_arena            *arena, *scratch;
    call_index          *calls; /* by rank */
    attendance          *met;
    size_t               n_met;
    HU_VEC(hu_joint_several) several;
} work;

static bool index_calls(work *w, size_t r)
{
    const hu_joint_rank *rank = &w->ranks[r];
    call_index          *x = &w->calls[r];
    const size_t         n = rank->comm->n_calls_at;

    x->next = hu_arena_alloc(w->scratch, (n + 1) * sizeof *x->next);
    if (!x->next || !hu_map_init(&x->first, w->scratch, n + 1))
        return false;
    for (size_t i = n; i-- > 0;) {
        uint32_t *place = rank->met[i] == HU_NONE ? NULL : hu_map_put(&x->first, rank->comm->calls_at[i].slice);

        x->next[i] = HU_NONE;
        if (place) {
            x->next[i] = *place == HU_MAP_NONE ? HU_NONE : *place;
            *place = (uint32_t)i;
        } else if (rank->met[i] != HU_NONE) {
            return false;
        }
    }
    return true;
}

/* The node of a call on the host: all of it, not a piece between others that it holds. */
static bool is_whole_node(const hu_node *n, const hu_comm_call *call)
{
    return n->call == HU_CALL_NONE && n->class == HU_CLASS_HOST_COMM && n->seen_ns >= call->dur_ns - call->dur_ns / 8;
}

/* The first call of an operation's or a node's slice; call_index.next has the others. */
static uint32_t first_call(const work *w, size_t r, uint32_t slice, const hu_node *n)
{
    const uint32_t call = slice == HU_NONE ? HU_MAP_NONE : hu_map_get(&w->calls[r].first, slice);

    if (call == HU_MAP_NONE || (n && !is_whole_node(n, &w->ranks[r].comm->calls_at[call])))
        return HU_NONE;
    return call;
}

static uint32_t call_of_op(const work *w, size_t r, uint32_t i)
{
    const hu_op *op = &w->j->rank[r].graph->op[i];

    return op->class == HU_CLASS_COMM ? first_call(w, r, op->slice, NULL) : HU_NONE;
}

static uint32_t call_of_node(const work *w, size_t r, uint32_t i)
{
    const hu_node *n = &w->j->rank[r].graph->node[i];

    return n->class == HU_CLASS_HOST_COMM ? first_call(w, r, n->slice, n) : HU_NONE;
}

static void find(work *w, size_t r, uint32_t call)
{
    for (; call != HU_NONE; call = w->calls[r].next[call])
        w->met[w->ranks[r].met[call]].found++;
}

/* How many ranks meet at most, and in how many of their windows each meeting lies. */
static bool count_all(work *w)
{
    const hu_joint *j = w->j;

    for (size_t r = 0; r < j->n; r++)
        for (size_t i = 0; i < w->ranks[r].comm->n_calls_at; i++)
            if (w->ranks[r].met[i] != HU_NONE && w->ranks[r].met[i] >= w->n_met)
                w->n_met = w->ranks[r].met[i] + 1;
    w->met = hu_arena_calloc(w->scratch, w->n_met + 1, sizeof *w->met);
    if (!w->met)
        return false;
    for (size_t r = 0; r < j->n; r++) {
        for (size_t i = 0; i < w->ranks[r].comm->n_calls_at; i++)
            if (w->ranks[r].met[i] != HU_NONE)
                w->met[w->ranks[r].met[i]].expected++;
        for (uint32_t i = 0; i < j->rank[r].graph->n_ops; i++)
            find(w, r, call_of_op(w, r, i));
        for (uint32_t i = 0; i < j->rank[r].graph->n_nodes; i++)
            find(w, r, call_of_node(w, r, i));
    }
    return true;
}

/* The meeting that a call is of, where all have come. */
static uint32_t meeting_of(const work *w, size_t r, uint32_t call)
{
    return w->met[w->ranks[r].met[call]].meeting;
}

static void sit_down(work *w, uint32_t meeting, hu_joint_guest g)
{
    hu_joint_meeting *m = &w->j->meeting[meeting];

    w->j->guest[m->first + m->n++] = g;
}

/* All meetings of an operation or a node; returns the first of them. */
static uint32_t seat(work *w, hu_joint_guest g, uint32_t call, bool *failed)
{
    uint32_t first = HU_NONE, n = 0;

    for (uint32_t k = call; k != HU_NONE; k = w->calls[g.rank].next[k])
        if (meeting_of(w, g.rank, k) != HU_NONE) {
            first = first == HU_NONE ? meeting_of(w, g.rank, k) : first;
            n++;
        }
    if (n > 1 && !g.is_node) {
        g.several = (uint32_t)w->several.n;
        w->j->rank[g.rank].several_of_op[g.index] = g.several;
        *failed |= !hu_vec_push(w->arena, &w->several, ((hu_joint_several){.rank = g.rank, .op = g.index, .by = HU_NONE}));
    }
    for (uint32_t k = call; k != HU_NONE; k = w->calls[g.rank].next[k])
        if (meeting_of(w, g.rank, k) != HU_NONE)
            sit_down(w, meeting_of(w, g.rank, k), g);
    return first;
}

static bool seat_all(work *w)
{
    bool failed = false;

    for (uint32_t r = 0; r < w->j->n; r++) {
        hu_joint_member *m = &w->j->rank[r];

        m->of_op = hu_arena_alloc(w->arena, (m->graph->n_ops + 1) * sizeof *m->of_op);
        m->several_of_op = hu_arena_alloc(w->arena, (m->graph->n_ops + 1) * sizeof *m->several_of_op);
        m->of_node = hu_arena_alloc(w->arena, (m->graph->n_nodes + 1) * sizeof *m->of_node);
        if (!m->of_op || !m->several_of_op || !m->of_node)
            return false;
        memset(m->several_of_op, 0xff, (m->graph->n_ops + 1) * sizeof *m->several_of_op);
        for (uint32_t i = 0; i < m->graph->n_ops; i++)
            m->of_op[i] = seat(w, (hu_joint_guest){r, i, HU_NONE, false, false}, call_of_op(w, r, i), &failed);
        for (uint32_t i = 0; i < m->graph->n_nodes; i++)
            m->of_node[i] = seat(w, (hu_joint_guest){r, i, HU_NONE, true, false}, call_of_node(w, r, i), &failed);
    }
    w->j->several = w->several.at;
    w->j->n_several = w->several.n;
    return !failed;
}

/* Of each meeting, a call of its first rank. */
static void describe(work *w)
{
    for (uint32_t r = (uint32_t)w->j->n; r-- > 0;)
        for (uint32_t i = 0; i < w->ranks[r].comm->n_calls_at; i++) {
            const uint32_t m = w->ranks[r].met[i] == HU_NONE ? HU_NONE : meeting_of(w, r, i);

            if (m == HU_NONE)
                continue;
            w->j->meeting[m].rank = r;
            w->j->meeting[m].call = i;
            w->j->meeting[m].is_message = hu_comm_is_message(w->ranks[r].comm->at[w->ranks[r].comm->calls_at[i].row].kind);
        }
    for (size_t m = 0; m < w->j->n_meetings; m++)
        w->j->n_messages += w->j->meeting[m].is_message;
}

/* Small messages are buffered: their send is over before anybody receives.  Asked only where one clock is known for both. */
static void find_early(work *w)
{
    for (size_t m = 0; m < w->j->n_meetings; m++) {
        hu_joint_guest *g = &w->j->guest[w->j->meeting[m].first];
        int64_t         start[2], end[2];

        if (!w->j->meeting[m].is_message || w->j->meeting[m].n != 2 || g[0].is_node || g[1].is_node ||
            !w->ranks[g[0].rank].has_clock || !w->ranks[g[1].rank].has_clock)
            continue;
        for (int i = 0; i < 2; i++) {
            const hu_joint_rank *rank = &w->ranks[g[i].rank];

            start[i] = rank->origin_ns + rank->graph->op[g[i].index].start_ns - rank->graph->from_ns;
            end[i] = start[i] + rank->graph->op[g[i].index].cost_ns;
        }
        for (int i = 0; i < 2; i++)
            if (end[i] < start[!i] && g[i].several == HU_NONE) {
                g[i].is_early = true;
                w->j->rank[g[i].rank].of_op[g[i].index] = HU_NONE;
            }
    }
}

bool hu_joint_find_meetings(hu_joint *j, const hu_joint_rank *ranks, hu_arena *arena, hu_arena *scratch)
{
    work     w = {.j = j, .ranks = ranks, .arena = arena, .scratch = scratch};
    uint32_t guests = 0;

    w.calls = hu_arena_calloc(scratch, j->n + 1, sizeof *w.calls);
    for (size_t r = 0; w.calls && r < j->n; r++)
        if (!index_calls(&w, r))
            return false;
    if (!w.calls || !count_all(&w))
        return false;
    j->meeting = hu_arena_calloc(arena, w.n_met + 1, sizeof *j->meeting);
    if (!j->meeting)
        return false;
    for (uint32_t k = 0; k < w.n_met; k++) {
        w.met[k].meeting = HU_NONE;
        if (w.met[k].expected < 2 || w.met[k].found != w.met[k].expected)
            continue;
        w.met[k].meeting = (uint32_t)j->n_meetings;
        j->meeting[j->n_meetings++] = (hu_joint_meeting){.first = guests, .met = k};
        guests += w.met[k].expected;
    }
    j->guest = hu_arena_calloc(arena, guests + 1, sizeof *j->guest);
    if (!j->guest || !seat_all(&w))
        return false;
    describe(&w);
    find_early(&w);
    return true;
}
