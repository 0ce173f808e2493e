/* SPDX-License-Identifier: Apache-2.0
 * digest.c - one arena for the answers, one for the work; texts are copied last, so that the trace can go. */
#include "analyze/digest.h"

#include "base/thread.h"

static bool keep(hu_arena *arena, hu_str *s)
{
    const hu_str kept = hu_arena_copy(arena, *s);

    if (kept.p)
        *s = kept;
    return kept.p != NULL;
}

static bool keep_info(hu_digest *d)
{
    hu_trace_info *i = &d->info;

    return keep(d->arena, &i->file) && keep(d->arena, &i->tool) && keep(d->arena, &i->host) && keep(d->arena, &i->backend) &&
           keep(d->arena, &i->format) && keep(d->arena, &i->compression) && keep(d->arena, &i->outsiders) &&
           keep(d->arena, &i->gpus) && keep(d->arena, &i->rapl) && keep(d->arena, &i->alloc_conf);
}

static bool keep_devices(const hu_trace *trace, hu_digest *d)
{
    const hu_device *devices = hu_trace_devices(trace, &d->n_devices);

    d->devices = hu_arena_calloc(d->arena, d->n_devices + 1, sizeof *d->devices);
    d->device_names = hu_arena_calloc(d->arena, d->n_devices + 1, sizeof *d->device_names);
    if (!d->devices || !d->device_names)
        return false;
    for (size_t i = 0; i < d->n_devices; i++) {
        d->devices[i] = devices[i];
        d->device_names[i] = hu_trace_text(trace, devices[i].name);
        if (!keep(d->arena, &d->device_names[i]))
            return false;
    }
    return true;
}

/* deviceProperties lists all devices of a machine, used or not. */
static void find_device(const hu_trace *trace, hu_digest *d)
{
    const hu_device *device = hu_trace_main_device(trace);

    d->device = HU_STR("");
    d->device_id = device ? device->id : -1;
    for (size_t i = 0; device && i < d->n_devices; i++)
        if (d->devices[i].id == device->id)
            d->device = d->device_names[i];
}

/* Calls keep() for the members named of every row of a list. */
/* clang-format off */
#define KEEP1(ok, d, list, count, a)                                               \
    for (size_t i_ = 0; ok && i_ < (d)->count; i_++)                               \
        ok = keep((d)->arena, &(d)->list[i_].a)
#define KEEP2(ok, d, list, count, a, b)                                            \
    for (size_t i_ = 0; ok && i_ < (d)->count; i_++)                               \
        ok = keep((d)->arena, &(d)->list[i_].a) && keep((d)->arena, &(d)->list[i_].b)
#define KEEP3(ok, d, list, count, a, b, c)                                         \
    for (size_t i_ = 0; ok && i_ < (d)->count; i_++)                               \
        ok = keep((d)->arena, &(d)->list[i_].a) && keep((d)->arena, &(d)->list[i_].b) && keep((d)->arena, &(d)->list[i_].c)
/* clang-format on */

/* Labels of kernels are a part of their name or were made in this arena: the part moves with the name. */
static bool keep_kernels(hu_digest *d)
{
    for (size_t i = 0; i < d->kernels.n; i++) {
        hu_kernel  *k = &d->kernels.at[i];
        const char *old = k->name.p;

        if (!keep(d->arena, &k->name))
            return false;
        if (k->read.label.p >= old && k->read.label.p <= old + k->name.n)
            k->read.label.p = k->name.p + (k->read.label.p - old);
    }
    return true;
}

static bool keep_step_names(const hu_trace *trace, hu_digest *d)
{
    bool ok = keep(d->arena, &d->steps.what) && keep(d->arena, &d->steps.pause) && keep(d->arena, &d->slow_steps.what) &&
              keep(d->arena, &d->own_code.name);

    d->step_names = hu_arena_calloc(d->arena, d->steps.n + 1, sizeof *d->step_names);
    ok = ok && d->step_names;
    for (size_t i = 0; ok && i < d->steps.n; i++) {
        d->step_names[i] = hu_trace_text(trace, d->steps.at[i].name);
        ok = keep(d->arena, &d->step_names[i]);
    }
    return ok;
}

static bool keep_texts(const hu_trace *trace, hu_digest *d)
{
    bool ok = keep_step_names(trace, d) && keep_kernels(d);

    KEEP2(ok, d, operators.at, operators.n, name, group);
    KEEP1(ok, d, copies.at, copies.n, name);
    KEEP3(ok, d, copies.at, copies.n, direction, from, to);
    KEEP3(ok, d, idle.longest, idle.n_longest, host, before, after);
    KEEP1(ok, d, launches.at, launches.n, name);
    KEEP3(ok, d, launches.outliers, launches.n_outliers, call, work, op);
    KEEP1(ok, d, calls.at, calls.n, name);
    KEEP3(ok, d, calls.waits, calls.n_waits, call, op, stack);
    KEEP3(ok, d, comm.at, comm.n, name, group, dtype);
    KEEP2(ok, d, memory.holders, memory.n_holders, op, module);
    KEEP1(ok, d, memory.code, memory.n_code, op);
    KEEP1(ok, d, memory.failures, memory.n_failures, op);
    KEEP1(ok, d, overheads.at, overheads.n, name);
    KEEP1(ok, d, overheads.recomputed, overheads.n_recomputed, name);
    KEEP2(ok, d, hot.at, hot.n, name, module);
    KEEP1(ok, d, tree.at, tree.n, name);
    KEEP3(ok, d, op_kernels.at, op_kernels.n, op, kernel, source);
    KEEP1(ok, d, sequences.at, sequences.n, op);
    KEEP1(ok, d, kernel_shapes.at, kernel_shapes.n, name);
    if (d->hta)
        KEEP1(ok, d, hta->kernels, hta->n_kernels, name);
    KEEP1(ok, d, host_calls.at, host_calls.n, name);
    KEEP3(ok, d, host_calls.places, host_calls.n_places, call, path, within);
    ok = ok && keep(d->arena, &d->host_time.process) && keep(d->arena, &d->host_time.thread);
    KEEP1(ok, d, host_time.at, host_time.n, name);
    KEEP2(ok, d, outside.at, outside.n, name, why);
    KEEP3(ok, d, gpu_clocks.at, gpu_clocks.n, name, uuid, bus);
    KEEP3(ok, d, gpu_clocks.at, gpu_clocks.n, driver, limits, problem);
    KEEP2(ok, d, host_energy.at, host_energy.n, name, host);
    KEEP1(ok, d, host_time.threads, host_time.n_threads, name);
    KEEP1(ok, d, deadlock.at, deadlock.n, name);
    KEEP3(ok, d, deadlock.at, deadlock.n, call, lock, caller);
    KEEP2(ok, d, parallelism.at, parallelism.n, group, ranks);
    ok = ok && keep(d->arena, &d->parallelism.gradient_dtype);
    KEEP3(ok, d, roofline.at, roofline.n, op, shapes, types);
    KEEP1(ok, d, roofline.unknown, roofline.n_unknown, name);
    return ok;
}

/* The steps as the host marked them, for what was launched in them; `counted` keeps only those in the means. */
static bool windows(const hu_steps *steps, bool counted, hu_arena *arena, hu_intervals *out)
{
    *out = (hu_intervals){0};
    for (size_t i = 0; i < steps->n; i++)
        if ((!counted || hu_step_counts(&steps->at[i])) &&
            !hu_intervals_add(arena, out, steps->at[i].host_start_ns, steps->at[i].host_end_ns))
            return false;
    return true;
}

/* Each question once: what asks it, and where its answer goes.  The dearest come first, so that threads end together;
 * those that need most memory stand apart, so that no two of them run at once, and the hungriest is the first of all, while
 * the graph beside them has only begun. */
#define QUESTIONS(Q)                                                                        \
    Q(operators, hu_operators_measure(ask, o->grouping, o->frames, &d->operators, err))     \
    Q(breakdown, hu_breakdown_measure(ask, &d->breakdown, err))                             \
    Q(roofline, hu_roofline_measure(ask, &d->roofline, err))                                \
    Q(tree, o->is_brief ? 0 : hu_tree_measure(ask, &d->tree, err))                          \
    Q(calls, hu_calls_measure(ask, &d->calls, err))                                         \
    Q(launches, hu_launches_measure(ask, &d->launches, err))                                \
    Q(kernels, hu_kernels_measure(ask, &d->kernels, err))                                   \
    Q(overheads, hu_overheads_measure(ask, &d->overheads, err))                             \
    Q(hot, hu_hot_measure(ask, &d->hot, err))                                               \
    Q(sequences, o->is_brief ? 0 : hu_sequences_measure(ask, &d->sequences, err))           \
    Q(memory, hu_memory_measure(ask, &d->memory, err))                                      \
    Q(idle, hu_idle_measure(ask, &d->idle, err))                                            \
    Q(comm, hu_comm_measure(ask, &d->comm, err))                                            \
    Q(copies, hu_copies_measure(ask, &d->copies, err))                                      \
    Q(parallelism, hu_parallelism_measure(ask, &d->phases, &d->parallelism, err))           \
    Q(op_kernels, o->is_brief ? 0 : hu_op_kernels_measure(ask, &d->op_kernels, err))        \
    Q(host_calls, hu_host_calls_measure(ask, &d->host_calls, err))                          \
    Q(host_time, hu_host_time_measure(ask, &d->host_time, err))                             \
    Q(outside, hu_outside_measure(ask, &d->outside, err))                                   \
    Q(gpu_clocks, hu_gpu_clocks_measure(ask, &d->gpu_clocks, err))                          \
    Q(host_energy, hu_host_energy_measure(ask, &d->host_energy, err))                       \
    Q(deadlock, hu_deadlock_find(ask, &d->deadlock, err))                                   \
    Q(serving, hu_serving_measure(ask, &d->serving, err))                                   \
    Q(kernel_shapes, o->shapes ? hu_kernel_shapes_measure(ask, &d->kernel_shapes, err) : 0) \
    Q(hta, d->hta ? hu_hta_measure(ask, d->hta, err) : 0)                                   \
    Q(tracelens, d->tracelens ? hu_tracelens_measure(ask, d->tracelens, err) : 0)

enum {
#define Q(name, call) QUESTION_##name,
    QUESTIONS(Q)
#undef Q
        QUESTION_COUNT
};

_Static_assert((int)QUESTION_COUNT <= (int)HU_DIGEST_ARENAS, "each answer has an arena of its own");

typedef struct {
    const hu_ask            *ask;
    const hu_digest_options *o;
    hu_digest               *d;
    hu_error                 errors[QUESTION_COUNT];
    int                      rc[QUESTION_COUNT];
} asking;

static int ask_one(size_t question, const hu_ask *ask, const hu_digest_options *o, hu_digest *d, hu_error *err)
{
    switch (question) {
#define Q(name, call)     \
    case QUESTION_##name: \
        return call;
        QUESTIONS(Q)
#undef Q
    default:
        return 0;
    }
}

/* Its own working memory, so that the peak is that of the hungriest; its own results, so that threads share nothing. */
static void ask_alone(void *context, size_t question)
{
    asking *a = context;
    hu_ask  own = *a->ask;

    own.scratch = hu_arena_new();
    own.arena = a->d->arenas[question] = hu_arena_new();
    a->rc[question] = own.scratch && own.arena ? ask_one(question, &own, a->o, a->d, &a->errors[question])
                                               : hu_fail_memory(&a->errors[question]);
    hu_arena_free(own.scratch);
}

static int ask_all(const hu_ask *ask, const hu_digest_options *o, hu_digest *d, hu_error *err)
{
    asking a = {.ask = ask, .o = o, .d = d};

    d->hta = o->compat == HU_COMPAT_HTA ? hu_arena_calloc(d->arena, 1, sizeof *d->hta) : NULL;
    d->tracelens = o->compat == HU_COMPAT_TRACELENS ? hu_arena_calloc(d->arena, 1, sizeof *d->tracelens) : NULL;
    if ((o->compat == HU_COMPAT_HTA && !d->hta) || (o->compat == HU_COMPAT_TRACELENS && !d->tracelens))
        return hu_fail_memory(err);
    hu_thread_each(QUESTION_COUNT, o->threads > 1 ? o->threads : 1, ask_alone, &a);
    for (size_t i = 0; i < QUESTION_COUNT; i++) {
        if (a.rc[i] < 0) {
            *err = a.errors[i];
            return a.rc[i];
        }
    }
    return 0;
}

/* The digest outlives the ground. */
static bool keep_steps(const hu_steps *steps, hu_digest *d)
{
    d->steps = *steps;
    d->steps.at = hu_arena_alloc(d->arena, (steps->n + 1) * sizeof *steps->at);
    if (d->steps.at && steps->n)
        memcpy(d->steps.at, steps->at, steps->n * sizeof *steps->at);
    return d->steps.at != NULL;
}

static int measure(const hu_ground *ground, const hu_digest_options *o, hu_digest *d, hu_arena *scratch, hu_error *err)
{
    hu_intervals all, counted;
    hu_ask       ask = ground->ask;
    int          rc;

    ask.arena = d->arena;
    ask.scratch = scratch;
    if ((rc = hu_gpu_time_measure(&ask, &d->gpu_time, err)) < 0)
        return rc;
    if (!keep_steps(&ground->steps, d) || !windows(&d->steps, false, scratch, &all) ||
        !windows(&d->steps, true, scratch, &counted))
        return hu_fail_memory(err);
    ask.steps = &d->steps;
    ask.scope = o->steps.is_limited ? &all : NULL;
    ask.counted = &counted;
    rc = ask_all(&ask, o, d, err);
    if (rc == 0)
        rc = hu_slow_steps_find(&ask, &d->breakdown, &d->slow_steps, err);
    if (rc == 0)
        rc = hu_own_code_find(&ask, &d->own_code, err);
    if (rc == 0)
        hu_health_measure(ask.trace, &d->steps, ask.names, &d->health);
    return rc;
}

hu_digest *hu_digest_measure_on(const hu_ground *ground, const hu_digest_options *options, hu_error *err)
{
    const hu_trace *trace = ground->ask.trace;
    hu_arena       *arena = hu_arena_new(), *scratch = hu_arena_new();
    hu_digest      *d = arena ? hu_arena_calloc(arena, 1, sizeof *d) : NULL;
    int             rc = d && scratch ? 0 : hu_fail_memory(err);

    if (d)
        d->arena = arena;
    if (rc == 0) {
        d->info = *hu_trace_get_info(trace);
        rc = measure(ground, options, d, scratch, err);
    }
    if (rc == 0) {
        if (!keep_info(d) || !keep_devices(trace, d) || !keep_texts(trace, d))
            rc = hu_fail_memory(err);
        else
            find_device(trace, d);
    }
    hu_arena_free(scratch);
    if (rc == 0)
        return d;
    if (d)
        hu_digest_free(d);
    else
        hu_arena_free(arena);
    return NULL;
}

hu_digest *hu_digest_measure(const hu_trace *trace, const hu_digest_options *options, hu_error *err)
{
    hu_ground *ground = hu_ground_new(trace, &options->steps, err);
    hu_digest *d = ground ? hu_digest_measure_on(ground, options, err) : NULL;

    hu_ground_free(ground);
    return d;
}

static bool merge(hu_digest *into, const hu_digest *from)
{
    hu_arena *a = into->arena;

    hu_gpu_time_merge(&into->gpu_time, &from->gpu_time);
    into->steps.n_counted += from->steps.source != HU_STEPS_NONE ? from->steps.n_counted : 0;
    hu_health_merge(&into->health, &from->health);
    return hu_operators_merge(&into->operators, &from->operators, a) &&
           hu_kernels_merge(&into->kernels, &from->kernels, a) && hu_copies_merge(&into->copies, &from->copies, a) &&
           hu_idle_merge(&into->idle, &from->idle, a) && hu_launches_merge(&into->launches, &from->launches, a) &&
           hu_calls_merge(&into->calls, &from->calls, a) && hu_comm_merge(&into->comm, &from->comm, a) &&
           hu_memory_merge(&into->memory, &from->memory, a) && hu_overheads_merge(&into->overheads, &from->overheads, a) &&
           hu_hot_merge(&into->hot, &from->hot, a) && hu_tree_merge(&into->tree, &from->tree, a) &&
           hu_sequences_merge(&into->sequences, &from->sequences, a) &&
           hu_roofline_merge(&into->roofline, &from->roofline, a) && hu_outside_merge(&into->outside, &from->outside, a) &&
           hu_gpu_clocks_merge(&into->gpu_clocks, &from->gpu_clocks, a) &&
           hu_host_energy_merge(&into->host_energy, &from->host_energy, a) &&
           hu_host_calls_merge(&into->host_calls, &from->host_calls, a) &&
           hu_phase_table_merge(&into->phases, &from->phases, a) &&
           hu_op_kernels_merge(&into->op_kernels, &from->op_kernels, a);
}

hu_digest *hu_digest_merge(hu_digest *const *digests, size_t n, hu_error *err)
{
    hu_arena    *arena = hu_arena_new();
    hu_digest   *d = arena ? hu_arena_calloc(arena, 1, sizeof *d) : NULL;
    bool         ok = d != NULL;
    hu_agreement job;

    if (ok) {
        d->arena = arena;
        d->info = digests[0]->info;
        d->info.rank = -1;
        d->info.file = HU_STR("all ranks");
        d->device = digests[0]->device;
        d->device_id = digests[0]->device_id;
        d->steps.what = digests[0]->steps.what;
        d->steps.pause = digests[0]->steps.pause;
        d->steps.source = digests[0]->steps.source;
        d->operators.grouping = digests[0]->operators.grouping;
        d->comm.on_host = true;
        d->host_energy.state = -1;
        hu_digest_agree(digests, n, &job);
        d->host_time.process = d->host_time.thread = HU_STR("");
        d->host_time.pid = d->host_time.tid = -1;
        d->parallelism = job.said ? *job.said : hu_parallelism_unknown();
        d->roofline.device = d->roofline.source = HU_STR("");
    }
    for (size_t i = 0; ok && i < n; i++)
        ok = merge(d, digests[i]);
    if (ok)
        return d;
    hu_arena_free(arena);
    hu_fail_memory(err);
    return NULL;
}

void hu_digest_free(hu_digest *d)
{
    if (!d)
        return;
    for (size_t i = 0; i < HU_DIGEST_ARENAS; i++)
        hu_arena_free(d->arenas[i]);
    hu_arena_free(d->arena);
}
