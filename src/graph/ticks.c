/* SPDX-License-Identifier: Apache-2.0
 * ticks.c - a wait with a time limit, again and again until somebody wakes it, is one wait.
 *
 * A thread that looks every 50 ms whether there is something for it, or whether it is to end, makes as many such calls as
 * the others leave it time for.  When they wake it sooner, it makes fewer: the ones that ran out of time are no work of it,
 * and take no time of their own in a replay.  The wake-up alone says when it goes on.
 *
 * This holds only where nothing else hangs on these calls: it computes next to nothing between them, and wakes nobody.
 */
#include "graph/build.h"

enum { NEXT_TO_NOTHING_NS = 1000000 }; /* that it does between two such calls */

/* A call that waited for such an object until its time was over. */
static bool is_tick(const hu_ask *ask, const hu_node *n, uint32_t object)
{
    const hu_wait_detail *d = n->slice == HU_NONE || n->merged != HU_NONE ? NULL : hu_wakes_detail(ask, n->slice);

    return d && d->object == object && hu_trace_os_detail(ask->trace, ask->s.detail[n->slice])->is_timed_out;
}

static bool is_brief(const hu_node *n)
{
    return n->seen_ns < NEXT_TO_NOTHING_NS && n->call == HU_CALL_NONE && n->after == HU_NONE &&
           (n->slice == HU_NONE || n->merged != HU_NONE || n->class == HU_CLASS_LOCK);
}

/* Those of one lane before the first node of a call that was woken. */
static void forget(hu_building *b, const hu_lane_nodes *l, uint32_t lane, uint32_t until, uint32_t object,
                   const uint8_t *wakes_others)
{
    for (uint32_t k = until; k-- > l->first[lane];) {
        hu_node *n = &b->nodes.at[l->of_lane[k]];

        if (wakes_others[l->of_lane[k]])
            return;
        if (is_tick(b->ask, n, object))
            n->cost_ns = 0;
        else if (!is_brief(n))
            return;
    }
}

bool hu_build_ticks(hu_building *b, const hu_lane_nodes *l, const uint32_t *lane_of)
{
    uint8_t *wakes_others = hu_arena_calloc(b->ask->scratch, b->nodes.n + 1, 1);

    if (!wakes_others)
        return false;
    for (size_t i = 0; i < b->links.n; i++)
        if (b->links.at[i].link.at == HU_AT_NODE_END)
            wakes_others[b->links.at[i].link.from] = 1;
    for (size_t i = 0; i < b->wakes.n; i++) {
        const uint32_t        slice = b->wakes.at[i].slice, lane = lane_of[b->ask->s.track[slice]];
        const hu_wait_detail *d = hu_wakes_detail(b->ask, slice);
        const uint32_t        end = hu_build_first_from(b, l, lane, b->wakes.at[i].end_ns);

        /* its wait is known to end with the wake-up: it is joined to that (wakes.c) */
        if (d && d->object && end < l->first[lane + 1] && b->nodes.at[l->of_lane[end]].after != HU_NONE)
            forget(b, l, lane, hu_build_first_from(b, l, lane, b->ask->s.start_ns[slice]), d->object, wakes_others);
    }
    return true;
}
