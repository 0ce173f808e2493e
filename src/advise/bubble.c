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

/*
 * The schedule's part of the bubble: as long as the stages' own work of p - 1 micro-batches, and what more of them shorten.
 * What a stage waits beyond that is for others with more work, or for messages.  A share of forward and backward; of the
 * step no more can be gained than it does not compute for.
 */
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
    double                ideal;

    if (p->stages < 2 || p->microbatches < 1 || !(p->bubble_pct > LEAST_PCT) || !(p->bubble_pct < 100))
        return false;
    ideal = ideal_pct(p->stages, p->microbatches);
    x.free_pct = most_pct(d, (100 - p->bubble_pct) * (double)(p->stages - 1) / (double)p->microbatches);
    x.gain_pct = x.free_pct / 2;
    x.low_pct = x.gain_pct / 3;
    x.high_pct = x.free_pct;
    hu_price_limit(x.gain_pct, x.free_pct, &x.low_pct, &x.high_pct);
    x.before_ns = step_ns;
    x.after_ns = step_ns * (1 - x.gain_pct / 100);
    snprintf(x.statement, sizeof x.statement,
             "The pipeline bubble is %s of forward and backward. With %lld stages and %lld micro-batches the schedule's "
             "minimum is %s. Twice as many micro-batches per step would nearly halve that minimum.",
             hu_say_pct(p->bubble_pct).t, (long long)p->stages, (long long)p->microbatches, hu_say_pct(ideal).t);
    if (p->bubble_pct > LEAST_OVER * ideal)
        snprintf(x.evidence[x.n_evidence++], HU_EVIDENCE_BYTES,
                 "more than the schedule's minimum: unbalanced stages, or slow sends and receives");
    *out = x;
    return true;
}

/* The stages that messages join, as seen from the rank with the fewest neighbours; and what each sends to the next. */
typedef struct {
    int64_t stages, microbatches;
    double  compute_ns; /* per step, mean over the stages */
    double  step_ns;
} chain;

enum { MOST_STAGES = 256 };

static size_t digest_of(hu_digest *const *digests, size_t n, int64_t rank)
{
    size_t i = 0;

    while (i < n && hu_digest_rank_of(digests, i) != rank)
        i++;
    return i;
}

/* The rank next to `at` in the pipeline that is not `from`; -1 none, -2 more than one. */
static int64_t neighbour(const hu_messages *m, int64_t at, int64_t from)
{
    int64_t found = -1;

    for (size_t i = 0; i < m->n_paths; i++) {
        const int64_t other = m->paths[i].source == at   ? m->paths[i].target
                              : m->paths[i].target == at ? m->paths[i].source
                                                         : -1;

        if (other < 0 || other == from || other == found)
            continue;
        if (found >= 0)
            return -2;
        found = other;
    }
    return found;
}

/*
 * Messages from one rank to another per step; 0 when their number is not a whole one, as where a full queue holds more steps
 * than the capture began: then what one rank's passes tell of the schedule must do.
 */
static int64_t per_step(const hu_messages *m, int64_t source, int64_t target, size_t steps)
{
    for (size_t i = 0; steps && i < m->n_paths; i++)
        if (m->paths[i].source == source && m->paths[i].target == target)
            return m->paths[i].messages % (int64_t)steps ? 0 : m->paths[i].messages / (int64_t)steps;
    return 0;
}

/* From an end of the chain to the other.  False: it is no chain, or its stages do not send alike. */
static bool follow(const hu_messages *m, hu_digest *const *digests, size_t n, int64_t first, chain *out)
{
    int64_t from = -1, at = first;

    *out = (chain){.microbatches = -1};
    for (; at >= 0 && out->stages < MOST_STAGES; out->stages++) {
        const size_t        i = digest_of(digests, n, at);
        const hu_step_time *t = i < n ? hu_digest_step_time(digests[i]) : NULL;
        const int64_t       next = neighbour(m, at, from);

        if (!t || next == -2)
            return false;
        out->compute_ns += t->compute_ns;
        out->step_ns += t->step_ns;
        if (next >= 0) {
            const int64_t whole = per_step(m, at, next, digests[i]->steps.n),
                          sent = whole ? whole : (int64_t)digests[i]->parallelism.microbatches,
                          back = per_step(m, next, at, digests[i]->steps.n);

            if (out->microbatches < 0)
                out->microbatches = sent;
            if (sent < 1 || sent != out->microbatches || (whole && back && back != sent))
                return false;
        }
        from = at;
        at = next;
    }
    out->compute_ns /= (double)out->stages;
    out->step_ns /= (double)out->stages;
    return out->stages >= 2 && at < 0;
}

static bool find_chain(const hu_messages *m, hu_digest *const *digests, size_t n, chain *out)
{
    bool found = false;

    for (size_t i = 0; i < n && !found; i++) {
        const int64_t rank = hu_digest_rank_of(digests, i);

        found = neighbour(m, rank, -1) >= 0 && follow(m, digests, n, rank, out);
    }
    return found && out->step_ns > 0;
}

/* Do the stages stand empty as their schedule makes them? */
static bool is_seen(const chain *c)
{
    static const double LEAST_SEEN = 0.5; /* of the schedule's bubble, that stages do not compute for */

    return 100 * (1 - c->compute_ns / c->step_ns) >= LEAST_SEEN * ideal_pct(c->stages, c->microbatches);
}

double hu_bubble_drain(const hu_messages *m, hu_digest *const *digests, size_t n)
{
    chain c;

    return find_chain(m, digests, n, &c) && is_seen(&c) ? (double)(c.stages - 1) / (double)c.microbatches : 0;
}

/* By how much of the bubble a fix may go beyond twice as many micro-batches: up to four for each stage, where what is left
   of it is little (GPipe, arXiv 1811.06965). */
static double most_of_bubble(const chain *c)
{
    const double now = (double)c->microbatches, wanted = fmax(2 * now, 4 * (double)c->stages);

    return 1 - now / wanted;
}

bool hu_bubble_find_job(const hu_messages *m, hu_digest *const *digests, size_t n, double step_ns, hu_finding *out)
{
    hu_finding x = {.rule = HU_RULE_BUBBLE, .edit = {.kind = HU_EDIT_KINDS}, .confidence = HU_CONFIDENCE_MEDIUM};
    chain      c;
    double     ideal, empty;

    if (!find_chain(m, digests, n, &c) || !(step_ns > 0))
        return false;
    ideal = ideal_pct(c.stages, c.microbatches);
    empty = 100 * (1 - c.compute_ns / c.step_ns);
    if (ideal < LEAST_PCT || !is_seen(&c))
        return false;
    x.free_pct = fmin(empty, 100 * (double)(c.stages - 1) / (double)c.microbatches * c.compute_ns / step_ns);
    x.gain_pct = x.free_pct / 2;
    x.low_pct = x.gain_pct * 0.6;
    x.high_pct = fmax(x.gain_pct * 1.3, x.free_pct * most_of_bubble(&c));
    hu_price_limit(x.gain_pct, x.free_pct, &x.low_pct, &x.high_pct);
    x.before_ns = step_ns;
    x.after_ns = step_ns * (1 - x.gain_pct / 100);
    snprintf(
        x.statement, sizeof x.statement,
        "%lld stages pass %lld micro-batches on in each step: the schedule leaves a stage empty for at least %s of forward "
        "and backward. Twice as many micro-batches of half the size would halve that.",
        (long long)c.stages, (long long)c.microbatches, hu_say_pct(ideal).t);
    snprintf(x.evidence[x.n_evidence++], HU_EVIDENCE_BYTES, "stages compute for %s of the step on average",
             hu_say_pct(100 - empty).t);
    *out = x;
    return true;
}
