/* SPDX-License-Identifier: Apache-2.0
 * finishes.c - a chain of short kernels, each of which reads what the one before wrote.
 *
 *     each     clFinish after each of them
 *     once     clFinish at the end of the step: the queue is in order, and the results are the same
 *     behind   no clFinish: the step waits for the results of the step before
 *
 * One thread of the device next to the host's, which only waits. */
#include "pair.h"

#include <string.h>

enum { ITEMS = PAIR_LANES, KERNELS = 40, ROUNDS = 1200 };

int main(int argc, char **argv)
{
    static pair     p;
    static uint32_t results[2][ITEMS];
    uint32_t       *numbers = pair_numbers(ITEMS, 5), expected;
    cl_event        read[2] = {NULL, NULL};
    cl_mem          buffer[2];
    cl_kernel       kernel;
    bool            each, behind;

    pair_open(&p, argc, argv, "1", 160);
    each = strcmp(p.word, "each") == 0;
    behind = strcmp(p.word, "behind") == 0;
    kernel = pair_kernel(&p);
    buffer[0] = pair_buffer(&p, sizeof results[0]);
    buffer[1] = pair_buffer(&p, sizeof results[0]);
    PAIR_OK(clEnqueueWriteBuffer(p.queue, buffer[0], CL_TRUE, 0, sizeof results[0], numbers, 0, NULL, NULL));
    for (int i = -PAIR_WARM_UP; i < p.steps; i++) {
        const int now = i & 1, before = 1 - now;

        pair_step(&p, i);
        for (int k = 0; k < KERNELS; k++) {
            pair_churn(p.queue, kernel, buffer[k & 1], buffer[1 - (k & 1)], (uint32_t)k, ROUNDS, 1, ITEMS, 0, NULL);
            if (each)
                PAIR_OK(clFinish(p.queue));
        }
        PAIR_OK(clEnqueueReadBuffer(p.queue, buffer[0], CL_FALSE, 0, sizeof results[0], results[now], 0, NULL, &read[now]));
        PAIR_OK(clFlush(p.queue));
        if (!behind)
            PAIR_OK(clFinish(p.queue));
        if (read[before] != NULL) {
            PAIR_OK(clWaitForEvents(1, &read[before]));
            clReleaseEvent(read[before]);
            read[before] = NULL;
            pair_add(&p, results[before], ITEMS);
        }
    }
    PAIR_OK(clFinish(p.queue));
    pair_step(&p, p.steps);
    pair_add(&p, results[(p.steps - 1) & 1], ITEMS);
    expected = numbers[1];
    for (int i = -PAIR_WARM_UP; i < p.steps; i++)
        for (int k = 0; k < KERNELS; k++)
            expected = pair_churned(expected, (uint32_t)k, ROUNDS);
    free(numbers);
    return pair_close(&p, results[(p.steps - 1) & 1][1], expected);
}
