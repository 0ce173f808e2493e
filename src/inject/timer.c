/* SPDX-License-Identifier: Apache-2.0
 * timer.c - each thread has a timer of its own CPU time; its signal writes where the thread is.
 *
 * No thread is asked to help, and pthread_create is left alone: a slow timer of the process's CPU time looks now and
 * then through /proc/self/task, gives new threads a timer (the clock of a thread is made of its number) and takes those
 * of ended threads away.  Callers are found by frame pointers and read through process_vm_readv, which says EFAULT where
 * a load would crash.  Traps:
 *  - the signal is a real-time one that had no handler when we came.  A program that installs its own gets it, and our
 *    timers end; one that resets all signals to their default, which would kill it at our next one, sees that as done;
 *  - a thread that blocks the signal may wait for it with sigwait: it gets no timer;
 *  - timers are not inherited by fork, and an exec drops what they had sent;
 *  - the handler runs anywhere, on any stack: no C library but system calls, little stack, errno kept.
 *
 * What lies where is copied into the session (maps.c) at the first sample, the 10th, the 100th and so on, and at the end.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <ucontext.h>

#include "inject/maps.h"
#include "inject/process.h"
#include "inject/sys.h"
#include "inject/timer.h"
#include "base/banned.h"

enum { CALLERS_MAX = 24, TIMERS_MAX = 4096, LOOKS_PER_SECOND = 20, SIGNALS_TRIED = 16, OF_PROCESS = 0, OF_THREAD = 1 };

/* The clock that a thread's number stands for (linux/posix-timers.h: CPUCLOCK_PERTHREAD_MASK | CPUCLOCK_SCHED). */
#define CLOCK_OF_THREAD(tid) ((clockid_t)(~(unsigned)(tid) << 3 | 6u))

typedef struct {
    uint32_t tid, stamp; /* tid 0: free */
    int      id;         /* the kernel's */
} thread_timer;

static thread_timer timers[TIMERS_MAX];
static int          signal_number; /* 0: none is used */
static int          process_timer;
static uint32_t     looks, is_looking, samples, next_maps = 1;

/* As the kernel has it, whatever sigaction is by then. */
static int (*next_sigaction)(int, const struct sigaction *, struct sigaction *);

/* ---- a sample ---------------------------------------------------------------------------------------------------- */

static bool read_words(uint32_t pid, uint64_t address, uint64_t out[2])
{
    struct iovec to = {out, 16}, from = {(void *)(uintptr_t)address, 16};

    return HU_SYS(SYS_process_vm_readv, pid, &to, 1, &from, 1, 0) == 16;
}

/* Return addresses, the innermost first: frames lie at ever higher addresses, and not far apart. */
static uint32_t find_callers(uint64_t frame, uint64_t stack, uint64_t callers[CALLERS_MAX])
{
    static const uint64_t farthest = 1 << 20;
    const uint32_t        pid = hu_sys_pid();
    uint32_t              n = 0;

    while (n < CALLERS_MAX && frame >= stack && frame - stack < farthest && frame % 8 == 0) {
        uint64_t words[2];

        if (!read_words(pid, frame, words) || words[1] == 0)
            break;
        callers[n++] = words[1];
        stack = frame + 16;
        frame = words[0];
    }
    return n;
}

static void take_sample(const ucontext_t *where)
{
    uint64_t   callers[CALLERS_MAX], ip, frame, stack;
    uint32_t   n;
    hu_record *r;

#if defined(__x86_64__)
    ip = (uint64_t)where->uc_mcontext.gregs[REG_RIP];
    frame = (uint64_t)where->uc_mcontext.gregs[REG_RBP];
    stack = (uint64_t)where->uc_mcontext.gregs[REG_RSP];
#elif defined(__aarch64__)
    ip = where->uc_mcontext.pc;
    frame = where->uc_mcontext.regs[29];
    stack = where->uc_mcontext.sp;
#else
    (void)where;
    return;
#endif
    n = find_callers(frame, stack, callers);
    r = hu_ring_take_now(1 + n);
    if (!r)
        return;
    for (uint32_t i = 0; i < n; i++)
        hu_ring_more(&r[1 + i], 0, HU_MORE_ADDRESS, callers[i]);
    r->time = hu_ticks();
    r->id = 0;
    r->aux = (uint16_t)n;
    r->a = ip;
    r->b = 0;
    hu_ring_publish(r, HU_RECORD_SAMPLE);
}

/* Decimal digits, without the C library's help. */
static size_t put_number(char *to, uint32_t number)
{
    char   digits[10];
    size_t n = 0, i = 0;

    do
        digits[n++] = (char)('0' + number % 10);
    while (number /= 10);
    while (n)
        to[i++] = digits[--n];
    return i;
}

/* ---- timers of threads ------------------------------------------------------------------------------------------- */

static bool make_timer(clockid_t clock, uint32_t tid, int what, unsigned hz, int *id)
{
    struct sigevent   event;
    struct itimerspec period = {{0, 1000000000 / (long)hz}, {0, 1000000000 / (long)hz}};

    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = signal_number;
    event.sigev_value.sival_int = what;
    event._sigev_un._tid = (pid_t)tid;
    if (hz <= 1)
        period.it_interval = period.it_value = (struct timespec){1, 0};
    if (HU_SYS(SYS_timer_create, clock, &event, id) < 0)
        return false;
    if (HU_SYS(SYS_timer_settime, *id, 0, &period, NULL) == 0)
        return true;
    (void)HU_SYS(SYS_timer_delete, *id);
    return false;
}

/* Does the thread block our signal?  "SigBlk:" of its status, in hexadecimal.  Also true when that cannot be read. */
static bool blocks_signal(uint32_t tid)
{
    static char text[4096]; /* one thread looks at a time */
    char        path[64] = "/proc/self/task/";
    size_t      n = strlen(path);
    const char *at;
    uint64_t    mask = 0;
    int         fd;
    long        got;

    n += put_number(path + n, tid);
    memcpy(path + n, "/status", 8);
    fd = hu_sys_open(path, O_RDONLY);
    got = fd < 0 ? 0 : hu_sys_read(fd, text, sizeof text - 1);
    if (fd >= 0)
        hu_sys_close(fd);
    text[got > 0 ? got : 0] = '\0';
    at = strstr(text, "SigBlk:\t");
    if (!at)
        return true;
    for (at += 8; (*at >= '0' && *at <= '9') || (*at >= 'a' && *at <= 'f'); at++)
        mask = mask << 4 | (uint64_t)(*at <= '9' ? *at - '0' : *at - 'a' + 10);
    return (mask >> (signal_number - 1) & 1) != 0;
}

/* The place of a thread's timer, or a free one; NULL when all are taken. */
static thread_timer *find_timer(uint32_t tid)
{
    thread_timer *unused = NULL;

    for (uint32_t i = 0; i < 64; i++) {
        thread_timer *t = &timers[(tid * 2654435761u + i) % TIMERS_MAX];

        if (t->tid == tid)
            return t;
        if (t->tid == 0 && !unused)
            unused = t;
    }
    return unused;
}

static void look_at(uint32_t tid)
{
    thread_timer *t = find_timer(tid);

    if (!t)
        return;
    if (t->tid == tid) {
        t->stamp = looks;
    } else if (!blocks_signal(tid) && make_timer(CLOCK_OF_THREAD(tid), tid, OF_THREAD, hu_the_control->sample_hz, &t->id)) {
        t->stamp = looks;
        t->tid = tid;
    }
}

static void drop_timers(bool all)
{
    for (size_t i = 0; i < TIMERS_MAX; i++) {
        if (timers[i].tid && (all || timers[i].stamp != looks)) {
            (void)HU_SYS(SYS_timer_delete, timers[i].id);
            timers[i].tid = 0;
        }
    }
}

/* What getdents64 gives: inode, offset, length, type, name. */
enum { ENTRY_LENGTH = 16, ENTRY_NAME = 19 };

static void look_at_threads(void)
{
    static char entries[4096];
    int         fd;
    long        got;

    if (__atomic_exchange_n(&is_looking, 1, __ATOMIC_ACQUIRE))
        return;
    looks++;
    fd = hu_sys_open("/proc/self/task", O_RDONLY | O_DIRECTORY);
    while (fd >= 0 && (got = HU_SYS(SYS_getdents64, fd, entries, sizeof entries)) > 0) {
        for (long at = 0; at + ENTRY_NAME < got;) {
            uint16_t length;
            uint32_t tid = 0;

            memcpy(&length, entries + at + ENTRY_LENGTH, sizeof length);
            for (const char *p = entries + at + ENTRY_NAME; *p >= '0' && *p <= '9'; p++)
                tid = tid * 10 + (uint32_t)(*p - '0');
            if (tid)
                look_at(tid);
            at += length;
        }
    }
    if (fd >= 0) {
        hu_sys_close(fd);
        drop_timers(false);
    }
    __atomic_store_n(&is_looking, 0, __ATOMIC_RELEASE);
}

static void handle(int number, siginfo_t *info, void *context)
{
    (void)number;
    if (info->si_code != SI_TIMER || !signal_number)
        return;
    if (info->si_value.sival_int == OF_PROCESS) {
        look_at_threads();
    } else if (hu_gate_open(HU_DOOR_CPU)) {
        const uint32_t n = __atomic_add_fetch(&samples, 1, __ATOMIC_RELAXED);

        take_sample(context);
        if (n == next_maps) {
            next_maps *= 10;
            hu_maps_copy();
        }
    }
}

/* ---- the signal -------------------------------------------------------------------------------------------------- */

static bool take_signal(void)
{
    struct sigaction mine, old;

    memset(&mine, 0, sizeof mine);
    mine.sa_sigaction = handle;
    mine.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
    sigfillset(&mine.sa_mask);
    for (int i = 0; i < SIGNALS_TRIED; i++) {
        const int number = SIGRTMAX - 3 - i;

        if (number <= SIGRTMIN || next_sigaction(number, NULL, &old) < 0 || old.sa_handler != SIG_DFL)
            continue;
        if (next_sigaction(number, &mine, NULL) == 0) {
            signal_number = number;
            return true;
        }
    }
    return false;
}

static void find_next(void)
{
    void *symbol = next_sigaction ? NULL : dlsym(RTLD_NEXT, "sigaction");

    if (symbol)
        memcpy(&next_sigaction, &symbol, sizeof symbol);
}

static void arm(void)
{
    const uint32_t pid = hu_sys_pid();

    memset(timers, 0, sizeof timers);
    is_looking = samples = 0; /* a thread of the parent may have been at it */
    next_maps = 1;
    if (!make_timer(CLOCK_PROCESS_CPUTIME_ID, pid, OF_PROCESS, LOOKS_PER_SECOND, &process_timer)) {
        hu_note("process %u has no CPU samples: cannot create a timer; raise `ulimit -i`", pid);
        signal_number = 0;
        return;
    }
    look_at_threads();
}

void hu_timer_begin(void)
{
    const int saved_errno = errno;

    find_next();
    if (hu_the_control->sample_hz == 0 || hu_the_control->sample_hz > 10000 || signal_number || !next_sigaction)
        return;
    if (take_signal())
        arm();
    else
        hu_note("process %u has no CPU samples: it handles all real-time signals", hu_sys_pid());
    errno = saved_errno;
}

void hu_timer_forked(void)
{
    if (signal_number)
        arm();
}

void hu_timer_end(void)
{
    if (!signal_number)
        return;
    signal_number = 0; /* what was sent by now is ignored */
    (void)HU_SYS(SYS_timer_delete, process_timer);
    drop_timers(true);
    hu_maps_copy();
}

/* ---- the program's own wishes for our signal --------------------------------------------------------------------- */

/* True: the program need not do it.  Its own handler gets the signal, and our timers end before. */
static bool keeps_signal(int number, sighandler_t handler)
{
    if (number != signal_number || number == 0)
        return false;
    if (handler == SIG_DFL || handler == SIG_IGN)
        return true;
    hu_timer_end();
    hu_note("process %u has no more CPU samples: it uses signal %d itself", hu_sys_pid(), number);
    return false;
}

__attribute__((visibility("default"))) int sigaction(int number, const struct sigaction *restrict action,
                                                     struct sigaction *restrict old)
{
    find_next();
    if (!next_sigaction) {
        errno = ENOSYS;
        return -1;
    }
    if (number && number == signal_number && !action && old) {
        memset(old, 0, sizeof *old); /* as if we were not there */
        return 0;
    }
    if (action && keeps_signal(number, action->sa_handler)) {
        if (old)
            memset(old, 0, sizeof *old);
        return 0;
    }
    return next_sigaction(number, action, old);
}

__attribute__((visibility("default"))) sighandler_t signal(int number, sighandler_t handler)
{
    static sighandler_t (*next)(int, sighandler_t);

    if (!next) {
        void *symbol = dlsym(RTLD_NEXT, "signal");

        memcpy(&next, &symbol, sizeof symbol);
    }
    return keeps_signal(number, handler) ? SIG_DFL : next ? next(number, handler) : SIG_ERR;
}
