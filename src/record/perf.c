/* SPDX-License-Identifier: Apache-2.0
 * perf.c - one event on each CPU that samples a command, follows all that it starts, and tells of every switch.
 *
 * A cpu-clock event carries everything: samples, context switches, forks, execs, names and mappings.  A second (dummy)
 * event for the switches would double what each thread costs the kernel, because a thread inherits one event per CPU.
 * Traps:
 *  - the kernel maps the ring of an inherited event only when it is bound to a CPU: hence one for each;
 *  - unprivileged users share perf_event_mlock_kb (516 per CPU) among all their recorders, so rings shrink until they
 *    fit; descriptors are closed once mapped, because the mapping holds the event;
 *  - inside the kernel nothing may be sampled at perf_event_paranoid 2 (the default), so that is asked for first and
 *    given up; mainline treats 3 and 4 as 2, Debian and Ubuntu refuse everything;
 *  - build ids of mappings came with Linux 5.12.
 *
 * 99 samples a second is the default: off the beat of timers that tick at 100 or 250 Hz, and 1 % resolution within a
 * second of CPU time.  Measured in a virtual machine, where a timer's interrupt is dear: 20 us for a sample with its
 * chain, so 0.2 % of that second; 0.5 us for a switch (bench/sampling.py).
 */
#include "record/perf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "record/perf_armed.h"
#include "record/perf_file.h"
#include "protocol/redact.h"
#include "record/schedstat.h"

enum { FEWEST_PAGES = 64, MOST_PAGES = 2048, DEFAULT_BYTES = 64 << 20 };
enum { ROUND_MS = 20, SOON_MS = 2, SOON_PART = 4 /* of a ring: from so full on rounds follow each other quickly */ };

typedef struct {
    struct perf_event_mmap_page *ring;
    int                          fd; /* of its file */
    uint32_t                     cpu;
    uint64_t                     cut; /* records not written, and not yet told */
    uint64_t                     bytes;
    bool                         has_failed;
} cpu_ring;

struct hu_perf {
    hu_arena      *arena;
    cpu_ring      *cpus;
    size_t         n_cpus, ring_bytes, page_bytes;
    uint64_t       max_bytes;
    char          *copy;      /* ring_bytes, for what has to be changed; NULL: nothing had to be, yet */
    hu_schedstat  *schedstat; /* instead of all that: perf_event_open was refused */
    hu_perf_armed *armed;
    bool           was_recording; /* in the last round */
    hu_perf_totals totals;
};

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* ---- what may be asked for --------------------------------------------------------------------------------------- */

static struct perf_event_attr describe(unsigned hz)
{
    /* clang-format off */
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof attr,
        .config = hz ? PERF_COUNT_SW_CPU_CLOCK : PERF_COUNT_SW_DUMMY,
        .sample_type = HU_PERF_SAMPLE_TYPE,
        .disabled = 1, .inherit = 1, .enable_on_exec = 1, .exclude_hv = 1,
        .mmap = 1, .mmap2 = 1, .comm = 1, .comm_exec = 1, .task = 1, .context_switch = 1, .sample_id_all = 1,
        .exclude_callchain_kernel = 1, .build_id = 1,
        .use_clockid = 1, .clockid = CLOCK_MONOTONIC,
        .watermark = 1, .wakeup_watermark = UINT32_MAX,     /* nobody sleeps on it */
    };
    /* clang-format on */

    if (hz)
        attr.sample_period = 1000000000u / hz;
#ifdef __x86_64__
    if (hz) {
        attr.sample_type |= HU_PERF_STACK_TYPE;
        attr.sample_regs_user = HU_PERF_REGS;
        attr.sample_stack_user = HU_PERF_STACK_BYTES;
    }
#endif
    return attr;
}

static int open_event(struct perf_event_attr *attr, pid_t child, int cpu)
{
    return (int)syscall(SYS_perf_event_open, attr, child, cpu, -1, (unsigned long)PERF_FLAG_FD_CLOEXEC);
}

/* The most that this system allows, in *attr; the descriptor, or -errno. */
static int open_first(struct perf_event_attr *attr, pid_t child, int cpu)
{
    int fd = open_event(attr, child, cpu);

    if (fd < 0 && errno == EINVAL) {
        attr->build_id = 0;
        fd = open_event(attr, child, cpu);
    }
    if (fd < 0 && (errno == EACCES || errno == EPERM)) {
        attr->exclude_kernel = 1;
        fd = open_event(attr, child, cpu);
    }
    return fd < 0 ? -errno : fd;
}

static long paranoid_level(void)
{
    char          text[16];
    const int     fd = open("/proc/sys/kernel/perf_event_paranoid", O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text);

    if (fd >= 0)
        close(fd);
    if (n < 1 || (text[0] == '-' && n < 2))
        return -100; /* not known */
    return text[0] == '-' ? -(text[1] - '0') : text[0] - '0';
}

/* Why perf_event_open said no, and what to do. */
static void explain(int problem, hu_error *why)
{
    const long        level = paranoid_level();
    static const char off[] = "CPU samples and context switches are off";

    if ((problem == EACCES || problem == EPERM) && level > 2)
        hu_fail(why, HU_EIO, NULL, HU_NO_OFFSET,
                "%s: kernel.perf_event_paranoid is %ld; `sudo sysctl kernel.perf_event_paranoid=1` allows them", off, level);
    else if (problem == EACCES || problem == EPERM)
        hu_fail(why, HU_EIO, NULL, HU_NO_OFFSET,
                "%s: perf_event_open is refused (%s), probably by the container's seccomp filter; start the container "
                "with --cap-add PERFMON or --security-opt seccomp=unconfined",
                off, problem == EPERM ? "EPERM" : "EACCES");
    else if (problem == ENOSYS)
        hu_fail(why, HU_EIO, NULL, HU_NO_OFFSET,
                "%s: this kernel or sandbox has no perf_event_open; use a kernel with CONFIG_PERF_EVENTS", off);
    else
        hu_fail(why, HU_EIO, NULL, HU_NO_OFFSET, "%s: perf_event_open fails: %s; see `dmesg`", off, strerror(problem));
}

/* ---- rings ------------------------------------------------------------------------------------------------------- */

/* The online CPUs, "0-3,8,10-11", into `cpus` of `room`; how many. */
static size_t list_cpus(int *cpus, size_t room)
{
    char          text[4096];
    const int     fd = open("/sys/devices/system/cpu/online", O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    size_t        found = 0;
    long          value = -1, from = -1;

    if (fd >= 0)
        close(fd);
    if (n <= 0) {
        const long count = sysconf(_SC_NPROCESSORS_CONF);

        for (; (long)found < count && found < room; found++)
            cpus[found] = (int)found;
        return found;
    }
    text[n] = '\0';
    for (const char *p = text;; p++) {
        if (*p >= '0' && *p <= '9' && value < HU_PERF_CPUS_MAX) {
            value = (value < 0 ? 0 : value) * 10 + (*p - '0');
        } else if (*p == '-') {
            from = value;
            value = -1;
        } else {
            for (long cpu = from < 0 ? value : from; value >= 0 && cpu <= value && found < room; cpu++)
                cpus[found++] = (int)cpu;
            value = from = -1;
        }
        if (*p == '\0')
            return found;
    }
}

static void unmap_all(hu_perf *perf)
{
    for (size_t i = 0; i < perf->n_cpus; i++)
        if (perf->cpus[i].ring)
            munmap(perf->cpus[i].ring, perf->ring_bytes + perf->page_bytes);
    perf->n_cpus = 0;
    if (perf->copy)
        munmap(perf->copy, perf->ring_bytes);
    perf->copy = NULL;
}

/* One event and its ring for each CPU; 0, or -errno with nothing left.  A CPU that went offline is left out. */
static int map_all(hu_perf *perf, struct perf_event_attr *attr, pid_t child, const int *cpus, size_t n)
{
    bool is_first = true;

    for (size_t i = 0; i < n; i++) {
        const int fd = is_first ? open_first(attr, child, cpus[i]) : open_event(attr, child, cpus[i]);
        const int problem = fd >= 0 ? 0 : is_first ? -fd : errno;
        void     *ring;

        if (problem == ENODEV)
            continue;
        if (problem) {
            unmap_all(perf);
            return -problem;
        }
        is_first = false;
        ring = mmap(NULL, perf->ring_bytes + perf->page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (ring == MAP_FAILED) {
            const int why = errno;

            close(fd);
            unmap_all(perf);
            return why == EPERM || why == ENOMEM ? -ENOBUFS : -why;
        }
        close(fd);
        perf->cpus[perf->n_cpus++] = (cpu_ring){.ring = ring, .cpu = (uint32_t)cpus[i], .fd = -1};
    }
    return perf->n_cpus ? 0 : -ENODEV;
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static bool write_all(int fd, struct iovec *parts, int n)
{
    while (n) {
        ssize_t did = writev(fd, parts, n);

        if (did < 0 && errno == EINTR)
            continue;
        if (did < 0)
            return false;
        for (; n && (size_t)did >= parts->iov_len; parts++, n--)
            did -= (ssize_t)parts->iov_len;
        if (n) {
            parts->iov_base = (char *)parts->iov_base + did;
            parts->iov_len -= (size_t)did;
        }
    }
    return true;
}

static int make_file(hu_perf *perf, cpu_ring *c, const char *session, const hu_perf_head *head, hu_error *why)
{
    char         path[4352];
    hu_perf_head mine = *head;
    struct iovec part = {&mine, sizeof mine};

    mine.cpu = c->cpu;
    snprintf(path, sizeof path, "%s/perf.%u", session, c->cpu);
    c->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (c->fd < 0 || !write_all(c->fd, &part, 1))
        return hu_fail(why, HU_EIO, path, HU_NO_OFFSET,
                       "CPU samples and context switches are off: cannot write their file: %s", strerror(errno));
    c->bytes = sizeof mine;
    perf->totals.bytes += sizeof mine;
    return 0;
}

/* ---- a round ----------------------------------------------------------------------------------------------------- */

typedef struct {
    const char *data;
    uint64_t    mask, tail, head;
    char       *copy; /* of what is between tail and head, where it had to be changed; NULL: nowhere */
    size_t      kept; /* bytes of the copy */
} ring_view;

static void copy_out(const ring_view *v, uint64_t at, void *to, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ((char *)to)[i] = v->data[(at + i) & v->mask];
}

/* What can be changed, in v->copy; false: no memory. */
static bool copy_all(hu_perf *perf, ring_view *v)
{
    if (!perf->copy) {
        perf->copy = mmap(NULL, perf->ring_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (perf->copy == MAP_FAILED)
            perf->copy = NULL;
    }
    if (!perf->copy)
        return false;
    if (!v->copy) {
        v->copy = perf->copy;
        v->kept = (size_t)(v->head - v->tail);
        copy_out(v, v->tail, v->copy, v->kept);
    }
    return true;
}

/* A thread may be called, and a file be mapped, as a secret is: no file of ours is to hold it.  The ring itself cannot be
 * written to.  False: no memory. */
static bool redact_record(hu_perf *perf, ring_view *v, uint64_t at, const struct perf_event_header *h)
{
    enum { TASK = 8, PLACE = 24, INODE = 24, ACCESS = 8 }; /* pid, tid; address, length, offset; ...; protection, flags */
    const size_t from = sizeof *h + (h->type == PERF_RECORD_COMM   ? TASK
                                     : h->type == PERF_RECORD_MMAP ? TASK + PLACE
                                                                   : TASK + PLACE + INODE + ACCESS);
    char         text[4096] = "", clean[sizeof text];
    size_t       room, n, kept;

    if (h->size < from + sizeof(hu_perf_trailer))
        return true;
    room = h->size - from - sizeof(hu_perf_trailer);
    room = room < sizeof text ? room : sizeof text;
    copy_out(v, at + from, text, room);
    n = strnlen(text, room);
    kept = hu_redact_text((hu_str){text, n}, clean, room ? room - 1 : 0);
    if (kept == n && memcmp(text, clean, n) == 0)
        return true;
    if (!copy_all(perf, v))
        return false;
    memset(v->copy + (at - v->tail) + from, 0, room);
    memcpy(v->copy + (at - v->tail) + from, clean, kept);
    return true;
}

/* Records between tail and head; what the kernel lost is in some of them.  Takes secrets out of their texts;
 * false in `is_clean`: could not. */
static uint64_t look_through(hu_perf *perf, ring_view *v, bool *is_clean)
{
    uint64_t n = 0;

    *is_clean = true;

    for (uint64_t at = v->tail; v->head - at >= sizeof(struct perf_event_header); n++) {
        struct perf_event_header h;
        uint64_t                 id_and_lost[2];

        copy_out(v, at, &h, sizeof h);
        if (h.size < sizeof h)
            break;
        if (h.type == PERF_RECORD_LOST && h.size >= sizeof h + sizeof id_and_lost) {
            copy_out(v, at + sizeof h, id_and_lost, sizeof id_and_lost);
            perf->totals.lost += id_and_lost[1];
        }
        if (h.size > v->head - at)
            break;
        if (h.type == PERF_RECORD_COMM || h.type == PERF_RECORD_MMAP || h.type == PERF_RECORD_MMAP2)
            *is_clean &= redact_record(perf, v, at, &h);
        at += h.size;
    }
    return n;
}

/* One write for all: a file never ends within a record, unless the machine does.  `bytes` are those of all parts. */
static bool write_whole(hu_perf *perf, cpu_ring *c, struct iovec *parts, int n, uint64_t bytes)
{
    if (perf->max_bytes && perf->totals.bytes + bytes > perf->max_bytes)
        return false;
    if (!write_all(c->fd, parts, n)) {
        if (ftruncate(c->fd, (off_t)c->bytes) == 0)
            lseek(c->fd, (off_t)c->bytes, SEEK_SET);
        return false;
    }
    c->bytes += bytes;
    perf->totals.bytes += bytes;
    return true;
}

/* What is between tail and head, behind a count of what could not be written before. */
static bool append(hu_perf *perf, cpu_ring *c, const ring_view *v)
{
    const uint64_t from = v->tail & v->mask, n = v->head - v->tail, ring = v->mask + 1;
    const uint64_t straight = n < ring - from ? n : ring - from;
    hu_perf_cut    cut = {.header = {.type = HU_PERF_RECORD_CUT, .size = sizeof cut}, .records = c->cut};
    struct iovec   parts[3] = {{&cut, sizeof cut},
                               {(char *)(uintptr_t)v->data + from, (size_t)straight},
                               {(char *)(uintptr_t)v->data, (size_t)(n - straight)}};
    const int      first = c->cut ? 0 : 1;
    const int      last = v->copy ? 2 : 3;
    const uint64_t bytes = (v->copy ? v->kept : n) + (c->cut ? sizeof cut : 0);

    cut.time_ns = now_ns();
    if (v->copy)
        parts[1] = (struct iovec){v->copy, v->kept};
    if (!write_whole(perf, c, parts + first, last - first, bytes))
        return false;
    c->cut = 0;
    return true;
}

static void cut_off(hu_perf *perf, cpu_ring *c, uint64_t records)
{
    c->cut += records;
    c->has_failed = true;
    perf->totals.cut += records;
}

/* A recording begins while threads run or wait. */
static void tell_last_switches(hu_perf *perf)
{
    for (size_t i = 0; i < perf->n_cpus; i++) {
        cpu_ring    *c = &perf->cpus[i];
        uint64_t     n;
        struct iovec part;

        part.iov_base = (char *)(uintptr_t)hu_perf_armed_take(perf->armed, c->cpu, &part.iov_len, &n);
        if (write_whole(perf, c, &part, 1, part.iov_len))
            perf->totals.records += n;
        else
            cut_off(perf, c, n);
    }
}

int hu_perf_round(hu_perf *perf, bool is_recording)
{
    int ms = ROUND_MS;

    if (perf) {
        if (is_recording && !perf->was_recording)
            tell_last_switches(perf);
        perf->was_recording = is_recording;
        hu_schedstat_round(perf->schedstat);
    }
    for (size_t i = 0; perf && i < perf->n_cpus; i++) {
        cpu_ring *c = &perf->cpus[i];
        ring_view v = {
            .data = (const char *)c->ring + perf->page_bytes, .mask = perf->ring_bytes - 1, .tail = c->ring->data_tail};
        uint64_t n;
        bool     is_clean;

        v.head = __atomic_load_n(&c->ring->data_head, __ATOMIC_ACQUIRE);
        if (v.head == v.tail)
            continue;
        if (v.head - v.tail >= perf->ring_bytes / SOON_PART)
            ms = SOON_MS;
        n = look_through(perf, &v, &is_clean);
        if (!is_recording && copy_all(perf, &v))
            v.kept = hu_perf_armed_keep(perf->armed, c->cpu, v.copy, v.kept, &n);
        if (is_clean && append(perf, c, &v)) {
            perf->totals.records += n;
        } else {
            cut_off(perf, c, n);
        }
        __atomic_store_n(&c->ring->data_tail, v.head, __ATOMIC_RELEASE);
    }
    return ms;
}

/* ---- begin and end ----------------------------------------------------------------------------------------------- */

/* Also the files, which hold nothing yet. */
static void close_rings(hu_perf *perf, const char *session)
{
    char path[4352];

    for (size_t i = 0; i < perf->n_cpus; i++) {
        if (perf->cpus[i].fd < 0)
            continue;
        close(perf->cpus[i].fd);
        snprintf(path, sizeof path, "%s/perf.%u", session, perf->cpus[i].cpu);
        unlink(path);
    }
    unmap_all(perf);
}

/* Pages of each ring, a power of two: a storm of switches writes 16 MB a second on each CPU, and we wait for one too. */
static size_t pages_of(const hu_perf *perf, uint64_t memory, size_t n_cpus)
{
    const uint64_t most = (memory ? memory : DEFAULT_BYTES) / (n_cpus ? n_cpus : 1) / perf->page_bytes;
    size_t         n = FEWEST_PAGES;

    while (n * 2 <= most && n < MOST_PAGES)
        n *= 2;
    return n;
}

/* Rings as large as they may be; 0 or a code, with `why` filled. */
static int open_rings(hu_perf *perf, struct perf_event_attr *attr, pid_t child, uint64_t memory, hu_error *why)
{
    int         *cpus = hu_arena_calloc(perf->arena, HU_PERF_CPUS_MAX, sizeof *cpus);
    const size_t n = cpus ? list_cpus(cpus, HU_PERF_CPUS_MAX) : 0;
    int          rc;

    perf->cpus = hu_arena_calloc(perf->arena, n ? n : 1, sizeof *perf->cpus);
    if (!cpus || !perf->cpus)
        return hu_fail_memory(why);
    for (size_t some = pages_of(perf, memory, n);; some /= 2) {
        perf->ring_bytes = some * perf->page_bytes;
        rc = map_all(perf, attr, child, cpus, n);
        if (rc != -ENOBUFS || some == 1)
            break;
    }
    if (rc == -ENOBUFS)
        return hu_fail(why, HU_EIO, NULL, HU_NO_OFFSET,
                       "CPU samples and context switches are off: the locked-memory limit is used up; raise "
                       "kernel.perf_event_mlock_kb or `ulimit -l`");
    if (rc < 0)
        explain(-rc, why);
    return rc < 0 ? HU_EIO : 0;
}

static int open_all(hu_perf *perf, const hu_perf_options *options, pid_t child, const char *session, hu_error *why)
{
    struct perf_event_attr attr = describe(options->hz > HU_PERF_MOST_HZ ? (unsigned)HU_PERF_MOST_HZ : options->hz);
    int                    rc = open_rings(perf, &attr, child, options->memory, why);
    const hu_perf_head     head = {.magic = HU_PERF_MAGIC,
                                   .version = HU_PERF_VERSION,
                                   .bytes = sizeof head,
                                   .n_cpus = (uint32_t)perf->n_cpus,
                                   .sample_type = attr.sample_type,
                                   .period_ns = attr.sample_period,
                                   .started_ns = now_ns(),
                                   .child = (uint32_t)child,
                                   .user_only = attr.exclude_kernel,
                                   .ring_bytes = (uint32_t)perf->ring_bytes};

    for (size_t i = 0; rc == 0 && i < perf->n_cpus; i++)
        rc = make_file(perf, &perf->cpus[i], session, &head, why);
    perf->totals.n_cpus = (unsigned)perf->n_cpus;
    perf->totals.pages = (unsigned)(perf->ring_bytes / perf->page_bytes);
    perf->totals.is_user_only = attr.exclude_kernel;
    return rc;
}

/* What there is instead; `why` keeps the reason why it is needed, unless this fails too. */
static bool fall_back(hu_perf *perf, pid_t child, const char *session, hu_error *why)
{
    hu_error other = {0};

    close_rings(perf, session);
    perf->schedstat = hu_schedstat_start(0, child, session, &other);
    perf->totals = (hu_perf_totals){.is_refused = true};
    if (!perf->schedstat && why)
        *why = other;
    return perf->schedstat != NULL;
}

hu_perf *hu_perf_start(const hu_perf_options *options, pid_t child, const char *session, hu_error *why)
{
    hu_arena *arena = hu_arena_new();
    hu_perf  *perf = arena ? hu_arena_calloc(arena, 1, sizeof *perf) : NULL;

    if (!perf) {
        hu_arena_free(arena);
        hu_fail_memory(why);
        return NULL;
    }
    *perf = (hu_perf){.arena = arena, .max_bytes = options->max_bytes, .page_bytes = (size_t)sysconf(_SC_PAGESIZE)};
    perf->armed = hu_perf_armed_new(arena);
    if (!perf->armed) {
        hu_arena_free(arena);
        hu_fail_memory(why);
        return NULL;
    }
    if (open_all(perf, options, child, session, why) == 0 || fall_back(perf, child, session, why))
        return perf;
    hu_arena_free(arena);
    return NULL;
}

void hu_perf_ended(hu_perf *perf, pid_t pid)
{
    hu_schedstat_ended(perf->schedstat, pid);
}

hu_perf_totals hu_perf_so_far(const hu_perf *perf)
{
    return perf->totals;
}

/* The file's last record counts what could not be written at the end, if that record fits. */
static void tell_last_cut(hu_perf *perf, cpu_ring *c)
{
    hu_perf_cut  cut = {.header = {.type = HU_PERF_RECORD_CUT, .size = sizeof cut}, .records = c->cut, .time_ns = now_ns()};
    struct iovec part = {&cut, sizeof cut};

    if (!c->cut)
        return;
    if (write_all(c->fd, &part, 1))
        perf->totals.bytes += sizeof cut;
    else if (ftruncate(c->fd, (off_t)c->bytes) < 0)
        c->has_failed = true; /* the reader stops at what is no whole record */
}

int hu_perf_stop(hu_perf *perf)
{
    int rc = 0;

    if (!perf)
        return 0;
    hu_perf_round(perf, perf->was_recording);
    for (size_t i = 0; i < perf->n_cpus; i++) {
        cpu_ring *c = &perf->cpus[i];

        tell_last_cut(perf, c);
        if (close(c->fd) < 0 || c->has_failed)
            rc = HU_EIO;
    }
    if (hu_schedstat_stop(perf->schedstat) < 0)
        rc = HU_EIO;
    unmap_all(perf);
    hu_arena_free(perf->arena);
    return rc;
}
