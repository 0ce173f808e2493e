/* SPDX-License-Identifier: Apache-2.0
 * lone_work.c - a thread or child computes alone while the job waits for it: what is it worth?
 *
 * That depends on what is done about it: faster code or another tool, its work in several parts at once, or doing without.
 * None of that is in a recording.  What a replay knows is how much of its time anybody waits for, so the assumption is
 * said: the price is that of half of its computing, the interval reaches to none of it.  Where these are so far apart that
 * the interval is no price, both stand in the sentence, and the finding has a bound only, as hot code has.
 */
#include "advise/lone_work.h"

#include <math.h>

#include "advise/gates.h"

static const double WIDEST = 40;  /* points of an interval that is a price */
static const double DOUBT = 0.05; /* of the gain: half is what was asked for, only the replay may be off */

static double saves(const hu_scene *c, hu_edit_kind kind, hu_edit_flavour flavour)
{
    const hu_edit edit = {.kind = kind, .flavour = flavour, .factor = INFINITY};

    return 100 * (1 - hu_price_step_ns(c->s->pricer, &edit, 1) / hu_pricer_step_ns(c->s->pricer));
}

void hu_lone_work_say(const hu_scene *c, hu_edit_kind kind, hu_hint *h)
{
    const int64_t cpus = hu_trace_get_info(c->s->ask.trace)->cpus;
    const size_t  n = strlen(h->statement);

    snprintf(h->statement + n, sizeof h->statement - n,
             " Twice as fast, it would save about %s; nothing done to it can "
             "save more than %s.",
             hu_say_pct(fmax(0, saves(c, kind, HU_EDIT_REALISTIC))).t, hu_say_pct(fmax(0, saves(c, kind, HU_EDIT_FREE))).t);
    if (cpus > 1)
        hu_hint_show(h,
                     "its work in two equal parts at once would save as much, and the job may use %lld CPUs: whether it "
                     "can be divided is not in the trace",
                     (long long)cpus);
    h->is_lone = true;
}

void hu_lone_work_limit(hu_finding *x)
{
    if (isnan(x->gain_pct))
        return;
    x->low_pct = fmax(x->low_pct, (1 - DOUBT) * x->gain_pct);
    if (x->high_pct - x->low_pct <= WIDEST)
        return;
    x->gain_pct = x->after_ns = NAN;
    x->low_pct = 0;
    x->edit.kind = HU_EDIT_KINDS;
}

bool hu_lone_work_is_bound(const hu_finding *x)
{
    return isnan(x->gain_pct) && x->edit.kind == HU_EDIT_KINDS &&
           (x->rule == HU_RULE_WAITED_THREAD || x->rule == HU_RULE_WAITED_CHILD);
}
