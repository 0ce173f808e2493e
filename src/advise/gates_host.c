/* SPDX-License-Identifier: Apache-2.0
 * gates_host.c - what nominates the diagnoses of the host: data loader, I/O, locks, sleep, collector, syncs, launches,
 * calls.
 */
#include "advise/gates.h"
#include "advise/callers.h"
#include "advise/gates_locks.h"
#include "advise/looks.h"
#include "analyze/names.h"
#include "advise/loader.h"

enum {
    IO_CALLS = 1u << HU_HOST_FILE_READ | 1u << HU_HOST_FILE_WRITE | 1u << HU_HOST_FILE_META | 1u << HU_HOST_FSYNC |
               1u << HU_HOST_NETWORK,
};

/* Of a call that the critical path spends so long in: where the main thread waits longest if its own calls may be half of
   that, else where all threads together do.  NULL: nowhere. */
static const hu_host_place *place_of_call(const hu_scene *c, unsigned classes, hu_str call, int64_t path_ns)
{
    const hu_host_calls *calls = &c->d->host_calls;
    const hu_host_place *best = NULL, *p;
    int64_t              main_ns = 0;

    for (size_t i = 0; i < calls->n; i++)
        if (classes >> calls->at[i].class & 1 && hu_str_equal(calls->at[i].name, call))
            main_ns += calls->at[i].sum.main_ns;
    for (size_t i = 0; (p = hu_host_calls_place(calls, classes, i)); i++) {
        if (!hu_str_equal(p->call, call))
            continue;
        if (2 * main_ns >= path_ns)
            return p;
        best = !best || p->sum.total_ns > best->sum.total_ns ? p : best;
    }
    return best;
}

/* Of some classes of calls, the place whose function the critical path spends most in; else the one waited in longest. */
static const hu_host_place *place_on_path(const hu_scene *c, hu_class class, unsigned classes)
{
    const hu_path       *path = &c->s->path;
    const hu_path_row   *most = NULL;
    const hu_host_place *p;

    for (size_t i = 0; i < path->n; i++)
        if (path->at[i].class == class && (!most || path->at[i].total_ns > most->total_ns))
            most = &path->at[i];
    if (most && (p = place_of_call(c, classes, hu_trace_text(c->s->ask.trace, most->name), most->total_ns)))
        return p;
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

    snprintf(said.t, sizeof said.t, "%.*s%s%s%.*s%s%.*s", HU_FMT(p->call), path.n ? " of " : "",
             path.n < p->path.n ? "…" : "", HU_FMT(path), p->within.n ? " in " : "",
             (int)(p->within.n > WITHIN ? WITHIN : p->within.n), p->within.p ? p->within.p : "");
    return said;
}

static void show_place(const hu_scene *c, hu_hint *h, const hu_host_place *p)
{
    const hu_said_amount time = p->sum.main_ns ? hu_scene_each(c, hu_scene_in_steps(c, p->sum.main_ns))
                                               : hu_say_in_all(hu_as_sum(p->sum.total_ns));

    hu_hint_show(h, "%s: %s %s; %s call%s%s in the whole capture, the longest %s", name_place(p).t,
                 p->sum.main_ns ? "the main thread" : "other threads", time.t, hu_say_count(p->sum.calls).t,
                 hu_plural(p->sum.calls), hu_host_sum_is_outside(&p->sum) ? ", seen from outside," : "",
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

/* What the loader itself waits for, where that was recorded. */
static void show_loader_calls(const hu_scene *c, hu_hint *h)
{
    const hu_host_calls *calls = &c->d->host_calls;

    for (size_t i = 0; i < calls->n_places && h->n_evidence < HU_EVIDENCE; i++)
        if (calls->places[i].sum.main_ns > 0 && hu_loader_is_range(calls->places[i].within))
            hu_hint_show(h, "inside, %s: %s; %s call%s in the whole capture", name_place(&calls->places[i]).t,
                         hu_scene_each(c, hu_scene_in_steps(c, calls->places[i].sum.main_ns)).t,
                         hu_say_count(calls->places[i].sum.calls).t, hu_plural(calls->places[i].sum.calls));
}

/*
 * Where a job computes on the CPUs that its workers need, waits for them of less than this share of a step may be those of
 * workers that lose their CPU to it, and more workers would not help.
 */
static const double SLOW_WORKERS = 0.2;

/* Workers are the usual fix, but no help to a loader that has some. */
static const char FIX_WORKERS[] =
    "more workers (num_workers) and a larger prefetch_factor, as far as there are CPUs; decode faster: smaller files, a "
    "faster decoder, data decoded beforehand";

static const char FIX_THREADS[] =
    "more threads that load, as far as there are CPUs, or a faster one: smaller files, a faster decoder, data decoded "
    "beforehand";

static const char FIX_WAITING_THREADS[] =
    "more threads that load: they wait for most of their time and need no CPU for that; or ask for several batches at a "
    "time";

bool hu_gate_data(const hu_scene *c, hu_hint *h)
{
    const hu_calibration *cal = &c->s->graph.calibration;
    const hu_ns_per_step  wait = hu_scene_node_time(c, HU_IN_DATA, HU_CLASS_BIT(DATA));
    const hu_step_time   *t = hu_digest_step_time(c->d);
    const hu_loader_kinds kinds = hu_names_loaders(c->s->ask.trace);
    const bool            has_thread = cal->has_loader_thread;
    char                  priced[80] = "";

    if (!hu_scene_is_much(c, wait))
        return false;
    if (cal->loader_threads)
        snprintf(priced, sizeof priced, ". The price is that of %lld such threads in place of %lld",
                 (long long)hu_edit_loader_threads(&c->s->graph), (long long)cal->loader_threads);
    else if (kinds.has_workers && !kinds.in_process)
        snprintf(priced, sizeof priced, ". The price is that of twice as many");
    h->fix = kinds.has_workers && !kinds.in_process ? FIX_WORKERS
             : !has_thread                          ? NULL
             : cal->loaders_wait                    ? FIX_WAITING_THREADS
                                                    : FIX_THREADS;
    hu_hint_say(h, "The main thread spends %s in the data loader%s%s.", hu_scene_share(c, wait).t,
                kinds.in_process    ? ", which loads in the main process (num_workers=0)"
                : kinds.has_workers ? " although it has worker processes"
                : has_thread        ? ": it waits for a thread that makes batches at its own pace"
                                    : "",
                priced);
    /* each instant once, the device first: what is left for the loader is time in which the device had nothing to do */
    if (t && c->d->breakdown.has_device && t->role_ns[HU_ROLE_DATA_LOADER] > 0)
        hu_hint_show(h, "the GPU is idle for %s while the host waits there",
                     hu_scene_each(c, hu_as_mean(fmin(t->role_ns[HU_ROLE_DATA_LOADER], wait.ns))).t);
    hu_loader_doubt(c, h, (kinds.has_workers && !kinds.in_process) || has_thread);
    if (h->may_gain_nothing && h->fix == FIX_WORKERS && !hu_is_share_of_step(wait, SLOW_WORKERS, c->step))
        h->is_suspected = true;
    show_loader_calls(c, h);
    return true;
}

/* The longest frame or range that the main thread writes files in, where no calls of the system were recorded; HU_NONE. */
static uint32_t longest_write(const hu_scene *c)
{
    const hu_graph *g = &c->s->graph;
    const hu_node  *most = NULL;

    for (size_t i = 0; i < g->n_nodes; i++) {
        const hu_node *n = &g->node[i];

        if (n->class == HU_CLASS_IO && n->slice != HU_NONE && n->lane == g->main_lane &&
            n->start_ns >= g->mark[0].host_end_ns && n->start_ns < g->mark[g->n_marks - 1].host_end_ns &&
            (!most || hu_graph_piece_ns(n) > hu_graph_piece_ns(most)))
            most = n;
    }
    return most ? most->slice : HU_NONE;
}

static const char *fix_of_io(hu_host_class class)
{
    switch (class) {
    case HU_HOST_FSYNC:
        return "wait for the disk once for many records: one transaction or commit for all of them instead of one each, one "
               "fsync at the end; or in a separate thread; a disk with a write cache that survives power loss";
    case HU_HOST_FILE_READ:
        return "read ahead in a separate thread, several files at a time; read more in each call; keep in memory what is "
               "read again; copy what lies on a network disk to a local one first";
    case HU_HOST_FILE_META:
        return "keep files open that are used again; one archive or database instead of many small files; open, look up and "
               "list them ahead, in a separate thread; a local disk";
    case HU_HOST_NETWORK:
        return "ask earlier, in a separate thread, several requests at a time or one for many; keep what is asked again; "
               "one connection that stays open";
    default:
        return NULL;
    }
}

/* Of the time in some classes of calls, the share in one place: of the main thread's, where it waits there. */
static double share_of_place(const hu_host_calls *calls, unsigned classes, const hu_host_place *p)
{
    int64_t all_ns = 0;

    for (size_t k = 0; k < HU_HOST_CLASS_COUNT; k++)
        if (classes >> k & 1)
            all_ns += p->sum.main_ns ? calls->by_class[k].main_ns : calls->by_class[k].total_ns;
    return all_ns > 0 ? (double)(p->sum.main_ns ? p->sum.main_ns : p->sum.total_ns) / (double)all_ns : 0;
}

/* Where no place has most of it: the longest of the kind of calls that the main thread waits in most.  NULL: not kept. */
static const hu_host_place *longest_place(const hu_host_calls *calls, unsigned classes)
{
    hu_host_class most = HU_HOST_CLASS_COUNT;

    for (hu_host_class k = 0; k < HU_HOST_CLASS_COUNT; k++)
        if (classes >> k & 1 && (most == HU_HOST_CLASS_COUNT || calls->by_class[k].main_ns > calls->by_class[most].main_ns))
            most = k;
    return hu_host_calls_place(calls, 1u << most, 0);
}

bool hu_gate_io(const hu_scene *c, hu_hint *h)
{
    static const double  MOST = 0.5;
    const hu_ns_per_step time = hu_longer(hu_scene_node_time(c, HU_IN_IO, HU_CLASS_BIT(IO)),
                                          hu_scene_path_time(c, HU_CLASS_IO));
    const hu_host_place *p = place_on_path(c, HU_CLASS_IO, IO_CALLS);
    char                 part[96];
    double               share;

    /* where a buffer saves most of it, that is the finding: this one's fixes would be no help */
    if (!hu_scene_is_much(c, hu_as_mean(time.ns - hu_scene_small_calls(c).ns)) || hu_scene_is_small_calls(c, time))
        return false;
    if (!p) {
        const uint32_t      slice = longest_write(c);
        const hu_said_frame name = hu_say_frame(slice == HU_NONE ? HU_STR("") : hu_ask_name(&c->s->ask, slice));

        hu_hint_say(h, "Writing checkpoints, logs or other files takes %s, averaged over all steps%s%s.",
                    hu_scene_share(c, time).t, name.t[0] ? "; most at once in " : "", name.t);
        hu_hint_show_frames(c, h, slice);
        return true;
    }
    if (p->sum.main_ns && share_of_place(&c->d->host_calls, IO_CALLS, p) < MOST) {
        const hu_host_place *longest = longest_place(&c->d->host_calls, IO_CALLS);

        p = longest ? longest : p;
    }
    share = share_of_place(&c->d->host_calls, IO_CALLS, p);
    if (share >= MOST)
        snprintf(part, sizeof part, "most of it in");
    else
        snprintf(part, sizeof part, "in many places: %s of it in", hu_say_pct(100 * share).t);
    h->fix = fix_of_io(p->class);
    hu_hint_say(h, "%s %s. File, disk and network I/O takes %s, %s %s%s.",
                p->sum.main_ns ? "The main thread" : "A thread that the main thread waits for",
                hu_host_class_words(p->class), hu_scene_share(c, time).t, part, name_place(p).t,
                p->within.n ? "" : hu_scene_say_caller(c, p->call).t);
    show_places(c, h, IO_CALLS, p);
    return true;
}

bool hu_gate_lock(const hu_scene *c, hu_hint *h)
{
    const hu_ns_per_step time = hu_scene_path_time(c, HU_CLASS_LOCK);
    const hu_host_sum   *all = &c->d->host_calls.by_class[HU_HOST_LOCK];
    const hu_host_place *p = place_on_path(c, HU_CLASS_LOCK, 1u << HU_HOST_LOCK);
    bool                 is_known;

    if (c->d->deadlock.n)
        return false; /* the verdict: nothing is gained by holding a lock for less */
    if (hu_scene_say_lock(c, h, &is_known) || is_known) {
        show_places(c, h, 1u << HU_HOST_LOCK, p);
        return h->statement[0] != '\0';
    }
    if (!hu_scene_is_much(c, time))
        return false;
    hu_hint_say(h, "Waiting for locks takes %s%s%s. %s", hu_scene_share(c, time).t, p ? ", mostly in " : "",
                p ? name_place(p).t : "", hu_scene_lock_holder(c, h).t);
    show_places(c, h, 1u << HU_HOST_LOCK, p);
    if (all->total_ns > all->main_ns)
        hu_hint_show(h, "all threads together wait %s for locks, in %s call%s", hu_say_in_all(hu_as_sum(all->total_ns)).t,
                     hu_say_count(all->calls).t, hu_plural(all->calls));
    return true;
}

bool hu_gate_sleep(const hu_scene *c, hu_hint *h)
{
    const hu_ns_per_step time = hu_scene_path_time(c, HU_CLASS_SLEEP);
    const hu_host_place *p = place_on_path(c, HU_CLASS_SLEEP, 1u << HU_HOST_SLEEP);

    if (!hu_scene_is_much(c, time) || hu_looks_are_most(c, time)) /* those are a finding of their own */
        return false;
    hu_hint_say(h, "The program sleeps for %s while nothing else runs%s%s%s.", hu_scene_share(c, time).t, p ? ": " : "",
                p ? name_place(p).t : "", p ? hu_scene_say_caller(c, p->call).t : "");
    show_places(c, h, 1u << HU_HOST_SLEEP, p);
    if (c->s->ask.has_jvm)
        hu_hint_show(h, "the thread main of Java: Thread.sleep, or a wait with a time limit that nobody ended");
    return true;
}

static bool is_starved(const hu_scene *c)
{
    const hu_host_time *t = &c->d->host_time;

    return t->is_recorded &&
           hu_is_share_of_step(hu_as_mean(t->state_ns[HU_STATE_STARVED]), HU_LEAST_SHARE, hu_as_mean(t->step_ns));
}

/* The limit is why threads wait for a CPU if it was used up in most periods; else others may be. */
static bool is_throttled(const hu_scene *c)
{
    return c->d->info.cpu_limit_milli > 0 && 2 * c->d->info.cpu_throttled > c->d->info.cpu_periods;
}

bool hu_gate_quota(const hu_scene *c, hu_hint *h)
{
    const hu_trace_info *info = &c->d->info;
    const hu_host_time  *t = &c->d->host_time;
    char                 cpus[HU_NUMBER_BYTES];

    if (!is_throttled(c) || !is_starved(c))
        return false;
    hu_format_fixed(cpus, (double)info->cpu_limit_milli / 1000,
                    info->cpu_limit_milli % 100 ? 2 : info->cpu_limit_milli % 1000 != 0);
    hu_hint_say(
        h,
        "The control group (cgroup) of the job may use %s CPU%s. It used them up in %s of %s periods and was stopped "
        "until the next: the main thread waits for a CPU for %s.",
        cpus, hu_plural(info->cpu_limit_milli == 1000 ? 1 : 2), hu_say_count(info->cpu_throttled).t,
        hu_say_count(info->cpu_periods).t,
        hu_say_of_step(hu_as_mean(t->state_ns[HU_STATE_STARVED]), hu_as_mean(t->step_ns), c->has_steps).t);
    if (info->cpus * 1000 > info->cpu_limit_milli)
        hu_hint_show(h, "the machine would give it %lld CPU%s", (long long)info->cpus, hu_plural(info->cpus));
    return true;
}

/*
 * How much of the CPUs this job can have used at most while its main thread waited for one: all that its other threads
 * ever computed, and processes that were not recorded, laid into that time.  NaN: not known.
 */
static double own_share_of_cpus(const hu_scene *c)
{
    const hu_host_time *t = &c->d->host_time;
    const double        all = fmax(t->job_cpu_ns, (double)c->d->info.command_cpu_ns);
    const double        runs = t->wall_ns * t->task_ns[HU_THREAD_RUNNING] / t->step_ns;
    const double        starved = t->wall_ns * t->state_ns[HU_STATE_STARVED] / t->step_ns;

    if (!(t->job_cpu_ns > 0) || c->d->info.cpus <= 0 || !(starved > 0))
        return (double)NAN;
    return fmax(0, all - runs) / (starved * (double)c->d->info.cpus);
}

bool hu_gate_starved(const hu_scene *c, hu_hint *h)
{
    static const double  LITTLE = 0.5;
    const hu_host_time  *t = &c->d->host_time;
    const hu_ns_per_step time = hu_as_mean(t->state_ns[HU_STATE_STARVED]), step = hu_as_mean(t->step_ns);
    const double         own = own_share_of_cpus(c);

    if (!is_starved(c) || is_throttled(c))
        return false;
    hu_hint_say(h, "The main thread is runnable but waits for a CPU for %s.", hu_say_of_step(time, step, c->has_steps).t);
    hu_hint_show(h, "from the kernel's scheduler; the thread runs for %s",
                 hu_scene_each(c, hu_as_mean(t->state_ns[HU_STATE_RUNS])).t);
    if (t->all_processes > 1)
        hu_hint_show(h, "the job has %lld processes, the main one %lld thread%s", (long long)t->all_processes,
                     (long long)t->at[0].threads, hu_plural(t->at[0].threads));
    if (own < LITTLE) {
        if (100 * own < 0.5)
            hu_hint_show(h, "nothing else in it computes: others have the CPUs meanwhile, programs or other ranks");
        else
            hu_hint_show(
                h, "its other threads took at most %s of the CPUs meanwhile: others have them, programs or other ranks",
                hu_say_pct(100 * own).t);
        h->fix = "CPUs of its own: no other jobs on them, one rank for each set of CPUs (--cpus-per-task, --exclusive, "
                 "taskset, cpuset), or a higher priority (nice)";
    }
    return true;
}

bool hu_gate_gc(const hu_scene *c, hu_hint *h)
{
    const hu_ns_per_step time = hu_scene_node_time(c, HU_IN_GC, HU_CLASS_BIT(GC));

    if (!hu_scene_is_much(c, time))
        return false;
    hu_hint_say(h, "Python's garbage collector stops the main thread for %s.", hu_scene_share(c, time).t);
    hu_hint_show(h, "%s collection%s in the whole capture, the longest %s", hu_say_count(c->d->overheads.gc_calls).t,
                 hu_plural(c->d->overheads.gc_calls), hu_say_time((double)c->d->overheads.gc_most_ns).t);
    return true;
}

/* The places that cost most; waits at the very end of a capture cost nothing. */
static size_t longest_waits(const hu_calls *calls, const hu_wait *out[], size_t room)
{
    size_t n = 0;

    for (size_t i = 0; i < calls->n_waits; i++) {
        const hu_wait *w = &calls->waits[i];
        size_t         at = n;

        if (w->total_ns <= w->final_ns)
            continue;
        for (; at && out[at - 1]->total_ns - out[at - 1]->final_ns < w->total_ns - w->final_ns; at--)
            if (at < room)
                out[at] = out[at - 1];
        if (at < room)
            out[at] = w;
        n += n < room;
    }
    return n;
}

bool hu_gate_sync(const hu_scene *c, hu_hint *h)
{
    enum { SHOWN = 2 };
    const hu_calls *calls = &c->d->calls;
    const hu_wait  *longest[SHOWN];
    const size_t    n = longest_waits(calls, longest, SHOWN);
    const int64_t   count = calls->wait_calls - calls->final_calls;

    if (n == 0 ||
        !hu_is_share_of_all(hu_as_sum(calls->wait_ns - calls->final_ns), HU_LEAST_SHARE, hu_as_sum(c->d->overheads.span_ns)))
        return false;
    hu_hint_say(
        h,
        "%s sync call%s in the whole capture; most of the waiting is in %.*s%s%.*s. The cost is not the wait itself but "
        "the time until the GPU has work again.",
        hu_say_count(count).t, hu_plural(count), HU_FMT(longest[0]->call), longest[0]->op.n ? " of " : "",
        HU_FMT(longest[0]->op));
    for (size_t i = 0; i < n; i++)
        hu_hint_show(h, "%.*s%s%.*s: %s call%s, waiting %s", HU_FMT(longest[i]->call), longest[i]->op.n ? " < " : "",
                     HU_FMT(longest[i]->op), hu_say_count(longest[i]->calls - longest[i]->final_calls).t,
                     hu_plural(longest[i]->calls - longest[i]->final_calls),
                     hu_say_in_all(hu_as_sum(longest[i]->total_ns - longest[i]->final_ns)).t);
    if (longest[0]->stack.n)
        hu_hint_show(h, "from %.*s", HU_FMT(longest[0]->stack));
    return true;
}

bool hu_gate_profiler(const hu_scene *c, hu_hint *h)
{
    const hu_step_time  *t = hu_digest_step_time(c->d);
    const hu_ns_per_step time = hu_scene_in_steps(c, c->d->overheads.profiler_in_steps_ns),
                         step = t ? hu_as_mean(t->step_ns) : c->step;

    if (time.ns <= 0 || !hu_is_share_of_step(time, HU_LEAST_SHARE, step))
        return false;
    hu_hint_say(h, "The profiler itself takes %s. Without it the job is faster than measured here.",
                hu_say_of_step(time, step, c->has_steps).t);
    if (c->d->overheads.n)
        hu_hint_show(h, "mostly %.*s", HU_FMT(c->d->overheads.at[0].name));
    return true;
}
