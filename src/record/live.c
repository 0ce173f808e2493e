/* SPDX-License-Identifier: Apache-2.0
 * live.c - makes datagrams of the tallies in the heads of rings, and sends them.
 *
 * A queue of a Unix socket holds few datagrams (net.unix.max_dgram_qlen): what finds it full is tried again in the next
 * rounds, until there is something newer to tell.
 *
 * A process that calls exec goes on counting: it has a new ring, and what it did before is added.  One that was replaced
 * by a program without a recorder is in no step.  What ends as it wanted to says so, once; what is killed says nothing.
 */
#include "record/live.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "record/clocks.h"
#include "record/proc.h"

enum {
    MILLISECOND_NS = 1000000,
    LOOK_NS = 1000 * MILLISECOND_NS,
    SOCKETS = 2,
    TRIES = 10, /* of what is told last, 10 ms apart */
    COPIES = 8, /* of a tally that changes while it is copied */
};

/* A process that tells. */
typedef struct {
    uint32_t         pid_there, pid_namespace; /* as its ring says */
    uint64_t         started;                  /* ticks: the image that it executes now */
    uint32_t         due;                      /* bits of sockets that `d` is still to be sent to */
    bool             is_over;
    hu_live_datagram d;      /* told last, or to be told */
    hu_live_datagram before; /* sums of the images that it executed earlier */
} teller;

struct hu_live {
    const hu_session   *session;
    const hu_facts     *facts;
    const hu_collector *collector; /* of this round; the images that it knows */
    int                 fd;
    struct sockaddr_un  sockets[SOCKETS];
    size_t              n_sockets;
    bool                is_named; /* by the user: else whichever are there */
    int64_t             look_at, send_at, search_at;
    teller             *tellers;
    size_t              n, cap;
};

static int64_t now_ns(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* sockets */

static int add_socket(hu_live *l, const char *folder, const char *name, hu_error *err)
{
    struct sockaddr_un *to = &l->sockets[l->n_sockets];

    if (snprintf(to->sun_path, sizeof to->sun_path, "%s%s", folder, name) >= (int)sizeof to->sun_path)
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "%s: a socket's path has %zu bytes at most", name,
                       sizeof to->sun_path - 1);
    to->sun_family = AF_UNIX;
    l->n_sockets++;
    return 0;
}

static void wake(hu_live *l)
{
    hu_control *c = l->session->control;

    c->live = HU_DOOR_LIVE;
    __atomic_fetch_or(&c->mask, (uint32_t)HU_DOOR_LIVE, __ATOMIC_RELEASE);
}

/* Once one was there, programs count until they end: a monitor may be started again. */
static void look_for_sockets(hu_live *l)
{
    struct stat st;

    for (size_t i = 0; i < l->n_sockets && !l->session->control->live; i++)
        if (stat(l->sockets[i].sun_path, &st) == 0 && S_ISSOCK(st.st_mode))
            wake(l);
}

hu_live *hu_live_start(const hu_session *session, const hu_facts *facts, const char *where, const char *user_folder,
                       hu_error *err)
{
    hu_live *l;

    if (where && strcmp(where, "0") == 0)
        return NULL;
    l = calloc(1, sizeof *l);
    if (!l) {
        hu_fail_memory(err);
        return NULL;
    }
    l->session = session;
    l->facts = facts;
    l->is_named = where && where[0];
    l->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (l->fd < 0)
        hu_fail(err, HU_EIO, NULL, HU_NO_OFFSET, "no socket can be made: %s", strerror(errno));
    else if (l->is_named)
        add_socket(l, "", where, err);
    else if (add_socket(l, "", HU_LIVE_SOCKET, err) == 0 && user_folder && user_folder[0] == '/')
        add_socket(l, user_folder, HU_LIVE_SOCKET_OF_USER, NULL);
    if (l->n_sockets == 0) {
        hu_live_stop(l);
        return NULL;
    }
    if (l->is_named)
        wake(l);
    else
        look_for_sockets(l);
    return l;
}

/* All that is due, until the queues are full.  Returns how many are still to be sent. */
static size_t send_due(hu_live *l)
{
    hu_control *c = l->session->control;
    bool        is_full[SOCKETS] = {false};
    size_t      left = 0;

    for (size_t i = 0; i < l->n; i++) {
        teller *t = &l->tellers[i];

        for (size_t k = 0; k < l->n_sockets; k++) {
            if (!(t->due & 1u << k) || is_full[k])
                continue;
            if (sendto(l->fd, &t->d, sizeof t->d, MSG_DONTWAIT | MSG_NOSIGNAL, (const struct sockaddr *)&l->sockets[k],
                       sizeof l->sockets[k]) == (ssize_t)sizeof t->d)
                c->live_sent++;
            else if (errno == EAGAIN || errno == ENOBUFS)
                is_full[k] = true;
            else
                c->live_failed += l->is_named || errno != ENOENT; /* of the usual ones, some are not there */
            if (!is_full[k])
                t->due &= ~(1u << k);
        }
        left += t->due != 0;
    }
    return left;
}

/* processes */

/* Field 22 of /proc/PID/stat; 0: not known. */
static uint64_t began(pid_t pid)
{
    char        text[1024];
    const char *at;

    hu_proc_read(text, sizeof text, "/proc/%d/stat", (int)pid);
    at = strrchr(text, ')');
    for (int field = 2; at && field < 22; field++) {
        at = strchr(at, ' ');
        at = at ? at + 1 : NULL;
    }
    return at ? strtoull(at, NULL, 10) : 0;
}

/* The last number behind "NSpid:", which is the process's own. */
static bool has_number_there(const char *pid, uint32_t number)
{
    char        text[4096];
    const char *line;
    char       *end;
    uint64_t    last = 0;

    hu_proc_read(text, sizeof text, "/proc/%.16s/status", pid);
    line = strstr(text, "\nNSpid:");
    for (line = line ? line + strlen("\nNSpid:") : NULL; line && *line == '\t'; line = end)
        last = strtoull(line + 1, &end, 10);
    return last == number;
}

/* The number here of a process that has another one in its namespace; 0: not found, or not searched for: once a second. */
static pid_t number_here(hu_live *l, const hu_ring_head *head)
{
    const uint32_t there = head->pid, namespace = head->pid_namespace;
    const int64_t  now = now_ns(CLOCK_MONOTONIC);
    pid_t          found = 0;
    DIR           *d;
    struct dirent *e;

    if (!namespace || now < l->search_at)
        return 0;
    l->search_at = now + LOOK_NS;
    d = opendir("/proc");
    while (d && !found && (e = readdir(d))) {
        char        path[300];
        struct stat st;

        if (e->d_name[0] < '1' || e->d_name[0] > '9')
            continue;
        snprintf(path, sizeof path, "/proc/%s/ns/pid", e->d_name);
        if (stat(path, &st) == 0 && (uint32_t)st.st_ino == namespace && has_number_there(e->d_name, there))
            found = (pid_t)strtol(e->d_name, NULL, 10);
    }
    if (d)
        closedir(d);
    return found;
}

static void add_up(hu_live_datagram *to, const hu_live_datagram *more)
{
    to->steps += more->steps;
    to->step_ns += more->step_ns;
    to->samples += more->samples;
    to->tokens += more->tokens;
    to->checkpoints += more->checkpoints;
    for (size_t i = 0; i < HU_LIVE_CAUSES_ROOM; i++)
        to->cause_ns[i] += more->cause_ns[i];
    for (size_t i = 0; i <= HU_LIVE_LIMITS; i++)
        to->histogram[i] += more->histogram[i];
    to->measured |= more->measured;
}

static bool make(hu_live *l, const hu_ring_head *head, teller *t, bool is_over);

typedef struct {
    hu_live *live;
    teller  *teller;
} succession;

static void look_at_earlier(void *context, const hu_ring_head *head, pid_t pid)
{
    const succession *s = context;
    teller           *t = s->teller;

    (void)pid;
    if (head->pid == t->pid_there && head->pid_namespace == t->pid_namespace && head->started == t->started)
        make(s->live, head, t, false);
}

/* The process executes another image, and adds nothing to the last one. */
static void succeed(hu_live *l, teller *t, uint64_t started)
{
    if (l->collector)
        hu_collect_each(l->collector, look_at_earlier, &(succession){l, t});
    t->before = t->d;
    t->started = started;
}

/* Whose image it is, with room for what it tells; NULL: nobody that can be told of, or an image of earlier. */
static teller *teller_of(hu_live *l, const hu_ring_head *head, pid_t pid)
{
    const uint32_t there = head->pid, namespace = head->pid_namespace;
    const uint64_t started = head->started;
    teller        *t = NULL;
    uint64_t       since;

    for (size_t i = 0; i < l->n && !t; i++)
        if (l->tellers[i].pid_there == there && l->tellers[i].pid_namespace == namespace)
            t = &l->tellers[i];
    if (t && started <= t->started)
        return started == t->started ? t : NULL;
    pid = pid ? pid : number_here(l, head);
    since = pid ? began(pid) : 0;
    since = since || !pid ? since : head->live.began;
    if (since == 0)
        return NULL;
    if (t && t->d.began == since) {
        succeed(l, t, started);
        return t;
    }
    if (!t && l->n == l->cap) {
        const size_t cap = l->cap ? 2 * l->cap : 16;
        teller      *more = realloc(l->tellers, cap * sizeof *more);

        if (!more)
            return NULL;
        l->tellers = more;
        l->cap = cap;
    }
    t = t ? t : &l->tellers[l->n++]; /* or the number was given to another one */
    *t = (teller){.pid_there = there, .pid_namespace = namespace, .started = started};
    t->d.pid = (uint32_t)pid;
    t->d.began = since;
    return t;
}

/* what they tell */

static bool copy_tally(const hu_ring_head *head, hu_live_tally *out)
{
    for (int i = 0; i < COPIES; i++) {
        const uint32_t before = __atomic_load_n(&head->live.version, __ATOMIC_ACQUIRE);

        memcpy(out, (const void *)&head->live, sizeof *out);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (!(before & 1) && __atomic_load_n(&head->live.version, __ATOMIC_RELAXED) == before)
            return true;
    }
    return false;
}

/* A text of a ring, which may be anything. */
static void copy_text(char *to, size_t room, const char *from, size_t most)
{
    const size_t n = strnlen(from, most < room - 1 ? most : room - 1);

    memcpy(to, from, n);
    memset(to + n, 0, room - n);
}

static void name_process(const hu_live *l, const hu_ring_head *head, hu_live_datagram *d)
{
    const hu_rank_id *outer = &l->facts->rank;
    const uint32_t    bytes = __atomic_load_n(&head->command_bytes, __ATOMIC_RELAXED); /* once: others may write there */
    char              command[sizeof head->command];

    d->rank = head->rank;
    d->local_rank = head->local_rank;
    d->world_size = head->world_size;
    d->local_size = head->live.local_size;
    copy_text(d->job_id, sizeof d->job_id, head->job_id, sizeof head->job_id);
    copy_text(d->step_id, sizeof d->step_id, head->live.step_id, sizeof head->live.step_id);
    /* of a run by hand; where each rank has a run of its own, that would name each of them a job */
    if (!d->job_id[0] && outer->rank < 0)
        copy_text(d->job_id, sizeof d->job_id, l->session->control->name, sizeof l->session->control->name);
    memcpy(command, head->command, sizeof command);
    command[sizeof command - 1] = '\0';
    copy_text(d->name, sizeof d->name, hu_facts_program(command, bytes < sizeof command ? bytes : sizeof command - 1),
              sizeof command);
}

/* Of ticks that are in the past. */
typedef struct {
    hu_clock_snapshot now;
    double            ns_per_tick;
} clock_of;

static uint64_t ns_of(const clock_of *c, uint64_t ticks)
{
    const double ns = (double)ticks * c->ns_per_tick;

    return ns < (double)HU_TIME_MAX_NS ? (uint64_t)ns : (uint64_t)HU_TIME_MAX_NS;
}

static int64_t realtime_of(const clock_of *c, uint64_t ticks)
{
    return c->now.realtime_ns - (int64_t)ns_of(c, c->now.ticks > ticks ? c->now.ticks - ticks : 0);
}

/* gloo moves tensors of the host; those of devices go by NCCL, and nobody here sees when. */
static uint32_t measured(const hu_ring_head *head, const hu_live_tally *t)
{
    const uint32_t cuda = head->cuda.state;
    const bool     has_device = cuda != HU_CUDA_UNTOUCHED && cuda != HU_CUDA_NO_DRIVER && cuda != HU_CUDA_NO_DEVICE;
    const bool     may_hide = t->gloo_threads && has_device;
    const uint32_t hidden = t->hidden | (may_hide ? 1u << HU_LIVE_COMMUNICATION : 0);

    return t->measured & ~hidden & ((1u << HU_LIVE_CAUSE_COUNT) - 1);
}

static void tell_now(const clock_of *c, const hu_live_tally *t, hu_live_datagram *d)
{
    const bool waits_for_gloo = t->waits_since && t->gloo_threads > t->gloo_idle;
    uint32_t   now = t->now <= HU_LIVE_CAUSE_COUNT ? t->now : 0;
    uint64_t   since = t->now_since;

    if (waits_for_gloo) {
        now = HU_LIVE_COMMUNICATION + 1;
        since = t->waits_since;
    }
    if (now && d->measured >> (now - 1) & 1) {
        d->now = now;
        d->now_since_ns = realtime_of(c, since);
    }
}

static void tell_tally(const clock_of *c, const hu_ring_head *head, const hu_live_tally *t, hu_live_datagram *d)
{
    const bool is_in_step = t->is_in_step && head->state == HU_PROCESS_RUNS;

    d->measured = measured(head, t);
    d->steps = t->steps;
    d->step_ns = ns_of(c, t->step_ticks);
    d->step_number = is_in_step ? t->step_number : -1;
    d->step_since_ns = is_in_step ? realtime_of(c, t->step_since) : 0;
    d->last_step_ns = t->steps ? realtime_of(c, t->last_step) : 0;
    d->samples = t->samples;
    d->tokens = t->tokens;
    d->checkpoints = t->checkpoints;
    for (size_t i = 0; i < HU_LIVE_CAUSE_COUNT; i++)
        d->cause_ns[i] = ns_of(c, t->cause_ticks[i]); /* a sum that was told does not fall */
    memcpy(d->histogram, t->histogram, sizeof d->histogram);
    if (head->state == HU_PROCESS_RUNS)
        tell_now(c, t, d);
}

/* False: it cannot be told, or has nothing to tell. */
static bool make(hu_live *l, const hu_ring_head *head, teller *t, bool is_over)
{
    const hu_control *control = l->session->control;
    const clock_of    clock = {.now = hu_clocks_snapshot((hu_clock)control->clock),
                               .ns_per_tick = control->ticks_per_second > 0 ? 1e9 / control->ticks_per_second : 0};
    hu_live_datagram  d = {.magic = HU_LIVE_MAGIC, .version = HU_LIVE_VERSION, .bytes = sizeof d};
    hu_live_tally     tally;

    if (!copy_tally(head, &tally)) {
        if (!is_over || t->d.sequence == 0)
            return false;
        t->d.is_over = true; /* it ended in the middle of a count */
        t->d.sequence++;
        return true;
    }
    d.pid = t->d.pid;
    d.began = t->d.began;
    d.sequence = t->d.sequence + 1;
    d.sent_ns = clock.now.realtime_ns;
    d.is_over = is_over;
    name_process(l, head, &d);
    tell_tally(&clock, head, &tally, &d);
    add_up(&d, &t->before);
    t->d = d;
    return true;
}

static void say(hu_live *l, teller *t)
{
    hu_control *c = l->session->control;

    c->live_failed += (uint64_t)__builtin_popcount(t->due);
    t->due = (1u << l->n_sockets) - 1;
}

typedef struct {
    hu_live *live;
    bool     is_time;
} round;

static void look_at(void *context, const hu_ring_head *head, pid_t pid)
{
    const round *r = context;
    teller      *t;

    if (!__atomic_load_n(&head->live.is_used, __ATOMIC_ACQUIRE))
        return;
    t = teller_of(r->live, head, pid); /* in each round: of one that ends soon, /proc has to be read now */
    if (t && (r->is_time || t->d.sequence == 0) && make(r->live, head, t, false))
        say(r->live, t);
}

static void forget_told(hu_live *l)
{
    for (size_t i = 0; i < l->n;)
        if (l->tellers[i].is_over && !l->tellers[i].due)
            l->tellers[i] = l->tellers[--l->n];
        else
            i++;
}

/* public */

void hu_live_round(hu_live *l, const hu_collector *collector)
{
    const int64_t now = now_ns(CLOCK_MONOTONIC);
    round         r = {.live = l};

    if (!l)
        return;
    if (now >= l->look_at) {
        look_for_sockets(l);
        l->look_at = now + LOOK_NS;
    }
    if (!l->session->control->live)
        return;
    if (now >= l->send_at) {
        r.is_time = true;
        l->send_at = now + (int64_t)HU_LIVE_PERIOD_MS * MILLISECOND_NS;
    }
    l->collector = collector;
    if (collector)
        hu_collect_each(collector, look_at, &r);
    send_due(l);
    forget_told(l);
}

void hu_live_ended(void *live, const hu_ring_head *head, pid_t pid)
{
    hu_live *l = live;
    teller  *t;

    if (!l || !l->session->control->live || !__atomic_load_n(&head->live.is_used, __ATOMIC_ACQUIRE))
        return;
    t = teller_of(l, head, pid);
    if (!t)
        return;
    t->is_over = true;
    if (head->state == HU_PROCESS_EXITED && make(l, head, t, true)) {
        say(l, t);
        return;
    }
    make(l, head, t, false); /* for the image that comes behind it, if one does */
    t->due = 0;
}

void hu_live_stop(hu_live *l)
{
    if (!l)
        return;
    for (int i = 0; i < TRIES && l->n_sockets && send_due(l); i++)
        nanosleep(&(struct timespec){0, 10 * MILLISECOND_NS}, NULL);
    if (l->fd >= 0)
        close(l->fd);
    free(l->tellers);
    free(l);
}
