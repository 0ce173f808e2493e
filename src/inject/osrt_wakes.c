/* SPDX-License-Identifier: Apache-2.0
 * osrt_wakes.c - calls that wake others: unlocking, signalling, posting, futexes of the program's own.
 *
 * Where nobody waits, they cost one more look-up in the table of waiters (waiters.h).  A thread that unlocks leaves a note
 * there; all others write a record with the time before the call: the woken thread may run before the call returns.
 *
 * Threads of PyTorch that run collectives of gloo wait for a queue, and for each that they take they signal the condition
 * behind that of the queue, for which nobody waits.  These signals are said all the same, so that the trace has each
 * collective (record/pf_gloo.c): of threads that PyTorch names, and with --pytorch of any that look like one.
 *
 * Rust, Abseil, std::atomic::wait have locks of their own, which wait and wake by syscall(SYS_futex).
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <sys/eventfd.h>
#include <threads.h>

#include <linux/futex.h>

#include "inject/osrt.h"
#include "base/banned.h"

#define CALLER __builtin_return_address(0)

/*
 * Do threads sleep for a lock of glibc?  A mutex is 2 then, or has the highest bit if it inherits priority or is robust
 * (lowlevellock.h, FUTEX_WAITERS); a read-write lock has PTHREAD_RWLOCK_FUTEX_USED in one of its two futexes.  These words
 * have not changed since 2.25, and initialisers in programs contain them.  musl has other words in these places: there,
 * no unlocking is recorded.
 */
static inline bool is_mutex_awaited(const void *lock)
{
    const uint32_t word = __atomic_load_n((const uint32_t *)lock, __ATOMIC_RELAXED);

    return word == 2 || word >> 31;
}

static inline bool is_rwlock_awaited(const void *lock)
{
    const uint32_t *words = lock;

    return ((__atomic_load_n(&words[2], __ATOMIC_RELAXED) | __atomic_load_n(&words[3], __ATOMIC_RELAXED)) & 2) != 0;
}

static inline bool is_spin_awaited(const volatile void *lock)
{
    return hu_is_awaited((uintptr_t)lock);
}

/* clang-format off */
#define UNLOCK(symbol, type, is_awaited)                                                                              \
    HU_REAL(symbol)                                                                                                   \
    HU_TIMED int awaited_##symbol(type *lock)                                                                         \
    {                                                                                                                 \
        __typeof__(symbol) *const real = HU_FIND(symbol);                                                             \
                                                                                                                      \
        if (!real)                                                                                                    \
            return ENOSYS;                                                                                            \
        if (hu_gate_open(HU_DOOR_OSRT) && is_awaited(lock))                                                           \
            hu_waiters_unlocks((uintptr_t)lock, (uintptr_t)CALLER);                                                   \
        return real(lock);                                                                                            \
    }                                                                                                                 \
    HU_EXPORT int symbol(type *lock)                                                                                  \
    {                                                                                                                 \
        if (__builtin_expect(real_##symbol && !(hu_gate_open(HU_DOOR_OSRT) && is_awaited(lock)), 1))                  \
            return real_##symbol(lock);                                                                               \
        return awaited_##symbol(lock);                                                                                \
    }
/* clang-format on */

UNLOCK(pthread_mutex_unlock, pthread_mutex_t, is_mutex_awaited)
UNLOCK(pthread_rwlock_unlock, pthread_rwlock_t, is_rwlock_awaited)
UNLOCK(pthread_spin_unlock, pthread_spinlock_t, is_spin_awaited)

static inline bool is_told(const void *object)
{
    return hu_is_awaited((uintptr_t)object) ||
           __builtin_expect((uintptr_t)object - hu_thread.queue == sizeof(pthread_cond_t) &&
                                (hu_thread.tells_signals || hu_the_control->wanted & HU_DOOR_PYTORCH),
                            0);
}

/* clang-format off */
#define WAKE(symbol, version, type, wake, otherwise)                                                                  \
    HU_REAL_NAMED(symbol, #symbol, version)                                                                           \
    HU_TIMED int awaited_##symbol(type *object)                                                                       \
    {                                                                                                                 \
        __typeof__(symbol) *const real = HU_FIND(symbol);                                                             \
                                                                                                                      \
        if (!real)                                                                                                    \
            return (otherwise);                                                                                       \
        if (hu_gate_open(HU_DOOR_OSRT) && is_told(object))                                                            \
            hu_osrt_wakes(wake, object, hu_ticks(), CALLER);                                                          \
        return real(object);                                                                                          \
    }                                                                                                                 \
    HU_EXPORT int symbol(type *object)                                                                                \
    {                                                                                                                 \
        if (__builtin_expect(real_##symbol && !(hu_gate_open(HU_DOOR_OSRT) && is_told(object)), 1))                   \
            return real_##symbol(object);                                                                             \
        return awaited_##symbol(object);                                                                              \
    }
/* clang-format on */

WAKE(pthread_cond_signal, "GLIBC_2.3.2", pthread_cond_t, HU_WAKE_SIGNAL, ENOSYS)
WAKE(pthread_cond_broadcast, "GLIBC_2.3.2", pthread_cond_t, HU_WAKE_BROADCAST, ENOSYS)

#ifdef __GLIBC__
UNLOCK(mtx_unlock, mtx_t, is_mutex_awaited)
WAKE(cnd_signal, NULL, cnd_t, HU_WAKE_SIGNAL, thrd_error)
WAKE(cnd_broadcast, NULL, cnd_t, HU_WAKE_BROADCAST, thrd_error)
#endif

/* A waiter may count itself between the first look and the post, and find the old value: looks again.  The semaphore may
 * be gone by then; its address is enough. */
HU_REAL(sem_post)
HU_EXPORT int sem_post(sem_t *semaphore)
{
    __typeof__(sem_post) *const real = HU_FIND(sem_post);
    uint64_t                    ticks = 0;
    int                         rc;

    if (!real)
        return (int)HU_ABSENT(-1);
    if (!hu_gate_open(HU_DOOR_OSRT))
        return real(semaphore);
    if (hu_is_awaited((uintptr_t)semaphore))
        ticks = hu_ticks();
    rc = real(semaphore);
    if (rc == 0 && (ticks || hu_is_awaited((uintptr_t)semaphore)))
        hu_osrt_wakes(HU_WAKE_POST, semaphore, ticks ? ticks : hu_ticks(), CALLER);
    return rc;
}

/* The last thread to come wakes the others. */
HU_REAL(pthread_barrier_wait)
HU_TIMED int timed_pthread_barrier_wait(pthread_barrier_t *barrier)
{
    __typeof__(pthread_barrier_wait) *const real = HU_FIND(pthread_barrier_wait);
    hu_osrt_span                            span;
    bool                                    is_long, is_awaited;
    int                                     rc;

    if (!real)
        return ENOSYS;
    if (!hu_gate_open(HU_DOOR_OSRT) || !hu_osrt_enter_for(&span, HU_OS_CALL_pthread_barrier_wait, barrier, 0))
        return real(barrier);
    is_awaited = hu_is_awaited((uintptr_t)barrier);
    hu_osrt_waits(&span);
    rc = real(barrier);
    is_long = hu_osrt_leave(&span);
    hu_osrt_waited(&span);
    if (is_long)
        hu_osrt_done(&span, 0);
    if (rc == PTHREAD_BARRIER_SERIAL_THREAD && is_awaited)
        hu_osrt_wakes(HU_WAKE_BROADCAST, barrier, span.start, CALLER);
    return rc;
}
HU_DOOR(int, pthread_barrier_wait, (pthread_barrier_t * barrier), (barrier))

/* Who polls an eventfd is not known: each count that is written to one may wake somebody. */
HU_RARE void hu_osrt_counted(const hu_osrt_span *span, int fd)
{
    const int saved_errno = errno;

    if ((unsigned)fd < HU_FDS_KNOWN && hu_fd_get(fd).kind == HU_FD_EVENT)
        hu_osrt_wakes(HU_WAKE_EVENTFD, (const void *)(uintptr_t)fd, span->start, (const void *)span->caller);
    errno = saved_errno;
}

HU_REAL(eventfd_write)
HU_EXPORT int eventfd_write(int fd, eventfd_t value)
{
    __typeof__(eventfd_write) *const real = HU_FIND(eventfd_write);
    hu_osrt_span                     span = {.caller = (uintptr_t)CALLER};
    int                              rc;

    if (!real)
        return HU_RAW(SYS_write, fd, &value, sizeof value) == sizeof value ? 0 : -1;
    if (!hu_gate_open(HU_DOOR_OSRT))
        return real(fd, value);
    span.start = hu_ticks();
    rc = real(fd, value);
    if (rc == 0)
        hu_osrt_counted(&span, fd);
    return rc;
}

/* Futexes of the program's own: the kernel says how many it woke. */
typedef enum { IS_OTHER, IS_WAIT, IS_WAKE, IS_WAKE_OF_TWO, IS_UNLOCK } futex_kind;

static futex_kind kind_of(long operation)
{
    switch ((int)operation & FUTEX_CMD_MASK) {
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET:
    case FUTEX_LOCK_PI:
    case FUTEX_WAIT_REQUEUE_PI:
        return IS_WAIT;
    case FUTEX_WAKE:
    case FUTEX_WAKE_BITSET:
    case FUTEX_REQUEUE:
    case FUTEX_CMP_REQUEUE:
    case FUTEX_CMP_REQUEUE_PI:
        return IS_WAKE;
    case FUTEX_WAKE_OP:
        return IS_WAKE_OF_TWO;
    case FUTEX_UNLOCK_PI:
        return IS_UNLOCK;
    default:
        return IS_OTHER;
    }
}

HU_TIMED long wakes(__typeof__(syscall) *real, const long a[6], futex_kind kind, const void *caller)
{
    const uint64_t ticks = hu_ticks();
    const bool     is_awaited = kind == IS_UNLOCK && hu_is_awaited((uintptr_t)a[0]);
    const long     rc = real(SYS_futex, a[0], a[1], a[2], a[3], a[4], a[5]);

    if (rc > 0 || (rc == 0 && is_awaited))
        hu_osrt_wakes(HU_WAKE_FUTEX, (const void *)a[0], ticks, caller);
    if (rc > 0 && kind == IS_WAKE_OF_TWO)
        hu_osrt_wakes(HU_WAKE_FUTEX, (const void *)a[4], ticks, caller);
    return rc;
}

HU_REAL(syscall)
HU_EXPORT long syscall(long number, ...)
{
    __typeof__(syscall) *const real = HU_FIND(syscall);
    futex_kind                 kind;
    hu_osrt_span               span;
    long                       a[6], rc;
    bool                       is_long;
    va_list                    list;

    va_start(list, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(list, long); /* as the C library does: what is not there is not looked at */
    va_end(list);
    if (!real)
        return hu_osrt_raw(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    kind = number == SYS_futex && hu_gate_open(HU_DOOR_OSRT) ? kind_of(a[1]) : IS_OTHER;
    if (kind > IS_WAIT)
        return wakes(real, a, kind, CALLER);
    if (kind == IS_OTHER || !hu_osrt_enter_for(&span, HU_OS_CALL_futex, (const void *)a[0], 0))
        return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    hu_osrt_waits(&span);
    rc = real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    is_long = hu_osrt_leave(&span);
    hu_osrt_waited(&span);
    if (is_long)
        hu_osrt_done(&span, rc < 0 ? errno : 0);
    return rc;
}
