/* SPDX-License-Identifier: Apache-2.0
 * read.c - one input: its digest, the graph of what waits for what, its findings. */
#include <stdio.h>

#include "across/roster.h"
#include "base/spare.h"
#include "ingest/node_tracks.h"
#include "ingest/open.h"
#include "job/filling.h"

enum {
    MOST_AT_ONCE = 1000000, /* slices: of a larger trace not both halves' working memory at once */
    WORTH_THREADS = 16384,  /* slices: of a smaller trace threads take longer to start than to answer */
};

/* What the trace shows and the graph of what waits for what do not need each other. */
typedef struct {
    const hu_filling *w;
    const hu_ground  *ground;
    hu_digest_options digest;
    int               threads; /* for both */
    hu_rank          *r;
    hu_simulation    *simulation;
    hu_error          why_not;
} halves;

static void measure_half(void *context, size_t half)
{
    halves *h = context;

    if (half == 0)
        h->r->digest = hu_digest_measure_on(h->ground, &h->digest, &h->r->error);
    else if (h->w->options->replays)
        h->simulation = hu_simulation_new_on(h->ground, &(hu_graph_options){.threads = h->threads}, &h->why_not);
}

/* What a trace does not say of itself its name may. */
static void name_rank(const hu_filling *w, hu_digest *d)
{
    if (d->info.rank < 0)
        d->info.rank = hu_roster_rank_of_name(d->info.file, w->inputs->n);
    if (d->info.host.n == 0)
        d->info.host = hu_roster_node_of_name(d->info.file);
}

/* A rank whose graph cannot be kept is not replayed with the others. */
static void keep_graph(hu_rank *r, const hu_simulation *s)
{
    r->graph_arena = hu_arena_new();
    r->graph = r->graph_arena ? hu_graph_copy(&s->graph, r->graph_arena) : NULL;
}

/* A recorded run without GPU work is merged while its graph is built, so that its working memory is small. */
static bool is_at_once(const hu_trace *t)
{
    size_t          n_stretches, n;
    const hu_track *tracks = hu_trace_tracks(t, &n);

    hu_trace_stretches(t, &n_stretches);
    if (hu_trace_slices(t).n <= MOST_AT_ONCE || n_stretches == 0)
        return hu_trace_slices(t).n <= MOST_AT_ONCE;
    for (size_t i = 0; i < n; i++)
        if (tracks[i].type == HU_TRACK_STREAM)
            return false;
    return true;
}

/* The graph takes longer than the questions and is of one piece, so it has a thread for itself. */
static void measure(halves *h)
{
    const bool is_beside = h->threads > 1 && is_at_once(h->ground->ask.trace);

    h->digest.threads = is_beside && h->w->options->replays ? h->threads - 1 : h->threads;
    hu_thread_each(2, is_beside ? h->threads : 1, measure_half, h);
}

/* Its trace, with what a monitor sampled meanwhile. */
static hu_trace *open_rank(const hu_filling *w, hu_rank *r)
{
    hu_builder *b = hu_open_builder(r->input, &w->input, &r->error);
    hu_trace   *t;
    int64_t     rank;

    if (!b)
        return NULL;
    if (w->options->node) {
        rank = hu_builder_info(b)->rank;
        if (rank < 0)
            rank = hu_roster_rank_of_name(hu_str_of(r->input), w->inputs->n);
        r->node = hu_node_tracks_add(w->options->node, rank, b);
    }
    if (w->executions)
        hu_executions_lay(w->executions, hu_str_of(r->input), b);
    t = hu_builder_freeze(b, &r->error);
    if (t && !w->options->keeps_traces)
        hu_trace_drop_unasked(t);
    return t;
}

void hu_rank_read(const hu_filling *w, size_t i)
{
    hu_rank   *r = &w->ranks[i];
    hu_trace  *t = open_rank(w, r);
    hu_ground *ground = t ? hu_ground_new(t, &w->digest.steps, &r->error) : NULL;
    halves     h = {.w = w, .ground = ground, .digest = w->digest, .threads = w->digest.threads, .r = r};

    if (t && hu_trace_slices(t).n < WORTH_THREADS)
        h.threads = 1;
    if (h.threads > 1)
        hu_spare_trim(); /* what reading it left */
    if (ground)
        measure(&h);
    if (r->digest)
        name_rank(w, r->digest);
    if (h.simulation)
        h.simulation->keeps_effects = w->inputs->n > 1 && w->inputs->n <= HU_JOINT_REPLAY_RANKS;
    if (h.threads > 1)
        hu_spare_trim(); /* what the questions left */
    if (r->digest && w->options->replays) {
        r->findings = hu_findings_measure(h.simulation, &h.why_not, r->digest, &r->error);
        if (!r->findings) {
            hu_digest_free(r->digest);
            r->digest = NULL;
        }
    }
    if (r->digest && h.simulation && w->inputs->n > 1 && w->inputs->n <= HU_JOINT_REPLAY_RANKS)
        keep_graph(r, h.simulation);
    if (r->digest && w->options->draws && w->inputs->n == 1)
        hu_rank_draw(w, r, t, h.simulation);
    if (t && !r->digest && !r->error.file[0])
        snprintf(r->error.file, sizeof r->error.file, "%s", r->input);
    hu_simulation_free(h.simulation);
    hu_ground_free(ground);
    if (r->digest && w->options->keeps_traces)
        r->trace = t;
    else
        hu_trace_free(t);
}

void hu_rank_free(hu_rank *rank)
{
    hu_digest_free(rank->digest);
    hu_findings_free(rank->findings);
    hu_arena_free(rank->graph_arena);
    hu_arena_free(rank->timeline_arena);
    hu_trace_free(rank->trace);
    rank->digest = NULL;
    rank->findings = NULL;
    rank->graph = NULL;
    rank->graph_arena = rank->timeline_arena = NULL;
    rank->trace = NULL;
}
