/* SPDX-License-Identifier: Apache-2.0
 * cold_start.c - what first uses took of a step that was left out as warm-up. */
#include "advise/cold_start.h"

#include "graph/cold.h"
#include "graph/price.h"

static const double EXPLAINED = 0.5; /* of the step's excess over the others, by records of first uses */
static const double DOUBT = 0.1;     /* of the gain: other steps vary too */

typedef struct {
    double   ns; /* union over threads */
    uint32_t longest;
} first_uses;

/* Calls of a step that load, make ready or allocate.  False: no memory. */
static bool sum_first_uses(hu_simulation *s, const hu_step *step, first_uses *out)
{
    const hu_ask *ask = &s->ask;
    hu_intervals  all = {0};
    hu_map        cold;

    *out = (first_uses){.longest = HU_NONE};
    if (!hu_cold_find(ask, s->scratch, &cold))
        return false;
    for (uint32_t i = 0; i < ask->s.n; i++) {
        const bool is_call = hu_kind_in(ask->s.kind[i], HU_KINDS_CALL);

        if (ask->s.start_ns[i] < step->host_start_ns || ask->s.start_ns[i] >= step->host_end_ns ||
            !(hu_map_get(&cold, i) != HU_MAP_NONE || (is_call && hu_cold_loads_code(hu_ask_name(ask, i))) ||
              (is_call && ask->names[ask->s.name[i]] & HU_NAME_ALLOC)))
            continue;
        if (!hu_intervals_add(s->scratch, &all, ask->s.start_ns[i], hu_ask_end(ask, i)))
            return false;
        if (out->longest == HU_NONE || ask->s.dur_ns[i] > ask->s.dur_ns[out->longest])
            out->longest = i;
    }
    if (!hu_intervals_unite(s->scratch, &all))
        return false;
    out->ns = (double)hu_intervals_length(&all);
    return true;
}

bool hu_cold_start_find(hu_simulation *s, hu_finding *out)
{
    const hu_steps *steps = &s->steps;
    hu_finding      x = {.rule = HU_RULE_COLD, .edit = {.kind = HU_EDIT_KINDS}, .confidence = HU_CONFIDENCE_MEDIUM};
    double          first, others, sum = 0, gain;
    first_uses      uses;

    if (steps->n < 2 || !steps->at[0].is_warm_up || steps->is_selected || steps->n_counted == 0 ||
        !sum_first_uses(s, &steps->at[0], &uses))
        return false;
    first = (double)(steps->at[0].end_ns - steps->at[0].start_ns);
    others = (double)steps->duration.sum / (double)steps->n_counted;
    if (uses.longest == HU_NONE || uses.ns < EXPLAINED * (first - others))
        return false;
    for (size_t i = 0; i < steps->n; i++)
        sum += (double)(steps->at[i].end_ns - steps->at[i].start_ns);
    gain = fmin(uses.ns, first - others);
    x.before_ns = sum / (double)steps->n;
    x.after_ns = (sum - gain) / (double)steps->n;
    x.gain_pct = 100 * gain / sum;
    x.free_pct = 100 * fmax(gain, first - others) / sum;
    x.low_pct = (1 - DOUBT) * x.gain_pct;
    x.high_pct = x.free_pct;
    hu_price_limit(x.gain_pct, x.free_pct, &x.low_pct, &x.high_pct);
    snprintf(
        x.statement, sizeof x.statement,
        "The first step of the capture takes %s, the others %s per step: first uses of the device and of its code take %s "
        "of it (%s). That step is left out of the means.",
        hu_say_time(first).t, hu_say_time(others).t, hu_say_time(uses.ns).t, hu_say_pct(100 * uses.ns / first).t);
    snprintf(x.evidence[x.n_evidence++], HU_EVIDENCE_BYTES, "the longest call takes %s: %.100s",
             hu_say_time((double)s->ask.s.dur_ns[uses.longest]).t, hu_ask_name(&s->ask, uses.longest).p);
    snprintf(x.evidence[x.n_evidence++], HU_EVIDENCE_BYTES,
             "the gain is that of all captured steps in the whole capture; the job's usual step stays as it is");
    *out = x;
    return true;
}
