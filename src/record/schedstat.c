/* SPDX-License-Identifier: Apache-2.0
 * schedstat.c - /proc/PID/task/TID/{schedstat,stat} of a command and of all that descends from it.
 *
 * A look at a thread reads two small files, about 10 us; so the pause between looks is at least 100 times what the last
 * one took, and thousands of threads are read less often, not at the job's expense.  Descendants are found by their
 * parents in /proc/PID/stat, at every LISTED_EACH look, and stay known when the parent ends.  Traps:
 *  - a name may hold blanks and parentheses: the numbers of `stat` begin after the last ')';
 *  - process numbers are reused: a process is identified by its number and its start.
 */
#include "record/schedstat.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/map.h"
#include "protocol/redact.h"

enum { DEFAULT_HZ = 20, MOST_HZ = 50, COST_FACTOR = 100, LISTED_EACH = 4, THREADS_MAX = 1 << 20, ROWS = 128 };
enum { LATE_NS = 500000, MOST_TRIES = 3 };
enum { STAT_STATE = 0, STAT_PARENT = 1, STAT_UTIME = 11, STAT_STIME = 12, STAT_START = 19, STAT_CPU = 36, STAT_FIELDS = 37 };

typedef struct {
    uint32_t pid;
    uint64_t start; /* clock ticks since boot */
    uint32_t stamp; /* of the last look that found it */
} process;

typedef struct {
    hu_schedstat_row last;
    uint32_t         stamp;
} task;

struct hu_schedstat {
    hu_arena *arena;
    int       proc, file;
    uint32_t  stamp; /* counts looks */
    int64_t   next_ns, pause_ns;
    uint64_t  tick_ns;             /* of /proc/PID/stat */
    hu_map    process_of, task_of; /* by pid, by tid: places in the lists */
    HU_VEC(process) processes;
    HU_VEC(task) tasks;
    hu_schedstat_row rows[ROWS];
    size_t           n_rows;
    bool             has_failed;
};

static int64_t now_ns(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* ---- small files ------------------------------------------------------------------------------------------------- */

static size_t read_text(const hu_schedstat *s, const char *path, char *text, size_t room)
{
    const int     fd = openat(s->proc, path, O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd < 0 ? 0 : read(fd, text, room - 1);

    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    return n > 0 ? (size_t)n : 0;
}

typedef struct {
    char     state;
    char     name[16];
    uint64_t at[STAT_FIELDS];
} stat_line;

static bool read_stat(const hu_schedstat *s, const char *path, stat_line *out)
{
    char        text[1024];
    const char *open_at, *p;
    size_t      n, field = 1;

    if (!read_text(s, path, text, sizeof text))
        return false;
    open_at = strchr(text, '(');
    p = strrchr(text, ')');
    if (!open_at || !p || p < open_at || p[1] != ' ' || !p[2])
        return false;
    *out = (stat_line){.state = p[2]};
    n = (size_t)(p - open_at - 1);
    memcpy(out->name, open_at + 1, n < sizeof out->name - 1 ? n : sizeof out->name - 1);
    for (p += 3; *p == ' ' && field < STAT_FIELDS; field++) {
        char *end;

        out->at[field] = strtoull(p + 1, &end, 10);
        p = end;
    }
    return field == STAT_FIELDS;
}

static bool write_rows(hu_schedstat *s)
{
    const char *p = (const char *)s->rows;
    size_t      left = s->n_rows * sizeof s->rows[0];

    s->n_rows = 0;
    while (left && !s->has_failed) {
        const ssize_t did = write(s->file, p, left);

        if (did < 0 && errno == EINTR)
            continue;
        if (did <= 0) {
            s->has_failed = true; /* the reader leaves half a row out */
            break;
        }
        p += did;
        left -= (size_t)did;
    }
    return !s->has_failed;
}

static void put_row(hu_schedstat *s, const hu_schedstat_row *row)
{
    s->rows[s->n_rows++] = *row;
    if (s->n_rows == ROWS)
        write_rows(s);
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

static task *find_task(hu_schedstat *s, uint32_t pid, uint32_t tid)
{
    uint32_t *place = hu_map_put(&s->task_of, tid);

    if (!place)
        return NULL;
    if (*place == HU_MAP_NONE) {
        if (s->tasks.n >= THREADS_MAX || !hu_vec_push(s->arena, &s->tasks, ((task){.last = {.state = 'X'}})))
            return NULL;
        *place = (uint32_t)s->tasks.n - 1;
    }
    if (s->tasks.at[*place].last.pid != pid)
        s->tasks.at[*place].last = (hu_schedstat_row){.pid = pid, .tid = tid, .state = 'X'};
    return &s->tasks.at[*place];
}

static void look_at(hu_schedstat *s, uint32_t pid, uint32_t tid)
{
    char             path[64], text[96];
    stat_line        stat;
    hu_schedstat_row row = {.pid = pid, .tid = tid};
    int64_t          before_ns = 0;
    size_t           n = 0;
    task            *t;

    snprintf(path, sizeof path, "%u/task/%u/stat", pid, tid);
    if (!read_stat(s, path, &stat))
        return;
    snprintf(path, sizeof path, "%u/task/%u/schedstat", pid, tid);
    for (int tries = 0; n == 0 || (row.time_ns - before_ns > LATE_NS && tries < MOST_TRIES); tries++) {
        before_ns = now_ns(CLOCK_MONOTONIC); /* who is preempted between number and time has a time that is too late */
        n = read_text(s, path, text, sizeof text);
        row.time_ns = now_ns(CLOCK_MONOTONIC);
        if (n == 0)
            break;
    }
    if (n) {
        char *end;

        row.run_ns = strtoull(text, &end, 10);
        row.delay_ns = strtoull(end, NULL, 10);
    } else {
        row.run_ns = (stat.at[STAT_UTIME] + stat.at[STAT_STIME]) * s->tick_ns;
    }
    row.state = (uint8_t)stat.state;
    row.cpu = (uint16_t)stat.at[STAT_CPU];
    hu_redact_text(hu_str_of(stat.name), row.name, sizeof row.name - 1);
    t = find_task(s, pid, tid);
    if (!t)
        return;
    t->stamp = s->stamp;
    if (t->last.run_ns != row.run_ns || t->last.delay_ns != row.delay_ns || t->last.state != row.state)
        put_row(s, &row);
    t->last = row;
}

static void look_at_process(hu_schedstat *s, process *p)
{
    char           path[32];
    stat_line      stat;
    struct dirent *entry;
    DIR           *folder;
    int            fd;

    snprintf(path, sizeof path, "%u/stat", p->pid);
    if (!read_stat(s, path, &stat) || stat.at[STAT_START] != p->start)
        return;
    snprintf(path, sizeof path, "%u/task", p->pid);
    fd = openat(s->proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    folder = fd < 0 ? NULL : fdopendir(fd);
    if (!folder) {
        if (fd >= 0)
            close(fd);
        return;
    }
    p->stamp = s->stamp;
    while ((entry = readdir(folder)))
        if (entry->d_name[0] != '.')
            look_at(s, p->pid, (uint32_t)strtoul(entry->d_name, NULL, 10));
    closedir(folder);
}

/* ---- processes --------------------------------------------------------------------------------------------------- */

static void add_process(hu_schedstat *s, uint32_t pid, uint64_t start)
{
    uint32_t     *place = hu_map_put(&s->process_of, pid);
    const process p = {.pid = pid, .start = start, .stamp = s->stamp};

    if (!place)
        return;
    if (*place < s->processes.n && s->processes.at[*place].pid == pid)
        s->processes.at[*place] = p; /* the number returned */
    else if (hu_vec_push(s->arena, &s->processes, p))
        *place = (uint32_t)s->processes.n - 1;
}

/* Is it one of ours, and alive at the last look? */
static bool is_ours(const hu_schedstat *s, uint64_t pid)
{
    const uint32_t at = hu_map_get(&s->process_of, pid);

    return at < s->processes.n && s->processes.at[at].pid == pid;
}

static void list_processes(hu_schedstat *s)
{
    const int      fd = openat(s->proc, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR           *folder = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;

    while (folder && (entry = readdir(folder))) {
        const uint32_t pid = (uint32_t)strtoul(entry->d_name, NULL, 10);
        char           path[32];
        stat_line      stat;

        snprintf(path, sizeof path, "%u/stat", pid);
        if (pid && !is_ours(s, pid) && read_stat(s, path, &stat) && is_ours(s, stat.at[STAT_PARENT]))
            add_process(s, pid, stat.at[STAT_START]);
    }
    if (folder)
        closedir(folder);
    else if (fd >= 0)
        close(fd);
}

/* The place of a process that is gone goes to the last of the list. */
static void remove_ended(hu_schedstat *s)
{
    for (size_t i = 0; i < s->processes.n;) {
        uint32_t *place;

        if (s->processes.at[i].stamp == s->stamp) {
            i++;
            continue;
        }
        place = hu_map_put(&s->process_of, s->processes.at[i].pid);
        if (place)
            *place = UINT32_MAX - 1;
        s->processes.at[i] = s->processes.at[--s->processes.n];
        place = i < s->processes.n ? hu_map_put(&s->process_of, s->processes.at[i].pid) : NULL;
        if (place)
            *place = (uint32_t)i;
    }
    for (size_t i = 0; i < s->tasks.n; i++) {
        task *t = &s->tasks.at[i];

        if (t->stamp == s->stamp || t->last.state == 'X')
            continue;
        t->last.state = 'X';
        t->last.delay_ns = (uint64_t)t->last.time_ns;
        t->last.time_ns = now_ns(CLOCK_MONOTONIC);
        put_row(s, &t->last);
    }
}

static void look(hu_schedstat *s)
{
    const int64_t cpu_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);
    int64_t       cost_ns;

    s->stamp++;
    if (s->stamp % LISTED_EACH == 1)
        list_processes(s);
    for (size_t i = 0; i < s->processes.n; i++)
        look_at_process(s, &s->processes.at[i]);
    remove_ended(s);
    write_rows(s);
    cost_ns = (now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns) * COST_FACTOR;
    s->next_ns = now_ns(CLOCK_MONOTONIC) + (cost_ns > s->pause_ns ? cost_ns : s->pause_ns);
}

/* ---- begin and end ----------------------------------------------------------------------------------------------- */

static int open_files(hu_schedstat *s, pid_t child, const char *session, hu_error *why)
{
    const hu_schedstat_head head = {.magic = HU_SCHEDSTAT_MAGIC,
                                    .version = 1,
                                    .row_bytes = sizeof(hu_schedstat_row),
                                    .child = (uint32_t)child,
                                    .started_ns = now_ns(CLOCK_MONOTONIC)};
    char                    path[4352];
    stat_line               stat;

    s->proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    snprintf(path, sizeof path, "%d/stat", (int)child);
    if (s->proc < 0 || !read_stat(s, path, &stat))
        return hu_fail(why, HU_EIO, "/proc", HU_NO_OFFSET,
                       "CPU wait times of threads are not recorded: /proc cannot be read; mount it");
    snprintf(path, sizeof path, "%s/schedstat", session);
    s->file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (s->file < 0 || write(s->file, &head, sizeof head) != (ssize_t)sizeof head)
        return hu_fail(why, HU_EIO, path, HU_NO_OFFSET, "CPU wait times of threads are not recorded: %s", strerror(errno));
    add_process(s, (uint32_t)child, stat.at[STAT_START]);
    return 0;
}

static void free_all(hu_schedstat *s)
{
    if (s->proc >= 0)
        close(s->proc);
    if (s->file >= 0)
        close(s->file);
    hu_arena_free(s->arena);
}

hu_schedstat *hu_schedstat_start(unsigned hz, pid_t child, const char *session, hu_error *why)
{
    hu_arena     *arena = hu_arena_new();
    hu_schedstat *s = arena ? hu_arena_calloc(arena, 1, sizeof *s) : NULL;

    if (!s || !hu_map_init(&s->process_of, arena, 64) || !hu_map_init(&s->task_of, arena, 256)) {
        hu_arena_free(arena);
        hu_fail_memory(why);
        return NULL;
    }
    hz = hz == 0 ? DEFAULT_HZ : hz > MOST_HZ ? MOST_HZ : hz;
    s->arena = arena;
    s->proc = s->file = -1;
    s->tick_ns = 1000000000 / (uint64_t)sysconf(_SC_CLK_TCK);
    s->pause_ns = 1000000000 / (int64_t)hz;
    if (open_files(s, child, session, why) < 0) {
        free_all(s);
        return NULL;
    }
    return s;
}

void hu_schedstat_round(hu_schedstat *s)
{
    if (s && now_ns(CLOCK_MONOTONIC) >= s->next_ns)
        look(s);
}

void hu_schedstat_ended(hu_schedstat *s, pid_t pid)
{
    const uint32_t at = s ? hu_map_get(&s->process_of, (uint64_t)pid) : HU_MAP_NONE;

    if (at != HU_MAP_NONE && is_ours(s, (uint64_t)pid))
        look_at_process(s, &s->processes.at[at]);
}

int hu_schedstat_stop(hu_schedstat *s)
{
    bool has_failed;

    if (!s)
        return 0;
    look(s);
    has_failed = s->has_failed;
    free_all(s);
    return has_failed ? HU_EIO : 0;
}
