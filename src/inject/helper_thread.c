/* SPDX-License-Identifier: Apache-2.0
 * helper_thread.c - starts, wakes and ends a thread of ours; it sleeps on a word of its own.
 */
#include "inject/helper_thread.h"

#include <pthread.h>
#include <sys/prctl.h>
#include <time.h>

#include "inject/sys.h"
#include "inject/process.h"
#include "base/banned.h"

enum {
    LOOK_NS = 1000000000 / HU_HELPER_LOOKS,
    END_NS = 5000000, /* between two looks at whether it has ended */
    PATIENCE = 600,   /* of them: 3 s */
    FUTEX_WAIT_PRIVATE_OP = 128,
    FUTEX_WAKE_PRIVATE_OP = 129,
};

typedef enum { NONE, RUNS, ENDS, HAS_ENDED } life;

static uint32_t state_of(const hu_helper *t)
{
    return __atomic_load_n(&t->state, __ATOMIC_ACQUIRE);
}

/* The word is read before the look: who calls during it is not slept over. */
static void *run(void *argument)
{
    const struct timespec nap = {0, LOOK_NS};
    hu_helper            *t = argument;

    hu_thread.inside = 1; /* all of its calls are ours */
    (void)HU_SYS(SYS_prctl, PR_SET_NAME, t->name);
    t->begin();
    while (state_of(t) == RUNS) {
        const uint32_t was = __atomic_load_n(&t->calls, __ATOMIC_ACQUIRE);

        if (t->look(false) && state_of(t) == RUNS)
            (void)HU_SYS(SYS_futex, &t->calls, FUTEX_WAIT_PRIVATE_OP, was, &nap, NULL, 0);
    }
    (void)t->look(true);
    __atomic_store_n(&t->state, HAS_ENDED, __ATOMIC_RELEASE);
    (void)HU_SYS(SYS_futex, &t->state, FUTEX_WAKE_PRIVATE_OP, 1, NULL, NULL, 0);
    return NULL;
}

static bool start(hu_helper *t)
{
    const uint64_t before = hu_signals_block(); /* it inherits that */
    pthread_attr_t how;
    pthread_t      thread;
    bool           is_started = false;

    hu_thread.inside++;
    if (pthread_attr_init(&how) == 0) {
        (void)pthread_attr_setdetachstate(&how, PTHREAD_CREATE_DETACHED);
        is_started = pthread_create(&thread, &how, run, t) == 0;
        (void)pthread_attr_destroy(&how);
    }
    hu_thread.inside--;
    hu_signals_restore(before);
    if (!is_started)
        __atomic_store_n(&t->state, HAS_ENDED, __ATOMIC_RELEASE);
    return is_started;
}

bool hu_helper_start(hu_helper *t)
{
    uint32_t was = NONE;

    if (__atomic_load_n(&t->state, __ATOMIC_RELAXED) == NONE &&
        __atomic_compare_exchange_n(&t->state, &was, RUNS, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return start(t);
    return state_of(t) == RUNS;
}

void hu_helper_wake(hu_helper *t)
{
    __atomic_fetch_add(&t->calls, 1, __ATOMIC_RELEASE);
    (void)HU_SYS(SYS_futex, &t->calls, FUTEX_WAKE_PRIVATE_OP, 1, NULL, NULL, 0);
}

bool hu_helper_end(hu_helper *t)
{
    const struct timespec nap = {0, END_NS};
    uint32_t              was = RUNS;

    if (!__atomic_compare_exchange_n(&t->state, &was, ENDS, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return true;
    hu_helper_wake(t);
    for (int i = 0; i < PATIENCE && state_of(t) != HAS_ENDED; i++)
        (void)HU_SYS(SYS_futex, &t->state, FUTEX_WAIT_PRIVATE_OP, ENDS, &nap, NULL, 0);
    return state_of(t) == HAS_ENDED;
}

void hu_helper_forked(hu_helper *t)
{
    t->state = NONE;
}

uint64_t hu_helper_cpu_ns(void)
{
    struct timespec used;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}
