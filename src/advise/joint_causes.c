/* SPDX-License-Identifier: Apache-2.0
 * joint_causes.c - one replay of all ranks tells whether a cause is worth an interval.
 *
 * One rank alone does not know what its own fix is worth: where all wait for each other, a rank that loads faster waits
 * longer, and a rank that is waited for is worth more than its own step says.
 */
#include "advise/joint_causes.h"

#include <math.h>

static const double LEAST_GAIN = 0.5; /* percent of the step, for an interval to be asked for */
static const double LEAST_RUNG = 1;   /* percent of the step before it */

typedef struct {
    hu_joint_pricers    *pricers;
    const hu_joint_rank *ranks;
    size_t               n;
    hu_joint_effect     *effect; /* of out->at */
    hu_joint_causes     *out;

    /* on the way up: what is taken away, and the step without each of the others, too */
    const hu_joint_effect *done[HU_JOINT_RUNGS];
    bool                   used[HU_JOINT_CAUSES];
    double                 step_ns[HU_JOINT_CAUSES];
} work;

static const hu_effect *find_effect(const hu_graph *g, uint64_t cause)
{
    for (size_t i = 0; i < g->n_effects; i++)
        if (g->effect[i].cause == cause)
            return &g->effect[i];
    return NULL;
}

/* What all ranks have of a cause, as a row of its own. */
static bool add(work *w, uint64_t cause, hu_arena *scratch)
{
    hu_joint_cause  *x = &w->out->at[w->out->n];
    hu_joint_effect *e = &w->effect[w->out->n];
    hu_str          *changes = hu_arena_calloc(scratch, w->n + 1, sizeof *changes);

    if (!changes)
        return false;
    *x = (hu_joint_cause){.cause = cause};
    *e = (hu_joint_effect){.changes = changes};
    for (size_t r = 0; r < w->n; r++) {
        const hu_effect *own = find_effect(w->ranks[r].graph, cause);

        changes[r] = own ? own->changes : HU_STR("");
        if (!own)
            continue;
        x->ranks++;
        e->edit = (hu_edit_kind)own->edit;
        e->scatter_pct = fmax(e->scatter_pct, own->scatter);
    }
    w->out->n++;
    return true;
}

static bool gather(work *w, hu_arena *scratch)
{
    for (size_t r = 0; r < w->n; r++) {
        const hu_graph *g = w->ranks[r].graph;

        for (size_t i = 0; i < g->n_effects && w->out->n < HU_JOINT_CAUSES; i++)
            if (g->effect[i].is_told && !hu_joint_causes_find(w->out, g->effect[i].cause) &&
                !add(w, g->effect[i].cause, scratch))
                return false;
    }
    return true;
}

static void price(void *context, hu_joint_pricer *pricer, size_t i)
{
    work                  *w = context;
    const hu_joint_effect *one[] = {&w->effect[i]};
    const double           before_ns = hu_joint_pricer_step_ns(pricer);
    const double           after_ns = hu_joint_price_effects_ns(pricer, one, 1);
    const double           gain_pct = 100 * (1 - after_ns / before_ns);

    if (gain_pct >= LEAST_GAIN)
        hu_joint_price_effect(pricer, &w->effect[i], &w->out->at[i].price);
    else
        w->out->at[i].price = (hu_price){.before_ns = before_ns,
                                         .after_ns = after_ns,
                                         .free_ns = after_ns,
                                         .gain_pct = gain_pct,
                                         .high_pct = fmax(0, gain_pct),
                                         .free_pct = fmax(0, gain_pct)};
}

static bool may_follow(const work *w, size_t i)
{
    return !w->used[i] && !(w->out->at[i].price.sure_pct < LEAST_RUNG);
}

static void try_cause(void *context, hu_joint_pricer *pricer, size_t i)
{
    work                  *w = context;
    const size_t           k = w->out->n_ladder;
    const hu_joint_effect *effects[HU_JOINT_RUNGS];

    if (!may_follow(w, i))
        return;
    memcpy(effects, w->done, k * sizeof *effects);
    effects[k] = &w->effect[i];
    w->step_ns[i] = k ? hu_joint_price_effects_ns(pricer, effects, k + 1) : w->out->at[i].price.after_ns;
}

static void climb(work *w, double before_ns)
{
    hu_joint_causes *out = w->out;

    while (out->n_ladder < HU_JOINT_RUNGS) {
        size_t best = out->n;
        double after_ns = before_ns * (1 - LEAST_RUNG / 100);

        hu_joint_pricers_each(w->pricers, out->n, try_cause, w);
        for (size_t i = 0; i < out->n; i++)
            if (may_follow(w, i) && w->step_ns[i] <= after_ns) {
                best = i;
                after_ns = w->step_ns[i];
            }
        if (best == out->n)
            break;
        w->used[best] = true;
        w->done[out->n_ladder] = &w->effect[best];
        out->ladder[out->n_ladder++] = (hu_joint_rung){out->at[best].cause, before_ns, after_ns};
        before_ns = after_ns;
    }
}

int hu_joint_causes_measure(hu_joint_pricers *p, const hu_joint_rank *ranks, size_t n, hu_arena *scratch,
                            hu_joint_causes *out, hu_error *err)
{
    work w = {.pricers = p,
              .ranks = ranks,
              .n = n,
              .effect = hu_arena_calloc(scratch, HU_JOINT_CAUSES, sizeof *w.effect),
              .out = out};

    *out = (hu_joint_causes){0};
    if (!w.effect || !gather(&w, scratch))
        return hu_fail_memory(err);
    hu_joint_pricers_each(p, out->n, price, &w);
    climb(&w, hu_joint_pricers_step_ns(p));
    return 0;
}

const hu_joint_cause *hu_joint_causes_find(const hu_joint_causes *c, uint64_t cause)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->at[i].cause == cause)
            return &c->at[i];
    return NULL;
}
