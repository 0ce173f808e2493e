/* SPDX-License-Identifier: Apache-2.0
 * job.c - one job for each file; results are sorted by rank, so that the order of arguments does not matter.
 *
 * In a crew each process does so with its share.  All but process 0 pack what they find and send it, so that process 0
 * has what it would have found itself; what is left for the others is to draw those of their ranks that it then chooses.
 */
#include "job/job.h"

#include <stdio.h>
#include <stdlib.h>

#include "analyze/digest_wire.h"
#include "across/roster.h"
#include "base/thread.h"
#include "job/chosen.h"
#include "cli/command.h"
#include "cli/progress.h"
#include "job/relay.h"
#include "cli/unread.h"
#include "ingest/open.h"

typedef struct {
    hu_digest   *digest;
    hu_findings *findings;
    hu_timeline  timeline;
    hu_arena    *arena; /* of the timeline; NULL: not drawn */
    hu_trace    *trace; /* where it is kept */
    hu_graph    *graph; /* to be replayed with the others'; NULL: not kept */
    hu_arena    *graph_arena;
    bool         is_chosen; /* to be drawn */
    size_t       file;      /* number of the input */
    hu_str       packed;    /* for process 0; lives in `arena` */
    hu_error     error;
} rank;

typedef struct {
    const hu_inputs        *inputs;
    const hu_ranks_options *options;
    hu_digest_options       digest;
    hu_input_options        input;
    rank                   *at;
    size_t                 *mine; /* files that this process reads; n_mine of them */
    size_t                  n_mine;
    size_t                  shown; /* whose findings the page shows */
} work;

enum {
    MOST_AT_ONCE = 1000000, /* slices: of a larger trace not both halves' working memory at once */
    MOST_DRAWN = 16,        /* ranks of a page, unless it holds all */
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
    hu_timeline_options how = {
        .most = w->options->draws_all ? 0 : HU_TIMELINE_SLICES, .pixels = w->options->pixels, .scenarios = scenarios};
    hu_arena *scratch = hu_arena_new();
    hu_error  err = {0};
    int       n = 0;

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
    if (r->digest && r->digest->info.host.n == 0)
        r->digest->info.host = hu_roster_node_of_name(r->digest->info.file);
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

/* Warns of what failed and lists it; what was read comes to the front. */
static int collect(const work *w, hu_arena *arena, hu_ranks *out, hu_error *err)
{
    rank  *at = w->at;
    size_t kept = 0;

    out->unread = w->inputs->unread;
    hu_unread_warn(&w->inputs->unread, w->options->quiet);
    for (size_t i = 0; i < w->inputs->n; i++) {
        if (at[i].digest) {
            at[kept++] = at[i];
            continue;
        }
        if (!w->options->quiet || w->inputs->n == 1)
            hu_command_fail(&at[i].error);
        if (hu_unread_add_error(&out->unread, arena, w->inputs->at[at[i].file], &at[i].error, err) < 0)
            return err->code;
    }
    if (kept > 1)
        qsort(at, kept, sizeof *at, by_rank);
    out->n = kept;
    for (size_t i = 0; i < kept; i++) {
        const hu_digest *d = at[i].digest;

        if (hu_partial_add(&out->partial, arena, d->info.file, &d->health.quality, err) < 0)
            return err->code;
    }
    return 0;
}

static size_t slices_of(const hu_digest *d)
{
    size_t n = 0;

    for (hu_kind k = 0; k < HU_KIND_COUNT; k++)
        n += (size_t)d->health.kinds[k];
    return n;
}

static bool is_mine(const work *w, const rank *r)
{
    return !w->inputs->reader || w->inputs->reader[r->file] == hu_crew_rank(w->options->crew);
}

/* A trace that was not kept is gone when its rank has been measured; those that are drawn are read once more. */
static void draw_again(void *context, size_t i)
{
    const work    *w = context;
    rank          *r = &w->at[i];
    hu_error       err = {0};
    hu_trace      *t = r->trace;
    hu_simulation *s = NULL;

    if (!t && r->is_chosen && is_mine(w, r))
        t = hu_open_trace(w->inputs->at[r->file], &w->input, &err);
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

/* All ranks replayed together; of more than are kept in memory, some that are read again. */
static int replay(hu_ranks *ranks, const work *w, int threads, hu_arena *arena, hu_error *err)
{
    const size_t     n = ranks->n;
    const hu_graph **graphs = hu_arena_calloc(arena, n, sizeof *graphs);
    size_t          *files = hu_arena_calloc(arena, n, sizeof *files);
    hu_chosen        chosen = {{0}};
    int              rc;

    if (!graphs || !files)
        return hu_fail_memory(err);
    for (size_t i = 0; i < n; i++) {
        graphs[i] = w->at[i].graph;
        files[i] = w->at[i].file;
    }
    if (w->inputs->n > HU_JOB_RANKS)
        hu_chosen_read(&(hu_chosen_options){w->inputs, files, ranks->digests, n, w->shown, &ranks->rendezvous,
                                            w->options->limits, w->digest.steps, threads},
                       graphs, &chosen);
    rc = hu_job_measure(graphs, ranks->digests, n, &ranks->rendezvous, &ranks->job, err);
    hu_chosen_free(&chosen);
    return rc;
}

static int meet(hu_ranks *ranks, const work *w, int threads, hu_arena *arena, hu_error *err)
{
    hu_arena *scratch = hu_arena_new();
    int       rc = scratch ? hu_rendezvous_measure(ranks->digests, ranks->n, arena, scratch, &ranks->rendezvous, err)
                           : hu_fail_memory(err);

    hu_arena_free(scratch);
    return rc == 0 && w->options->replays ? replay(ranks, w, threads, arena, err) : rc;
}

/* Fails only for lack of memory. */
static bool share_out(work *w, hu_arena *arena)
{
    const size_t n = w->inputs->n;

    w->at = hu_arena_calloc(arena, n + 1, sizeof *w->at);
    w->mine = hu_arena_calloc(arena, n + 1, sizeof *w->mine);
    if (!w->at || !w->mine)
        return false;
    for (size_t i = 0; i < n; i++) {
        w->at[i].file = i;
        if (is_mine(w, &w->at[i]))
            w->mine[w->n_mine++] = i;
    }
    return true;
}

/* What is known of a rank becomes bytes, and goes itself. */
static void pack(rank *r)
{
    const hu_relay what = {r->digest, r->findings, r->graph, r->timeline, r->error};
    hu_arena      *arena = hu_arena_new();
    hu_error       unused;

    if (!arena || hu_relay_pack(&what, arena, &r->packed, &unused) < 0)
        r->packed = (hu_str){0};
    hu_digest_free(r->digest);
    hu_findings_free(r->findings);
    hu_arena_free(r->graph_arena);
    hu_arena_free(r->arena);
    r->digest = NULL;
    r->findings = NULL;
    r->graph = NULL;
    r->graph_arena = NULL;
    r->arena = arena;
}

/*
 * The arenas of a digest that was just measured are mostly room that its questions did not need; packed and unpacked it
 * takes a third to a fifth of the memory, which counts where there are hundreds.  Where that fails it stays as it is.
 */
static void shrink(rank *r)
{
    hu_arena  *arena = hu_arena_new();
    hu_error   unused;
    hu_str     bytes;
    hu_digest *small = NULL;

    if (arena && hu_digest_pack(r->digest, arena, &bytes, &unused) == 0)
        small = hu_digest_unpack(bytes, &unused);
    if (small) {
        small->findings = r->findings;
        hu_digest_free(r->digest);
        r->digest = small;
    }
    hu_arena_free(arena);
}

static void read_mine(void *context, size_t k)
{
    const work *w = context;
    rank       *r = &w->at[w->mine[k]];

    read_one(context, w->mine[k]);
    if (!hu_crew_is_first(w->options->crew))
        pack(r);
    else if (r->digest && w->inputs->n > HU_JOB_RANKS)
        shrink(r);
}

/* A piece of results that cannot be made or read: process 0 cannot go on without it, and nobody without process 0. */
static _Noreturn void give_up(const work *w, hu_error *err)
{
    if (err->code == 0)
        hu_fail_memory(err);
    hu_crew_give_up(w->options->crew, err);
}

static void send_mine(work *w)
{
    for (size_t k = 0; k < w->n_mine; k++) {
        hu_error err = {0};

        if (!w->at[w->mine[k]].packed.p)
            give_up(w, &err);
        hu_crew_send(w->options->crew, 0, w->at[w->mine[k]].packed);
    }
}

/* Into `arena` comes the timeline, where there is one. */
static void receive(const work *w, int from, hu_arena *arena, hu_relay *out)
{
    hu_arena *scratch = hu_arena_new();
    hu_error  err = {0};
    hu_str    bytes;

    if (!scratch || !arena || hu_crew_receive(w->options->crew, from, scratch, &bytes, &err) < 0 ||
        hu_relay_unpack(bytes, arena, out, &err) < 0)
        give_up(w, &err);
    hu_arena_free(scratch);
}

/* Process 0: what the others read, as if it had been read here. */
static void receive_others(work *w)
{
    for (int p = 1; p < hu_crew_size(w->options->crew); p++) {
        for (size_t i = 0; i < w->inputs->n; i++) {
            rank    *r = &w->at[i];
            hu_relay found;

            if (w->inputs->reader[i] != p)
                continue;
            r->graph_arena = hu_arena_new();
            receive(w, p, r->graph_arena, &found);
            r->digest = found.digest;
            r->findings = found.findings;
            r->graph = found.graph;
            r->timeline = found.timeline;
            r->error = found.error;
            if (r->graph)
                continue;
            if (r->timeline.bytes.n)
                r->arena = r->graph_arena;
            else
                hu_arena_free(r->graph_arena);
            r->graph_arena = NULL;
        }
    }
}

/* Of the first `n` ranks those that process p reads and the page shows. */
static void ask_to_draw(const work *w, size_t n, int p)
{
    hu_arena     *arena = hu_arena_new();
    hu_relay_wish wish = {.shown = SIZE_MAX};
    hu_error      err = {0};
    hu_str        bytes;

    if (arena)
        wish.files = hu_arena_alloc(arena, (n + 1) * sizeof *wish.files);
    for (size_t i = 0; i < n && wish.files; i++) {
        if (!w->at[i].is_chosen || w->inputs->reader[w->at[i].file] != p)
            continue;
        if (i == w->shown)
            wish.shown = w->at[i].file;
        wish.files[wish.n++] = w->at[i].file;
    }
    if (!wish.files || hu_relay_pack_wish(&wish, arena, &bytes, &err) < 0)
        give_up(w, &err);
    hu_crew_send(w->options->crew, p, bytes);
    hu_arena_free(arena);
}

static void receive_drawn(work *w, size_t n, int p)
{
    for (size_t i = 0; i < n; i++) {
        rank    *r = &w->at[i];
        hu_relay found;

        if (!r->is_chosen || w->inputs->reader[r->file] != p)
            continue;
        r->arena = hu_arena_new();
        receive(w, p, r->arena, &found);
        r->timeline = found.timeline;
    }
}

/* Process 0 draws its own and lets the others draw theirs. */
static void draw_chosen(work *w, size_t n, int threads)
{
    const int size = hu_crew_size(w->options->crew);

    for (int p = 1; p < size; p++)
        ask_to_draw(w, n, p);
    w->input.progress = NULL;
    hu_thread_each(n, threads, draw_again, w);
    for (int p = 1; p < size; p++)
        receive_drawn(w, n, p);
}

/* The others: whatever process 0 wishes drawn, in the order in which it wishes it. */
static void draw_wished(work *w, int threads)
{
    hu_arena     *arena = hu_arena_new();
    hu_relay_wish wish;
    hu_error      err = {0};
    hu_str        bytes;

    if (!arena || hu_crew_receive(w->options->crew, 0, arena, &bytes, &err) < 0 ||
        hu_relay_unpack_wish(bytes, arena, &wish, &err) < 0)
        give_up(w, &err);
    w->shown = wish.shown;
    w->input.progress = NULL;
    for (size_t k = 0; k < wish.n; k++) {
        rank    *r = &w->at[wish.files[k] < w->inputs->n ? wish.files[k] : w->inputs->n]; /* one more, empty */
        hu_relay known;

        if (!r->packed.p || hu_relay_unpack(r->packed, arena, &known, &err) < 0)
            give_up(w, &err);
        hu_arena_free(r->arena);
        *r = (rank){.file = r->file, .is_chosen = true, .digest = known.digest, .findings = known.findings};
    }
    hu_thread_each(w->inputs->n, threads, draw_again, w);
    for (size_t k = 0; k < wish.n; k++) {
        rank *r = &w->at[wish.files[k]];

        hu_digest_free(r->digest);
        hu_findings_free(r->findings);
        r->digest = NULL;
        r->findings = NULL;
        pack(r);
        if (!r->packed.p)
            give_up(w, &err);
        hu_crew_send(w->options->crew, 0, r->packed);
    }
    hu_arena_free(arena);
}

static int finish_share(work *w, int threads)
{
    send_mine(w);
    if (w->options->draws && w->inputs->n > 1)
        draw_wished(w, threads);
    for (size_t k = 0; k < w->n_mine; k++)
        hu_arena_free(w->at[w->mine[k]].arena);
    return HU_RANKS_SENT;
}

int hu_ranks_read(const hu_inputs *inputs, const hu_ranks_options *options, hu_arena *arena, hu_ranks *out)
{
    const int        threads = hu_crew_threads(options->crew);
    const bool       is_first = hu_crew_is_first(options->crew);
    hu_progress      progress = {.total_bytes = inputs->bytes};
    work             w = {.inputs = inputs, .options = options, .digest = options->digest};
    bool             few;
    hu_progress_bar *bar;
    hu_error         err = {0}, unlisted = {0};
    int              rc = 0;

    *out = (hu_ranks){.digests = hu_arena_calloc(arena, inputs->n + 1, sizeof *out->digests),
                      .findings = hu_arena_calloc(arena, inputs->n + 1, sizeof *out->findings),
                      .timelines = hu_arena_calloc(arena, inputs->n + 1, sizeof *out->timelines),
                      .arenas = hu_arena_calloc(arena, inputs->n + 1, sizeof *out->arenas),
                      .traces = hu_arena_calloc(arena, inputs->n + 1, sizeof *out->traces)};
    if (!share_out(&w, arena) || !out->digests || !out->findings || !out->timelines || !out->arenas || !out->traces) {
        hu_fail_memory(&err);
        if (options->crew)
            give_up(&w, &err);
        return hu_command_fail(&err);
    }
    few = w.n_mine < (size_t)threads;
    w.input = (hu_input_options){options->limits, threads > 1 && few, &progress};
    w.digest.threads = few ? threads : 1;
    bar = hu_progress_start(&progress, options->quiet || !is_first);
    hu_thread_each(w.n_mine, threads, read_mine, &w);
    if (!is_first)
        return finish_share(&w, threads);
    receive_others(&w);
    hu_progress_stop(bar);
    err = w.at[0].error;
    if (collect(&w, arena, out, &unlisted) < 0) {
        if (options->crew)
            give_up(&w, &unlisted);
        return hu_command_fail(&unlisted);
    }
    if (out->n == 0) {
        if (options->draws && inputs->n > 1)
            draw_chosen(&w, 0, threads); /* the others wait for a word */
        return hu_error_exit_status(err.code);
    }
    for (size_t i = 0; i < out->n; i++) {
        out->digests[i] = w.at[i].digest;
        out->findings[i] = w.at[i].findings;
        out->traces[i] = w.at[i].trace;
    }
    w.shown = hu_verdict_slowest(out->digests, out->n);
    if (options->draws && inputs->n > 1) {
        choose_drawn(&w, out->n);
        draw_chosen(&w, out->n, threads);
    }
    for (size_t i = 0; options->draws && i < out->n; i++) {
        out->timelines[i] = w.at[i].timeline;
        out->arenas[i] = w.at[i].arena;
    }
    if (out->n > 1)
        rc = meet(out, &w, threads, arena, &err);
    for (size_t i = 0; i < out->n; i++)
        hu_arena_free(w.at[i].graph_arena);
    if (rc < 0) {
        hu_ranks_free(out);
        return hu_command_fail(&err);
    }
    if (options->replays)
        hu_findings_compare(out->findings, out->digests, out->n, w.shown, &out->rendezvous, &out->job);
    for (size_t i = 0; options->replays && i < out->n; i++)
        hu_findings_doubt(out->findings[i], &out->digests[i]->health.quality);
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
