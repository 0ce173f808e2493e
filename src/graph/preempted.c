/* SPDX-License-Identifier: Apache-2.0
 * preempted.c - a thread that shares its CPU waits for it in proportion to what it computes, not where it computes.
 *
 * A scheduler lets a thread run for some milliseconds, then others.  Where its slice ends is chance: of a million calls of
 * a microsecond, a few get all waits.  Without the calls the thread uses up fewer slices, and waits less often; but in the
 * nodes that stay it waits as before.  So the waits of a stretch of a thread's life, long enough to hold several slices,
 * shrink with all running time of that stretch.
 *
 * Only waits right behind running are meant.  One behind a wait for something else is how long it takes to wake up: that
 * belongs to the call that waited, and goes with it.
 */
#include "graph/preempted.h"

static const int64_t STRETCH_NS = 50000000; /* of running: slices are some 3 ms long */

typedef struct {
    const hu_stretch *at;
    uint32_t          next, n;
    uint32_t          stretch; /* the number of the current one */
    int64_t           ran_ns;  /* in it */
} cursor;

static bool prepare(const hu_graph *g, hu_arena *arena, cursor **lanes, hu_preempted *out)
{
    size_t            n;
    const hu_stretch *all = hu_trace_stretches(g->ask->trace, &n);
    uint32_t          lane = 0;

    *lanes = NULL;
    if (n == 0 || (hu_state_source)hu_trace_get_info(g->ask->trace)->state_source != HU_STATES_SWITCHES)
        return true;
    *lanes = hu_arena_calloc(arena, g->n_lanes + 1, sizeof **lanes);
    out->runnable_ns = hu_arena_calloc(arena, g->n_nodes + 1, sizeof *out->runnable_ns);
    out->running_ns = hu_arena_calloc(arena, g->n_nodes + 1, sizeof *out->running_ns);
    out->stretch = hu_arena_calloc(arena, g->n_nodes + 1, sizeof *out->stretch);
    out->before_ns = hu_arena_alloc(arena, (g->n_nodes + 1) * sizeof *out->before_ns);
    if (!*lanes || !out->runnable_ns || !out->running_ns || !out->stretch || !out->before_ns)
        return false;
    for (uint32_t t = 0; t < g->ask->n_tracks && lane < g->n_lanes; t++)
        if (g->ask->tracks[t].type == HU_TRACK_HOST) { /* lanes are the host's tracks in their order (lanes.c) */
            (*lanes)[lane] = (cursor){.at = all + g->ask->tracks[t].first_stretch, .n = g->ask->tracks[t].n_stretches};
            (*lanes)[lane].stretch = lane;
            lane++;
        }
    out->n_stretches = lane;
    return true;
}

static bool is_preempted(const cursor *l, uint32_t k)
{
    return l->at[k].state == HU_THREAD_RUNNABLE && k > 0 && l->at[k - 1].state == HU_THREAD_RUNNING &&
           l->at[k - 1].end_ns == l->at[k].start_ns;
}

/* Adds what a thread did during one of its nodes, which come in the order of time. */
static void add_node(const hu_graph *g, size_t i, cursor *l, hu_preempted *out)
{
    const int64_t    from = g->node[i].start_ns, to = from + g->node[i].seen_ns;
    const hu_merged *merged = g->node[i].merged == HU_NONE || !g->merged ? NULL : &g->merged[g->node[i].merged];

    while (l->next < l->n && l->at[l->next].end_ns <= from)
        l->next++;
    if (merged) { /* pieces that lie apart */
        out->running_ns[i] = merged->run_ns;
        out->runnable_ns[i] = merged->preempted_ns;
    }
    for (uint32_t k = l->next; !merged && k < l->n && l->at[k].start_ns < to; k++) {
        const int64_t start = l->at[k].start_ns > from ? l->at[k].start_ns : from;
        const int64_t ns = (l->at[k].end_ns < to ? l->at[k].end_ns : to) - start;

        if (l->at[k].state == HU_THREAD_RUNNING)
            out->running_ns[i] += ns;
        else if (is_preempted(l, k))
            out->runnable_ns[i] += ns;
    }
    out->stretch[i] = l->stretch;
    l->ran_ns += out->running_ns[i];
    if (l->ran_ns >= STRETCH_NS) {
        l->ran_ns = 0;
        l->stretch = (uint32_t)out->n_stretches++;
    }
}

bool hu_preempted_find(const hu_graph *g, hu_arena *arena, hu_preempted *out)
{
    cursor *lanes;
    int64_t sum_ns = 0;

    *out = (hu_preempted){0};
    if (!prepare(g, arena, &lanes, out))
        return false;
    for (size_t i = 0; lanes && i < g->n_nodes; i++)
        if (lanes[g->node[i].lane].at) {
            add_node(g, i, &lanes[g->node[i].lane], out);
            sum_ns += out->runnable_ns[i];
        }
    if (sum_ns == 0) {
        *out = (hu_preempted){0};
        return true;
    }
    out->was = hu_arena_alloc(arena, (out->n_stretches + 1) * sizeof *out->was);
    out->is = hu_arena_alloc(arena, (out->n_stretches + 1) * sizeof *out->is);
    return out->was && out->is;
}

bool hu_preempted_fork(const hu_preempted *p, const hu_graph *g, hu_arena *arena, hu_preempted *out)
{
    *out = *p;
    if (!p->runnable_ns)
        return true;
    out->before_ns = hu_arena_alloc(arena, (g->n_nodes + 1) * sizeof *out->before_ns);
    out->was = hu_arena_alloc(arena, (p->n_stretches + 1) * sizeof *out->was);
    out->is = hu_arena_alloc(arena, (p->n_stretches + 1) * sizeof *out->is);
    return out->before_ns && out->was && out->is;
}

void hu_preempted_keep(const hu_preempted *p, const hu_graph *g, const hu_costs *c)
{
    if (p->runnable_ns)
        memcpy(p->before_ns, c->node, g->n_nodes * sizeof *p->before_ns);
}

/* Of what was measured in a node, the part that earlier edits left. */
static double left_of(const hu_preempted *p, const hu_graph *g, size_t i, int64_t measured_ns)
{
    const int64_t cost = g->node[i].cost_ns;

    return cost > 0 && p->before_ns[i] < cost ? (double)measured_ns * ((double)p->before_ns[i] / (double)cost)
                                              : (double)measured_ns;
}

static double factor_of(const hu_preempted *p, const hu_costs *c, size_t i)
{
    return p->before_ns[i] > 0 ? (double)c->node[i] / (double)p->before_ns[i] : 1;
}

void hu_preempted_settle(const hu_preempted *p, const hu_graph *g, hu_costs *c)
{
    if (!p->runnable_ns)
        return;
    memset(p->was, 0, p->n_stretches * sizeof *p->was);
    memset(p->is, 0, p->n_stretches * sizeof *p->is);
    for (size_t i = 0; i < g->n_nodes; i++) {
        const double ran = left_of(p, g, i, p->running_ns[i]);

        p->was[p->stretch[i]] += ran;
        p->is[p->stretch[i]] += ran * factor_of(p, c, i);
    }
    for (size_t i = 0; i < g->n_nodes; i++) {
        const double was = p->was[p->stretch[i]], kept = was > 0 ? p->is[p->stretch[i]] / was : 1;
        const double waits = left_of(p, g, i, p->runnable_ns[i]);
        const double cost = (double)c->node[i] + waits * (kept - factor_of(p, c, i));

        if (waits > 0)
            c->node[i] = cost > 0 ? (int64_t)(cost + 0.5) : 0;
    }
}
