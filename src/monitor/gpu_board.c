/* SPDX-License-Identifier: Apache-2.0
 * gpu_board.c - a sequence lock: odd while the state is written. */
#include "monitor/gpu_board.h"

#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { TRIES = 1000 };

hu_gpu_board *hu_gpu_board_new(void)
{
    void *b = mmap(NULL, sizeof(hu_gpu_board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    return b == MAP_FAILED ? NULL : b;
}

void hu_gpu_board_free(hu_gpu_board *b)
{
    if (b)
        munmap(b, sizeof *b);
}

int64_t hu_gpu_board_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_BOOTTIME, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* A writer that was killed in the middle left it odd: the next one starts from there. */
void hu_gpu_board_write(hu_gpu_board *b, const hu_board_state *state)
{
    const uint32_t odd = atomic_load_explicit(&b->sequence, memory_order_relaxed) | 1;

    atomic_store_explicit(&b->sequence, odd, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    memcpy(&b->state, state, offsetof(hu_board_state, gpu) + state->n * sizeof *state->gpu);
    atomic_store_explicit(&b->sequence, odd + 1, memory_order_release);
}

void hu_gpu_board_write_vendor(hu_gpu_board *b, hu_gpu_vendor vendor, const hu_board_gpu *gpu, uint32_t n, int64_t at_ns)
{
    const uint32_t  odd = atomic_load_explicit(&b->sequence, memory_order_relaxed) | 1;
    hu_board_state *s = &b->state;
    uint32_t        kept = 0;

    atomic_store_explicit(&b->sequence, odd, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    for (uint32_t i = 0; i < s->n && i < HU_BOARD_GPUS; i++)
        if (s->gpu[i].vendor != vendor) {
            if (kept != i)
                s->gpu[kept] = s->gpu[i];
            kept++;
        }
    for (uint32_t i = 0; i < n && kept < HU_BOARD_GPUS; i++)
        s->gpu[kept++] = gpu[i];
    s->n = kept;
    s->at_ns = at_ns;
    atomic_store_explicit(&b->sequence, odd + 1, memory_order_release);
}

bool hu_gpu_board_read(hu_gpu_board *b, hu_board_state *out)
{
    for (int i = 0; i < TRIES; i++) {
        const uint32_t before = atomic_load_explicit(&b->sequence, memory_order_acquire);

        if (before % 2 == 0) {
            const uint32_t n = b->state.n < HU_BOARD_GPUS ? b->state.n : HU_BOARD_GPUS;

            memcpy(out, &b->state, offsetof(hu_board_state, gpu) + n * sizeof *out->gpu);
            atomic_thread_fence(memory_order_acquire);
            if (atomic_load_explicit(&b->sequence, memory_order_relaxed) == before) {
                out->n = n;
                return true;
            }
        }
        sched_yield();
    }
    return false;
}
