/* SPDX-License-Identifier: Apache-2.0
 * collect.c - finds the rings of a session as they come, drains them, and notices when their processes are gone.
 *
 * inotify reports new files; without it, the directory's time does.  A descriptor of each process (pidfd) reports its death:
 * unlike its number, no later process can take it over.  A process that is invisible (in another container) counts as alive
 * until the end.
 */
#include "record/collect.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/str.h"
#include "record/clocks.h"
#include "record/drain.h"
#include "record/maps_copy.h"

enum {
    LOOK_NS = 50000000,       /* between two checks for dead processes */
    PATIENCE_NS = 1000000000, /* with a file that is no ring yet */
    SLOWEST_MS = 20,
    MAPS_NS = 300000000, /* that a process has lived when its maps are copied */
};

/* A process image.  `drain` NULL: it is not mapped yet, or no more. */
typedef struct {
    char     *path;
    hu_drain *drain;
    int       fd; /* of the process; -1: none */
    pid_t     pid;
    bool      is_unseen; /* no process of this number was ever seen */
    bool      has_maps;  /* or they were tried */
    int64_t   since_ns;  /* that its file is there */
} image;

struct hu_collector {
    char             session[HU_SESSION_PATH_MAX];
    hu_drain_budget  budget;
    hu_collect_look *ended;
    void            *context;
    hu_clock         clock;
    image           *images; /* that are not over */
    size_t           n, cap, n_over;
    int              inotify; /* -1: none */
    struct timespec  changed; /* the directory, when it was read last */
    int64_t          look_at;
};

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* finding them */

static void add_name(hu_collector *c, const char *name)
{
    char path[HU_SESSION_PATH_MAX + 300];

    if (!hu_str_ends(hu_str_of(name), HU_STR(".ring")) ||
        snprintf(path, sizeof path, "%s/%s", c->session, name) >= (int)sizeof path)
        return;
    if (c->n == c->cap) {
        const size_t cap = c->cap ? 2 * c->cap : 64;
        image       *more = realloc(c->images, cap * sizeof *more);

        if (!more)
            return;
        c->images = more;
        c->cap = cap;
    }
    c->images[c->n] = (image){.path = strdup(path), .fd = -1, .since_ns = now_ns()};
    c->n += c->images[c->n].path != NULL;
}

static bool knows(const hu_collector *c, const char *name)
{
    for (size_t i = 0; i < c->n; i++)
        if (strcmp(strrchr(c->images[i].path, '/') + 1, name) == 0)
            return true;
    return false;
}

static void read_directory(hu_collector *c, bool is_first)
{
    DIR           *d = opendir(c->session);
    struct dirent *e;

    while (d && (e = readdir(d)))
        if (is_first || !knows(c, e->d_name))
            add_name(c, e->d_name);
    if (d)
        closedir(d);
}

static void read_inotify(hu_collector *c)
{
    char    events[16384] __attribute__((aligned(8)));
    ssize_t n;

    while ((n = read(c->inotify, events, sizeof events)) > 0) {
        for (const char *at = events; at < events + n;) {
            const struct inotify_event *e = (const void *)at;

            if (e->mask & IN_Q_OVERFLOW)
                read_directory(c, false);
            else if (e->len)
                add_name(c, e->name);
            at += sizeof *e + e->len;
        }
    }
}

static void find_new(hu_collector *c)
{
    struct stat st;

    if (c->inotify >= 0) {
        read_inotify(c);
    } else if (stat(c->session, &st) == 0 &&
               (st.st_mtim.tv_sec != c->changed.tv_sec || st.st_mtim.tv_nsec != c->changed.tv_nsec)) {
        c->changed = st.st_mtim;
        read_directory(c, false);
    }
}

typedef enum { NUMBERS_UNKNOWN, NUMBERS_OURS, NUMBERS_OTHERS } numbers;

/* Does its number mean the same here as there?  If so and it is not seen, it is dead. */
static numbers numbers_of(const image *m)
{
    const uint32_t its = hu_drain_head_of(m->drain)->pid_namespace;
    struct stat    st;

    if (its == 0 || stat("/proc/self/ns/pid", &st) < 0)
        return NUMBERS_UNKNOWN;
    return (uint32_t)st.st_ino == its ? NUMBERS_OURS : NUMBERS_OTHERS;
}

/* False: it will never be one. */
static bool open_image(image *m)
{
    numbers are;
    bool    is_none;

    m->drain = hu_drain_open(m->path, &is_none);
    if (!m->drain)
        return !is_none && now_ns() - m->since_ns < PATIENCE_NS;
    m->pid = (pid_t)hu_drain_head_of(m->drain)->pid;
    are = m->pid > 0 ? numbers_of(m) : NUMBERS_OTHERS; /* whoever has that number here is somebody else */
    m->fd = are != NUMBERS_OTHERS ? (int)syscall(SYS_pidfd_open, m->pid, 0) : -1;
    m->is_unseen = are == NUMBERS_OTHERS || (are == NUMBERS_UNKNOWN && m->fd < 0 && kill(m->pid, 0) < 0 && errno == ESRCH);
    return true;
}

/* deaths */

static bool is_dead(const image *m)
{
    struct pollfd p = {.fd = m->fd, .events = POLLIN};

    if (m->fd >= 0)
        return poll(&p, 1, 0) > 0;
    if (m->is_unseen)
        return hu_drain_head_of(m->drain)->state == HU_PROCESS_EXITED;
    return kill(m->pid, 0) < 0 && errno == ESRCH;
}

static void forget(hu_collector *c, size_t i)
{
    image *m = &c->images[i];

    hu_drain_close(m->drain);
    if (m->fd >= 0)
        close(m->fd);
    free(m->path);
    c->n_over++;
    c->images[i] = c->images[--c->n];
}

static void end(hu_collector *c, image *m, bool is_death)
{
    const hu_clock_snapshot now = is_death ? hu_clocks_snapshot(c->clock) : (hu_clock_snapshot){0};

    hu_drain_round(m->drain, &c->budget);
    hu_drain_end(m->drain, &c->budget, is_death && !m->is_unseen ? &now : NULL);
}

/* Once, of a process that has lived for a while, as long as it is the program that the ring is of. */
static void copy_maps(image *m)
{
    if (m->has_maps || m->fd < 0 || now_ns() - m->since_ns < MAPS_NS)
        return;
    m->has_maps = true;
    if (hu_drain_head_of(m->drain)->state == HU_PROCESS_RUNS)
        hu_maps_copy_of(m->pid, m->path);
}

static pid_t number_of(const image *m)
{
    return m->is_unseen ? 0 : m->pid;
}

void hu_collect_each(const hu_collector *c, hu_collect_look *look, void *context)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->images[i].drain)
            look(context, hu_drain_head_of(c->images[i].drain), number_of(&c->images[i]));
}

static void look_for_deaths(hu_collector *c)
{
    for (size_t i = 0; i < c->n;) {
        if (c->images[i].drain && is_dead(&c->images[i])) {
            if (c->ended)
                c->ended(c->context, hu_drain_head_of(c->images[i].drain), number_of(&c->images[i]));
            end(c, &c->images[i], true);
            forget(c, i);
        } else {
            if (c->images[i].drain) {
                hu_drain_saw(c->images[i].drain, hu_clocks_ticks(c->clock));
                copy_maps(&c->images[i]);
            }
            i++;
        }
    }
}

/* public */

static void read_control(hu_collector *c)
{
    char       path[HU_SESSION_PATH_MAX + 16];
    hu_control control;
    int        fd;

    snprintf(path, sizeof path, "%s/control", c->session);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && pread(fd, &control, sizeof control, 0) == (ssize_t)sizeof control) {
        c->clock = control.clock == HU_CLOCK_TSC ? HU_CLOCK_TSC : HU_CLOCK_MONOTONIC;
        c->budget.is_flight = control.mode == HU_MODE_FLIGHT;
    }
    if (fd >= 0)
        close(fd);
}

hu_collector *hu_collect_open(const char *session, const hu_collect_options *options, hu_error *err)
{
    hu_collector *c = calloc(1, sizeof *c);

    if (!c) {
        hu_fail_memory(err);
        return NULL;
    }
    if (snprintf(c->session, sizeof c->session, "%s", session) >= (int)sizeof c->session ||
        access(session, R_OK | W_OK | X_OK) < 0) {
        hu_fail(err, HU_EIO, session, HU_NO_OFFSET, "cannot be drained into: %s", strerror(errno));
        free(c);
        return NULL;
    }
    c->budget.max_bytes = options->max_bytes;
    c->ended = options->ended;
    c->context = options->context;
    read_control(c);
    c->inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (c->inotify >= 0 && inotify_add_watch(c->inotify, session, IN_CREATE | IN_MOVED_TO | IN_ONLYDIR) < 0) {
        close(c->inotify);
        c->inotify = -1;
    }
    read_directory(c, true);
    return c;
}

int hu_collect_round(hu_collector *c)
{
    uint32_t fullest = 0;

    find_new(c);
    for (size_t i = 0; i < c->n;) {
        image *m = &c->images[i];

        if (!m->drain && !open_image(m)) {
            forget(c, i);
            continue;
        }
        if (m->drain) {
            const uint32_t full = hu_drain_round(m->drain, &c->budget);

            fullest = full > fullest ? full : fullest;
        }
        i++;
    }
    if (now_ns() >= c->look_at) {
        look_for_deaths(c);
        c->look_at = now_ns() + LOOK_NS;
    }
    return fullest >= 64 ? 1 : fullest >= 16 ? 4 : fullest >= 4 ? 10 : SLOWEST_MS;
}

void hu_collect_get(const hu_collector *c, hu_collect_state *out)
{
    *out = (hu_collect_state){.processes = (uint32_t)(c->n + c->n_over),
                              .alive = (uint32_t)c->n,
                              .drained = c->budget.drained,
                              .dropped = c->budget.dropped,
                              .bytes = c->budget.bytes,
                              .is_disk_full = c->budget.is_disk_full};
}

int hu_collect_close(hu_collector *c, hu_error *err)
{
    bool is_disk_full;

    if (!c)
        return 0;
    hu_collect_round(c);
    look_for_deaths(c);
    while (c->n) {
        if (c->images[0].drain)
            end(c, &c->images[0], false);
        forget(c, 0);
    }
    is_disk_full = c->budget.is_disk_full;
    if (c->inotify >= 0)
        close(c->inotify);
    free(c->images);
    if (is_disk_full)
        hu_fail(err, HU_EIO, c->session, HU_NO_OFFSET, "no space is left; what could not be drained is still in the rings");
    free(c);
    return is_disk_full ? HU_EIO : 0;
}
