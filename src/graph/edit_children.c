/* SPDX-License-Identifier: Apache-2.0
 * edit_children.c - child processes, as if they computed faster, or shared what they compute, or were not slept over.
 *
 * The time in which they run gets shorter: calls stay, and waits for a CPU too, unless all that may be gained is asked for,
 * or it is one child's, which then computes less in all.
 * All children of a schedule get shorter alike, by as much as the schedule does: the replay says what that is worth.  One
 * alone takes half as long.
 */
#include "graph/edit_host.h"

static size_t shorten(const hu_edit_facts *f, uint8_t of, double left, bool waits_too, hu_costs *c)
{
    const hu_graph *g = f->g;
    size_t          n = 0;

    for (size_t i = 0; i < g->n_nodes; i++) {
        const int64_t of_ns = f->joined.run_ns[i] + (waits_too ? f->joined.ready_ns[i] : 0);
        const int64_t less_ns = (int64_t)((1 - left) * (double)of_ns);

        if (!f->waited.of_lane[g->node[i].lane] || f->waited.of_lane[g->node[i].lane] > of || less_ns <= 0)
            continue;
        c->node[i] = c->node[i] > less_ns ? c->node[i] - less_ns : 0;
        n++;
    }
    return n;
}

size_t hu_edit_child(const hu_edit_facts *f, const hu_edit *e, hu_costs *c)
{
    return f->waited.n ? shorten(f, HU_LANE_OF_OTHERS, 1 / e->factor, e->factor > 1, c) : 0;
}

size_t hu_edit_looks(const hu_edit_facts *f, const hu_edit *e, hu_costs *c)
{
    size_t n = 0;

    (void)e;
    for (size_t i = 0; i < f->g->n_nodes; i++)
        if (hu_graph_is_look(f->g, i)) {
            c->node[i] = 0;
            n++;
        }
    return n;
}

size_t hu_edit_children_share(const hu_edit_facts *f, const hu_edit *e, hu_costs *c)
{
    const bool   at_least = e->flavour == HU_EDIT_FREE;
    const double left = hu_waited_children_left(&f->waited, at_least);

    return f->waited.n && left < 1 ? shorten(f, HU_LANE_OF_CHILD, left, at_least || f->waited.n == 1, c) : 0;
}
