/* SPDX-License-Identifier: Apache-2.0
 * osrt_locks.c - mutexes, read-write locks, spin locks: recorded when somebody else holds them.
 *
 * A lock that is free is taken by its try function, without looking at the clock: it costs what it cost before.  Only one
 * that is not free is waited for, and timed.
 *
 * Rust, Abseil and std::atomic::wait have locks of their own, which wait by syscall(SYS_futex): that is recorded too.
 */
#include <pthread.h>
#include <threads.h>

#include <linux/futex.h>
#include <stdarg.h>

#include "inject/osrt.h"
#include "base/banned.h"

/* `busy` alone says that somebody else has it; all else is the answer.  While nothing is found yet there are no other
 * threads to speak of, and trying is good enough. */
#define LOCK(row, symbol, try, busy, params, args, lock)                       \
    HU_REAL(symbol)                                                            \
    HU_TIMED int wait_##symbol params                                          \
    {                                                                          \
        __typeof__(symbol) *const real = HU_FIND(symbol);                      \
        hu_osrt_span              span;                                        \
        int                       rc;                                          \
                                                                               \
        if (!real) {                                                           \
            while ((rc = try(lock)) == busy)                                   \
                (void)HU_SYS(SYS_sched_yield);                                 \
            return rc;                                                         \
        }                                                                      \
        if (!hu_osrt_enter(&span, HU_OS_CALL_##row))                           \
            return real args;                                                  \
        rc = real args;                                                        \
        if (hu_osrt_leave(&span))                                              \
            hu_osrt_done(&span, rc);                                           \
        return rc;                                                             \
    }                                                                          \
    HU_EXPORT int symbol params                                                \
    {                                                                          \
        int rc;                                                                \
                                                                               \
        if (__builtin_expect(real_##symbol && !hu_gate_open(HU_DOOR_OSRT), 1)) \
            return real_##symbol args;                                         \
        rc = (real_##try ? real_##try : try)(lock);                            \
        return __builtin_expect(rc != busy, 1) ? rc : wait_##symbol args;      \
    }

/* A library of the program's own may stand before us and wrap these too: to ask it again would confuse it. */
HU_REAL(pthread_mutex_trylock)
HU_REAL(pthread_rwlock_tryrdlock)
HU_REAL(pthread_rwlock_trywrlock)
HU_REAL(pthread_spin_trylock)

LOCK(pthread_mutex_lock, pthread_mutex_lock, pthread_mutex_trylock, EBUSY, (pthread_mutex_t * lock), (lock), lock)
LOCK(pthread_mutex_timedlock, pthread_mutex_timedlock, pthread_mutex_trylock, EBUSY,
     (pthread_mutex_t * lock, const struct timespec *until), (lock, until), lock)
LOCK(pthread_rwlock_rdlock, pthread_rwlock_rdlock, pthread_rwlock_tryrdlock, EBUSY, (pthread_rwlock_t * lock), (lock), lock)
LOCK(pthread_rwlock_wrlock, pthread_rwlock_wrlock, pthread_rwlock_trywrlock, EBUSY, (pthread_rwlock_t * lock), (lock), lock)
LOCK(pthread_rwlock_rdlock, pthread_rwlock_timedrdlock, pthread_rwlock_tryrdlock, EBUSY,
     (pthread_rwlock_t * lock, const struct timespec *until), (lock, until), lock)
LOCK(pthread_rwlock_wrlock, pthread_rwlock_timedwrlock, pthread_rwlock_trywrlock, EBUSY,
     (pthread_rwlock_t * lock, const struct timespec *until), (lock, until), lock)
LOCK(pthread_spin_lock, pthread_spin_lock, pthread_spin_trylock, EBUSY, (pthread_spinlock_t * lock), (lock), lock)

#ifdef __GLIBC__
int pthread_mutex_clocklock(pthread_mutex_t *lock, clockid_t clock, const struct timespec *until);
int pthread_rwlock_clockrdlock(pthread_rwlock_t *lock, clockid_t clock, const struct timespec *until);
int pthread_rwlock_clockwrlock(pthread_rwlock_t *lock, clockid_t clock, const struct timespec *until);

HU_REAL(mtx_trylock)

LOCK(pthread_mutex_timedlock, pthread_mutex_clocklock, pthread_mutex_trylock, EBUSY,
     (pthread_mutex_t * lock, clockid_t clock, const struct timespec *until), (lock, clock, until), lock)
LOCK(pthread_rwlock_rdlock, pthread_rwlock_clockrdlock, pthread_rwlock_tryrdlock, EBUSY,
     (pthread_rwlock_t * lock, clockid_t clock, const struct timespec *until), (lock, clock, until), lock)
LOCK(pthread_rwlock_wrlock, pthread_rwlock_clockwrlock, pthread_rwlock_trywrlock, EBUSY,
     (pthread_rwlock_t * lock, clockid_t clock, const struct timespec *until), (lock, clock, until), lock)
LOCK(pthread_mutex_lock, mtx_lock, mtx_trylock, thrd_busy, (mtx_t * lock), (lock), lock)
LOCK(pthread_mutex_timedlock, mtx_timedlock, mtx_trylock, thrd_busy, (mtx_t * lock, const struct timespec *until),
     (lock, until), lock)
#endif

static bool is_wait(int operation)
{
    const int command = operation & FUTEX_CMD_MASK;

    return command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET || command == FUTEX_LOCK_PI ||
           command == FUTEX_WAIT_REQUEUE_PI;
}

HU_REAL(syscall)
HU_EXPORT long syscall(long number, ...)
{
    __typeof__(syscall) *const real = HU_FIND(syscall);
    hu_osrt_span               span;
    long                       a[6], rc;
    va_list                    list;

    va_start(list, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(list, long); /* as the C library does: what is not there is not looked at */
    va_end(list);
    if (!real)
        return hu_osrt_raw(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    if (number != SYS_futex || !hu_gate_open(HU_DOOR_OSRT) || !is_wait((int)a[1]) || !hu_osrt_enter(&span, HU_OS_CALL_futex))
        return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    rc = real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    if (hu_osrt_leave(&span))
        hu_osrt_done(&span, rc < 0 ? errno : 0);
    return rc;
}
