/* SPDX-License-Identifier: Apache-2.0
 * joint_replay.c - prices what only several ranks together can tell. */
#include "advise/joint_replay.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "advise/bubble.h"
#include "analyze/links.h"

static const double MOST_ERROR_PCT = 5; /* between replay and measurement, for a point to be given */
static const double WORST_GAIN_PCT = 1; /* by which the best edit makes the job slower */
static const double LEAST_BUCKETS = 4;
static const double LEAST_OF_LINK = 1.0 / 3; /* that a large collective should reach, generously */
static const double USUAL_OF_LINK = 0.7;     /* that it does reach */
static const double LATENCY_NS = 100000;     /* of any collective within a machine, generously */

enum { LARGE_BYTES = 8000000 };

typedef struct {
    const hu_rendezvous *r;
    const hu_late_ranks *late;
    hu_digest *const    *digests;
    size_t               n;
    size_t              *digest_of; /* by rank that is replayed */
    hu_joint_rank       *ranks;
    hu_joint            *joint;
    hu_joint_pricer     *pricer;
    hu_joint_pricers    *pricers; /* it, and its copies */
    int                  threads;
    double              *step_ns;                        /* by rank, to work in */
    size_t               edited[HU_JOINT_REPLAY_PRICES]; /* the rank, of out->price[] */
    hu_arena            *arena;
    hu_joint_replay     *out;
} work;

/* When a rank's window begins, on the clock of the reference. */
static int64_t origin_of(const hu_rendezvous *r, hu_digest *const *digests, size_t i, const hu_graph *g)
{
    const int64_t most = INT64_C(1) << 61;
    int64_t       origin;

    if (__builtin_add_overflow(digests[i]->info.base_ns, g->from_ns, &origin) || origin > most || origin < -most)
        return 0;
    return hu_clocks_time(&r->clocks, i, origin);
}

size_t hu_joint_replay_list(const hu_graph *const *graphs, hu_digest *const *digests, size_t n, const hu_rendezvous *r,
                            hu_joint_rank *out, size_t *digest_of)
{
    int64_t first = INT64_MAX;
    size_t  k = 0;

    for (size_t i = 0; i < n; i++) {
        if (!graphs[i])
            continue;
        if (digest_of)
            digest_of[k] = i;
        out[k] = (hu_joint_rank){.graph = graphs[i],
                                 .comm = &digests[i]->comm,
                                 .met = r->met[i],
                                 .origin_ns = origin_of(r, digests, i, graphs[i]),
                                 .has_clock = !isnan(r->clocks.at[i].offset_ns)};
        first = out[k].origin_ns < first ? out[k].origin_ns : first;
        k++;
    }
    for (size_t i = 0; i < k; i++)
        out[i].origin_ns -= first;
    return k;
}

/* An edit to be priced. */
static void ask(work *w, hu_edit_kind kind, size_t rank)
{
    w->edited[w->out->n_prices] = rank;
    w->out->price[w->out->n_prices++] = (hu_joint_replay_price){.edit = kind, .digest = w->digest_of[rank]};
}

static void price(hu_joint_pricer *pricer, const hu_edit *edits, size_t n, hu_joint_replay_price *out)
{
    hu_price p;

    hu_joint_price_edits(pricer, edits, n, &p);
    out->after_ns = p.after_ns;
    out->gain_pct = p.gain_pct;
    out->low_pct = p.low_pct;
    out->high_pct = p.high_pct;
    out->most_pct = p.free_pct;
}

static int by_gain(const void *left, const void *right)
{
    const hu_joint_replay_price *a = left, *b = right;

    if (a->gain_pct != b->gain_pct)
        return a->gain_pct > b->gain_pct ? -1 : 1;
    return a->edit != b->edit ? (a->edit < b->edit ? -1 : 1) : (a->digest > b->digest) - (a->digest < b->digest);
}

/* Does the job reduce gradients in several pieces, and nothing else that waits for each piece? */
static bool has_buckets(const work *w)
{
    const hu_parallelism *p = &w->digests[w->digest_of[0]]->parallelism;

    return p->buckets >= LEAST_BUCKETS && isnan(p->layers) && isnan(p->units) && isnan(p->expert_layers) && p->stages < 2;
}

/* The ranks that others wait for most, and the one that is worth most: in a pipeline these may be others. */
static void ask_stragglers(work *w)
{
    const size_t worst = hu_joint_pricers_worst(w->pricers, w->out->ranks, w->step_ns);
    size_t       asked = 1;

    ask(w, HU_EDIT_STRAGGLER, worst);
    for (size_t i = 0; i < w->late->n && asked < HU_JOINT_REPLAY_STRAGGLERS; i++)
        for (size_t k = 0; k < w->out->ranks; k++)
            if (k != worst && w->digest_of[k] == w->late->at[i].digest) {
                ask(w, HU_EDIT_STRAGGLER, k);
                asked++;
            }
}

/*
 * A collective that takes most of what transfers take, is so large that latency is no matter, and stays below a third of the
 * links although nobody waits.  Only within one machine: what joins machines is in no trace.
 */
static bool find_slow_link(work *w, hu_slow_link *out)
{
    const hu_transfers *t = &w->r->transfers;

    for (size_t i = 0; i < t->n; i++) {
        const hu_transfer *x = &t->at[i];
        const double       wire = (double)x->size.bytes * x->size.factor;

        if (x->size.link != HU_LINK_HOST || x->size.bytes < LARGE_BYTES || !isfinite(wire) || !(x->size.least_ns > 0) ||
            hu_comm_is_message((unsigned)x->size.kind))
            continue;
        *out = (hu_slow_link){.what = x, .gbps = wire / x->size.least_ns};
        out->peak_gbps = hu_links_gbps(w->digests[w->digest_of[0]]->device, x->size.group_size, &out->link);
        if (out->peak_gbps > 0 && LATENCY_NS + wire / out->peak_gbps < LEAST_OF_LINK * x->size.least_ns)
            return true;
    }
    *out = (hu_slow_link){0};
    return false;
}

static void price_slow_link(hu_joint_pricer *pricer, hu_slow_link *s)
{
    hu_edit edits[] = {{.kind = HU_EDIT_BANDWIDTH}, {.kind = HU_EDIT_LATENCY}};

    for (size_t i = 0; i < HU_COUNT(edits); i++)
        edits[i].factor = s->what->size.least_ns /
                          (LATENCY_NS + s->gbps * s->what->size.least_ns / (USUAL_OF_LINK * s->peak_gbps));
    s->price.edit = HU_EDIT_BANDWIDTH;
    price(pricer, edits, HU_COUNT(edits), &s->price);
}

/* One of the edits that were asked for, or behind them the slow link. */
static void price_one(void *context, hu_joint_pricer *pricer, size_t i)
{
    work                  *w = context;
    hu_joint_replay_price *x = &w->out->price[i];

    if (i == w->out->n_prices)
        price_slow_link(pricer, &w->out->slow_link);
    else
        price(pricer,
              &(hu_edit){.kind = x->edit,
                         .factor = x->edit == HU_EDIT_BUCKET ? (double)INFINITY : 2,
                         .rank = (int64_t)w->edited[i]},
              1, x);
}

static void price_all(work *w)
{
    ask_stragglers(w);
    ask(w, HU_EDIT_BALANCE, 0);
    ask(w, HU_EDIT_HICCUPS, 0);
    ask(w, HU_EDIT_NETWORK, 0);
    ask(w, HU_EDIT_BANDWIDTH, 0);
    ask(w, HU_EDIT_LATENCY, 0);
    if (has_buckets(w))
        ask(w, HU_EDIT_BUCKET, 0);
    hu_joint_pricers_each(w->pricers, w->out->n_prices + find_slow_link(w, &w->out->slow_link), price_one, w);
    qsort(w->out->price, w->out->n_prices, sizeof w->out->price[0], by_gain);
}

/* Of the time that ranks are in communication, how much is in collectives that join them. */
static void find_joined(const work *w)
{
    double joined = 0, all = 0, steps = 0;

    for (size_t r = 0; r < w->out->ranks; r++) {
        const hu_graph *g = w->ranks[r].graph;

        steps += (double)(g->n_marks - 1);
        for (uint32_t i = 0; i < g->n_ops; i++)
            if (g->op[i].class == HU_CLASS_COMM && g->op[i].step >= 0) {
                all += (double)g->op[i].cost_ns;
                joined += hu_joint_of_op(w->joint, r, i) != HU_NONE ? (double)g->op[i].cost_ns : 0;
            }
        for (uint32_t i = 0; i < g->n_nodes; i++)
            if (g->node[i].class == HU_CLASS_HOST_COMM) {
                all += (double)g->node[i].cost_ns;
                joined += hu_joint_of_node(w->joint, r, i) != HU_NONE ? (double)g->node[i].cost_ns : 0;
            }
    }
    w->out->joined_share = all > 0 ? joined / all : (double)NAN;
    w->out->unjoined_step_ns = steps > 0 ? (all - joined) / steps : 0;
}

/* A replay that is off, or says that everything would be slower, misses what holds this job up. */
static void judge(work *w)
{
    hu_joint_replay *out = w->out;
    const double     off = 100 * fabs(out->replayed_ns / out->seen_ns - 1);

    out->is_trusted = off <= MOST_ERROR_PCT && out->price[0].gain_pct > -WORST_GAIN_PCT;
    if (off > MOST_ERROR_PCT)
        snprintf(out->why_no_price, sizeof out->why_no_price, "it is %.1f %% off the measured step", off);
    else if (!out->is_trusted)
        snprintf(out->why_no_price, sizeof out->why_no_price, "every edit would make the job slower");
}

static int by_length(const void *left, const void *right)
{
    const hu_joint_replay_piece *a = left, *b = right;

    if (a->step_ns != b->step_ns)
        return a->step_ns > b->step_ns ? -1 : 1;
    return a->digest != b->digest ? (a->digest < b->digest ? -1 : 1) : (a->class > b->class) - (a->class < b->class);
}

static int find_path(work *w, hu_error *err)
{
    const size_t           n = w->out->ranks;
    hu_path               *paths = hu_arena_calloc(w->arena, n, sizeof *paths);
    hu_joint_replay_piece *all = hu_arena_calloc(w->arena, n * HU_CLASS_COUNT, sizeof *all);
    size_t                 k = 0;
    double                 total = 0, steps = 0;
    int                    rc;

    if (!paths || !all)
        return hu_fail_memory(err);
    if ((rc = hu_joint_path(w->joint, hu_joint_pricer_costs(w->pricer), paths, err)) < 0)
        return rc;
    for (size_t r = 0; r < n; r++) {
        total += (double)paths[r].total_ns;
        steps += (double)(w->ranks[r].graph->n_marks - 1) / (double)n;
    }
    for (size_t r = 0; r < n; r++)
        for (hu_class c = 0; c < HU_CLASS_COUNT; c++)
            if (paths[r].by_class[c] > 0)
                all[k++] = (hu_joint_replay_piece){w->digest_of[r], c, (double)paths[r].by_class[c] / steps,
                                                   (double)paths[r].by_class[c] / total};
    qsort(all, k, sizeof *all, by_length);
    w->out->n_pieces = k < HU_JOINT_REPLAY_PIECES ? k : HU_JOINT_REPLAY_PIECES;
    memcpy(w->out->piece, all, w->out->n_pieces * sizeof *all);
    return 0;
}

/* Which rank waits, and for whom. */
static void show_parked(work *w, const hu_parked *parked, size_t n)
{
    for (size_t i = 0; i < n && i < HU_JOINT_REPLAY_PARKED; i++)
        w->out->parked[w->out->n_parked++] = (hu_parked){parked[i].met, w->digest_of[parked[i].waits],
                                                         w->digest_of[parked[i].missing]};
    snprintf(w->out->why_not, sizeof w->out->why_not,
             "the ranks enter their collectives in different orders: the replay would deadlock");
}

static int replay(work *w, const hu_graph *const *graphs, hu_error *err)
{
    const hu_parked *parked;
    size_t           n;

    w->digest_of = hu_arena_calloc(w->arena, w->n + 1, sizeof *w->digest_of);
    w->ranks = hu_arena_calloc(w->arena, w->n + 1, sizeof *w->ranks);
    w->step_ns = hu_arena_alloc(w->arena, (w->n + 1) * sizeof *w->step_ns);
    if (!w->digest_of || !w->ranks || !w->step_ns)
        return hu_fail_memory(err);
    w->out->ranks = hu_joint_replay_list(graphs, w->digests, w->n, w->r, w->ranks, w->digest_of);
    if (w->out->ranks < 2) {
        snprintf(w->out->why_not, sizeof w->out->why_not, "fewer than two ranks can be replayed");
        return 0;
    }
    w->joint = hu_joint_new(w->ranks, w->out->ranks, w->arena, err);
    if (!w->joint && err->code != HU_ENOMEM) {
        snprintf(w->out->why_not, sizeof w->out->why_not, "%.190s", err->text);
        return 0;
    }
    if (!w->joint)
        return err->code;
    w->out->messages = hu_joint_messages(w->joint);
    w->out->meetings = hu_joint_count(w->joint) - w->out->messages;
    parked = hu_joint_parked(w->joint, &n);
    if (n)
        show_parked(w, parked, n);
    else if (hu_joint_count(w->joint) == 0)
        snprintf(w->out->why_not, sizeof w->out->why_not,
                 "no collective and no message is common to the replayed steps of its ranks");
    if (w->out->why_not[0])
        return 0;
    w->pricer = hu_joint_pricer_new(w->joint, w->ranks, NULL, w->out->ranks, w->r->transfers.fits, w->r->transfers.n_fits,
                                    w->arena);
    if (!w->pricer)
        return hu_fail_memory(err);
    hu_joint_pricer_drain(w->pricer, hu_bubble_drain(&w->r->messages, w->digests, w->n));
    w->pricers = hu_joint_pricers_new(w->pricer, w->threads, w->arena);
    if (!w->pricers)
        return hu_fail_memory(err);
    w->out->seen_ns = hu_joint_pricer_seen_ns(w->pricer);
    w->out->replayed_ns = hu_joint_pricer_step_ns(w->pricer);
    find_joined(w);
    w->out->is_replayed = true;
    w->out->has_same_steps = hu_joint_marks(w->joint) > 0;
    w->out->worst_pct = hu_joint_pricer_worst_pct(w->pricer);
    price_all(w);
    judge(w);
    if (w->out->is_trusted &&
        hu_joint_causes_measure(w->pricers, w->ranks, w->out->ranks, w->arena, &w->out->causes, err) < 0)
        return err->code;
    return find_path(w, err);
}

int hu_joint_replay_measure(const hu_graph *const *graphs, hu_digest *const *digests, size_t n, const hu_rendezvous *r,
                            const hu_late_ranks *late, int threads, hu_joint_replay *out, hu_error *err)
{
    work w = {.r = r, .late = late, .digests = digests, .n = n, .threads = threads, .arena = hu_arena_new(), .out = out};
    int  rc;

    *out = (hu_joint_replay){0};
    rc = w.arena ? replay(&w, graphs, err) : hu_fail_memory(err);
    hu_arena_free(w.arena);
    return rc;
}

double hu_joint_replay_network_pct(const hu_joint_replay *job)
{
    for (size_t i = 0; i < job->n_prices; i++)
        if (job->price[i].edit == HU_EDIT_NETWORK)
            return fmax(0, job->price[i].gain_pct);
    return 0;
}
