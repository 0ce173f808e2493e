/* SPDX-License-Identifier: Apache-2.0
 * process.c - joining a session, making this process's file, and what fork, exec and exit mean for it.
 *
 * A process joins when the library is loaded and makes its file at once, so that even one that records nothing is known;
 * a forked child makes its own at its first record, because most children call exec at once.  The memory of the gate is
 * wiped by any fork, also by one that the C library did not see, so that no child writes into its parent's blocks.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>

#include "inject/live.h"
#include "inject/maps.h"
#include "inject/nccl.h"
#include "inject/process.h"
#include "inject/sys.h"
#include "inject/timer.h"
#include "protocol/broker.h"
#include "inject/waiters.h"
#include "protocol/redact.h"
#include "base/banned.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

enum { FIRST_BLOCKS = 5, PAGE = 4096, NAME_BYTES = 16 /* prctl(2) */ };

static hu_gate    closed_gate;
static hu_control no_session;

hu_gate    *hu_the_gate = &closed_gate;
hu_control *hu_the_control = &no_session;
hu_process  hu_the_process;

static uint32_t attaching;
/* Of a forked child that has no file yet.  The file is still mapped, but not to be touched: it may have been cut. */
static void    *parents_file;
static size_t   parents_bytes;
static char     parents_path[sizeof hu_the_process.path];
static uint32_t parents_blocks; /* that were there when it was forked */

static int64_t clock_ns(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static hu_clock_snapshot snapshot(void)
{
    hu_clock_snapshot s = {.ticks = hu_ticks()};

    s.monotonic_ns = clock_ns(CLOCK_MONOTONIC);
    s.realtime_ns = clock_ns(CLOCK_REALTIME);
    s.boottime_ns = clock_ns(CLOCK_BOOTTIME);
    s.ticks += (hu_ticks() - s.ticks) / 2;
    return s;
}

/* In the session's notes, which are lines of text in every version. */
static void say_other_version(const char *session, uint32_t version)
{
    snprintf(hu_the_process.session, sizeof hu_the_process.session, "%s", session);
    hu_note("not recorded are programs that load libholdup-inject.so of holdup " HU_VERSION
            " (format %d): this run is of another holdup (format %u)",
            HU_FORMAT_VERSION, version);
    hu_the_process.session[0] = '\0';
}

bool hu_process_join(void)
{
    const char *session = getenv("HOLDUP_SESSION");
    char        path[HU_SESSION_PATH_MAX + 16];
    hu_control *control;
    int         fd;

    if (!session || session[0] != '/' || strlen(session) >= HU_SESSION_PATH_MAX)
        return false;
    snprintf(path, sizeof path, "%s/control", session);
    fd = hu_sys_open(path, O_RDWR | O_NOFOLLOW);
    if (fd < 0) {
        fd = hu_broker_open(session, HU_BROKER_CONTROL, NULL);
        hu_the_process.is_guest = true;
    }
    if (fd < 0)
        return false;
    control = hu_sys_map(NULL, PAGE, PROT_READ | (hu_the_process.is_guest ? 0 : PROT_WRITE), MAP_SHARED, fd, 0);
    hu_sys_close(fd);
    if (!control)
        return false;
    if (control->magic != HU_CONTROL_MAGIC || control->version != HU_FORMAT_VERSION) {
        if (control->magic == HU_CONTROL_MAGIC)
            say_other_version(session, control->version);
        hu_sys_unmap(control, PAGE);
        return false;
    }
    snprintf(hu_the_process.session, sizeof hu_the_process.session, "%s", session);
    hu_the_control = control;
    return true;
}

/* At most `room` bytes of a small file of /proc, which one read holds, ended by '\0'. */
static uint32_t read_small(const char *path, char *to, size_t room)
{
    const int  fd = hu_sys_open(path, O_RDONLY);
    const long n = fd < 0 ? 0 : hu_sys_read(fd, to, room - 1);

    if (fd >= 0)
        hu_sys_close(fd);
    to[n > 0 ? n : 0] = '\0';
    return n > 0 ? (uint32_t)n : 0;
}

/* The name of the process is that of its first thread, which mostly asks for it: a call instead of four.  Its length. */
static uint32_t read_name(char *to, size_t room)
{
    uint32_t n;

    if (hu_sys_tid() != hu_sys_pid() || room < NAME_BYTES) {
        n = read_small("/proc/self/comm", to, room);
        return n && to[n - 1] == '\n' ? n - 1 : n;
    }
    return HU_SYS(SYS_prctl, PR_GET_NAME, to) < 0 ? 0 : (uint32_t)strnlen(to, NAME_BYTES);
}

/* "pid:[4026531836]" */
static uint32_t read_namespace(void)
{
    char     text[32];
    long     n = HU_SYS(SYS_readlinkat, AT_FDCWD, "/proc/self/ns/pid", text, sizeof text);
    uint32_t number = 0;

    for (long i = 0; i < n; i++)
        if (text[i] >= '0' && text[i] <= '9')
            number = number * 10 + (uint32_t)(text[i] - '0');
    return number;
}

/* A text of this process in its file, without secrets; the file is zero beforehand. */
static void put_clean(const char *text, size_t n, char *to, size_t room)
{
    to[hu_redact_text((hu_str){text, n}, to, room - 1)] = '\0';
}

/* What others may read: nothing is in the file before its secrets are out. */
static void describe(hu_ring_head *head)
{
    static char raw[sizeof head->command]; /* one thread makes the file */
    long        n;

    head->pid_namespace = read_namespace();
    n = read_small("/proc/self/cmdline", raw, sizeof raw);
    head->command_bytes = (uint32_t)hu_redact_arguments((hu_str){raw, (size_t)n}, head->command, sizeof head->command - 1);
    put_clean(raw, read_name(raw, sizeof head->name), head->name, sizeof head->name);
    n = HU_SYS(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", raw, sizeof head->program - 1);
    put_clean(raw, n > 0 ? (size_t)n : 0, head->program, sizeof head->program);
}

static void fail(const char *what, long rc)
{
    hu_the_process.has_failed = true;
    hu_note("process %u is not recorded: %s: %s", hu_sys_pid(), what, strerror((int)-rc));
}

/* Space for the whole file, of which the first blocks are there.  NULL: cannot. */
static hu_ring_head *map_file(int fd, uint32_t *max_blocks)
{
    for (; *max_blocks >= FIRST_BLOCKS; *max_blocks /= 2) {
        const size_t bytes = (size_t)*max_blocks * HU_BLOCK_BYTES;
        void        *at = hu_sys_map(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

        if (!at)
            continue; /* a limit on address space: ask for less */
        if (hu_sys_map(at, FIRST_BLOCKS * HU_BLOCK_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0)) {
            hu_the_process.reserved_bytes = bytes;
            return at;
        }
        hu_sys_unmap(at, bytes);
    }
    return NULL;
}

/* The file, and its name in hu_the_process.path. */
static int create_file(uint64_t now)
{
    char name[HU_BROKER_NAME_BYTES] = "";
    int  fd, rc;

    snprintf(hu_the_process.path, sizeof hu_the_process.path, "%s/%u-%016llx.ring", hu_the_process.session, hu_sys_pid(),
             (unsigned long long)now);
    rc = hu_sys_open(hu_the_process.path, O_RDWR | O_CREAT | O_EXCL);
    if (rc >= 0)
        return rc;
    fd = hu_broker_open(hu_the_process.session, HU_BROKER_MAKE, name);
    if (fd < 0)
        return rc;
    snprintf(hu_the_process.path, sizeof hu_the_process.path, "%s/%s", hu_the_process.session, name);
    return fd;
}

static void make_file(void)
{
    const uint64_t now = hu_ticks();
    uint32_t       max_blocks = hu_the_control->max_blocks;
    hu_ring_head  *head;
    long           rc;
    int            fd;

    fd = create_file(now);
    if (fd < 0) {
        fail(hu_the_process.path, fd);
        return;
    }
    rc = hu_file_allocate(fd, 0, FIRST_BLOCKS * HU_BLOCK_BYTES);
    if (max_blocks < FIRST_BLOCKS || max_blocks > HU_RING_BLOCKS_MAX * 16)
        max_blocks = HU_RING_BLOCKS_MAX;
    head = rc < 0 ? NULL : map_file(fd, &max_blocks);
    hu_sys_close(fd);
    if (!head) {
        (void)HU_SYS(SYS_unlinkat, AT_FDCWD, hu_the_process.path, 0);
        fail(hu_the_process.path, rc < 0 ? rc : -ENOMEM);
        return;
    }
    head->version = HU_FORMAT_VERSION;
    head->block_bytes = HU_BLOCK_BYTES;
    head->pid = hu_sys_pid();
    head->ppid = (uint32_t)HU_SYS(SYS_getppid);
    head->started = now;
    head->state = HU_PROCESS_RUNS;
    head->clock = hu_the_control->clock;
    head->n_blocks = hu_the_process.mapped_blocks = FIRST_BLOCKS;
    head->max_blocks = max_blocks;
    head->first_fresh = 1;
    head->forked = hu_the_process.is_forked;
    head->begin = snapshot();
    describe(head);
    hu_the_process.generation++;
    hu_the_process.head = head;
    hu_process_read_rank();
    if (!hu_strings_inherit(parents_file ? parents_path : NULL, parents_blocks))
        hu_note("process %u: some names of its parent cannot be copied", head->pid);
    if (parents_file)
        hu_sys_unmap(parents_file, parents_bytes);
    parents_file = NULL;
    __atomic_store_n(&head->magic, HU_RING_MAGIC, __ATOMIC_RELEASE);
    if (!hu_the_process.is_guest)
        __atomic_fetch_add(&hu_the_control->processes, 1, __ATOMIC_RELAXED);
}

bool hu_process_attach(void)
{
    if (__builtin_expect(hu_the_process.head != NULL, 1))
        return true;
    if (hu_the_process.has_failed || hu_the_control == &no_session || !hu_lock(&attaching))
        return false;
    if (!hu_the_process.head && !hu_the_process.has_failed)
        make_file();
    hu_unlock(&attaching);
    return hu_the_process.head != NULL;
}

void hu_process_entered(uint32_t door)
{
    if (hu_process_attach() && !(hu_the_process.head->doors & door))
        __atomic_fetch_or(&hu_the_process.head->doors, door, __ATOMIC_RELAXED);
}

/* Only this thread is left, and none of its parent's locks is held by anybody. */
void hu_process_forked(void)
{
    if (hu_the_control == &no_session)
        return;
    if (hu_the_process.head) {
        parents_file = hu_the_process.head;
        parents_bytes = hu_the_process.reserved_bytes;
        parents_blocks = hu_the_process.mapped_blocks;
        memcpy(parents_path, hu_the_process.path, sizeof parents_path);
    }
    hu_the_process.head = NULL;
    hu_the_process.has_failed = false;
    hu_the_process.is_forked = true;
    hu_locks_forked();
    hu_thread = (hu_thread_state){.inside = hu_thread.inside};
    hu_gate_forked();
    hu_timer_forked();
    hu_maps_forked();
    hu_nccl_forked();
    hu_waiters_forked();
    hu_cuda_forked();
    hu_opencl_forked();
    hu_live_forked();
}

void hu_process_replaced(const char *program)
{
    hu_record *r;

    if (!hu_the_process.head || !hu_gate_open(HU_DOORS_OF_RECORDS))
        return;
    r = hu_ring_take(1);
    if (r) {
        r->time = hu_ticks();
        r->id = program ? hu_string_given(program, strnlen(program, HU_STRING_BYTES_MAX)) : 0;
        hu_ring_publish(r, HU_RECORD_EXEC);
    }
    hu_the_process.head->end = snapshot();
    hu_the_process.head->exited = hu_the_process.head->end.ticks;
    hu_the_process.head->state = HU_PROCESS_REPLACED;
}

void hu_process_not_replaced(void)
{
    if (hu_the_process.head) {
        hu_the_process.head->state = HU_PROCESS_RUNS;
        hu_the_process.head->exited = 0;
        hu_the_process.head->end = (hu_clock_snapshot){0};
    }
}

static void tell(const char *name, long value)
{
    const double count = (double)value;
    hu_record   *r = hu_ring_take(1);

    if (!r)
        return;
    r->time = hu_ticks();
    r->id = hu_string_as_is(name, strlen(name));
    memcpy(&r->a, &count, sizeof count);
    hu_ring_publish(r, HU_RECORD_COUNTER);
}

/* Of this program alone: what getrusage says holds for those that it replaced too.  0: not known. */
static long most_kilobytes(void)
{
    char        text[2048];
    const int   fd = hu_sys_open("/proc/self/status", O_RDONLY);
    const long  n = fd < 0 ? -1 : hu_sys_read(fd, text, sizeof text - 1);
    const char *at;
    long        kilobytes = 0;

    if (fd >= 0)
        hu_sys_close(fd);
    if (n <= 0)
        return 0;
    text[n] = '\0';
    at = strstr(text, "VmHWM:");
    if (!at)
        return 0;
    for (at += strlen("VmHWM:"); *at == ' ' || *at == '\t'; at++)
        ;
    for (; *at >= '0' && *at <= '9'; at++)
        kilobytes = 10 * kilobytes + (*at - '0');
    return kilobytes;
}

/* Of a process that touched much memory: how many pages came fresh, and how many it held at most. */
static void tell_faults(void)
{
    enum { MANY = 10000 };
    struct rusage used;
    const long    page_bytes = (long)getauxval(AT_PAGESZ);
    long          most;

    if (!hu_the_process.head || !hu_gate_open(HU_DOOR_OSRT) || HU_SYS(SYS_getrusage, RUSAGE_SELF, &used) < 0 ||
        used.ru_minflt < MANY || page_bytes < 1024)
        return;
    most = most_kilobytes();
    if (most == 0)
        return;
    tell("page faults", used.ru_minflt);
    tell("pages held at most", most / (page_bytes / 1024));
}

/* Later records are still taken: a library may work until the very end. */
void hu_process_exits(void)
{
    if (hu_thread.batched)
        hu_ring_flush();
    tell_faults();
    if (hu_the_process.head && hu_the_process.head->state == HU_PROCESS_RUNS) {
        hu_the_process.head->end = snapshot();
        hu_the_process.head->exited = hu_the_process.head->end.ticks;
        hu_the_process.head->state = HU_PROCESS_EXITED;
    }
}

/* The gate of a page that forks wipe; where the kernel cannot, the handler of fork must do. */
void hu_gate_page(void)
{
    hu_gate *page = hu_sys_map(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (!page)
        return;
    (void)HU_SYS(SYS_madvise, page, PAGE, MADV_WIPEONFORK);
    hu_the_gate = page;
}
