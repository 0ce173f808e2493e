/* SPDX-License-Identifier: Apache-2.0
 * covered.c - what a fix gains in the beginning of a run is known; what it gains in the rest is between nothing and as much.
 */
#include "advise/covered.h"

#include <stdio.h>

#include "advise/say.h"

static void spread(hu_finding *x, double covered, double run_ns)
{
    const size_t at = x->n_evidence < HU_EVIDENCE ? x->n_evidence++ : HU_EVIDENCE - 1;

    x->gain_pct *= covered;
    x->low_pct *= covered;
    x->after_ns = run_ns * (1 - x->gain_pct / 100);
    x->before_ns = run_ns;
    if (x->confidence > HU_CONFIDENCE_MEDIUM)
        x->confidence = HU_CONFIDENCE_MEDIUM;
    snprintf(x->evidence[at], sizeof x->evidence[at],
             "replayed: the first %s of the run; the interval reaches to the gain if the rest is like that",
             hu_say_pct(100 * covered).t);
}

void hu_covered_spread(hu_findings *f, double covered)
{
    f->covered = covered;
    if (!(covered < 1))
        return;
    for (size_t i = 0; i < f->n; i++)
        spread(&f->at[i], covered, f->seen_ns / covered);
    for (size_t i = 0; i < f->n_spare; i++)
        spread(&f->spare[i], covered, f->seen_ns / covered);
    for (size_t i = 0; i < f->n_ladder; i++) { /* what was not replayed stays as it is */
        f->ladder[i].before_ns += f->seen_ns * (1 / covered - 1);
        f->ladder[i].after_ns += f->seen_ns * (1 / covered - 1);
    }
}
