/* SPDX-License-Identifier: Apache-2.0
 * gates_cpu.c - what nominates the diagnoses of jobs that compute on the CPU alone: operators that are too small, tensors
 * that are only moved, optimizers that loop; and of parts that a training step need not have.
 */
#include "advise/gates.h"

enum {
    FEWEST_LOOP = 50,      /* operators per step that an optimizer calls one by one */
    SHORT_LOOP_NS = 50000, /* of one with the time before it; in longer ones the computation costs, not the call */
    MANY_OPERATORS = 500,  /* short ones per step */
    SURE_OPERATORS = 2000, /* so many that it is a loop over elements, and no small model */
};

static const double LEAST_SMALL = 0.2;  /* of the step in short operators and between them */
static const double LEAST_LOOP = 0.05;  /* of the step in such a loop */
static const double LEAST_CASTS = 0.15; /* of the step in copying and converting */
static const double LEAST_CHANGED =
    0.05; /* in what only changes a layout or a type, which the right one from the start saves */

/* Does an operator change layout or type of a tensor, and lie in no other that does? */
static bool is_change(const hu_ask *ask, uint32_t i)
{
    static const char *const names[] = {"aten::contiguous", "aten::_to_copy", "aten::clone"};
    const uint32_t           above = ask->s.parent[i];

    if (ask->s.kind[i] != HU_KIND_CPU_OP)
        return false;
    for (size_t k = 0; k < HU_COUNT(names); k++)
        if (hu_str_equal(hu_ask_name(ask, i), hu_str_of(names[k])))
            return above == HU_NONE || !is_change(ask, above);
    return false;
}

/* Time of the window in such operators. */
static double changed_ns(const hu_scene *c)
{
    const hu_graph *g = &c->s->graph;
    const hu_ask   *ask = &c->s->ask;
    const int64_t   from = g->mark[0].host_end_ns, to = g->mark[g->n_marks - 1].host_end_ns;
    double          sum = 0;

    for (uint32_t i = 0; i < ask->s.n; i++)
        if (ask->s.start_ns[i] >= from && ask->s.start_ns[i] < to && is_change(ask, i))
            sum += (double)ask->s.dur_ns[i];
    return sum;
}

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
    if (!hu_is_share_of_step(time, LEAST_CASTS, c->step) &&
        (sum <= 0 || !hu_is_share_of_step(hu_as_mean(changed_ns(c) / (double)c->n_steps), LEAST_CHANGED, c->step)))
        return false;
    hu_hint_say(
        h,
        "Copying and converting tensors on the CPU (aten::copy_, aten::contiguous, aten::clone, aten::_to_copy) takes %s.",
        hu_scene_share(c, time).t);
    h->is_likely = true;
    hu_hint_show(h, "the price is that of none of them; some copies may be needed");
    return true;
}

static hu_ns_per_step time_in(const hu_scene *c, int64_t (*of)(const hu_edit_facts *, size_t))
{
    const hu_graph *g = &c->s->graph;
    double          sum = 0;

    for (size_t i = 0; i < g->n_nodes; i++)
        if (g->node[i].start_ns >= g->mark[0].host_end_ns && g->node[i].start_ns < g->mark[g->n_marks - 1].host_end_ns)
            sum += (double)of(hu_pricer_facts(c->s->pricer), i);
    return hu_as_mean(sum / (double)c->n_steps);
}

bool hu_gate_optimizer_loop(const hu_scene *c, hu_hint *h)
{
    const hu_train_parts *p = hu_edit_train_parts(hu_pricer_facts(c->s->pricer));
    const hu_ns_per_step  time = time_in(c, hu_edit_optimizer_ns);

    if (p->loop_calls < FEWEST_LOOP * c->n_steps || !hu_is_share_of_step(time, LEAST_LOOP, c->step) ||
        hu_intervals_length(&p->loops) > SHORT_LOOP_NS * p->loop_calls)
        return false;
    hu_hint_say(
        h,
        "The optimizer calls operators for one parameter after the other: that takes %s. A fused optimizer calls one for "
        "all of them.",
        hu_scene_share(c, time).t);
    hu_hint_show(h, "%s such operators in the whole capture, %s each with the time before it", hu_say_count(p->loop_calls).t,
                 hu_say_time((double)hu_intervals_length(&p->loops) / (double)p->loop_calls).t);
    h->is_likely = true;
    return true;
}

bool hu_gate_validation(const hu_scene *c, hu_hint *h)
{
    const hu_train_parts *p = hu_edit_train_parts(hu_pricer_facts(c->s->pricer));
    const hu_ns_per_step  time = time_in(c, hu_edit_validation_ns);

    if (time.ns <= 0 || !hu_scene_is_much(c, time))
        return false;
    hu_hint_say(h, "The host spends %s in forward passes that no backward pass follows, as in validation.",
                hu_scene_share(c, time).t);
    hu_hint_show(h, "%zu such pass%s with %s products or convolutions in the whole capture", p->forwards.n,
                 p->forwards.n == 1 ? "" : "es", hu_say_count(p->first_ops).t);
    hu_hint_show(h, "told by the order of forward, backward and optimizer, not by a name");
    h->is_likely = true;
    return true;
}
