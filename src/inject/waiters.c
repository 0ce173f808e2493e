/* SPDX-License-Identifier: Apache-2.0
 * waiters.c - the table of waiters: four thousand lines, touched only where threads wait and wake. */
#include <string.h>

#include "inject/ring.h"
#include "inject/sys.h"
#include "inject/waiters.h"
#include "base/banned.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

#define COUNT_MASK ((UINT64_C(1) << HU_WAITERS_COUNT_BITS) - 1)
#define TIME_MASK  ((UINT64_C(1) << HU_WAITERS_TIME_BITS) - 1)

/* Whole pages of its own. */
hu_waiters  hu_the_waiters[HU_WAITERS_SLOTS] __attribute__((aligned(4096)));
static bool is_wiped; /* by the kernel, in any child */

void hu_waiters_init(void)
{
    is_wiped = HU_SYS(SYS_madvise, hu_the_waiters, sizeof hu_the_waiters, MADV_WIPEONFORK) == 0;
}

void hu_waiters_forked(void)
{
    if (!is_wiped)
        memset(hu_the_waiters, 0, sizeof hu_the_waiters);
}

static uint64_t name_of(uintptr_t object)
{
    return (uint64_t)object << HU_WAITERS_COUNT_BITS;
}

/* More than can be counted: the slot stays as if somebody waited, for ever. */
void hu_waiters_enter(uintptr_t object)
{
    hu_waiters    *slot = hu_waiters_of(object);
    const uint64_t name = name_of(object);
    uint64_t       was = __atomic_load_n(&slot->word, __ATOMIC_RELAXED), next;

    do {
        const uint64_t count = was & COUNT_MASK;

        if (count == COUNT_MASK)
            return;
        next = (count == 0 || was - count == name ? name : HU_WAITERS_MIXED) | (count + 1);
    } while (!__atomic_compare_exchange_n(&slot->word, &was, next, true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void hu_waiters_leave(uintptr_t object)
{
    hu_waiters *slot = hu_waiters_of(object);
    uint64_t    was = __atomic_load_n(&slot->word, __ATOMIC_RELAXED), next;

    do {
        const uint64_t count = was & COUNT_MASK;

        if (count == 0 || count == COUNT_MASK)
            return;
        next = count == 1 ? 0 : was - 1;
    } while (!__atomic_compare_exchange_n(&slot->word, &was, next, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

void hu_waiters_forget(void)
{
    if (hu_thread.waits_for)
        hu_waiters_leave(hu_thread.waits_for);
    hu_thread.waits_for = 0;
}

/* Words of two threads that unlock at once (readers of one lock) must not be taken for one's. */
static uint64_t tie(uintptr_t object, uint64_t waker)
{
    return ((uint64_t)object ^ waker) * 0x9e3779b97f4a7c15u >> (64 - HU_WAITERS_COUNT_BITS);
}

void hu_waiters_unlocks(uintptr_t object, uintptr_t caller)
{
    hu_waiters *slot = hu_waiters_of(object);
    uint64_t    waker;

    if (__builtin_expect(!hu_thread.block, 0))
        (void)hu_ring_take(0); /* gives the thread its number */
    if (hu_thread.thread > UINT64_MAX >> HU_WAITERS_TIME_BITS)
        return; /* the millionth thread */
    waker = (uint64_t)hu_thread.thread << HU_WAITERS_TIME_BITS | (hu_ticks() & TIME_MASK);
    __atomic_store_n(&slot->waker, waker, __ATOMIC_RELAXED);
    __atomic_store_n(&slot->from, name_of(caller) | tie(object, waker), __ATOMIC_RELAXED);
}

hu_waker hu_waiters_waker(uintptr_t object, uint64_t since, uint64_t until)
{
    const hu_waiters *slot = hu_waiters_of(object);
    const uint64_t    waker = __atomic_load_n(&slot->waker, __ATOMIC_RELAXED);
    const uint64_t    from = __atomic_load_n(&slot->from, __ATOMIC_RELAXED);
    const uint64_t    time = until - ((until - waker) & TIME_MASK);

    if (waker >> HU_WAITERS_TIME_BITS == 0 || time < since || time > until || (from & COUNT_MASK) != tie(object, waker))
        return (hu_waker){0};
    return (hu_waker){.time = time,
                      .caller = (uintptr_t)(from >> HU_WAITERS_COUNT_BITS),
                      .thread = (uint32_t)(waker >> HU_WAITERS_TIME_BITS)};
}
