/* SPDX-License-Identifier: Apache-2.0
 * handoffs.c - one host thread works while another waits for it: backward() and the threads of the autograd engine.
 *
 * The trace shows no such wait: the main thread is silent while the other one is busy (bursts.c).  So a burst begins when
 * the main thread, or another such thread, had done what it did last before it, and the main thread goes on when the burst
 * has ended.  The silence in a burst costs nothing; that before and behind it is the main thread's own time.
 *
 * Collectives that run on the host (gloo) have threads of their own too.  Several of them overlap, so the hole is the main
 * thread's wait for the last one that ends in it, and each begins when the main thread had enqueued it.
 */
#include "graph/build.h"

enum {
    LEAST_HOLE_NS = 50000,
    WAKE_NS = 500000,  /* from the end of a collective to the return of the thread that waits, */
    NEXT_NS = 200000,  /* from the end of one collective to the next that waits in its queue */
    WAKE_PART = 4,     /* or this part of the wait, where other threads take the processors */
    MOST_AT_ONCE = 16, /* bursts of different threads that overlap */
};

static bool launches(const hu_building *b, const hu_lane_nodes *l, uint32_t lane)
{
    for (uint32_t k = l->first[lane]; k < l->first[lane + 1]; k++) {
        const hu_node *n = &b->nodes.at[l->of_lane[k]];

        if (n->n_ops && n->call != HU_CALL_NONE)
            return true;
    }
    return false;
}

/* A link into the begin of a node. */
static bool begin_after(hu_building *b, uint32_t node, uint32_t from, int64_t weight_ns)
{
    const hu_link link = {.from = from, .weight_ns = (int32_t)weight_ns, .at = HU_AT_NODE_END, .class = HU_CLASS_HANDOFF};

    b->nodes.at[node].after = (uint32_t)b->links.n;
    return hu_vec_push(b->ask->scratch, &b->links, ((hu_pending){link, HU_NONE}));
}

/* The place in l->of_lane behind the last node of a lane that ended by a time. */
static uint32_t ended_by(const hu_building *b, const hu_lane_nodes *l, uint32_t lane, int64_t time_ns)
{
    uint32_t low = l->first[lane], high = l->first[lane + 1];

    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;

        if (hu_build_node_end(b, l->of_lane[middle]) <= time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The last node with work of a burst that ended by a time and comes before `node` in the order; HU_NONE. */
static uint32_t done_in(const hu_building *b, const hu_lane_nodes *l, const hu_burst *u, int64_t time_ns, uint32_t node)
{
    for (uint32_t k = ended_by(b, l, u->lane, time_ns); k-- > l->first[u->lane];) {
        const uint32_t i = l->of_lane[k];

        if (b->nodes.at[i].start_ns < u->start_ns)
            break;
        if (i < node && !hu_build_is_idle(&b->nodes.at[i]))
            return i;
    }
    return HU_NONE;
}

/* Of the bursts before the n-th, of other lanes than `lane`, the node that ended last by a time; HU_NONE. */
static uint32_t done_before(const hu_building *b, const hu_lane_nodes *l, size_t n, uint32_t lane, int64_t time_ns,
                            uint32_t node)
{
    uint32_t best = HU_NONE;

    for (size_t k = n, looked = 0; k-- > 0 && looked < MOST_AT_ONCE; looked++) {
        const uint32_t i = b->bursts.at[k].lane == lane ? HU_NONE : done_in(b, l, &b->bursts.at[k], time_ns, node);

        if (i != HU_NONE && (best == HU_NONE || hu_build_node_end(b, i) > hu_build_node_end(b, best)))
            best = i;
    }
    return best;
}

/* What the main thread did last by itself before a burst, in the order too; HU_NONE.  `own`: see wait_in_main(). */
static uint32_t main_before(const hu_building *b, const hu_lane_nodes *l, const uint32_t *own, int64_t time_ns,
                            uint32_t node)
{
    const uint32_t first = l->first[b->g->main_lane];

    for (uint32_t k = ended_by(b, l, b->g->main_lane, time_ns); k > first; k--) {
        if (own[k - 1 - first] == HU_NONE)
            return HU_NONE;
        k = own[k - 1 - first] + 1;
        if (l->of_lane[k - 1] < node)
            return l->of_lane[k - 1];
    }
    return HU_NONE;
}

/* The place of a burst's first node; HU_NONE. */
static uint32_t first_of(const hu_building *b, const hu_lane_nodes *l, const hu_burst *u)
{
    uint32_t k = ended_by(b, l, u->lane, u->start_ns);

    while (k < l->first[u->lane + 1] &&
           (b->nodes.at[l->of_lane[k]].start_ns < u->start_ns || hu_build_is_idle(&b->nodes.at[l->of_lane[k]])))
        k++;
    return k < l->first[u->lane + 1] && b->nodes.at[l->of_lane[k]].start_ns == u->start_ns ? k : HU_NONE;
}

/* A burst begins when `from` was over; what it spent idle before was a wait for that. */
static bool begin_burst(hu_building *b, const hu_lane_nodes *l, const hu_burst *u, uint32_t k, uint32_t from)
{
    const uint32_t node = l->of_lane[k];
    const int64_t  late = from == HU_NONE ? INT64_MAX : u->start_ns - hu_build_node_end(b, from);

    if (late > INT32_MAX || b->nodes.at[node].after != HU_NONE)
        return true;
    for (uint32_t idle = k; idle-- > l->first[u->lane] && hu_build_is_idle(&b->nodes.at[l->of_lane[idle]]);)
        b->nodes.at[l->of_lane[idle]].cost_ns = 0;
    return begin_after(b, node, from, late);
}

/* The n-th burst begins when whoever did something last had done it: the main thread, or a thread that it waits for too. */
static bool wake(hu_building *b, const hu_lane_nodes *l, const uint32_t *own, size_t n)
{
    const hu_burst *u = &b->bursts.at[n];
    const uint32_t  k = first_of(b, l, u);
    uint32_t        from, other;

    if (k == HU_NONE)
        return true;
    from = main_before(b, l, own, u->start_ns, l->of_lane[k]);
    other = done_before(b, l, n, u->lane, u->start_ns, l->of_lane[k]);
    if (other != HU_NONE && (from == HU_NONE || hu_build_node_end(b, other) > hu_build_node_end(b, from)))
        from = other;
    return begin_burst(b, l, u, k, from);
}

/* Is it a piece of an operator that is nothing but the wait for a burst, the last of those that began by then? */
static bool is_around(const hu_building *b, const hu_node *node, size_t n)
{
    return node->call == HU_CALL_NONE && node->class == HU_CLASS_OPERATOR && n > 0 &&
           (node->start_ns == b->bursts.at[n - 1].start_ns || node->start_ns + node->seen_ns == b->bursts.at[n - 1].end_ns);
}

/*
 * The main thread waits from the first burst that runs to the last one's end.  Its nodes that begin meanwhile, and the one
 * behind, begin when the others have done what they had done by then.  own[]: by place in the main lane, the place of the
 * last node up to there that is no such wait; HU_NONE.
 */
static bool wait_in_main(hu_building *b, const hu_lane_nodes *l, uint32_t *own)
{
    const uint32_t first = l->first[b->g->main_lane], end = l->first[b->g->main_lane + 1];
    size_t         n = 0; /* bursts that began before the node */
    int64_t        from_ns = INT64_MIN, until_ns = INT64_MIN;

    for (uint32_t k = first; k < end; k++) {
        hu_node *node = &b->nodes.at[l->of_lane[k]];

        for (; n < b->bursts.n && b->bursts.at[n].start_ns <= node->start_ns; n++) {
            from_ns = b->bursts.at[n].start_ns > until_ns ? b->bursts.at[n].start_ns : from_ns;
            until_ns = b->bursts.at[n].end_ns > until_ns ? b->bursts.at[n].end_ns : until_ns;
        }
        own[k - first] = k;
        if (until_ns == INT64_MIN)
            continue;
        if (node->start_ns > from_ns && node->start_ns <= until_ns) {
            const uint32_t from = done_before(b, l, n, b->g->main_lane, node->start_ns, l->of_lane[k]);

            if (from != HU_NONE && node->start_ns - hu_build_node_end(b, from) <= INT32_MAX &&
                !begin_after(b, l->of_lane[k], from, node->start_ns - hu_build_node_end(b, from)))
                return false;
        }
        if (node->start_ns < until_ns && node->start_ns >= from_ns && node->start_ns + node->seen_ns <= until_ns &&
            (hu_build_is_silent(node) || is_around(b, node, n))) {
            node->cost_ns = 0;
            own[k - first] = k > first ? own[k - 1 - first] : HU_NONE;
        }
    }
    return true;
}

static bool join_bursts(hu_building *b, const hu_lane_nodes *l)
{
    uint32_t *own = hu_arena_alloc(b->ask->scratch, (b->nodes.n + 1) * sizeof *own);

    if (!own || !wait_in_main(b, l, own))
        return false;
    for (size_t n = 0; n < b->bursts.n; n++)
        if (!wake(b, l, own, n))
            return false;
    for (size_t n = 0; n < b->asides.n; n++) {
        const hu_burst *u = &b->asides.at[n];
        const uint32_t  k = first_of(b, l, u);

        if (k != HU_NONE && !begin_burst(b, l, u, k, main_before(b, l, own, u->start_ns, l->of_lane[k])))
            return false;
    }
    return true;
}

/* The node of the main lane that was running at a time: its place in l->of_lane. */
static uint32_t main_at(const hu_building *b, const hu_lane_nodes *l, int64_t time_ns)
{
    uint32_t low = l->first[b->g->main_lane], high = l->first[b->g->main_lane + 1];

    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;

        if (b->nodes.at[l->of_lane[middle]].start_ns <= time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low > l->first[b->g->main_lane] ? low - 1 : low;
}

/* Had the thread work until just before?  Then this one waited in its queue, and not for whoever enqueued it. */
static bool is_queued(const hu_building *b, const hu_lane_nodes *l, uint32_t lane, uint32_t k)
{
    uint32_t before = k;

    if (before > l->first[lane] && hu_build_is_idle(&b->nodes.at[l->of_lane[before - 1]]))
        before--;
    return before > l->first[lane] && b->nodes.at[l->of_lane[before - 1]].class == HU_CLASS_HOST_COMM &&
           b->nodes.at[l->of_lane[k]].start_ns - hu_build_node_end(b, l->of_lane[before - 1]) < NEXT_NS;
}

/* One collective of a lane: begins behind what enqueued it, and the main thread's hole in which it ends waits for it. */
static bool join_collective(hu_building *b, const hu_lane_nodes *l, uint32_t lane, uint32_t k)
{
    const uint32_t i = l->of_lane[k], main_end = l->first[b->g->main_lane + 1];
    const int64_t  start = b->nodes.at[i].start_ns, end = hu_build_node_end(b, i);
    const uint32_t from = main_at(b, l, start), until = main_at(b, l, end);
    hu_node       *hole;
    uint32_t       next;
    int64_t        late;

    if (from >= main_end || until + 1 >= main_end)
        return true;
    if (from > l->first[b->g->main_lane] && b->nodes.at[i].after == HU_NONE) {
        const uint32_t before = l->of_lane[from - 1];
        const bool     queued = is_queued(b, l, lane, k);

        if (!queued && k > l->first[lane] && hu_build_is_idle(&b->nodes.at[l->of_lane[k - 1]]))
            b->nodes.at[l->of_lane[k - 1]].cost_ns = 0;
        if (!begin_after(b, i, before, queued ? 0 : start - hu_build_node_end(b, before)))
            return false;
    }
    hole = &b->nodes.at[l->of_lane[until]];
    next = l->of_lane[until + 1];
    late = hu_build_node_end(b, l->of_lane[until]) - end;
    if (hole->call != HU_CALL_NONE || hole->seen_ns < LEAST_HOLE_NS || (late > WAKE_NS && late > hole->seen_ns / WAKE_PART))
        return true;
    if (b->nodes.at[next].after != HU_NONE) {
        const hu_pending *other = &b->links.at[b->nodes.at[next].after];

        if (other->link.at == HU_AT_NODE_END && hu_build_node_end(b, other->link.from) >= end)
            return true; /* it waits for one that ends later */
    }
    hole->cost_ns = 0;
    return begin_after(b, next, i, b->nodes.at[next].start_ns - end);
}

static bool join_collectives(hu_building *b, const hu_lane_nodes *l)
{
    for (uint32_t lane = 0; lane < b->g->n_lanes; lane++) {
        /* a thread that launches work runs collectives of the device: its ranges of them are calls, not waits */
        if (lane == b->g->main_lane || launches(b, l, lane))
            continue;
        for (uint32_t k = l->first[lane]; k < l->first[lane + 1]; k++)
            if (b->nodes.at[l->of_lane[k]].class == HU_CLASS_HOST_COMM && b->nodes.at[l->of_lane[k]].call == HU_CALL_NONE &&
                !join_collective(b, l, lane, k))
                return false;
    }
    return true;
}

int hu_build_handoffs(hu_building *b, hu_error *err)
{
    hu_lane_nodes l;

    if (b->g->n_lanes < 2)
        return 0;
    if (!hu_build_lane_nodes(b, &l) || !join_bursts(b, &l) || !join_collectives(b, &l))
        return hu_fail_memory(err);
    return 0;
}
