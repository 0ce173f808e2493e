/* SPDX-License-Identifier: Apache-2.0
 * blocking_read.c - a kernel makes a result, and the host works on it.
 *
 *     blocking      the host waits for its result in a blocking read and works on it while the device has nothing to do
 *     nonblocking   reads do not block: the host works on the result before while the device computes the next one
 *
 * One thread of the device next to the host's: both compute. */
#include "pair.h"

#include <string.h>

enum { ITEMS = 64 * PAIR_LANES, ROUNDS = 1100, HOST_ROUNDS = 2500 * 1000 };

/* Waits for a result and works on it. */
static uint32_t take(pair *p, cl_event *read, const uint32_t *results)
{
    uint32_t worked;

    PAIR_OK(clWaitForEvents(1, read));
    clReleaseEvent(*read);
    *read = NULL;
    worked = pair_host_work(results[ITEMS / 2], HOST_ROUNDS);
    pair_add(p, &worked, 1);
    return worked;
}

int main(int argc, char **argv)
{
    static pair     p;
    static uint32_t results[2][ITEMS];
    uint32_t       *numbers = pair_numbers(ITEMS, 7), worked = 0;
    cl_mem          in, out[2];
    cl_kernel       kernel;
    cl_event        read[2] = {NULL, NULL};
    bool            blocks;

    pair_open(&p, argc, argv, "1", 100);
    blocks = strcmp(p.word, "blocking") == 0;
    kernel = pair_kernel(&p);
    in = pair_buffer(&p, sizeof results[0]);
    out[0] = pair_buffer(&p, sizeof results[0]);
    out[1] = pair_buffer(&p, sizeof results[0]);
    PAIR_OK(clEnqueueWriteBuffer(p.queue, in, CL_TRUE, 0, sizeof results[0], numbers, 0, NULL, NULL));
    for (int i = -PAIR_WARM_UP; i < p.steps; i++) {
        const int k = i & 1, done = blocks ? k : 1 - k;

        pair_step(&p, i);
        pair_churn(p.queue, kernel, in, out[k], (uint32_t)i, ROUNDS, 1, ITEMS, 0, NULL);
        PAIR_OK(clEnqueueReadBuffer(p.queue, out[k], blocks, 0, sizeof results[0], results[k], 0, NULL, &read[k]));
        PAIR_OK(clFlush(p.queue));
        if (read[done] != NULL)
            worked = take(&p, &read[done], results[done]);
    }
    if (!blocks)
        worked = take(&p, &read[(p.steps - 1) & 1], results[(p.steps - 1) & 1]);
    pair_step(&p, p.steps);
    free(numbers);
    return pair_close(&p, worked,
                      pair_host_work(pair_churned(ITEMS / 2 * 2654435761u + 7, (uint32_t)p.steps - 1, ROUNDS), HOST_ROUNDS));
}
