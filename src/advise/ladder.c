/* SPDX-License-Identifier: Apache-2.0
 * ladder.c - which fix to make first, which then: each rung is priced on top of those below it. */
#include "advise/ladder.h"

/* On the way up: the fixes that are made, and the step with each of the others on top of them. */
typedef struct {
    const hu_findings *f;
    double             least_pct;
    hu_edit            done[HU_FINDINGS];
    bool               used[HU_FINDINGS];
    double             step_ns[HU_FINDINGS];
} climber;

static void try_fix(void *context, hu_pricer *pricer, size_t i)
{
    climber *c = context;
    hu_edit  edits[HU_FINDINGS];

    if (c->used[i])
        return;
    memcpy(edits, c->done, c->f->n_ladder * sizeof *edits);
    edits[c->f->n_ladder] = c->f->at[i].edit;
    c->step_ns[i] = hu_price_step_ns(pricer, edits, c->f->n_ladder + 1);
}

/* The best of what is left, again and again; stops when nothing is worth it any more. */
static void find_ladder(hu_findings *f, hu_pricers *pricers, climber *c, double step_ns)
{
    for (size_t i = 0; i < f->n; i++)
        c->used[i] = f->at[i].edit.kind == HU_EDIT_KINDS;
    while (f->n_ladder < f->n) {
        size_t best = f->n;

        hu_pricers_each(pricers, f->n, try_fix, c);
        for (size_t i = 0; i < f->n; i++)
            if (!c->used[i] && 100 * (1 - c->step_ns[i] / step_ns) >= c->least_pct &&
                (best == f->n || c->step_ns[i] < c->step_ns[best]))
                best = i;
        if (best == f->n)
            break;
        c->used[best] = true;
        c->done[f->n_ladder] = f->at[best].edit;
        f->ladder[f->n_ladder++] = (hu_rung){f->at[best].rule, step_ns, c->step_ns[best]};
        step_ns = c->step_ns[best];
    }
}

/* The ladder, and what binds behind its last rung. */
int hu_ladder_climb(hu_findings *f, hu_simulation *s, hu_pricers *pricers, double least_pct, hu_error *err)
{
    climber   up = {.f = f, .least_pct = least_pct};
    hu_costs *c;
    int64_t  *ends = hu_arena_alloc(s->scratch, s->graph.n_marks * sizeof *ends);
    hu_path   path;
    int       rc;

    if (!ends)
        return hu_fail_memory(err);
    find_ladder(f, pricers, &up, hu_price_step_ns(s->pricer, NULL, 0));
    c = hu_pricer_costs(s->pricer);
    for (size_t i = 0; i < f->n_ladder; i++)
        hu_edit_apply(hu_pricer_facts(s->pricer), &up.done[i], c);
    rc = hu_replay_path(hu_pricer_replay(s->pricer), c, ends, NULL, &path, err);
    if (rc < 0 || path.total_ns <= 0)
        return rc;
    f->next_class = 0;
    for (hu_class k = 0; k < HU_CLASS_COUNT; k++) {
        if (path.by_class[k] > path.by_class[f->next_class])
            f->next_class = k;
    }
    f->next_share = (double)path.by_class[f->next_class] / (double)path.total_ns;
    return 0;
}
