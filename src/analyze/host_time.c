/* SPDX-License-Identifier: Apache-2.0
 * host_time.c - exclusive shares of a thread's time, in the words of its user.
 *
 * thread_states.h tells in which state of the scheduler and in which recorded call each nanosecond is; here each pair
 * becomes one state:
 *
 *     communication        all time in it: libraries wait in it by asking again and again, and who only asks loses
 *                          nothing when another one has the processor
 *     waits for its team   the same, at barriers of OpenMP
 *     waits for a CPU      runnable, else
 *     a class of calls     waiting in such a call; for files also running in it, because to copy from a file is to read it
 *     waits, not recorded  waiting in no recorded call
 *     runs                 what is left; where no scheduler was asked, waits that nobody recorded are in it too
 */
#include "analyze/host_time.h"

#include <math.h>
#include <stdlib.h>

#include "analyze/main_thread.h"
#include "base/map.h"

static const double IDLE_SHARE = 0.1;  /* of a CPU, below which threads do not compute */
static const double LEAST_CHILD = 0.5; /* of its time, that a process waits for others, to look at those */
static const double LEAST_TOLD = 0.1;  /* the same, where it says that it waits for its children */

typedef struct {
    const hu_ask    *ask;
    hu_thread_asker  asker;
    uint32_t         known_track; /* the last one that was asked about one stretch of time, which is known_life */
    hu_interval      known_life;
    hu_thread_states known;
} work;

static bool is_thread(const hu_track *t)
{
    return !t->pid_is_text && !t->tid_is_text;
}

/* Is a call of this class what it says, also while the thread runs in it? */
static bool is_work(size_t class)
{
    return class == HU_HOST_FILE_READ || class == HU_HOST_FILE_WRITE || class == HU_HOST_FILE_META ||
           class == HU_HOST_FSYNC || class == HU_HOST_OTHER;
}

static hu_host_state state_of(hu_sched_state task, hu_within in, bool has_states)
{
    if (in == HU_WITHIN_COMM)
        return HU_STATE_COMM;
    if (in == HU_WITHIN_TEAM)
        return HU_STATE_TEAM;
    if (task == HU_THREAD_RUNNABLE)
        return HU_STATE_STARVED;
    if (in != HU_WITHIN_CODE)
        return task == HU_THREAD_RUNNING && !is_work(in) ? HU_STATE_RUNS : (hu_host_state)in;
    return task == HU_THREAD_WAITING                 ? HU_STATE_BLOCKED
           : task == HU_THREAD_UNKNOWN && has_states ? HU_STATE_UNKNOWN
                                                     : HU_STATE_RUNS;
}

static void fold(const work *w, uint32_t track, const hu_thread_states *from, int64_t out_ns[HU_STATE_COUNT])
{
    memset(out_ns, 0, HU_STATE_COUNT * sizeof *out_ns);
    for (hu_sched_state t = 0; t < HU_THREAD_STATE_COUNT; t++)
        for (hu_within in = 0; in < HU_WITHIN_COUNT; in++)
            out_ns[state_of(t, in, hu_thread_has_states(&w->asker, track))] += from->ns[t][in];
}

/* The main thread's whole life is asked for again with its process. */
static bool measure_states(work *w, uint32_t track, const hu_intervals *windows, hu_thread_states *out)
{
    const hu_interval whole = windows->n == 1 ? windows->at[0] : (hu_interval){0, 0};

    if (windows->n == 1 && track == w->known_track && whole.start_ns == w->known_life.start_ns &&
        whole.end_ns == w->known_life.end_ns) {
        *out = w->known;
        return true;
    }
    if (!hu_thread_states_measure(&w->asker, track, windows, out))
        return false;
    if (windows->n == 1) {
        w->known_track = track;
        w->known_life = whole;
        w->known = *out;
    }
    return true;
}

static bool share_out(work *w, uint32_t track, const hu_intervals *windows, int64_t out_ns[HU_STATE_COUNT])
{
    hu_thread_states s;

    if (!measure_states(w, track, windows, &s))
        return false;
    fold(w, track, &s, out_ns);
    return true;
}

static bool measure_main(work *w, uint32_t track, hu_host_time *out)
{
    const hu_ask     *ask = w->ask;
    const hu_track   *t = &ask->tracks[track];
    const bool        is_whole = !ask->counted || ask->steps->source == HU_STEPS_NONE;
    const hu_interval lived = hu_thread_life(ask->trace, track);
    int64_t           state_ns[HU_STATE_COUNT], idle_ns[HU_STATE_COUNT];
    hu_intervals      life = {0}, idle;
    hu_thread_states  all, while_idle;
    double            n = 1;

    if (!hu_intervals_add(ask->scratch, &life, lived.start_ns, lived.end_ns))
        return false;
    life = is_whole ? life : *ask->counted;
    if (!hu_intervals_subtract(ask->scratch, &life, &ask->busy, &idle) || !measure_states(w, track, &life, &all) ||
        !measure_states(w, track, &idle, &while_idle))
        return false;
    fold(w, track, &all, state_ns);
    fold(w, track, &while_idle, idle_ns);
    if (!is_whole)
        n = ask->steps->n_counted ? (double)ask->steps->n_counted : 1;
    for (size_t s = 0; s < HU_STATE_COUNT; s++) {
        out->state_ns[s] = (double)state_ns[s] / n;
        out->idle_ns[s] = (double)idle_ns[s] / n;
        out->step_ns += out->state_ns[s];
    }
    for (hu_sched_state s = 0; s < HU_THREAD_STATE_COUNT; s++)
        out->task_ns[s] = (double)hu_thread_states_sum(&all, s) / n;
    out->pid = is_thread(t) ? t->pid : -1;
    out->tid = is_thread(t) ? t->tid : -1;
    out->process = hu_trace_text(ask->trace, t->process);
    out->thread = hu_trace_text(ask->trace, t->name);
    return true;
}

/* CPU time over all threads: of each process, of the main one, of the job. */
static void sum_cpu(const work *w, hu_host_time *out)
{
    const hu_ask *ask = w->ask;

    for (uint32_t t = 0; t < ask->n_tracks; t++) {
        const hu_track *track = &ask->tracks[t];
        const int64_t   cpu_ns = hu_thread_cpu_ns(&w->asker, t);

        if (track->type != HU_TRACK_HOST || cpu_ns < 0)
            continue;
        out->job_cpu_ns = (isnan(out->job_cpu_ns) ? 0 : out->job_cpu_ns) + (double)cpu_ns;
        if (is_thread(track) && track->pid == out->pid) {
            out->cpu_ns = (isnan(out->cpu_ns) ? 0 : out->cpu_ns) + (double)cpu_ns;
            out->all_threads++;
        }
        for (size_t i = 0; i < out->n; i++)
            if (is_thread(track) && out->at[i].pid == track->pid)
                out->at[i].cpu_ns = (out->at[i].cpu_ns < 0 ? 0 : out->at[i].cpu_ns) + cpu_ns;
    }
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
                                       .cpu_ns = -1,
                                       .is_main = spans[i].pid == out->pid};
    if (n)
        qsort(out->at, n, sizeof *out->at, by_length);
    out->all_processes = (int64_t)n;
    for (size_t i = 0; i < n; i++)
        if (out->at[i].is_main)
            out->wall_ns = (double)out->at[i].wall_ns;
    out->n = n < HU_HOST_PROCESSES ? n : HU_HOST_PROCESSES;
    for (size_t i = 0; i < out->n; i++) {
        hu_intervals life = {0};
        size_t       of = 0;

        while (spans[of].pid != out->at[i].pid)
            of++;
        out->at[i].is_go = hu_go_program_is(ask, out->at[i].pid);
        if (!hu_intervals_add(ask->scratch, &life, spans[of].first_ns, spans[of].last_ns) ||
            !share_out(w, spans[of].main, &life, out->at[i].state_ns))
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
        hu_interval     life;
        uint32_t       *place;

        if (track->type != HU_TRACK_HOST || !is_thread(track) || track->pid != out->pid || t == main_track ||
            (!track->count && !track->n_stretches))
            continue;
        life = hu_thread_life(ask->trace, t);
        row.start_ns = life.start_ns;
        row.wall_ns = life.end_ns - life.start_ns;
        place = hu_map_put(&track_of, (uint64_t)track->tid);
        if (!place || !hu_vec_push(ask->arena, &list, row))
            return false;
        *place = t;
    }
    if (list.n)
        qsort(list.at, list.n, sizeof *list.at, longer_thread);
    out->threads = list.at;
    out->other_threads = (int64_t)list.n;
    out->n_threads = list.n < HU_HOST_THREADS ? list.n : HU_HOST_THREADS;
    for (size_t i = 0; i < out->n_threads; i++) {
        hu_host_thread *t = &out->threads[i];
        const uint32_t  track = hu_map_get(&track_of, (uint64_t)t->tid);
        hu_intervals    life = {0};

        t->cpu_ns = hu_thread_cpu_ns(&w->asker, track);
        if (!hu_intervals_add(ask->scratch, &life, t->start_ns, t->start_ns + t->wall_ns) ||
            !share_out(w, track, &life, t->state_ns))
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
    return hu_thread_has_lives(ask->trace);
}

int hu_host_time_measure(const hu_ask *ask, hu_host_time *out, hu_error *err)
{
    hu_host_time result = {.process = HU_STR(""),
                           .thread = HU_STR(""),
                           .pid = -1,
                           .tid = -1,
                           .cpu_ns = (double)NAN,
                           .job_cpu_ns = (double)NAN,
                           .go = {.caller = HU_STR(""), .call = HU_STR("")}};
    work         w = {.ask = ask, .known_track = HU_NONE};
    uint32_t     track;

    *out = result;
    if (!is_recorded(ask))
        return 0;
    if (!hu_thread_states_prepare(ask, &w.asker))
        return hu_fail_memory(err);
    track = ask->main_track;
    if (track == HU_NONE || (ask->tracks[track].count == 0 && ask->tracks[track].n_stretches == 0))
        return 0;
    result.is_recorded = true;
    result.source = w.asker.source;
    if (!measure_main(&w, track, &result) || !measure_processes(&w, &result) || !measure_threads(&w, track, &result) ||
        !hu_go_program_measure(&w.asker, result.pid, &result.go))
        return hu_fail_memory(err);
    sum_cpu(&w, &result);
    if (result.source == HU_STATES_SUMS && result.n == 1) /* of its main thread alone, but the kernel knows of them all */
        result.cpu_ns = result.job_cpu_ns = (double)hu_trace_get_info(ask->trace)->command_cpu_ns;
    *out = result;
    return 0;
}

const char *hu_host_state_words(unsigned state)
{
    return state < HU_HOST_CLASS_COUNT ? hu_host_class_words(state)
           : state == HU_STATE_COMM    ? "communicates"
           : state == HU_STATE_TEAM    ? "waits at barriers of OpenMP"
           : state == HU_STATE_STARVED ? "is runnable and waits for a CPU"
           : state == HU_STATE_BLOCKED ? "waits in calls that were not recorded"
           : state == HU_STATE_UNKNOWN ? "is in a state that was not recorded"
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
    const int64_t own_ns = p->wall_ns - p->state_ns[HU_HOST_CHILD] - p->state_ns[HU_HOST_PIPE] - p->state_ns[HU_HOST_WAIT] -
                           p->state_ns[HU_HOST_POLL] - p->state_ns[HU_STATE_BLOCKED] - p->state_ns[HU_STATE_STARVED];

    return p->cpu_ns > own_ns ? p->cpu_ns : own_ns; /* that of all its threads */
}

/* Do the other threads of the main thread's process hardly compute?  Then it is for no work of theirs that it waits. */
static bool is_idle_beside(const hu_host_time *t)
{
    const double own = t->step_ns > 0 ? t->task_ns[HU_THREAD_RUNNING] / t->step_ns : 0;

    return t->source != HU_STATES_NONE && t->wall_ns > 0 && t->cpu_ns / t->wall_ns - own < IDLE_SHARE;
}

const hu_host_process *hu_host_time_child(const hu_host_time *t)
{
    const hu_host_process *best = NULL;

    const hu_host_state most = hu_host_time_longest(t->state_ns);
    const bool          is_told = (unsigned)most == HU_HOST_CHILD;
    const bool is_open = most == HU_STATE_BLOCKED || (unsigned)most == HU_HOST_PIPE || (unsigned)most == HU_HOST_POLL ||
                         ((unsigned)most == HU_HOST_WAIT && (t->all_threads == 1 || is_idle_beside(t)));

    if (!(is_told || is_open) || !(t->state_ns[most] >= (is_told ? LEAST_TOLD : LEAST_CHILD) * t->step_ns) ||
        t->step_ns <= 0)
        return NULL;
    for (size_t i = 0; i < t->n; i++)
        if (!t->at[i].is_main && (!best || hu_host_process_own_ns(&t->at[i]) > hu_host_process_own_ns(best)))
            best = &t->at[i];
    /* what another wait is for is only told by who computes meanwhile, or would */
    if (!is_told && best && (double)(best->cpu_ns + best->state_ns[HU_STATE_STARVED]) < LEAST_CHILD * t->step_ns)
        return NULL;
    return best;
}
