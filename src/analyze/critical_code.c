/* SPDX-License-Identifier: Apache-2.0
 * critical_code.c - a sample counts where the job waits for what it shows.
 *
 * On the main thread each one does.  While that one waits for other threads (in a join, a lock, a condition, or in no call
 * that was recorded), those of its process that run are what it waits for: which of them is not known, so each of k counts
 * 1/k, and one that computes beside the main thread counts nothing.  In recorded calls the CPU is that of the call, which
 * other findings tell.
 *
 * A sample in the system's libraries, in a language's runtime or in the kernel counts for the innermost function of the
 * program that called it: that is where the code can be changed.
 */
#include "analyze/critical_code.h"

#include <math.h>
#include <stdlib.h>

#include "analyze/code_owner.h"
#include "analyze/host_calls.h"
#include "analyze/hot.h"
#include "base/map.h"

static const double WHOLE = 0.85;      /* of what runs, that the samples may stand for less by chance */
static const double MANY_ERRORS = 2.5; /* standard errors, by which they would not */

typedef struct {
    int64_t time_ns;
    int32_t running; /* threads, from then on */
} change;

typedef struct {
    double samples, kernel, elsewhere, at_once;
} weight;

typedef struct {
    uint32_t function, module; /* string ids; HU_NONE: all that has no name there */
    weight   w;
} row;

typedef struct {
    const hu_ask  *ask;
    uint32_t       main;
    hu_interval    window;
    const uint8_t *inner;
    bool           is_go;       /* all threads are alike */
    hu_intervals   runs, waits; /* of the main thread: it runs; it waits for others of its process */
    hu_intervals   others;      /* any of those runs */
    hu_intervals   ready;       /* the main thread waits for a CPU, or in its waits one of those does */
    HU_VEC(change) changes;     /* by time */
    weight   *of_stack;         /* by 1 + row */
    uint32_t *owner;            /* the same: hu_code_owner */
    size_t    n_stacks;
    hu_map    row_of;
    HU_VEC(row) rows;
    hu_critical_code *out;
} work;

/* ---- when it counts ----------------------------------------------------------------------------------------------- */

/* The main thread waits for others of its process: in no call, or in one that another thread ends. */
static bool is_for_threads(const hu_ask *ask, uint32_t slice)
{
    const hu_host_class class = hu_host_calls_class(ask, slice);

    return class == HU_HOST_WAIT || class == HU_HOST_LOCK;
}

static bool find_times(work *w)
{
    const hu_ask     *ask = w->ask;
    const hu_track   *t = &ask->tracks[w->main];
    size_t            n;
    const hu_stretch *s = hu_trace_stretches(ask->trace, &n);
    hu_intervals      asleep = {0}, calls = {0}, whole = {0}, all;

    for (uint32_t k = 0; k < t->n_stretches; k++) {
        const hu_stretch *x = &s[t->first_stretch + k];

        if ((x->state == HU_THREAD_RUNNING && !hu_intervals_add(ask->scratch, &w->runs, x->start_ns, x->end_ns)) ||
            (x->state == HU_THREAD_WAITING && !hu_intervals_add(ask->scratch, &asleep, x->start_ns, x->end_ns)))
            return false;
    }
    for (uint32_t k = 0; k < t->count; k++) {
        const uint32_t i = ask->order[t->first + k];

        if ((ask->s.kind[i] == HU_KIND_MPI || (ask->s.kind[i] == HU_KIND_OS_CALL && !is_for_threads(ask, i))) &&
            !w->inner[i] && !hu_intervals_add(ask->scratch, &calls, ask->s.start_ns[i], hu_ask_end(ask, i)))
            return false;
    }
    if (!hu_intervals_add(ask->scratch, &whole, w->window.start_ns, w->window.end_ns))
        return false;
    if (w->is_go) {
        w->runs = (hu_intervals){0};
        w->waits = whole;
        return true;
    }
    if (!hu_intervals_unite(ask->scratch, &w->runs) || !hu_intervals_unite(ask->scratch, &asleep) ||
        !hu_intervals_unite(ask->scratch, &calls) || !hu_intervals_subtract(ask->scratch, &asleep, &calls, &all) ||
        !hu_intervals_intersect(ask->scratch, &all, &whole, &w->waits))
        return false;
    all = w->runs;
    return hu_intervals_intersect(ask->scratch, &all, &whole, &w->runs);
}

static int by_time(const void *left, const void *right)
{
    const change *a = left, *b = right;

    return (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

static bool is_helper(const work *w, uint32_t track)
{
    const hu_track *t = &w->ask->tracks[track], *main = &w->ask->tracks[w->main];

    return (track != w->main || w->is_go) && t->type == HU_TRACK_HOST && t->pid == main->pid &&
           t->pid_is_text == main->pid_is_text;
}

/* How many other threads of the process run, at any time. */
static bool count_running(work *w)
{
    const hu_ask     *ask = w->ask;
    size_t            n, kept = 0;
    const hu_stretch *s = hu_trace_stretches(ask->trace, &n);
    int32_t           running = 0;

    for (uint32_t t = 0; t < ask->n_tracks; t++)
        for (uint32_t k = 0; is_helper(w, t) && k < ask->tracks[t].n_stretches; k++) {
            const hu_stretch *x = &s[ask->tracks[t].first_stretch + k];

            if (x->state == HU_THREAD_RUNNABLE && !hu_intervals_add(ask->scratch, &w->ready, x->start_ns, x->end_ns))
                return false;
            if (x->state != HU_THREAD_RUNNING || x->end_ns <= x->start_ns)
                continue;
            if (!hu_intervals_add(ask->scratch, &w->others, x->start_ns, x->end_ns) ||
                !hu_vec_push(ask->scratch, &w->changes, ((change){x->start_ns, 1})) ||
                !hu_vec_push(ask->scratch, &w->changes, ((change){x->end_ns, -1})))
                return false;
        }
    if (w->changes.n)
        qsort(w->changes.at, w->changes.n, sizeof *w->changes.at, by_time);
    for (size_t i = 0; i < w->changes.n; i++) {
        running += w->changes.at[i].running;
        if (kept && w->changes.at[kept - 1].time_ns == w->changes.at[i].time_ns)
            kept--;
        w->changes.at[kept++] = (change){w->changes.at[i].time_ns, running};
    }
    w->changes.n = kept;
    return hu_intervals_unite(ask->scratch, &w->others) && hu_intervals_unite(ask->scratch, &w->ready);
}

static int32_t running_at(const work *w, int64_t time_ns)
{
    size_t low = 0, high = w->changes.n;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (w->changes.at[middle].time_ns > time_ns)
            high = middle;
        else
            low = middle + 1;
    }
    return low ? w->changes.at[low - 1].running : 0;
}

static bool is_inside(const hu_intervals *list, int64_t time_ns)
{
    size_t low = 0, high = list->n;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (list->at[middle].start_ns > time_ns)
            high = middle;
        else
            low = middle + 1;
    }
    return low && time_ns < list->at[low - 1].end_ns;
}

/* ---- the samples -------------------------------------------------------------------------------------------------- */

/* What a sample counts on the path; 0: nothing. */
static double weigh(const work *w, const hu_cpu_sample *s)
{
    int32_t others;

    if (s->time_ns < w->window.start_ns || s->time_ns >= w->window.end_ns || s->track >= w->ask->n_tracks)
        return 0;
    if (s->track == w->main && !w->is_go)
        return 1;
    if (!is_helper(w, s->track) || !is_inside(&w->waits, s->time_ns))
        return 0;
    others = running_at(w, s->time_ns);
    return 1 / (double)(others > 1 ? others : 1);
}

/* Is the thread in a recorded call?  What it costs there is the call's. */
static bool is_in_call(const work *w, const hu_cpu_sample *s)
{
    const uint32_t i = hu_ask_slice_at(w->ask, s->track, s->time_ns, HU_BIT(OS_CALL) | HU_BIT(MPI));

    return i != HU_NONE && !(w->ask->s.kind[i] == HU_KIND_OS_CALL && is_for_threads(w->ask, i));
}

static bool count_samples(work *w)
{
    size_t               n;
    const hu_cpu_sample *samples = hu_trace_cpu_samples(w->ask->trace, &n);
    double               squares = 0;

    w->n_stacks = hu_trace_cpu_stack_count(w->ask->trace) + 1;
    w->of_stack = hu_arena_calloc(w->ask->scratch, w->n_stacks, sizeof *w->of_stack);
    w->owner = hu_arena_alloc(w->ask->scratch, w->n_stacks * sizeof *w->owner);
    if (!w->of_stack || !w->owner)
        return false;
    w->owner[0] = 0;
    for (uint32_t i = 1; i < w->n_stacks; i++)
        w->owner[i] = hu_code_owner(w->ask->trace, i);
    for (size_t i = 0; i < n; i++) {
        const hu_cpu_sample *s = &samples[i];
        const double         counts = weigh(w, s);
        weight              *into = s->stack < w->n_stacks ? &w->of_stack[s->stack] : NULL;

        if (counts <= 0)
            continue;
        w->out->samples += counts;
        w->out->all_at_once += counts < 1 ? counts : 0;
        squares += counts * counts;
        w->out->taken++;
        if (!into || is_in_call(w, s))
            continue;
        into->samples += counts;
        into->kernel += s->is_kernel ? counts : 0;
        into->elsewhere += s->track != w->main ? counts : 0;
        into->at_once += counts < 1 ? counts : 0;
    }
    w->out->error = sqrt(squares) / 2;
    return true;
}

/* A program of Go moves its main function from thread to thread: the process's first one is like the others there. */
static bool is_go(const hu_trace *trace)
{
    return hu_trace_find_text(trace, HU_STR("runtime.mcall")) != HU_NONE ||
           hu_trace_find_text(trace, HU_STR("runtime.main")) != HU_NONE ||
           hu_trace_find_text(trace, HU_STR("runtime.goexit")) != HU_NONE ||
           hu_trace_find_text(trace, HU_STR("runtime.mstart")) != HU_NONE;
}

static void add_weight(weight *into, const weight *w)
{
    into->samples += w->samples;
    into->kernel += w->kernel;
    into->elsewhere += w->elsewhere;
    into->at_once += w->at_once;
}

/* By function; the one with most, or NULL. */
static const row *find_most(work *w, bool *ok)
{
    const row *most = NULL;

    *ok = hu_map_init(&w->row_of, w->ask->scratch, 64);
    for (uint32_t i = 1; *ok && i < w->n_stacks; i++) {
        const uint32_t link = w->of_stack[i].samples > 0 ? w->owner[i] : 0;
        uint32_t      *at;
        uint64_t       key;

        if (!link)
            continue;
        key = hu_code_key(w->ask->trace, link);
        at = hu_map_put(&w->row_of, key);
        *ok = at != NULL;
        if (at && *at == HU_MAP_NONE) {
            *at = (uint32_t)w->rows.n;
            *ok = hu_vec_push(w->ask->scratch, &w->rows, ((row){(uint32_t)(key >> 32), (uint32_t)key, {0}}));
        }
        if (*ok)
            add_weight(&w->rows.at[*at].w, &w->of_stack[i]);
    }
    for (size_t i = 0; *ok && i < w->rows.n; i++)
        if (!most || w->rows.at[i].w.samples > most->w.samples)
            most = &w->rows.at[i];
    return most;
}

typedef struct {
    uint32_t function, module;
    double   samples;
} tally;

typedef HU_VEC(tally) tallies;

static bool add_tally(work *w, hu_map *map, tallies *list, uint32_t function, uint32_t module, double samples)
{
    uint32_t *at = hu_map_put(map, (uint64_t)function << 32 | module);

    if (!at)
        return false;
    if (*at == HU_MAP_NONE) {
        *at = (uint32_t)list->n;
        if (!hu_vec_push(w->ask->scratch, list, ((tally){function, module, 0})))
            return false;
    }
    list->at[*at].samples += samples;
    return true;
}

static const tally *most_of(const tallies *list)
{
    const tally *most = NULL;

    for (size_t i = 0; i < list->n; i++)
        if (!most || list->at[i].samples > most->samples)
            most = &list->at[i];
    return most;
}

/* Where the samples of the function are, and who calls it. */
static bool describe(work *w, uint64_t key)
{
    const hu_trace *trace = w->ask->trace;
    hu_map          leaf_of, caller_of;
    tallies         leaves = {0}, callers = {0};
    const tally    *most;

    if (!hu_map_init(&leaf_of, w->ask->scratch, 16) || !hu_map_init(&caller_of, w->ask->scratch, 16))
        return false;
    for (uint32_t i = 1; i < w->n_stacks; i++) {
        const double        samples = w->of_stack[i].samples;
        const uint32_t      link = samples > 0 ? w->owner[i] : 0;
        const hu_cpu_stack *leaf, *caller;
        uint32_t            at;
        bool                ok = true;

        if (!link || hu_code_key(w->ask->trace, link) != key)
            continue;
        leaf = hu_trace_cpu_stack(trace, i);
        if (i == link)
            w->out->inside += samples;
        else
            ok = add_tally(w, &leaf_of, &leaves,
                           hu_hot_has_symbol(hu_trace_text(trace, leaf->function)) ? leaf->function : HU_NONE, leaf->module,
                           samples);
        for (at = hu_trace_cpu_stack(trace, link)->caller; at && hu_code_key(w->ask->trace, at) == key;)
            at = hu_trace_cpu_stack(trace, at)->caller; /* it calls itself */
        caller = at ? hu_trace_cpu_stack(trace, at) : NULL;
        if (ok && caller && hu_hot_has_symbol(hu_trace_text(trace, caller->function)) &&
            !hu_code_is_system(hu_trace_text(trace, caller->module)))
            ok = add_tally(w, &caller_of, &callers, caller->function, caller->module, samples);
        if (!ok)
            return false;
    }
    most = most_of(&leaves);
    if (most) {
        w->out->leaf = most->function == HU_NONE ? HU_STR("") : hu_trace_text(trace, most->function);
        w->out->leaf_module = hu_trace_text(trace, most->module);
        w->out->in_leaf = most->samples;
    }
    most = most_of(&callers);
    if (most) {
        w->out->caller = hu_trace_text(trace, most->function);
        w->out->from_caller = most->samples;
    }
    return true;
}

/* Threads whose samples on the path are in the function. */
static bool count_threads(work *w, uint64_t key)
{
    size_t               n;
    const hu_cpu_sample *samples = hu_trace_cpu_samples(w->ask->trace, &n);
    uint8_t             *is_met = hu_arena_calloc(w->ask->scratch, w->ask->n_tracks + 1, 1);

    for (size_t i = 0; is_met && i < n; i++) {
        const uint32_t link = samples[i].stack && samples[i].stack < w->n_stacks && weigh(w, &samples[i]) > 0
                                  ? w->owner[samples[i].stack]
                                  : 0;

        if (!link || hu_code_key(w->ask->trace, link) != key || is_met[samples[i].track])
            continue;
        is_met[samples[i].track] = 1;
        w->out->threads++;
    }
    return is_met != NULL;
}

/*
 * Of the window, what the samples stand for: all that runs there; where samples inside the kernel are not allowed, or some
 * were lost, they stand for less.
 */
static double run_of(const work *w)
{
    const double each = (double)hu_trace_get_info(w->ask->trace)->cpu_sample_ns;
    const double runs = (double)(hu_intervals_length(&w->runs) + hu_intervals_common(&w->waits, &w->others));
    const double seen = each * w->out->samples;

    return !(runs > 0) || (each > 0 && seen < WHOLE * runs && runs - seen > MANY_ERRORS * 2 * each * w->out->error) ? seen
                                                                                                                    : runs;
}

/* Of the window, that the main thread waits for a CPU, or for others none of which has one. */
static bool find_wants(work *w)
{
    const hu_ask     *ask = w->ask;
    const hu_track   *t = &ask->tracks[w->main];
    size_t            n;
    const hu_stretch *s = hu_trace_stretches(ask->trace, &n);
    hu_intervals      idle, own = {0}, whole = {0};

    for (uint32_t k = 0; k < t->n_stretches && !w->is_go; k++) {
        const hu_stretch *x = &s[t->first_stretch + k];

        if (x->state == HU_THREAD_RUNNABLE && !hu_intervals_add(ask->scratch, &own, x->start_ns, x->end_ns))
            return false;
    }
    if (!hu_intervals_unite(ask->scratch, &own) ||
        !hu_intervals_add(ask->scratch, &whole, w->window.start_ns, w->window.end_ns) ||
        !hu_intervals_subtract(ask->scratch, &w->waits, &w->others, &idle))
        return false;
    w->out->wants_ns = (double)(hu_intervals_common(&own, &whole) + hu_intervals_common(&idle, &w->ready));
    return true;
}

bool hu_critical_code_measure(const hu_ask *ask, uint32_t main, hu_interval window, hu_critical_code *out)
{
    work       w = {.ask = ask, .main = main, .window = window, .out = out, .is_go = is_go(ask->trace)};
    const row *most;
    bool       ok;
    uint64_t   key;

    *out = (hu_critical_code){.window_ns = window.end_ns - window.start_ns};
    w.inner = hu_host_calls_find_inner(ask, ask->scratch);
    if (!w.inner || !find_times(&w) || !count_running(&w) || !find_wants(&w) || !count_samples(&w))
        return false;
    out->run_ns = run_of(&w);
    most = find_most(&w, &ok);
    if (!ok || !most)
        return ok;
    out->own = most->w.samples;
    out->kernel = most->w.kernel;
    out->elsewhere = most->w.elsewhere;
    out->at_once = most->w.at_once;
    out->name = most->function == HU_NONE ? HU_STR("") : hu_trace_text(ask->trace, most->function);
    out->module = hu_trace_text(ask->trace, most->module);
    out->kind = most->function == HU_NONE ? hu_code_kind_of(out->name, out->module) : w.is_go ? HU_CODE_GO : HU_CODE_NATIVE;
    out->is_jit = hu_code_is_jit(out->module);
    key = (uint64_t)most->function << 32 | most->module;
    return describe(&w, key) && count_threads(&w, key);
}
