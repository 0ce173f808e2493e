/* SPDX-License-Identifier: Apache-2.0
 * host_time.c - exclusive shares of a thread's time:
 *
 *     free = the steps;  for each state in order:  share = |state ∩ free|,  free = free ∖ state;  what is left, it runs
 *
 * First communication: libraries wait in it by asking again and again, and who only asks loses nothing when another one
 * has the processor.  Then what the kernel says, that the thread waits for a processor; then calls of the system by class,
 * of which only the outermost counts.  "Runs" is a rest: a wait that nobody recorded is in it too.
 */
#include "analyze/host_time.h"

#include <stdlib.h>

#include "analyze/host_calls.h"
#include "analyze/main_thread.h"
#include "base/map.h"

static const double LEAST_CHILD = 0.5; /* of its time, that a process waits for children, to look at those */

typedef struct {
    const hu_ask  *ask;
    const uint8_t *inner;
    hu_map         notes; /* thread -> track of its waits for a processor */
} work;

static uint64_t thread_key(int64_t pid, int64_t tid)
{
    return (uint64_t)pid * 0x9e3779b97f4a7c15u ^ (uint64_t)tid;
}

static bool is_thread(const hu_track *t)
{
    return !t->pid_is_text && !t->tid_is_text;
}

static bool map_notes(work *w)
{
    const hu_ask *ask = w->ask;

    if (!hu_map_init(&w->notes, ask->scratch, 16))
        return false;
    for (uint32_t t = 0; t < ask->n_tracks; t++) {
        uint32_t *place;

        if (ask->tracks[t].type != HU_TRACK_NOTE || !is_thread(&ask->tracks[t]))
            continue;
        place = hu_map_put(&w->notes, thread_key(ask->tracks[t].pid, ask->tracks[t].tid));
        if (!place)
            return false;
        *place = t;
    }
    return true;
}

/* What a slice of a thread is to it; HU_STATE_RUNS: nothing of interest. */
static hu_host_state state_of(const work *w, uint32_t i)
{
    const hu_ask *ask = w->ask;

    if (ask->s.kind[i] == HU_KIND_CPU_WAIT)
        return HU_STATE_STARVED;
    if (ask->s.kind[i] == HU_KIND_MPI ||
        (hu_kind_in(ask->s.kind[i], HU_BIT(USER) | HU_BIT(CPU_OP)) && ask->names[ask->s.name[i]] & HU_NAME_COMM))
        return HU_STATE_COMM;
    return ask->s.kind[i] == HU_KIND_OS_CALL && !w->inner[i] ? (hu_host_state)hu_host_calls_class(ask, i) : HU_STATE_RUNS;
}

static bool collect(work *w, uint32_t track, hu_intervals set[HU_STATE_COUNT])
{
    const hu_ask   *ask = w->ask;
    const hu_track *t = &ask->tracks[track];
    const uint32_t  note = is_thread(t) ? hu_map_get(&w->notes, thread_key(t->pid, t->tid)) : HU_NONE;

    for (size_t pass = 0; pass < 2; pass++) {
        const hu_track *of = pass == 0 ? t : note != HU_NONE ? &ask->tracks[note] : NULL;

        for (uint32_t k = 0; of && k < of->count; k++) {
            const uint32_t      i = ask->order[of->first + k];
            const hu_host_state state = state_of(w, i);

            if (state != HU_STATE_RUNS && (pass == 1) == (state == HU_STATE_STARVED) &&
                !hu_intervals_add(ask->scratch, &set[state], ask->s.start_ns[i], hu_ask_end(ask, i)))
                return false;
        }
    }
    for (size_t s = 0; s < HU_STATE_COUNT; s++)
        if (!hu_intervals_unite(ask->scratch, &set[s]))
            return false;
    return true;
}

/* Shares the windows out; and what of each share nobody worked on the device, where `idle_ns` is asked for. */
static bool share_out(work *w, uint32_t track, const hu_intervals *windows, int64_t out_ns[HU_STATE_COUNT], int64_t *idle_ns)
{
    static const hu_host_state first[] = {HU_STATE_COMM, HU_STATE_STARVED};
    hu_arena                  *a = w->ask->scratch;
    hu_intervals               set[HU_STATE_COUNT] = {{0}}, left = *windows, share, rest;

    if (!collect(w, track, set))
        return false;
    for (size_t k = 0; k < HU_STATE_COUNT; k++) {
        const hu_host_state s = k < HU_COUNT(first) ? first[k]
                                : k < HU_STATE_RUNS ? (hu_host_state)(k - HU_COUNT(first))
                                                    : HU_STATE_RUNS;

        if (s == HU_STATE_RUNS)
            share = left;
        else if (!hu_intervals_intersect(a, &set[s], &left, &share) || !hu_intervals_subtract(a, &left, &set[s], &rest))
            return false;
        out_ns[s] = hu_intervals_length(&share);
        if (idle_ns)
            idle_ns[s] = out_ns[s] - hu_intervals_common(&share, &w->ask->busy);
        left = s == HU_STATE_RUNS ? left : rest;
    }
    return true;
}

static bool measure_main(work *w, uint32_t track, hu_host_time *out)
{
    const hu_ask   *ask = w->ask;
    const hu_track *t = &ask->tracks[track];
    const bool      is_whole = !ask->counted || ask->steps->source == HU_STEPS_NONE;
    int64_t         state_ns[HU_STATE_COUNT], idle_ns[HU_STATE_COUNT], last = INT64_MIN;
    hu_intervals    life = {0};
    double          n = 1;

    for (uint32_t k = 0; k < t->count; k++) {
        const int64_t end = hu_ask_end(ask, ask->order[t->first + k]);

        last = end > last ? end : last;
    }
    if (!hu_intervals_add(ask->scratch, &life, ask->s.start_ns[ask->order[t->first]], last) ||
        !share_out(w, track, is_whole ? &life : ask->counted, state_ns, idle_ns))
        return false;
    if (!is_whole)
        n = ask->steps->n_counted ? (double)ask->steps->n_counted : 1;
    for (size_t s = 0; s < HU_STATE_COUNT; s++) {
        out->state_ns[s] = (double)state_ns[s] / n;
        out->idle_ns[s] = (double)idle_ns[s] / n;
        out->step_ns += out->state_ns[s];
    }
    out->pid = is_thread(t) ? t->pid : -1;
    out->tid = is_thread(t) ? t->tid : -1;
    out->process = hu_trace_text(ask->trace, t->process);
    out->thread = hu_trace_text(ask->trace, t->name);
    return true;
}

static int by_length(const void *left, const void *right)
{
    const hu_host_process *a = left, *b = right;

    if (a->is_main != b->is_main)
        return a->is_main ? -1 : 1;
    if (a->wall_ns != b->wall_ns)
        return a->wall_ns > b->wall_ns ? -1 : 1;
    return (a->pid > b->pid) - (a->pid < b->pid);
}

static int by_start(const void *left, const void *right)
{
    const hu_host_process *a = left, *b = right;

    if (a->is_main != b->is_main)
        return a->is_main ? -1 : 1;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    return (a->pid > b->pid) - (a->pid < b->pid);
}

static bool measure_processes(work *w, hu_host_time *out)
{
    const hu_ask    *ask = w->ask;
    hu_process_span *spans = NULL;
    size_t           n = 0;

    if (!hu_main_thread_processes(ask->trace, ask->scratch, &spans, &n))
        return false;
    out->at = hu_arena_calloc(ask->arena, n + 1, sizeof *out->at);
    if (!out->at)
        return false;
    for (size_t i = 0; i < n; i++)
        out->at[i] = (hu_host_process){.name = hu_trace_text(ask->trace, spans[i].name),
                                       .pid = spans[i].pid,
                                       .threads = spans[i].threads,
                                       .start_ns = spans[i].first_ns,
                                       .wall_ns = spans[i].last_ns - spans[i].first_ns,
                                       .is_main = spans[i].pid == out->pid};
    if (n)
        qsort(out->at, n, sizeof *out->at, by_length);
    out->n = n < HU_HOST_PROCESSES ? n : HU_HOST_PROCESSES;
    for (size_t i = 0; i < out->n; i++) {
        hu_intervals life = {0};
        size_t       of = 0;

        while (spans[of].pid != out->at[i].pid)
            of++;
        if (!hu_intervals_add(ask->scratch, &life, spans[of].first_ns, spans[of].last_ns) ||
            !share_out(w, spans[of].main, &life, out->at[i].state_ns, NULL))
            return false;
    }
    if (out->n)
        qsort(out->at, out->n, sizeof *out->at, by_start);
    return true;
}

static int longer_thread(const void *left, const void *right)
{
    const hu_host_thread *a = left, *b = right;

    if (a->wall_ns != b->wall_ns)
        return a->wall_ns > b->wall_ns ? -1 : 1;
    return (a->tid > b->tid) - (a->tid < b->tid);
}

static int earlier_thread(const void *left, const void *right)
{
    const hu_host_thread *a = left, *b = right;

    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    return (a->tid > b->tid) - (a->tid < b->tid);
}

/* The other threads of the main process. */
static bool measure_threads(work *w, uint32_t main_track, hu_host_time *out)
{
    const hu_ask *ask = w->ask;
    HU_VEC(hu_host_thread) list = {0};
    hu_map track_of;

    if (!hu_map_init(&track_of, ask->scratch, 16))
        return false;
    for (uint32_t t = 0; t < ask->n_tracks; t++) {
        const hu_track *track = &ask->tracks[t];
        hu_host_thread  row = {.name = hu_trace_text(ask->trace, track->name), .tid = track->tid};
        int64_t         last = INT64_MIN;
        uint32_t       *place;

        if (track->type != HU_TRACK_HOST || !is_thread(track) || track->pid != out->pid || t == main_track || !track->count)
            continue;
        for (uint32_t k = 0; k < track->count; k++) {
            const int64_t end = hu_ask_end(ask, ask->order[track->first + k]);

            last = end > last ? end : last;
        }
        row.start_ns = ask->s.start_ns[ask->order[track->first]];
        row.wall_ns = last - row.start_ns;
        place = hu_map_put(&track_of, (uint64_t)track->tid);
        if (!place || !hu_vec_push(ask->arena, &list, row))
            return false;
        *place = t;
    }
    if (list.n)
        qsort(list.at, list.n, sizeof *list.at, longer_thread);
    out->threads = list.at;
    out->n_threads = list.n < HU_HOST_THREADS ? list.n : HU_HOST_THREADS;
    for (size_t i = 0; i < out->n_threads; i++) {
        hu_host_thread *t = &out->threads[i];
        hu_intervals    life = {0};

        if (!hu_intervals_add(ask->scratch, &life, t->start_ns, t->start_ns + t->wall_ns) ||
            !share_out(w, hu_map_get(&track_of, (uint64_t)t->tid), &life, t->state_ns, NULL))
            return false;
    }
    if (out->n_threads)
        qsort(out->threads, out->n_threads, sizeof *out->threads, earlier_thread);
    return true;
}

static bool is_recorded(const hu_ask *ask)
{
    for (size_t i = 0; i < ask->s.n; i++)
        if (hu_kind_in(ask->s.kind[i], HU_BIT(OS_CALL) | HU_BIT(MPI) | HU_BIT(CPU_WAIT)))
            return true;
    return false;
}

int hu_host_time_measure(const hu_ask *ask, hu_host_time *out, hu_error *err)
{
    hu_host_time result = {.process = HU_STR(""), .thread = HU_STR(""), .pid = -1, .tid = -1};
    work         w = {.ask = ask};
    uint32_t     track;

    *out = result;
    if (!is_recorded(ask))
        return 0;
    w.inner = hu_host_calls_find_inner(ask, ask->scratch);
    if (!w.inner || !map_notes(&w))
        return hu_fail_memory(err);
    track = hu_main_thread_find(ask->trace, ask->names, ask->steps ? ask->steps->what : HU_STR(""), ask->scratch);
    if (track == HU_NONE || ask->tracks[track].count == 0)
        return 0;
    result.is_recorded = true;
    if (!measure_main(&w, track, &result) || !measure_processes(&w, &result) || !measure_threads(&w, track, &result))
        return hu_fail_memory(err);
    *out = result;
    return 0;
}

const char *hu_host_state_key(unsigned state)
{
    return state < HU_HOST_CLASS_COUNT ? hu_host_class_key(state)
           : state == HU_STATE_COMM    ? "communication"
           : state == HU_STATE_STARVED ? "cpu_wait"
                                       : "running";
}

const char *hu_host_state_words(unsigned state)
{
    return state < HU_HOST_CLASS_COUNT ? hu_host_class_words(state)
           : state == HU_STATE_COMM    ? "communicates"
           : state == HU_STATE_STARVED ? "is runnable and waits for a CPU"
                                       : "runs";
}

hu_host_state hu_host_time_longest(const double state_ns[HU_STATE_COUNT])
{
    hu_host_state best = HU_STATE_RUNS;

    for (hu_host_state s = 0; s < HU_STATE_RUNS; s++)
        if (state_ns[s] > (best == HU_STATE_RUNS ? 0 : state_ns[best]))
            best = s;
    return best;
}

int64_t hu_host_process_own_ns(const hu_host_process *p)
{
    return p->wall_ns - p->state_ns[HU_HOST_CHILD] - p->state_ns[HU_HOST_PIPE] - p->state_ns[HU_HOST_WAIT] -
           p->state_ns[HU_HOST_POLL];
}

const hu_host_process *hu_host_time_child(const hu_host_time *t)
{
    const hu_host_process *best = NULL;

    if (!(t->state_ns[HU_HOST_CHILD] >= LEAST_CHILD * t->step_ns) || t->step_ns <= 0)
        return NULL;
    for (size_t i = 0; i < t->n; i++)
        if (!t->at[i].is_main && (!best || hu_host_process_own_ns(&t->at[i]) > hu_host_process_own_ns(best)))
            best = &t->at[i];
    return best;
}
