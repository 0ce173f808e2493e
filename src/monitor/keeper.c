/* SPDX-License-Identifier: Apache-2.0
 * keeper.c - one slot for each source and group; a mutex between the thread that fills them and those that read. */
#include "monitor/keeper.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SECOND_NS = 1000000000, MILLISECOND_NS = 1000000, LEAST_GRACE_NS = 250 * MILLISECOND_NS, STUCK_PERIODS = 10 };
enum { LEAST_STUCK_NS = 2000000000, MOST_BACKOFF = 60, END_MS = 300, LEAST_SHUN = 5, PROBLEMS = 4, WORDS = 256 };

/* To begin may take long: a driver that nobody uses prepares each GPU first.  Killed in that, it would never get through. */
static const int64_t FIRST_WORD_NS = 60 * INT64_C(1000000000);

/* The last readings of a source's group. */
typedef struct {
    hu_readings r;
    int64_t     taken_ns; /* CLOCK_BOOTTIME; 0: never */
    unsigned    times;
} slot;

typedef struct {
    hu_sampler_child child;
    bool             is_wanted; /* there are sources of its kind */
    unsigned char   *buffer;    /* of what came and is not whole yet */
    size_t           n, room;
    int64_t          heard_ns, start_ns; /* of the last readings; when to start it (again) */
    int64_t          cpu_ns, cpu_before_ns;
    unsigned         restarts, backoff;
    bool             has_spoken;
    bool             is_stuck;  /* it was silent, and not heard since */
    bool             is_killed; /* and is not dead yet */
} sampler_state;

/* A source that did not come back: who asks it next, and when. */
typedef struct {
    int64_t  until_ns; /* 0: it may be asked */
    unsigned backoff;  /* seconds that the last time lasted */
} shunned;

/* Of a part of the monitor. */
typedef struct {
    const char *part; /* NULL: this one is free */
    char        what[WORDS], fix[WORDS];
} problem;

struct hu_keeper {
    const hu_source_options *options;
    pthread_mutex_t          lock;
    sampler_state            sampler[HU_SAMPLERS];
    slot                    *slots;   /* [source * HU_SAMPLE_GROUPS + group] */
    hu_held                 *held;    /* as many, and one */
    shunned                 *shunned; /* [source] */
    hu_sampler_board        *board;   /* [sampler] */
    void (*on_sample)(void *context, const hu_held *held);
    void       *on_sample_context;
    problem     problems[PROBLEMS];
    size_t      n_sources;
    uint64_t    version;
    double      started; /* Unix time */
    hu_readings own;
};

static int64_t clock_ns(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static int64_t now_ns(void)
{
    return clock_ns(CLOCK_BOOTTIME);
}

static int64_t unix_ns(void)
{
    return clock_ns(CLOCK_REALTIME);
}

/* ---- samplers ---------------------------------------------------------------------------------------------------- */

static void start(hu_keeper *k, hu_sampler which)
{
    sampler_state *s = &k->sampler[which];

    s->is_wanted = hu_sampler_start(which, k->options, &k->board[which], &s->child) || errno != 0;
    s->heard_ns = now_ns();
    s->has_spoken = false;
    s->n = 0;
}

static void give_back(hu_keeper *k)
{
    if (k->board)
        munmap(k->board, HU_SAMPLERS * sizeof *k->board);
    free(k->slots);
    free(k->held);
    free(k->shunned);
    free(k);
}

static hu_keeper *prepare(void)
{
    hu_keeper *k = calloc(1, sizeof *k);
    void      *board;

    if (!k)
        return NULL;
    k->n_sources = hu_sources_count();
    k->slots = calloc(k->n_sources * HU_SAMPLE_GROUPS, sizeof *k->slots);
    k->held = calloc(k->n_sources * HU_SAMPLE_GROUPS + 1, sizeof *k->held);
    k->shunned = calloc(k->n_sources, sizeof *k->shunned);
    board = mmap(NULL, HU_SAMPLERS * sizeof *k->board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    k->board = board == MAP_FAILED ? NULL : board;
    if (k->slots && k->held && k->shunned && k->board)
        return k;
    give_back(k);
    return NULL;
}

hu_keeper *hu_keeper_start(const hu_source_options *options, hu_error *err)
{
    hu_keeper *k = prepare();

    if (!k) {
        hu_fail_memory(err);
        return NULL;
    }
    k->started = (double)unix_ns() / 1e9;
    k->options = options;
    pthread_mutex_init(&k->lock, NULL);
    for (int i = 0; i < HU_SAMPLERS; i++)
        start(k, (hu_sampler)i);
    return k;
}

static void forget(hu_keeper *k, hu_sampler which)
{
    for (size_t i = 0; i < k->n_sources; i++)
        if (hu_sources[i]->sampler == which)
            for (int g = 0; g < HU_SAMPLE_GROUPS; g++)
                k->slots[i * HU_SAMPLE_GROUPS + (size_t)g].taken_ns = 0;
}

/* It is dead: its readings go, and another one comes later. */
static void bury(hu_keeper *k, hu_sampler which, int64_t now)
{
    sampler_state *s = &k->sampler[which];

    if (s->child.from >= 0)
        close(s->child.from);
    s->child = (hu_sampler_child){.from = -1};
    s->cpu_before_ns += s->cpu_ns;
    s->cpu_ns = 0;
    s->is_killed = false;
    s->restarts++;
    s->backoff = s->backoff ? s->backoff * 2 : 1;
    if (s->backoff > MOST_BACKOFF)
        s->backoff = MOST_BACKOFF;
    s->start_ns = now + s->backoff * INT64_C(1000000000);
    forget(k, which);
    k->version++;
}

/* It is not coming back: the source that it was asking is left alone for a while, longer each time. */
static void shun(hu_keeper *k, hu_sampler which, int64_t now)
{
    const int asked = k->board[which].asked;
    shunned  *who;

    if (asked < 0 || (size_t)asked >= k->n_sources || asked >= HU_SOURCES_MOST)
        return;
    who = &k->shunned[asked];
    who->backoff = who->backoff ? 2 * who->backoff : LEAST_SHUN;
    if (who->backoff > MOST_BACKOFF)
        who->backoff = MOST_BACKOFF;
    who->until_ns = now + who->backoff * INT64_C(1000000000);
    k->board[which].is_shunned[asked] = true;
}

static void forgive(hu_keeper *k, int64_t now)
{
    for (size_t i = 0; i < k->n_sources && i < HU_SOURCES_MOST; i++)
        if (k->shunned[i].until_ns && now >= k->shunned[i].until_ns) {
            k->shunned[i].until_ns = 0;
            k->board[hu_sources[i]->sampler].is_shunned[i] = false;
        }
}

static bool has_shunned(const hu_keeper *k, hu_sampler which)
{
    for (size_t i = 0; i < k->n_sources; i++)
        if (hu_sources[i]->sampler == which && k->shunned[i].backoff)
            return true;
    return false;
}

/* Has it nobody to ask?  Then its silence says nothing. */
static bool has_all_shunned(const hu_keeper *k, hu_sampler which)
{
    for (size_t i = 0; i < k->n_sources; i++)
        if (hu_sources[i]->sampler == which && k->shunned[i].until_ns == 0)
            return false;
    return true;
}

static void look_after(hu_keeper *k, hu_sampler which, int64_t now)
{
    sampler_state *s = &k->sampler[which];
    int64_t        patience = STUCK_PERIODS * k->options->period_ns;

    if (!s->is_wanted)
        return;
    if (s->child.pid <= 0) {
        if (now >= s->start_ns)
            start(k, which);
        return;
    }
    if (waitpid(s->child.pid, NULL, WNOHANG) == s->child.pid) {
        bury(k, which, now);
        return;
    }
    if (has_all_shunned(k, which))
        s->heard_ns = now;
    patience = patience < LEAST_STUCK_NS ? LEAST_STUCK_NS : patience;
    if (s->is_killed || now - s->heard_ns <= patience)
        return;
    if (!s->is_stuck) {
        s->is_stuck = true;
        forget(k, which);
        k->version++;
    }
    if (s->has_spoken || which != HU_SAMPLER_GPU || now - s->heard_ns > FIRST_WORD_NS) {
        shun(k, which, now);
        kill(s->child.pid, SIGKILL); /* one inside of a driver may not hear it */
        s->is_killed = true;
    }
}

/* ---- what they send ---------------------------------------------------------------------------------------------- */

static bool keep(hu_keeper *k, hu_sampler which, const hu_readings_head *head, const unsigned char *rows)
{
    slot          *at;
    unsigned char *room;

    if (head->magic != HU_READINGS_MAGIC || head->bytes > HU_READINGS_MOST || head->source >= k->n_sources ||
        head->group >= HU_SAMPLE_GROUPS || hu_sources[head->source]->sampler != which)
        return false;
    at = &k->slots[(size_t)head->source * HU_SAMPLE_GROUPS + head->group];
    if (head->bytes > at->r.room) {
        room = realloc(at->r.rows, head->bytes);
        if (!room)
            return false;
        at->r.rows = room;
        at->r.room = head->bytes;
    }
    at->r.head = *head;
    if (head->bytes)
        memcpy(at->r.rows, rows, head->bytes);
    at->taken_ns = now_ns();
    at->times++;
    k->shunned[head->source].backoff = 0;
    if (k->on_sample)
        k->on_sample(k->on_sample_context, &(hu_held){&at->r, hu_sources[head->source]->name});
    if (!head->is_open) /* what it measured while it was there */
        for (int g = 0; g < HU_SAMPLE_GROUPS; g++)
            if (g != head->group)
                k->slots[(size_t)head->source * HU_SAMPLE_GROUPS + (size_t)g].taken_ns = 0;
    return true;
}

/* Whole readings of the buffer.  False: what came is none of ours. */
static bool take_whole(hu_keeper *k, hu_sampler which)
{
    sampler_state   *s = &k->sampler[which];
    hu_readings_head head;
    size_t           at = 0;

    while (s->n - at >= sizeof head) {
        memcpy(&head, s->buffer + at, sizeof head);
        if (head.bytes > HU_READINGS_MOST)
            return false;
        if (s->n - at - sizeof head < head.bytes)
            break;
        if (!keep(k, which, &head, s->buffer + at + sizeof head))
            return false;
        at += sizeof head + head.bytes;
        s->heard_ns = now_ns();
        s->has_spoken = true;
        s->is_stuck = s->is_killed;
        s->cpu_ns = head.cpu_ns;
        s->backoff = 0;
        k->version++;
    }
    s->n -= at;
    memmove(s->buffer, s->buffer + at, s->n);
    return true;
}

static void take(hu_keeper *k, hu_sampler which)
{
    sampler_state *s = &k->sampler[which];
    ssize_t        n;

    for (;;) {
        if (s->room - s->n < 4096) {
            const size_t   room = s->room ? 2 * s->room : 65536;
            unsigned char *buffer = room > 2 * HU_READINGS_MOST + 65536 ? NULL : realloc(s->buffer, room);

            if (!buffer)
                break;
            s->buffer = buffer;
            s->room = room;
        }
        n = read(s->child.from, s->buffer + s->n, s->room - s->n);
        if (n <= 0)
            return;
        s->n += (size_t)n;
        if (!take_whole(k, which))
            break;
    }
    kill(s->child.pid, SIGKILL);
}

void hu_keeper_turn(hu_keeper *k, int ms, const sigset_t *mask)
{
    const struct timespec most = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * MILLISECOND_NS};
    struct pollfd         p[HU_SAMPLERS];
    int64_t               now;

    for (int i = 0; i < HU_SAMPLERS; i++)
        p[i] = (struct pollfd){.fd = k->sampler[i].child.from, .events = POLLIN};
    if (ppoll(p, HU_SAMPLERS, &most, mask) < 0)
        memset(p, 0, sizeof p); /* a signal: nothing was looked at */
    now = now_ns();
    pthread_mutex_lock(&k->lock);
    forgive(k, now);
    for (int i = 0; i < HU_SAMPLERS; i++) {
        if (p[i].revents & POLLIN)
            take(k, (hu_sampler)i);
        else if (p[i].revents && k->sampler[i].child.from >= 0) { /* its end is closed */
            close(k->sampler[i].child.from);
            k->sampler[i].child.from = -1;
        }
        look_after(k, (hu_sampler)i, now);
    }
    pthread_mutex_unlock(&k->lock);
}

void hu_keeper_stop(hu_keeper *k)
{
    int left = 0;

    if (!k)
        return;
    for (int i = 0; i < HU_SAMPLERS; i++)
        if (k->sampler[i].child.pid > 0)
            kill(k->sampler[i].child.pid, SIGKILL);
    for (int ms = 0; ms < END_MS; ms++) {
        left = 0;
        for (int i = 0; i < HU_SAMPLERS; i++) {
            if (k->sampler[i].child.pid > 0 && waitpid(k->sampler[i].child.pid, NULL, WNOHANG) != 0)
                k->sampler[i].child.pid = 0;
            left += k->sampler[i].child.pid > 0;
        }
        if (!left)
            break;
        nanosleep(&(struct timespec){.tv_nsec = MILLISECOND_NS}, NULL);
    }
    for (int i = 0; i < HU_SAMPLERS; i++) {
        if (k->sampler[i].child.from >= 0)
            close(k->sampler[i].child.from);
        free(k->sampler[i].buffer);
    }
    for (size_t i = 0; i < k->n_sources * HU_SAMPLE_GROUPS; i++)
        hu_readings_free(&k->slots[i].r);
    hu_readings_free(&k->own);
    pthread_mutex_destroy(&k->lock);
    give_back(k);
}

bool hu_keeper_has_looked(hu_keeper *k, unsigned times)
{
    bool all = true;

    pthread_mutex_lock(&k->lock);
    for (size_t i = 0; i < k->n_sources; i++) {
        const sampler_state *s = &k->sampler[hu_sources[i]->sampler];

        if (!s->is_killed && s->restarts == 0)
            all &= k->slots[i * HU_SAMPLE_GROUPS + HU_SAMPLE_FAST].times >= times;
    }
    pthread_mutex_unlock(&k->lock);
    return all;
}

/* ---- what holds -------------------------------------------------------------------------------------------------- */

static int64_t period_ns(const hu_keeper *k, int group)
{
    return hu_source_period_ns(k->options, (hu_sample_group)group);
}

static bool holds(const hu_keeper *k, const slot *s, int group, int64_t now)
{
    const int64_t period = period_ns(k, group);
    const int64_t grace = period > LEAST_GRACE_NS ? period : LEAST_GRACE_NS;

    return s->taken_ns != 0 && now - s->taken_ns <= period + grace;
}

static void put_source(hu_keeper *k, size_t i, int64_t now)
{
    const char *name = hu_sources[i]->name;
    const slot *s = &k->slots[i * HU_SAMPLE_GROUPS];
    const bool  up = holds(k, &s[HU_SAMPLE_FAST], HU_SAMPLE_FAST, now);

    if ((s[HU_SAMPLE_FAST].times == 0 && !k->shunned[i].backoff) || (up && !s[HU_SAMPLE_FAST].r.head.is_open))
        return; /* there is nothing of its kind here */
    hu_put(&k->own, HU_METRIC_SOURCE_UP, up, name);
    if (!up)
        return;
    hu_put(&k->own, HU_METRIC_SAMPLE_AGE, (double)(now - s[HU_SAMPLE_FAST].taken_ns) / 1e9, name);
    for (int g = 0; g < HU_SAMPLE_GROUPS; g++) {
        static const char *const groups[HU_SAMPLE_GROUPS] = {"fast", "medium", "slow"};

        if (holds(k, &s[g], g, now))
            hu_put(&k->own, HU_METRIC_SAMPLE_DURATION, (double)s[g].r.head.duration_ns / 1e9, name, groups[g]);
    }
}

void hu_keeper_listen(hu_keeper *k, void (*on_sample)(void *context, const hu_held *held), void *context)
{
    pthread_mutex_lock(&k->lock);
    k->on_sample = on_sample;
    k->on_sample_context = context;
    pthread_mutex_unlock(&k->lock);
}

void hu_keeper_problem(hu_keeper *k, const char *part, const char *what, const char *fix)
{
    problem *at = NULL;

    pthread_mutex_lock(&k->lock);
    for (int i = 0; i < PROBLEMS; i++)
        if (!k->problems[i].part ? !at : strcmp(k->problems[i].part, part) == 0)
            at = &k->problems[i];
    if (at && (what || at->part)) {
        at->part = what ? part : NULL;
        snprintf(at->what, sizeof at->what, "%s", what ? what : "");
        snprintf(at->fix, sizeof at->fix, "%s", fix ? fix : "");
        k->version++;
    }
    pthread_mutex_unlock(&k->lock);
}

static double seconds(struct timeval t)
{
    return (double)(t.tv_sec * INT64_C(1000000) + t.tv_usec) / 1e6;
}

static void put_stuck(hu_keeper *k, size_t i)
{
    const char *name = hu_sources[i]->name;
    char        what[WORDS];

    if (!k->shunned[i].backoff)
        return;
    snprintf(what, sizeof what, "a call of %s did not return; it is tried again after %u s", name, k->shunned[i].backoff);
    hu_put_problem(&k->own, name, what, "see whether a driver, a disk or a service hangs (dmesg)");
}

static double resident_bytes(void)
{
    long long pages;
    FILE     *file = fopen("/proc/self/statm", "re");
    int       n = file ? fscanf(file, "%*s %lld", &pages) : 0;

    if (file)
        fclose(file);
    return n == 1 ? (double)pages * (double)sysconf(_SC_PAGESIZE) : NAN;
}

static double open_files(void)
{
    DIR *folder = opendir("/proc/self/fd");
    int  n = 0;

    if (!folder)
        return NAN;
    for (const struct dirent *e; (e = readdir(folder));)
        n += e->d_name[0] != '.';
    closedir(folder);
    return n - 1; /* the folder's own */
}

/* What every Prometheus client library says of its process. */
static void put_process(hu_keeper *k)
{
    struct rusage use;
    struct rlimit files;

    getrusage(RUSAGE_SELF, &use);
    hu_put(&k->own, HU_METRIC_SELF_CPU, seconds(use.ru_utime) + seconds(use.ru_stime), "exporter");
    hu_put_plain(&k->own, HU_METRIC_PROCESS_CPU, seconds(use.ru_utime) + seconds(use.ru_stime));
    hu_put_plain(&k->own, HU_METRIC_START_TIME, k->started);
    hu_put_plain(&k->own, HU_METRIC_PROCESS_RSS, resident_bytes());
    hu_put_plain(&k->own, HU_METRIC_PROCESS_FDS, open_files());
    if (getrlimit(RLIMIT_NOFILE, &files) == 0)
        hu_put_plain(&k->own, HU_METRIC_PROCESS_MAX_FDS, (double)files.rlim_cur);
}

/* The monitor's own: what it costs, and whether its samplers answer. */
static void put_own(hu_keeper *k, int64_t now)
{
    hu_readings_clear(&k->own);
    k->own.head.at_ns = unix_ns();
    hu_put(&k->own, HU_METRIC_BUILD_INFO, 1, HU_VERSION);
    for (size_t i = 0; i < k->n_sources; i++) {
        put_source(k, i, now);
        put_stuck(k, i);
    }
    for (int i = 0; i < PROBLEMS; i++)
        if (k->problems[i].part)
            hu_put_problem(&k->own, k->problems[i].part, k->problems[i].what, k->problems[i].fix);
    for (int i = 0; i < HU_SAMPLERS; i++) {
        const sampler_state *s = &k->sampler[i];
        const char          *name = hu_sampler_name((hu_sampler)i);

        if (!s->is_wanted)
            continue;
        hu_put(&k->own, HU_METRIC_SELF_CPU, (double)(s->cpu_before_ns + s->cpu_ns) / 1e9, name);
        hu_put(&k->own, HU_METRIC_STUCK, s->is_stuck || has_shunned(k, (hu_sampler)i), name);
        if (!has_shunned(k, (hu_sampler)i) && (s->is_stuck || (!s->has_spoken && now - s->heard_ns > LEAST_STUCK_NS)))
            hu_put_problem(&k->own, name, "its sampler does not answer: a call that it made has not returned",
                           "wait a minute; then look at what its driver says: dmesg");
        hu_put(&k->own, HU_METRIC_RESTARTS, s->restarts, name);
    }
    put_process(k);
}

void hu_keeper_read(hu_keeper *k, void (*take_all)(void *context, const hu_held *held, size_t n), void *context)
{
    const int64_t now = now_ns();
    size_t        n = 0;

    pthread_mutex_lock(&k->lock);
    for (size_t i = 0; i < k->n_sources; i++) {
        const slot *s = &k->slots[i * HU_SAMPLE_GROUPS];

        if (!holds(k, &s[HU_SAMPLE_FAST], HU_SAMPLE_FAST, now))
            continue;
        for (int g = 0; g < HU_SAMPLE_GROUPS; g++)
            if (holds(k, &s[g], g, now))
                k->held[n++] = (hu_held){&s[g].r, hu_sources[i]->name};
    }
    put_own(k, now);
    k->held[n++] = (hu_held){&k->own, "monitor"};
    take_all(context, k->held, n);
    pthread_mutex_unlock(&k->lock);
}

/* Readings that cease to hold change it too: each source and group is a bit of a hash. */
uint64_t hu_keeper_version(hu_keeper *k)
{
    const int64_t now = now_ns();
    uint64_t      version;

    pthread_mutex_lock(&k->lock);
    version = k->version << 16;
    for (size_t i = 0; i < k->n_sources * HU_SAMPLE_GROUPS; i++)
        version += holds(k, &k->slots[i], (int)(i % HU_SAMPLE_GROUPS), now);
    pthread_mutex_unlock(&k->lock);
    return version;
}
