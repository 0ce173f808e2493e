/* SPDX-License-Identifier: Apache-2.0
 * supervise.c - a round every 20 ms, sooner where rings fill up, or as soon as a signal comes.
 *
 * Signals of the terminal reach the command by themselves, as does what is sent to the whole group or job step; what is
 * sent to this process alone is passed on.  SIGUSR1 and SIGUSR2 also save what there is, and are passed on only to a
 * command that handles them: others would die of a wish to save.
 */
#include "record/supervise.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "record/clocks.h"
#include "record/descendants.h"
#include "record/proc.h"
#include "record/witness.h"

enum {
    MILLISECOND_NS = 1000000,
    ROUND_NS = 20 * MILLISECOND_NS,
    SECOND_NS = 1000000000,
    SAVE_AFTER_NS = 1000000000, /* of a signal that asks to end: the machine may be gone after two seconds */
    PATIENCE_NS = 2000000000,   /* behind a second Ctrl-C */
    TWICE_NS = 200000000,       /* two signals that are closer are one */
};

typedef struct {
    const hu_supervise_options *o;
    hu_control                 *control;
    pid_t                       child;
    hu_supervision             *out;
    hu_witness                  witness;
    int                         clocks; /* descriptor of the file of snapshots */
    int64_t                     began, next_snapshot, starts_at, stops_at, ends_since, interrupted, gives_up_at;
    unsigned                    interrupts;
    pid_t                       saver;     /* a process that saves; 0: none */
    bool                        has_begun; /* the command runs: what begins now does not begin with it */
    bool                        has_saved_end, is_child_gone, is_alone;
    hu_descendants              descendants;
} supervisor;

static const int watched[] = {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT, SIGXCPU};

static int64_t now_ns(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * SECOND_NS + now.tv_nsec;
}

static void watched_set(sigset_t *set)
{
    sigemptyset(set);
    for (size_t i = 0; i < sizeof watched / sizeof *watched; i++)
        sigaddset(set, watched[i]);
}

void hu_supervise_prepare(hu_launch_signals *signals, const struct sigaction *pipe, bool waits_for_all)
{
    struct sigaction plain = {.sa_handler = SIG_DFL}, none = {.sa_handler = SIG_IGN};
    sigset_t         set;

    hu_descendants_prepare();
    watched_set(&set);
    sigprocmask(SIG_BLOCK, &set, &signals->mask);
    sigaction(SIGCHLD, &plain, &signals->child); /* ignored, it would lose the command's exit status */
    sigaction(SIGXFSZ, &none, &signals->size);   /* under `ulimit -f`, a file of ours that grows too large is an error */
    signals->pipe = *pipe;
    if (waits_for_all)
        prctl(PR_SET_CHILD_SUBREAPER, 1);
}

static void start(supervisor *s)
{
    if (s->control->state != HU_SESSION_RECORDING) {
        hu_perf_round(s->o->perf, false);
        hu_session_record(s->control, true);
    }
    s->control->began_ns = s->control->began_ns ? s->control->began_ns : s->has_begun ? now_ns(CLOCK_MONOTONIC) : 1;
    s->control->stopped_ns = 0;
    s->starts_at = 0;
    s->out->first_ns = s->out->first_ns ? s->out->first_ns : now_ns(CLOCK_REALTIME);
    if (s->o->duration_ns && !s->stops_at)
        s->stops_at = now_ns(CLOCK_MONOTONIC) + s->o->duration_ns;
}

static void stop(supervisor *s)
{
    s->starts_at = 0;
    if (s->control->state != HU_SESSION_RECORDING)
        return;
    hu_perf_round(s->o->perf, true); /* what comes later is not of the recording */
    hu_session_record(s->control, false);
    s->control->stopped_ns = now_ns(CLOCK_MONOTONIC);
    s->out->last_ns = now_ns(CLOCK_REALTIME);
}

/* processes */

/* Has this process a handler for the signal? */
static bool handles(pid_t pid, int signal)
{
    return hu_proc_signals(pid, "SigCgt:") >> (signal - 1) & 1;
}

static void save(supervisor *s)
{
    if (!s->o->save || s->saver > 0)
        return;
    s->saver = fork();
    if (s->saver == 0) {
        s->o->save(s->o->context);
        _exit(0);
    }
    if (s->saver < 0)
        s->saver = 0;
}

static void child_ended(supervisor *s, int status)
{
    s->is_child_gone = true;
    s->out->has_ended = true;
    s->out->status = status;
    hu_witness_end(&s->witness); /* nothing is passed on any more, and no child of our own hides that none is left */
    hu_descendants_end_orphans(&s->descendants, (const pid_t[HU_DESCENDANTS_OWN]){s->saver});
}

/* The command has ended and was not waited for yet: the kernel still has the sums of its main thread. */
static void read_main_thread(supervisor *s)
{
    char      path[64];
    long long run_ns, delay_ns;
    FILE     *f;

    snprintf(path, sizeof path, "/proc/%d/task/%d/schedstat", (int)s->child, (int)s->child);
    f = fopen(path, "re");
    if (!f)
        return;
    if (fscanf(f, "%lld %lld", &run_ns, &delay_ns) == 2 && run_ns > 0 && delay_ns >= 0) {
        s->out->main_run_ns = run_ns;
        s->out->main_delay_ns = delay_ns;
    }
    fclose(f);
}

/* The kernel says whether anybody is left: what a process leaves behind is ours before we can know of its end. */
static void reap(supervisor *s)
{
    siginfo_t ended = {0};
    int       status;
    pid_t     pid;

    if (!s->is_child_gone && waitid(P_PID, (id_t)s->child, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
        ended.si_pid == s->child) {
        read_main_thread(s);
        if (s->o->perf)
            hu_perf_ended(s->o->perf, s->child);
        hu_outsiders_ended(s->o->outsiders);
    }
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid == s->child)
            child_ended(s, status);
        else if (pid == s->saver)
            s->saver = 0;
        else if (pid == s->witness.pid)
            s->witness.pid = 0; /* somebody killed it: from now on all is passed on */
    }
    s->is_alone = pid < 0 && errno == ECHILD;
}

/* signals */

static void end_asked(supervisor *s, int signal, int64_t now)
{
    s->out->signal = signal;
    if (!s->ends_since)
        s->ends_since = now;
    if (signal != SIGINT || (s->interrupted && now - s->interrupted < TWICE_NS))
        return;
    s->interrupted = now;
    if (++s->interrupts == 2)
        s->gives_up_at = now + PATIENCE_NS;
}

static void pass_on(supervisor *s, const siginfo_t *info)
{
    const int  signal = info->si_signo;
    const bool is_for_command = info->si_code == SI_USER || info->si_code == SI_QUEUE || info->si_code == SI_TKILL;

    if (!is_for_command || s->is_child_gone || hu_witness_saw(&s->witness, signal))
        return;
    if ((signal == SIGUSR1 || signal == SIGUSR2) && !handles(s->child, signal))
        return;
    kill(s->child, signal);
}

/* So that the shell sees its job stop; by the signal itself, since in a group that no shell watches it does nothing. */
static void stop_with_command(void)
{
    sigset_t stop;

    sigemptyset(&stop);
    sigaddset(&stop, SIGTSTP);
    raise(SIGTSTP);
    sigprocmask(SIG_UNBLOCK, &stop, NULL);
    sigprocmask(SIG_BLOCK, &stop, NULL);
}

static void take_signal(supervisor *s, const siginfo_t *info)
{
    const int64_t now = now_ns(CLOCK_MONOTONIC);

    switch (info->si_signo) {
    case SIGCHLD:
        return;
    case SIGINT:
    case SIGTERM:
    case SIGHUP:
    case SIGQUIT:
    case SIGXCPU: /* batch systems warn by it */
        end_asked(s, info->si_signo, now);
        break;
    case SIGUSR1:
    case SIGUSR2:
        save(s);
        break;
    }
    pass_on(s, info);
    if (info->si_signo == SIGTSTP)
        stop_with_command();
}

/* rounds */

static void snapshot(supervisor *s, int64_t now)
{
    const hu_clock_snapshot shot = hu_clocks_snapshot((hu_clock)s->control->clock);

    s->next_snapshot = now + SECOND_NS;
    if (s->clocks >= 0 && write(s->clocks, &shot, sizeof shot) != (ssize_t)sizeof shot)
        s->next_snapshot = now + SECOND_NS / 10; /* a full disk may have room again */
}

static void obey(supervisor *s)
{
    const uint32_t request = __atomic_load_n(&s->control->request, __ATOMIC_ACQUIRE);

    if (request == s->control->answered)
        return;
    if (s->control->command == 1)
        start(s);
    else
        stop(s);
    if (s->control->command == 3)
        s->out->was_cancelled = true;
    __atomic_store_n(&s->control->answered, request, __ATOMIC_RELEASE);
}

static void end_all(supervisor *s, int signal)
{
    const pid_t own[HU_DESCENDANTS_OWN] = {s->witness.pid, s->saver};

    hu_descendants_end(&s->descendants, s->is_child_gone ? 0 : s->child, own, signal);
}

static void keep_time(supervisor *s, int64_t now)
{
    if (s->starts_at && now >= s->starts_at)
        start(s);
    if (s->stops_at && now >= s->stops_at && s->control->state == HU_SESSION_RECORDING) {
        stop(s);
        s->stops_at = INT64_MAX;
        if (s->o->kill != HU_KILL_NONE)
            end_all(s, s->o->kill == HU_KILL_SIGKILL ? SIGKILL : SIGTERM);
    }
    if (s->ends_since && !s->has_saved_end && now - s->ends_since >= SAVE_AFTER_NS) {
        s->has_saved_end = true;
        save(s);
    }
}

/* Of two waits in ms; 0: none was asked for. */
static int sooner(int a, int b)
{
    return a > 0 && a < b ? a : b;
}

/* Returns how long the next one may wait. */
static struct timespec round_once(supervisor *s)
{
    const int64_t now = now_ns(CLOCK_MONOTONIC);
    int           ms = 0, perf_ms = 0;

    obey(s);
    keep_time(s, now);
    if (now >= s->next_snapshot)
        snapshot(s, now);
    if (s->o->collector)
        ms = hu_collect_round(s->o->collector);
    hu_live_round(s->o->live, s->o->collector);
    if (s->o->perf)
        perf_ms = hu_perf_round(s->o->perf, s->control->state == HU_SESSION_RECORDING);
    ms = perf_ms ? sooner(ms, perf_ms) : ms;
    if (s->o->waits && s->control->state == HU_SESSION_RECORDING)
        ms = sooner(ms, hu_wait_samples_round(s->o->waits));
    hu_outsiders_round(s->o->outsiders);
    hu_energy_round(s->o->energy, now);
    __atomic_store_n(&s->control->heartbeat, hu_clocks_ticks((hu_clock)s->control->clock), __ATOMIC_RELAXED);
    return (struct timespec){0, ms > 0 && ms < ROUND_NS / MILLISECOND_NS ? ms * MILLISECOND_NS : ROUND_NS};
}

static bool is_over(const supervisor *s)
{
    if (s->gives_up_at && now_ns(CLOCK_MONOTONIC) >= s->gives_up_at)
        return true;
    return s->is_child_gone && (!s->o->waits_for_all || s->is_alone);
}

static int64_t cpu_ns(int who)
{
    struct rusage used;

    if (getrusage(who, &used) < 0)
        return 0;
    return ((int64_t)used.ru_utime.tv_sec + used.ru_stime.tv_sec) * SECOND_NS +
           ((int64_t)used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1000;
}

void hu_supervise(const hu_supervise_options *options, pid_t child, hu_supervision *out)
{
    supervisor    s = {.o = options, .control = options->session->control, .child = child, .out = out};
    const int64_t own_cpu = cpu_ns(RUSAGE_SELF);
    char          path[HU_SESSION_PATH_MAX + 64];
    sigset_t      set;

    memset(out, 0, sizeof *out);
    watched_set(&set);
    hu_session_file(options->session, "clocks", path, sizeof path);
    s.clocks = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    s.began = now_ns(CLOCK_MONOTONIC);
    if (options->delay_ns)
        s.starts_at = s.began + options->delay_ns;
    else if (s.control->state == HU_SESSION_RECORDING)
        start(&s); /* so it began with the command */
    s.has_begun = true;
    hu_witness_start(&s.witness);
    while (!is_over(&s)) {
        const struct timespec until = round_once(&s);
        siginfo_t             info;

        if (sigtimedwait(&set, &info, &until) > 0)
            take_signal(&s, &info);
        reap(&s);
    }
    stop(&s);
    round_once(&s);
    snapshot(&s, 0);
    if (s.clocks >= 0)
        close(s.clocks);
    while (s.saver > 0 && waitpid(s.saver, NULL, 0) < 0 && errno == EINTR)
        ;
    hu_witness_end(&s.witness);
    out->wall_ns = now_ns(CLOCK_MONOTONIC) - s.began;
    out->own_cpu_ns = cpu_ns(RUSAGE_SELF) - own_cpu;
    out->job_cpu_ns = cpu_ns(RUSAGE_CHILDREN);
}

int hu_supervise_exit_status(const hu_supervision *result)
{
    if (!result->has_ended)
        return 128 + SIGINT;
    return WIFSIGNALED(result->status) ? 128 + WTERMSIG(result->status) : WEXITSTATUS(result->status);
}
