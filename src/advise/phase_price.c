/* SPDX-License-Identifier: Apache-2.0
 * phase_price.c - the same replay, its steps sorted by phase.
 *
 * The replay prices the mean step of its window.  What it saves of each step is known too; the finding's gain may be
 * less (only this capture pays, work that must be done), so that the steps share it as they share what the replay saves.
 * Means of passes are those of the whole capture, as in the table of phases.
 */
#include "advise/phase_price.h"

#include "advise/say.h"

static const double LEAST_SHARE = 0.01; /* of the gain, that is said */

typedef struct {
    double  saved_ns, before_ns; /* sums over its passes in the window */
    int64_t n;
} savings;

/* The step whose end a mark is; steps->n: none. */
static size_t step_of(const hu_steps *steps, const hu_mark *mark)
{
    size_t i = 0;

    while (i < steps->n && steps->at[i].host_end_ns != mark->host_end_ns)
        i++;
    return i;
}

/* What the edit saves of the passes of each phase; false: not known. */
static bool sort_savings(hu_simulation *s, const hu_steps *steps, const hu_edit *edit, savings of[HU_ENGINE_PHASES])
{
    const hu_graph *g = &s->graph;
    const int64_t  *before = hu_pricer_ends_ns(s->pricer), *after = hu_price_ends_ns(s->pricer, edit, 1);
    const size_t    first = g->n_marks > 1 ? step_of(steps, &g->mark[1]) : steps->n;

    if (first + g->n_marks - 1 > steps->n || g->n_marks < 2)
        return false;
    for (size_t k = 0; k + 1 < g->n_marks; k++) {
        savings *p = &of[steps->at[first + k].phase];

        p->n++;
        p->before_ns += (double)(before[k + 1] - before[k]);
        p->saved_ns += (double)(before[k + 1] - before[k]) - (double)(after[k + 1] - after[k]);
    }
    return true;
}

static const hu_serving_class *class_of(const hu_serving *s, uint8_t phase)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->at[i].phase == phase)
            return &s->at[i];
    return NULL;
}

/* "decode 5.00 -> 4.10 ms a pass (6,400 -> 7,805 tokens/s)", with an arrow */
static size_t say_phase(const hu_digest *d, uint8_t k, const savings *p, double scale, char *text, size_t room)
{
    const hu_serving_class *c = class_of(&d->serving, k);
    const double            now = d->steps.phase_ns[k], left = 1 - scale * p->saved_ns / p->before_ns;
    const double            rate = c ? hu_serving_tokens_per_s(c) : (double)NAN;
    size_t                  n;

    n = (size_t)snprintf(text, room, "%s %s → %s a pass", hu_engine_phase_word(k), hu_say_time(now).t,
                         hu_say_time(now * left).t);
    if (rate > 0 && left > 0 && n < room)
        n += (size_t)snprintf(text + n, room - n, " (%s → %s tokens/s)", hu_say_count((int64_t)(rate + 0.5)).t,
                              hu_say_count((int64_t)(rate / left + 0.5)).t);
    return n;
}

void hu_phase_price_say(hu_simulation *s, const hu_digest *d, hu_finding *x)
{
    savings of[HU_ENGINE_PHASES] = {{0}};
    char    text[HU_STATEMENT_BYTES] = "";
    double  saved = 0, before = 0;
    size_t  n = 0, at = strlen(x->statement), phases = 0;

    if (d->serving.n == 0 || !d->steps.is_engine || x->edit.kind == HU_EDIT_KINDS || !(x->gain_pct > 0) ||
        !sort_savings(s, &d->steps, &x->edit, of))
        return;
    for (int k = 0; k < HU_ENGINE_PHASES; k++) {
        saved += of[k].saved_ns > 0 ? of[k].saved_ns : 0;
        before += of[k].before_ns;
        phases += of[k].n > 0;
    }
    if (!(saved > 0) || of[HU_PHASE_NONE].n)
        return;
    for (int k = 0; k < HU_ENGINE_PHASES && n < sizeof text; k++) {
        const double share = of[k].saved_ns / saved;

        if (of[k].n == 0 || !(share >= LEAST_SHARE))
            continue;
        n += (size_t)snprintf(text + n, sizeof text - n, "%s", n ? "; " : "");
        if (phases > 1 && n < sizeof text)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s of the gain: ", hu_say_pct(100 * share).t);
        if (n < sizeof text)
            n += say_phase(d, (uint8_t)k, &of[k], fmin(1, x->gain_pct / 100 * before / saved), text + n, sizeof text - n);
    }
    if (n && at + n + 16 < sizeof x->statement)
        snprintf(x->statement + at, sizeof x->statement - at, " By phase: %s.", text);
}
