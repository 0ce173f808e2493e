/* SPDX-License-Identifier: Apache-2.0
 * gates.c - what nominates each diagnosis.  A gate is cheap and generous: the replay decides what it is worth.
 *
 * Shares of time nominate, never rank: a long wait on a job that the device limits costs nothing, and its price says so.
 */
#include <math.h>
#include <stdarg.h>

#include "advise/rules.h"
#include "advise/say.h"
#include "analyze/kernel_name.h"

static const double LEAST_SHARE = 0.005; /* of the step; below, nothing could be worth a finding */
static const double LEAST_COMM = 0.01, LEAST_OVERLAP = 0.5, LEAST_RECOMPUTE = 0.01;
static const double POOR_SHARE = 0.4;   /* of the roofline, below which a product is called inefficient */
static const double LEAST_HOST = 0.20;  /* of the critical path, for a job that its launches limit */
static const double LEAST_RATIO = 1.05; /* by which kernels must have become slower */

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

/* Time of the window's host nodes, per step: calls of all threads, anything else of the main one. */
static double node_time(const hu_scene *c, uint8_t in, unsigned classes)
{
    const hu_graph *g = &c->s->graph;
    double          sum = 0;

    for (size_t i = 0; i < g->n_nodes; i++) {
        const hu_node *n = &g->node[i];

        if ((n->in & in || 1u << n->class & classes) && (n->lane == g->main_lane || n->call != HU_CALL_NONE) &&
            n->start_ns >= g->mark[0].host_end_ns)
            sum += (double)n->seen_ns;
    }
    return sum / (double)c->n_steps;
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

static void show_place(hu_hint *h, const hu_host_place *p)
{
    show(h, "%s: %lld calls, the longest %s; %s of %s", name_place(p).t, (long long)p->sum.calls,
         hu_say_time((double)p->sum.longest_ns).t,
         hu_say_time((double)(p->sum.main_ns ? p->sum.main_ns : p->sum.total_ns)).t,
         p->sum.main_ns ? "the main thread in all steps" : "other threads");
}

/* The place that a finding speaks of, and others of its classes in which the main thread waits nearly as long. */
static void show_places(const hu_scene *c, hu_hint *h, unsigned classes, const hu_host_place *first)
{
    enum { NAMED = 3, NEARLY = 10 };

    if (first)
        show_place(h, first);
    for (size_t i = 0; first && first->sum.main_ns && i < NAMED; i++) {
        const hu_host_place *p = hu_host_calls_place(&c->d->host_calls, classes, i);

        if (p && p != first && p->sum.main_ns >= first->sum.main_ns / NEARLY)
            show_place(h, p);
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
            show(h, "there %s: %lld calls, %s", name_place(&calls->places[i]).t, (long long)calls->places[i].sum.calls,
                 hu_say_time((double)calls->places[i].sum.main_ns).t);
}

static bool gate_data(const hu_scene *c, hu_hint *h)
{
    const double wait = node_time(c, HU_IN_DATA, HU_CLASS_BIT(DATA));
    const double idle = (double)c->d->idle.by_cause[HU_IDLE_DATA_LOADER];
    const bool   single = has_text(c, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__");
    const bool   multi = has_text(c, "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__");

    if (wait < LEAST_SHARE * c->step_ns)
        return false;
    say(h, "The main thread spends %s of each step (%s) in its data loader%s.", hu_say_time(wait).t,
        hu_say_pct(100 * wait / c->step_ns).t,
        single  ? ", which loads in the same process (num_workers=0)"
        : multi ? " although workers load for it"
                : "");
    if (idle > 0 && c->d->gpu_time.n_slices)
        show(h, "the device was idle for %s while the host waited there", hu_say_time(idle).t);
    show_loader_calls(c, h);
    return true;
}

/* Of the critical path, per step: a class of calls counts where nothing else hides it. */
static double path_time(const hu_scene *c, hu_class class)
{
    return (double)c->s->path.by_class[class] / (double)c->n_steps;
}

static bool gate_io(const hu_scene *c, hu_hint *h)
{
    const double         time = node_time(c, HU_IN_IO, HU_CLASS_BIT(IO));
    const hu_host_place *p = place_on_path(c, HU_CLASS_IO, IO_CALLS);

    if (time < LEAST_SHARE * c->step_ns && path_time(c, HU_CLASS_IO) < LEAST_SHARE * c->step_ns)
        return false;
    if (!p) {
        say(h, "Writing checkpoints or other files takes %s a step (%s), spread over all steps.", hu_say_time(time).t,
            hu_say_pct(100 * time / c->step_ns).t);
        return true;
    }
    say(h, "%s %s: files, disks and the network hold the job up for %s a step (%s). Most of it is %s.",
        p->sum.main_ns ? "The main thread" : "A thread that the main one waits for", hu_host_class_words(p->class),
        hu_say_time(fmax(time, path_time(c, HU_CLASS_IO))).t,
        hu_say_pct(100 * fmax(time, path_time(c, HU_CLASS_IO)) / c->step_ns).t, name_place(p).t);
    show_places(c, h, IO_CALLS, p);
    return true;
}

static bool gate_lock(const hu_scene *c, hu_hint *h)
{
    const double         time = path_time(c, HU_CLASS_LOCK);
    const hu_host_sum   *all = &c->d->host_calls.by_class[HU_HOST_LOCK];
    const hu_host_place *p = place_on_path(c, HU_CLASS_LOCK, 1u << HU_HOST_LOCK);

    if (time < LEAST_SHARE * c->step_ns)
        return false;
    say(h, "Waiting for locks takes %s of each step (%s)%s%s: another thread holds them meanwhile.", hu_say_time(time).t,
        hu_say_pct(100 * time / c->step_ns).t, p ? ", mostly in " : "", p ? name_place(p).t : "");
    show_places(c, h, 1u << HU_HOST_LOCK, p);
    if (all->total_ns > all->main_ns)
        show(h, "all threads together wait for locks for %s, in %lld calls", hu_say_time((double)all->total_ns).t,
             (long long)all->calls);
    return true;
}

static bool gate_sleep(const hu_scene *c, hu_hint *h)
{
    const double         time = path_time(c, HU_CLASS_SLEEP);
    const hu_host_place *p = place_on_path(c, HU_CLASS_SLEEP, 1u << HU_HOST_SLEEP);

    if (time < LEAST_SHARE * c->step_ns)
        return false;
    say(h, "The program sleeps for %s of each step (%s) while nothing else goes on%s%s.", hu_say_time(time).t,
        hu_say_pct(100 * time / c->step_ns).t, p ? ": " : "", p ? name_place(p).t : "");
    show_places(c, h, 1u << HU_HOST_SLEEP, p);
    return true;
}

static bool gate_starved(const hu_scene *c, hu_hint *h)
{
    const hu_host_time *t = &c->d->host_time;
    const double        time = t->state_ns[HU_STATE_STARVED];

    if (!t->is_recorded || time < LEAST_SHARE * t->step_ns)
        return false;
    say(h, "For %s of each step (%s) the main thread could run and waits for a processor: others have it.",
        hu_say_time(time).t, hu_say_pct(100 * time / t->step_ns).t);
    show(h, "as the kernel's scheduler recorded it; it runs for %s a step", hu_say_time(t->state_ns[HU_STATE_RUNS]).t);
    if (t->n > 1)
        show(h, "%zu processes of this job were recorded, %lld threads in the main one", t->n, (long long)t->at[0].threads);
    return true;
}

static bool gate_gc(const hu_scene *c, hu_hint *h)
{
    const int64_t *kinds = c->d->health.kinds;
    const double   time = node_time(c, HU_IN_GC, HU_CLASS_BIT(GC)), pauses = node_time(c, HU_IN_STALL, 0);
    /* a program that shows neither operators nor frames may not be Python's, and what it does between marks is its own */
    const bool may_be = kinds[HU_KIND_CPU_OP] + kinds[HU_KIND_PYTHON] > 0;

    if (time < LEAST_SHARE * c->step_ns && pauses >= LEAST_SHARE * c->step_ns && may_be) {
        say(h,
            "The main thread pauses for %s a step (%s) in places that the trace does not explain and that differ from "
            "step to step. Python's garbage collector does that; so does a system that takes the processor away.",
            hu_say_time(pauses).t, hu_say_pct(100 * pauses / c->step_ns).t);
        show(h, "record it with with_stack=True and _ExperimentalConfig(record_python_gc_info=True) to be sure");
        h->is_suspected = true;
        return true;
    }
    if (time < LEAST_SHARE * c->step_ns)
        return false;
    say(h, "Python's garbage collector stops the main thread for %s a step (%s).", hu_say_time(time).t,
        hu_say_pct(100 * time / c->step_ns).t);
    show(h, "%lld collections in the capture, the longest %s", (long long)c->d->overheads.gc_calls,
         hu_say_time((double)c->d->overheads.gc_most_ns).t);
    return true;
}

static bool gate_sync(const hu_scene *c, hu_hint *h)
{
    const hu_calls *calls = &c->d->calls;

    if (calls->n_waits == 0 || (double)calls->wait_ns < LEAST_SHARE * c->step_ns)
        return false;
    say(h,
        "%lld calls wait for the device; most of the waiting is in %.*s%s%.*s. What it costs is not the wait but the "
        "time until the device has work again.",
        (long long)calls->wait_calls, HU_FMT(calls->waits[0].call), calls->waits[0].op.n ? " of " : "",
        HU_FMT(calls->waits[0].op));
    for (size_t i = 0; i < calls->n_waits && i < 2; i++)
        show(h, "%.*s%s%.*s: %lld calls, %s", HU_FMT(calls->waits[i].call), calls->waits[i].op.n ? " < " : "",
             HU_FMT(calls->waits[i].op), (long long)calls->waits[i].calls, hu_say_time((double)calls->waits[i].total_ns).t);
    if (calls->waits[0].stack.n)
        show(h, "from %.*s", HU_FMT(calls->waits[0].stack));
    return true;
}

static bool gate_copy(const hu_scene *c, hu_hint *h)
{
    const hu_copy *worst = NULL;
    double         time = 0;

    for (size_t i = 0; i < c->d->copies.n; i++) {
        const hu_copy *copy = &c->d->copies.at[i];

        if (!hu_str_equal(copy->direction, HU_STR("HtoD")))
            continue;
        time += (double)copy->total_ns;
        worst = !worst || copy->total_ns > worst->total_ns ? copy : worst;
    }
    if (!worst || time < LEAST_SHARE * (double)c->d->gpu_time.span_ns)
        return false;
    say(h, "Copies from the host take %s, %s of it while no kernel runs%s.", hu_say_time(time).t,
        hu_say_time((double)worst->exposed_ns).t,
        worst->is_pageable ? "; the memory is pageable, so each copy is staged and blocks the host" : "");
    show(h, "%.*s: %lld copies, %lld of them blocked the host", HU_FMT(worst->name), (long long)worst->calls,
         (long long)worst->blocking);
    return true;
}

static bool gate_launch(const hu_scene *c, hu_hint *h)
{
    static const unsigned host = HU_CLASS_BIT(OPERATOR) | HU_CLASS_BIT(PYTHON) | HU_CLASS_BIT(UNRECORDED) |
                                 HU_CLASS_BIT(LAUNCH_CALL) | HU_CLASS_BIT(OTHER_CALL);
    const hu_path *path = &c->s->path;
    double         share = 0;

    for (hu_class k = 0; k < HU_CLASS_COUNT; k++)
        share += host >> k & 1 ? (double)path->by_class[k] : 0;
    share /= (double)path->total_ns;
    if (share < LEAST_HOST || c->s->graph.n_ops == 0)
        return false;
    say(h,
        "For %s of the step the critical path runs through the host: operators, Python and launches, %lld pieces of "
        "device work a step.",
        hu_say_pct(100 * share).t, (long long)((int64_t)c->s->graph.n_ops / c->n_steps));
    show(h, "operators %s, Python %s, launches %s of the step",
         hu_say_pct(100 * (double)path->by_class[HU_CLASS_OPERATOR] / (double)path->total_ns).t,
         hu_say_pct(100 * (double)path->by_class[HU_CLASS_PYTHON] / (double)path->total_ns).t,
         hu_say_pct(100 * (double)path->by_class[HU_CLASS_LAUNCH_CALL] / (double)path->total_ns).t);
    if (c->d->launches.launches)
        show(h, "%s of the launches take longer than the work they start",
             hu_say_pct(100 * (double)c->d->launches.shorter / (double)c->d->launches.launches).t);
    return true;
}

/* Time of collectives in the window per step: all, and those that send little; and how many those are. */
static void comm_time(const hu_scene *c, double *all, double *small, double *calls)
{
    const hu_graph *g = &c->s->graph;

    *all = *small = *calls = 0;
    for (size_t i = 0; i < g->n_ops; i++) {
        if (g->op[i].class != HU_CLASS_COMM || g->op[i].step < 0)
            continue;
        *all += (double)g->op[i].cost_ns / (double)c->n_steps;
        if (!hu_edit_is_small_message(g, (uint32_t)i))
            continue;
        *small += (double)g->op[i].cost_ns / (double)c->n_steps;
        *calls += 1 / (double)c->n_steps;
    }
}

static double overlap_of(const hu_scene *c)
{
    const hu_gpu_time *g = &c->d->gpu_time;

    return g->comm_ns ? (double)g->overlapped_comm_ns / (double)g->comm_ns : 1;
}

/* Was most of the communication launched before computation of its step had ended?  Then it could have been hidden. */
static bool gate_exposed(const hu_scene *c, hu_hint *h, bool poor)
{
    const hu_step_time *t = hu_digest_step_time(c->d);
    double              host = node_time(c, 0, HU_CLASS_BIT(HOST_COMM));

    if (!t || (t->exposed_comm_ns < LEAST_COMM * c->step_ns && host < LEAST_COMM * c->step_ns))
        return false;
    if ((overlap_of(c) < LEAST_OVERLAP && c->d->gpu_time.comm_ns > 0) != poor)
        return false;
    if (t->exposed_comm_ns > 0)
        say(h, "Communication takes %s of each step, %s of it (%s of the step) while nothing computes.",
            hu_say_time(t->comm_ns).t, hu_say_time(t->exposed_comm_ns).t,
            hu_say_pct(100 * t->exposed_comm_ns / c->step_ns).t);
    else
        say(h, "The host is in collectives for %s of each step (%s).", hu_say_time(host).t,
            hu_say_pct(100 * host / c->step_ns).t);
    if (c->d->comm.n)
        show(h, "most of it: %.*s, %zu calls, %s", HU_FMT(c->d->comm.at[0].name), c->d->comm.at[0].duration.n,
             hu_say_time((double)c->d->comm.at[0].duration.sum).t);
    show(h, "one rank cannot tell waiting for the others from sending: give all ranks to see who is late");
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
    double all, small, calls;

    comm_time(c, &all, &small, &calls);
    if (small < LEAST_SHARE * c->step_ns || calls < MANY_MESSAGES)
        return false;
    say(h,
        "%lld collectives of each step send little and take %s together: what they send matters less than that they are "
        "so many.",
        (long long)(calls + 0.5), hu_say_time(small).t);
    for (size_t i = 0; i < c->d->comm.n; i++) {
        const hu_collective *row = &c->d->comm.at[i];

        if (row->bound != HU_COMM_BY_LATENCY)
            continue;
        show(h, "%.*s of %lld bytes, %zu calls: latency is the larger part of the shortest of them", HU_FMT(row->name),
             (long long)row->bytes, row->duration.n);
        break;
    }
    return true;
}

static bool gate_contention(const hu_scene *c, hu_hint *h)
{
    if (c->d->gpu_time.overlapped_comm_ns < (int64_t)(LEAST_COMM * (double)c->d->gpu_time.span_ns))
        return false;
    say(h, "Kernels run beside communication for %s, and the same kernels are faster when nothing is communicated.",
        hu_say_time((double)c->d->gpu_time.overlapped_comm_ns).t);
    return true;
}

static bool gate_alloc(const hu_scene *c, hu_hint *h)
{
    const double time = node_time(c, 0, HU_CLASS_BIT(ALLOC_CALL));

    if (time < LEAST_SHARE * c->step_ns || c->d->calls.alloc_calls_in_steps == 0)
        return false;
    say(h,
        "%lld calls in the steps take device memory from the driver or give it back, %s a step (%s); a caching allocator "
        "needs none once it is warm.",
        (long long)c->d->calls.alloc_calls_in_steps, hu_say_time(time).t, hu_say_pct(100 * time / c->step_ns).t);
    return true;
}

static bool gate_compile(const hu_scene *c, hu_hint *h)
{
    const double time = node_time(c, 0, HU_CLASS_BIT(COMPILE_CALL));

    if (time < LEAST_SHARE * c->step_ns)
        return false;
    say(h, "Loading or compiling device code takes %s a step (%s); that belongs before the first step.", hu_say_time(time).t,
        hu_say_pct(100 * time / c->step_ns).t);
    return true;
}

static bool gate_profiler(const hu_scene *c, hu_hint *h)
{
    const double time = (double)c->d->overheads.profiler_in_steps_ns;
    const double steps = c->d->steps.n_counted ? (double)c->d->steps.n_counted : 1;

    if (time / steps < LEAST_SHARE * c->step_ns)
        return false;
    say(h, "The profiler worked for %s in each step (%s): without it the job is faster than what you see here.",
        hu_say_time(time / steps).t, hu_say_pct(100 * time / steps / c->step_ns).t);
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
    say(h, "%s of the work is forward again, inside of backward: activation checkpointing trades this time for memory.",
        hu_say_pct(100 * work / all).t);
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
    say(h, "Matrix products without tensor cores take %s of the kernels' time.", hu_say_pct(100 * without / all).t);
    show(h, "longest: %.*s, %lld calls, %s", HU_FMT(worst->read.label), (long long)worst->calls,
         hu_say_time((double)worst->total_ns).t);
    show(h,
         c->s->tensor_factor > 0 ? "tensor cores have %d times the rate of this device's vector units (by its data sheet)"
                                 : "how much faster tensor cores are on this device is not known; %d times is assumed",
         c->s->tensor_factor > 0 ? (int)(c->s->tensor_factor + 0.5) : HU_USUAL_TENSOR_FACTOR);
    return true;
}

static bool gate_fuse(const hu_scene *c, hu_hint *h)
{
    const hu_kernel_family_time *f = &c->d->kernels.family[HU_FAMILY_ELEMENTWISE];

    if ((double)f->total_ns < LEAST_COMM * (double)c->d->kernels.total_ns)
        return false;
    say(h,
        "%lld elementwise kernels take %s of the kernels' time; chains of them read and write the same tensors, which "
        "one fused kernel does once.",
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
    say(h, "Products with a dimension that is no multiple of 8 take %s of the kernels' time.",
        hu_say_pct(100 * time / (double)r->kernel_ns).t);
    show(h, "%.*s %.*s", HU_FMT(worst->op), HU_FMT(worst->shapes));
    h->is_suspected = true;
    h->factor = 1 + 0.5 * time / (double)r->kernel_ns;
    h->glob = HU_STR("*");
    return true;
}

/* Kernel by kernel, the last third of the window's steps against the first. */
static bool gate_throttling(const hu_scene *c, hu_hint *h)
{
    const hu_graph *g = &c->s->graph;
    const int       third = (int)(g->n_marks - 1) / 3;
    double          early = 0, late = 0, n_early = 0, n_late = 0;

    if (third < 2)
        return false;
    for (size_t i = 0; i < g->n_ops; i++) {
        if (g->op[i].class != HU_CLASS_COMPUTE || g->op[i].step < 0)
            continue;
        if (g->op[i].step < third) {
            early += (double)g->op[i].cost_ns;
            n_early++;
        } else if (g->op[i].step >= (int)(g->n_marks - 1) - third) {
            late += (double)g->op[i].cost_ns;
            n_late++;
        }
    }
    if (!(early > 0) || fabs(n_late / n_early - 1) > 0.01 || late / early < LEAST_RATIO)
        return false;
    say(h,
        "The same %lld kernels take %s longer at the end of the capture than at its start: the clock may have been "
        "lowered for power or heat.",
        (long long)n_late, hu_say_pct(100 * (late / early - 1)).t);
    h->is_suspected = true;
    h->factor = (1 + late / early) / 2;
    h->glob = HU_STR("*");
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
