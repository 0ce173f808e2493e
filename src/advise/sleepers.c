/* SPDX-License-Identifier: Apache-2.0
 * sleepers.c - the main thread waits while another one sleeps: a consumer waits for its index, a worker asks again.
 *
 * Such a thread often has a reason to sleep that stays.  A second thread that does the same saves half of that time,
 * no sleep all of it; the interval holds both.
 */
#include "advise/sleepers.h"

#include <math.h>

static const double MOSTLY = 0.5; /* of the sleeping on the critical path */

void hu_sleepers_doubt(const hu_scene *c, hu_hint *h, hu_price *p)
{
    const hu_graph *g = &c->s->graph;
    const hu_edit   edit = {.kind = HU_EDIT_SLEEP, .flavour = HU_EDIT_REALISTIC, .factor = 2};
    const double    all = hu_scene_path_time(c, HU_CLASS_SLEEP).ns * (double)c->n_steps;
    double          main_ns = 0;
    hu_price        half;

    for (size_t i = 0; i < g->n_nodes; i++)
        if (g->node[i].lane == g->main_lane && g->node[i].class == HU_CLASS_SLEEP &&
            g->node[i].start_ns >= g->mark[0].host_end_ns && g->node[i].start_ns < g->mark[g->n_marks - 1].host_end_ns)
            main_ns += (double)g->node[i].cost_ns;
    if (all - main_ns < MOSTLY * all)
        return;
    hu_price_edits(c->s->pricer, &edit, 1, &half);
    p->low_pct = fmax(0, fmin(p->low_pct, half.low_pct));
    hu_hint_show(
        h,
        "others sleep, which the main thread waits for: with half of that, or a second such thread, %s; the interval "
        "begins there",
        hu_say_pct(fmax(0, half.gain_pct)).t);
}
