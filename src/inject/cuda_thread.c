/* SPDX-License-Identifier: Apache-2.0
 * cuda_thread.c - the one thread of ours in the program: decodes what CUPTI gave, and asks it for more.
 *
 * It wakes up when a buffer is full, and LOOKS times a second to see whether recording was started or stopped.  Every FLUSH
 * looks it asks CUPTI for the buffers whose records are complete, so that a program that is killed loses no more than that.
 * It blocks all signals, and what it calls is not recorded.
 */
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "inject/cuda.h"
#include "inject/sys.h"
#include "base/banned.h"

enum {
    LOOK_NS = 25000000,
    FLUSH = 8,        /* looks: 200 ms */
    END_NS = 5000000, /* between two looks at whether it has ended */
    PATIENCE = 600,   /* of them: 3 s */
    FUTEX_WAIT_PRIVATE_OP = 128,
    FUTEX_WAKE_PRIVATE_OP = 129,
};

typedef enum { NONE, RUNS, ENDS, HAS_ENDED } life;

static uint32_t state;    /* life */
static uint32_t flush_as; /* 1: the complete buffers, 2: all of them */

static uint64_t cpu_ns(void)
{
    struct timespec used;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

/* There are records, so CUDA is initialised: now it may be asked. */
static void ask_once(hu_cuda_facts *facts)
{
    const hu_cupti_back_end *back_end = hu_the_back_end;

    hu_cuda_read_versions(facts);
    if (back_end && facts->n_devices == 0)
        back_end->describe();
}

static void decode_all(void)
{
    hu_cuda_facts *facts = hu_cuda_get_facts();
    const uint64_t lost = hu_buffers_lost();
    hu_buffer     *b;

    if (facts) {
        facts->records += lost;
        facts->thrown += lost;
    }
    while ((b = hu_buffers_take())) {
        const bool is_first = facts && facts->buffers++ == 0;

        hu_cupti_decode(b);
        hu_buffers_give_back(b);
        if (is_first)
            ask_once(facts);
    }
}

/* Once more for what a flush has just given. */
static void round_once(bool is_flush)
{
    const uint32_t           as = __atomic_exchange_n(&flush_as, 0, __ATOMIC_ACQUIRE);
    const hu_cupti_back_end *back_end = hu_the_back_end;
    hu_cuda_facts           *facts = hu_cuda_get_facts();

    hu_cuda_switch();
    decode_all();
    if (!back_end || (!is_flush && !as))
        return;
    hu_cuda_flush(as == 2);
    decode_all();
    if (facts) {
        facts->dropped += back_end->dropped();
        hu_cuda_ask_uuids(facts);
        facts->decoding_ns = cpu_ns();
    }
}

static void *run(void *unused)
{
    const struct timespec nap = {0, LOOK_NS};
    uint32_t              looks = 0;

    (void)unused;
    hu_thread.inside = 1; /* all of its calls are ours */
    (void)HU_SYS(SYS_prctl, PR_SET_NAME, "holdup-cuda");
    if (hu_cuda_get_facts())
        hu_cuda_get_facts()->tid = hu_sys_tid();
    while (__atomic_load_n(&state, __ATOMIC_ACQUIRE) == RUNS) {
        const uint32_t was = __atomic_load_n(hu_buffers_word(), __ATOMIC_ACQUIRE);

        round_once(++looks % FLUSH == 0);
        if (__atomic_load_n(&flush_as, __ATOMIC_ACQUIRE) == 0 && __atomic_load_n(&state, __ATOMIC_ACQUIRE) == RUNS)
            (void)HU_SYS(SYS_futex, hu_buffers_word(), FUTEX_WAIT_PRIVATE_OP, was, &nap, NULL, 0);
    }
    for (int i = 0; i < 2; i++) { /* what the first one gave may have been the first of all: then we have just asked */
        __atomic_store_n(&flush_as, 2, __ATOMIC_RELAXED);
        round_once(true);
    }
    __atomic_store_n(&state, HAS_ENDED, __ATOMIC_RELEASE);
    (void)HU_SYS(SYS_futex, &state, FUTEX_WAKE_PRIVATE_OP, 1, NULL, NULL, 0);
    return NULL;
}

bool hu_cuda_thread_start(void)
{
    const uint64_t before = hu_signals_block(); /* it inherits that */
    pthread_attr_t how;
    pthread_t      thread;
    bool           is_started = false;

    state = RUNS;
    flush_as = 0;
    if (pthread_attr_init(&how) == 0) {
        (void)pthread_attr_setdetachstate(&how, PTHREAD_CREATE_DETACHED);
        is_started = pthread_create(&thread, &how, run, NULL) == 0;
        (void)pthread_attr_destroy(&how);
    }
    hu_signals_restore(before);
    if (!is_started)
        state = NONE;
    return is_started;
}

void hu_cuda_thread_look(void)
{
    __atomic_fetch_add(hu_buffers_word(), 1, __ATOMIC_RELEASE);
    hu_buffers_wake();
}

void hu_cuda_thread_flush(bool is_whole)
{
    __atomic_store_n(&flush_as, is_whole ? 2 : 1, __ATOMIC_RELEASE);
    hu_cuda_thread_look();
}

void hu_cuda_thread_end(void)
{
    const struct timespec nap = {0, END_NS};
    uint32_t              was = RUNS;

    if (!__atomic_compare_exchange_n(&state, &was, ENDS, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return;
    hu_cuda_thread_look();
    for (int i = 0; i < PATIENCE && __atomic_load_n(&state, __ATOMIC_ACQUIRE) != HAS_ENDED; i++)
        (void)HU_SYS(SYS_futex, &state, FUTEX_WAIT_PRIVATE_OP, ENDS, &nap, NULL, 0);
    if (hu_cuda_get_facts() && __atomic_load_n(&state, __ATOMIC_ACQUIRE) != HAS_ENDED)
        hu_cuda_get_facts()->hangs = 1;
}
