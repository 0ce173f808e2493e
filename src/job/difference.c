/* SPDX-License-Identifier: Apache-2.0
 * difference.c - what keeps two runs from being compared, then their steps, classes of time, names and findings. */
#include "job/difference.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static const struct {
    const char *key, *words;
} parts[] = {
#define P(id, key, words) {key, words},
    HU_DIFFERENCE_PARTS(P)
#undef P
};

const char *hu_difference_part_key(hu_difference_part part)
{
    return parts[part].key;
}

const char *hu_difference_part_words(hu_difference_part part)
{
    return parts[part].words;
}

/* obstacles */

#define BIT(part) (1u << HU_DIFFERENCE_##part)

enum { ALL = (1 << HU_DIFFERENCE_COUNT) - 1, TIMES = 1 << HU_DIFFERENCE_STEPS | 1 << HU_DIFFERENCE_SUMS };

__attribute__((format(printf, 3, 4))) static void add(hu_difference *x, unsigned barred, const char *format, ...)
{
    hu_obstacle *o = &x->obstacle[x->n_obstacles];
    va_list      arguments;

    if (x->n_obstacles == HU_OBSTACLES)
        return;
    o->parts = barred;
    va_start(arguments, format);
    vsnprintf(o->why, sizeof o->why, format, arguments);
    va_end(arguments);
    x->barred |= barred;
    x->n_obstacles++;
}

static bool has_gpu(const hu_digest *d)
{
    return d->breakdown.has_device;
}

static bool has_steps(const hu_digest *d)
{
    return hu_digest_step_count(d) > 0;
}

static bool is_lossy(const hu_digest *d)
{
    return d->health.quality.is_truncated || hu_quality_lost(&d->health.quality) > 0;
}

static int64_t size_of(const hu_job *job, const hu_digest *d)
{
    return d->info.world_size > (int64_t)job->n ? d->info.world_size : (int64_t)job->n;
}

/* "A", "B", "A and B": those for which it holds. */
static const char *who(bool a, bool b)
{
    return a && b ? "A and B" : a ? "A" : "B";
}

/* Operators carry shapes, stacks and allocations: without any of them none is missing, and none is there. */
static bool has_operators(const hu_digest *d)
{
    return d->health.kinds[HU_KIND_CPU_OP] > 0;
}

static bool captured(const hu_digest *d, hu_missing what)
{
    return (has_operators(d) && !(d->health.missing >> what & 1u)) ||
           (what == HU_MISSING_STACKS && d->health.kinds[HU_KIND_PYTHON] > 0);
}

/* What only one of them has. */
static void compare_capture(hu_difference *x, hu_missing missing, unsigned barred, const char *words)
{
    const bool has[] = {captured(x->d[0], missing), captured(x->d[1], missing)};

    if (has[0] != has[1])
        add(x, barred, "only %s has %s: recording them takes host time", has[0] ? "A" : "B", words);
}

/* Of a job of which not all is there, the slowest may be a rank that is not. */
static void compare_ranks(hu_difference *x)
{
    const long long a = size_of(x->job[0], x->d[0]), b = size_of(x->job[1], x->d[1]);
    const size_t    n_a = x->job[0]->n, n_b = x->job[1]->n;

    if (a != b)
        add(x, TIMES,
            "A has %lld rank%s and B %lld, so each does another share of the work; `holdup scale` divides that difference",
            a, hu_plural(a), b);
    else if (n_a != n_b)
        add(x, TIMES, "of %lld ranks A has %zu and B %zu, so the slowest may be one that is not there; pass the same ranks",
            a, n_a, n_b);
}

static bool is_snapshot(const hu_digest *d)
{
    return hu_str_equal(d->info.format, HU_STR("torch-memory-snapshot"));
}

static bool is_relative(const hu_digest *d)
{
    return d->memory.n && d->memory.at[0].is_relative;
}

/* They have no times, so that there is nothing to compare but memory; with a trace, only what both say of it. */
static bool are_of_memory(hu_difference *x)
{
    const bool a = is_snapshot(x->d[0]), b = is_snapshot(x->d[1]);

    if (is_relative(x->d[0]) != is_relative(x->d[1]))
        add(x, 0, "%s counts memory from its first event on, and the other all that was held",
            who(is_relative(x->d[0]), is_relative(x->d[1])));
    x->of_memory = a && b;
    if (a != b)
        add(x, ALL, "%s is a memory snapshot, which has no times, and the other is none", who(a, b));
    if (a || b)
        x->barred = ALL;
    return a || b;
}

static void find_obstacles(hu_difference *x)
{
    const hu_digest *a = x->d[0], *b = x->d[1];
    const hu_str     unknown = HU_STR("an unknown tool"), no_gpu = HU_STR("no known GPU");

    if (are_of_memory(x))
        return;
    if (!hu_str_equal(a->info.tool, b->info.tool))
        add(x, ALL, "A was recorded by %.*s, B by %.*s: they cost different time and name things differently",
            HU_FMT(a->info.tool.n ? a->info.tool : unknown), HU_FMT(b->info.tool.n ? b->info.tool : unknown));
    if (has_gpu(a) != has_gpu(b))
        add(x, ALL, "only %s has GPU work: the other ran without a GPU, or its GPU was not recorded",
            who(has_gpu(a), has_gpu(b)));
    compare_ranks(x);
    compare_capture(x, HU_MISSING_STACKS, BIT(STEPS) | BIT(HOST), "Python stacks");
    compare_capture(x, HU_MISSING_HOST, BIT(STEPS) | BIT(HOST) | BIT(NAMES), "operators of the host");
    if (!has_steps(a) || !has_steps(b))
        add(x, TIMES, "%s: no complete step, and a capture may have any length", who(!has_steps(a), !has_steps(b)));
    else if (a->steps.source != b->steps.source)
        add(x, TIMES, "the steps of A are found by %s, of B by %s, which may hold different work",
            hu_step_source_name(a->steps.source), hu_step_source_name(b->steps.source));
    if (is_lossy(a) || is_lossy(b))
        add(x, BIT(SUMS) | BIT(NAMES), "%s: cut, or events were lost, so that sums are too small",
            who(is_lossy(a), is_lossy(b)));
    compare_capture(x, HU_MISSING_SHAPES, 0, "input shapes");
    compare_capture(x, HU_MISSING_MEMORY, 0, "allocations");
    if (!hu_str_equal(a->device, b->device))
        add(x, 0, "A ran on %.*s, B on %.*s", HU_FMT(a->device.n ? a->device : no_gpu),
            HU_FMT(b->device.n ? b->device : no_gpu));
}

/* steps and what they consist of */

static void compare_steps(hu_difference *x)
{
    double error = 0;

    for (int k = 0; k < 2; k++) {
        const hu_stats *s = &x->d[k]->steps.duration;

        x->step_ns[k] = hu_digest_step_time(x->d[k])->step_ns;
        error += s->stddev * s->stddev / (double)hu_digest_step_count(x->d[k]);
    }
    x->spread_is_known = isfinite(error);
    x->is_clear = x->spread_is_known && fabs(x->step_ns[1] - x->step_ns[0]) > 2 * sqrt(error);
}

static void put_class(hu_difference *x, const char *key, const char *words, double a_ns, double b_ns)
{
    if (a_ns > 0 || b_ns > 0)
        x->class[x->n_classes++] = (hu_class_change){key, words, a_ns, b_ns};
}

static void compare_classes(hu_difference *x)
{
    const hu_step_time *a = hu_digest_step_time(x->d[0]), *b = hu_digest_step_time(x->d[1]);

    if (has_gpu(x->d[0])) {
        put_class(x, "compute", "compute", a->compute_ns, b->compute_ns);
        put_class(x, "exposed_comm", "exposed communication", a->exposed_comm_ns, b->exposed_comm_ns);
        put_class(x, "exposed_copy", "exposed copies", a->exposed_copy_ns, b->exposed_copy_ns);
        put_class(x, "idle", "GPU idle", a->idle_ns, b->idle_ns);
        return;
    }
    for (hu_role r = 0; r < HU_ROLE_COUNT; r++)
        put_class(x, hu_role_key(r), hu_role_label(r), a->role_ns[r], b->role_ns[r]);
}

/* names */

/* What one side has of a name: its calls and their time, in all and in the counted steps. */
typedef struct {
    hu_str  name, short_name;
    int64_t calls, calls_in_steps, total_ns;
} row;

typedef struct {
    row   *at;
    size_t n;
} row_list;

static int by_name(const void *left, const void *right)
{
    const row *a = left, *b = right;

    return hu_str_compare(a->name, b->name);
}

static double size_of_change(const hu_name_change *c)
{
    return fabs((isnan(c->b_ns) ? 0 : c->b_ns) - (isnan(c->a_ns) ? 0 : c->a_ns));
}

static int by_size(const void *left, const void *right)
{
    const double a = size_of_change(left), b = size_of_change(right);

    return a != b ? (a < b) - (a > b)
                  : hu_str_compare(((const hu_name_change *)left)->name, ((const hu_name_change *)right)->name);
}

/* Of a step: the mean of all calls times the calls in a step, for sums are of the whole capture.  Else of a call. */
static void value_of(const row *r, const hu_digest *d, bool is_per_step, double *ns, double *calls)
{
    const double share = is_per_step ? (double)r->calls_in_steps / (double)hu_digest_step_count(d) : 1;

    *calls = is_per_step ? share : (double)r->calls;
    *ns = (double)r->total_ns / (double)r->calls * share;
}

static void put_change(const hu_difference *x, const row *a, const row *b, hu_name_changes *out)
{
    const row     *known = a ? a : b;
    hu_name_change c = {known->name, known->short_name, (double)NAN, (double)NAN, (double)NAN, (double)NAN};

    if ((!a || !b) && !(x->is_per_step && hu_difference_has(x, HU_DIFFERENCE_NAMES)))
        return;
    if (a)
        value_of(a, x->d[0], x->is_per_step, &c.a_ns, &c.a_calls);
    if (b)
        value_of(b, x->d[1], x->is_per_step, &c.b_ns, &c.b_calls);
    if (size_of_change(&c) > 0)
        out->at[out->n++] = c;
}

static int join(const hu_difference *x, row_list a, row_list b, hu_arena *arena, hu_name_changes *out, hu_error *err)
{
    size_t i = 0, k = 0;

    out->at = hu_arena_calloc(arena, a.n + b.n + 1, sizeof *out->at);
    if (!out->at)
        return hu_fail_memory(err);
    qsort(a.at, a.n, sizeof *a.at, by_name);
    qsort(b.at, b.n, sizeof *b.at, by_name);
    while (i < a.n || k < b.n) {
        const int order = i == a.n ? 1 : k == b.n ? -1 : by_name(&a.at[i], &b.at[k]);

        put_change(x, order <= 0 ? &a.at[i] : NULL, order >= 0 ? &b.at[k] : NULL, out);
        i += order <= 0;
        k += order >= 0;
    }
    qsort(out->at, out->n, sizeof *out->at, by_size);
    return 0;
}

static bool counts(const hu_difference *x, const row *r)
{
    return r->calls > 0 && (!x->is_per_step || r->calls_in_steps > 0);
}

static int list_operators(const hu_difference *x, const hu_digest *d, hu_arena *arena, row_list *out, hu_error *err)
{
    out->at = hu_arena_calloc(arena, d->operators.n + 1, sizeof *out->at);
    if (!out->at)
        return hu_fail_memory(err);
    for (size_t i = 0; i < d->operators.n; i++) {
        const hu_operator *o = &d->operators.at[i];
        const row r = {.name = o->name, .calls = o->calls, .calls_in_steps = o->calls_in_steps, .total_ns = o->host_self_ns};

        if (counts(x, &r))
            out->at[out->n++] = r;
    }
    return 0;
}

static int list_kernels(const hu_difference *x, const hu_digest *d, hu_arena *arena, row_list *out, hu_error *err)
{
    out->at = hu_arena_calloc(arena, d->kernels.n + 1, sizeof *out->at);
    if (!out->at)
        return hu_fail_memory(err);
    for (size_t i = 0; i < d->kernels.n; i++) {
        const hu_kernel *k = &d->kernels.at[i];
        const row        r = {k->name, k->short_name, k->calls, k->calls_in_steps, k->total_ns};

        if (counts(x, &r))
            out->at[out->n++] = r;
    }
    return 0;
}

static int compare_names(hu_difference *x, hu_arena *arena, hu_error *err)
{
    row_list a = {0}, b = {0}, c = {0}, d = {0};

    x->is_per_step = hu_difference_has(x, HU_DIFFERENCE_SUMS);
    if (hu_difference_has(x, HU_DIFFERENCE_HOST) &&
        (list_operators(x, x->d[0], arena, &a, err) < 0 || list_operators(x, x->d[1], arena, &b, err) < 0 ||
         join(x, a, b, arena, &x->operators, err) < 0))
        return err->code;
    if (hu_difference_has(x, HU_DIFFERENCE_GPU) &&
        (list_kernels(x, x->d[0], arena, &c, err) < 0 || list_kernels(x, x->d[1], arena, &d, err) < 0 ||
         join(x, c, d, arena, &x->kernels, err) < 0))
        return err->code;
    return 0;
}

/* findings */

static const hu_findings *findings_of(const hu_job *job)
{
    const hu_findings *f = job->findings ? job->findings[job->verdict.rank] : NULL;

    return f && f->is_replayed ? f : NULL;
}

static const hu_finding *find_rule(const hu_findings *f, hu_rule rule)
{
    for (size_t i = 0; i < f->n; i++)
        if (f->at[i].rule == rule)
            return &f->at[i];
    return NULL;
}

static void compare_findings(hu_difference *x)
{
    const hu_findings *a = findings_of(x->job[0]), *b = findings_of(x->job[1]);

    if (!a || !b)
        return;
    for (size_t i = 0; i < a->n; i++)
        x->finding[x->n_findings++] = (hu_finding_change){&a->at[i], find_rule(b, a->at[i].rule)};
    for (size_t i = 0; i < b->n; i++)
        if (!find_rule(a, b->at[i].rule))
            x->finding[x->n_findings++] = (hu_finding_change){NULL, &b->at[i]};
}

int hu_difference_measure(const hu_job *a, const hu_job *b, hu_arena *arena, hu_difference *out, hu_error *err)
{
    *out = (hu_difference){.job = {a, b}, .step_ns = {(double)NAN, (double)NAN}};
    for (int k = 0; k < 2; k++)
        out->d[k] = out->job[k]->digests[out->job[k]->verdict.rank];
    find_obstacles(out);
    if (hu_difference_has(out, HU_DIFFERENCE_STEPS)) {
        compare_steps(out);
        compare_classes(out);
    }
    compare_findings(out);
    if (!hu_memory_difference_measure(a->digests[a->verdict.rank], b->digests[b->verdict.rank], arena, &out->memory))
        return hu_fail_memory(err);
    return compare_names(out, arena, err);
}
