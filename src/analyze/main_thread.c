/* SPDX-License-Identifier: Apache-2.0
 * main_thread.c - the thread with steps, with launches, or of the process that waits for all the others.
 *
 * A recording of a command holds all its processes: a shell and the ends of its pipes, a training script and its loaders.
 * The one that was started first is the answer's subject.  Its number is no sure sign, since numbers wrap, and its first
 * recorded call may come after those of its children, so what counts is who waits for children, or who lives longest.
 */
#include "analyze/main_thread.h"

#include <stdlib.h>

#include "analyze/autograd_threads.h"
#include "analyze/jvm.h"
#include "analyze/names.h"
#include "analyze/thread_states.h"
#include "base/map.h"

enum { LAUNCH_WEIGHT = 16 };

static const double LEAST_CHILD = 0.5; /* of the capture, that a parent waits for its children */
static const double WHOLE_LIFE = 0.9;  /* of the capture, that the command's own process lives */
static const double FAIR_SHARE = 0.25; /* of the launches of the thread with most */

static int by_pid(const void *left, const void *right)
{
    const hu_process_span *a = left, *b = right;

    return (a->pid > b->pid) - (a->pid < b->pid);
}

static void add_track(const hu_trace *trace, const hu_track *t, uint32_t number, hu_process_span *p)
{
    const hu_interval life = hu_thread_life(trace, number);
    const int64_t     start = life.start_ns;

    p->threads++;
    p->name = p->name ? p->name : t->process;
    p->first_ns = start < p->first_ns ? start : p->first_ns;
    p->last_ns = life.end_ns > p->last_ns ? life.end_ns : p->last_ns;
    p->child_ns += t->child_ns;
    if (t->tid == p->pid && !t->tid_is_text) {
        p->main = number;
        p->main_ns = INT64_MIN;
    } else if (p->main == HU_NONE || start < p->main_ns) {
        p->main = number;
        p->main_ns = start;
    }
}

bool hu_main_thread_processes(const hu_trace *trace, hu_arena *scratch, hu_process_span **out, size_t *n)
{
    size_t          n_tracks;
    const hu_track *tracks = hu_trace_tracks(trace, &n_tracks);
    const bool      has_jvm = hu_jvm_is_any(trace);
    HU_VEC(hu_process_span) list = {0};
    hu_map place;

    if (!hu_map_init(&place, scratch, 16))
        return false;
    for (uint32_t t = 0; t < n_tracks; t++) {
        uint32_t *at;

        if (tracks[t].type != HU_TRACK_HOST || tracks[t].pid_is_text || (tracks[t].count == 0 && tracks[t].n_stretches == 0))
            continue;
        at = hu_map_put(&place, (uint64_t)tracks[t].pid);
        if (!at)
            return false;
        if (*at == HU_MAP_NONE) {
            const hu_process_span fresh = {
                .pid = tracks[t].pid, .first_ns = INT64_MAX, .last_ns = INT64_MIN, .main = HU_NONE};

            if (!hu_vec_push(scratch, &list, fresh))
                return false;
            *at = (uint32_t)list.n - 1;
        }
        add_track(trace, &tracks[t], t, &list.at[*at]);
    }
    if (list.n)
        qsort(list.at, list.n, sizeof *list.at, by_pid);
    for (size_t i = 0; i < list.n && has_jvm; i++)
        if (hu_jvm_is(trace, list.at[i].pid))
            list.at[i].main = hu_jvm_main_thread(trace, list.at[i].main);
    for (size_t i = 0; i < list.n; i++)
        list.at[i].main_ns = hu_thread_life(trace, list.at[i].main).start_ns;
    *out = list.at;
    *n = list.n;
    return true;
}

uint32_t hu_main_thread_of_job(const hu_trace *trace, hu_arena *scratch)
{
    hu_process_span *p = NULL, *longest = NULL, *parent = NULL;
    size_t           n = 0;
    int64_t          first = INT64_MAX, last = INT64_MIN;
    const int64_t    command_pid = hu_trace_get_info(trace)->command_pid;

    if (!hu_main_thread_processes(trace, scratch, &p, &n) || n == 0)
        return HU_NONE;
    longest = parent = &p[0];
    for (size_t i = 0; i < n; i++) {
        first = p[i].first_ns < first ? p[i].first_ns : first;
        last = p[i].last_ns > last ? p[i].last_ns : last;
        if (p[i].last_ns - p[i].first_ns > longest->last_ns - longest->first_ns)
            longest = &p[i];
        if (p[i].child_ns > parent->child_ns)
            parent = &p[i];
    }
    for (size_t i = 0; i < n; i++) /* the command itself, unless it left the work to a process that outlives it */
        if (command_pid && p[i].pid == command_pid &&
            (double)(p[i].last_ns - p[i].first_ns) >= WHOLE_LIFE * (double)(last - first))
            return p[i].main;
    for (size_t i = 0; hu_thread_has_lives(trace) && i < n; i++)
        if (p[i].first_ns == first && (double)(p[i].last_ns - first) >= WHOLE_LIFE * (double)(last - first))
            return p[i].main; /* it was there before all others and until the end, however it waits for them */
    return (double)parent->child_ns >= LEAST_CHILD * (double)(last - first) && parent->child_ns > 0 ? parent->main
                                                                                                    : longest->main;
}

static bool is_recorded(const hu_slices *s)
{
    for (size_t i = 0; i < s->n; i++)
        if (hu_kind_in(s->kind[i], HU_BIT(OS_CALL) | HU_BIT(MPI)))
            return true;
    return false;
}

/* What speaks for a thread; the first difference decides. */
typedef struct {
    size_t steps;      /* marks of steps */
    bool   is_program; /* it updates the model, or holds the program's outermost Python frame */
    bool   is_own;     /* it is no thread of the autograd engine, which only works when it is called */
    bool   is_loading; /* it takes batches from a loader, and launches work */
    bool   is_first;   /* the process began with it, and it launches a fair part of the work */
    size_t does;       /* launches, then slices */
} claim;

/* Names by which a program says that it is here: its module, and what only the loop of a training calls. */
static bool is_program_mark(hu_str name, hu_kind kind)
{
    if (kind == HU_KIND_PYTHON)
        return hu_str_ends(name, HU_STR(": <module>"));
    return hu_kind_in(kind, HU_BIT(CPU_OP) | HU_BIT(USER)) &&
           (hu_str_starts(name, HU_STR("Optimizer.step#")) || hu_str_starts(name, HU_STR("Optimizer.zero_grad#")));
}

typedef struct {
    const hu_trace *trace;
    hu_slices       s;
    const uint8_t  *names;
    uint8_t        *is_mark; /* by string id: UNKNOWN, NO, YES */
    uint32_t        step;    /* string id of the annotation that is the step; HU_NONE */
    bool            is_recorded;
} search;

enum { UNKNOWN, NO, YES };

static bool marks_program(search *w, uint32_t i)
{
    uint8_t *known = &w->is_mark[w->s.name[i]];

    if (*known == UNKNOWN)
        *known = is_program_mark(hu_trace_text(w->trace, w->s.name[i]), (hu_kind)w->s.kind[i]) ? YES : NO;
    return *known == YES;
}

static claim claim_of(search *w, const hu_track *t, bool is_engine, size_t *launches)
{
    const uint32_t *order = hu_trace_order(w->trace) + t->first;
    claim           c = {.is_own = !is_engine};

    *launches = 0;
    for (uint32_t k = 0; k < t->count; k++) {
        const uint32_t i = order[k];
        const uint8_t  flags = w->names[w->s.name[i]];
        const bool     is_step = w->s.name[i] == w->step && (w->is_recorded || w->s.kind[i] == HU_KIND_USER);

        c.steps += flags & HU_NAME_STEP || (is_step && !is_engine);
        *launches += hu_kind_in(w->s.kind[i], HU_KINDS_CALL) && flags & HU_NAME_LAUNCH;
        c.does += hu_kind_in(w->s.kind[i], HU_KINDS_HOST) && !w->is_recorded;
        c.is_program |= !w->is_recorded && !is_engine && marks_program(w, i);
        c.is_loading |= !w->is_recorded && flags & HU_NAME_DATA_LOADER;
    }
    c.is_loading &= *launches > 0;
    c.does += *launches * LAUNCH_WEIGHT;
    return c;
}

static bool is_stronger(const claim *a, const claim *b)
{
    if (a->steps != b->steps)
        return a->steps > b->steps;
    if (a->does == 0 || b->does == 0)
        return a->does > b->does;
    if (a->is_program != b->is_program)
        return a->is_program;
    if (a->is_own != b->is_own)
        return a->is_own;
    if (a->is_loading != b->is_loading)
        return a->is_loading;
    if (a->is_first != b->is_first)
        return a->is_first;
    return a->does > b->does;
}

uint32_t hu_main_thread_find(const hu_trace *trace, const uint8_t *names, hu_str step, hu_arena *scratch)
{
    search          w = {.trace = trace, .s = hu_trace_slices(trace), .names = names, .step = HU_NONE};
    size_t          n_tracks, most = 0;
    const hu_track *tracks = hu_trace_tracks(trace, &n_tracks);
    const uint8_t  *engine = hu_autograd_threads_find(trace, scratch);
    claim          *claims = hu_arena_calloc(scratch, n_tracks + 1, sizeof *claims);
    size_t         *launches = hu_arena_calloc(scratch, n_tracks + 1, sizeof *launches);
    uint32_t        best = HU_NONE;

    w.is_mark = hu_arena_calloc(scratch, hu_trace_string_count(trace) + 1, 1);
    if (!engine || !claims || !launches || !w.is_mark)
        return HU_NONE;
    w.is_recorded = is_recorded(&w.s) || hu_thread_has_lives(trace);
    w.step = step.n ? hu_trace_find_text(trace, step) : HU_NONE;
    for (uint32_t t = 0; t < n_tracks; t++) {
        if (tracks[t].type != HU_TRACK_HOST)
            continue;
        claims[t] = claim_of(&w, &tracks[t], engine[t] != 0, &launches[t]);
        most = launches[t] > most ? launches[t] : most;
    }
    for (uint32_t t = 0; t < n_tracks; t++) {
        claim *c = &claims[t];

        if (!c->steps && !c->does)
            continue;
        c->is_first = launches[t] > 0 && !tracks[t].tid_is_text && !tracks[t].pid_is_text &&
                      tracks[t].tid == tracks[t].pid && (double)launches[t] >= FAIR_SHARE * (double)most;
        if (best == HU_NONE || is_stronger(c, &claims[best]))
            best = t;
    }
    return w.is_recorded && best == HU_NONE ? hu_main_thread_of_job(trace, scratch) : best;
}
