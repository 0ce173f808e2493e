/* SPDX-License-Identifier: Apache-2.0
 * draw.c - timelines: which ranks a page shows, and how much of each. */
#include "ingest/open.h"
#include "job/filling.h"

enum { MOST_DRAWN = 16 }; /* ranks of a page, unless it holds all */

_Static_assert(HU_RULE_COUNT <= 64, "hu_filling.pictures has a bit for each rule");

uint64_t hu_pictures_of(const hu_findings *f)
{
    uint64_t rules = 0;

    for (size_t i = 0; f && i < f->n; i++)
        if (!hu_finding_is_of_network(&f->at[i]) && !f->at[i].is_of_job)
            rules |= UINT64_C(1) << f->at[i].rule;
    return rules;
}

/* What a rank's own replay draws and proves: of several ranks only what the job would gain, whoever has replayed it. */
static hu_findings findings_drawn(const hu_filling *w, const hu_rank *r)
{
    hu_findings mine = *r->findings;

    mine.n = 0;
    for (size_t i = 0; i < r->findings->n; i++)
        if (w->inputs->n == 1 || w->pictures >> r->findings->at[i].rule & 1)
            mine.at[mine.n++] = r->findings->at[i];
    return mine;
}

void hu_rank_draw(const hu_filling *w, hu_rank *r, const hu_trace *trace, hu_simulation *simulation)
{
    hu_scenario         scenarios[HU_SCENARIOS];
    hu_proof            proofs[HU_PROOFS];
    hu_timeline_options how = {.most = w->options->draws_all ? 0 : HU_TIMELINE_SLICES,
                               .pixels = w->options->pixels,
                               .scenarios = scenarios,
                               .proofs = proofs};
    hu_arena           *scratch = hu_arena_new();
    hu_error            err = {0};
    int                 n = 0, n_proofs = 0;

    r->timeline_arena = scratch ? hu_arena_new() : NULL;
    if (r->timeline_arena && simulation && r->findings && r->findings->is_replayed) {
        const hu_findings mine = findings_drawn(w, r);

        n = hu_scenarios_build(simulation, &mine, scratch, scenarios, &err);
        n_proofs = hu_proofs_build(simulation, &mine, scratch, proofs, &err);
    }
    how.n_scenarios = n > 0 ? (size_t)n : 0;
    how.n_proofs = n_proofs > 0 ? (size_t)n_proofs : 0;
    if (!r->timeline_arena ||
        hu_timeline_encode(trace, r->digest, &how, r->timeline_arena, scratch, &r->timeline, &err) < 0) {
        hu_arena_free(r->timeline_arena);
        r->timeline_arena = NULL;
        r->timeline = (hu_timeline){0};
    }
    hu_arena_free(scratch);
}

/* A trace that was not kept is gone when its rank has been measured; those that are drawn are read once more. */
static void draw_again(void *context, size_t i)
{
    const hu_filling *w = context;
    hu_rank          *r = &w->ranks[i];
    hu_error          err = {0};
    hu_trace         *t = r->trace;
    hu_simulation    *s = NULL;

    if (!t && r->is_drawn && hu_filling_is_mine(w, r))
        t = hu_open_trace(r->input, &w->input, &err);
    if (!t)
        return;
    if (i == w->shown)
        s = hu_simulation_new(t, &w->digest.steps, NULL, &err);
    hu_rank_draw(w, r, t, s);
    hu_simulation_free(s);
    if (t != r->trace)
        hu_trace_free(t);
}

void hu_ranks_draw(hu_filling *w, size_t n)
{
    w->input.progress = NULL;
    hu_thread_each(n, w->threads, draw_again, w);
}

static size_t slices_of(const hu_digest *d)
{
    size_t n = 0;

    for (hu_kind k = 0; k < HU_KIND_COUNT; k++)
        n += (size_t)d->health.kinds[k];
    return n;
}

void hu_ranks_choose_drawn(hu_filling *w, size_t n)
{
    size_t room = HU_TIMELINE_SLICES, drawn = 0;

    for (size_t k = 0; k <= n; k++) {
        const size_t i = k == 0 ? w->shown : k - 1, slices = slices_of(w->ranks[i].digest);

        if (k && i == w->shown)
            continue;
        if (!w->options->draws_all && k && (slices > room || drawn == MOST_DRAWN))
            continue;
        drawn++;
        w->ranks[i].is_drawn = true;
        room -= slices < room ? slices : room;
    }
}
