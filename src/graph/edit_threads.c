/* SPDX-License-Identifier: Apache-2.0
 * edit_threads.c - threads that the main thread joins, as if all of them had the same share of what they compute; one that
 * computes alone as if it took half as long, or where all that may be gained is asked for, no time.
 *
 * The time in which they run is shared: calls stay.  Waits for a CPU stay too, unless all that may be gained is asked for:
 * of less work each thread may wait as much less.  One that computes less in all does wait so much less.
 *
 * Threads of OpenMP tell themselves what they do between two barriers: teams.c.
 */
#include "graph/edit_host.h"

/*
 * Who meets at barriers takes as long as the one with most work.  With equal work that one's time gets shorter, and the
 * others wait for it by so much less as it had more work; what else they waited for stays.
 */
static int64_t less_at_barrier(const hu_joined *j, uint32_t lane, int64_t cost_ns)
{
    const double more = (double)(j->at[j->mate[lane]].run_ns - j->lane_ns[lane]), all = (double)j->barrier_ns[lane];

    return more < all ? (int64_t)((double)cost_ns * (more / all)) : cost_ns;
}

size_t hu_edit_threads(const hu_edit_facts *f, const hu_edit *e, hu_costs *c)
{
    const hu_graph  *g = f->g;
    const hu_joined *j = &f->joined;
    size_t           n = 0;

    if (!j->n)
        return 0;
    for (size_t i = 0; i < g->n_nodes; i++) {
        const uint32_t lane = g->node[i].lane, row = j->mate[lane];
        int64_t        more_ns, of_ns, share_ns;

        if (row == HU_NONE || j->at[row].share_ns >= j->at[row].run_ns)
            continue;
        if (j->at[row].n > 1 && hu_joined_is_barrier(g, i)) {
            c->node[i] -= less_at_barrier(j, lane, c->node[i]);
            n++;
        }
        if (!j->run_ns[i])
            continue;
        share_ns = j->at[row].n > 1 ? j->at[row].share_ns : e->flavour == HU_EDIT_FREE ? 0 : j->at[row].run_ns / 2;
        of_ns = j->run_ns[i] + (e->flavour == HU_EDIT_FREE || j->at[row].n == 1 ? j->ready_ns[i] : 0);
        more_ns = (int64_t)(((double)share_ns / (double)j->lane_ns[lane] - 1) * (double)of_ns);
        c->node[i] = c->node[i] + more_ns > 0 ? c->node[i] + more_ns : 0;
        n++;
    }
    return n;
}

size_t hu_edit_teams(const hu_edit_facts *f, const hu_edit *e, hu_costs *c)
{
    size_t n = 0;

    (void)e;
    for (size_t i = 0; f->teams_ns && i < f->g->n_nodes; i++) {
        if (!f->teams_ns[i])
            continue;
        c->node[i] -= f->teams_ns[i] < c->node[i] ? f->teams_ns[i] : c->node[i];
        n++;
    }
    return n;
}
