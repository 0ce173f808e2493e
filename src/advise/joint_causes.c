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
    hu_joint_pricer     *pricer;
    const hu_joint_rank *ranks;
    size_t               n;
    hu_joint_effect     *effect; /* of out->at */
    hu_joint_causes     *out;
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

static void price(work *w, size_t i)
{
    const hu_joint_effect *one[] = {&w->effect[i]};
    const double           before_ns = hu_joint_pricer_step_ns(w->pricer);
    const double           after_ns = hu_joint_price_effects_ns(w->pricer, one, 1);
    const double           gain_pct = 100 * (1 - after_ns / before_ns);

    if (gain_pct >= LEAST_GAIN)
        hu_joint_price_effect(w->pricer, &w->effect[i], &w->out->at[i].price);
    else
        w->out->at[i].price = (hu_price){.before_ns = before_ns,
                                         .after_ns = after_ns,
                                         .free_ns = after_ns,
                                         .gain_pct = gain_pct,
                                         .high_pct = fmax(0, gain_pct),
                                         .free_pct = fmax(0, gain_pct)};
}

static void climb(work *w)
{
    const hu_joint_effect *done[HU_JOINT_RUNGS];
    bool                   used[HU_JOINT_CAUSES] = {false};
    double                 before_ns = hu_joint_pricer_step_ns(w->pricer);
    hu_joint_causes       *out = w->out;

    while (out->n_ladder < HU_JOINT_RUNGS) {
        const size_t k = out->n_ladder;
        size_t       best = out->n;
        double       after_ns = before_ns * (1 - LEAST_RUNG / 100);

        for (size_t i = 0; i < out->n; i++) {
            double step_ns;

            if (used[i] || out->at[i].price.sure_pct < LEAST_RUNG)
                continue;
            done[k] = &w->effect[i];
            step_ns = k ? hu_joint_price_effects_ns(w->pricer, done, k + 1) : out->at[i].price.after_ns;
            if (step_ns <= after_ns) {
                best = i;
                after_ns = step_ns;
            }
        }
        if (best == out->n)
            break;
        used[best] = true;
        done[k] = &w->effect[best];
        out->ladder[out->n_ladder++] = (hu_joint_rung){out->at[best].cause, before_ns, after_ns};
        before_ns = after_ns;
    }
}

int hu_joint_causes_measure(hu_joint_pricer *p, const hu_joint_rank *ranks, size_t n, hu_arena *scratch,
                            hu_joint_causes *out, hu_error *err)
{
    work w = {.pricer = p,
              .ranks = ranks,
              .n = n,
              .effect = hu_arena_calloc(scratch, HU_JOINT_CAUSES, sizeof *w.effect),
              .out = out};

    *out = (hu_joint_causes){0};
    if (!w.effect || !gather(&w, scratch))
        return hu_fail_memory(err);
    for (size_t i = 0; i < out->n; i++)
        price(&w, i);
    climb(&w);
    return 0;
}

const hu_joint_cause *hu_joint_causes_find(const hu_joint_causes *c, uint64_t cause)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->at[i].cause == cause)
            return &c->at[i];
    return NULL;
}
