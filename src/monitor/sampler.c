/* SPDX-License-Identifier: Apache-2.0
 * sampler.c - the loop of a child: each source in its groups, at fixed times, so that a slow look does not move the next.
 *
 * At the first turn all groups are due; times count from its end, since a driver may take seconds to begin, and what is told
 * by two looks needs a period between them.  A source that is not there is opened again once a minute, one whose look failed
 * soon, and then less and less often.
 */
#include "monitor/sampler.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/close_fds.h"

enum { PIPE_BYTES = 1 << 20, SECOND_NS = 1000000000, MOST_BACKOFF = 60 };

typedef struct {
    const hu_source *source;
    uint16_t         number;
    void            *state;
    bool             is_open;
    int64_t          next_open_ns;
    int              backoff; /* fast periods until the next try */
    hu_readings      why;     /* what open() said when it found nothing */
} entry;

typedef struct {
    const hu_source_options *options;
    entry                    at[HU_SOURCES_MOST];
    size_t                   n;
    hu_readings              readings;
    hu_sampler_board        *board;
    int                      to;
} sampler;

const char *hu_sampler_name(hu_sampler which)
{
    static const char *const names[HU_SAMPLERS] = {"gpu", "host", "jobs", "live"};

    return names[which];
}

static int64_t clock_ns(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void sleep_until(int64_t ns)
{
    const struct timespec until = {.tv_sec = ns / SECOND_NS, .tv_nsec = ns % SECOND_NS};

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
        continue;
}

/* All of it, or the process ends: nobody reads any more. */
static void put_all(int to, struct iovec *v, int n)
{
    while (n > 0) {
        ssize_t done = writev(to, v, n);

        if (done < 0 && errno != EINTR)
            _exit(0);
        for (; n > 0 && done >= (ssize_t)v->iov_len; v++, n--)
            done -= (ssize_t)v->iov_len;
        if (n > 0 && done > 0) {
            v->iov_base = (char *)v->iov_base + done;
            v->iov_len -= (size_t)done;
        }
    }
}

static void send_readings(sampler *s, const entry *e, hu_readings *r, hu_sample_group group)
{
    struct iovec v[2] = {{&r->head, sizeof r->head}, {r->rows, r->head.bytes}};

    r->head.magic = HU_READINGS_MAGIC;
    r->head.source = e->number;
    r->head.group = (uint16_t)group;
    r->head.is_open = e->is_open;
    r->head.cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    put_all(s->to, v, r->head.bytes ? 2 : 1);
}

static void try_open(sampler *s, entry *e, int64_t now_ns)
{
    if (now_ns < e->next_open_ns)
        return;
    hu_readings_clear(&e->why);
    e->is_open = hu_source_is_asked(e->source, s->options) && e->source->open(s->options, &e->state, &e->why);
    if (!e->is_open)
        e->next_open_ns = now_ns + MOST_BACKOFF * s->options->period_ns;
}

static void give_up(sampler *s, entry *e, int64_t now_ns)
{
    e->source->close(e->state);
    e->state = NULL;
    e->is_open = false;
    e->backoff = e->backoff ? e->backoff * 2 : 1;
    if (e->backoff > MOST_BACKOFF)
        e->backoff = MOST_BACKOFF;
    e->next_open_ns = now_ns + e->backoff * s->options->period_ns;
}

/* One look; the keeper sees who is asked meanwhile. */
static void ask(sampler *s, entry *e, hu_sample_group group)
{
    const int64_t before_ns = clock_ns(CLOCK_MONOTONIC);
    const int64_t at_ns = clock_ns(CLOCK_REALTIME);
    hu_readings  *r = &s->readings;

    if (!e->is_open)
        try_open(s, e, before_ns);
    if (!e->is_open) {
        r = &e->why;
    } else {
        hu_readings_clear(r);
        if (!e->source->sample(e->state, group, r))
            give_up(s, e, before_ns);
        else if (group == HU_SAMPLE_FAST)
            e->backoff = 0;
    }
    r->head.at_ns = at_ns;
    r->head.duration_ns = clock_ns(CLOCK_MONOTONIC) - before_ns;
    if (e->is_open || group == HU_SAMPLE_FAST)
        send_readings(s, e, r, group);
}

static void look(sampler *s, entry *e, hu_sample_group group)
{
    if (atomic_load(&s->board->is_shunned[e->number]))
        return;
    atomic_store(&s->board->asked, (int16_t)e->number);
    ask(s, e, group);
    atomic_store(&s->board->asked, HU_ASKS_NONE);
}

_Noreturn static void run(hu_sampler which, const hu_source_options *options, hu_sampler_board *board, int to)
{
    static sampler s;
    const int64_t  period[HU_SAMPLE_GROUPS] = {hu_source_period_ns(options, HU_SAMPLE_FAST),
                                               hu_source_period_ns(options, HU_SAMPLE_MEDIUM),
                                               hu_source_period_ns(options, HU_SAMPLE_SLOW)};
    int64_t        due[HU_SAMPLE_GROUPS] = {0};
    bool           is_first = true;

    s.options = options;
    s.board = board;
    s.to = to;
    for (uint16_t i = 0; hu_sources[i] && i < HU_SOURCES_MOST; i++)
        if (hu_sources[i]->sampler == which)
            s.at[s.n++] = (entry){.source = hu_sources[i], .number = i};
    for (;; is_first = false) {
        const int64_t now = clock_ns(CLOCK_MONOTONIC);

        for (int g = HU_SAMPLE_GROUPS - 1; g >= 0; g--) { /* the fast one last: who has it has the others of this turn */
            if (now < due[g])
                continue;
            for (size_t i = 0; i < s.n; i++)
                look(&s, &s.at[i], (hu_sample_group)g);
            due[g] += period[g] * ((now - due[g]) / period[g] + 1); /* looks that were missed are not made up for */
        }
        for (int g = 0; is_first && g < HU_SAMPLE_GROUPS; g++)
            due[g] = clock_ns(CLOCK_MONOTONIC) + period[g];
        sleep_until(due[HU_SAMPLE_FAST]);
    }
}

/* Only what it writes to stays open: the parent's sockets must not live on in a child that cannot be killed. */
static void keep_only(int to)
{
    hu_close_fds(STDERR_FILENO + 1, to);
}

bool hu_sampler_start(hu_sampler which, const hu_source_options *options, hu_sampler_board *board, hu_sampler_child *out)
{
    const pid_t parent = getpid();
    bool        has_any = false;
    char        name[16]; /* of the kernel */
    sigset_t    none;
    int         ends[2];

    *out = (hu_sampler_child){.from = -1};
    for (size_t i = 0; hu_sources[i]; i++)
        has_any |= hu_sources[i]->sampler == which;
    errno = 0;
    if (!has_any || pipe2(ends, O_CLOEXEC) < 0)
        return false;
    fcntl(ends[0], F_SETPIPE_SZ, PIPE_BYTES);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    atomic_store(&board->asked, HU_ASKS_NONE);
    out->pid = fork();
    if (out->pid == 0) {
        sigemptyset(&none);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        snprintf(name, sizeof name, "holdup-%s", hu_sampler_name(which));
        prctl(PR_SET_NAME, name);
        if (getppid() != parent)
            _exit(0);
        signal(SIGINT, SIG_IGN); /* of a terminal: the parent ends us */
        signal(SIGHUP, SIG_IGN); /* of a terminal, or meant for the parent */
        signal(SIGTERM, SIG_DFL);
        signal(SIGPIPE, SIG_IGN);
        sigprocmask(SIG_SETMASK, &none, NULL);
        keep_only(ends[1]);
        run(which, options, board, ends[1]);
    }
    close(ends[1]);
    if (out->pid < 0) {
        close(ends[0]);
        *out = (hu_sampler_child){.from = -1};
        return false;
    }
    out->from = ends[0];
    return true;
}
