/* SPDX-License-Identifier: Apache-2.0
 * waiters.h - who waits for which object of memory, so that whoever wakes them says so, and nobody else pays for it.
 *
 * A thread that is about to block on an object counts itself in the slot of the object's address.  Whoever releases,
 * signals or posts looks at one word there: 0 nearly always.  A slot knows which object it counts for.  While threads wait
 * for two objects of one slot, it counts for all: then a wake may be recorded for an object that nobody waits for.
 *
 * Who unlocks a lock writes no record: a lock may change hands ten million times a second.  It leaves its thread and the
 * time in the slot, and the waiter that gets the lock then has the last word: it writes both into its own record.
 *
 * Memory order.  Unlocking: the owner checks for waiters before it unlocks.  A thread that begins to wait between the two
 * finds the lock free at once, or is woken by that unlock and has no waker.  What the owner leaves is published by the
 * unlock itself.  Signalling: a waiter counts itself (a locked instruction) under the mutex that protects what it waits
 * for, and whoever changes that has the mutex later.  Posting checks again after the post.
 *
 * A thread that leaves its wait by a jump or a cancellation is counted out when that is noticed (osrt.c, ring.c); until then
 * wakes are said that wake nobody.  A forked child begins with a table of zeros.
 */
#ifndef HU_INJECT_WAITERS_H
#define HU_INJECT_WAITERS_H

#include <stdbool.h>
#include <stdint.h>

enum {
    HU_WAITERS_BITS = 12,
    HU_WAITERS_SLOTS = 1 << HU_WAITERS_BITS,
    HU_WAITERS_COUNT_BITS = 16,
    HU_WAITERS_TIME_BITS = 44, /* of ticks: more than an hour */
};

/* 64 bytes: waiters of neighbouring objects do not write into each other's line. */
typedef struct {
    uint64_t word;  /* the object << 16 | how many wait; 0: nobody */
    uint64_t waker; /* thread << 44 | ticks: who unlocked last while somebody waited */
    uint64_t from;  /* where that was called << 16 | what ties it to `waker` and the object */
    uint64_t unused[5];
} hu_waiters;

extern hu_waiters hu_the_waiters[HU_WAITERS_SLOTS];

/* The object of a slot that counts for several. */
#define HU_WAITERS_MIXED (UINT64_MAX << HU_WAITERS_COUNT_BITS)

static inline hu_waiters *hu_waiters_of(uintptr_t object)
{
    return &hu_the_waiters[((uint64_t)object >> 2) * 0x9e3779b97f4a7c15u >> (64 - HU_WAITERS_BITS)];
}

/* May somebody wait for the object? */
static inline bool hu_is_awaited(uintptr_t object)
{
    const uint64_t word = __atomic_load_n(&hu_waiters_of(object)->word, __ATOMIC_RELAXED);

    if (__builtin_expect(word == 0, 1))
        return false;
    return ((word ^ (uint64_t)object << HU_WAITERS_COUNT_BITS) >> HU_WAITERS_COUNT_BITS) == 0 || word >= HU_WAITERS_MIXED;
}

/* This thread waits for the object from now on, or no longer. */
void hu_waiters_enter(uintptr_t object);
void hu_waiters_leave(uintptr_t object);
void hu_waiters_forget(void); /* it has left its wait by a jump, or ends in it */

/* This thread is about to unlock it, called from `caller`. */
void hu_waiters_unlocks(uintptr_t object, uintptr_t caller);

typedef struct {
    uint64_t  time;   /* ticks */
    uintptr_t caller; /* where it called; 0: not known */
    uint32_t  thread; /* as hu_thread_state.thread; 0: not known who it was */
} hu_waker;

/* Who unlocked it last, not before `since` and not behind `until` (ticks). */
hu_waker hu_waiters_waker(uintptr_t object, uint64_t since, uint64_t until);

void hu_waiters_init(void);
void hu_waiters_forked(void); /* in the child */

#endif
