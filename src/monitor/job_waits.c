/* SPDX-License-Identifier: Apache-2.0
 * job_waits.c - a sequence lock, as the board's own (gpu_board.c). */
#include "monitor/job_waits.h"

#include <sched.h>
#include <stdatomic.h>
#include <string.h>

enum { TRIES = 100 };

/* A writer that was killed in the middle left it odd: the next one starts from there. */
void hu_job_waits_begin(hu_job_waits *w, int64_t now_ns)
{
    atomic_store_explicit(&w->sequence, atomic_load_explicit(&w->sequence, memory_order_relaxed) | 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    w->n = 0;
    w->at_ns = now_ns;
}

void hu_job_waits_put(hu_job_waits *w, uint64_t job, double share)
{
    for (uint32_t i = 0; i < w->n; i++)
        if (w->row[i].job == job) {
            w->row[i].share = share > w->row[i].share ? share : w->row[i].share;
            return;
        }
    if (w->n < HU_JOB_WAITS)
        w->row[w->n++] = (hu_job_wait){job, share};
}

void hu_job_waits_end(hu_job_waits *w)
{
    const uint32_t odd = atomic_load_explicit(&w->sequence, memory_order_relaxed);

    atomic_store_explicit(&w->sequence, odd + 1, memory_order_release);
}

bool hu_job_waits_read(hu_job_waits *w, int64_t since_ns, hu_job_wait out[HU_JOB_WAITS], uint32_t *n)
{
    for (int i = 0; i < TRIES; i++) {
        const uint32_t before = atomic_load_explicit(&w->sequence, memory_order_acquire);

        if (before % 2 == 0) {
            const int64_t at_ns = w->at_ns;

            *n = w->n < HU_JOB_WAITS ? w->n : HU_JOB_WAITS;
            memcpy(out, w->row, *n * sizeof *out);
            atomic_thread_fence(memory_order_acquire);
            if (atomic_load_explicit(&w->sequence, memory_order_relaxed) == before)
                return at_ns > since_ns;
        }
        sched_yield();
    }
    return false;
}
