/* SPDX-License-Identifier: Apache-2.0
 * processes.c - one small file for each process and look (stat), which stays open; command and user are asked once.
 *
 * A process that has gone answers no more through its open file, so a number that another one got is never mixed up.  Kernel
 * threads are left out: they are the kernel's CPU time, which the header shows.
 */
#include "top/processes.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/number.h"
#include "monitor/files.h"
#include "monitor/jobs/user_names.h"

enum { STAT_ROOM = 1024, KERNEL_FLAG = 0x200000, FDS_KEPT_FREE = 128, FDS_MOST = 16384, FIELDS_MOST = 24 };

typedef struct {
    uint32_t pid;
    int      stat; /* -1: no descriptor was left for it */
    bool     is_seen;
    bool     is_kernel;
    uint32_t uid;
    uint64_t began;
    char     comm[HU_TOP_WORD];
    double   cpu_s;
    int64_t  at_ns; /* CLOCK_MONOTONIC of cpu_s; 0: never */
    char     user[HU_TOP_WORD], command[HU_TOP_COMMAND];
} known;

struct hu_top_processes {
    const char   *root;
    int           proc;
    known        *all; /* by number */
    size_t        n, room, open, open_most;
    double        tick_s, page;
    hu_user_names names;
};

hu_top_processes *hu_top_processes_open(const char *root)
{
    hu_top_processes *p = calloc(1, sizeof *p);
    const int         top = p ? hu_files_root(root) : -1;
    struct rlimit     files;

    if (!p)
        return NULL;
    p->root = root;
    p->proc = top < 0 ? -1 : hu_files_folder(top, "proc");
    if (top >= 0)
        close(top);
    if (p->proc < 0) {
        free(p);
        return NULL;
    }
    p->tick_s = 1.0 / (double)sysconf(_SC_CLK_TCK);
    p->page = (double)sysconf(_SC_PAGESIZE);
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max < FDS_MOST ? files.rlim_max : FDS_MOST;
        if (setrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur > FDS_KEPT_FREE)
            p->open_most = files.rlim_cur - FDS_KEPT_FREE;
    }
    return p;
}

static void drop(hu_top_processes *p, known *k)
{
    if (k->stat >= 0) {
        close(k->stat);
        p->open--;
    }
    k->stat = -1;
}

void hu_top_processes_close(hu_top_processes *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < p->n; i++)
        drop(p, &p->all[i]);
    close(p->proc);
    free(p->all);
    free(p);
}

/* ---- who it is --------------------------------------------------------------------------------------------------- */

/* The words of its command line, blanks between; one that has none is shown by its name in brackets. */
static void ask_command(const hu_top_processes *p, known *k, hu_str comm)
{
    char   path[48];
    size_t n;

    snprintf(path, sizeof path, "%u/cmdline", k->pid);
    n = hu_files_bytes(p->proc, path, k->command, sizeof k->command - 1);
    while (n && k->command[n - 1] == '\0')
        n--;
    k->command[n] = '\0';
    for (size_t i = 0; i < n; i++)
        if (k->command[i] == '\0')
            k->command[i] = ' ';
    if (n == 0)
        snprintf(k->command, sizeof k->command, "[%.*s]", HU_FMT(comm));
}

static void ask_who(hu_top_processes *p, known *k, hu_str comm)
{
    struct stat st;
    char        path[24], name[HU_OWNER_TEXT] = "";

    snprintf(path, sizeof path, "%u", k->pid);
    if (fstatat(p->proc, path, &st, 0) == 0) {
        k->uid = st.st_uid;
        hu_user_name(&p->names, p->root, st.st_uid, name);
    }
    snprintf(k->user, sizeof k->user, "%.*s", HU_TOP_WORD - 1, name);
    ask_command(p, k, comm);
}

/* ---- stat -------------------------------------------------------------------------------------------------------- */

typedef struct {
    hu_str   comm;
    char     state;
    uint64_t flags, user, system, threads, began, pages;
} stat_fields;

/* The name may hold anything, blanks and parentheses too: the last parenthesis ends it. */
static bool parse_stat(hu_str text, stat_fields *out)
{
    const char *open = text.n ? memchr(text.p, '(', text.n) : NULL;
    const char *close = open ? memrchr(text.p, ')', text.n) : NULL;
    uint64_t    field[FIELDS_MOST + 1] = {0};
    hu_str      rest;

    if (!close || close < open || (size_t)(text.p + text.n - close) < 4)
        return false;
    out->comm = (hu_str){open + 1, (size_t)(close - open) - 1};
    out->state = close[2];
    rest = (hu_str){close + 3, (size_t)(text.p + text.n - close) - 3};
    for (int i = 4; i <= FIELDS_MOST; i++) {
        const hu_str word = hu_cut_word(&rest);

        if (word.n == 0)
            return false;
        if (!hu_parse_u64(word, &field[i]))
            field[i] = 0; /* some may be negative: a priority, a terminal's group */
    }
    out->flags = field[9];
    out->user = field[14];
    out->system = field[15];
    out->threads = field[20];
    out->began = field[22];
    out->pages = field[24];
    return true;
}

static hu_str read_stat(hu_top_processes *p, known *k, char text[STAT_ROOM])
{
    char    path[48];
    ssize_t n;

    if (k->stat < 0) {
        snprintf(path, sizeof path, "%u/stat", k->pid);
        k->stat = openat(p->proc, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        p->open += k->stat >= 0;
    }
    n = k->stat < 0 ? 0 : pread(k->stat, text, STAT_ROOM, 0);
    if (p->open > p->open_most)
        drop(p, k);
    return (hu_str){text, n > 0 ? (size_t)n : 0};
}

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* ---- GPUs -------------------------------------------------------------------------------------------------------- */

static void put_gpus(const hu_board_state *board, hu_top_process *out)
{
    for (uint32_t i = 0; board && i < board->n; i++) {
        const hu_board_gpu *g = &board->gpu[i];

        for (uint32_t j = 0; j < g->n_pids && j < HU_BOARD_PIDS; j++) {
            const size_t n = strlen(out->gpus);

            if (g->pid[j] != out->pid)
                continue;
            if (g->gi >= 0)
                snprintf(out->gpus + n, sizeof out->gpus - n, "%s%d.%d", n ? "," : "", g->index, g->gi);
            else
                snprintf(out->gpus + n, sizeof out->gpus - n, "%s%d", n ? "," : "", g->index);
            if (g->pid_memory[j] >= 0)
                out->gpu_memory = isnan(out->gpu_memory) ? g->pid_memory[j] : out->gpu_memory + g->pid_memory[j];
            if (g->pid_busy[j] >= 0)
                out->gpu_busy = isnan(out->gpu_busy) ? g->pid_busy[j] : out->gpu_busy + g->pid_busy[j];
        }
    }
}

/* ---- the look ---------------------------------------------------------------------------------------------------- */

/* Where a number is or belongs. */
static size_t place_of(const hu_top_processes *p, uint32_t pid)
{
    size_t from = 0, to = p->n;

    if (p->n && p->all[p->n - 1].pid < pid) /* the kernel lists them in order */
        return p->n;
    while (from < to) {
        const size_t mid = from + (to - from) / 2;

        if (p->all[mid].pid < pid)
            from = mid + 1;
        else
            to = mid;
    }
    return from;
}

static known *known_of(hu_top_processes *p, uint32_t pid)
{
    const size_t at = place_of(p, pid);

    if (at < p->n && p->all[at].pid == pid)
        return &p->all[at];
    if (p->n == p->room) {
        const size_t room = p->room ? 2 * p->room : 256;
        known       *more = p->n >= HU_TOP_PROCESSES_MOST ? NULL : realloc(p->all, room * sizeof *more);

        if (!more)
            return NULL;
        p->all = more;
        p->room = room;
    }
    memmove(&p->all[at + 1], &p->all[at], (p->n - at) * sizeof *p->all);
    p->n++;
    p->all[at] = (known){.pid = pid, .stat = -1};
    return &p->all[at];
}

static void look_at(hu_top_processes *p, known *k, const hu_board_state *board, hu_top_look *l)
{
    hu_top_process *out;
    stat_fields     f;
    char            text[STAT_ROOM];
    const hu_str    stat = read_stat(p, k, text);
    double          cpu_s;
    int64_t         now;

    if (!parse_stat(stat, &f)) { /* it ended; a new one of its number is new */
        drop(p, k);
        *k = (known){.pid = k->pid, .stat = -1};
        return;
    }
    if (!k->command[0] || k->began != f.began || !hu_str_equal(hu_str_of(k->comm), f.comm)) {
        if (k->began != f.began) /* else it became another program, whose time goes on */
            k->at_ns = 0;
        k->began = f.began;
        snprintf(k->comm, sizeof k->comm, "%.*s", HU_FMT(f.comm));
        k->is_kernel = f.flags & KERNEL_FLAG;
        if (!k->is_kernel)
            ask_who(p, k, f.comm);
        else
            snprintf(k->command, sizeof k->command, "[%.*s]", HU_FMT(f.comm));
    }
    k->is_seen = true;
    if (k->is_kernel)
        return;
    out = hu_top_look_process(l);
    if (!out)
        return;
    now = now_ns();
    cpu_s = (double)(f.user + f.system) * p->tick_s;
    *out = (hu_top_process){.pid = k->pid,
                            .uid = k->uid,
                            .began = f.began,
                            .state = f.state,
                            .threads = (uint32_t)f.threads,
                            .cpu_s = cpu_s,
                            .cpu = k->at_ns && now > k->at_ns ? (cpu_s - k->cpu_s) / ((double)(now - k->at_ns) * 1e-9) : NAN,
                            .memory = (double)f.pages * p->page,
                            .gpu_memory = NAN,
                            .gpu_busy = NAN};
    k->cpu_s = cpu_s;
    k->at_ns = now;
    snprintf(out->user, sizeof out->user, "%s", k->user);
    snprintf(out->command, sizeof out->command, "%s", k->command);
    put_gpus(board, out);
}

/* Those that were not seen have gone. */
static void forget_gone(hu_top_processes *p)
{
    size_t kept = 0;

    for (size_t i = 0; i < p->n; i++) {
        if (!p->all[i].is_seen) {
            drop(p, &p->all[i]);
            continue;
        }
        p->all[i].is_seen = false;
        if (kept != i)
            p->all[kept] = p->all[i];
        kept++;
    }
    p->n = kept;
}

static int by_number(const void *a, const void *b)
{
    const hu_top_process *x = a, *y = b;

    return (x->pid > y->pid) - (x->pid < y->pid);
}

void hu_top_processes_look(hu_top_processes *p, const hu_board_state *board, hu_top_look *l)
{
    hu_names    names;
    const char *name;

    l->has_processes = hu_names_open(&names, p->proc, ".");
    if (!l->has_processes)
        return;
    while ((name = hu_names_next(&names)) != NULL) {
        uint64_t pid;
        known   *k;

        if (name[0] < '1' || name[0] > '9' || !hu_parse_u64(hu_str_of(name), &pid) || pid > UINT32_MAX)
            continue;
        k = known_of(p, (uint32_t)pid);
        if (k)
            look_at(p, k, board, l);
        else
            l->is_cut = true;
    }
    forget_gone(p);
    if (l->n_processes)
        qsort(l->processes, l->n_processes, sizeof *l->processes, by_number); /* what is equal otherwise stays so */
}
