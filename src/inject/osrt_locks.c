/* SPDX-License-Identifier: Apache-2.0
 * osrt_locks.c - mutexes, read-write locks, spin locks: recorded when somebody else holds them.
 *
 * A lock that is free is taken by its try function, without looking at the clock: it costs what it cost before.  Only one
 * that is not free is waited for, and timed.  A mutex and a read-write lock know themselves whether threads sleep for them
 * (osrt_wakes.c); who waits for a spin lock is counted.
 */
#include <pthread.h>
#include <threads.h>

#include "inject/osrt.h"
#include "base/banned.h"

/*
 * Which thread has a lock of glibc: pthread_mutex_t.__data.__owner, pthread_rwlock_t.__data.__cur_writer (0: readers).
 * The fields have been there since 2.25, and initialisers in programs contain their places.  Of other C libraries nothing
 * is known.
 */
extern const char *gnu_get_libc_version(void) __attribute__((weak));

static uint32_t owner_at(const void *lock, unsigned word)
{
    return gnu_get_libc_version ? __atomic_load_n((const uint32_t *)lock + word, __ATOMIC_RELAXED) : 0;
}

static uint32_t owner_of_mutex(const void *lock)
{
    return owner_at(lock, 2);
}

static uint32_t owner_of_rwlock(const void *lock)
{
    return owner_at(lock, 6);
}

/* `busy` alone says that somebody else has it; all else is the answer.  While nothing is found yet there are no other
 * threads to speak of, and trying is good enough. */
#define LOCK(row, symbol, try, busy, params, args, lock, owner)                \
    HU_REAL(symbol)                                                            \
    HU_TIMED int wait_##symbol params                                          \
    {                                                                          \
        __typeof__(symbol) *const real = HU_FIND(symbol);                      \
        hu_osrt_span              span;                                        \
        int                       rc;                                          \
        bool                      is_long;                                     \
                                                                               \
        if (!real) {                                                           \
            while ((rc = try(lock)) == busy)                                   \
                (void)HU_SYS(SYS_sched_yield);                                 \
            return rc;                                                         \
        }                                                                      \
        if (!hu_osrt_enter_for(&span, HU_OS_CALL_##row, lock, owner(lock)))    \
            return real args;                                                  \
        span.is_lock = true;                                                   \
        rc = real args;                                                        \
        is_long = hu_osrt_leave(&span);                                        \
        if (is_long)                                                           \
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

LOCK(pthread_mutex_lock, pthread_mutex_lock, pthread_mutex_trylock, EBUSY, (pthread_mutex_t * lock), (lock), lock,
     owner_of_mutex)
LOCK(pthread_mutex_timedlock, pthread_mutex_timedlock, pthread_mutex_trylock, EBUSY,
     (pthread_mutex_t * lock, const struct timespec *until), (lock, until), lock, owner_of_mutex)
LOCK(pthread_rwlock_rdlock, pthread_rwlock_rdlock, pthread_rwlock_tryrdlock, EBUSY, (pthread_rwlock_t * lock), (lock), lock,
     owner_of_rwlock)
LOCK(pthread_rwlock_wrlock, pthread_rwlock_wrlock, pthread_rwlock_trywrlock, EBUSY, (pthread_rwlock_t * lock), (lock), lock,
     owner_of_rwlock)
LOCK(pthread_rwlock_rdlock, pthread_rwlock_timedrdlock, pthread_rwlock_tryrdlock, EBUSY,
     (pthread_rwlock_t * lock, const struct timespec *until), (lock, until), lock, owner_of_rwlock)
LOCK(pthread_rwlock_wrlock, pthread_rwlock_timedwrlock, pthread_rwlock_trywrlock, EBUSY,
     (pthread_rwlock_t * lock, const struct timespec *until), (lock, until), lock, owner_of_rwlock)

static inline void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Takes the lock if it is free soon, about a microsecond. */
static bool spin(pthread_spinlock_t *lock)
{
    enum { TRIES = 16, PAUSES = 8 };

    for (int i = 0; i < TRIES; i++) {
        for (int k = 0; k < PAUSES; k++)
            relax();
        if ((real_pthread_spin_trylock ? real_pthread_spin_trylock : pthread_spin_trylock)(lock) == 0)
            return true;
    }
    return false;
}

/* Who waits for long counts itself, for the one who unlocks; where all do, they do nothing else. */
HU_REAL(pthread_spin_lock)
HU_TIMED int wait_pthread_spin_lock(pthread_spinlock_t *lock)
{
    __typeof__(pthread_spin_lock) *const real = HU_FIND(pthread_spin_lock);
    hu_osrt_span                         span;
    int                                  rc = 0;
    bool                                 is_long, is_counted;

    if (!real) {
        while (pthread_spin_trylock(lock) != 0)
            (void)HU_SYS(SYS_sched_yield);
        return 0;
    }
    if (!hu_osrt_enter_for(&span, HU_OS_CALL_pthread_spin_lock, lock, 0))
        return real(lock);
    span.is_lock = true;
    is_counted = !spin(lock);
    if (is_counted) {
        hu_osrt_waits(&span);
        rc = real(lock);
    }
    is_long = hu_osrt_leave(&span);
    if (is_counted)
        hu_osrt_waited(&span);
    if (is_long)
        hu_osrt_done(&span, rc);
    return rc;
}

HU_EXPORT int pthread_spin_lock(pthread_spinlock_t *lock)
{
    int rc;

    if (__builtin_expect(real_pthread_spin_lock && !hu_gate_open(HU_DOOR_OSRT), 1))
        return real_pthread_spin_lock(lock);
    rc = (real_pthread_spin_trylock ? real_pthread_spin_trylock : pthread_spin_trylock)(lock);
    return __builtin_expect(rc != EBUSY, 1) ? rc : wait_pthread_spin_lock(lock);
}

#ifdef __GLIBC__
int pthread_mutex_clocklock(pthread_mutex_t *lock, clockid_t clock, const struct timespec *until);
int pthread_rwlock_clockrdlock(pthread_rwlock_t *lock, clockid_t clock, const struct timespec *until);
int pthread_rwlock_clockwrlock(pthread_rwlock_t *lock, clockid_t clock, const struct timespec *until);
/* Since 2.28; nobody calls mtx_lock where it is missing. */
extern __typeof__(mtx_trylock) mtx_trylock __attribute__((weak));

HU_REAL(mtx_trylock)

LOCK(pthread_mutex_timedlock, pthread_mutex_clocklock, pthread_mutex_trylock, EBUSY,
     (pthread_mutex_t * lock, clockid_t clock, const struct timespec *until), (lock, clock, until), lock, owner_of_mutex)
LOCK(pthread_rwlock_rdlock, pthread_rwlock_clockrdlock, pthread_rwlock_tryrdlock, EBUSY,
     (pthread_rwlock_t * lock, clockid_t clock, const struct timespec *until), (lock, clock, until), lock, owner_of_rwlock)
LOCK(pthread_rwlock_wrlock, pthread_rwlock_clockwrlock, pthread_rwlock_trywrlock, EBUSY,
     (pthread_rwlock_t * lock, clockid_t clock, const struct timespec *until), (lock, clock, until), lock, owner_of_rwlock)
LOCK(pthread_mutex_lock, mtx_lock, mtx_trylock, thrd_busy, (mtx_t * lock), (lock), lock, owner_of_mutex)
LOCK(pthread_mutex_timedlock, mtx_timedlock, mtx_trylock, thrd_busy, (mtx_t * lock, const struct timespec *until),
     (lock, until), lock, owner_of_mutex)
#endif
