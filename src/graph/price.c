/* SPDX-License-Identifier: Apache-2.0
 * price.c - replays with and without an edit, under both ways to read what nothing explains.
 *
 * The point is the replay in which frozen delays follow what comes before them.  The interval spans that of the other
 * reading (they stay tied to the host), the gaps that the device may need where none was seen (calibrate.c), the steps' own
 * scatter (bootstrap over steps, fixed seed), what the replay misses of the measured step, and a floor for what no check
 * sees.  It ends where nothing more can be gained (bound.h).
 */
#include "graph/price.h"

#include <math.h>
#include <stdlib.h>

#include "analyze/names.h"
#include "graph/bound.h"
#include "graph/price_memo.h"

enum { RESAMPLES = 200 };

static const double BACKLOG = 0.1;      /* of the launches that wait for room */
static const double FLOOR_POINTS = 0.3; /* half of an interval is never below this */

/* Nor below this share of the gain: what removes time outright is surer than what guesses how much is left. */
/* clang-format off */
static const double floor_share[HU_EDIT_KINDS] = {
    [HU_EDIT_DATA] = 0.05,      [HU_EDIT_SYNC] = 0.15,      [HU_EDIT_COPY] = 0.20,   [HU_EDIT_LAUNCH] = 0.10,
    [HU_EDIT_HOST] = 0.05,      [HU_EDIT_KERNEL] = 0.10,    [HU_EDIT_OP] = 0.10,     [HU_EDIT_COMM] = 0.30,
    [HU_EDIT_BUCKET] = 0.20,    [HU_EDIT_ALLOC] = 0.10,     [HU_EDIT_IO] = 0.05,     [HU_EDIT_GC] = 0.05,
    [HU_EDIT_TENSOR] = 0.15,    [HU_EDIT_FUSE] = 0.15,      [HU_EDIT_RECOMPUTE] = 0.15, [HU_EDIT_CONTENTION] = 0.35,
    [HU_EDIT_LOCK] = 0.30,      [HU_EDIT_SLEEP] = 0.05,     [HU_EDIT_CPU] = 0.10,   [HU_EDIT_CLOCK] = 0.15,
    [HU_EDIT_THREADS] = 0.15,   [HU_EDIT_CHILD] = 0.05,     [HU_EDIT_CHILDREN] = 0.15,
    [HU_EDIT_LOOKS] = 0.02,     [HU_EDIT_TEAMS] = 0.15,
    [HU_EDIT_COMPILE] = 0.05,   [HU_EDIT_PROFILER] = 0.05,  [HU_EDIT_SMALL_CALLS] = 0.10,
    [HU_EDIT_PAGE_FAULTS] = 0.25, [HU_EDIT_PROCESSES] = 0.20,
    [HU_EDIT_WORK] = 0.05,      [HU_EDIT_UNRECORDED] = 0.05, [HU_EDIT_CAPTURE] = 0.05, [HU_EDIT_BLOCKING] = 0.10,
    [HU_EDIT_PIN] = 0.10,       [HU_EDIT_CASTS] = 0.15, [HU_EDIT_OPTIMIZER] = 0.25, [HU_EDIT_VALIDATION] = 0.15,
    [HU_EDIT_ACCUMULATE] = 0.15,
    [HU_EDIT_STRAGGLER] = 0.10, [HU_EDIT_BALANCE] = 0.15, [HU_EDIT_HICCUPS] = 0.15, [HU_EDIT_NETWORK] = 0.10,
    [HU_EDIT_BANDWIDTH] = 0.20, [HU_EDIT_LATENCY] = 0.20,
};
/* clang-format on */

double hu_price_doubt(hu_edit_kind kind)
{
    return floor_share[kind];
}

bool hu_price_may_keep_half(hu_edit_kind kind)
{
    return kind == HU_EDIT_LAUNCH || kind == HU_EDIT_WORK || kind == HU_EDIT_UNRECORDED;
}

struct hu_pricer {
    const hu_graph *g;
    hu_edit_facts  *facts;
    hu_replay      *replay;
    hu_costs       *costs;
    const hu_costs *as_was;
    int64_t        *before, *after, *base;
    int64_t        *ends;
    int64_t        *tied;    /* base, with frozen delays tied to the host */
    bool            is_tied; /* does any frozen delay make a difference between the two */
    bool            is_backlogged;
    int64_t        *busy; /* by stream */
    hu_bound_base   base_work;
    hu_price_memo  *memo;
    double          step_ns;
    double          work_ns;   /* of GPU operations, per step: hu_bound_work_ns */
    double          cpus_ns;   /* hu_bound_cpus_ns */
    double          error_pct; /* of the replay against what was measured */
};

/* Of the launches that wait for room in the queue, a part waits for work whose launch is not in the trace. */
static bool waits_for_backlog(const hu_graph *g)
{
    size_t full = 0, before = 0;

    for (size_t i = 0; i < g->n_ops; i++) {
        const hu_op *room = g->op[i].step < 0 || g->op[i].full == HU_NONE ? NULL : &g->op[g->op[i].full];

        full += room != NULL;
        before += room && !room->has_launch && !room->in_graph;
    }
    return before > 0 && (double)before > BACKLOG * (double)full;
}

bool hu_pricer_is_backlogged(const hu_pricer *p)
{
    return p->is_backlogged;
}

/* Are the edits of work by the operators that launch it?  Of work launched before the capture these are not known. */
static bool is_by_operator(const hu_edit *edits, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (edits[i].kind == HU_EDIT_RECOMPUTE || edits[i].kind == HU_EDIT_VALIDATION || edits[i].kind == HU_EDIT_OP)
            return true;
    return false;
}

/*
 * In the steady state the work in front was launched by steps like these.  So the step is what their work takes, one after
 * the other, or what the host needs without waiting for room.
 */
static double behind_backlog_ns(hu_pricer *p)
{
    const double host_ns = hu_bound_least_ns(p->g, &p->base_work, p->costs, p->busy);

    return fmax(host_ns, hu_replay_by_ends_ns(p->replay, p->ends));
}

/* What replays write.  False: no memory. */
static bool make_room(hu_pricer *p, hu_arena *arena)
{
    const hu_graph *g = p->g;

    p->replay = hu_replay_new(g, arena);
    p->costs = hu_costs_like(g, p->as_was, arena);
    p->before = hu_arena_alloc(arena, g->n_marks * sizeof *p->before);
    p->after = hu_arena_alloc(arena, g->n_marks * sizeof *p->after);
    p->ends = hu_arena_alloc(arena, g->n_marks * sizeof *p->ends);
    p->busy = hu_arena_alloc(arena, (g->n_streams + 1) * sizeof *p->busy);
    p->memo = hu_price_memo_new(arena);
    return p->replay && p->costs && p->before && p->after && p->ends && p->busy && p->memo;
}

hu_pricer *hu_pricer_fork(const hu_pricer *p, hu_arena *arena)
{
    hu_pricer *fork = hu_arena_alloc(arena, sizeof *fork);

    if (!fork)
        return NULL;
    *fork = *p;
    fork->facts = hu_edit_facts_fork(p->facts, arena);
    return fork->facts && make_room(fork, arena) ? fork : NULL;
}

void hu_pricer_learn(hu_pricer *p, const hu_pricer *from)
{
    hu_price_memo_join(p->memo, from->memo);
}

hu_pricer *hu_pricer_new(const hu_graph *g, double tensor_factor, hu_arena *arena)
{
    hu_pricer *p = hu_arena_calloc(arena, 1, sizeof *p);

    if (!p)
        return NULL;
    p->g = g;
    p->facts = hu_edit_facts_new(g, tensor_factor, arena);
    p->as_was = hu_costs_new(g, arena); /* a row of a graph is long, and its cost a small part of it */
    p->base = hu_arena_alloc(arena, g->n_marks * sizeof *p->base);
    p->tied = hu_arena_alloc(arena, g->n_marks * sizeof *p->tied);
    if (!p->facts || !p->as_was || !p->base || !p->tied || !make_room(p, arena) ||
        !hu_bound_base_init(&p->base_work, g, p->as_was, 0, arena))
        return NULL;
    for (size_t i = 0; i < g->n_ops && !p->is_tied; i++)
        p->is_tied = hu_replay_is_external(&g->op[i]);
    if (p->is_tied) {
        p->costs->anchor = HU_ANCHOR_HOST;
        hu_replay_run(p->replay, p->costs, p->tied);
        p->costs->anchor = HU_ANCHOR_PREDECESSOR;
    }
    hu_replay_run(p->replay, p->costs, p->base);
    if (!p->is_tied)
        memcpy(p->tied, p->base, g->n_marks * sizeof *p->tied);
    p->step_ns = hu_replay_step_ns(g, p->base);
    p->error_pct = 100 * fabs(p->step_ns / g->step_ns - 1);
    p->work_ns = hu_bound_work_ns(g, arena);
    p->cpus_ns = hu_bound_cpus_ns(g);
    p->is_backlogged = waits_for_backlog(g);
    return isnan(p->work_ns) ? NULL : p;
}

/* What computing leaves, where edits take none away: threads that no longer wait for each other share the CPUs. */
static double left_to_compute(const hu_pricer *p, const hu_edit *edits, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (edits[i].kind != HU_EDIT_LOCK && edits[i].kind != HU_EDIT_SLEEP)
            return 0;
    return p->cpus_ns;
}

/* Changes the costs.  Returns how many nodes and operations that touched. */
static size_t make_edits(hu_pricer *p, const hu_edit *edits, size_t n, hu_anchor anchor, int64_t gap_more_ns)
{
    size_t touched = 0;

    hu_costs_copy(p->g, p->as_was, p->costs);
    p->costs->anchor = anchor;
    p->costs->gap_more_ns = gap_more_ns;
    for (size_t i = 0; i < n; i++)
        touched += hu_edit_apply(p->facts, &edits[i], p->costs);
    return touched;
}

/*
 * The mean step under some edits.  Replayed streams do not share a GPU; the step ends no earlier than its work allows.
 * `gap_more_ns`: what the device's gaps take more than calibrated, or less.
 */
static double run_with(hu_pricer *p, const hu_edit *edits, size_t n, hu_anchor anchor, int64_t gap_more_ns, int64_t *ends_ns,
                       size_t *touched)
{
    double        before, after;
    hu_bound_work work;

    *touched = 0;
    if (n == 0) {
        memcpy(ends_ns, anchor == HU_ANCHOR_HOST ? p->tied : p->base, p->g->n_marks * sizeof *ends_ns);
        return hu_replay_step_ns(p->g, ends_ns);
    }
    *touched = make_edits(p, edits, n, anchor, gap_more_ns);
    hu_replay_run(p->replay, p->costs, ends_ns);
    before = hu_replay_step_ns(p->g, anchor == HU_ANCHOR_HOST ? p->tied : p->base);
    after = hu_replay_step_ns(p->g, ends_ns);
    if (p->is_backlogged && is_by_operator(edits, n))
        after = fmin(after, behind_backlog_ns(p));
    work = hu_bound_work_left(p->g, p->as_was, p->costs, p->work_ns);
    after = fmax(after, fmin(before, fmax(left_to_compute(p, edits, n), fmax(work.left_ns, work.link_ns))));
    hu_price_memo_put(p->memo, &(hu_price_question){edits, n, anchor, gap_more_ns}, after);
    return after;
}

static double run(hu_pricer *p, const hu_edit *edits, size_t n, hu_anchor anchor, int64_t *ends_ns, size_t *touched)
{
    return run_with(p, edits, n, anchor, 0, ends_ns, touched);
}

/* The same where nobody needs costs and instants of the replay. */
static double step_with(hu_pricer *p, const hu_edit *edits, size_t n, hu_anchor anchor, int64_t gap_more_ns)
{
    const double known = hu_price_memo_get(p->memo, &(hu_price_question){edits, n, anchor, gap_more_ns});
    size_t       unused;

    return isnan(known) ? run_with(p, edits, n, anchor, gap_more_ns, p->after, &unused) : known;
}

/* The same where nobody needs instants, but the costs, whoever replayed them. */
static double step_in_place(hu_pricer *p, const hu_edit *edits, size_t n, hu_anchor anchor)
{
    const double known = hu_price_memo_get(p->memo, &(hu_price_question){edits, n, anchor, 0});
    size_t       unused;

    if (isnan(known))
        return run(p, edits, n, anchor, p->after, &unused);
    make_edits(p, edits, n, anchor, 0);
    return known;
}

const int64_t *hu_price_ends_ns(hu_pricer *p, const hu_edit *edits, size_t n)
{
    size_t unused;

    run(p, edits, n, HU_ANCHOR_PREDECESSOR, p->after, &unused);
    return p->after;
}

double hu_price_step_ns(hu_pricer *p, const hu_edit *edits, size_t n)
{
    return step_with(p, edits, n, HU_ANCHOR_PREDECESSOR, 0);
}

/*
 * Is any stream or thread busy for longer than the window takes?  What a single step ran beside the one before it is no part
 * of it; in several, as much runs beside the last one.
 */
static bool is_feasible(const hu_pricer *p, const int64_t *ends_ns)
{
    const hu_graph          *g = p->g;
    const hu_replay_instants at = hu_replay_get(p->replay);
    const int64_t            window = ends_ns[g->n_marks - 1] - ends_ns[0];
    int64_t                 *busy = p->busy;
    bool                     ok = true;

    hu_bound_streams(g, &p->base_work, p->costs, busy);
    for (size_t i = 0; i < g->n_ops && g->n_marks == 2; i++)
        if (g->op[i].step >= 0 && !(p->costs->op_flags[i] & HU_EDIT_DETACHED) && at.op_start[i] < ends_ns[0])
            busy[g->op[i].stream] -= (at.op_end[i] < ends_ns[0] ? at.op_end[i] : ends_ns[0]) - at.op_start[i];
    for (uint32_t s = 0; s < g->n_streams; s++)
        ok = ok && (double)busy[s] <= 1.02 * (double)window + 1000;
    return ok;
}

/* xorshift64*: the same numbers on every machine. */
static uint64_t next_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 0x2545F4914F6CDD1Du;
}

static int by_value(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

double hu_price_scatter(const int64_t *before, const int64_t *after, size_t n)
{
    double   gains[RESAMPLES];
    uint64_t state = 0x9E3779B97F4A7C15u;

    if (n < 2)
        return 0;
    for (size_t i = 0; i < RESAMPLES; i++) {
        double was = 0, is = 0;

        for (size_t k = 0; k < n; k++) {
            const size_t s = (size_t)(next_random(&state) % n);

            was += (double)(before[s + 1] - before[s]);
            is += (double)(after[s + 1] - after[s]);
        }
        gains[i] = was > 0 ? 100 * (1 - is / was) : 0;
    }
    qsort(gains, RESAMPLES, sizeof *gains, by_value);
    return (gains[RESAMPLES * 95 / 100] - gains[RESAMPLES * 5 / 100]) / 2;
}

void hu_price_limit(double gain_pct, double most_pct, double *low_pct, double *high_pct)
{
    *high_pct = fmax(gain_pct, fmin(*high_pct, most_pct));
    *low_pct = fmin(gain_pct, gain_pct < 0 ? *low_pct : fmax(*low_pct, 0));
}

bool hu_price_free(const hu_edit *edits, size_t n, hu_edit *out)
{
    bool is_other = false;

    for (size_t i = 0; i < n; i++) {
        out[i] = edits[i];
        if (edits[i].flavour == HU_EDIT_FREE || hu_edit_has_name(edits[i].kind))
            continue;
        out[i].flavour = HU_EDIT_FREE;
        out[i].factor = INFINITY;
        is_other = true;
    }
    return is_other;
}

/* What is taken from all work of the device that the graph holds, launched in the window or long before, in percent. */
static double share_of_work(const hu_graph *g, const hu_costs *was, const hu_costs *c)
{
    double all = 0, taken = 0;

    for (size_t i = 0; i < g->n_ops; i++) {
        const int64_t cost = was->op[i];

        all += (double)cost;
        taken += c->op_flags[i] & HU_EDIT_DETACHED ? (double)cost : cost > c->op[i] ? (double)(cost - c->op[i]) : 0;
    }
    return all > 0 ? 100 * taken / all : 0;
}

/*
 * What can be gained at most: what the edits would if they cost nothing, in the reading that gains more, or else as much as
 * their own interval reaches; but no more than sums allow.  `tied_pct` is the gain of the edits as they are in the
 * other reading; their costs are in place, and those of the free ones when it returns.
 */
static void price_free(hu_pricer *p, const hu_edit *edits, size_t n, double tied_pct, hu_price *r)
{
    hu_edit free_of[HU_PRICE_EDITS];
    double  least;

    r->free_ns = r->after_ns;
    if (hu_price_free(edits, n, free_of)) {
        if (p->is_tied)
            tied_pct = 100 * (1 - step_with(p, free_of, n, HU_ANCHOR_HOST, 0) / hu_replay_step_ns(p->g, p->tied));
        r->free_ns = step_in_place(p, free_of, n, HU_ANCHOR_PREDECESSOR);
    }
    r->free_pct = 100 * (1 - r->free_ns / r->before_ns);
    if (p->is_tied)
        r->free_pct = fmax(r->free_pct, tied_pct);
    r->free_work_pct = share_of_work(p->g, p->as_was, p->costs);
    least = hu_bound_least_ns(p->g, &p->base_work, p->costs, p->busy);
    least = fmax(least, fmin(r->before_ns, left_to_compute(p, edits, n)));
    least = fmax(least, r->before_ns - hu_bound_touched_ns(p->g, p->as_was, p->costs));
    least = fmax(least, fmin(r->before_ns, hu_bound_work_left(p->g, p->as_was, p->costs, p->work_ns).left_ns));
    r->free_pct = fmax(r->gain_pct, fmin(fmax(r->free_pct, r->high_pct), 100 * (1 - least / r->before_ns)));
}

/*
 * What operators on the CPU may gain beside the edit, in points: without its cause they run with all of the caches and CPUs.
 * Seven recorded loops (tests/pairs/loops.py), their cause cured, took 0.60 to 0.98 of what a replay left, 0.88 in the
 * median, and gained at most 1.36 times what it said.
 */
static double relief(const hu_pricer *p, const hu_price *r)
{
    static const double most = 0.40, of_gain = 0.36;
    const hu_graph     *g = p->g;
    double              left_ns = 0;

    if (g->n_ops > 0 || !(r->gain_pct > FLOOR_POINTS))
        return 0;
    for (size_t i = 0; i < g->n_nodes; i++)
        if (g->node[i].class == HU_CLASS_OPERATOR && g->node[i].lane == g->main_lane &&
            g->node[i].start_ns >= g->mark[0].host_end_ns && g->node[i].start_ns < g->mark[g->n_marks - 1].host_end_ns)
            left_ns += (double)p->costs->node[i];
    return fmin(100 * most * left_ns / (double)(g->n_marks - 1) / r->before_ns, of_gain * r->gain_pct);
}

/*
 * How far the gain differs from step to step, of the replay that was last.  A host that is far ahead and waits once, at the
 * end, has all of its time in one step by its marks; where the ends of the work are as far apart in all, they say how steps
 * differ.
 */
static double scatter(hu_pricer *p, double after_ns)
{
    static const double SAME = 0.02; /* of the mean step */
    const size_t        n = p->g->n_marks - 1;
    const double        by_steps = hu_price_scatter(p->before, p->after, n);
    const double        ends_ns = hu_replay_by_ends_ns(p->replay, p->ends);

    if (!(fabs(ends_ns - after_ns) <= SAME * after_ns))
        return by_steps;
    return fmin(by_steps, hu_price_scatter(p->before, p->ends, n));
}

/* The gain where the device's gaps are others than calibrated: what a trace leaves open that shows none. */
static double gain_with_gaps(hu_pricer *p, const hu_edit *edits, size_t n, int64_t gap_ns, double before_ns)
{
    const int64_t more_ns = gap_ns - p->g->calibration.gap_ns;

    return 100 * (1 - step_with(p, edits, n, HU_ANCHOR_PREDECESSOR, more_ns) / before_ns);
}

/* The price without its interval, and what the edits gain in the other reading.  Costs and instants are the edits' when it
   returns. */
static hu_price price_point(hu_pricer *p, const hu_edit *edits, size_t n, double *tied_pct)
{
    hu_price r = {0};
    size_t   unused;

    if (p->is_tied) {
        const double before_ns = run(p, NULL, 0, HU_ANCHOR_HOST, p->before, &unused);

        *tied_pct = 100 * (1 - step_with(p, edits, n, HU_ANCHOR_HOST, 0) / before_ns);
    }
    r.before_ns = run(p, NULL, 0, HU_ANCHOR_PREDECESSOR, p->before, &unused);
    r.after_ns = run(p, edits, n, HU_ANCHOR_PREDECESSOR, p->after, &r.touched);
    r.is_feasible = is_feasible(p, p->after);
    r.gain_pct = 100 * (1 - r.after_ns / r.before_ns);
    if (!p->is_tied)
        *tied_pct = r.gain_pct;
    r.spread_pct = fabs(r.gain_pct - *tied_pct);
    return r;
}

void hu_price_point(hu_pricer *p, const hu_edit *edits, size_t n, hu_price *out)
{
    double unused;

    *out = price_point(p, edits, n, &unused);
}

void hu_price_edits(hu_pricer *p, const hu_edit *edits, size_t n, hu_price *out)
{
    const hu_calibration *c = &p->g->calibration;
    hu_price              r;
    double                tied, half, more, share = 0, least = INFINITY, most = -INFINITY;

    if (!c->is_gap_seen && p->g->n_ops > 0 && n > 0) {
        const double before_ns = hu_replay_step_ns(p->g, p->base);

        least = gain_with_gaps(p, edits, n, c->most_gap_ns, before_ns);
        most = gain_with_gaps(p, edits, n, 0, before_ns);
    }
    r = price_point(p, edits, n, &tied);
    r.work_pct = share_of_work(p->g, p->as_was, p->costs);
    for (size_t i = 0; i < n; i++)
        share = fmax(share, floor_share[edits[i].kind]);
    half = hypot(share * r.gain_pct, FLOOR_POINTS) + p->error_pct * fabs(r.gain_pct) / 100;
    r.sure_pct = fmin(r.gain_pct, tied) - half;
    least = fmin(fmin(r.gain_pct, tied), least);
    most = fmax(fmax(r.gain_pct, tied), most);
    r.scatter_pct = hypot(half, scatter(p, r.after_ns)) - half;
    half += r.scatter_pct;
    r.low_pct = least - half;
    r.high_pct = most + half;
    price_free(p, edits, n, tied, &r);
    more = relief(p, &r);
    r.free_pct += more;
    r.high_pct += more;
    hu_price_limit(r.gain_pct, r.free_pct, &r.low_pct, &r.high_pct);
    *out = r;
}

/*
 * With k workers a batch is ready every L / k, where one takes L to load; the wait is what the rest of the step does not
 * hide.  A loader in the main process shows L itself.  One with workers shows only what they could not hide, and then the
 * fix is taken to double them; threads that wait need no CPU, and become as many as a loader usually gets.
 */
static double loader_factor(const hu_pricer *p, double before_ns, double free_ns)
{
    const int64_t cpus = hu_trace_get_info(p->g->ask->trace)->cpus;
    const bool    few = cpus > 0 && cpus <= HU_EDIT_LOADERS && !hu_edit_loader_waits(p->g);
    const int     most = few ? (int)cpus - 1 : HU_EDIT_LOADERS;
    const double  wait = before_ns - free_ns;
    const bool    workers = hu_names_loaders(p->g->ask->trace).has_workers || p->g->calibration.has_loader_thread;
    const int64_t now = p->g->calibration.loader_threads, then = hu_edit_loader_threads(p->g);
    const double  share = now > 0 ? (double)now / (double)then : 0.5;
    const double  left = workers ? fmax(0, before_ns * share - free_ns) : fmax(0, wait / fmax(most, 1) - free_ns);

    if (most == 0) /* on the only CPU, a worker takes the time of what it loads for */
        return 1;
    return wait > 0 && left > 0 ? wait / left : INFINITY;
}

void hu_price_kind(hu_pricer *p, hu_edit_kind kind, hu_price *out)
{
    hu_price_named(p, kind, HU_STR(""), out);
}

/* Not everything fits into a graph, not all work can go: half of it may stay. */
static void doubt_half(hu_pricer *p, hu_edit_kind kind, hu_str name, hu_price *out)
{
    const hu_edit edit = {.kind = kind, .flavour = HU_EDIT_FREE, .factor = 2, .glob = name};
    hu_price      half;

    hu_price_edits(p, &edit, 1, &half);
    out->low_pct = fmin(out->low_pct, half.low_pct);
}

/*
 * Who no longer reads a number does nothing with it either.  What the host does behind the wait may be just that, or work
 * of the next step that only stands there: the trace does not say, so the gain may be anything up to that of both.  So it is
 * of what a program does around calls that read and write files (edit_around.c).
 */
static void doubt_uses(hu_pricer *p, hu_edit_kind kind, hu_price *out)
{
    const hu_edit edit = {.kind = kind, .flavour = HU_EDIT_WITH_USES, .factor = INFINITY};
    hu_price      both;

    hu_price_edits(p, &edit, 1, &both);
    if (kind != HU_EDIT_SYNC && both.gain_pct > out->gain_pct) /* which is as doubtful as the price itself */
        both.high_pct = both.free_pct = fmin(100, both.gain_pct + (out->gain_pct - out->low_pct));
    out->high_pct = fmax(out->high_pct, both.high_pct);
    out->free_pct = fmax(out->free_pct, both.free_pct);
}

void hu_price_named(hu_pricer *p, hu_edit_kind kind, hu_str name, hu_price *out)
{
    hu_edit  edit = {.kind = kind, .flavour = HU_EDIT_FREE, .factor = INFINITY, .glob = name};
    hu_price without;

    hu_price_point(p, &edit, 1, &without);
    edit.flavour = HU_EDIT_REALISTIC;
    if (kind == HU_EDIT_DATA)
        edit.factor = loader_factor(p, without.before_ns, without.after_ns);
    hu_price_edits(p, &edit, 1, out);
    out->factor = edit.factor;
    out->is_feasible = out->is_feasible && without.is_feasible;
    if (edit.factor > 1)
        out->high_pct = fmax(out->high_pct, fmin(without.gain_pct, out->free_pct));
    if (hu_price_may_keep_half(kind))
        doubt_half(p, kind, name, out);
    if (kind == HU_EDIT_SYNC || kind == HU_EDIT_IO || kind == HU_EDIT_SMALL_CALLS)
        doubt_uses(p, kind, out);
}

double hu_pricer_step_ns(const hu_pricer *p)
{
    return p->step_ns;
}

const int64_t *hu_pricer_ends_ns(const hu_pricer *p)
{
    return p->base;
}

const hu_graph *hu_pricer_graph(const hu_pricer *p)
{
    return p->g;
}

const hu_edit_facts *hu_pricer_facts(const hu_pricer *p)
{
    return p->facts;
}

hu_replay *hu_pricer_replay(hu_pricer *p)
{
    return p->replay;
}

hu_costs *hu_pricer_costs(hu_pricer *p)
{
    hu_costs_copy(p->g, p->as_was, p->costs);
    return p->costs;
}
