/* SPDX-License-Identifier: Apache-2.0
 * cuda_thread.c - decodes what CUPTI gave, and asks it for more, in a thread of ours.
 *
 * It wakes up when a buffer is full, and looks now and then whether recording was started or stopped.  Every FLUSH looks it
 * asks CUPTI for the buffers whose records are complete, so that a program that is killed loses no more than that.
 */
#include "inject/cuda.h"
#include "inject/helper_thread.h"
#include "inject/sys.h"
#include "base/banned.h"

enum { FLUSH = HU_HELPER_LOOKS / 5 }; /* looks: 200 ms */

static uint32_t flush_as; /* 1: the complete buffers, 2: all of them */

/* There are records, so CUDA is initialised: now it may be asked. */
static void ask_once(hu_cuda_facts *facts)
{
    const hu_cupti_back_end *back_end = hu_cuda_back_end();

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
    const hu_cupti_back_end *back_end = hu_cuda_back_end();
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
        facts->decoding_ns = hu_helper_cpu_ns();
    }
}

static void begin(void)
{
    if (hu_cuda_get_facts())
        hu_cuda_get_facts()->tid = hu_sys_tid();
}

static bool look(bool is_last)
{
    static uint32_t looks;

    if (!is_last) {
        round_once(++looks % FLUSH == 0);
        return __atomic_load_n(&flush_as, __ATOMIC_ACQUIRE) == 0;
    }
    for (int i = 0; i < 2; i++) { /* what the first one gave may have been the first of all: then we have just asked */
        __atomic_store_n(&flush_as, 2, __ATOMIC_RELAXED);
        round_once(true);
    }
    return true;
}

static hu_helper thread = {.name = "holdup-cuda", .begin = begin, .look = look};

bool hu_cuda_thread_start(void)
{
    return hu_helper_start(&thread);
}

void hu_cuda_thread_look(void)
{
    hu_helper_wake(&thread);
}

void hu_cuda_thread_flush(bool is_whole)
{
    __atomic_store_n(&flush_as, is_whole ? 2 : 1, __ATOMIC_RELEASE);
    hu_helper_wake(&thread);
}

void hu_cuda_thread_end(void)
{
    if (!hu_helper_end(&thread) && hu_cuda_get_facts())
        hu_cuda_get_facts()->hangs = 1;
}

void hu_cuda_thread_forked(void)
{
    hu_helper_forked(&thread);
    flush_as = 0;
}
