/* SPDX-License-Identifier: Apache-2.0
 * finishes.c - a chain of short kernels, each of which reads what the one before wrote.
 *
 *     each     clFinish after each of them
 *     once     clFinish at the end of the step: the queue is in order, and the results are the same
 *
 * One thread of the device next to the host's, which only waits. */
#include "pair.h"

#include <string.h>

enum { ITEMS = PAIR_LANES, KERNELS = 40, ROUNDS = 1200 };

int main(int argc, char **argv)
{
    static pair     p;
    static uint32_t results[ITEMS];
    uint32_t       *numbers = pair_numbers(ITEMS, 5), expected;
    cl_mem          buffer[2];
    cl_kernel       kernel;
    bool            each;

    pair_open(&p, argc, argv, "1", 100);
    each = strcmp(p.word, "each") == 0;
    kernel = pair_kernel(&p);
    buffer[0] = pair_buffer(&p, sizeof results);
    buffer[1] = pair_buffer(&p, sizeof results);
    PAIR_OK(clEnqueueWriteBuffer(p.queue, buffer[0], CL_TRUE, 0, sizeof results, numbers, 0, NULL, NULL));
    for (int i = -PAIR_WARM_UP; i < p.steps; i++) {
        pair_step(&p, i);
        for (int k = 0; k < KERNELS; k++) {
            pair_churn(p.queue, kernel, buffer[k & 1], buffer[1 - (k & 1)], (uint32_t)k, ROUNDS, 1, ITEMS, 0, NULL);
            if (each)
                PAIR_OK(clFinish(p.queue));
        }
        PAIR_OK(clEnqueueReadBuffer(p.queue, buffer[0], CL_FALSE, 0, sizeof results, results, 0, NULL, NULL));
        PAIR_OK(clFinish(p.queue));
        pair_add(&p, results, ITEMS);
    }
    pair_step(&p, p.steps);
    expected = numbers[1];
    for (int i = -PAIR_WARM_UP; i < p.steps; i++)
        for (int k = 0; k < KERNELS; k++)
            expected = pair_churned(expected, (uint32_t)k, ROUNDS);
    free(numbers);
    return pair_close(&p, results[1], expected);
}
