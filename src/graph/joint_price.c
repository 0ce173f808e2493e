/* SPDX-License-Identifier: Apache-2.0
 * joint_price.c - replays of all ranks with and without an edit.
 *
 * The interval spans both readings of what nothing explains (graph/replay.h), the gaps that devices may need where none was
 * seen, what the replay misses of the measured step, the steps' own scatter, and a share of the gain: that a rank would do
 * as the others do is a guess about its cause, not a law.  It ends where nothing more can be gained: no rank's step is
 * shorter than its own work, whoever it no longer waits for.
 */
#include "graph/joint_price.h"

#include <assert.h>
#include <math.h>

#include "graph/bound.h"

static const double FLOOR_POINTS = 0.5; /* half of an interval is never below this */

/* Of devices whose gaps were not seen (calibrate.c). */
typedef enum { GAPS_USUAL, GAPS_LONG, GAPS_NONE } gap_reading;

struct hu_joint_pricer {
    hu_joint                   *joint;
    const hu_joint_rank        *ranks;
    const hu_edit_facts *const *facts;
    hu_joint_facts             *between;
    hu_joint_comm              *comm;
    hu_costs                  **costs, **as_was;
    int64_t                    *busy;    /* by stream of one rank, to work in */
    uint32_t                    streams; /* of any rank, at most */
    double                     *work_ns; /* by rank: hu_bound_work_ns */
    hu_bound_base              *base;    /* by rank, without communication: of its time nobody knows what is waiting */
    size_t                      n;
    double                      drain;           /* hu_joint_pricer_drain */
    double                      worst_pct;       /* hu_joint_pricer_worst_pct */
    bool                        is_tied;         /* does any frozen delay make a difference between the two anchors */
    bool                        has_unseen_gaps; /* of any rank's device */
    gap_reading                 gaps;
    double                      seen_ns, mean_ns;      /* mean step over ranks, measured and replayed */
    double                      step_ns, tied_step_ns; /* of the job, replayed (hu_joint_run) */
    int64_t                    *before, *after;        /* ends of its steps */
};

static void reset(hu_joint_pricer *p, hu_anchor anchor)
{
    for (size_t r = 0; r < p->n; r++) {
        const hu_calibration *c = &p->ranks[r].graph->calibration;

        hu_costs_copy(p->ranks[r].graph, p->as_was[r], p->costs[r]);
        p->costs[r]->anchor = anchor;
        if (!c->is_gap_seen && p->gaps != GAPS_USUAL)
            p->costs[r]->gap_more_ns = (p->gaps == GAPS_LONG ? c->most_gap_ns : 0) - c->gap_ns;
    }
}

/* What is changed: edits, and the effects of others that were made when there was a trace. */
typedef struct {
    const hu_edit                *edits;
    size_t                        n;
    const hu_joint_effect *const *effects;
    size_t                        n_effects;
    hu_effect_flavour             flavour; /* of the effects */
} change;

/* The ranks' steps, one after the other: how far from what was measured the worst of them is. */
static double find_worst_pct(const hu_joint_pricer *p)
{
    const size_t n = p->ranks[0].graph->n_marks;
    double       worst = 0;

    for (size_t k = 0; k + 1 < n; k++) {
        double seen = 0, replayed = 0;

        for (size_t r = 0; r < p->n; r++) {
            const hu_graph *g = p->ranks[r].graph;
            const int64_t  *ends = hu_joint_ends_ns(p->joint, r);

            if (g->n_marks != n)
                return 100 * fabs(p->mean_ns / p->seen_ns - 1);
            seen += (double)(g->mark[k + 1].end_ns - g->mark[k].end_ns);
            replayed += (double)(ends[k + 1] - ends[k]);
        }
        worst = seen > 0 ? fmax(worst, 100 * fabs(replayed / seen - 1)) : worst;
    }
    return worst;
}

static bool find_bounds(hu_joint_pricer *p, hu_arena *arena)
{
    static const unsigned comm = HU_CLASS_BIT(COMM) | HU_CLASS_BIT(HOST_COMM);
    hu_arena             *scratch = hu_arena_new();
    bool                  ok = scratch != NULL;

    p->work_ns = hu_arena_calloc(arena, p->n + 1, sizeof *p->work_ns);
    p->base = hu_arena_calloc(arena, p->n + 1, sizeof *p->base);
    ok = ok && p->work_ns && p->base;
    for (size_t r = 0; ok && r < p->n; r++) {
        const hu_graph *g = p->ranks[r].graph;

        p->work_ns[r] = hu_bound_work_ns(g, scratch);
        ok = !isnan(p->work_ns[r]) && hu_bound_base_init(&p->base[r], g, p->as_was[r], comm, arena);
        p->streams = g->n_streams > p->streams ? g->n_streams : p->streams;
    }
    hu_arena_free(scratch);
    return ok;
}

/* What replays write.  False: no memory. */
static bool make_room(hu_joint_pricer *p, hu_arena *arena)
{
    p->busy = hu_arena_alloc(arena, ((size_t)p->streams + 1) * sizeof *p->busy);
    p->after = hu_arena_alloc(arena, (hu_joint_marks(p->joint) + 1) * sizeof *p->after);
    p->costs = hu_arena_calloc(arena, p->n + 1, sizeof *p->costs);
    if (!p->busy || !p->after || !p->costs)
        return false;
    for (size_t r = 0; r < p->n; r++)
        if (!(p->costs[r] = hu_costs_like(p->ranks[r].graph, p->as_was[r], arena)))
            return false;
    return true;
}

hu_joint_pricer *hu_joint_pricer_fork(const hu_joint_pricer *p, hu_arena *arena)
{
    hu_joint_pricer *fork = hu_arena_alloc(arena, sizeof *fork);

    assert(!p->facts);
    if (!fork)
        return NULL;
    *fork = *p;
    fork->joint = hu_joint_fork(p->joint, arena);
    fork->between = hu_joint_facts_fork(p->between, arena);
    fork->comm = hu_joint_comm_fork(p->comm, arena);
    return fork->joint && fork->between && fork->comm && make_room(fork, arena) ? fork : NULL;
}

hu_joint_pricer *hu_joint_pricer_new(hu_joint *j, const hu_joint_rank *ranks, const hu_edit_facts *const *facts, size_t n,
                                     const hu_comm_fit *fits, size_t n_fits, hu_arena *arena)
{
    hu_joint_pricer *p = hu_arena_calloc(arena, 1, sizeof *p);

    if (!p)
        return NULL;
    p->joint = j;
    p->ranks = ranks;
    p->facts = facts;
    p->n = n;
    p->between = hu_joint_facts_new(j, ranks, n, arena);
    p->as_was = hu_arena_calloc(arena, n + 1, sizeof *p->as_was);
    p->comm = hu_joint_comm_new(j, ranks, n, fits, n_fits, arena);
    if (!p->between || !p->as_was || !p->comm)
        return NULL;
    for (size_t r = 0; r < n; r++) {
        const hu_graph *g = ranks[r].graph;

        p->as_was[r] = hu_costs_new(g, arena); /* a row of a graph is long, and its cost a small part of it */
        if (!p->as_was[r])
            return NULL;
        p->seen_ns += g->step_ns / (double)n;
        p->has_unseen_gaps = p->has_unseen_gaps || (g->n_ops && !g->calibration.is_gap_seen);
        for (size_t i = 0; i < g->n_ops && !p->is_tied; i++)
            p->is_tied = hu_replay_is_external(&g->op[i]);
    }
    p->before = hu_arena_alloc(arena, (hu_joint_marks(j) + 1) * sizeof *p->before);
    if (!p->before || !find_bounds(p, arena) || !make_room(p, arena))
        return NULL;
    reset(p, HU_ANCHOR_HOST);
    p->tied_step_ns = hu_joint_run(j, p->costs);
    reset(p, HU_ANCHOR_PREDECESSOR);
    p->step_ns = hu_joint_run(j, p->costs);
    p->mean_ns = hu_joint_mean_ns(j);
    hu_joint_ends(j, p->before);
    p->worst_pct = find_worst_pct(p);
    return p;
}

/* Once all have come, they may go. */
static size_t edit_network(hu_joint_pricer *p)
{
    size_t n = 0;

    for (size_t r = 0; r < p->n; r++) {
        const hu_graph *g = p->ranks[r].graph;

        for (uint32_t i = 0; i < g->n_ops; i++)
            if (hu_joint_of_op(p->joint, r, i) != HU_NONE) {
                p->costs[r]->op[i] = 0;
                n++;
            }
        for (uint32_t i = 0; i < g->n_nodes; i++)
            if (hu_joint_of_node(p->joint, r, i) != HU_NONE) {
                p->costs[r]->node[i] = 0;
                n++;
            }
    }
    return n;
}

static size_t apply(hu_joint_pricer *p, const hu_edit *e)
{
    size_t n = 0;

    if (hu_joint_edit_is_work(e->kind))
        return 0; /* all of them together */
    if (e->kind == HU_EDIT_NETWORK)
        return edit_network(p);
    if (e->kind == HU_EDIT_BANDWIDTH)
        return hu_joint_comm_bandwidth(p->comm, e->factor, p->costs);
    if (e->kind == HU_EDIT_LATENCY)
        return hu_joint_comm_latency(p->comm, e->factor, p->costs);
    if (e->kind == HU_EDIT_BUCKET)
        return hu_joint_comm_bucket(p->comm, e->factor, p->costs);
    for (size_t r = 0; p->facts && r < p->n; r++)
        n += hu_edit_apply(p->facts[r], e, p->costs[r]);
    return n;
}

static size_t apply_effects(hu_joint_pricer *p, const change *x)
{
    size_t n = 0;

    for (size_t i = 0; i < x->n_effects; i++)
        for (size_t r = 0; r < p->n; r++)
            n += hu_effect_apply(p->ranks[r].graph, x->effects[i]->changes[r], x->flavour, p->costs[r]);
    return n;
}

/* Replayed streams do not share a GPU: no rank's step, and so no step of the job, ends earlier than its work allows. */
static double least_work_ns(const hu_joint_pricer *p)
{
    double least = 0;

    for (size_t r = 0; r < p->n; r++) {
        const hu_bound_work work = hu_bound_work_left(p->ranks[r].graph, p->as_was[r], p->costs[r], p->work_ns[r]);

        least = fmax(least, fmax(work.left_ns, work.link_ns));
    }
    return least;
}

/* The stages' mean work, and what the first of them wait for the last. */
static double least_drain_ns(const hu_joint_pricer *p)
{
    double sum = 0;

    for (size_t r = 0; p->drain > 0 && r < p->n; r++)
        sum += hu_bound_work_left(p->ranks[r].graph, p->as_was[r], p->costs[r], p->work_ns[r]).left_ns;
    return (1 + p->drain) * sum / (double)p->n;
}

static double step_with(hu_joint_pricer *p, const change *x, hu_anchor anchor, size_t *touched)
{
    const double before_ns = anchor == HU_ANCHOR_HOST ? p->tied_step_ns : p->step_ns;

    reset(p, anchor);
    *touched = apply_effects(p, x);
    for (size_t i = 0; i < x->n; i++)
        *touched += apply(p, &x->edits[i]);
    for (size_t r = 0; x->n && r < p->n; r++)
        *touched += hu_joint_edit_work(p->between, x->edits, x->n, r, p->costs[r]);
    return fmax(hu_joint_run(p->joint, p->costs),
                fmin(before_ns, fmax(least_work_ns(p), x->n_effects ? least_drain_ns(p) : 0)));
}

/* The mean over ranks of what a step takes at least in the costs that are in place. */
static double least_ns(hu_joint_pricer *p)
{
    double sum = 0;

    for (size_t r = 0; r < p->n; r++)
        sum += hu_bound_least_ns(p->ranks[r].graph, &p->base[r], p->costs[r], p->busy);
    return sum / (double)p->n;
}

/* What would be changed if it cost nothing.  False: it does already.  `room` holds the edits. */
static bool make_free(const change *x, hu_edit *room, change *out)
{
    const bool is_other = x->n_effects && x->flavour != HU_EFFECT_FREE;

    *out = *x;
    out->edits = room;
    out->flavour = HU_EFFECT_FREE;
    return hu_price_free(x->edits, x->n, room) || is_other;
}

/* What can be gained at most: as graph/price.c has it for one rank. */
static double most_pct(hu_joint_pricer *p, const change *x, double tied_pct, const hu_price *so_far)
{
    hu_edit room[HU_PRICE_EDITS];
    double  step_ns = so_far->after_ns, most = so_far->high_pct;
    size_t  unused;
    change  free_of;

    if (make_free(x, room, &free_of)) {
        if (p->is_tied)
            tied_pct = 100 * (1 - step_with(p, &free_of, HU_ANCHOR_HOST, &unused) / p->tied_step_ns);
        step_ns = step_with(p, &free_of, HU_ANCHOR_PREDECESSOR, &unused);
    } else {
        step_with(p, x, HU_ANCHOR_PREDECESSOR, &unused);
    }
    most = fmax(most, fmax(100 * (1 - step_ns / so_far->before_ns), tied_pct));
    return fmax(so_far->gain_pct, fmin(most, 100 * (1 - least_ns(p) / so_far->before_ns)));
}

/* The gain where the devices' gaps are others than calibrated. */
static double gain_with_gaps(hu_joint_pricer *p, const change *what, gap_reading gaps)
{
    size_t unused;
    double step_ns;

    p->gaps = gaps;
    step_ns = step_with(p, what, HU_ANCHOR_PREDECESSOR, &unused);
    p->gaps = GAPS_USUAL;
    return 100 * (1 - step_ns / p->step_ns);
}

/* `share`: what is doubted of the gain. */
static void price(hu_joint_pricer *p, const change *what, double share, hu_price *out)
{
    const double error = fabs(p->mean_ns / p->seen_ns - 1);
    hu_price     x = {.before_ns = p->step_ns};
    double       tied, half, least = INFINITY, most = -INFINITY;
    size_t       unused;

    if (p->has_unseen_gaps) {
        least = gain_with_gaps(p, what, GAPS_LONG);
        most = gain_with_gaps(p, what, GAPS_NONE);
    }
    x.after_ns = x.free_ns = step_with(p, what, HU_ANCHOR_PREDECESSOR, &x.touched);
    hu_joint_ends(p->joint, p->after);
    x.gain_pct = tied = 100 * (1 - x.after_ns / x.before_ns);
    if (p->is_tied)
        tied = 100 * (1 - step_with(p, what, HU_ANCHOR_HOST, &unused) / p->tied_step_ns);
    x.spread_pct = fabs(x.gain_pct - tied);
    half = hypot(share * x.gain_pct, FLOOR_POINTS) + error * fabs(x.gain_pct);
    x.sure_pct = fmin(x.gain_pct, tied) - half;
    if (hu_joint_marks(p->joint) > 1)
        half = hypot(half, hu_price_scatter(p->before, p->after, hu_joint_marks(p->joint) - 1));
    x.low_pct = fmin(fmin(x.gain_pct, tied), least) - half;
    x.high_pct = fmax(fmax(x.gain_pct, tied), most) + half;
    x.free_pct = most_pct(p, what, tied, &x);
    hu_price_limit(x.gain_pct, x.free_pct, &x.low_pct, &x.high_pct);
    x.after_ns *= p->mean_ns / p->step_ns;
    x.free_ns *= p->mean_ns / p->step_ns;
    x.before_ns = p->mean_ns;
    *out = x;
}

void hu_joint_price_edits(hu_joint_pricer *p, const hu_edit *edits, size_t n, hu_price *out)
{
    const change what = {.edits = edits, .n = n};
    double       share = 0;

    for (size_t i = 0; i < n; i++)
        share = fmax(share, hu_price_doubt(edits[i].kind));
    price(p, &what, share, out);
}

/* The gain in the one reading, without an interval. */
static double gain_pct(hu_joint_pricer *p, const change *what)
{
    size_t unused;

    return 100 * (1 - step_with(p, what, HU_ANCHOR_PREDECESSOR, &unused) / p->step_ns);
}

void hu_joint_price_effect(hu_joint_pricer *p, const hu_joint_effect *e, hu_price *out)
{
    const hu_joint_effect *one[] = {e};
    change                 what = {.effects = one, .n_effects = 1};

    price(p, &what, hu_price_doubt(e->edit), out);
    out->low_pct -= e->scatter_pct;
    out->high_pct += e->scatter_pct;
    if (e->edit == HU_EDIT_DATA) {
        what.flavour = HU_EFFECT_FREE;
        out->high_pct = fmax(out->high_pct, gain_pct(p, &what));
    }
    if (hu_price_may_keep_half(e->edit)) {
        what.flavour = HU_EFFECT_HALF;
        out->low_pct = fmin(out->low_pct, gain_pct(p, &what) - FLOOR_POINTS);
    }
    hu_price_limit(out->gain_pct, out->free_pct, &out->low_pct, &out->high_pct);
}

void hu_joint_pricer_drain(hu_joint_pricer *p, double share)
{
    p->drain = share;
}

double hu_joint_price_effects_ns(hu_joint_pricer *p, const hu_joint_effect *const *effects, size_t n)
{
    const change what = {.effects = effects, .n_effects = n};
    size_t       unused;

    return step_with(p, &what, HU_ANCHOR_PREDECESSOR, &unused) * p->mean_ns / p->step_ns;
}

double hu_joint_pricer_worst_pct(const hu_joint_pricer *p)
{
    return p->worst_pct;
}

double hu_joint_price_straggler_ns(hu_joint_pricer *p, size_t rank)
{
    const hu_edit edit = {.kind = HU_EDIT_STRAGGLER, .rank = (int64_t)rank};
    const change  what = {.edits = &edit, .n = 1};
    size_t        unused;

    return step_with(p, &what, HU_ANCHOR_PREDECESSOR, &unused);
}

double hu_joint_pricer_seen_ns(const hu_joint_pricer *p)
{
    return p->seen_ns;
}

double hu_joint_pricer_step_ns(const hu_joint_pricer *p)
{
    return p->mean_ns;
}

hu_costs *const *hu_joint_pricer_costs(hu_joint_pricer *p)
{
    reset(p, HU_ANCHOR_PREDECESSOR);
    return p->costs;
}
