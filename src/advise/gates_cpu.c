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
    MOST_IN_TURN = 8,      /* operators of one turn of a loop over elements */
    FEWEST_TURNS = 16,     /* in a row; layers of a model have long operators between */
    SHORT_NS = 50000,      /* of such an operator, and of the time to the next */
};

static const double LEAST_SMALL = 0.2;  /* of the step in short operators and between them */
static const double LEAST_LOOP = 0.05;  /* of the step in such a loop */
static const double LEAST_TURNS = 0.1;  /* in one over elements: below, a guess is not worth it */
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

/* The track of the main thread; NULL: it did nothing. */
static const hu_track *main_track(const hu_scene *c)
{
    const hu_graph *g = &c->s->graph;

    for (size_t i = 0; i < g->n_nodes; i++)
        if (g->node[i].lane == g->main_lane && g->node[i].slice != HU_NONE)
            return &c->s->ask.tracks[c->s->ask.s.track[g->node[i].slice]];
    return NULL;
}

/* An operator that no other one called. */
static bool is_outer(const hu_ask *ask, uint32_t i)
{
    const uint32_t above = ask->s.parent[i];

    return ask->s.kind[i] == HU_KIND_CPU_OP && (above == HU_NONE || ask->s.kind[above] != HU_KIND_CPU_OP);
}

static bool is_inside(const hu_intervals *list, int64_t time_ns)
{
    for (size_t i = 0; i < list->n; i++)
        if (time_ns >= list->at[i].start_ns && time_ns < list->at[i].end_ns)
            return true;
    return false;
}

/*
 * Time of the window in loops over elements: the same few short operators, one behind the other, again and again.  Loops of
 * an optimizer have a finding of their own.
 */
static double loops_ns(const hu_scene *c, int64_t *operators)
{
    const hu_graph     *g = &c->s->graph;
    const hu_ask       *ask = &c->s->ask;
    const hu_track     *t = main_track(c);
    const hu_intervals *others = &hu_edit_train_parts(hu_pricer_facts(c->s->pricer))->loops;
    const int64_t       from = g->mark[0].host_end_ns, to = g->mark[g->n_marks - 1].host_end_ns;
    uint32_t           *row = hu_arena_alloc(c->s->scratch, ((size_t)(t ? t->count : 0) + 1) * sizeof *row);
    hu_intervals        loops = {0};
    size_t              n = 0, alike[MOST_IN_TURN + 1] = {0};

    *operators = 0;
    for (uint32_t k = 0; row && t && k < t->count; k++) {
        const uint32_t i = ask->order[t->first + k];

        if (!is_outer(ask, i) || ask->s.start_ns[i] < from || ask->s.start_ns[i] >= to)
            continue;
        if (ask->s.dur_ns[i] > SHORT_NS || is_inside(others, ask->s.start_ns[i]) ||
            (n && ask->s.start_ns[i] - hu_ask_end(ask, row[n - 1]) > SHORT_NS)) {
            n = 0;
            memset(alike, 0, sizeof alike);
        }
        if (ask->s.dur_ns[i] > SHORT_NS || is_inside(others, ask->s.start_ns[i]))
            continue;
        row[n++] = i;
        for (size_t turn = 1; turn <= MOST_IN_TURN && turn < n; turn++) {
            alike[turn] = ask->s.name[i] == ask->s.name[row[n - 1 - turn]] ? alike[turn] + 1 : 0;
            if (alike[turn] >= turn * (FEWEST_TURNS - 1) &&
                !hu_intervals_add(c->s->scratch, &loops, ask->s.start_ns[row[n - alike[turn] - turn]], hu_ask_end(ask, i)))
                return 0;
        }
    }
    if (!hu_intervals_unite(c->s->scratch, &loops))
        return 0;
    for (uint32_t k = 0; t && k < t->count; k++)
        *operators += is_outer(ask, ask->order[t->first + k]) &&
                      is_inside(&loops, ask->s.start_ns[ask->order[t->first + k]]);
    return (double)hu_intervals_length(&loops);
}

/* A loop over elements in a step of which the rest is no small operators: few of them, and still worth it. */
static bool gate_loops(const hu_scene *c, hu_hint *h)
{
    int64_t              operators;
    const hu_ns_per_step time = hu_as_mean(loops_ns(c, &operators) / (double)c->n_steps);

    if (!hu_is_share_of_step(time, LEAST_TURNS, c->step))
        return false;
    hu_hint_say(
        h,
        "A loop calls the same few operators again and again: %s operators %s of less than 50 \302\265s each; they and "
        "the time between them take %s. Most of it is the cost of the call, not of the computation.",
        hu_say_count(operators / c->n_steps).t, c->has_steps ? "per step" : "in the whole capture",
        hu_scene_share(c, time).t);
    h->is_likely = h->is_suspected = h->comes_back = true;
    return true;
}

bool hu_gate_small_operators(const hu_scene *c, hu_hint *h)
{
    const hu_host_work  *w = hu_edit_host_work(hu_pricer_facts(c->s->pricer));
    const hu_ns_per_step time = hu_as_mean((double)w->short_ns / (double)c->n_steps);
    const int64_t        operators = w->launches / c->n_steps;

    if (c->s->ask.n_work > 0)
        return false;
    if (operators < MANY_OPERATORS || !hu_is_share_of_step(time, LEAST_SMALL, c->step))
        return gate_loops(c, h);
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
    hu_ns_per_step        time;

    if (p->loop_calls < FEWEST_LOOP * c->n_steps)
        return false;
    time = time_in(c, hu_edit_optimizer_ns);
    if (!hu_is_share_of_step(time, LEAST_LOOP, c->step) || hu_intervals_length(&p->loops) > SHORT_LOOP_NS * p->loop_calls)
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
    hu_ns_per_step        time;

    if (p->forwards.n == 0)
        return false;
    time = time_in(c, hu_edit_validation_ns);
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
