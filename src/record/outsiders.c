/* SPDX-License-Identifier: Apache-2.0
 * outsiders.c - walks the tree of processes below the command, and asks of each that has no ring why.
 *
 * Children are those of /proc/PID/task/TID/children; whom the walk has met once is remembered when its parent ends.
 * A process becomes another program by exec, and may have been recorded before: the start of its code tells its images
 * apart, and a ring that says "replaced" is no ring of the image that came then.  A forked child makes its ring at its
 * first record: it has the recorder mapped, and is no outsider as long as it could open the session.
 */
#include "record/outsiders.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "protocol/format.h"
#include "protocol/redact.h"
#include "record/proc.h"
#include "record/static_program.h"

enum { PAUSE_NS = 50000000, COST_FACTOR = 100, MOST = 65536, TEXT = 4096, MOST_ROWS = 4096 };
enum { STAT_STATE, STAT_PARENT, STAT_UTIME = 11, STAT_STIME = 12, STAT_START = 19, STAT_CODE = 23, STAT_FIELDS = 24 };

/* A process, as it was at the last look. */
typedef struct {
    pid_t    pid;
    uint64_t start, code;           /* clock ticks since boot; where its code begins: another one after an exec */
    uint32_t stamp;                 /* of the last look that met it */
    int64_t  first_ns;              /* this image was met */
    int64_t  cpu_before_ns, cpu_ns; /* of the images before it; of all of them */
    uint32_t row;                   /* of `rows`; UINT32_MAX: it is none */
    bool     is_inside;
} seen;

struct hu_outsiders {
    hu_arena *arena;
    char      session[HU_SESSION_PATH_MAX];
    char      library[1024];
    uid_t     owner; /* of the session */
    pid_t     command;
    int       file;
    uint32_t  stamp;
    int64_t   next_ns, tick_ns;
    HU_VEC(seen) seen;
    HU_VEC(hu_outsider) rows;
};

const char *hu_outsider_words(uint32_t reason)
{
    static const char *const words[] = {
#define R(id, text) text,
        HU_OUTSIDERS(R)
#undef R
    };

    return words[reason < HU_COUNT(words) ? reason : HU_OUTSIDER_UNKNOWN];
}

static int64_t now_ns(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

typedef struct {
    char     state, name[16];
    uint64_t at[STAT_FIELDS];
} stat_line;

static bool read_stat(pid_t pid, stat_line *out)
{
    char        text[1024];
    const char *open_at, *p;
    size_t      n, field = 1;

    if (!hu_proc_read(text, sizeof text, "/proc/%d/stat", (int)pid))
        return false;
    open_at = strchr(text, '(');
    p = strrchr(text, ')');
    if (!open_at || !p || p < open_at || p[1] != ' ' || !p[2])
        return false;
    *out = (stat_line){.state = p[2]};
    n = (size_t)(p - open_at - 1);
    hu_redact_text((hu_str){open_at + 1, n}, out->name, sizeof out->name - 1);
    for (p += 3; *p == ' ' && field < STAT_FIELDS; field++) {
        char *end;

        out->at[field] = strtoull(p + 1, &end, 10);
        p = end;
    }
    return field == STAT_FIELDS;
}

/* Is this text anywhere in the file? */
static bool holds(const char *path, const char *wanted)
{
    char         text[16384];
    const size_t n = strlen(wanted);
    size_t       kept = 0;
    ssize_t      got;
    bool         is_there = false;
    const int    fd = open(path, O_RDONLY | O_CLOEXEC);

    while (fd >= 0 && !is_there && (got = read(fd, text + kept, sizeof text - kept)) > 0) {
        const size_t have = kept + (size_t)got;

        is_there = memmem(text, have, wanted, n) != NULL;
        kept = have < n ? have : n;
        memmove(text, text + have - kept, kept);
    }
    if (fd >= 0)
        close(fd);
    return is_there;
}

/* why */

/* The numbers of the process: of its own container, else ours. */
static void numbers_of(pid_t pid, uint32_t *number, uint32_t *user)
{
    char text[TEXT], *at;

    *number = (uint32_t)pid;
    *user = UINT32_MAX;
    if (!hu_proc_read(text, sizeof text, "/proc/%d/status", (int)pid))
        return;
    at = strstr(text, "\nUid:");
    if (at && (at = strchr(at, '\t')))
        for (int i = 0; i < 4; i++) /* real, effective, saved; of files */
            *user = (uint32_t)strtoul(at, &at, 10);
    at = strstr(text, "\nNSpid:");
    for (at = at ? strchr(at, '\t') : NULL; at && *at == '\t';)
        *number = (uint32_t)strtoul(at, &at, 10);
}

/* Has this image a ring?  The last one of its number says. */
static bool has_ring(const hu_outsiders *o, uint32_t number)
{
    char           prefix[24];
    DIR           *d = opendir(o->session);
    struct dirent *e;
    uint64_t       last = 0;
    bool           is_there = false;

    snprintf(prefix, sizeof prefix, "%u-", number);
    while (d && (e = readdir(d))) {
        hu_ring_head head;
        int          fd;

        if (strncmp(e->d_name, prefix, strlen(prefix)) != 0 || !hu_str_ends(hu_str_of(e->d_name), HU_STR(".ring")))
            continue;
        fd = openat(dirfd(d), e->d_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        if (fd >= 0 && pread(fd, &head, sizeof head, 0) == (ssize_t)sizeof head && head.started >= last) {
            last = head.started;
            is_there = head.state != HU_PROCESS_REPLACED;
        }
        if (fd >= 0)
            close(fd);
    }
    if (d)
        closedir(d);
    return is_there;
}

static bool is_same_file(const char *a, const char *b)
{
    struct stat x, y;

    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* May somebody else of no group open it: all folders above it and itself? */
static bool is_open_to_all(const char *path)
{
    char        part[1100];
    struct stat st;

    for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        snprintf(part, sizeof part, "%.*s", (int)(slash - path), path);
        if (stat(part, &st) == 0 && !(st.st_mode & S_IXOTH))
            return false;
    }
    return stat(path, &st) < 0 || (st.st_mode & S_IROTH);
}

/* Was the program started with the recorder in LD_PRELOAD? */
static bool is_preloaded(const hu_outsiders *o, pid_t pid)
{
    static const char name[] = "LD_PRELOAD=";
    char              text[65536];
    const size_t      n = hu_proc_read(text, sizeof text, "/proc/%d/environ", (int)pid);

    for (size_t at = 0; at < n; at += strlen(text + at) + 1)
        if (strncmp(text + at, name, strlen(name)) == 0 && strstr(text + at, o->library))
            return true;
    return false;
}

/* Of a program that has not loaded the recorder. */
static hu_outsider_reason why_not_loaded(const hu_outsiders *o, pid_t pid, uint32_t user)
{
    char        exe[64], path[1200];
    struct stat st;
    char        capability;

    snprintf(exe, sizeof exe, "/proc/%d/exe", (int)pid);
    if (hu_is_static_program(exe))
        return HU_OUTSIDER_STATIC;
    if (stat(exe, &st) == 0 &&
        ((st.st_mode & (S_ISUID | S_ISGID)) || getxattr(exe, "security.capability", &capability, 0) > 0))
        return HU_OUTSIDER_PRIVILEGED;
    snprintf(path, sizeof path, "/proc/%d/root%s", (int)pid, o->library);
    if (!is_same_file(path, o->library))
        return HU_OUTSIDER_NO_LIBRARY;
    if (user != 0 && user != o->owner && !is_open_to_all(o->library))
        return HU_OUTSIDER_CLOSED_LIBRARY;
    return is_preloaded(o, pid) ? HU_OUTSIDER_LOADER : HU_OUTSIDER_ENVIRONMENT;
}

static bool is_same_link(const char *a, const char *b)
{
    char          x[64], y[64];
    const ssize_t n = readlink(a, x, sizeof x), m = readlink(b, y, sizeof y);

    return n > 0 && n == m && memcmp(x, y, (size_t)n) == 0;
}

/* Is it a fork of one that is recorded, and could ask for a ring when it has something to record? */
static bool is_quiet_child(const hu_outsiders *o, const seen *p, pid_t parent)
{
    char net[48];

    snprintf(net, sizeof net, "/proc/%d/ns/net", (int)p->pid);
    for (size_t i = 0; i < o->seen.n; i++)
        if (o->seen.at[i].pid == parent)
            return o->seen.at[i].is_inside && o->seen.at[i].code == p->code && is_same_link(net, "/proc/self/ns/net");
    return false;
}

/* True: no outsider, as far as can be told. */
static bool is_inside(const hu_outsiders *o, const seen *p, pid_t parent, uint32_t *user, uint32_t *why)
{
    const pid_t pid = p->pid;
    char        path[HU_SESSION_PATH_MAX + 64], maps[64];
    uint32_t    number;

    numbers_of(pid, &number, user);
    if (has_ring(o, number) || (number != (uint32_t)pid && has_ring(o, (uint32_t)pid)))
        return true;
    snprintf(maps, sizeof maps, "/proc/%d/maps", (int)pid);
    if (access(maps, R_OK) < 0 || !holds(maps, "-")) {
        *why = HU_OUTSIDER_HIDDEN;
        return *user == o->owner || *user == UINT32_MAX; /* it has ended, or is about to become another program */
    }
    if (!holds(maps, strrchr(o->library, '/'))) {
        *why = why_not_loaded(o, pid, *user);
        return false;
    }
    if (is_quiet_child(o, p, parent))
        return true;
    snprintf(path, sizeof path, "/proc/%d/root%s", (int)pid, o->session);
    *why = *user != 0 && *user != o->owner ? HU_OUTSIDER_USER : HU_OUTSIDER_ROOT;
    return *why == HU_OUTSIDER_ROOT && is_same_file(path, o->session);
}

/* the walk */

static void write_row(const hu_outsiders *o, uint32_t row)
{
    if (pwrite(o->file, &o->rows.at[row], sizeof o->rows.at[row], (off_t)row * (off_t)sizeof o->rows.at[row]) < 0)
        return; /* a full disk: the next look tries again */
}

static seen *find(hu_outsiders *o, pid_t pid)
{
    for (size_t i = 0; i < o->seen.n; i++)
        if (o->seen.at[i].pid == pid)
            return &o->seen.at[i];
    if (o->seen.n >= MOST || !hu_vec_push(o->arena, &o->seen, ((seen){.pid = pid, .row = UINT32_MAX})))
        return NULL;
    return &o->seen.at[o->seen.n - 1];
}

static void judge(hu_outsiders *o, seen *p, const stat_line *stat, int64_t now)
{
    hu_outsider row = {.pid = (uint32_t)p->pid, .ppid = (uint32_t)stat->at[STAT_PARENT], .first_ns = p->first_ns};

    if (p->row == UINT32_MAX && (p->is_inside || now - p->first_ns < HU_OUTSIDERS_LEAST_NS || o->rows.n >= MOST_ROWS))
        return;
    if (p->row == UINT32_MAX) {
        if (is_inside(o, p, (pid_t)row.ppid, &row.uid, &row.reason)) {
            p->is_inside = true;
            return;
        }
        if (!hu_vec_push(o->arena, &o->rows, row))
            return;
        p->row = (uint32_t)o->rows.n - 1;
    }
    o->rows.at[p->row].last_ns = now;
    o->rows.at[p->row].cpu_ns = p->cpu_ns - p->cpu_before_ns;
    memcpy(o->rows.at[p->row].name, stat->name, sizeof stat->name);
    write_row(o, p->row);
}

/* When the process began, by the clock of now. */
static int64_t began_ns(const hu_outsiders *o, const stat_line *stat, int64_t now)
{
    const int64_t age = now_ns(CLOCK_BOOTTIME) - (int64_t)stat->at[STAT_START] * o->tick_ns;

    return age > 0 ? now - age : now;
}

static void visit(hu_outsiders *o, pid_t pid)
{
    const int64_t now = now_ns(CLOCK_MONOTONIC);
    stat_line     stat;
    seen         *p = find(o, pid);
    bool          is_new, is_other;
    int64_t       cpu_ns;

    if (!p || p->stamp == o->stamp || !read_stat(pid, &stat))
        return;
    cpu_ns = (int64_t)(stat.at[STAT_UTIME] + stat.at[STAT_STIME]) * o->tick_ns;
    is_new = p->stamp == 0 || p->start != stat.at[STAT_START];
    is_other = is_new || p->code != stat.at[STAT_CODE];
    if (stat.state == 'Z' || stat.state == 'X') { /* its memory is gone, its sums are not */
        if (p->row != UINT32_MAX && !is_new) {
            p->cpu_ns = cpu_ns;
            judge(o, p, &stat, now);
        }
        p->stamp = o->stamp;
        return;
    }
    if (is_other) {
        const int64_t before_ns = is_new ? 0 : p->cpu_ns;

        *p = (seen){.pid = pid, .start = stat.at[STAT_START], .code = stat.at[STAT_CODE], .row = UINT32_MAX};
        p->first_ns = is_new ? began_ns(o, &stat, now) : now;
        p->cpu_before_ns = before_ns;
    }
    p->cpu_ns = cpu_ns;
    p->stamp = o->stamp;
    judge(o, p, &stat, now);
}

static void visit_children(hu_outsiders *o, pid_t pid)
{
    char           path[48], text[TEXT];
    pid_t          child;
    struct dirent *e;
    DIR           *d;

    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    d = opendir(path);
    while (d && (e = readdir(d))) {
        if (e->d_name[0] < '1' || e->d_name[0] > '9' ||
            !hu_proc_read(text, sizeof text, "/proc/%d/task/%.16s/children", (int)pid, e->d_name))
            continue;
        for (char *at = text, *end; (child = (pid_t)strtol(at, &end, 10)) > 0; at = end)
            visit(o, child);
    }
    if (d)
        closedir(d);
}

static void look(hu_outsiders *o)
{
    const int64_t before = now_ns(CLOCK_THREAD_CPUTIME_ID);
    size_t        kept = 0;
    int64_t       cost;

    o->stamp++;
    visit(o, o->command);
    for (size_t i = 0; i < o->seen.n; i++) /* grows as children are met */
        visit(o, o->seen.at[i].pid);
    for (size_t i = 0; i < o->seen.n; i++)
        if (o->seen.at[i].stamp == o->stamp)
            visit_children(o, o->seen.at[i].pid);
    for (size_t i = 0; i < o->seen.n; i++)
        if (o->seen.at[i].stamp == o->stamp)
            o->seen.at[kept++] = o->seen.at[i];
    o->seen.n = kept;
    cost = (now_ns(CLOCK_THREAD_CPUTIME_ID) - before) * COST_FACTOR;
    o->next_ns = now_ns(CLOCK_MONOTONIC) + (cost > PAUSE_NS ? cost : PAUSE_NS);
}

hu_outsiders *hu_outsiders_start(const char *session, const char *library, pid_t command)
{
    hu_arena     *arena = hu_arena_new();
    hu_outsiders *o = arena ? hu_arena_calloc(arena, 1, sizeof *o) : NULL;
    char          path[HU_SESSION_PATH_MAX + 16];

    if (!o || strlen(session) >= sizeof o->session || strlen(library) >= sizeof o->library || !strchr(library, '/')) {
        hu_arena_free(arena);
        return NULL;
    }
    o->arena = arena;
    o->command = command;
    o->owner = geteuid();
    o->tick_ns = 1000000000 / sysconf(_SC_CLK_TCK);
    snprintf(o->session, sizeof o->session, "%s", session);
    snprintf(o->library, sizeof o->library, "%s", library);
    snprintf(path, sizeof path, "%s/outsiders", session);
    o->file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (o->file < 0) {
        hu_arena_free(arena);
        return NULL;
    }
    return o;
}

void hu_outsiders_round(hu_outsiders *o)
{
    if (o && now_ns(CLOCK_MONOTONIC) >= o->next_ns)
        look(o);
}

void hu_outsiders_ended(hu_outsiders *o)
{
    if (!o)
        return;
    o->stamp++; /* this look covers one process */
    visit(o, o->command);
    for (size_t i = 0; i < o->seen.n; i++)
        o->seen.at[i].stamp = o->stamp;
}

/* Those that have a ring by now took long to load it: valgrind needs a second. */
static void forget_late_ones(hu_outsiders *o)
{
    size_t kept = 0;

    for (size_t i = 0; i < o->rows.n; i++) {
        if (has_ring(o, o->rows.at[i].pid))
            continue;
        o->rows.at[kept] = o->rows.at[i];
        write_row(o, (uint32_t)kept++);
    }
    if (kept < o->rows.n && ftruncate(o->file, (off_t)kept * (off_t)sizeof o->rows.at[0]) < 0)
        return; /* then they stay */
    o->rows.n = kept;
}

void hu_outsiders_stop(hu_outsiders *o)
{
    if (!o)
        return;
    look(o);
    forget_late_ones(o);
    close(o->file);
    hu_arena_free(o->arena);
}

size_t hu_outsiders_read(const char *session, hu_arena *arena, hu_outsider **out)
{
    char        path[4096];
    struct stat st;
    const int   fd = snprintf(path, sizeof path, "%s/outsiders", session) < (int)sizeof path
                         ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW)
                         : -1;
    size_t      n = 0, kept = 0;

    *out = NULL;
    if (fd < 0)
        return 0;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        n = (size_t)st.st_size / sizeof **out < MOST_ROWS ? (size_t)st.st_size / sizeof **out : MOST_ROWS;
    *out = hu_arena_calloc(arena, n + 1, sizeof **out);
    n = *out && n && pread(fd, *out, n * sizeof **out, 0) == (ssize_t)(n * sizeof **out) ? n : 0;
    close(fd);
    for (size_t i = 0; i < n; i++) {
        hu_outsider *o = &(*out)[i];

        if (o->first_ns < 0 || o->last_ns < o->first_ns || o->last_ns > HU_TIME_MAX_NS || o->cpu_ns < 0 ||
            o->cpu_ns > HU_TIME_MAX_NS)
            continue; /* nobody wrote that */
        (*out)[kept] = *o;
        (*out)[kept++].name[sizeof o->name - 1] = '\0';
    }
    return kept;
}
