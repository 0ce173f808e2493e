/* SPDX-License-Identifier: Apache-2.0
 * gates_cpu.c - what nominates the diagnoses of jobs that compute on the CPU alone: operators that are too small, tensors
 * that are only moved.
 */
#include "advise/gates.h"

enum {
    MANY_OPERATORS = 500,  /* short ones per step */
    SURE_OPERATORS = 2000, /* so many that it is a loop over elements, and no small model */
};

static const double LEAST_SMALL = 0.5;  /* of the step in short operators and between them */
static const double LEAST_CASTS = 0.15; /* of the step in copying and converting */

bool hu_gate_small_operators(const hu_scene *c, hu_hint *h)
{
    const hu_host_work  *w = hu_edit_host_work(hu_pricer_facts(c->s->pricer));
    const hu_ns_per_step time = hu_as_mean((double)w->short_ns / (double)c->n_steps);
    const int64_t        operators = w->launches / c->n_steps;

    if (c->s->ask.n_work > 0 || operators < MANY_OPERATORS || !hu_is_share_of_step(time, LEAST_SMALL, c->step))
        return false;
    hu_hint_say(h,
                "%s operators %s take less than 50 \302\265s each; they and the time between them take %s. Most of it is "
                "the cost of the call, not of the computation.",
                hu_say_count(operators).t, c->has_steps ? "per step" : "in the whole capture", hu_scene_share(c, time).t);
    h->is_likely = true;
    h->is_suspected = operators < SURE_OPERATORS;
    return true;
}

bool hu_gate_casts(const hu_scene *c, hu_hint *h)
{
    const hu_edit_facts *f = hu_pricer_facts(c->s->pricer);
    const hu_graph      *g = &c->s->graph;
    double               sum = 0;
    hu_ns_per_step       time;

    for (size_t i = 0; i < g->n_nodes; i++)
        if (g->node[i].start_ns >= g->mark[0].host_end_ns && g->node[i].start_ns < g->mark[g->n_marks - 1].host_end_ns)
            sum += (double)hu_edit_casts_ns(f, i);
    time = hu_as_mean(sum / (double)c->n_steps);
    if (!hu_is_share_of_step(time, LEAST_CASTS, c->step))
        return false;
    hu_hint_say(
        h,
        "Copying and converting tensors on the CPU (aten::copy_, aten::contiguous, aten::clone, aten::_to_copy) takes %s.",
        hu_scene_share(c, time).t);
    h->is_likely = true;
    hu_hint_show(h, "the price is that of none of them; some copies may be needed");
    return true;
}
