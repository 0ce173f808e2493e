/* SPDX-License-Identifier: Apache-2.0
 * handoffs.c - one host thread works while another waits for it: backward() and the thread of the autograd engine.
 *
 * The trace shows no such wait: the calling thread has a hole in which the other thread is busy.  So a hole of the main
 * thread that holds a burst of another thread which launches work becomes two links: the burst begins when the main
 * thread entered the hole, and the hole ends when the burst does.  Threads that are busy at the same time as the main
 * thread are left alone: they run on their own.
 *
 * Collectives that run on the host (gloo) have threads of their own too.  Several of them overlap, so the hole is the main
 * thread's wait for the last one that ends in it, and each begins when the main thread had enqueued it.
 */
#include "graph/build.h"

enum {
    LEAST_HOLE_NS = 50000,
    WAKE_NS = 500000, /* from the end of a collective to the return of the thread that waits, */
    NEXT_NS = 200000, /* from the end of one collective to the next that waits in its queue */
    WAKE_PART = 4,    /* or this part of the wait, where other threads take the processors */
};

static const double LEAST_SHARE = 0.7; /* of the hole, that the burst covers */

/* Nothing was recorded, or a call that waits for another thread. */
static bool is_idle(const hu_node *n)
{
    return n->call == HU_CALL_NONE && (n->slice == HU_NONE || n->class == HU_CLASS_WAIT);
}

static bool launches(const hu_building *b, const hu_lane_nodes *l, uint32_t lane)
{
    for (uint32_t k = l->first[lane]; k < l->first[lane + 1]; k++) {
        const hu_node *n = &b->nodes.at[l->of_lane[k]];

        if (n->n_ops && n->call != HU_CALL_NONE)
            return true;
    }
    return false;
}

/* The burst of a lane inside a hole: its first and last busy node, and how long it was busy. */
static bool burst_in(const hu_building *b, const hu_lane_nodes *l, uint32_t lane, uint32_t *cursor, int64_t start_ns,
                     int64_t end_ns, uint32_t *first, uint32_t *last)
{
    int64_t busy = 0;
    bool    found = false;

    while (*cursor < l->first[lane + 1] && b->nodes.at[l->of_lane[*cursor]].start_ns < start_ns)
        ++*cursor;
    for (uint32_t k = *cursor; k < l->first[lane + 1]; k++) {
        const uint32_t i = l->of_lane[k];

        if (b->nodes.at[i].start_ns >= end_ns)
            break;
        if (is_idle(&b->nodes.at[i]))
            continue;
        if (hu_build_node_end(b, i) > end_ns)
            return false;
        if (!found)
            *first = k;
        *last = k;
        found = true;
        busy += hu_build_node_end(b, i) - b->nodes.at[i].start_ns;
    }
    return found &&
           (double)(hu_build_node_end(b, l->of_lane[*last]) - b->nodes.at[l->of_lane[*first]].start_ns) >=
               LEAST_SHARE * (double)(end_ns - start_ns) &&
           busy > 0;
}

/* A link into the begin of a node. */
static bool begin_after(hu_building *b, uint32_t node, uint32_t from, int64_t weight_ns)
{
    const hu_link link = {.from = from, .weight_ns = (int32_t)weight_ns, .at = HU_AT_NODE_END, .class = HU_CLASS_HANDOFF};

    b->nodes.at[node].after = (uint32_t)b->links.n;
    return hu_vec_push(b->ask->scratch, &b->links, ((hu_pending){link, HU_NONE}));
}

/*
 * The burst waits for what the main thread did before the hole, and what it does behind the hole for the burst: nodes that
 * come later in the order, unlike the hole itself.
 */
static bool hand_over(hu_building *b, const hu_lane_nodes *l, uint32_t k, uint32_t lane, uint32_t first, uint32_t last)
{
    const uint32_t main_lane = b->g->main_lane, burst = l->of_lane[first], final = l->of_lane[last];
    hu_node       *hole = &b->nodes.at[l->of_lane[k]];

    if (k > l->first[main_lane] && !begin_after(b, burst, l->of_lane[k - 1], b->nodes.at[burst].start_ns - hole->start_ns))
        return false;
    if (first > l->first[lane] && is_idle(&b->nodes.at[l->of_lane[first - 1]]))
        b->nodes.at[l->of_lane[first - 1]].cost_ns = 0;
    hole->cost_ns = 0;
    return k + 1 >= l->first[main_lane + 1] || b->nodes.at[l->of_lane[k + 1]].after != HU_NONE ||
           begin_after(b, l->of_lane[k + 1], final, hole->start_ns + hole->seen_ns - hu_build_node_end(b, final));
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

    if (before > l->first[lane] && is_idle(&b->nodes.at[l->of_lane[before - 1]]))
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

        if (!queued && k > l->first[lane] && is_idle(&b->nodes.at[l->of_lane[k - 1]]))
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
    const uint32_t main_lane = b->g->main_lane;
    hu_lane_nodes  l;

    if (b->g->n_lanes < 2)
        return 0;
    if (!hu_build_lane_nodes(b, &l))
        return hu_fail_memory(err);
    for (uint32_t lane = 0; lane < b->g->n_lanes; lane++) {
        uint32_t cursor = l.first[lane];

        if (lane == main_lane || !launches(b, &l, lane))
            continue;
        for (uint32_t k = l.first[main_lane]; k < l.first[main_lane + 1]; k++) {
            const uint32_t hole = l.of_lane[k];
            const hu_node *h = &b->nodes.at[hole];
            const int64_t  end = hu_build_node_end(b, hole);
            uint32_t       first, last;

            if (h->call == HU_CALL_NONE && h->cost_ns >= LEAST_HOLE_NS &&
                burst_in(b, &l, lane, &cursor, h->start_ns, end, &first, &last) && !hand_over(b, &l, k, lane, first, last))
                return hu_fail_memory(err);
        }
    }
    return join_collectives(b, &l) ? 0 : hu_fail_memory(err);
}
