/* SPDX-License-Identifier: Apache-2.0
 * ranks.c - one job for each file; results are sorted by rank, so that the order of arguments does not matter. */
#include "cli/ranks.h"

#include <stdio.h>
#include <stdlib.h>

#include "analyze/roster.h"
#include "base/thread.h"
#include "cli/command.h"
#include "cli/progress.h"
#include "ingest/open.h"

typedef struct {
    hu_digest   *digest;
    hu_findings *findings;
    hu_timeline  timeline;
    hu_arena    *arena;                 /* of the timeline; NULL: not drawn */
    hu_trace    *trace;                 /* where it is kept */
    hu_graph    *graph;                 /* to be replayed with the others'; NULL: not kept */
    hu_arena    *graph_arena;
    bool         is_chosen;             /* to be drawn */
    hu_error     error;
} rank;

typedef struct {
    const hu_inputs        *inputs;
    const hu_ranks_options *options;
    hu_digest_options       digest;
    hu_input_options        input;
    rank                   *at;
    size_t                  shown;      /* whose findings the page shows */
} work;

enum {
    MOST_AT_ONCE = 1000000,         /* slices: of a larger trace not both halves' working memory at once */
    MOST_DRAWN = 16,                /* ranks of a page, unless it holds all */
};

/* What the trace shows and the graph of what waits for what do not need each other. */
typedef struct {
    const work     *w;
    const hu_trace *trace;
    rank           *r;
    hu_simulation  *simulation;
    hu_error        why_not;
} halves;

static void measure_half(void *context, size_t half)
{
    halves *h = context;

    if (half == 0)
        h->r->digest = hu_digest_measure(h->trace, &h->w->digest, &h->r->error);
    else if (h->w->options->replays)
        h->simulation = hu_simulation_new(h->trace, &h->w->digest.steps, NULL, &h->why_not);
}

/* A picture that fails is no reason to lose the report: the rank is then not drawn, and the page says so. */
static void draw(const work *w, rank *r, const hu_trace *t, hu_simulation *s)
{
    hu_scenario         scenarios[HU_SCENARIOS];
    hu_timeline_options how = {.most = w->options->draws_all ? 0 : HU_TIMELINE_SLICES,
                                   .pixels = w->options->pixels, .scenarios = scenarios};
    hu_arena           *scratch = hu_arena_new();
    hu_error            err = {0};
    int                 n = 0;

    r->arena = scratch ? hu_arena_new() : NULL;
    if (r->arena && s && r->findings && r->findings->is_replayed)
        n = hu_scenarios_build(s, r->findings, scratch, scenarios, &err);
    how.n_scenarios = n > 0 ? (size_t)n : 0;
    if (!r->arena || hu_timeline_encode(t, r->digest, &how, r->arena, scratch, &r->timeline, &err) < 0) {
        hu_arena_free(r->arena);
        r->arena = NULL;
        r->timeline = (hu_timeline){0};
    }
    hu_arena_free(scratch);
}

/* A rank whose graph cannot be kept is not replayed with the others. */
static void keep_graph(rank *r, const hu_simulation *s)
{
    r->graph_arena = hu_arena_new();
    r->graph = r->graph_arena ? hu_graph_copy(&s->graph, r->graph_arena) : NULL;
}

static void read_one(void *context, size_t i)
{
    const work *w = context;
    rank       *r = &w->at[i];
    hu_trace   *t = hu_open_trace(w->inputs->at[i], &w->input, &r->error);
    halves      h = {.w = w, .trace = t, .r = r};

    if (t)
        hu_thread_each(2, hu_trace_slices(t).n <= MOST_AT_ONCE ? w->digest.threads : 1, measure_half, &h);
    if (r->digest && r->digest->info.rank < 0)
        r->digest->info.rank = hu_roster_rank_of_name(r->digest->info.file, w->inputs->n);
    if (r->digest && w->options->replays) {
        r->findings = hu_findings_measure(h.simulation, &h.why_not, r->digest, &r->error);
        r->digest->findings = r->findings;
        if (!r->findings) {
            hu_digest_free(r->digest);
            r->digest = NULL;
        }
    }
    if (r->digest && h.simulation && w->inputs->n > 1 && w->inputs->n <= HU_JOB_RANKS)
        keep_graph(r, h.simulation);
    if (r->digest && w->options->draws && w->inputs->n == 1)
        draw(w, r, t, h.simulation);
    if (t && !r->digest && !r->error.file[0])
        snprintf(r->error.file, sizeof r->error.file, "%s", w->inputs->at[i]);
    hu_simulation_free(h.simulation);
    if (r->digest && w->options->keeps_traces)
        r->trace = t;
    else
        hu_trace_free(t);
}

static int by_rank(const void *left, const void *right)
{
    const rank *a = left, *b = right;

    if (a->digest->info.rank != b->digest->info.rank)
        return a->digest->info.rank < b->digest->info.rank ? -1 : 1;
    return hu_str_compare(a->digest->info.file, b->digest->info.file);
}

/* Warns of what failed; what was read comes to the front. */
static size_t collect(rank *at, size_t n, bool quiet)
{
    size_t kept = 0;

    for (size_t i = 0; i < n; i++) {
        if (at[i].digest)
            at[kept++] = at[i];
        else if (!quiet || n == 1)
            hu_command_fail(&at[i].error);
    }
    if (kept > 1)
        qsort(at, kept, sizeof *at, by_rank);
    return kept;
}

static size_t slices_of(const hu_digest *d)
{
    size_t n = 0;

    for (hu_kind k = 0; k < HU_KIND_COUNT; k++)
        n += (size_t)d->health.kinds[k];
    return n;
}

/* A trace that was not kept is gone when its rank has been measured; those that are drawn are read once more. */
static void draw_again(void *context, size_t i)
{
    const work    *w = context;
    rank          *r = &w->at[i];
    hu_error       err = {0};
    hu_trace      *t = r->trace;
    hu_simulation *s = NULL;

    if (!t && r->is_chosen)
        t = hu_open_trace(r->digest->info.file.p, &w->input, &err);
    if (!t)
        return;
    if (i == w->shown)
        s = hu_simulation_new(t, &w->digest.steps, NULL, &err);
    draw(w, r, t, s);
    hu_simulation_free(s);
    if (t != r->trace)
        hu_trace_free(t);
}

/* The rank that the verdict speaks of, then the others in their order as long as there is room. */
static void choose_drawn(work *w, size_t n)
{
    size_t room = HU_TIMELINE_SLICES, drawn = 0;

    for (size_t k = 0; k <= n; k++) {
        const size_t i = k == 0 ? w->shown : k - 1, slices = slices_of(w->at[i].digest);

        if (k && i == w->shown)
            continue;
        if (!w->options->draws_all && k && (slices > room || drawn == MOST_DRAWN))
            continue;
        drawn++;
        w->at[i].is_chosen = true;
        room -= slices < room ? slices : room;
    }
}

static int meet(hu_ranks *ranks, const work *w, hu_arena *arena, hu_error *err)
{
    hu_arena        *scratch = hu_arena_new();
    const hu_graph **graphs = hu_arena_calloc(arena, ranks->n, sizeof *graphs);
    int              rc = scratch && graphs ? 0 : hu_fail_memory(err);

    if (rc == 0)
        rc = hu_rendezvous_measure(ranks->digests, ranks->n, arena, scratch, &ranks->rendezvous, err);
    hu_arena_free(scratch);
    for (size_t i = 0; rc == 0 && i < ranks->n; i++)
        graphs[i] = w->at[i].graph;
    if (rc == 0 && w->options->replays)
        rc = hu_job_measure(graphs, ranks->digests, ranks->n, &ranks->rendezvous, &ranks->job, err);
    return rc;
}

int hu_ranks_read(const hu_inputs *inputs, const hu_ranks_options *options, hu_arena *arena, hu_ranks *out)
{
    const int    threads = hu_thread_count();
    const bool   few = inputs->n < (size_t)threads;
    hu_progress  progress = {.total_bytes = inputs->bytes};
    work         w = {.inputs = inputs, .options = options, .digest = options->digest,
                      .input = {options->limits, threads > 1 && few, &progress},
                      .at = hu_arena_calloc(arena, inputs->n + 1, sizeof *w.at)};
    hu_progress_bar *bar;
    hu_error         err = {0};
    int              rc = 0;

    *out = (hu_ranks){.digests = hu_arena_calloc(arena, inputs->n + 1, sizeof *out->digests),
                      .findings = hu_arena_calloc(arena, inputs->n + 1, sizeof *out->findings),
                      .timelines = hu_arena_calloc(arena, inputs->n + 1, sizeof *out->timelines),
                      .arenas = hu_arena_calloc(arena, inputs->n + 1, sizeof *out->arenas),
                      .traces = hu_arena_calloc(arena, inputs->n + 1, sizeof *out->traces)};
    if (!w.at || !out->digests || !out->findings || !out->timelines || !out->arenas || !out->traces) {
        hu_fail_memory(&err);
        return hu_command_fail(&err);
    }
    w.digest.threads = few ? threads : 1;
    bar = hu_progress_start(&progress, options->quiet);
    hu_thread_each(inputs->n, threads, read_one, &w);
    hu_progress_stop(bar);
    err = w.at[0].error;
    out->n = collect(w.at, inputs->n, options->quiet);
    if (out->n == 0)
        return hu_error_exit_status(err.code);
    for (size_t i = 0; i < out->n; i++) {
        out->digests[i] = w.at[i].digest;
        out->findings[i] = w.at[i].findings;
        out->traces[i] = w.at[i].trace;
    }
    w.shown = hu_verdict_slowest(out->digests, out->n);
    if (options->draws && inputs->n > 1) {
        choose_drawn(&w, out->n);
        w.input.progress = NULL;
        hu_thread_each(out->n, threads, draw_again, &w);
    }
    for (size_t i = 0; options->draws && i < out->n; i++) {
        out->timelines[i] = w.at[i].timeline;
        out->arenas[i] = w.at[i].arena;
    }
    if (out->n > 1)
        rc = meet(out, &w, arena, &err);
    for (size_t i = 0; i < out->n; i++)
        hu_arena_free(w.at[i].graph_arena);
    if (rc < 0) {
        hu_ranks_free(out);
        return hu_command_fail(&err);
    }
    if (options->replays)
        hu_findings_compare(out->findings, out->digests, out->n, w.shown, &out->rendezvous, &out->job);
    return 0;
}

void hu_ranks_free(hu_ranks *ranks)
{
    for (size_t i = 0; i < ranks->n; i++) {
        hu_digest_free(ranks->digests[i]);
        hu_findings_free(ranks->findings[i]);
        hu_arena_free(ranks->arenas[i]);
        hu_trace_free(ranks->traces[i]);
    }
    ranks->n = 0;
}
