/* SPDX-License-Identifier: Apache-2.0
 * bubble.c - measured against what p stages and m micro-batches must lose. */
#include "advise/bubble.h"

#include <math.h>

#include "advise/amount.h"
#include "graph/price.h"

static const double LEAST_PCT = 10;   /* of forward and backward, that are lost */
static const double LEAST_OVER = 1.2; /* times the ideal: then the stages are not alike, too */

static double ideal_pct(int64_t stages, int64_t microbatches)
{
    return 100 * (double)(stages - 1) / (double)(microbatches + stages - 1);
}

/* The bubble is a share of forward and backward; of the step no more can be gained than it does not compute for. */
static double most_pct(const hu_digest *d, double bubble_pct)
{
    const hu_step_time *t = hu_digest_step_time(d);

    if (!t || !(t->step_ns > 0))
        return bubble_pct;
    return fmin(bubble_pct, 100 - hu_pct_of_step(hu_as_mean(t->compute_ns), hu_as_mean(t->step_ns)));
}

bool hu_bubble_find(const hu_digest *d, double step_ns, hu_finding *out)
{
    const hu_parallelism *p = &d->parallelism;
    hu_finding            x = {.rule = HU_RULE_BUBBLE, .edit = {.kind = HU_EDIT_KINDS}, .confidence = HU_CONFIDENCE_LOW};
    double                ideal, halved;

    if (p->stages < 2 || p->microbatches < 1 || !(p->bubble_pct > LEAST_PCT) || !(p->bubble_pct < 100))
        return false;
    ideal = ideal_pct(p->stages, p->microbatches);
    halved = p->bubble_pct * ideal_pct(p->stages, 2 * p->microbatches) / ideal;
    x.free_pct = most_pct(d, p->bubble_pct);
    x.gain_pct = fmin(x.free_pct, 100 * (1 - (1 - p->bubble_pct / 100) / (1 - halved / 100)));
    x.low_pct = x.gain_pct / 3;
    x.high_pct = p->bubble_pct;
    hu_price_limit(x.gain_pct, x.free_pct, &x.low_pct, &x.high_pct);
    x.before_ns = step_ns;
    x.after_ns = step_ns * (1 - x.gain_pct / 100);
    snprintf(x.statement, sizeof x.statement,
             "The pipeline bubble is %s of forward and backward. With %lld stages and %lld micro-batches the schedule's "
             "minimum is %s. Twice as many micro-batches per step would nearly halve it.",
             hu_say_pct(p->bubble_pct).t, (long long)p->stages, (long long)p->microbatches, hu_say_pct(ideal).t);
    if (p->bubble_pct > LEAST_OVER * ideal)
        snprintf(x.evidence[x.n_evidence++], HU_EVIDENCE_BYTES,
                 "more than the schedule's minimum: unbalanced stages, or slow sends and receives");
    *out = x;
    return true;
}
