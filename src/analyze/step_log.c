/* SPDX-License-Identifier: Apache-2.0
 * step_log.c - medians, as a log has outliers; a change of level is judged by the noise between neighbours. */
#include "analyze/step_log.h"

#include <math.h>
#include <stdlib.h>

#include "analyze/log_rates.h"

enum { LEAST_FOR_CHANGE = 20, LEAST_SLOW_FOR_PERIOD = 3, LEAST_OF_RANK = 8 };
static const double SLOW_RANK = 1.1;     /* times the median of the other ranks */
static const double SLOW = 1.5;          /* times the median */
static const double LEAST_CHANGE = 0.05; /* of the level */
static const double LEAST_SIGNAL = 8;    /* standard errors */
static const double STRAIGHT = 0.95;     /* of the variance that a line explains, or what it leaves is mere noise: */
static const double MOST_NOISE = 2;      /* times that between neighbours */
static const double OVERLAP = 1.03;      /* parts that are more than this of a step are not one behind the other */

/* steps */

static bool median_of(const hu_step_log *log, size_t member, hu_arena *arena, double *out)
{
    int64_t *values = hu_arena_alloc(arena, (log->steps.n + 1) * sizeof *values);
    size_t   n = 0;

    *out = NAN;
    if (!values)
        return false;
    for (size_t i = 0; i < log->steps.n; i++) {
        const double v = *(const double *)((const char *)&log->steps.at[i] + member);

        if (isfinite(v) && fabs(v) < 1e12)
            values[n++] = llround(v * 1e3);
    }
    if (n)
        *out = hu_stats_of(values, n).median / 1e3;
    return true;
}

static bool measure_rates(const hu_step_log *log, hu_arena *arena, hu_log_answer *a)
{
    double first = NAN;

    if (!median_of(log, offsetof(hu_log_step, batch), arena, &a->batch) ||
        !median_of(log, offsetof(hu_log_step, samples), arena, &a->samples) ||
        !median_of(log, offsetof(hu_log_step, tokens), arena, &a->tokens) ||
        !median_of(log, offsetof(hu_log_step, tflops), arena, &a->tflops))
        return false;
    for (size_t i = 0; i < log->steps.n; i++) {
        const double batch = log->steps.at[i].batch;

        if (isfinite(batch) && isfinite(first) && batch != first)
            a->batch_varies = true;
        if (isfinite(batch))
            first = batch;
    }
    if (!isfinite(a->samples) && isfinite(a->batch) && !a->batch_varies && a->step.median > 0 && !a->has_no_unit)
        a->samples = a->batch / (a->step.median / 1e9);
    return true;
}

/* The first line of a log has the time of compilers, caches and connections. */
static void measure_warmup(const hu_step_log *log, int64_t *values, hu_log_answer *a)
{
    hu_stats rest;

    if (log->steps.n < 3)
        return;
    for (size_t i = 1; i < log->steps.n; i++)
        values[i - 1] = log->steps.at[i].ns;
    rest = hu_stats_of(values, log->steps.n - 1);
    a->warmup_ns = log->steps.at[0].ns;
    a->has_warmup = (double)a->warmup_ns > SLOW * rest.median;
}

/* What steps take where this one is: the level that it belongs to. */
static double level_at(const hu_log_answer *a, const hu_log_step *s)
{
    if (a->has_growth)
        return a->first_ns + a->growth_ns * (double)(s->iteration - a->growth_from);
    return !a->has_change ? a->step.median : s->iteration < a->change_at ? a->before_ns : a->after_ns;
}

static bool is_slow(const hu_log_answer *a, const hu_log_step *s)
{
    return (double)s->ns > SLOW * level_at(a, s);
}

static void measure_slow(const hu_step_log *log, hu_log_answer *a)
{
    int64_t last = -1, least = 0;
    bool    is_regular = true;

    for (size_t i = a->has_warmup; i < log->steps.n; i++) {
        const hu_log_step *s = &log->steps.at[i];

        if (!is_slow(a, s))
            continue;
        a->n_slow++;
        a->slow_ns += ((double)s->ns - level_at(a, s)) * (double)s->covers;
        if (!a->slowest || s->ns > a->slowest->ns)
            a->slowest = s;
        if (last >= 0 && s->iteration > last && (!least || s->iteration - last < least))
            least = s->iteration - last;
        last = s->iteration;
    }
    if (a->n_slow < LEAST_SLOW_FOR_PERIOD || a->n_runs > 1 || log->has_falls || least <= a->covers)
        return;
    last = -1;
    for (size_t i = a->has_warmup; i < log->steps.n; i++) {
        const hu_log_step *s = &log->steps.at[i];

        if (!is_slow(a, s))
            continue;
        is_regular &= last < 0 || s->iteration - last == least;
        last = s->iteration;
    }
    a->slow_period = is_regular ? least : 0;
}

/* The noise of one value: by neighbours, which a change of level leaves alone. */
static double noise_of(const int64_t *ns, int64_t *room, size_t n)
{
    for (size_t i = 0; i + 1 < n; i++)
        room[i] = llabs(ns[i + 1] - ns[i]);
    return 1.4826 * hu_stats_of(room, n - 1).median / sqrt(2);
}

/* Times without outliers, which are told by those around them: all of them may grow. */
static void copy_clipped(const hu_step_log *log, size_t first, int64_t *ns, size_t n)
{
    enum { AROUND = 5 };
    int64_t near[2 * AROUND + 1];

    for (size_t i = 0; i < n; i++) {
        const size_t from = i < AROUND ? 0 : i - AROUND, to = i + AROUND < n ? i + AROUND + 1 : n;
        const double v = (double)log->steps.at[first + i].ns;

        for (size_t k = from; k < to; k++)
            near[k - from] = log->steps.at[first + k].ns;
        ns[i] = llround(fmin(v, SLOW * hu_stats_of(near, to - from).median));
    }
}

/* How far `n` values lie from their mean: the sum of squares. */
static double squares(const int64_t *ns, size_t n)
{
    double mean = 0, sum = 0;

    for (size_t i = 0; i < n; i++)
        mean += (double)ns[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        sum += ((double)ns[i] - mean) * ((double)ns[i] - mean);
    return sum;
}

/*
 * Does a straight line tell more than a change at `at` does?  Then there is no such change, and where the line is a good one
 * steps grow, or shrink, by as much each.
 */
static bool measure_growth(const hu_log_step *steps, const int64_t *ns, size_t n, size_t at, double noise, hu_log_answer *a)
{
    const double all = squares(ns, n);
    double       x = 0, y = 0, xx = 0, xy = 0, left = 0, slope, first;

    for (size_t i = 0; i < n; i++) {
        x += (double)(steps[i].iteration - steps[0].iteration) / (double)n;
        y += (double)ns[i] / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        const double d = (double)(steps[i].iteration - steps[0].iteration) - x;

        xx += d * d;
        xy += d * ((double)ns[i] - y);
    }
    if (!(xx > 0))
        return false;
    slope = xy / xx;
    first = y - slope * x;
    left = fmax(all - slope * xy, 0);
    if (left >= squares(ns, at) + squares(ns + at, n - at))
        return false;
    a->growth_ns = slope;
    a->growth_from = steps[0].iteration;
    a->first_ns = first;
    a->last_ns = first + slope * (double)(steps[n - 1].iteration - steps[0].iteration);
    a->has_growth = a->first_ns > 0 && a->last_ns > 0 && fabs(a->last_ns / a->first_ns - 1) >= LEAST_CHANGE &&
                    (left <= (1 - STRAIGHT) * all || sqrt(left / (double)n) <= MOST_NOISE * noise);
    return true;
}

/* Where the means before and behind differ most; 0: nowhere by more than the noise. */
static size_t find_change(const int64_t *ns, size_t n, double noise)
{
    double sum = 0, before = 0, best = 0;
    size_t at = 0;

    for (size_t i = 0; i < n; i++)
        sum += (double)ns[i];
    for (size_t k = 1; k < n; k++) {
        const double left = (double)k, right = (double)(n - k);
        double       signal;

        before += (double)ns[k - 1];
        if (k < n / 10 || n - k < n / 10 || n - k < 5 || k < 5)
            continue;
        signal = fabs((sum - before) / right - before / left) / (noise * sqrt(1 / left + 1 / right));
        if (signal > best) {
            best = signal;
            at = k;
        }
    }
    return best < LEAST_SIGNAL ? 0 : at;
}

static void measure_change(const hu_step_log *log, int64_t *room, hu_arena *arena, hu_log_answer *a)
{
    const size_t first = a->has_warmup, n = log->steps.n - first;
    int64_t     *ns = n >= LEAST_FOR_CHANGE ? hu_arena_alloc(arena, n * sizeof *ns) : NULL;
    double       noise;
    size_t       at;

    if (!ns || a->batch_varies || a->n_runs > 1 || log->has_falls)
        return;
    copy_clipped(log, first, ns, n);
    noise = fmax(noise_of(ns, room, n), 1e-3 * a->step.median);
    at = find_change(ns, n, noise);
    if (!at || measure_growth(log->steps.at + first, ns, n, at, noise, a))
        return;
    memcpy(room, ns, at * sizeof *room);
    a->before_ns = hu_stats_of(room, at).median;
    memcpy(room, ns + at, (n - at) * sizeof *room);
    a->after_ns = hu_stats_of(room, n - at).median;
    a->change_at = log->steps.at[first + at].iteration;
    a->has_change = fabs(a->after_ns / a->before_ns - 1) >= LEAST_CHANGE;
}

/* Of lines that tell of every tenth step alone, the nine between are typical ones as far as anybody knows. */
static bool measure_interval(const hu_step_log *log, hu_arena *arena, hu_log_answer *a)
{
    int64_t *values = hu_arena_alloc(arena, (log->steps.n + 1) * sizeof *values);
    size_t   n = 0;

    if (!values)
        return false;
    a->run_ns = a->total_ns;
    a->run_steps = a->n_steps;
    for (size_t i = 1; i < log->steps.n; i++)
        if (log->steps.at[i].iteration > log->steps.at[i - 1].iteration)
            values[n++] = log->steps.at[i].iteration - log->steps.at[i - 1].iteration;
    if (n && a->covers == 1) {
        const int64_t untold = (int64_t)n * (llround(hu_stats_of(values, n).median) - 1);

        a->run_steps += untold;
        a->run_ns += (double)untold * a->step.median;
    }
    return true;
}

/* After a restart, what the run before had reached is computed again. */
static void measure_restarts(const hu_step_log *log, hu_log_answer *a)
{
    int64_t reached = -1;

    for (size_t i = 0; i < log->steps.n; i++) {
        const hu_log_step *s = &log->steps.at[i];

        if (i && s->run != log->steps.at[i - 1].run)
            a->n_runs++;
        if (s->iteration <= reached && !log->has_falls) {
            a->n_repeated += s->covers;
            a->repeated_ns += (double)s->ns * (double)s->covers;
        } else {
            reached = s->iteration > reached ? s->iteration : reached;
        }
    }
}

static bool measure_steps(const hu_step_log *log, hu_arena *arena, hu_log_answer *a)
{
    const size_t n = log->steps.n;
    int64_t     *values = hu_arena_alloc(arena, (n + 1) * sizeof *values);

    if (!values)
        return false;
    for (size_t i = 0; i < n; i++) {
        a->n_steps += log->steps.at[i].covers;
        a->total_ns += (double)log->steps.at[i].ns * (double)log->steps.at[i].covers;
        values[i] = log->steps.at[i].covers;
    }
    a->covers = n ? llround(hu_stats_of(values, n).median) : 0;
    measure_warmup(log, values, a);
    for (size_t i = a->has_warmup; i < n; i++)
        values[i - a->has_warmup] = log->steps.at[i].ns;
    a->step = hu_stats_of(values, n - a->has_warmup);
    measure_restarts(log, a);
    if (!measure_interval(log, arena, a) || !measure_rates(log, arena, a))
        return false;
    if (n) {
        measure_change(log, values, arena, a);
        measure_slow(log, a);
    }
    return true;
}

/* ranks */

/* A rank whose lines are nearly all above the median of the others' medians. */
static bool measure_ranks(const hu_log_rank *ranks, size_t n_ranks, hu_arena *arena, hu_log_answer *a)
{
    int64_t           *medians = hu_arena_alloc(arena, (n_ranks + 1) * sizeof *medians);
    const hu_log_rank *slowest = NULL;
    hu_stats           worst = {0}, rest;
    size_t             n = 0;

    if (!medians)
        return false;
    for (size_t i = 0; i < n_ranks; i++) {
        int64_t *room;
        hu_stats own;

        if (ranks[i].ns.n < LEAST_OF_RANK)
            continue;
        room = hu_arena_alloc(arena, ranks[i].ns.n * sizeof *room);
        if (!room)
            return false;
        memcpy(room, ranks[i].ns.at, ranks[i].ns.n * sizeof *room);
        own = hu_stats_of(room, ranks[i].ns.n);
        if (slowest && own.median <= worst.median) {
            medians[n++] = llround(own.median);
            continue;
        }
        if (slowest)
            medians[n++] = llround(worst.median);
        slowest = &ranks[i];
        worst = own;
    }
    if (n == 0)
        return true;
    rest = hu_stats_of(medians, n);
    if (worst.median < SLOW_RANK * rest.median || worst.p10 <= rest.median || rest.median <= 0)
        return true;
    a->slow_rank = slowest;
    a->slow_rank_by = worst.median / rest.median;
    a->n_ranks = n + 1;
    return true;
}

/* parts */

/* Names of Megatron-LM, Megatron-DeepSpeed and DeepSpeed, and where those times lie. */
static const struct {
    const char *name;
    hu_log_role role;
    const char *inside;
} known[] = {
    {"forward-backward", HU_LOG_OTHER, NULL},
    {"forward", HU_LOG_FORWARD, NULL},
    {"forward-compute", HU_LOG_FORWARD, NULL},
    {"fwd", HU_LOG_FORWARD, NULL},
    {"backward", HU_LOG_BACKWARD, NULL},
    {"backward-compute", HU_LOG_BACKWARD, NULL},
    {"bwd", HU_LOG_BACKWARD, NULL},
    {"backward-backward", HU_LOG_BACKWARD, "backward"},
    {"bwd_inner", HU_LOG_BACKWARD, "bwd"},
    {"backward-allreduce", HU_LOG_COMM, "backward"},
    {"bwd_allreduce", HU_LOG_COMM, "bwd"},
    {"backward-params-all-reduce", HU_LOG_COMM, NULL},
    {"backward-layernorm-all-reduce", HU_LOG_COMM, NULL},
    {"backward-embedding-all-reduce", HU_LOG_COMM, NULL},
    {"layernorm-grads-all-reduce", HU_LOG_COMM, NULL},
    {"embedding-grads-all-reduce", HU_LOG_COMM, NULL},
    {"all-grads-sync", HU_LOG_COMM, NULL},
    {"grads-all-reduce", HU_LOG_COMM, NULL},
    {"grads-reduce-scatter", HU_LOG_COMM, NULL},
    {"params-all-gather", HU_LOG_COMM, NULL},
    {"forward-recv", HU_LOG_COMM, NULL},
    {"forward-send", HU_LOG_COMM, NULL},
    {"backward-recv", HU_LOG_COMM, NULL},
    {"backward-send", HU_LOG_COMM, NULL},
    {"forward-send-backward-recv", HU_LOG_COMM, NULL},
    {"backward-send-forward-recv", HU_LOG_COMM, NULL},
    {"optimizer", HU_LOG_OPTIMIZER, NULL},
    {"step", HU_LOG_OPTIMIZER, NULL},
    {"optimizer_step", HU_LOG_OPTIMIZER, "step"},
    {"optimizer_gradients", HU_LOG_OPTIMIZER, "step"},
    {"optimizer_allgather", HU_LOG_COMM, "step"},
    {"optimizer-copy-to-main-grad", HU_LOG_OPTIMIZER, "optimizer"},
    {"optimizer-unscale-and-check-inf", HU_LOG_OPTIMIZER, "optimizer"},
    {"optimizer-clip-main-grad", HU_LOG_OPTIMIZER, "optimizer"},
    {"optimizer-inner-step", HU_LOG_OPTIMIZER, "optimizer"},
    {"optimizer-copy-main-to-model-params", HU_LOG_OPTIMIZER, "optimizer"},
    {"batch-generator", HU_LOG_DATA, "forward"},
    {"batch generator", HU_LOG_DATA, "forward"},
    {"data", HU_LOG_DATA, NULL},
    {"load-checkpoint", HU_LOG_ONCE, NULL},
    {"save-checkpoint", HU_LOG_ONCE, NULL},
    {"evaluate", HU_LOG_ONCE, NULL},
    {"save checkpoint", HU_LOG_ONCE, NULL},
    {"load checkpoint", HU_LOG_ONCE, NULL},
};

static void recognise(const hu_log_part *part, hu_log_share *share)
{
    for (size_t i = 0; i < HU_COUNT(known); i++)
        if (hu_str_equal(part->name, hu_str_of(known[i].name))) {
            share->role = known[i].role;
            share->inside = known[i].inside;
            return;
        }
    /* "model-and-optimizer-setup", and what is said once while steps are said often */
    share->role = hu_str_ends(part->name, HU_STR("-setup")) || hu_str_ends(part->name, HU_STR(" optimizer")) ||
                          hu_str_ends(part->name, HU_STR("iterators"))
                      ? HU_LOG_ONCE
                      : HU_LOG_OTHER;
}

static bool is_of_step(const hu_log_share *s)
{
    return !s->inside && s->role != HU_LOG_ONCE && isfinite(s->share);
}

/* Parts of the step by length, each with those inside of it behind it; what was said once comes last. */
static int by_length(const void *a, const void *b)
{
    const hu_log_share *x = a, *y = b;
    const int           once = (x->role == HU_LOG_ONCE) - (y->role == HU_LOG_ONCE);

    return once ? once : (x->stats.median < y->stats.median) - (x->stats.median > y->stats.median);
}

static bool has_part(const hu_step_log *log, const char *name)
{
    for (size_t i = 0; i < log->parts.n; i++)
        if (hu_str_equal(log->parts.at[i].name, hu_str_of(name)))
            return true;
    return false;
}

/* Newer Megatron has timers around those that were the step's own: of all of forward and backward, and of the optimizer. */
static void put_inside(const hu_step_log *log, hu_log_share *s)
{
    static const char around[] = "forward-backward";
    const bool        is_pass = s->role == HU_LOG_FORWARD || s->role == HU_LOG_BACKWARD || s->role == HU_LOG_COMM;

    if (s->inside)
        return;
    if (is_pass && !hu_str_equal(s->name, HU_STR("params-all-gather")) && has_part(log, around))
        s->inside = around;
    else if (hu_str_equal(s->name, HU_STR("step")) && has_part(log, "optimizer"))
        s->inside = "optimizer";
}

/* The most frequent of some ranks, which it sorts. */
static void measure_slowest(int64_t *ranks, size_t n, hu_log_share *share)
{
    size_t best = 0;

    share->slowest = -1;
    hu_stats_of(ranks, n); /* sorts */
    for (size_t i = 0, k; i < n; i = k) {
        for (k = i; k < n && ranks[k] == ranks[i]; k++)
            continue;
        if (k - i > best) {
            best = k - i;
            share->slowest = ranks[i];
        }
    }
    share->slowest_share = n ? (double)best / (double)n : (double)NAN;
}

static bool measure_spread(const hu_log_part *part, hu_arena *arena, hu_log_share *share)
{
    const size_t n = part->spread_ns.n > part->slowest.n ? part->spread_ns.n : part->slowest.n;
    int64_t     *values = n ? hu_arena_alloc(arena, n * sizeof *values) : NULL;

    share->slowest = -1;
    if (!values)
        return n == 0;
    memcpy(values, part->spread_ns.at, part->spread_ns.n * sizeof *values);
    share->spread = hu_stats_of(values, part->spread_ns.n);
    if (part->slowest.n) {
        memcpy(values, part->slowest.at, part->slowest.n * sizeof *values);
        measure_slowest(values, part->slowest.n, share);
    }
    return true;
}

/* NaN: it is more than a step, so it is no part of one, or its unit is another. */
static double share_of_step(double part, double step)
{
    return part > OVERLAP * step ? (double)NAN : fmin(part / step, 1);
}

static bool measure_parts(const hu_step_log *log, hu_arena *arena, hu_log_answer *a)
{
    double sum = 0;
    bool   has_parts = false;

    for (size_t i = 0; i < log->parts.n; i++) {
        const hu_log_part *part = &log->parts.at[i];
        hu_log_share       share = {.name = part->name, .share = NAN};
        int64_t           *values = hu_arena_alloc(arena, (part->ns.n + 1) * sizeof *values);

        if (!values)
            return false;
        memcpy(values, part->ns.at, part->ns.n * sizeof *values);
        recognise(part, &share);
        put_inside(log, &share);
        if (!measure_spread(part, arena, &share))
            return false;
        share.stats = hu_stats_of(values, part->ns.n);
        if (part->ns.n == 1 && log->steps.n > 2 && share.role == HU_LOG_OTHER)
            share.role = HU_LOG_ONCE;
        if (share.role != HU_LOG_ONCE && a->step.n && a->step.median > 0 && !a->has_no_unit)
            share.share = share_of_step(share.stats.median, a->step.median);
        if (is_of_step(&share)) {
            sum += share.stats.median;
            has_parts = true;
        }
        if (!hu_vec_push(arena, &a->parts, share))
            return false;
    }
    if (a->parts.n)
        qsort(a->parts.at, a->parts.n, sizeof *a->parts.at, by_length);
    a->rest_ns = !has_parts || a->has_no_unit || log->is_from_parts || sum > OVERLAP * a->step.median
                     ? NAN
                     : fmax(a->step.median - sum, 0);
    return true;
}

/* Only a log with nearly all steps up to its last says how long they took. */
static void doubt_ops(const hu_step_log *log, hu_log_answer *a)
{
    static const double MORE = 2, NEARLY_ALL = 0.9; /* more than twice: what was before the first step is in none */
    const int64_t       last = log->steps.n ? log->steps.at[log->steps.n - 1].iteration : 0;

    a->ops.is_impossible = log->steps.n > 1 && !a->has_no_unit && a->n_runs == 1 && !log->has_falls &&
                           (double)a->n_steps >= NEARLY_ALL * (double)last && a->ops.ns > MORE * a->total_ns;
}

static bool measure_benches(const hu_step_log *log, hu_arena *arena, hu_log_answer *a)
{
    for (size_t i = 0; i < log->benches.n; i++) {
        hu_bench_answer answer;

        if (!hu_bandwidth_measure(&log->benches.at[i], &log->nccl, arena, &answer) ||
            !hu_vec_push(arena, &a->benches, answer))
            return false;
    }
    return true;
}

static bool measure_prints(const hu_step_log *log, hu_arena *arena, hu_log_answer *a)
{
    const size_t n = log->bus_prints.n;
    int64_t     *values = n ? hu_arena_alloc(arena, n * sizeof *values) : NULL;

    if (!values)
        return n == 0;
    memcpy(values, log->bus_prints.at, n * sizeof *values);
    a->bus = hu_stats_of(values, n);
    return true;
}

bool hu_step_log_measure(const hu_step_log *log, hu_arena *arena, hu_log_answer *out)
{
    *out = (hu_log_answer){.n_runs = 1, .rest_ns = NAN, .has_no_unit = log->steps.n > 0 && log->unit == HU_LOG_UNIT_UNKNOWN};
    if ((log->has_rank_files ? !measure_ranks(log->rank_files.at, log->rank_files.n, arena, out)
                             : !measure_ranks(log->ranks.at, log->ranks.n, arena, out)) ||
        !measure_steps(log, arena, out) || !measure_parts(log, arena, out) || !measure_benches(log, arena, out) ||
        !measure_prints(log, arena, out) || !hu_log_hang_measure(log, arena, &out->hang) ||
        !hu_log_calls_measure(&log->calls, arena, &out->calls) || !hu_log_rates_measure(&log->rates, arena, &out->rates) ||
        !hu_log_ops_measure(&log->ops, arena, &out->ops) || !hu_log_flops_measure(&log->flops, arena, &out->flops) ||
        !hu_inspector_measure(&log->inspector, arena, &out->inspector))
        return false;
    doubt_ops(log, out);
    return true;
}
