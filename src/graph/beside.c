/* SPDX-License-Identifier: Apache-2.0
 * beside.c - the main thread's states between two times. */
#include "graph/beside.h"

hu_beside hu_beside_find(const hu_graph *g)
{
    hu_beside         b = {.ask = g->ask, .main = HU_NONE};
    const hu_track   *t;
    const hu_stretch *all;
    size_t            n = 0;

    if (!g->ask || (b.main = hu_graph_main_track(g)) == HU_NONE)
        return b;
    all = hu_trace_stretches(g->ask->trace, &n);
    t = &g->ask->tracks[b.main];
    if (n && t->n_stretches) {
        b.at = all + t->first_stretch;
        b.n = t->n_stretches;
    }
    return b;
}

/* The first stretch that ends after a time. */
static size_t first_after(const hu_beside *b, int64_t time_ns)
{
    size_t low = 0, high = b->n;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (b->at[middle].end_ns <= time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int64_t hu_beside_ns(const hu_beside *b, uint32_t slice, int64_t length_ns)
{
    int64_t start, end, sum = 0;

    if (!b->n || b->ask->s.track[slice] == b->main)
        return 0;
    start = b->ask->s.start_ns[slice];
    end = start + length_ns;
    for (size_t k = first_after(b, start); k < b->n && b->at[k].start_ns < end; k++) {
        const hu_stretch *x = &b->at[k];

        if (x->state == HU_THREAD_RUNNING || x->state == HU_THREAD_RUNNABLE)
            sum += (x->end_ns < end ? x->end_ns : end) - (x->start_ns > start ? x->start_ns : start);
    }
    return sum;
}
