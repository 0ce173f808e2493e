/* SPDX-License-Identifier: Apache-2.0
 * gates.c - what nominates each diagnosis.  A gate is cheap and generous: the replay decides what it is worth.
 *
 * Shares of time nominate, never rank: a long wait on a job that the device limits costs nothing, and its price says so.
 * What is said is per step or in the whole capture (amount.h), and says which.
 */
#include <stdarg.h>

#include "advise/rules.h"
#include "analyze/kernel_name.h"

static const double LEAST_SHARE = 0.005; /* of the step; below, nothing could be worth a finding */
static const double LEAST_COMM = 0.01, LEAST_OVERLAP = 0.5, LEAST_RECOMPUTE = 0.01;
static const double POOR_SHARE = 0.4;      /* of the roofline, below which a product is called inefficient */
static const double LEAST_HOST = 0.20;     /* of the critical path, for a job that its launches limit */
static const double MOST_SLOWER = 0.5;     /* of the time compared: a lower clock slows all kernels, or nearly */
static const double LEAST_DESCRIBED = 0.5; /* of the kernels compared: of the rest nobody knows whether they did the same */

enum { MANY_MESSAGES = 4, TENSOR_MULTIPLE = 8 };

__attribute__((format(printf, 2, 3))) static void say(hu_hint *h, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(h->statement, sizeof h->statement, format, args);
    va_end(args);
}

__attribute__((format(printf, 2, 3))) static void show(hu_hint *h, const char *format, ...)
{
    va_list args;

    if (h->n_evidence == HU_EVIDENCE)
        return;
    va_start(args, format);
    vsnprintf(h->evidence[h->n_evidence++], HU_EVIDENCE_BYTES, format, args);
    va_end(args);
}

/*
 * Time of the window in which the host is in such nodes, per step: calls of all threads, anything else of the main one.
 * What two threads do at once counts once, so it is never more than the step.
 */
static hu_ns_per_step node_time(const hu_scene *c, uint8_t in, unsigned classes)
{
    const hu_graph *g = &c->s->graph;
    const int64_t   from = g->mark[0].host_end_ns, to = g->mark[g->n_marks - 1].host_end_ns;
    int64_t         until = from;
    double          sum = 0;

    for (size_t i = 0; i < g->n_nodes; i++) { /* in the order in which they began */
        const hu_node *n = &g->node[i];
        const int64_t  start = n->start_ns > until ? n->start_ns : until, seen = n->start_ns + n->seen_ns;
        const int64_t  end = seen < to ? seen : to;

        if (!(n->in & in || 1u << n->class & classes) || (n->lane != g->main_lane && n->call == HU_CALL_NONE) ||
            n->start_ns < from || end <= start)
            continue;
        sum += (double)(end - start);
        until = end;
    }
    return hu_as_mean(sum / (double)c->n_steps);
}

/* "6.00 ms per step", "6.00 ms per step (60 %)" */
static hu_said_amount each(const hu_scene *c, hu_ns_per_step time)
{
    return hu_say_per_step(time, c->has_steps);
}

static hu_said_amount share(const hu_scene *c, hu_ns_per_step time)
{
    return hu_say_of_step(time, c->step, c->has_steps);
}

static bool is_much(const hu_scene *c, hu_ns_per_step time)
{
    return hu_is_share_of_step(time, LEAST_SHARE, c->step);
}

/* Of the steps that count, what lies in them. */
static hu_ns_per_step in_steps(const hu_scene *c, int64_t sum_ns)
{
    return hu_spread(hu_as_sum(sum_ns), (int64_t)c->d->steps.n_counted);
}

static bool has_text(const hu_scene *c, const char *text)
{
    return hu_trace_find_text(c->s->ask.trace, hu_str_of(text)) != HU_NONE;
}

enum {
    IO_CALLS = 1u << HU_HOST_FILE_READ | 1u << HU_HOST_FILE_WRITE | 1u << HU_HOST_FILE_META | 1u << HU_HOST_FSYNC |
               1u << HU_HOST_NETWORK,
};

/* Of some classes of calls, the place whose function the critical path spends most in; else the one waited in longest. */
static const hu_host_place *place_on_path(const hu_scene *c, hu_class class, unsigned classes)
{
    const hu_path     *path = &c->s->path;
    const hu_path_row *most = NULL;

    for (size_t i = 0; i < path->n; i++)
        if (path->at[i].class == class && (!most || path->at[i].total_ns > most->total_ns))
            most = &path->at[i];
    for (size_t i = 0; most; i++) {
        const hu_host_place *p = hu_host_calls_place(&c->d->host_calls, classes, i);

        if (!p)
            break;
        if (hu_str_equal(p->call, hu_trace_text(c->s->ask.trace, most->name)))
            return p;
    }
    return hu_host_calls_place(&c->d->host_calls, classes, 0);
}

typedef struct {
    char t[160];
} place_name;

/* "fsync of /scratch/model.pt in checkpoint"; of a long path the end, from the start of a character on. */
static place_name name_place(const hu_host_place *p)
{
    enum { PATH = 72, WITHIN = 40 };
    place_name said;
    hu_str     path = p->path.n > PATH ? (hu_str){p->path.p + (p->path.n - PATH), PATH} : p->path;

    while (path.n && path.n < p->path.n && ((unsigned char)path.p[0] & 0xc0) == 0x80)
        path = (hu_str){path.p + 1, path.n - 1};

    snprintf(said.t, sizeof said.t, "%.*s%s%.*s%s%.*s", HU_FMT(p->call), path.n ? " of " : "", HU_FMT(path),
             p->within.n ? " in " : "", (int)(p->within.n > WITHIN ? WITHIN : p->within.n), p->within.p ? p->within.p : "");
    return said;
}

static void show_place(const hu_scene *c, hu_hint *h, const hu_host_place *p)
{
    const hu_said_amount time = p->sum.main_ns ? each(c, in_steps(c, p->sum.main_ns))
                                               : hu_say_in_all(hu_as_sum(p->sum.total_ns));

    show(h, "%s: %s %s; %s call%s in the whole capture, the longest %s", name_place(p).t,
         p->sum.main_ns ? "the main thread" : "other threads", time.t, hu_say_count(p->sum.calls).t, hu_plural(p->sum.calls),
         hu_say_time((double)p->sum.longest_ns).t);
}

/* The place that a finding speaks of, and others of its classes in which the main thread waits nearly as long. */
static void show_places(const hu_scene *c, hu_hint *h, unsigned classes, const hu_host_place *first)
{
    enum { NAMED = 3, NEARLY = 10 };

    if (first)
        show_place(c, h, first);
    for (size_t i = 0; first && first->sum.main_ns && i < NAMED; i++) {
        const hu_host_place *p = hu_host_calls_place(&c->d->host_calls, classes, i);

        if (p && p != first && p->sum.main_ns >= first->sum.main_ns / NEARLY)
            show_place(c, h, p);
    }
}

static bool is_loader_range(hu_str name)
{
    return hu_str_equal(name, HU_STR("data")) || hu_str_equal(name, HU_STR("preprocessing")) ||
           hu_str_has(name, HU_STR("DataLoader"));
}

/* What the loader itself waits for, where that was recorded. */
static void show_loader_calls(const hu_scene *c, hu_hint *h)
{
    const hu_host_calls *calls = &c->d->host_calls;

    for (size_t i = 0; i < calls->n_places && h->n_evidence < HU_EVIDENCE; i++)
        if (calls->places[i].sum.main_ns > 0 && is_loader_range(calls->places[i].within))
            show(h, "inside, %s: %s; %s call%s in the whole capture", name_place(&calls->places[i]).t,
                 each(c, in_steps(c, calls->places[i].sum.main_ns)).t, hu_say_count(calls->places[i].sum.calls).t,
                 hu_plural(calls->places[i].sum.calls));
}

/* Workers are the usual fix, but no help to a loader that has some. */
static const char FIX_WORKERS[] =
    "more workers (num_workers) and a larger prefetch_factor, as far as there are CPUs; decode faster: smaller files, a "
    "faster decoder, data decoded beforehand";

static bool gate_data(const hu_scene *c, hu_hint *h)
{
    const hu_ns_per_step wait = node_time(c, HU_IN_DATA, HU_CLASS_BIT(DATA));
    const hu_step_time  *t = hu_digest_step_time(c->d);
    const bool           single = has_text(c, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__");
    const bool           multi = has_text(c, "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__");

    if (!is_much(c, wait))
        return false;
    h->fix = multi && !single ? FIX_WORKERS : NULL;
    say(h, "The main thread spends %s in the data loader%s.", share(c, wait).t,
        single  ? ", which loads in the main process (num_workers=0)"
        : multi ? " although it has worker processes"
                : "");
    /* each instant once, the device first: what is left for the loader is time in which the device had nothing to do */
    if (t && c->d->breakdown.has_device && t->role_ns[HU_ROLE_DATA_LOADER] > 0)
        show(h, "the GPU is idle for %s while the host waits there",
             each(c, hu_as_mean(fmin(t->role_ns[HU_ROLE_DATA_LOADER], wait.ns))).t);
    show_loader_calls(c, h);
    return true;
}

/* Of the critical path, per step: a class of calls counts where nothing else hides it. */
static hu_ns_per_step path_time(const hu_scene *c, hu_class class)
{
    return hu_as_mean((double)c->s->path.by_class[class] / (double)c->n_steps);
}

static bool gate_io(const hu_scene *c, hu_hint *h)
{
    const hu_ns_per_step time = hu_longer(node_time(c, HU_IN_IO, HU_CLASS_BIT(IO)), path_time(c, HU_CLASS_IO));
    const hu_host_place *p = place_on_path(c, HU_CLASS_IO, IO_CALLS);

    if (!is_much(c, time))
        return false;
    if (!p) {
        say(h, "Writing checkpoints or other files takes %s, averaged over all steps.", share(c, time).t);
        return true;
    }
    say(h, "%s %s. File, disk and network I/O takes %s, most of it in %s.",
        p->sum.main_ns ? "The main thread" : "A thread that the main thread waits for", hu_host_class_words(p->class),
        share(c, time).t, name_place(p).t);
    show_places(c, h, IO_CALLS, p);
    return true;
}

static bool gate_lock(const hu_scene *c, hu_hint *h)
{
    const hu_ns_per_step time = path_time(c, HU_CLASS_LOCK);
    const hu_host_sum   *all = &c->d->host_calls.by_class[HU_HOST_LOCK];
    const hu_host_place *p = place_on_path(c, HU_CLASS_LOCK, 1u << HU_HOST_LOCK);

    if (!is_much(c, time))
        return false;
    say(h, "Waiting for locks takes %s%s%s. Another thread holds them.", share(c, time).t, p ? ", mostly in " : "",
        p ? name_place(p).t : "");
    show_places(c, h, 1u << HU_HOST_LOCK, p);
    if (all->total_ns > all->main_ns)
        show(h, "all threads together wait %s for locks, in %s call%s", hu_say_in_all(hu_as_sum(all->total_ns)).t,
             hu_say_count(all->calls).t, hu_plural(all->calls));
    return true;
}

static bool gate_sleep(const hu_scene *c, hu_hint *h)
{
    const hu_ns_per_step time = path_time(c, HU_CLASS_SLEEP);
    const hu_host_place *p = place_on_path(c, HU_CLASS_SLEEP, 1u << HU_HOST_SLEEP);

    if (!is_much(c, time))
        return false;
    say(h, "The program sleeps for %s while nothing else runs%s%s.", share(c, time).t, p ? ": " : "",
        p ? name_place(p).t : "");
    show_places(c, h, 1u << HU_HOST_SLEEP, p);
    return true;
}

static bool gate_starved(const hu_scene *c, hu_hint *h)
{
    const hu_host_time  *t = &c->d->host_time;
    const hu_ns_per_step time = hu_as_mean(t->state_ns[HU_STATE_STARVED]), step = hu_as_mean(t->step_ns);

    if (!t->is_recorded || !hu_is_share_of_step(time, LEAST_SHARE, step))
        return false;
    say(h, "The main thread is runnable but waits for a CPU for %s.", hu_say_of_step(time, step, c->has_steps).t);
    show(h, "from the kernel's scheduler; the thread runs for %s", each(c, hu_as_mean(t->state_ns[HU_STATE_RUNS])).t);
    if (t->n > 1)
        show(h, "the job has %zu processes, the main one %lld thread%s", t->n, (long long)t->at[0].threads,
             hu_plural(t->at[0].threads));
    return true;
}

static bool gate_gc(const hu_scene *c, hu_hint *h)
{
    const int64_t       *kinds = c->d->health.kinds;
    const hu_ns_per_step time = node_time(c, HU_IN_GC, HU_CLASS_BIT(GC)), pauses = node_time(c, HU_IN_STALL, 0);
    /* a program that shows neither operators nor frames may not be Python's, and what it does between marks is its own */
    const bool may_be = kinds[HU_KIND_CPU_OP] + kinds[HU_KIND_PYTHON] > 0;

    if (!is_much(c, time) && is_much(c, pauses) && may_be) {
        say(h,
            "The main thread stalls for %s at points that differ from step to step and that the trace does not explain. "
            "Likely causes: Python's garbage collector, or preemption by the operating system.",
            share(c, pauses).t);
        show(h, "to be sure, record with with_stack=True and _ExperimentalConfig(record_python_gc_info=True)");
        h->is_suspected = true;
        return true;
    }
    if (!is_much(c, time))
        return false;
    say(h, "Python's garbage collector stops the main thread for %s.", share(c, time).t);
    show(h, "%s collection%s in the whole capture, the longest %s", hu_say_count(c->d->overheads.gc_calls).t,
         hu_plural(c->d->overheads.gc_calls), hu_say_time((double)c->d->overheads.gc_most_ns).t);
    return true;
}

static bool gate_sync(const hu_scene *c, hu_hint *h)
{
    const hu_calls *calls = &c->d->calls;

    if (calls->n_waits == 0 ||
        !hu_is_share_of_all(hu_as_sum(calls->wait_ns), LEAST_SHARE, hu_as_sum(c->d->overheads.span_ns)))
        return false;
    say(h,
        "%s sync call%s in the whole capture; most of the waiting is in %.*s%s%.*s. The cost is not the wait itself but "
        "the time until the GPU has work again.",
        hu_say_count(calls->wait_calls).t, hu_plural(calls->wait_calls), HU_FMT(calls->waits[0].call),
        calls->waits[0].op.n ? " of " : "", HU_FMT(calls->waits[0].op));
    for (size_t i = 0; i < calls->n_waits && i < 2; i++)
        show(h, "%.*s%s%.*s: %s call%s, waiting %s", HU_FMT(calls->waits[i].call), calls->waits[i].op.n ? " < " : "",
             HU_FMT(calls->waits[i].op), hu_say_count(calls->waits[i].calls).t, hu_plural(calls->waits[i].calls),
             hu_say_in_all(hu_as_sum(calls->waits[i].total_ns)).t);
    if (calls->waits[0].stack.n)
        show(h, "from %.*s", HU_FMT(calls->waits[0].stack));
    return true;
}

typedef struct {
    char t[HU_UNIT_BYTES + 16];
} part_words;

/* "61.1 ms of it", "all of it", "none of it" */
static part_words part_of_it(int64_t part_ns, int64_t whole_ns)
{
    part_words said;

    if (part_ns >= whole_ns || part_ns <= 0)
        snprintf(said.t, sizeof said.t, "%s of it", part_ns > 0 ? "all" : "none");
    else
        snprintf(said.t, sizeof said.t, "%s of it", hu_say_time((double)part_ns).t);
    return said;
}

/* One kind of copy, as it was recorded: "Memcpy HtoD (Pageable -> Device): 10.5 ms in the whole capture; ..." */
static void show_copy(hu_hint *h, const hu_copy *copy)
{
    show(h, "%.*s: %s; %s is exposed; %s of %s call%s block%s the host", HU_FMT(copy->name),
         hu_say_in_all(hu_as_sum(copy->running_ns)).t, part_of_it(copy->exposed_ns, copy->running_ns).t,
         hu_say_count(copy->blocking).t, hu_say_count(copy->calls).t, hu_plural(copy->calls),
         copy->blocking == 1 ? "s" : "");
}

/* Pinned memory is the usual fix, but no help to what is pinned already. */
static const char FIX_PINNED[] =
    "start them earlier: tensor.to(device, non_blocking=True) for the next batch, on a separate stream, while kernels "
    "run; or copy less: smaller dtypes, inputs decoded on the GPU";

static bool gate_copy(const hu_scene *c, hu_hint *h)
{
    enum { NAMED = 2 };
    const hu_copies *copies = &c->d->copies;
    const hu_copy   *worst = NULL;
    int64_t          pageable = 0;
    bool             is_known = true; /* every name says which memory it is */
    char             memory[96] = "";
    size_t           named = 1;

    for (size_t i = 0; i < copies->n; i++) {
        const hu_copy *copy = &copies->at[i];

        if (!hu_str_equal(copy->direction, HU_STR("HtoD")))
            continue;
        pageable += copy->is_pageable ? copy->running_ns : 0;
        is_known = is_known && copy->from.n;
        worst = !worst || copy->total_ns > worst->total_ns ? copy : worst;
    }
    if (!worst || !hu_is_share_of_all(hu_as_sum(copies->htod_ns), LEAST_SHARE, hu_as_sum(c->d->gpu_time.span_ns)))
        return false;
    if (pageable)
        snprintf(memory, sizeof memory, " %.24s of it is from pageable memory, which is staged and blocks the host.",
                 pageable < copies->htod_ns ? hu_say_time((double)pageable).t : "All");
    else if (is_known)
        snprintf(memory, sizeof memory, " All of it is from pinned memory.");
    h->fix = !pageable && is_known ? FIX_PINNED : NULL;
    say(h, "Host-to-device copies take %s; %s is exposed (no kernel runs).%s", hu_say_in_all(hu_as_sum(copies->htod_ns)).t,
        part_of_it(copies->htod_exposed_ns, copies->htod_ns).t, memory);
    show_copy(h, worst);
    for (size_t i = 0; i < copies->n && named < NAMED; i++)
        if (&copies->at[i] != worst && hu_str_equal(copies->at[i].direction, HU_STR("HtoD"))) {
            show_copy(h, &copies->at[i]);
            named++;
        }
    return true;
}

/* GPU operations that the steps of the window launch, per step. */
static double work_per_step(const hu_scene *c)
{
    size_t n = 0;

    for (size_t i = 0; i < c->s->graph.n_ops; i++)
        n += c->s->graph.op[i].step >= 0;
    return (double)n / (double)c->n_steps;
}

static bool gate_launch(const hu_scene *c, hu_hint *h)
{
    static const unsigned host = HU_CLASS_BIT(OPERATOR) | HU_CLASS_BIT(PYTHON) | HU_CLASS_BIT(UNRECORDED) |
                                 HU_CLASS_BIT(LAUNCH_CALL) | HU_CLASS_BIT(OTHER_CALL);
    const hu_path *path = &c->s->path;
    const char    *of = c->has_steps ? "the step" : "the whole capture";
    const int64_t  work = (int64_t)(work_per_step(c) + 0.5);
    double         share = 0;

    for (hu_class k = 0; k < HU_CLASS_COUNT; k++)
        share += host >> k & 1 ? (double)path->by_class[k] : 0;
    share /= (double)path->total_ns;
    if (share < LEAST_HOST || c->s->graph.n_ops == 0)
        return false;
    say(h, "The critical path runs through the host for %s of %s: operators, Python and launches of %s GPU operation%s %s.",
        hu_say_pct(100 * share).t, of, hu_say_count(work).t, hu_plural(work),
        c->has_steps ? "per step" : "in the whole capture");
    show(h, "operators %s, Python %s, launches %s of %s",
         hu_say_pct(100 * (double)path->by_class[HU_CLASS_OPERATOR] / (double)path->total_ns).t,
         hu_say_pct(100 * (double)path->by_class[HU_CLASS_PYTHON] / (double)path->total_ns).t,
         hu_say_pct(100 * (double)path->by_class[HU_CLASS_LAUNCH_CALL] / (double)path->total_ns).t, of);
    if (c->d->launches.launches)
        show(h, "%s of the launches in the whole capture take longer than the GPU operation they start",
             hu_say_pct(100 * (double)c->d->launches.shorter / (double)c->d->launches.launches).t);
    return true;
}

/* Time of collectives in the window that send little; and how many those are per step. */
static hu_ns_per_step small_comm_time(const hu_scene *c, double *calls)
{
    const hu_graph *g = &c->s->graph;
    hu_ns_per_step  small = {0};

    *calls = 0;
    for (size_t i = 0; i < g->n_ops; i++) {
        if (g->op[i].class != HU_CLASS_COMM || g->op[i].step < 0 || !hu_edit_is_small_message(g, (uint32_t)i))
            continue;
        small.ns += (double)g->op[i].cost_ns / (double)c->n_steps;
        *calls += 1 / (double)c->n_steps;
    }
    return small;
}

static double overlap_of(const hu_scene *c)
{
    const hu_gpu_time *g = &c->d->gpu_time;

    return g->comm_ns ? (double)g->overlapped_comm_ns / (double)g->comm_ns : 1;
}

/* Was most of the communication launched before computation of its step had ended?  Then it could have been hidden. */
static bool gate_exposed(const hu_scene *c, hu_hint *h, bool poor)
{
    const hu_step_time  *t = hu_digest_step_time(c->d);
    const hu_ns_per_step host = node_time(c, 0, HU_CLASS_BIT(HOST_COMM));
    hu_ns_per_step       exposed, step; /* both of all steps that count; the window may be some of them */

    if (!t)
        return false;
    exposed = hu_as_mean(t->exposed_comm_ns);
    step = hu_as_mean(t->step_ns);
    if (!hu_is_share_of_step(exposed, LEAST_COMM, step) && !hu_is_share_of_step(host, LEAST_COMM, c->step))
        return false;
    if ((overlap_of(c) < LEAST_OVERLAP && c->d->gpu_time.comm_ns > 0) != poor)
        return false;
    if (exposed.ns > 0)
        say(h, "Communication takes %s. Exposed: %s.", each(c, hu_as_mean(t->comm_ns)).t,
            hu_say_of_step(exposed, step, c->has_steps).t);
    else
        say(h, "The host spends %s in collectives.", share(c, host).t);
    if (c->d->comm.n)
        show(h, "most of it: %.*s, %s; %zu call%s", HU_FMT(c->d->comm.at[0].name),
             hu_say_in_all(hu_as_sum(c->d->comm.at[0].duration.sum)).t, c->d->comm.at[0].duration.n,
             hu_plural((int64_t)c->d->comm.at[0].duration.n));
    show(h, "one rank alone cannot separate waiting for late ranks from transfer; with the traces of all ranks, RANKS does");
    return true;
}

static bool gate_exposed_comm(const hu_scene *c, hu_hint *h)
{
    return gate_exposed(c, h, false);
}

static bool gate_poor_overlap(const hu_scene *c, hu_hint *h)
{
    return gate_exposed(c, h, true);
}

static bool gate_latency(const hu_scene *c, hu_hint *h)
{
    double               calls;
    const hu_ns_per_step small = small_comm_time(c, &calls);

    if (!is_much(c, small) || calls < MANY_MESSAGES)
        return false;
    say(h, "Small collectives take %s. There are %lld of them %s: their number costs more than their bytes.",
        share(c, small).t, (long long)(calls + 0.5), c->has_steps ? "per step" : "in the whole capture");
    for (size_t i = 0; i < c->d->comm.n; i++) {
        const hu_collective *row = &c->d->comm.at[i];

        if (row->bound != HU_COMM_BY_LATENCY)
            continue;
        show(h, "%.*s of %lld bytes, %zu call%s in the whole capture: latency-bound even in the shortest call",
             HU_FMT(row->name), (long long)row->bytes, row->duration.n, hu_plural((int64_t)row->duration.n));
        break;
    }
    return true;
}

static bool gate_contention(const hu_scene *c, hu_hint *h)
{
    const hu_ns_in_all both = hu_as_sum(c->d->gpu_time.overlapped_comm_ns), all = hu_as_sum(c->d->gpu_time.span_ns);

    if (both.ns <= 0 || !hu_is_share_of_all(both, LEAST_COMM, all))
        return false;
    say(h, "Kernels overlap communication for %s. The same kernels are faster without communication.",
        hu_say_in_all(both).t);
    return true;
}

static bool gate_alloc(const hu_scene *c, hu_hint *h)
{
    const hu_ns_per_step time = node_time(c, 0, HU_CLASS_BIT(ALLOC_CALL));
    const double         n = (double)c->d->calls.alloc_calls_in_steps / fmax(1, (double)c->d->steps.n_counted);
    char                 calls[HU_NUMBER_BYTES];

    if (!is_much(c, time) || c->d->calls.alloc_calls_in_steps == 0)
        return false;
    say(h, "Calls that allocate or free device memory in the driver take %s. A warm caching allocator needs none.",
        share(c, time).t);
    hu_format_fixed(calls, n, n == floor(n) ? 0 : 1);
    show(h, "%s such call%s %s", calls, n == 1 ? "" : "s", c->has_steps ? "per step" : "in the whole capture");
    return true;
}

static bool gate_compile(const hu_scene *c, hu_hint *h)
{
    const hu_ns_per_step time = node_time(c, 0, HU_CLASS_BIT(COMPILE_CALL));

    if (!is_much(c, time))
        return false;
    say(h, "Loading or compiling GPU code takes %s. Do it before the first step.", share(c, time).t);
    return true;
}

static bool gate_profiler(const hu_scene *c, hu_hint *h)
{
    const hu_step_time  *t = hu_digest_step_time(c->d);
    const hu_ns_per_step time = in_steps(c, c->d->overheads.profiler_in_steps_ns),
                         step = t ? hu_as_mean(t->step_ns) : c->step;

    if (time.ns <= 0 || !hu_is_share_of_step(time, LEAST_SHARE, step))
        return false;
    say(h, "The profiler itself takes %s. Without it the job is faster than measured here.",
        hu_say_of_step(time, step, c->has_steps).t);
    if (c->d->overheads.n)
        show(h, "mostly %.*s", HU_FMT(c->d->overheads.at[0].name));
    return true;
}

static bool gate_recompute(const hu_scene *c, hu_hint *h)
{
    const hu_overheads *o = &c->d->overheads;
    const double        work = c->d->gpu_time.n_slices ? (double)o->recompute_device_ns : (double)o->recompute_host_ns;
    const double        all = c->d->gpu_time.n_slices ? (double)o->device_ns : (double)o->span_ns;

    if (all <= 0 || work < LEAST_RECOMPUTE * all)
        return false;
    say(h,
        "%s of the work in the whole capture is forward recomputed in backward: activation checkpointing trades time for "
        "memory.",
        hu_say_pct(hu_amount_pct(work, all)).t);
    return true;
}

static bool gate_tensor(const hu_scene *c, hu_hint *h)
{
    const double     all = (double)c->d->kernels.total_ns;
    double           without = 0;
    const hu_kernel *worst = NULL;

    for (size_t i = 0; i < c->d->kernels.n; i++) {
        const hu_kernel       *k = &c->d->kernels.at[i];
        const hu_kernel_family family = k->read.family;

        if (k->read.tensor != HU_TENSOR_NO ||
            (family != HU_FAMILY_GEMM && family != HU_FAMILY_CONVOLUTION && family != HU_FAMILY_ATTENTION))
            continue;
        without += (double)k->total_ns;
        worst = worst ? worst : k;
    }
    if (!worst || without < LEAST_SHARE * all)
        return false;
    say(h, "Matmuls without tensor cores take %s of kernel time in the whole capture.",
        hu_say_pct(hu_amount_pct(without, all)).t);
    show(h, "longest: %.*s, %s; %lld call%s", HU_FMT(worst->read.label), hu_say_in_all(hu_as_sum(worst->total_ns)).t,
         (long long)worst->calls, hu_plural(worst->calls));
    show(h,
         c->s->tensor_factor > 0 ? "tensor cores are %d times as fast as this GPU's vector units (data sheet)"
                                 : "the speed-up of tensor cores on this GPU is unknown; %d times is assumed",
         c->s->tensor_factor > 0 ? (int)(c->s->tensor_factor + 0.5) : HU_USUAL_TENSOR_FACTOR);
    return true;
}

static bool gate_fuse(const hu_scene *c, hu_hint *h)
{
    const hu_kernel_family_time *f = &c->d->kernels.family[HU_FAMILY_ELEMENTWISE];

    if ((double)f->total_ns < LEAST_COMM * (double)c->d->kernels.total_ns)
        return false;
    say(h,
        "%lld elementwise kernels take %s of kernel time in the whole capture. Chains of them read and write the same "
        "tensors again; one fused kernel would do it once.",
        (long long)f->calls, hu_say_pct(100 * (double)f->total_ns / (double)c->d->kernels.total_ns).t);
    return true;
}

/* A dimension of a product in half precision that is not a multiple of 8, as it stands in "[[64, 1001], [1001, 512]]". */
static bool has_odd_dimension(hu_str shapes)
{
    int64_t value = -1;

    for (size_t i = 0; i < shapes.n; i++) {
        const char ch = shapes.p[i];

        if (ch >= '0' && ch <= '9' && value < 1000000000)
            value = (value < 0 ? 0 : value) * 10 + (ch - '0');
        else if (value > TENSOR_MULTIPLE && value % TENSOR_MULTIPLE)
            return true;
        else
            value = -1;
    }
    return false;
}

static bool gate_odd(const hu_scene *c, hu_hint *h)
{
    const hu_roofline    *r = &c->d->roofline;
    const hu_roofline_op *worst = NULL;
    double                time = 0;

    for (size_t i = 0; i < r->n; i++) {
        const hu_roofline_op *op = &r->at[i];

        if ((op->dtype != HU_DTYPE_BF16 && op->dtype != HU_DTYPE_FP16) || !(op->flops > 0) ||
            !has_odd_dimension(op->shapes) || !(op->roofline_ns < POOR_SHARE * (double)op->kernel_ns))
            continue;
        time += (double)op->kernel_ns;
        worst = worst ? worst : op;
    }
    if (!worst || time < 0.05 * (double)r->kernel_ns)
        return false;
    say(h, "Matmuls with a dimension that is not a multiple of 8 take %s of kernel time in the whole capture.",
        hu_say_pct(hu_amount_pct(time, (double)r->kernel_ns)).t);
    show(h, "%.*s %.*s", HU_FMT(worst->op), HU_FMT(worst->shapes));
    h->is_suspected = true;
    h->factor = 1 + 0.5 * time / (double)r->kernel_ns;
    h->glob = HU_STR("*");
    return true;
}

/* The same kernels, the last third of the window's steps against the first. */
static bool gate_throttling(const hu_scene *c, hu_hint *h)
{
    const hu_drift *drift = hu_edit_drift(hu_pricer_facts(c->s->pricer));

    if (!(drift->ratio >= HU_DRIFT_LEAST) || drift->slower < MOST_SLOWER ||
        (double)drift->described < LEAST_DESCRIBED * (double)drift->kernels)
        return false;
    say(h,
        "Kernels take %s longer in the last steps than the same kernels, %swith the same grid and shapes, in the first "
        "steps. The GPU clock may be throttled for power or temperature.",
        hu_say_pct(100 * (drift->ratio - 1)).t, drift->described < drift->kernels ? "most of them " : "");
    show(h, "%zu kernels compared: the last third of the steps against the first third", drift->kernels);
    if (drift->described < drift->kernels)
        show(h, "grid and shapes of %zu of them are in the trace; for the rest, what is known is the same",
             drift->described);
    h->is_suspected = true;
    return true;
}

static bool never(const hu_scene *c, hu_hint *h)
{
    (void)c;
    (void)h;
    return false;
}

static bool (*const gates[HU_RULE_COUNT])(const hu_scene *, hu_hint *) = {
    [HU_RULE_COMPUTE_BOUND] = never, /* the verdict says it; there is no single edit for it */
    [HU_RULE_BANDWIDTH_BOUND] = gate_fuse,
    [HU_RULE_LOW_EFFICIENCY] = gate_odd,
    [HU_RULE_TENSOR_CORES] = gate_tensor,
    [HU_RULE_LAUNCH_BOUND] = gate_launch,
    [HU_RULE_HOST_SYNC] = gate_sync,
    [HU_RULE_COPY_BOUND] = gate_copy,
    [HU_RULE_DATA_LOADING] = gate_data,
    [HU_RULE_IO_STALL] = gate_io,
    [HU_RULE_LOCK] = gate_lock,
    [HU_RULE_SLEEP] = gate_sleep,
    [HU_RULE_STARVED] = gate_starved,
    [HU_RULE_EXPOSED_COMM] = gate_exposed_comm,
    [HU_RULE_STRAGGLER] = never, /* needs several ranks: compare.c */
    [HU_RULE_COMM_LATENCY] = gate_latency,
    [HU_RULE_COMM_BANDWIDTH] = never, /* needs several ranks: one cannot tell waiting from sending */
    [HU_RULE_POOR_OVERLAP] = gate_poor_overlap,
    [HU_RULE_CONTENTION] = gate_contention,
    [HU_RULE_BUBBLE] = never, /* bubble.c: no replay of one rank prices it */
    [HU_RULE_ALLOCATOR] = gate_alloc,
    [HU_RULE_PYTHON_GC] = gate_gc,
    [HU_RULE_THROTTLING] = gate_throttling,
    [HU_RULE_WARM_UP] = gate_compile,
    [HU_RULE_RECOMPUTE] = gate_recompute,
    [HU_RULE_PROFILER] = gate_profiler,
};

bool hu_rule_gate(hu_rule rule, const hu_scene *scene, hu_hint *out)
{
    *out = (hu_hint){.rule = rule};
    return gates[rule](scene, out);
}

static const struct {
    const char  *key, *title, *fix, *verify;
    hu_edit_kind edit;
} rows[] = {
#define R(id, key, title, edit, fix, verify) [HU_RULE_##id] = {key, title, fix, verify, edit},
    HU_RULES(R)
#undef R
};

const char *hu_rule_key(hu_rule rule)
{
    return rows[rule].key;
}

const char *hu_rule_title(hu_rule rule)
{
    return rows[rule].title;
}

const char *hu_rule_fix(hu_rule rule)
{
    return rows[rule].fix;
}

const char *hu_rule_verify(hu_rule rule)
{
    return rows[rule].verify;
}

hu_edit_kind hu_rule_edit(hu_rule rule)
{
    return rows[rule].edit;
}
