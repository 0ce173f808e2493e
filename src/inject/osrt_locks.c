/* SPDX-License-Identifier: Apache-2.0
 * osrt_locks.c - mutexes, read-write locks, spin locks: recorded when somebody else holds them.
 *
 * A lock that is free is taken by its try function, without looking at the clock: it costs what it cost before.  Only one
 * that is not free is waited for, and timed.
 */
#include <pthread.h>
#include <threads.h>

#include "inject/osrt.h"
#include "base/banned.h"

/* `busy` alone says that somebody else has it; all else is the answer.  While nothing is found yet there are no other
 * threads to speak of, and trying is good enough. */
#define LOCK(row, symbol, try, busy, params, args, lock)                                                              \
    HU_REAL(symbol)                                                                                                   \
    HU_TIMED int wait_##symbol params                                                                                 \
    {                                                                                                                 \
        __typeof__(symbol) *const real = HU_FIND(symbol);                                                             \
        hu_osrt_span              span;                                                                               \
        int                       rc;                                                                                 \
                                                                                                                      \
        if (!real) {                                                                                                  \
            while ((rc = try(lock)) == busy)                                                                          \
                (void)HU_SYS(SYS_sched_yield);                                                                        \
            return rc;                                                                                                \
        }                                                                                                             \
        if (!hu_osrt_enter(&span, HU_OS_CALL_##row))                                                                  \
            return real args;                                                                                         \
        rc = real args;                                                                                               \
        if (hu_osrt_leave(&span))                                                                                     \
            hu_osrt_done(&span, rc);                                                                                  \
        return rc;                                                                                                    \
    }                                                                                                                 \
    HU_EXPORT int symbol params                                                                                       \
    {                                                                                                                 \
        int rc;                                                                                                       \
                                                                                                                      \
        if (__builtin_expect(real_##symbol && !hu_gate_open(HU_DOOR_OSRT), 1))                                        \
            return real_##symbol args;                                                                                \
        rc = (real_##try ? real_##try : try)(lock);                                                                   \
        return __builtin_expect(rc != busy, 1) ? rc : wait_##symbol args;                                             \
    }

/* A library of the program's own may stand before us and wrap these too: to ask it again would confuse it. */
HU_REAL(pthread_mutex_trylock)
HU_REAL(pthread_rwlock_tryrdlock)
HU_REAL(pthread_rwlock_trywrlock)
HU_REAL(pthread_spin_trylock)

LOCK(pthread_mutex_lock, pthread_mutex_lock, pthread_mutex_trylock, EBUSY, (pthread_mutex_t *lock), (lock), lock)
LOCK(pthread_mutex_timedlock, pthread_mutex_timedlock, pthread_mutex_trylock, EBUSY,
     (pthread_mutex_t *lock, const struct timespec *until), (lock, until), lock)
LOCK(pthread_rwlock_rdlock, pthread_rwlock_rdlock, pthread_rwlock_tryrdlock, EBUSY, (pthread_rwlock_t *lock), (lock), lock)
LOCK(pthread_rwlock_wrlock, pthread_rwlock_wrlock, pthread_rwlock_trywrlock, EBUSY, (pthread_rwlock_t *lock), (lock), lock)
LOCK(pthread_rwlock_rdlock, pthread_rwlock_timedrdlock, pthread_rwlock_tryrdlock, EBUSY,
     (pthread_rwlock_t *lock, const struct timespec *until), (lock, until), lock)
LOCK(pthread_rwlock_wrlock, pthread_rwlock_timedwrlock, pthread_rwlock_trywrlock, EBUSY,
     (pthread_rwlock_t *lock, const struct timespec *until), (lock, until), lock)
LOCK(pthread_spin_lock, pthread_spin_lock, pthread_spin_trylock, EBUSY, (pthread_spinlock_t *lock), (lock), lock)

#ifdef __GLIBC__
int pthread_mutex_clocklock(pthread_mutex_t *lock, clockid_t clock, const struct timespec *until);
int pthread_rwlock_clockrdlock(pthread_rwlock_t *lock, clockid_t clock, const struct timespec *until);
int pthread_rwlock_clockwrlock(pthread_rwlock_t *lock, clockid_t clock, const struct timespec *until);

HU_REAL(mtx_trylock)

LOCK(pthread_mutex_timedlock, pthread_mutex_clocklock, pthread_mutex_trylock, EBUSY,
     (pthread_mutex_t *lock, clockid_t clock, const struct timespec *until), (lock, clock, until), lock)
LOCK(pthread_rwlock_rdlock, pthread_rwlock_clockrdlock, pthread_rwlock_tryrdlock, EBUSY,
     (pthread_rwlock_t *lock, clockid_t clock, const struct timespec *until), (lock, clock, until), lock)
LOCK(pthread_rwlock_wrlock, pthread_rwlock_clockwrlock, pthread_rwlock_trywrlock, EBUSY,
     (pthread_rwlock_t *lock, clockid_t clock, const struct timespec *until), (lock, clock, until), lock)
LOCK(pthread_mutex_lock, mtx_lock, mtx_trylock, thrd_busy, (mtx_t *lock), (lock), lock)
LOCK(pthread_mutex_timedlock, mtx_timedlock, mtx_trylock, thrd_busy, (mtx_t *lock, const struct timespec *until),
     (lock, until), lock)
#endif
