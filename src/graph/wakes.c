/* SPDX-License-Identifier: Apache-2.0
 * wakes.c - a thread waits for a lock, a condition, a semaphore, a futex or an event until another thread wakes it.
 *
 * Where the recording says who woke whom (analyze/wakes.h), the time in the wait is that one's time: the wait itself costs
 * nothing, and what comes behind it begins when the other thread has got as far as it had when it woke the waiter, and as
 * much later as measured.  So the nodes of both threads are cut: the waiter's where the wait begins and ends, the waker's
 * where it wakes.  A link points from a node that began before it woke to one that begins when the wait ended, so it points
 * forward in the order of the replay.
 *
 * A wait that nobody is known to have ended keeps its length.
 */
#include <stdlib.h>

#include "graph/build.h"

typedef struct {
    int64_t  time_ns;
    uint32_t track;
} cut;

static int by_place(const void *left, const void *right)
{
    const cut *a = left, *b = right;

    if (a->track != b->track)
        return a->track < b->track ? -1 : 1;
    return (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

bool hu_build_wakes_find(hu_building *b, uint32_t main_track)
{
    const hu_ask *ask = b->ask;
    size_t        n = 0;
    cut          *cuts;

    if (!b->g->is_whole || ask->n_work)
        return true;
    if (!hu_wakes_find(ask, ask->scratch, ask->scratch, &b->wakes))
        return false;
    if (!b->wakes.n)
        return true;
    cuts = hu_arena_alloc(ask->scratch, (3 * b->wakes.n + ask->n_tracks) * sizeof *cuts);
    b->wake_cuts = hu_arena_alloc(ask->scratch, (3 * b->wakes.n + ask->n_tracks) * sizeof *b->wake_cuts);
    b->first_cut = hu_arena_calloc(ask->scratch, (size_t)ask->n_tracks + 1, sizeof *b->first_cut);
    if (!cuts || !b->wake_cuts || !b->first_cut)
        return false;
    for (uint32_t t = 0; t < ask->n_tracks; t++)
        if (ask->tracks[t].type == HU_TRACK_HOST && ask->tracks[t].n_stretches && t != main_track)
            cuts[n++] = (cut){ask->tracks[t].born_ns, t}; /* as of all threads (lanes.c) */
    for (size_t i = 0; i < b->wakes.n; i++) {
        const hu_woken *w = &b->wakes.at[i];

        cuts[n++] = (cut){ask->s.start_ns[w->slice], ask->s.track[w->slice]};
        cuts[n++] = (cut){w->end_ns, ask->s.track[w->slice]};
        cuts[n++] = (cut){w->wake_ns, w->waker};
    }
    qsort(cuts, n, sizeof *cuts, by_place);
    for (size_t i = 0; i < n; i++) {
        b->wake_cuts[i] = cuts[i].time_ns;
        b->first_cut[cuts[i].track + 1]++;
    }
    for (uint32_t t = 0; t < ask->n_tracks; t++)
        b->first_cut[t + 1] += b->first_cut[t];
    return true;
}

uint32_t hu_build_first_from(const hu_building *b, const hu_lane_nodes *l, uint32_t lane, int64_t time_ns)
{
    uint32_t low = l->first[lane], high = l->first[lane + 1];

    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;

        if (b->nodes.at[l->of_lane[middle]].start_ns < time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The node of a lane that ends when it wakes another thread, and how much later that one goes on; false: it has none. */
static bool find_waker(const hu_building *b, const hu_lane_nodes *l, uint32_t lane, const hu_woken *w, hu_link *out)
{
    const uint32_t k = hu_build_first_from(b, l, lane, w->wake_ns);
    int64_t        late;

    if (k == l->first[lane])
        return false;
    out->from = l->of_lane[k - 1];
    late = w->end_ns - hu_build_node_end(b, out->from);
    if (k < l->first[lane + 1] && b->nodes.at[l->of_lane[k]].after != HU_NONE &&
        b->nodes.at[l->of_lane[k]].start_ns == w->wake_ns) {
        /* it was waiting until then, which is no work: what it waited for counts */
        const hu_link *before = &b->links.at[b->nodes.at[l->of_lane[k]].after].link;

        if (before->at != HU_AT_NODE_END)
            return false;
        out->from = before->from;
        late = w->end_ns - w->wake_ns + before->weight_ns;
    }
    if (late > INT32_MAX || late < INT32_MIN)
        return false;
    out->weight_ns = (int32_t)late;
    out->at = HU_AT_NODE_END;
    out->class = HU_CLASS_HANDOFF;
    return true;
}

/* One wait: its nodes cost nothing, and the one behind it begins after the waker's. */
static bool join_wait(hu_building *b, const hu_lane_nodes *l, const uint32_t *lane_of, const hu_woken *w)
{
    const uint32_t lane = lane_of[b->ask->s.track[w->slice]];
    const int64_t  start = b->ask->s.start_ns[w->slice];
    const uint32_t end = hu_build_first_from(b, l, lane, w->end_ns);
    hu_link        link;
    uint32_t       next;

    if (lane_of[w->waker] == HU_NONE || end == l->first[lane + 1] || w->end_ns <= start)
        return true;
    next = l->of_lane[end];
    if (b->nodes.at[next].start_ns != w->end_ns || b->nodes.at[next].after != HU_NONE ||
        !find_waker(b, l, lane_of[w->waker], w, &link) || link.from >= next)
        return true;
    for (uint32_t k = end; k-- > l->first[lane] && b->nodes.at[l->of_lane[k]].start_ns >= start;)
        b->nodes.at[l->of_lane[k]].cost_ns = 0;
    b->nodes.at[next].after = (uint32_t)b->links.n;
    return hu_vec_push(b->ask->scratch, &b->links, ((hu_pending){link, HU_NONE}));
}

int hu_build_wakes(hu_building *b, hu_error *err)
{
    uint32_t     *lane_of, lane = 0;
    hu_lane_nodes l;

    if (!b->wakes.n)
        return 0;
    lane_of = hu_arena_alloc(b->ask->scratch, (b->ask->n_tracks + 1) * sizeof *lane_of);
    if (!lane_of || !hu_build_lane_nodes(b, &l))
        return hu_fail_memory(err);
    for (uint32_t t = 0; t < b->ask->n_tracks; t++)
        lane_of[t] = b->ask->tracks[t].type == HU_TRACK_HOST ? lane++ : HU_NONE;
    for (size_t i = 0; i < b->wakes.n; i++)
        if (!join_wait(b, &l, lane_of, &b->wakes.at[i]))
            return hu_fail_memory(err);
    return hu_build_ticks(b, &l, lane_of) ? 0 : hu_fail_memory(err);
}
