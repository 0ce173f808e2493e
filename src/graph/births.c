/* SPDX-License-Identifier: Apache-2.0
 * births.c - a thread begins when another one has started it, whether that one ever waits for its end or not.
 *
 * Who called pthread_create is not recorded, but it ran then.  Without that link what was done before would cost nothing:
 * a program that sleeps and then waits for what a thread of it signals would have nothing to wait for but the thread.
 */
#include "graph/build.h"

/* Did a thread run at a time? */
static bool runs_at(const hu_ask *ask, const hu_track *t, int64_t time_ns)
{
    size_t            n;
    const hu_stretch *s = hu_trace_stretches(ask->trace, &n) + t->first_stretch;
    uint32_t          low = 0, high = t->n_stretches;

    while (low < high) { /* the first that ends behind it */
        const uint32_t middle = low + (high - low) / 2;

        if (s[middle].end_ns <= time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low < t->n_stretches && s[low].start_ns <= time_ns && s[low].state == HU_THREAD_RUNNING;
}

static bool may_create(const hu_building *b, const hu_track *creator, const hu_track *t)
{
    return creator != t && creator->pid == t->pid && !creator->pid_is_text && creator->born_ns < t->born_ns &&
           runs_at(b->ask, creator, t->born_ns);
}

uint32_t hu_build_creator(const hu_building *b, const hu_track *const *track, uint32_t lane)
{
    const hu_track *t = track[lane];
    uint32_t        found = HU_NONE;

    if (!t->n_stretches || t->pid_is_text || t->tid_is_text || t->tid == t->pid || t->born_ns <= b->from_ns)
        return HU_NONE;
    if (may_create(b, track[b->g->main_lane], t))
        return b->g->main_lane;
    for (uint32_t k = 0; k < b->g->n_lanes; k++) {
        if (!may_create(b, track[k], t))
            continue;
        if (found != HU_NONE)
            return HU_NONE; /* one of several */
        found = k;
    }
    return found;
}
