/* SPDX-License-Identifier: Apache-2.0
 * say_host.c - the sentence of a verdict on a job whose calls of the system were recorded. */
#include "advise/say_host.h"

#include <math.h>
#include <stdarg.h>

#include "advise/go_words.h"
#include "advise/say.h"
#include "analyze/mpi_calls.h"

static const double LEAST_SHARE = 0.10;  /* below this a share is not what holds a job up */
static const double WORTH_NAMING = 0.5;  /* of a time, for one cause to be named alone */
static const double MOST_SAMPLED = 0.7;  /* of the CPU time, that samples stand for less by chance or by loss */
static const double SHORT_LIFE = 5;      /* periods of samples, that threads and processes run on average */
static const double WORTH_A_NAME = 0.10; /* of the samples, for a function to be named */

enum { FEWEST_SAMPLES = 10, NAMED = 3 }; /* 10 samples: a tenth of a second at the usual rate */

/* What each step is of a job whose main thread was recorded. */
static const char *life_words(const hu_digest *d)
{
    return d->steps.source == HU_STEPS_NONE ? "the run" : "each step";
}

/* What the main thread is in most: "waits for a signal" of a master process, else as the state says. */
static const char *state_words(const hu_digest *d, hu_host_state state)
{
    static const char *const calls[] = {"sigsuspend", "pause", "sigwait", "sigwaitinfo", "sigtimedwait"};
    const hu_host_place     *p = (unsigned)state == HU_HOST_WAIT ? hu_host_calls_place(&d->host_calls, 1u << HU_HOST_WAIT, 0)
                                                                 : NULL;

    for (size_t i = 0; p && i < HU_COUNT(calls); i++)
        if (hu_str_equal(p->call, hu_str_of(calls[i])))
            return "waits for a signal";
    return hu_host_state_words(state);
}

/* Are most of the other calls those that start and end MPI? */
static bool starts_mpi(const hu_digest *d)
{
    int64_t sum_ns = 0;

    for (size_t i = 0; i < d->host_calls.n; i++)
        if (hu_mpi_calls_is_frame(d->host_calls.at[i].name))
            sum_ns += d->host_calls.at[i].sum.main_ns;
    return (double)sum_ns >= WORTH_NAMING * d->host_time.state_ns[HU_HOST_OTHER] && sum_ns > 0;
}

/* "of /data/train.bin in load", for the thing that is waited for most; "" when that is not known. */
static void name_place(const hu_digest *d, hu_host_state state, char *out, size_t room)
{
    const hu_host_place *p = (unsigned)state < HU_HOST_CLASS_COUNT ? hu_host_calls_place(&d->host_calls, 1u << state, 0)
                                                                   : NULL;

    out[0] = '\0';
    if ((unsigned)state == HU_HOST_OTHER && starts_mpi(d)) {
        snprintf(out, room, ": MPI_Init and MPI_Finalize");
        return;
    }
    if (p && p->sum.main_ns)
        snprintf(out, room, ": %.*s%s%.*s%s%.*s%s", (int)(p->call.n < 40 ? p->call.n : 40), p->call.p,
                 p->path.n ? " of " : "", (int)(p->path.n < 80 ? p->path.n : 80), p->path.n ? p->path.p : "",
                 p->within.n ? " in " : "", (int)(p->within.n < 40 ? p->within.n : 40), p->within.n ? p->within.p : "",
                 hu_host_sum_is_outside(&p->sum) ? ", seen from outside" : "");
}

static const char *process_name(const hu_host_process *p, char *out, size_t room)
{
    if (p->name.n)
        snprintf(out, room, "%.*s", (int)(p->name.n < 40 ? p->name.n : 40), p->name.p);
    else
        snprintf(out, room, "process %lld", (long long)p->pid);
    return out;
}

__attribute__((format(printf, 3, 4))) static void append(char *out, size_t room, const char *format, ...)
{
    const size_t n = strlen(out);
    va_list      args;

    va_start(args, format);
    vsnprintf(out + n, room - n, format, args);
    va_end(args);
}

/* "1.9 of 2 CPUs", or without what there are. */
static const char *cpus_words(const hu_digest *d, double cpus, char *out, size_t room)
{
    char number[HU_NUMBER_BYTES];

    hu_format_fixed(number, cpus, fabs(cpus - round(cpus)) < 0.05 ? 0 : 1);
    if (d->info.cpus > 0)
        snprintf(out, room, "%s of %lld CPU%s", number, (long long)d->info.cpus, hu_plural(d->info.cpus));
    else
        snprintf(out, room, "%s CPU%s", number, strcmp(number, "1") == 0 ? "" : "s");
    return out;
}

/* Behind that, where it is not all: each thread is sampled after its first period, and one that ends before is not. */
static void say_unsampled(const hu_digest *d, char *out, size_t room)
{
    const hu_host_time *t = &d->host_time;
    const double        each = (double)d->hot.sample_ns, seen = each * (double)d->hot.samples;
    const double        lives = (double)(t->all_threads + t->all_processes);

    if (!(each > 0) || !(t->job_cpu_ns >= (double)FEWEST_SAMPLES * each) || seen >= MOST_SAMPLED * t->job_cpu_ns ||
        t->job_cpu_ns > SHORT_LIFE * each * lives)
        return;
    append(out, room, " Samples cover %s of the CPU time: threads that end within %s have none; record with --sample=999.",
           hu_say_pct(100 * seen / t->job_cpu_ns).t, hu_say_time(each).t);
}

/* Behind a sentence on who computes: in which functions, where that was sampled. */
static void say_hottest(const hu_digest *d, char *out, size_t room)
{
    const hu_hot *h = &d->hot;

    if (h->samples < FEWEST_SAMPLES || !h->n) {
        say_unsampled(d, out, room);
        return;
    }
    for (size_t i = 0; i < h->n && i < NAMED; i++) {
        const double share = (double)h->at[i].self / (double)h->samples;

        if (i && share < WORTH_A_NAME)
            break;
        append(out, room, "%s%.*s %s", i ? ", " : " Hottest: ", (int)(h->at[i].name.n < 60 ? h->at[i].name.n : 60),
               h->at[i].name.p, hu_say_pct(100 * share).t);
    }
    append(out, room, " of the CPU samples.");
    say_unsampled(d, out, room);
}

void hu_say_samples(const hu_digest *d, char *out, size_t room)
{
    if (d->hot.processes > 1)
        snprintf(out, room, "A recording of %lld processes by CPU samples alone:", (long long)d->hot.processes);
    else
        snprintf(out, room, "A recording of threads by CPU samples alone:");
    append(out, room, " nothing says which of them is the job, and what they wait for, so there is no price.");
    say_hottest(d, out, room);
}

/* What a child does: it computes, or the state that takes most. */
static void say_child(const hu_digest *d, const hu_host_process *child, char *out, size_t room)
{
    const double  wall = (double)child->wall_ns;
    double        state_ns[HU_STATE_COUNT];
    hu_host_state most;
    char          name[64], cpus[128];

    process_name(child, name, sizeof name);
    for (size_t k = 0; k < HU_STATE_COUNT; k++)
        state_ns[k] = (double)child->state_ns[k];
    state_ns[HU_HOST_CHILD] = state_ns[HU_HOST_PIPE] = state_ns[HU_HOST_WAIT] = state_ns[HU_HOST_POLL] = 0;
    most = hu_host_time_longest(state_ns);
    if ((double)child->cpu_ns >= WORTH_NAMING * wall && (double)child->cpu_ns >= state_ns[most]) {
        append(out, room, "%s: it computes for %s of CPU time in %s, on %s.", name, hu_say_time((double)child->cpu_ns).t,
               hu_say_time(wall).t, cpus_words(d, (double)child->cpu_ns / wall, cpus, sizeof cpus));
        say_hottest(d, out, room);
        return;
    }
    if (most != HU_STATE_RUNS && state_ns[most] < state_ns[HU_STATE_RUNS])
        most = HU_STATE_RUNS;
    append(out, room, "%s: for %s of its %s in the whole run it %s.", name,
           hu_say_pct(wall > 0 ? 100 * (double)child->state_ns[most] / wall : 0).t, hu_say_time(wall).t,
           child->is_go && most == HU_STATE_BLOCKED ? hu_go_wait_words : hu_host_state_words(most));
    if ((double)child->cpu_ns < LEAST_SHARE * wall && most != HU_STATE_STARVED)
        return;
    append(out, room, " It computes for %s.", hu_say_time((double)child->cpu_ns).t);
    say_hottest(d, out, room);
}

/* A parent that waits: which of its children works, and what it does. */
static void say_children(const hu_digest *d, const hu_host_process *child, char *out, size_t room)
{
    const hu_host_time *t = &d->host_time;
    const hu_host_state most = hu_host_time_longest(t->state_ns);
    char                name[64], parent[64];
    const hu_said_share s = hu_say_share(t->state_ns[most], t->step_ns);

    process_name(&t->at[0], parent, sizeof parent);
    if ((unsigned)most == HU_HOST_CHILD)
        snprintf(out, room, "%s waits for its child processes for %s of %s (%s). The child that %s is ", parent, s.pct,
                 life_words(d), s.of,
                 2 * child->state_ns[HU_HOST_SLEEP] > hu_host_process_own_ns(child) ? "takes longest by itself"
                                                                                    : "does most of the work");
    else
        snprintf(out, room, "%s %s for %s of %s (%s). The process that works meanwhile is ", parent,
                 (unsigned)most == HU_HOST_WAIT ? "waits for other processes" : hu_host_state_words(most), s.pct,
                 life_words(d), s.of);
    say_child(d, child, out, room);
    if (t->cpu_ns >= LEAST_SHARE * t->wall_ns)
        append(out, room, " %s itself computes for %s.", parent, hu_say_time(t->cpu_ns).t);
    if (t->all_processes > 2 && (double)child->cpu_ns < WORTH_NAMING * (t->job_cpu_ns - t->cpu_ns))
        append(out, room, " All %lld child processes together compute for %s.", (long long)t->all_processes - 1,
               hu_say_time(t->job_cpu_ns - t->cpu_ns).t);
    for (size_t i = 0; i < t->n; i++) {
        const hu_host_process *p = &t->at[i];
        const double           pipe = p->wall_ns ? (double)p->state_ns[HU_HOST_PIPE] / (double)p->wall_ns : 0;

        if (p->is_main || p == child || pipe < WORTH_NAMING)
            continue;
        append(out, room, " %s waits for the other end of a pipe for %s of its time.", process_name(p, name, sizeof name),
               hu_say_pct(100 * pipe).t);
        break;
    }
}

bool hu_say_is_waiting(const hu_digest *d)
{
    const hu_host_time *t = &d->host_time;
    const hu_host_state most = hu_host_time_longest(t->state_ns);

    return t->is_recorded && most != HU_STATE_RUNS && t->state_ns[most] >= LEAST_SHARE * t->step_ns;
}

/* Behind it, what those do that it waits for. */
static void say_threads(const hu_host_time *t, char *out, size_t room)
{
    double        state_ns[HU_STATE_COUNT] = {0}, all = 0;
    hu_host_state most;

    for (size_t i = 0; i < t->n_threads; i++) {
        all += (double)t->threads[i].wall_ns;
        for (size_t s = 0; s < HU_STATE_COUNT; s++)
            state_ns[s] += (double)t->threads[i].state_ns[s];
    }
    most = hu_host_time_longest(state_ns);
    if (!(all > 0))
        return;
    if (most == HU_STATE_RUNS || state_ns[most] < LEAST_SHARE * all)
        most = HU_STATE_RUNS;
    if (t->n_threads == 1)
        append(out, room, " That thread %s for %s of its time.", hu_host_state_words(most),
               hu_say_pct(100 * state_ns[most] / all).t);
    else if (t->other_threads > (int64_t)t->n_threads)
        append(out, room, " There are %lld such threads; on average each of the %zu longest %s for %s of its time.",
               (long long)t->other_threads, t->n_threads, hu_host_state_words(most),
               hu_say_pct(100 * state_ns[most] / all).t);
    else
        append(out, room, " There are %zu such threads; on average each %s for %s of its time.", t->n_threads,
               hu_host_state_words(most), hu_say_pct(100 * state_ns[most] / all).t);
}

/* Does the main thread wait while other threads of its process compute? */
static bool is_work_elsewhere(const hu_host_time *t, hu_host_state most)
{
    const double own = t->step_ns > 0 ? t->task_ns[HU_THREAD_RUNNING] / t->step_ns : 1;

    return (most == HU_STATE_BLOCKED || (unsigned)most == HU_HOST_WAIT || (unsigned)most == HU_HOST_LOCK) &&
           t->wall_ns > 0 && t->cpu_ns / t->wall_ns - own >= WORTH_NAMING;
}

static void say_process(const hu_digest *d, hu_host_state most, char *out, size_t room)
{
    const hu_host_time *t = &d->host_time;
    const hu_said_share s = hu_say_share(t->state_ns[most], t->step_ns);
    char                name[64], cpus[128];

    snprintf(out, room,
             "%s computes on %s: %s of CPU time in %s, in %lld threads. Its main thread %s for %s of %s (%s): other threads "
             "do the work.",
             t->at && t->n ? process_name(&t->at[0], name, sizeof name) : "The main process",
             cpus_words(d, t->cpu_ns / t->wall_ns, cpus, sizeof cpus), hu_say_time(t->cpu_ns).t, hu_say_time(t->wall_ns).t,
             (long long)t->all_threads, state_words(d, most), s.pct, life_words(d), s.of);
    say_hottest(d, out, room);
}

/* Behind a sentence on the main thread: how much its process computes. */
static void say_cpus(const hu_digest *d, char *out, size_t room)
{
    const hu_host_time *t = &d->host_time;
    char                cpus[128];

    append(out, room, " The process computes on %s: %s of CPU time in %s",
           cpus_words(d, t->cpu_ns / t->wall_ns, cpus, sizeof cpus), hu_say_time(t->cpu_ns).t, hu_say_time(t->wall_ns).t);
    if (t->all_threads > 1)
        append(out, room, ", in %lld threads", (long long)t->all_threads);
    append(out, room, ".");
}

static void say_running(const hu_digest *d, char *out, size_t room)
{
    const hu_host_time *t = &d->host_time;
    const hu_said_share s = hu_say_share(t->state_ns[HU_STATE_RUNS], t->step_ns);

    if (t->source != HU_STATES_NONE)
        snprintf(out, room, "The main thread computes for %s of %s (%s): its own code is the bottleneck, not waiting.",
                 s.pct, life_words(d), s.of);
    else
        snprintf(out, room, "The main thread runs, or waits in no recorded call, for %s of %s (%s).", s.pct, life_words(d),
                 s.of);
    if (t->source == HU_STATES_NONE && d->info.command_cpu_ns > 0)
        append(out, room, " The command took %s of CPU time.", hu_say_time((double)d->info.command_cpu_ns).t);
    if (t->cpu_ns > 0 && t->wall_ns > 0)
        say_cpus(d, out, room);
    say_hottest(d, out, room);
}

/* Behind a sentence on communication: what its bytes cannot take is waiting, and one rank does not see for whom. */
static void say_late_rank(const hu_digest *d, size_t n_ranks, char *out, size_t room)
{
    double waits_ns = 0, all_ns = 0;

    for (size_t i = 0; i < d->comm.n; i++) {
        const hu_collective *row = &d->comm.at[i];
        const double         most = (double)hu_mpi_calls_most_ns(row->kind, row->bytes) * (double)row->duration.n;

        all_ns += (double)row->duration.sum;
        waits_ns += row->on_host && (double)row->duration.sum > most ? (double)row->duration.sum - most : 0;
    }
    for (size_t i = 0; i < d->host_calls.n; i++) {
        const hu_host_call *call = &d->host_calls.at[i]; /* of messages that were posted before */
        double              most;

        if (!hu_str_equal(call->name, HU_STR("MPI_Wait")) || call->sum.bytes <= 0)
            continue;
        most = (double)hu_mpi_calls_most_ns(HU_COMM_EXCHANGE, call->sum.bytes / call->sum.calls) * (double)call->sum.calls;
        all_ns += (double)call->sum.total_ns;
        waits_ns += (double)call->sum.total_ns > most ? (double)call->sum.total_ns - most : 0;
    }
    if (!(waits_ns >= WORTH_NAMING * all_ns) || !(waits_ns > 0))
        return;
    append(out, room, " Its messages are too small for that: it waits for other ranks.%s",
           n_ranks == 1 ? " One rank cannot tell for which: pass the traces of all ranks." : "");
}

/* A program whose threads are not what it does: for how long none runs, and what those that run compute. */
static void say_go(const hu_digest *d, char *out, size_t room)
{
    const hu_host_time *t = &d->host_time;
    char                name[64], cpus[128];

    out[0] = '\0';
    if (!hu_go_is_waiting(d) && t->cpu_ns > 0 && t->wall_ns > 0)
        snprintf(out, room, "%s computes on %s: %s of CPU time in %s, in %lld thread%s.",
                 t->n ? process_name(&t->at[0], name, sizeof name) : "The main process",
                 cpus_words(d, t->cpu_ns / t->wall_ns, cpus, sizeof cpus), hu_say_time(t->cpu_ns).t,
                 hu_say_time(t->wall_ns).t, (long long)t->all_threads, hu_plural(t->all_threads));
    else if (!hu_go_is_waiting(d))
        snprintf(out, room, "This is a Go program, and when its threads ran was not recorded.");
    hu_go_say(d, out, room);
    if (hu_go_is_waiting(d) && t->cpu_ns >= LEAST_SHARE * t->wall_ns)
        say_cpus(d, out, room);
    say_hottest(d, out, room);
}

/* A job without a device whose calls were recorded: what its main thread waits for, or that it computes. */
hu_named hu_say_main_thread(const hu_digest *d, char *out, size_t room, size_t n_ranks)
{
    const hu_host_time    *t = &d->host_time;
    const hu_host_process *child = hu_host_time_child(t);
    hu_host_state          most = hu_host_time_longest(t->state_ns);
    char                   where[200];
    hu_said_share          s;
    hu_named               named = {0};

    if ((unsigned)most == HU_HOST_OTHER && starts_mpi(d) && t->state_ns[HU_STATE_COMM] >= LEAST_SHARE * t->step_ns)
        most = HU_STATE_COMM; /* all ranks start and end; what they do between is asked */

    if (!child && hu_go_is_program(d)) {
        say_go(d, out, room);
        return named;
    }
    if (!child && !hu_say_is_waiting(d)) {
        say_running(d, out, room);
        return (hu_named){hu_topic_of_state(HU_STATE_RUNS), t->state_ns[HU_STATE_RUNS] / t->step_ns};
    }
    if (!child && is_work_elsewhere(t, most)) {
        say_process(d, most, out, room);
        return named;
    }
    named = (hu_named){hu_topic_of_state(most), t->state_ns[most] / t->step_ns};
    if (child) {
        say_children(d, child, out, room);
        return named;
    }
    s = hu_say_share(t->state_ns[most], t->step_ns);
    name_place(d, most, where, sizeof where);
    snprintf(out, room, "The main thread %s for %s of %s (%s)%s.", state_words(d, most), s.pct, life_words(d), s.of, where);
    if ((unsigned)most == HU_HOST_WAIT && state_words(d, most) == hu_host_state_words(most))
        say_threads(t, out, room);
    if (most == HU_STATE_COMM)
        say_late_rank(d, n_ranks, out, room);
    if (t->cpu_ns >= LEAST_SHARE * t->wall_ns) {
        say_cpus(d, out, room);
        say_hottest(d, out, room);
    }
    return named;
}

/* What the main thread does while the device has nothing to do, where its calls were recorded. */
void hu_say_idle_host(const hu_digest *d, double idle_ns, char *out, size_t room)
{
    const hu_host_state most = hu_host_time_longest(d->host_time.idle_ns);
    const size_t        n = strlen(out);
    char                where[200];

    if (!d->host_time.is_recorded || most == HU_STATE_RUNS || most == HU_STATE_COMM ||
        d->host_time.idle_ns[most] < WORTH_NAMING * idle_ns)
        return;
    name_place(d, most, where, sizeof where);
    snprintf(out + n, room - n, " Meanwhile the main thread %s, for %s of that time%s.", hu_host_state_words(most),
             hu_say_pct(100 * fmin(1, d->host_time.idle_ns[most] / idle_ns)).t, where);
}
