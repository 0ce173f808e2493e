/* SPDX-License-Identifier: Apache-2.0
 * job.c - prices what only several ranks together can tell.
 *
 * The interval spans both readings of what nothing explains (graph/replay.h), what the replay misses of the measured step,
 * and a share of the gain: that a rank would do as the others do is a guess about its cause, not a law.
 */
#include "advise/job.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "graph/joint_edit.h"

static const double MOST_ERROR_PCT = 5;         /* between replay and measurement, for a point to be given */
static const double FLOOR_POINTS = 0.5;
static const double FLOOR_SHARE = 0.1;

typedef struct {
    const hu_rendezvous *r;
    hu_digest *const    *digests;
    size_t               n;
    size_t              *digest_of;             /* by rank that is replayed */
    hu_joint_rank       *ranks;
    hu_costs           **costs;
    hu_joint            *joint;
    hu_joint_facts      *facts;
    hu_arena            *arena;
    hu_job              *out;
} work;

static const char *const keys[] = {
#define E(id, key, words) [HU_JOB_##id] = key,
    HU_JOB_EDITS(E)
#undef E
};

static const char *const sentences[] = {
#define E(id, key, words) [HU_JOB_##id] = words,
    HU_JOB_EDITS(E)
#undef E
};

const char *hu_job_edit_key(hu_job_edit e)
{
    return keys[e];
}

const char *hu_job_edit_words(hu_job_edit e)
{
    return sentences[e];
}

/* When a rank's window begins, on the clock of the reference: what its calls say of both is the shift between them. */
static int64_t origin_of(const work *w, size_t digest, const hu_graph *g)
{
    const hu_attendance *a = &w->r->at[digest];
    const int64_t base = w->digests[digest]->info.base_ns, most = INT64_C(1) << 61;
    int64_t       origin;

    if (__builtin_add_overflow(base, g->from_ns, &origin) || origin > most || origin < -most)
        return 0;
    return isnan(a->offset_ns) ? origin : origin - (int64_t)a->offset_ns;
}

static bool gather(work *w, const hu_graph *const *graphs)
{
    int64_t first = INT64_MAX;
    size_t  k = 0;

    w->digest_of = hu_arena_calloc(w->arena, w->n + 1, sizeof *w->digest_of);
    w->ranks = hu_arena_calloc(w->arena, w->n + 1, sizeof *w->ranks);
    w->costs = hu_arena_calloc(w->arena, w->n + 1, sizeof *w->costs);
    if (!w->digest_of || !w->ranks || !w->costs)
        return false;
    for (size_t i = 0; i < w->n; i++) {
        if (!graphs[i])
            continue;
        w->digest_of[k] = i;
        w->ranks[k] = (hu_joint_rank){graphs[i], &w->digests[i]->comm, w->r->met[i], origin_of(w, i, graphs[i])};
        first = w->ranks[k].origin_ns < first ? w->ranks[k].origin_ns : first;
        w->costs[k] = hu_costs_new(graphs[i], w->arena);
        if (!w->costs[k++])
            return false;
    }
    for (size_t i = 0; i < k; i++)
        w->ranks[i].origin_ns -= first;
    w->out->ranks = k;
    return true;
}

static void reset(work *w, hu_anchor anchor)
{
    for (size_t i = 0; i < w->out->ranks; i++) {
        hu_costs_reset(w->ranks[i].graph, w->costs[i]);
        w->costs[i]->anchor = anchor;
    }
}

static void apply(work *w, hu_job_edit edit, size_t rank)
{
    if (edit == HU_JOB_STRAGGLER)
        hu_joint_edit_straggler(w->facts, rank, w->costs[rank]);
    else if (edit == HU_JOB_BALANCE)
        hu_joint_edit_imbalance(w->facts, w->costs);
    else if (edit == HU_JOB_HICCUPS)
        hu_joint_edit_hiccups(w->facts, w->costs);
    else
        for (size_t r = 0; r < w->out->ranks; r++) {
            const hu_graph *g = w->ranks[r].graph;

            for (uint32_t i = 0; i < g->n_ops; i++)
                if (hu_joint_of_op(w->joint, r, i) != HU_NONE)
                    w->costs[r]->op[i] = 0;
            for (uint32_t i = 0; i < g->n_nodes; i++)
                if (hu_joint_of_node(w->joint, r, i) != HU_NONE)
                    w->costs[r]->node[i] = 0;
        }
}

static double gain_of(work *w, hu_job_edit edit, size_t rank, hu_anchor anchor, double *after_ns)
{
    double before;

    reset(w, anchor);
    before = hu_joint_run(w->joint, w->costs, NULL);
    apply(w, edit, rank);
    *after_ns = hu_joint_run(w->joint, w->costs, NULL);
    return 100 * (1 - *after_ns / before);
}

static void price(work *w, hu_job_edit edit, size_t rank)
{
    hu_job_price x = {.edit = edit, .digest = w->digest_of[rank]};
    double       unused, tied, half;

    tied = gain_of(w, edit, rank, HU_ANCHOR_HOST, &unused);
    x.gain_pct = gain_of(w, edit, rank, HU_ANCHOR_PREDECESSOR, &x.after_ns);
    half = hypot(FLOOR_SHARE * x.gain_pct, FLOOR_POINTS) +
           fabs(w->out->replayed_ns / w->out->seen_ns - 1) * fabs(x.gain_pct);
    x.low_pct = fmin(x.gain_pct, tied) - half;
    x.high_pct = fmax(x.gain_pct, tied) + half;
    w->out->price[w->out->n_prices++] = x;
}

static int by_gain(const void *left, const void *right)
{
    const hu_job_price *a = left, *b = right;

    if (a->gain_pct != b->gain_pct)
        return a->gain_pct > b->gain_pct ? -1 : 1;
    return a->edit != b->edit ? (a->edit < b->edit ? -1 : 1) : (a->digest > b->digest) - (a->digest < b->digest);
}

static void price_all(work *w)
{
    hu_stragglers s;

    hu_stragglers_measure(w->r, w->digests, w->n, &s);
    for (size_t i = 0, priced = 0; i < s.n && priced < HU_JOB_STRAGGLERS; i++)
        for (size_t k = 0; k < w->out->ranks; k++)
            if (w->digest_of[k] == s.at[i].digest) {
                price(w, HU_JOB_STRAGGLER, k);
                priced++;
            }
    price(w, HU_JOB_BALANCE, 0);
    if (w->out->ranks > 2)
        price(w, HU_JOB_HICCUPS, 0);
    price(w, HU_JOB_NETWORK, 0);
    qsort(w->out->price, w->out->n_prices, sizeof w->out->price[0], by_gain);
}

static int by_length(const void *left, const void *right)
{
    const hu_job_piece *a = left, *b = right;

    if (a->step_ns != b->step_ns)
        return a->step_ns > b->step_ns ? -1 : 1;
    return a->digest != b->digest ? (a->digest < b->digest ? -1 : 1) : (a->class > b->class) - (a->class < b->class);
}

static int find_path(work *w, hu_error *err)
{
    const size_t  n = w->out->ranks;
    hu_path      *paths = hu_arena_calloc(w->arena, n, sizeof *paths);
    hu_job_piece *all = hu_arena_calloc(w->arena, n * HU_CLASS_COUNT, sizeof *all);
    size_t        k = 0;
    double        total = 0, steps = 0;
    int           rc;

    if (!paths || !all)
        return hu_fail_memory(err);
    reset(w, HU_ANCHOR_PREDECESSOR);
    if ((rc = hu_joint_path(w->joint, w->costs, paths, err)) < 0)
        return rc;
    for (size_t r = 0; r < n; r++) {
        total += (double)paths[r].total_ns;
        steps += (double)(w->ranks[r].graph->n_marks - 1) / (double)n;
    }
    for (size_t r = 0; r < n; r++)
        for (hu_class c = 0; c < HU_CLASS_COUNT; c++)
            if (paths[r].by_class[c] > 0)
                all[k++] = (hu_job_piece){w->digest_of[r], c, (double)paths[r].by_class[c] / steps,
                                          (double)paths[r].by_class[c] / total};
    qsort(all, k, sizeof *all, by_length);
    w->out->n_pieces = k < HU_JOB_PIECES ? k : HU_JOB_PIECES;
    memcpy(w->out->piece, all, w->out->n_pieces * sizeof *all);
    return 0;
}

/* Which rank waits, and for whom. */
static void show_parked(work *w, const hu_parked *parked, size_t n)
{
    for (size_t i = 0; i < n && i < HU_JOB_PARKED; i++)
        w->out->parked[w->out->n_parked++] = (hu_parked){parked[i].met, w->digest_of[parked[i].waits],
                                                         w->digest_of[parked[i].missing]};
    snprintf(w->out->why_not, sizeof w->out->why_not,
             "the ranks enter their collectives in different orders: replayed, they wait for each other forever");
}

static int replay(work *w, const hu_graph *const *graphs, hu_error *err)
{
    const hu_parked *parked;
    size_t           n;
    double           seen = 0;

    if (!gather(w, graphs))
        return hu_fail_memory(err);
    if (w->out->ranks < 2) {
        snprintf(w->out->why_not, sizeof w->out->why_not, "fewer than two ranks could be replayed");
        return 0;
    }
    w->joint = hu_joint_new(w->ranks, w->out->ranks, w->arena, err);
    if (!w->joint && err->code != HU_ENOMEM) {
        snprintf(w->out->why_not, sizeof w->out->why_not, "%.190s", err->text);
        return 0;
    }
    if (!w->joint)
        return err->code;
    w->out->meetings = hu_joint_count(w->joint);
    parked = hu_joint_parked(w->joint, &n);
    if (n)
        show_parked(w, parked, n);
    else if (w->out->meetings == 0)
        snprintf(w->out->why_not, sizeof w->out->why_not, "no collective was found in the replayed steps of all its ranks");
    if (w->out->why_not[0])
        return 0;
    w->facts = hu_joint_facts_new(w->joint, w->ranks, w->out->ranks, w->arena);
    if (!w->facts)
        return hu_fail_memory(err);
    for (size_t i = 0; i < w->out->ranks; i++)
        seen += w->ranks[i].graph->step_ns / (double)w->out->ranks;
    w->out->seen_ns = seen;
    reset(w, HU_ANCHOR_PREDECESSOR);
    w->out->replayed_ns = hu_joint_run(w->joint, w->costs, NULL);
    w->out->is_trusted = 100 * fabs(w->out->replayed_ns / seen - 1) <= MOST_ERROR_PCT;
    w->out->is_replayed = true;
    price_all(w);
    return find_path(w, err);
}

int hu_job_measure(const hu_graph *const *graphs, hu_digest *const *digests, size_t n, const hu_rendezvous *r, hu_job *out,
                   hu_error *err)
{
    work w = {.r = r, .digests = digests, .n = n, .arena = hu_arena_new(), .out = out};
    int  rc;

    *out = (hu_job){0};
    rc = w.arena ? replay(&w, graphs, err) : hu_fail_memory(err);
    hu_arena_free(w.arena);
    return rc;
}
