/* SPDX-License-Identifier: Apache-2.0
 * opencl_thread.c - asks for the times of commands that are complete, LOOKS times a second, beside the program.
 *
 * No callback: it would run in a thread of the driver, on the device's time, and a program sees the order of its own.  No
 * wait either: that would flush queues which the program did not flush.  The thread begins with the first command, blocks
 * all signals, and what it calls is not recorded.
 */
#include <pthread.h>
#include <sys/prctl.h>
#include <time.h>

#include "inject/opencl.h"
#include "inject/sys.h"
#include "base/banned.h"

enum {
    LOOK_NS = 25000000,
    END_NS = 5000000, /* between two looks at whether it has ended */
    PATIENCE = 600,   /* of them: 3 s */
    FUTEX_WAIT_PRIVATE_OP = 128,
    FUTEX_WAKE_PRIVATE_OP = 129,
};

typedef enum { NONE, RUNS, ENDS, HAS_ENDED } life;

static uint32_t state; /* life */
static uint32_t calls; /* for it: the word that it sleeps on */

/* What it has cost so far: part of the price of the recording. */
static void note_cost(hu_opencl_facts *facts)
{
    struct timespec used;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    if (facts)
        facts->asking_ns = (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

static void *run(void *unused)
{
    const struct timespec nap = {0, LOOK_NS};
    hu_opencl_facts      *facts;

    (void)unused;
    hu_thread.inside = 1; /* all of its calls are ours */
    (void)HU_SYS(SYS_prctl, PR_SET_NAME, "holdup-opencl");
    facts = hu_cl_facts();
    if (facts)
        facts->tid = hu_sys_tid();
    while (__atomic_load_n(&state, __ATOMIC_ACQUIRE) == RUNS) {
        const uint32_t was = __atomic_load_n(&calls, __ATOMIC_ACQUIRE);

        hu_cl_commands_read(false);
        note_cost(facts);
        if (__atomic_load_n(&state, __ATOMIC_ACQUIRE) == RUNS)
            (void)HU_SYS(SYS_futex, &calls, FUTEX_WAIT_PRIVATE_OP, was, &nap, NULL, 0);
    }
    hu_cl_commands_read(true);
    note_cost(facts);
    __atomic_store_n(&state, HAS_ENDED, __ATOMIC_RELEASE);
    (void)HU_SYS(SYS_futex, &state, FUTEX_WAKE_PRIVATE_OP, 1, NULL, NULL, 0);
    return NULL;
}

static void start(void)
{
    const uint64_t before = hu_signals_block(); /* it inherits that */
    pthread_attr_t how;
    pthread_t      thread;
    bool           is_started = false;

    hu_thread.inside++;
    if (pthread_attr_init(&how) == 0) {
        (void)pthread_attr_setdetachstate(&how, PTHREAD_CREATE_DETACHED);
        is_started = pthread_create(&thread, &how, run, NULL) == 0;
        (void)pthread_attr_destroy(&how);
    }
    hu_thread.inside--;
    hu_signals_restore(before);
    if (!is_started)
        __atomic_store_n(&state, HAS_ENDED, __ATOMIC_RELEASE);
}

void hu_cl_thread_need(void)
{
    uint32_t was = NONE;

    if (__atomic_load_n(&state, __ATOMIC_RELAXED) == NONE &&
        __atomic_compare_exchange_n(&state, &was, RUNS, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        start();
}

void hu_cl_thread_wake(void)
{
    __atomic_fetch_add(&calls, 1, __ATOMIC_RELEASE);
    (void)HU_SYS(SYS_futex, &calls, FUTEX_WAKE_PRIVATE_OP, 1, NULL, NULL, 0);
}

void hu_cl_thread_end(void)
{
    const struct timespec nap = {0, END_NS};
    uint32_t              was = RUNS;

    if (!__atomic_compare_exchange_n(&state, &was, ENDS, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return;
    hu_cl_thread_wake();
    for (int i = 0; i < PATIENCE && __atomic_load_n(&state, __ATOMIC_ACQUIRE) != HAS_ENDED; i++)
        (void)HU_SYS(SYS_futex, &state, FUTEX_WAIT_PRIVATE_OP, ENDS, &nap, NULL, 0);
}

void hu_cl_thread_forked(void)
{
    state = NONE;
}
