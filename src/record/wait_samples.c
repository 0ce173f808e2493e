/* SPDX-License-Identifier: Apache-2.0
 * wait_samples.c - /proc/PID/task/TID/{schedstat,syscall} of a command and of all that descends from it.
 *
 * `schedstat` counts how often a thread was put on a CPU.  As long as that number stays, a thread that was found waiting is
 * in the same wait: one row covers it however long it lasts, and `syscall` (which needs the permissions of a debugger) is
 * read once for each wait.
 *
 * A look samples at most BATCH threads, starting after those of the look before, and the pause after it is at least
 * COST_FACTOR times the CPU time that it took: thousands of threads are sampled less often, not at the job's expense.
 * Where no thread has run for QUIET_LOOKS looks, the pause is doubled.  It varies, because a program that works and waits
 * in the same rhythm would otherwise always be sampled in the same place.
 *
 * Traps:
 *  - a call that takes long to be read (the kernel waits until the thread has left its CPU) belongs to no known moment;
 *  - 32-bit programs number their system calls differently: the header of the executable shows them;
 *  - process numbers are reused, and an exec turns a process into another program: its file is read again.
 */
#include "record/wait_samples.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/intern.h"
#include "base/map.h"
#include "protocol/redact.h"
#include "record/elf_runtime.h"
#include "record/wait_calls.h"
#include "record/wait_file.h"

enum {
    BATCH = 64,
    ROWS = 128,
    COST_FACTOR = 150,
    LIST_FACTOR = 300,
    QUIET_LOOKS = 8,
    MOST_THREADS = 1 << 16,
    MOST_PROCESSES = 1 << 14
};
static const int64_t OTHERS_NS = 5000000000; /* between two checks of processes that were not ours */

enum {
    MILLISECOND_NS = 1000000,
    PAUSE_NS = 5 * MILLISECOND_NS,   /* and up to as much again, */
    VARIES_NS = 10 * MILLISECOND_NS, /* 10 ms on average */
    LIST_NS = 60 * MILLISECOND_NS,   /* between two looks for new processes and threads */
    FLUSH_NS = 1000 * MILLISECOND_NS,
    SLOW_NS = 200000,              /* a read that took longer has no moment */
    NEAR_NS = 50 * MILLISECOND_NS, /* looks that are further apart say nothing about what is between them */
};
enum { TERMINAL_MAJOR = 4, CONSOLE_MAJOR = 5, PTY_FIRST_MAJOR = 136, PTY_LAST_MAJOR = 143 };

typedef struct {
    uint32_t pid;
    uint64_t start;  /* clock ticks since boot */
    uint32_t stamp;  /* of the last list that it was in */
    dev_t    device; /* of its executable, */
    ino_t    file;
    uint32_t runtime; /* hu_wait_runtime */
    bool     is_known, is_native, is_denied, is_over;
} process;

typedef struct {
    hu_wait_row row;
    uint64_t    runs; /* how often it was put on a CPU, at the last look */
    int64_t     look_ns;
    uint32_t    process;    /* index */
    bool        is_waiting; /* `row` is of a wait that may still last */
    bool        is_blocked; /* in a call, known or not: nothing is new before it runs again */
    bool        is_gone;
} task;

struct hu_wait_samples {
    hu_arena *arena;
    int       proc, file;
    bool      wants_paths, has_failed, is_off;
    uint64_t  bytes, max_bytes, random;
    uint32_t  stamp, own;
    long      newest; /* number of the newest process or thread of the machine, when they were listed */
    int64_t   next_ns, list_ns, others_ns, flush_ns;
    size_t    cursor; /* of tasks */
    unsigned  quiet;  /* looks since a thread was met that had run */
    hu_intern texts;
    uint32_t  n_texts;                     /* written */
    hu_map    process_of, task_of, others; /* by pid, tid; pids that are not ours */
    hu_arena *others_arena;
    HU_VEC(process) processes;
    HU_VEC(uint32_t) places; /* of processes that have ended */
    HU_VEC(task) tasks;
    hu_wait_row    rows[ROWS];
    size_t         n_rows;
    hu_wait_totals totals;
};

static int64_t now_ns(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* Bytes of a small file, '\0' behind them; -errno. */
static ssize_t read_text(const hu_wait_samples *s, const char *path, char *text, size_t room)
{
    const int fd = openat(s->proc, path, O_RDONLY | O_CLOEXEC);
    ssize_t   n;

    if (fd < 0)
        return -errno;
    n = read(fd, text, room - 1);
    n = n < 0 ? -errno : n;
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    return n;
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

static void write_bytes(hu_wait_samples *s, const void *data, size_t n)
{
    const char *p = data;

    if (s->max_bytes && s->bytes + n > s->max_bytes)
        s->has_failed = true;
    while (n && !s->has_failed) {
        const ssize_t did = write(s->file, p, n);

        if (did < 0 && errno == EINTR)
            continue;
        if (did <= 0) {
            s->has_failed = true; /* the reader leaves half a row out */
            return;
        }
        p += did;
        n -= (size_t)did;
        s->bytes += (size_t)did;
    }
}

static void flush_rows(hu_wait_samples *s)
{
    write_bytes(s, s->rows, s->n_rows * sizeof *s->rows);
    s->n_rows = 0;
}

static void put_row(hu_wait_samples *s, const hu_wait_row *row)
{
    s->rows[s->n_rows++] = *row;
    s->totals.rows++;
    if (s->n_rows == ROWS)
        flush_rows(s);
}

/* The number of a text in the file; 0 for none. */
static uint32_t put_text(hu_wait_samples *s, hu_str text)
{
    static const char padding[sizeof(hu_wait_row)];
    char              clean[1024];
    const size_t      n = hu_redact_text(text, clean, sizeof clean);
    const uint32_t    before = (uint32_t)s->texts.entries.n, id = hu_intern_add(&s->texts, (hu_str){clean, n});
    hu_wait_row       row = {.type = HU_WAIT_ROW_TEXT, .text = id, .object = n};

    if (id == UINT32_MAX || id < before)
        return id == UINT32_MAX ? 0 : id;
    put_row(s, &row);
    flush_rows(s);
    write_bytes(s, clean, n);
    write_bytes(s, padding, (sizeof row - n % sizeof row) % sizeof row);
    return id;
}

/* ---- what is waited for ------------------------------------------------------------------------------------------ */

static bool is_terminal(dev_t device)
{
    const unsigned number = major(device);

    return number == TERMINAL_MAJOR || number == CONSOLE_MAJOR || (number >= PTY_FIRST_MAJOR && number <= PTY_LAST_MAJOR);
}

/* Is a socket one of this machine?  By its number in the process's list of such. */
static bool is_local_socket(const hu_wait_samples *s, uint32_t pid, ino_t inode)
{
    char  path[48], line[512], number[32];
    FILE *f;
    bool  is_found = false;
    int   fd;

    snprintf(path, sizeof path, "%u/net/unix", pid);
    snprintf(number, sizeof number, " %llu", (unsigned long long)inode);
    fd = openat(s->proc, path, O_RDONLY | O_CLOEXEC);
    f = fd < 0 ? NULL : fdopen(fd, "r");
    if (!f) {
        if (fd >= 0)
            close(fd);
        return false;
    }
    while (!is_found && fgets(line, sizeof line, f)) {
        const char *at = strstr(line, number);

        is_found = at && (at[strlen(number)] == ' ' || at[strlen(number)] == '\n');
    }
    fclose(f);
    return is_found;
}

/* A descriptor says what a call on it waits for, as it does inside of a program (osrt_fds.c). */
static void look_at_descriptor(hu_wait_samples *s, hu_wait_row *row, uint64_t descriptor)
{
    char        path[64], target[1024];
    struct stat about;
    ssize_t     n;

    snprintf(path, sizeof path, "%u/fd/%u", row->pid, (unsigned)descriptor);
    if (fstatat(s->proc, path, &about, 0) < 0)
        return;
    if (S_ISFIFO(about.st_mode))
        row->class = HU_OS_PIPE;
    else if (S_ISSOCK(about.st_mode))
        row->class = is_local_socket(s, row->pid, about.st_ino) ? HU_OS_PIPE : HU_OS_NETWORK;
    else if ((S_ISCHR(about.st_mode) && is_terminal(about.st_rdev)) || (about.st_mode & S_IFMT) == 0)
        row->class = HU_OS_WAIT; /* a terminal, an eventfd and its like */
    if (!s->wants_paths || !(S_ISREG(about.st_mode) || S_ISCHR(about.st_mode) || S_ISBLK(about.st_mode)))
        return; /* the number of a pipe or socket tells nobody anything */
    n = readlinkat(s->proc, path, target, sizeof target);
    if (n > 0 && n < (ssize_t)sizeof target)
        row->text = put_text(s, (hu_str){target, (size_t)n});
}

/* Which program a process runs by now: may its calls be read, and who schedules its threads? */
static bool inspect(hu_wait_samples *s, process *p)
{
    char           path[32];
    struct stat    about;
    hu_elf_runtime found;
    int            fd;

    snprintf(path, sizeof path, "%u/exe", p->pid);
    if (fstatat(s->proc, path, &about, 0) < 0)
        return false;
    if (p->is_known && p->file == about.st_ino && p->device == about.st_dev)
        return p->is_native;
    fd = openat(s->proc, path, O_RDONLY | O_CLOEXEC);
    found = fd < 0 ? (hu_elf_runtime){0} : hu_elf_runtime_read(fd);
    if (fd >= 0)
        close(fd);
    p->is_known = true;
    p->is_native = found.is_64_bit;
    p->file = about.st_ino;
    p->device = about.st_dev;
    p->runtime = found.is_go ? HU_WAIT_RUNTIME_GO : HU_WAIT_RUNTIME_NONE;
    if (found.is_go)
        put_row(s, &(hu_wait_row){.type = HU_WAIT_ROW_RUNTIME, .pid = p->pid, .class = (uint8_t)p->runtime});
    return p->is_native;
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

static void close_wait(hu_wait_samples *s, task *t, int64_t look_ns)
{
    if (!t->is_waiting)
        return;
    t->is_waiting = false;
    t->row.to_ns = look_ns - t->row.last_ns < NEAR_NS ? t->row.last_ns + (look_ns - t->row.last_ns) / 2 : t->row.last_ns;
    put_row(s, &t->row);
}

static void deny(hu_wait_samples *s, process *p, int problem)
{
    if (!p->is_denied)
        s->totals.denied++;
    p->is_denied = true;
    s->totals.problem = problem;
}

/* The call that a thread waits in; false: it waits in none, or in none that is known. */
static bool read_call(hu_wait_samples *s, task *t, int64_t look_ns)
{
    process            *p = &s->processes.at[t->process];
    const int64_t       before_ns = now_ns(CLOCK_MONOTONIC);
    char                path[64], text[256], *at, *end;
    uint64_t            arguments[HU_WAIT_ARGUMENTS];
    const hu_wait_call *call;
    int64_t             after_ns;
    int32_t             row;
    ssize_t             n;
    long                number;
    hu_os_class class;

    snprintf(path, sizeof path, "%u/task/%u/syscall", t->row.pid, t->row.tid);
    n = read_text(s, path, text, sizeof text);
    after_ns = now_ns(CLOCK_MONOTONIC);
    if (n == -EPERM || n == -EACCES)
        deny(s, p, (int)-n);
    if (n == -ENOENT && faccessat(s->proc, "self/syscall", F_OK, 0) < 0) {
        s->totals.problem = ENOENT;
        s->is_off = true;
    }
    if (n <= 0 || text[0] < '0' || text[0] > '9' || after_ns - before_ns > SLOW_NS)
        return false; /* it runs, or waits in no call */
    t->is_blocked = true;
    number = strtol(text, &end, 10);
    row = hu_wait_call_find(number);
    if (row < 0 || !inspect(s, p))
        return false;
    for (size_t i = 0; i < HU_WAIT_ARGUMENTS; i++) {
        at = end;
        arguments[i] = strtoull(at, &end, 16);
    }
    call = hu_wait_call_at((uint32_t)row);
    class = hu_wait_call_class(call, arguments);
    if (class == HU_OS_CLASS_COUNT || (p->runtime == HU_WAIT_RUNTIME_GO && hu_wait_call_parks(call)))
        return false;
    t->row = (hu_wait_row){.type = HU_WAIT_ROW_SEEN,
                           .pid = t->row.pid,
                           .tid = t->row.tid,
                           .call = (uint16_t)row,
                           .class = (uint8_t) class,
                           .object = call->kind == HU_WAIT_ON_FUTEX ? arguments[0] : 0};
    t->row.first_ns = t->row.last_ns = before_ns + (after_ns - before_ns) / 2;
    t->row.from_ns = look_ns && t->row.first_ns - look_ns < NEAR_NS ? look_ns + (t->row.first_ns - look_ns) / 2
                                                                    : t->row.first_ns;
    t->row.to_ns = t->row.last_ns;
    if (call->kind == HU_WAIT_ON_FD)
        look_at_descriptor(s, &t->row, arguments[0]);
    return true;
}

static void look_at(hu_wait_samples *s, task *t)
{
    const int64_t before_ns = now_ns(CLOCK_MONOTONIC), look_ns = t->look_ns;
    char          path[64], text[96], *end;
    uint64_t      runs = 0;
    ssize_t       n;

    s->totals.looks++;
    snprintf(path, sizeof path, "%u/task/%u/schedstat", t->row.pid, t->row.tid);
    n = read_text(s, path, text, sizeof text);
    t->look_ns = before_ns;
    if (n == -ENOENT || n == -ESRCH) {
        snprintf(path, sizeof path, "%u/task/%u", t->row.pid, t->row.tid);
        t->is_gone = faccessat(s->proc, path, F_OK, 0) < 0;
        if (t->is_gone) {
            close_wait(s, t, before_ns);
            return;
        }
    }
    if (n > 0) {
        strtoull(text, &end, 10);
        strtoull(end, &end, 10);
        runs = strtoull(end, NULL, 10);
    }
    if (t->is_blocked && n > 0 && runs == t->runs) {
        t->row.last_ns = before_ns;
        return;
    }
    close_wait(s, t, before_ns);
    s->quiet = 0;
    t->is_blocked = false;
    t->runs = runs;
    t->is_waiting = read_call(s, t, look_ns);
}

static bool add_task(hu_wait_samples *s, uint32_t process_at, uint32_t tid)
{
    const uint32_t pid = s->processes.at[process_at].pid;
    uint32_t      *place = hu_map_put(&s->task_of, tid);
    const task     fresh = {.row = {.pid = pid, .tid = tid}, .process = process_at};

    if (!place)
        return false;
    if (*place < s->tasks.n && s->tasks.at[*place].row.tid == tid) {
        task *t = &s->tasks.at[*place];

        if (t->row.pid == pid && !t->is_gone)
            t->process = process_at;
        else
            *t = fresh;
        return true;
    }
    if (s->tasks.n >= MOST_THREADS || !hu_vec_push(s->arena, &s->tasks, fresh))
        return false;
    *place = (uint32_t)s->tasks.n - 1;
    return true;
}

static void list_threads(hu_wait_samples *s, uint32_t at)
{
    const process *p = &s->processes.at[at];
    char           path[32];
    struct dirent *entry;
    DIR           *folder;
    int            fd;

    snprintf(path, sizeof path, "%u/task", p->pid);
    fd = p->is_denied ? -1 : openat(s->proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    folder = fd < 0 ? NULL : fdopendir(fd);
    if (!folder) {
        if (fd >= 0)
            close(fd);
        return;
    }
    while ((entry = readdir(folder)))
        if (entry->d_name[0] != '.')
            add_task(s, at, (uint32_t)strtoul(entry->d_name, NULL, 10));
    closedir(folder);
}

/* ---- processes --------------------------------------------------------------------------------------------------- */

/* Parent and start from /proc/PID/stat, whose numbers begin behind the last ')'. */
static bool read_stat(const hu_wait_samples *s, uint32_t pid, uint32_t *parent, uint64_t *start)
{
    char  path[32], text[1024], *p;
    char *end;

    snprintf(path, sizeof path, "%u/stat", pid);
    if (read_text(s, path, text, sizeof text) <= 0 || !(p = strrchr(text, ')')) || strlen(p) < 4)
        return false;
    *parent = (uint32_t)strtoul(p + 4, &end, 10);
    for (int field = 5; field <= 22 && *end; field++)
        *start = strtoull(end, &end, 10);
    return true;
}

static uint32_t find_process(const hu_wait_samples *s, uint32_t pid)
{
    const uint32_t at = hu_map_get(&s->process_of, pid);

    return at < s->processes.n && s->processes.at[at].pid == pid ? at : UINT32_MAX;
}

static void add_process(hu_wait_samples *s, uint32_t pid, uint64_t start)
{
    uint32_t     *place = hu_map_put(&s->process_of, pid);
    const process p = {.pid = pid, .start = start, .stamp = s->stamp};

    if (!place)
        return;
    if (*place >= s->processes.n && s->places.n)
        *place = s->places.at[--s->places.n];
    if (*place < s->processes.n)
        s->processes.at[*place] = p; /* also where the number returned */
    else if (s->processes.n < MOST_PROCESSES && hu_vec_push(s->arena, &s->processes, p))
        *place = (uint32_t)s->processes.n - 1;
}

/* What was not ours a moment ago is not looked at again each time. */
static bool is_other(hu_wait_samples *s, uint32_t pid, int64_t now)
{
    if (now >= s->others_ns) {
        hu_arena_free(s->others_arena);
        s->others_arena = hu_arena_new();
        s->others_ns = now + OTHERS_NS;
        if (!s->others_arena || !hu_map_init(&s->others, s->others_arena, 256))
            s->others_ns = INT64_MAX; /* without memory each process is looked at */
    }
    return s->others_ns != INT64_MAX && hu_map_get(&s->others, pid) == 1;
}

static void list_processes(hu_wait_samples *s, int64_t now)
{
    const int      fd = openat(s->proc, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR           *folder = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;

    s->stamp++;
    while (folder && (entry = readdir(folder))) {
        const uint32_t pid = (uint32_t)strtoul(entry->d_name, NULL, 10);
        const uint32_t at = pid ? find_process(s, pid) : UINT32_MAX;
        uint32_t       parent = 0, *place;
        uint64_t       start = 0;

        if (at != UINT32_MAX && !s->processes.at[at].is_denied) {
            s->processes.at[at].stamp = s->stamp;
            continue;
        }
        if (!pid || pid == s->own || is_other(s, pid, now) || !read_stat(s, pid, &parent, &start))
            continue;
        if (at != UINT32_MAX && s->processes.at[at].start == start)
            s->processes.at[at].stamp = s->stamp;
        else if (find_process(s, parent) != UINT32_MAX)
            add_process(s, pid, start);
        else if (s->others_ns != INT64_MAX && (place = hu_map_put(&s->others, pid)))
            *place = 1;
    }
    if (folder)
        closedir(folder);
    else if (fd >= 0)
        close(fd);
}

/* The place of a thread that has ended goes to the last of the list. */
static void forget_threads(hu_wait_samples *s)
{
    for (size_t i = 0; i < s->tasks.n;) {
        uint32_t *place;

        if (!s->tasks.at[i].is_gone) {
            i++;
            continue;
        }
        place = hu_map_put(&s->task_of, s->tasks.at[i].row.tid);
        if (place && *place == i)
            *place = UINT32_MAX - 1;
        s->tasks.at[i] = s->tasks.at[--s->tasks.n];
        place = i < s->tasks.n ? hu_map_put(&s->task_of, s->tasks.at[i].row.tid) : NULL;
        if (place)
            *place = (uint32_t)i;
    }
}

/* Whoever is not in the last list; the place is somebody else's from now on. */
static void end_processes(hu_wait_samples *s, int64_t now)
{
    for (uint32_t i = 0; i < s->processes.n; i++) {
        process  *p = &s->processes.at[i];
        uint32_t *place;

        if (p->is_over || p->stamp == s->stamp || !hu_vec_push(s->arena, &s->places, i))
            continue;
        p->is_over = true;
        place = hu_map_put(&s->process_of, p->pid);
        if (place && *place == i)
            *place = UINT32_MAX - 1;
    }
    for (size_t i = 0; i < s->tasks.n; i++)
        if (s->processes.at[s->tasks.at[i].process].is_over) {
            close_wait(s, &s->tasks.at[i], now);
            s->tasks.at[i].is_gone = true;
        }
    forget_threads(s);
}

/* ---- looks ------------------------------------------------------------------------------------------------------- */

static int64_t pause_of(hu_wait_samples *s, int64_t cost_ns)
{
    int64_t pause_ns;

    s->random = s->random * 6364136223846793005u + 1442695040888963407u;
    pause_ns = PAUSE_NS + (int64_t)((s->random >> 33) % VARIES_NS);
    pause_ns *= s->quiet > QUIET_LOOKS ? 2 : 1;
    return cost_ns * COST_FACTOR > pause_ns ? cost_ns * COST_FACTOR : pause_ns;
}

/* The number that the kernel gave last to a process or thread: as long as it stays, there is none to be found. */
static long newest_number(const hu_wait_samples *s)
{
    char        text[128];
    const char *last;

    if (read_text(s, "loadavg", text, sizeof text) <= 0 || !(last = strrchr(text, ' ')))
        return -1;
    return strtol(last, NULL, 10);
}

/* Finds new processes and threads, where there are any. */
static void list_all(hu_wait_samples *s, int64_t now)
{
    const int64_t cpu_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);
    const long    newest = newest_number(s);
    const bool    is_first = now >= s->others_ns; /* all others are looked at: that is seldom, and no measure of the next */
    int64_t       cost_ns;

    if (newest >= 0 && newest == s->newest)
        return;
    s->newest = newest;
    list_processes(s, now);
    end_processes(s, now);
    for (uint32_t i = 0; i < s->processes.n; i++)
        if (!s->processes.at[i].is_over)
            list_threads(s, i);
    cost_ns = (now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns) * LIST_FACTOR;
    s->list_ns = now + (cost_ns > LIST_NS && !is_first ? cost_ns : LIST_NS);
}

static void look(hu_wait_samples *s, int64_t now)
{
    int64_t cpu_ns;
    size_t  n;

    if (now >= s->list_ns)
        list_all(s, now);
    if (now >= s->flush_ns && s->n_rows) { /* what is on the disk outlives us */
        flush_rows(s);
        s->flush_ns = now + FLUSH_NS;
    }
    cpu_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);
    n = s->tasks.n < BATCH ? s->tasks.n : BATCH;
    for (size_t i = 0; i < n; i++) {
        task *t = &s->tasks.at[s->cursor++ % s->tasks.n];

        if (!t->is_gone && !s->processes.at[t->process].is_denied)
            look_at(s, t);
    }
    s->cursor = s->tasks.n ? s->cursor % s->tasks.n : 0;
    s->quiet++;
    forget_threads(s);
    s->next_ns = now_ns(CLOCK_MONOTONIC) + pause_of(s, now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns);
}

int hu_wait_samples_round(hu_wait_samples *s)
{
    const int64_t now = now_ns(CLOCK_MONOTONIC);
    int64_t       left_ns;

    if (s->is_off || s->has_failed)
        return 1000;
    if (now >= s->next_ns)
        look(s, now);
    left_ns = s->next_ns - now_ns(CLOCK_MONOTONIC);
    return left_ns <= MILLISECOND_NS ? 1 : (int)((left_ns + MILLISECOND_NS - 1) / MILLISECOND_NS);
}

hu_wait_totals hu_wait_samples_so_far(const hu_wait_samples *s)
{
    return s->totals;
}

/* ---- begin and end ----------------------------------------------------------------------------------------------- */

static void free_all(hu_wait_samples *s)
{
    if (s->proc >= 0)
        close(s->proc);
    if (s->file >= 0)
        close(s->file);
    hu_arena_free(s->others_arena);
    hu_arena_free(s->arena);
}

static int open_files(hu_wait_samples *s, pid_t child, const char *session, hu_error *why)
{
    const hu_wait_head head = {.magic = HU_WAIT_MAGIC, .version = 1, .row_bytes = sizeof(hu_wait_row)};
    char               path[4352];
    uint32_t           parent;
    uint64_t           start = 0;

    s->proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (s->proc < 0 || !read_stat(s, (uint32_t)child, &parent, &start))
        return hu_fail(why, HU_EIO, "/proc", HU_NO_OFFSET,
                       "what threads wait for outside of recorded calls is not known: /proc cannot be read; mount it");
    snprintf(path, sizeof path, "%s/waits", session);
    s->file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (s->file < 0)
        return hu_fail(why, HU_EIO, path, HU_NO_OFFSET, "what threads wait for outside of recorded calls is not known: %s",
                       strerror(errno));
    write_bytes(s, &head, sizeof head);
    add_process(s, (uint32_t)child, start);
    return 0;
}

hu_wait_samples *hu_wait_samples_start(pid_t child, const char *session, bool wants_paths, uint64_t max_bytes, hu_error *why)
{
    hu_arena        *arena = hu_arena_new();
    hu_wait_samples *s = arena ? hu_arena_calloc(arena, 1, sizeof *s) : NULL;

    if (!s || !hu_map_init(&s->process_of, arena, 64) || !hu_map_init(&s->task_of, arena, 256) ||
        !hu_intern_init(&s->texts, arena)) {
        hu_arena_free(arena);
        hu_fail_memory(why);
        return NULL;
    }
    s->arena = arena;
    s->proc = s->file = -1;
    s->wants_paths = wants_paths;
    s->max_bytes = max_bytes;
    s->own = (uint32_t)getpid();
    s->random = (uint64_t)child;
    s->newest = -1;
    if (open_files(s, child, session, why) < 0) {
        free_all(s);
        return NULL;
    }
    return s;
}

int hu_wait_samples_stop(hu_wait_samples *s)
{
    bool has_failed;

    if (!s)
        return 0;
    for (size_t i = 0; i < s->tasks.n; i++)
        close_wait(s, &s->tasks.at[i], s->tasks.at[i].row.last_ns);
    flush_rows(s);
    has_failed = s->has_failed;
    free_all(s);
    return has_failed ? HU_EIO : 0;
}
