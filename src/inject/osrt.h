/* SPDX-License-Identifier: Apache-2.0
 * osrt.h - the OS runtime door: the template of a wrapper around a call of the C library, and what wrappers share.
 *
 *     HU_WRAP(fsync, int, fsync, (int fd), (fd), HU_RAW(SYS_fsync, fd), hu_osrt_fd(&span, fd, rc))
 *
 * A wrapper finds the real function once.  With the gate closed it jumps there: a load and a branch more than without
 * us.  With the gate open it reads the clock, calls, reads the clock, and writes a record when the call took as long as
 * hu_control.os_threshold.  Only the outermost call of a thread is recorded.  errno and the result are the program's.
 *
 * A call may never return to its wrapper: a signal handler jumps out of it, or the thread is cancelled.  The thread would
 * look inside for ever and be silent, so the wrapper leaves the address of its frame behind: one that is called from
 * further up the stack knows that the other is gone.  longjmp says so by itself (osrt_process.c).
 */
#ifndef HU_INJECT_OSRT_H
#define HU_INJECT_OSRT_H

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>

#include "inject/ring.h"
#include "inject/sys.h"
#include "inject/waiters.h"
#include "protocol/os_calls.h"
#include "protocol/sanitizer.h"

#define HU_EXPORT __attribute__((visibility("default")))
#define HU_RARE   __attribute__((cold, noinline))
#define HU_TIMED  __attribute__((noinline)) static

/* One wrapped symbol.  Its address is in a section of its own, so that all are found without a list. */
typedef struct {
    void      **real;
    const char *name;
    const char *version; /* asked for first; NULL: the default one */
} hu_osrt_symbol;

#define HU_REAL_NAMED(symbol, its_name, its_version)                                                 \
    static __typeof__(symbol)   *real_##symbol;                                                      \
    static const hu_osrt_symbol  symbol_##symbol = {(void **)&real_##symbol, its_name, its_version}; \
    static const hu_osrt_symbol *entry_of_##symbol __attribute__((used, section("hu_osrt"))) = &symbol_##symbol;

#define HU_REAL(symbol) HU_REAL_NAMED(symbol, #symbol, NULL)

/* The real function; NULL: there is none, or it is just being looked up. */
/* clang-format off */
#define HU_FIND(symbol)                                                                                               \
    (__builtin_expect(real_##symbol != NULL, 1) ? real_##symbol                                                       \
                                                : (__typeof__(symbol) *)hu_osrt_find(&symbol_##symbol))
/* clang-format on */

/* All that is known of a call while it runs; on the wrapper's stack. */
typedef struct {
    uint64_t  start, took;   /* ticks */
    uint32_t  call;          /* hu_os_call */
    uint32_t  inside;        /* hu_thread.inside as it was before */
    uintptr_t caller;        /* where the program called */
    bool      has_object;    /* what follows is known; to most calls it costs nothing */
    bool      is_lock;       /* the object has an owner, who unlocks it */
    uint32_t  holder;        /* the thread that had the lock when it was not free (its number); 0: not known */
    uintptr_t object, mutex; /* what it waits for, in memory; mutex: 0, or that of a condition */
    uintptr_t outer;         /* hu_thread.waits_for as it was before */
} hu_osrt_span;

void *hu_osrt_find(const hu_osrt_symbol *symbol);

/* The thread is inside of a door.  True: it only looks so. */
bool hu_osrt_is_gone(const hu_osrt_span *span);

/* A thread that may wait for long gets its block now, so that a killed program says what it waited in. */
void hu_osrt_show(const hu_osrt_span *span);

/* A class whose calls may last for ever; those of files come back, or the thread has other calls to be known by. */
static inline bool hu_osrt_may_wait(hu_os_call call)
{
    static const uint8_t classes[] = {
#define C(name, class) [HU_OS_CALL_##name] = HU_OS_##class,
        HU_OS_CALLS(C)
#undef C
    };

    return classes[call] == HU_OS_WAIT || classes[call] == HU_OS_POLL || classes[call] == HU_OS_SLEEP ||
           classes[call] == HU_OS_LOCK || classes[call] == HU_OS_NETWORK;
}

static inline void hu_osrt_inside(const hu_osrt_span *span)
{
    uint32_t held;

    if (!span->has_object) {
        hu_ring_inside(span->call + 1, span->start, 0, span->caller);
        return;
    }
    held = span->holder && span->holder >> HU_CALL_TID_BITS == 0 ? HU_CALL_HELD | span->holder << HU_CALL_BITS : 0;

    hu_ring_inside((span->call + 1) | held, span->start, span->object, span->caller);
}

/* To wait for an object of memory, or for none.  False: stay silent.  Inlined: the caller is the wrapper's. */
__attribute__((always_inline)) static inline bool hu_osrt_enter_for(hu_osrt_span *span, hu_os_call call,
                                                                    const volatile void *object, uint32_t holder)
{
    if (__builtin_expect(hu_thread.inside != 0, 0) && !hu_osrt_is_gone(span))
        return false;
    span->call = call;
    span->caller = (uintptr_t)__builtin_return_address(0);
    span->has_object = object != NULL;
    if (object) {
        span->object = (uintptr_t)object;
        span->mutex = 0;
        span->holder = holder;
        span->is_lock = false;
    }
    span->inside = hu_thread.inside++;
    hu_thread.frame = (uintptr_t)span;
    span->start = hu_ticks();
    if (hu_osrt_may_wait(call) && __builtin_expect(hu_thread.block == NULL, 0))
        hu_osrt_show(span);
    else
        hu_osrt_inside(span);
    return true;
}

__attribute__((always_inline)) static inline bool hu_osrt_enter(hu_osrt_span *span, hu_os_call call)
{
    return hu_osrt_enter_for(span, call, NULL, 0);
}

/* In a forked child the ring is its parent's: no more than this. */
static inline void hu_osrt_reset(const hu_osrt_span *span)
{
    hu_thread.inside = span->inside;
    hu_thread.frame = 0;
}

/* True: it took long enough to be recorded. */
static inline bool hu_osrt_leave(hu_osrt_span *span)
{
    hu_block *block = hu_thread.block;

    span->took = hu_ticks() - span->start;
    if (block)
        __atomic_store_n(&block->head.call, 0, __ATOMIC_RELEASE);
    hu_osrt_reset(span);
    return __builtin_expect(span->took >= hu_the_control->os_threshold, 0);
}

/* Between entering and leaving: whoever wakes the thread must know that it waits. */
static inline void hu_osrt_waits(hu_osrt_span *span)
{
    if (!span->has_object)
        return;
    span->outer = hu_thread.waits_for;
    hu_waiters_enter(span->object);
    hu_thread.waits_for = span->object;
    if (span->call == HU_OS_CALL_pthread_cond_wait)
        hu_thread.queue = span->object;
}

/* Behind leaving.  What a jump has counted out already, it does not count out again. */
static inline void hu_osrt_waited(const hu_osrt_span *span)
{
    if (!span->has_object)
        return;
    if (hu_thread.waits_for == span->object)
        hu_waiters_leave(span->object);
    hu_thread.waits_for = span->outer;
}

/* A write of eight bytes, which may be the count of an eventfd: the same for that. */
void hu_osrt_counted(const hu_osrt_span *span, int fd);

/* Somebody may wait for the object: writes that this thread wakes them. */
void hu_osrt_wakes(hu_wake how, const volatile void *object, uint64_t ticks, const void *caller);

/* What descriptors are (osrt_fds.c). */
/* clang-format off */
typedef enum {
    HU_FD_UNKNOWN, HU_FD_FILE, HU_FD_PIPE, HU_FD_SOCKET, HU_FD_LOCAL /* socket of this machine */, HU_FD_TERMINAL,
    HU_FD_EVENT /* eventfd, timerfd, signalfd, inotify ... */, HU_FD_OTHER,
} hu_fd_kind;
/* clang-format on */

typedef struct {
    hu_fd_kind kind;
    uint32_t   path; /* a string: path or peer; 0: not known, or not wanted */
} hu_fd_facts;

/* Writing the record of a call that is over.  errno is that of the call, and stays.  `rc`: a result, negative when it
 * failed with errno; what is positive counts as bytes. */
void hu_osrt_fd(const hu_osrt_span *span, int fd, int64_t rc);
void hu_osrt_stream(const hu_osrt_span *span, FILE *stream, int64_t rc);
void hu_osrt_path(const hu_osrt_span *span, const char *path, int64_t rc); /* rc counts no bytes */
void hu_osrt_opened(const hu_osrt_span *span, const char *path, int fd);
void hu_osrt_peer(const hu_osrt_span *span, int fd, const struct sockaddr *peer, socklen_t bytes, int64_t rc);
void hu_osrt_text(const hu_osrt_span *span, const char *text, int error);
void hu_osrt_bytes(const hu_osrt_span *span, int64_t rc);
void hu_osrt_done(const hu_osrt_span *span, int error); /* 0, or why it failed */

/* The same for several calls in one: bytes and time of all of them. */
void hu_osrt_many(const hu_osrt_span *span, int fd, const hu_fd_facts *is, uint64_t bytes, uint32_t calls);

/* A fast call of many alike: true when it is added up with them, and needs no record of its own (osrt_batch.c). */
bool hu_osrt_add(const hu_osrt_span *span, int fd, int64_t rc);

/* The id of a path or a peer; 0 where files are so many that they would leave no room for the names of ranges. */
uint32_t hu_osrt_name(const char *text, size_t bytes);

enum { HU_FDS_KNOWN = 65536, HU_FD_KIND_BITS = 16 };
extern uint32_t hu_fds[HU_FDS_KNOWN]; /* kind | path << HU_FD_KIND_BITS; 0: not known */

hu_fd_facts hu_fd_get(int fd);
void        hu_fd_forget_range(unsigned first, unsigned last); /* `last` included */
uint32_t    hu_fd_peer(const struct sockaddr *peer, socklen_t bytes);

/* What is known already, without asking anybody. */
static inline hu_fd_facts hu_fd_recall(int fd)
{
    const uint32_t known = (unsigned)fd < HU_FDS_KNOWN ? __atomic_load_n(&hu_fds[fd], __ATOMIC_RELAXED) : 0;

    return (hu_fd_facts){(hu_fd_kind)(known & ((1u << HU_FD_KIND_BITS) - 1)), known >> HU_FD_KIND_BITS};
}

/* The number means something else from now on. */
static inline void hu_fd_forget(int fd)
{
    if ((unsigned)fd < HU_FDS_KNOWN && __builtin_expect(__atomic_load_n(&hu_fds[fd], __ATOMIC_RELAXED) != 0, 0))
        __atomic_store_n(&hu_fds[fd], 0, __ATOMIC_RELAXED);
}

/* As hu_osrt_fd, for a descriptor that is closed by now. */
void hu_osrt_known(const hu_osrt_span *span, int fd, const hu_fd_facts *was, int64_t rc);

/* The environment of a program to be started, with what it takes to follow it (osrt_environment.c). */
typedef struct {
    char *const *envp;  /* as the program has it */
    size_t       bytes; /* to be provided for hu_environment_write; 0: envp is good as it is */
    size_t       n;
    uint32_t     missing;
    bool         is_without_us;                 /* our library cannot be opened any more: another root, another user */
    char         sanitizer[HU_SANITIZER_BYTES]; /* that the program needs in front of all others; "": none */
} hu_environment;

void hu_environment_load(void);

/* A profiler around this program has given NVTX to its own library: we go in front, and it is called behind us.  Children
 * get both.  nsys gives it away in each exec and once more while it is loaded: also behind setenv. */
void hu_environment_chain_nvtx(void);
/* `program` is a file, of PATH where `is_searched` and it has no slash; NULL: not known. */
void         hu_environment_plan(hu_environment *e, char *const *envp, const char *program, bool is_searched);
char *const *hu_environment_write(const hu_environment *e, void *room);

/* Takes the sanitizer that we put there for this program out of its environment: of system and popen, shells get that as
 * it is.  Not before main: a sanitizer may start the program again while it loads. */
void hu_environment_unmark(void);

/* Finds all real functions.  Once, from the constructor, whether there is a session or not. */
void hu_osrt_load(void);

/* The system call itself, for the time before the C library can be asked; as the C library's function: -1 and errno. */
long hu_osrt_raw(long number, long a, long b, long c, long d, long e, long f);

#define HU_RAW_6(n, a, b, c, d, e, f, ...) hu_osrt_raw(n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))
#define HU_RAW(...)                        HU_RAW_6(__VA_ARGS__, 0, 0, 0, 0, 0, 0, 0)

/* For what has no system call: it does not exist here. */
#define HU_ABSENT(result) (errno = ENOSYS, (result))

/* The exported function: with the gate closed it jumps to the real one, and saves no register for more. */
#define HU_DOOR(type, symbol, params, args) HU_DOOR_OF(HU_DOOR_OSRT, type, symbol, params, args)

#define HU_DOOR_OF(doors, type, symbol, params, args)                   \
    HU_EXPORT type symbol params                                        \
    {                                                                   \
        if (__builtin_expect(real_##symbol && !hu_gate_open(doors), 1)) \
            return real_##symbol args;                                  \
        return timed_##symbol args;                                     \
    }

/* `otherwise` is the result while there is no real function; `done` writes the record if `when`. */
#define HU_WRAP_NAMED(row, type, symbol, name, version, params, args, otherwise, done) \
    HU_WRAP_AS(row, type, symbol, name, version, params, args, otherwise, is_long, done)

#define HU_WRAP_AS(row, type, symbol, name, version, params, args, otherwise, when, done) \
    HU_REAL_NAMED(symbol, name, version)                                                  \
    HU_TIMED type timed_##symbol params                                                   \
    {                                                                                     \
        __typeof__(symbol) *real = real_##symbol;                                         \
        hu_osrt_span        span;                                                         \
        type                rc;                                                           \
        bool                is_long;                                                      \
                                                                                          \
        if (__builtin_expect(!real, 0)) {                                                 \
            real = HU_FIND(symbol);                                                       \
            if (!real)                                                                    \
                return (type)(otherwise);                                                 \
            if (!hu_gate_open(HU_DOOR_OSRT))                                              \
                return real args;                                                         \
        }                                                                                 \
        if (!hu_osrt_enter(&span, HU_OS_CALL_##row))                                      \
            return real args;                                                             \
        rc = real args;                                                                   \
        is_long = hu_osrt_leave(&span);                                                   \
        if (when)                                                                         \
            done;                                                                         \
        return rc;                                                                        \
    }                                                                                     \
    HU_DOOR(type, symbol, params, args)

/* Of a call that moves bytes of `fd` and may be made very often. */
#define HU_WRAP_MANY(row, type, symbol, params, args, otherwise, done) \
    HU_WRAP_AS(row, type, symbol, #symbol, NULL, params, args, otherwise, !hu_osrt_add(&span, fd, rc) && is_long, done)

/* Of a call that waits for an object of memory, and for a condition's mutex behind it. */
#define HU_WRAP_ON(row, type, symbol, name, version, params, args, otherwise, on, with, done) \
    HU_WRAP_ON_OF(HU_DOOR_OSRT, HU_PLAINLY, row, type, symbol, name, version, params, args, otherwise, on, with, done)

#define HU_PLAINLY(row, call) (call)

/* `doors` are those that anybody needs the call for; `around` is put around it, recorded or not. */
#define HU_WRAP_ON_OF(doors, around, row, type, symbol, name, version, params, args, otherwise, on, with, done) \
    HU_REAL_NAMED(symbol, name, version)                                                                        \
    HU_TIMED type timed_##symbol params                                                                         \
    {                                                                                                           \
        __typeof__(symbol) *const real = HU_FIND(symbol);                                                       \
        hu_osrt_span              span;                                                                         \
        type                      rc;                                                                           \
        bool                      is_long;                                                                      \
                                                                                                                \
        if (!real)                                                                                              \
            return (type)(otherwise);                                                                           \
        if (!hu_gate_open(HU_DOOR_OSRT) || !hu_osrt_enter_for(&span, HU_OS_CALL_##row, on, 0))                  \
            return around(row, real args);                                                                      \
        hu_osrt_waits(&span);                                                                                   \
        span.mutex = (uintptr_t)(with);                                                                         \
        rc = around(row, real args);                                                                            \
        is_long = hu_osrt_leave(&span);                                                                         \
        hu_osrt_waited(&span);                                                                                  \
        if (is_long)                                                                                            \
            done;                                                                                               \
        return rc;                                                                                              \
    }                                                                                                           \
    HU_DOOR_OF(doors, type, symbol, params, args)

#define HU_WRAP(row, type, symbol, params, args, otherwise, done) \
    HU_WRAP_NAMED(row, type, symbol, #symbol, NULL, params, args, otherwise, done)

#endif
