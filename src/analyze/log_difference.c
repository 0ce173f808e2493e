/* SPDX-License-Identifier: Apache-2.0
 * log_difference.c - by medians; what one of the two does not say is not compared, and the answer says so. */
#include "analyze/log_difference.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

__attribute__((format(printf, 2, 3))) static void add(hu_log_difference *out, const char *format, ...)
{
    va_list list;

    if (out->n_obstacles == HU_LOG_OBSTACLES)
        return;
    va_start(list, format);
    vsnprintf(out->obstacles[out->n_obstacles++], HU_LOG_OBSTACLE_BYTES, format, list);
    va_end(list);
}

static const char *who(bool a, bool b)
{
    return a && b ? "A and B" : a ? "A" : "B";
}

static bool put(hu_log_difference *out, hu_arena *arena, hu_log_change_kind kind, hu_str name, int64_t bytes, double a,
                double b)
{
    if (!isfinite(a) || !isfinite(b))
        return true;
    return hu_vec_push(arena, &out->at, ((hu_log_change){kind, name, bytes, a, b}));
}

static bool compare_steps(const hu_step_log *log[2], const hu_log_answer *answer[2], hu_arena *arena, hu_log_difference *out)
{
    const hu_log_answer *a = answer[0], *b = answer[1];
    double               error;

    if (!a->step.n && !b->step.n)
        return true;
    if (!a->step.n || !b->step.n) {
        add(out, "only %s has times of steps", who(a->step.n, b->step.n));
        return true;
    }
    if (a->has_no_unit || b->has_no_unit) {
        add(out, "steps are not compared: %s does not say the unit of its times", who(a->has_no_unit, b->has_no_unit));
        return true;
    }
    if (log[0]->is_from_parts != log[1]->is_from_parts) {
        add(out, "steps are not compared: those of %s are sums of forward, backward and step",
            who(log[0]->is_from_parts, log[1]->is_from_parts));
        return true;
    }
    if (isfinite(a->batch) && isfinite(b->batch) && a->batch != b->batch)
        add(out, "a step of A is of %.0f samples, and of B of %.0f: compare samples per second", a->batch, b->batch);
    if (log[0]->is_from_bars != log[1]->is_from_bars)
        add(out, "steps of %s are means by a progress bar", who(log[0]->is_from_bars, log[1]->is_from_bars));
    error = a->step.stddev * a->step.stddev / (double)a->step.n + b->step.stddev * b->step.stddev / (double)b->step.n;
    out->has_step = true;
    out->is_clear = isfinite(error) && fabs(b->step.median - a->step.median) > 2 * sqrt(error);
    return put(out, arena, HU_LOG_CHANGE_NS, HU_STR("step"), 0, a->step.median, b->step.median);
}

static bool compare_rates(const hu_log_answer *a, const hu_log_answer *b, hu_arena *arena, hu_log_difference *out)
{
    return put(out, arena, HU_LOG_CHANGE_RATE, HU_STR("samples/s"), 0, a->samples, b->samples) &&
           put(out, arena, HU_LOG_CHANGE_RATE, HU_STR("tokens/s"), 0, a->tokens, b->tokens) &&
           put(out, arena, HU_LOG_CHANGE_RATE, HU_STR("TFLOP/s per GPU"), 0, a->tflops, b->tflops);
}

/* Of logs that print no time. */
static bool compare_throughput(const hu_step_log *log[2], const hu_log_answer *answer[2], hu_arena *arena,
                               hu_log_difference *out)
{
    static const char *const names[] = {"tokens/s", "samples/s", "steps/s"};
    const hu_rates_answer   *a = &answer[0]->rates, *b = &answer[1]->rates;

    if (log[0]->steps.n || log[1]->steps.n)
        return true;
    if (a->times && b->times && a->kind == b->kind && a->is_of_gpu != b->is_of_gpu)
        add(out, "throughput is not compared: that of %s is of one GPU", who(a->is_of_gpu, b->is_of_gpu));
    else if (a->times && b->times && a->kind == b->kind &&
             !put(out, arena, HU_LOG_CHANGE_RATE, hu_str_of(names[a->kind]), 0, hu_log_rate_of(a->times->step.median),
                  hu_log_rate_of(b->times->step.median)))
        return false;
    if (log[0]->rates.is_serving || log[1]->rates.is_serving)
        add(out, "the rates of a server are those of the requests that came: compare only runs under the same load");
    return (a->times && b->times && a->kind == HU_LOG_RATE_STEPS) ||
           put(out, arena, HU_LOG_CHANGE_RATE, HU_STR("steps/s"), 0, a->steps_per_s, b->steps_per_s);
}

static bool compare_parts(const hu_log_answer *a, const hu_log_answer *b, hu_arena *arena, hu_log_difference *out)
{
    for (size_t i = 0; i < a->parts.n; i++)
        for (size_t k = 0; k < b->parts.n; k++)
            if (hu_str_equal(a->parts.at[i].name, b->parts.at[k].name) &&
                !put(out, arena, HU_LOG_CHANGE_NS, a->parts.at[i].name, 0, a->parts.at[i].stats.median,
                     b->parts.at[k].stats.median))
                return false;
    return true;
}

static bool is_same_test(const hu_log_bench *a, const hu_log_bench *b)
{
    return hu_str_equal(a->name, b->name) && hu_str_equal(a->type, b->type) && hu_str_equal(a->redop, b->redop) &&
           a->pass == b->pass;
}

/* NaN: no row tells it. */
static double best_of(const hu_log_bench *test)
{
    double best = NAN;

    for (size_t i = 0; i < test->rows.n; i++)
        best = fmax(best, hu_bandwidth_of(&test->rows.at[i]));
    return best;
}

static const hu_bench_row *row_of(const hu_log_bench *test, int64_t bytes)
{
    for (size_t i = 0; i < test->rows.n; i++)
        if (test->rows.at[i].bytes == bytes)
            return &test->rows.at[i];
    return NULL;
}

static bool compare_rows(const hu_log_bench *a, const hu_log_bench *b, hu_arena *arena, hu_log_difference *out)
{
    const hu_str name = a->name.n ? a->name : HU_STR("test");

    if (a->ranks && b->ranks && a->ranks != b->ranks)
        add(out, "%.60s: A has %lld ranks and B %lld", name.n < 60 ? name.p : "a test", (long long)a->ranks,
            (long long)b->ranks);
    if (!put(out, arena, HU_LOG_CHANGE_BANDWIDTH, name, 0, best_of(a), best_of(b)))
        return false;
    for (size_t i = a->rows.n; i > 0; i--) { /* the largest sizes say most */
        const hu_bench_row *x = &a->rows.at[i - 1], *y = row_of(b, x->bytes);

        if (y && !put(out, arena, HU_LOG_CHANGE_BANDWIDTH, name, x->bytes, hu_bandwidth_of(x), hu_bandwidth_of(y)))
            return false;
    }
    return true;
}

/* Each with the first of the same name, type, operation and pass. */
static bool compare_tests(const hu_step_log *a, const hu_step_log *b, hu_arena *arena, hu_log_difference *out)
{
    for (size_t i = 0; i < a->benches.n; i++) {
        const hu_log_bench *same = NULL;

        for (size_t k = 0; k < b->benches.n && !same; k++)
            same = is_same_test(&a->benches.at[i], &b->benches.at[k]) ? &b->benches.at[k] : NULL;
        if (same && !compare_rows(&a->benches.at[i], same, arena, out))
            return false;
        if (!same)
            add(out, "a test of A (%.*s) is not in B", (int)(a->benches.at[i].name.n < 60 ? a->benches.at[i].name.n : 60),
                a->benches.at[i].name.n ? a->benches.at[i].name.p : "");
    }
    return true;
}

bool hu_log_difference_measure(const hu_step_log *log[2], const hu_log_answer *answer[2], hu_arena *arena,
                               hu_log_difference *out)
{
    *out = (hu_log_difference){0};
    return compare_steps(log, answer, arena, out) && compare_rates(answer[0], answer[1], arena, out) &&
           compare_throughput(log, answer, arena, out) && compare_parts(answer[0], answer[1], arena, out) &&
           compare_tests(log[0], log[1], arena, out);
}
