/* SPDX-License-Identifier: Apache-2.0
 * many_commands.c - short commands that were enqueued ahead, and pauses between them that nothing explains.
 *
 * A driver's thread that takes a command off its queue needs a lock that the thread which enqueues has as often as there are
 * commands.  No record names that wait, so the replay keeps it (frozen); but who enqueues one command for a thousand has
 * a thousandth of these meetings.  How many of them cost something differs from run to run: no point is given, and the
 * interval goes from nothing to a step that holds the device's work alone.  Measured on PoCL 3.1: docs/accuracy.md,
 * tiny-kernels and small-writes.
 */
#include "advise/many_commands.h"

#include <math.h>

#include "graph/bound.h"

static const double MUCH = 0.15;  /* of the critical path, that nothing explains: the limit of the self-check */
static const double MOSTLY = 0.9; /* of the commands, that are short */
enum { SHORT_NS = 20000, START_NS = 1500, MANY = 100 }; /* START_NS: KERNEL_FLOOR_NS of edit.c; MANY: short ones in a step */

void hu_many_commands_widen(const hu_scene *c, hu_hint *h, hu_price *p)
{
    const hu_graph      *g = &c->s->graph;
    const hu_ns_per_step frozen = hu_scene_path_time(c, HU_CLASS_FROZEN);
    double               all = 0, n_short = 0, start_ns = 0, work_ns, most;

    if (!c->d->info.opencl || !hu_is_share_of_step(frozen, MUCH, c->step))
        return;
    for (size_t i = 0; i < g->n_ops; i++) {
        const bool is_short = g->op[i].cost_ns < SHORT_NS;

        if (g->op[i].step < 0)
            continue;
        all++;
        n_short += is_short;
        start_ns += !is_short ? 0 : g->op[i].cost_ns < START_NS ? (double)g->op[i].cost_ns : START_NS;
    }
    if (n_short < MANY * (double)c->n_steps || n_short < MOSTLY * all)
        return;
    work_ns = hu_bound_work_ns(g, c->s->scratch);
    most = 100 * (1 - (work_ns - start_ns / (double)c->n_steps) / c->step.ns);
    if (!(most > p->high_pct)) /* no memory for work_ns: it is NaN, and the simulation says so */
        return;
    h->is_suspected = true;
    p->low_pct = 0;
    p->high_pct = fmin(100, most);
    p->free_pct = fmax(p->free_pct, p->high_pct);
    hu_hint_show(h,
                 "%s short commands per step, and pauses between them that no record explains, of %s: fewer commands have "
                 "fewer pauses, how much fewer cannot be told",
                 hu_say_count((int64_t)(n_short / (double)c->n_steps)).t, hu_scene_share(c, frozen).t);
}
