/* SPDX-License-Identifier: Apache-2.0
 * host_work.c - the host prepares what the kernels of a step need.
 *
 *     between     prepares, launches three kernels, waits: the device has nothing to do meanwhile
 *     behind      launches first, and prepares the next step while the kernels run
 *     flushed     as behind, with clFlush after each launch
 *     spread      as behind, the third kernel on a queue of its own, of a device that runs one kernel at a time
 *
 * One thread of the device next to the host's. */
#include "pair.h"

#include <string.h>

enum { ITEMS = 16 * PAIR_LANES, KERNELS = 3, ROUNDS = 3000, HOST_ROUNDS = 5000 * 1000 };

/* What the kernels of step i add to their input. */
static uint32_t prepare(int i)
{
    uint32_t salt;

    holdup_range_push("prepare");
    salt = pair_host_work((uint32_t)i, HOST_ROUNDS);
    holdup_range_pop();
    return salt;
}

int main(int argc, char **argv)
{
    static pair      p;
    static uint32_t  results[KERNELS][ITEMS];
    uint32_t        *numbers = pair_numbers(ITEMS, 3), salt = 0, next;
    cl_mem           in, out[KERNELS];
    cl_command_queue other;
    cl_kernel        kernel;

    pair_open(&p, argc, argv, "1", 100);
    kernel = pair_kernel(&p);
    other = strcmp(p.word, "spread") == 0 ? pair_queue(&p) : p.queue;
    in = pair_buffer(&p, sizeof results[0]);
    for (int k = 0; k < KERNELS; k++)
        out[k] = pair_buffer(&p, sizeof results[0]);
    PAIR_OK(clEnqueueWriteBuffer(p.queue, in, CL_TRUE, 0, sizeof results[0], numbers, 0, NULL, NULL));
    next = prepare(-PAIR_WARM_UP);
    for (int i = -PAIR_WARM_UP; i < p.steps; i++) {
        pair_step(&p, i);
        salt = strcmp(p.word, "between") == 0 ? prepare(i) : next;
        for (int k = 0; k < KERNELS; k++) {
            cl_command_queue queue = k == KERNELS - 1 ? other : p.queue;

            pair_churn(queue, kernel, in, out[k], salt + (uint32_t)k, ROUNDS, 1, ITEMS, 0, NULL);
            if (strcmp(p.word, "flushed") == 0)
                PAIR_OK(clFlush(queue));
            PAIR_OK(clEnqueueReadBuffer(queue, out[k], CL_FALSE, 0, sizeof results[k], results[k], 0, NULL, NULL));
        }
        PAIR_OK(clFlush(p.queue));
        PAIR_OK(clFlush(other));
        if (strcmp(p.word, "between") != 0)
            next = prepare(i + 1);
        PAIR_OK(clFinish(p.queue));
        PAIR_OK(clFinish(other));
        pair_add(&p, results[KERNELS - 1], ITEMS);
    }
    pair_step(&p, p.steps);
    free(numbers);
    return pair_close(&p, results[2][ITEMS / 2], pair_churned(ITEMS / 2 * 2654435761u + 3, salt + 2, ROUNDS));
}
