/* SPDX-License-Identifier: Apache-2.0
 * gpu_sampler.c - a grandchild of the supervisor that looks at the GPUs and writes what it saw.
 *
 * It ends when the supervisor says so, or is gone: then its end of the pipe is closed.  It has left the terminal's session
 * and blocks all signals: a Ctrl-C is for the job, whose last moments are wanted too.
 *
 * Looks are PERIOD apart, and more where they are slow: the pause is at least COST_FACTOR times the CPU time and
 * WAIT_FACTOR times the time that the calls took, since the driver serves one caller at a time.
 */
#include "record/gpu_sampler.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/close_fds.h"
#include "gpu/nvml.h"
#include "record/gpu_file.h"

enum { SECOND_NS = 1000000000, MILLISECOND_NS = 1000000, COST_FACTOR = 200, WAIT_FACTOR = 20, PROCESSES_NS = 2000000000 };
enum { PIDS_KEPT = 1024, PATH_ROOM = 4352 };

typedef struct {
    int            file, told, tells; /* descriptors: of the file, what the supervisor says, what it hears */
    hu_nvml       *nvml;
    hu_nvml_device device[HU_GPU_MOST];
    bool           is_wanted[HU_GPU_MOST], is_lost[HU_GPU_MOST];
    int            n;
    uint64_t       bytes, max_bytes;
    bool           is_full;
    uint64_t       seen[PIDS_KEPT]; /* device << 32 | pid, of what was written */
    size_t         n_seen;
} sampler;

static int64_t now_ns(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* A record is there as a whole or, on a full disk, in part at the end of the file. */
static void put(sampler *s, const void *record, size_t n)
{
    if (s->is_full || (s->max_bytes && s->bytes + n > s->max_bytes) || write(s->file, record, n) != (ssize_t)n)
        s->is_full = true;
    s->bytes += n;
}

static hu_gpu_row row_of(hu_gpu_row_type type, size_t bytes, int device)
{
    return (hu_gpu_row){.type = (uint16_t)type, .bytes = (uint16_t)bytes, .device = (uint32_t)device};
}

static void put_problem(sampler *s, int device, const char *what, const char *why)
{
    hu_gpu_row_problem p = {.row = row_of(HU_GPU_ROW_PROBLEM, sizeof p, device), .ns = now_ns(CLOCK_BOOTTIME)};

    snprintf(p.words, sizeof p.words, "%s%s", what, why);
    put(s, &p, sizeof p);
}

/* ---- which GPUs -------------------------------------------------------------------------------------------------- */

static bool has_prefix(const char *text, const char *start, size_t n)
{
    return n > 0 && strncasecmp(text, start, n) == 0;
}

/* The GPU of a word of CUDA_VISIBLE_DEVICES, -1 none: a number, or the beginning of a UUID that only one GPU has. */
static int find_word(const sampler *s, const char *word, size_t n)
{
    int found = -1;

    if (isdigit((unsigned char)word[0])) {
        char      *end;
        const long number = strtol(word, &end, 10);

        return end == word + n && number < s->n ? (int)number : -1;
    }
    for (int i = 0; i < s->n; i++)
        if (has_prefix(s->device[i].uuid, word, n)) {
            if (found >= 0)
                return -1;
            found = i;
        }
    return found;
}

/* CUDA numbers the fastest GPU first unless told otherwise: among GPUs of one kind that is the driver's order. */
static bool are_numbers_known(const sampler *s, const char *order)
{
    if (order && strcmp(order, "PCI_BUS_ID") == 0)
        return true;
    for (int i = 1; i < s->n; i++)
        if (strcmp(s->device[i].name, s->device[0].name) != 0)
            return false;
    return true;
}

/* All that the job may see, where that is certain; else all. */
static void choose(sampler *s, const hu_gpu_sampler_options *o)
{
    bool        wanted[HU_GPU_MOST] = {false}, is_certain = o->visible != NULL;
    const char *at = o->visible;

    while (at && *at && is_certain) {
        const size_t n = strcspn(at, ",");
        const int    found = find_word(s, at, n);

        is_certain = found >= 0 && (!isdigit((unsigned char)at[0]) || are_numbers_known(s, o->order));
        if (is_certain)
            wanted[found] = true;
        at += n + (at[n] == ',');
    }
    for (int i = 0; i < s->n; i++)
        s->is_wanted[i] = is_certain ? wanted[i] : true;
}

static void put_device(sampler *s, int i, const char *driver)
{
    const hu_nvml_device *d = &s->device[i];
    hu_gpu_row_device     r = {.row = row_of(HU_GPU_ROW_DEVICE, sizeof r, i),
                               .most_sm_mhz = d->most_sm_mhz,
                               .most_memory_mhz = d->most_memory_mhz,
                               .power_limit_mw = d->power_limit_mw,
                               .is_mig = d->is_mig,
                               .memory_bytes = d->memory_bytes};

    memcpy(r.name, d->name, sizeof r.name);
    memcpy(r.uuid, d->uuid, sizeof r.uuid);
    memcpy(r.bus, d->bus, sizeof r.bus);
    memcpy(r.driver, driver, sizeof r.driver);
    put(s, &r, sizeof r);
}

static void open_devices(sampler *s, const hu_gpu_sampler_options *o)
{
    char driver[HU_NVML_TEXT];
    int  code;

    s->n = hu_nvml_count(s->nvml, &code);
    if (s->n < 0) {
        put_problem(s, 0, "the driver does not say how many GPUs there are", "");
        s->n = 0;
    }
    hu_nvml_driver(s->nvml, driver);
    for (int i = 0; i < s->n; i++)
        s->is_lost[i] = !hu_nvml_describe(s->nvml, (unsigned)i, &s->device[i], &code);
    choose(s, o);
    for (int i = 0; i < s->n; i++) {
        if (!s->is_wanted[i] || s->is_lost[i])
            continue;
        put_device(s, i, driver);
        hu_nvml_listen(s->nvml, &s->device[i]);
    }
}

/* ---- looks ------------------------------------------------------------------------------------------------------- */

static void look(sampler *s, int i)
{
    const int64_t  before_ns = now_ns(CLOCK_BOOTTIME);
    hu_nvml_values v;
    int            code;

    if (hu_nvml_look(s->nvml, &s->device[i], &v, &code) == HU_NVML_LOST) {
        s->is_lost[i] = true;
        put_problem(s, i, "", hu_nvml_words(code));
        return;
    }
    if (v.has) {
        hu_gpu_row_sample r = {.row = row_of(HU_GPU_ROW_SAMPLE, sizeof r, i), .has = v.has};

        r.ns = before_ns + (now_ns(CLOCK_BOOTTIME) - before_ns) / 2;
        memcpy(r.value, v.value, sizeof r.value);
        put(s, &r, sizeof r);
    }
}

static void look_at_processes(sampler *s, int i)
{
    uint32_t     pid[HU_NVML_PIDS];
    const size_t n = hu_nvml_processes(s->nvml, &s->device[i], pid);

    for (size_t p = 0; p < n; p++) {
        const uint64_t     key = (uint64_t)i << 32 | pid[p];
        hu_gpu_row_process r = {.row = row_of(HU_GPU_ROW_PROCESS, sizeof r, i), .pid = pid[p]};
        size_t             at = 0;

        while (at < s->n_seen && s->seen[at] != key)
            at++;
        if (at < s->n_seen || s->n_seen == PIDS_KEPT)
            continue;
        s->seen[s->n_seen++] = key;
        put(s, &r, sizeof r);
    }
}

static void hear(sampler *s)
{
    void    *handle;
    uint64_t xid;

    for (int events = 0; events < 16 && hu_nvml_heard(s->nvml, &handle, &xid); events++)
        for (int i = 0; i < s->n; i++)
            if (s->is_wanted[i] && s->device[i].handle == handle) {
                hu_gpu_row_sample r = {
                    .row = row_of(HU_GPU_ROW_SAMPLE, sizeof r, i), .ns = now_ns(CLOCK_BOOTTIME), .has = 1u << HU_GAUGE_XID};

                r.value[HU_GAUGE_XID] = (int64_t)xid;
                put(s, &r, sizeof r);
            }
}

/* Are we to end?  Waits for that as long. */
static bool is_over(const sampler *s, int64_t ns)
{
    struct pollfd told = {.fd = s->told, .events = POLLIN};
    const int     n = poll(&told, 1, (int)(ns / MILLISECOND_NS));

    return n > 0 || (n < 0 && errno != EINTR);
}

static void sample(sampler *s, int64_t period_ns)
{
    int64_t next_processes = 0;

    for (bool is_last = false;;) {
        const int64_t cpu_ns = now_ns(CLOCK_PROCESS_CPUTIME_ID), began = now_ns(CLOCK_MONOTONIC);
        const bool    with_processes = began >= next_processes || is_last;
        int64_t       cost, took, pause;

        for (int i = 0; i < s->n; i++) {
            if (!s->is_wanted[i] || s->is_lost[i])
                continue;
            look(s, i);
            if (with_processes && !s->is_lost[i])
                look_at_processes(s, i);
        }
        hear(s);
        next_processes = with_processes ? began + PROCESSES_NS : next_processes;
        if (is_last || s->is_full)
            return;
        took = (now_ns(CLOCK_MONOTONIC) - began) * WAIT_FACTOR;
        cost = (now_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns) * COST_FACTOR;
        took = cost > took ? cost : took;
        pause = with_processes ? period_ns : took; /* lists of processes are slow, and seldom */
        is_last = is_over(s, pause > period_ns ? pause : period_ns);
    }
}

_Noreturn static void run(sampler *s, const hu_gpu_sampler_options *o)
{
    const int64_t          period_ns = SECOND_NS / (int64_t)(o->hz ? o->hz : 1);
    const hu_gpu_file_head head = {.magic = HU_GPU_FILE_MAGIC, .version = 1, .period_ns = period_ns};
    hu_gpu_row_end         end = {.row = row_of(HU_GPU_ROW_END, sizeof end, 0)};
    int                    code;

    put(s, &head, sizeof head);
    s->nvml = hu_nvml_open(o->library, &code);
    if (!s->nvml) {
        put_problem(s, 0, "NVML cannot be started: ", hu_nvml_words(code));
    } else {
        open_devices(s, o);
        sample(s, period_ns);
    }
    end.ns = now_ns(CLOCK_BOOTTIME);
    end.cpu_ns = now_ns(CLOCK_PROCESS_CPUTIME_ID);
    put(s, &end, sizeof end);
    if (write(s->tells, "", 1) != 1) /* the supervisor goes on, whatever it takes to end the library */
        _exit(1);
    hu_nvml_close(s->nvml);
    _exit(0);
}

/* ---- begin and end ----------------------------------------------------------------------------------------------- */

/* Nobody's pipe stays open for us, and nobody's terminal. */
static void leave(sampler *s)
{
    const int nothing = open("/dev/null", O_RDWR);
    int       keep[3] = {s->file, s->told, s->tells};

    setsid();
    prctl(PR_SET_NAME, "holdup-gpu");
    for (int i = 0; i < 3; i++) /* out of the way of 0 to 5 */
        keep[i] = fcntl(keep[i], F_DUPFD_CLOEXEC, 16);
    for (int i = 0; i < 3; i++)
        dup2(nothing, i);
    for (int i = 0; i < 3; i++)
        dup3(keep[i], 3 + i, O_CLOEXEC);
    s->file = 3;
    s->told = 4;
    s->tells = 5;
    hu_close_fds(6, -1);
}

static pid_t start_detached(sampler *s, const hu_gpu_sampler_options *o)
{
    sigset_t all, before;
    int      numbers[2], status;
    pid_t    child, pid = 0;

    if (pipe2(numbers, O_CLOEXEC) < 0)
        return 0;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    child = fork();
    if (child == 0) {
        pid = fork();
        if (pid == 0) {
            leave(s);
            run(s, o);
        }
        _exit(pid > 0 && write(numbers[1], &pid, sizeof pid) == sizeof pid ? 0 : 1);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    close(numbers[1]);
    if (child < 0 || read(numbers[0], &pid, sizeof pid) != sizeof pid)
        pid = 0;
    close(numbers[0]);
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return pid;
}

bool hu_gpu_sampler_start(const hu_gpu_sampler_options *options, const char *session, hu_gpu_sampler *out)
{
    sampler *s = calloc(1, sizeof *s);
    char     path[PATH_ROOM];
    int      to[2] = {-1, -1}, from[2] = {-1, -1};

    *out = (hu_gpu_sampler){.to = -1, .from = -1};
    if (!s || !options->hz || (!options->library && !hu_nvml_has_driver(""))) {
        free(s);
        return false;
    }
    snprintf(path, sizeof path, "%s/gpu", session);
    s->max_bytes = options->max_bytes;
    s->file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (s->file >= 0 && pipe2(to, O_CLOEXEC) == 0 && pipe2(from, O_CLOEXEC) == 0) {
        s->told = to[0];
        s->tells = from[1];
        out->pid = start_detached(s, options);
    }
    if (s->file >= 0)
        close(s->file);
    if (to[0] >= 0)
        close(to[0]);
    if (from[1] >= 0)
        close(from[1]);
    out->to = to[1];
    out->from = from[0];
    if (out->pid == 0)
        hu_gpu_sampler_stop(out);
    free(s);
    return out->pid > 0;
}

bool hu_gpu_sampler_stop(hu_gpu_sampler *which)
{
    struct pollfd from = {.fd = which->from, .events = POLLIN};
    int           n;

    if (which->to >= 0)
        close(which->to);
    do
        n = which->pid > 0 ? poll(&from, 1, HU_GPU_PATIENCE_MS) : 1;
    while (n < 0 && errno == EINTR);
    if (n == 0)
        kill(which->pid, SIGKILL);
    if (which->from >= 0)
        close(which->from);
    *which = (hu_gpu_sampler){.to = -1, .from = -1};
    return n != 0;
}
