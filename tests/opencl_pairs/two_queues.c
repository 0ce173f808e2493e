/* SPDX-License-Identifier: Apache-2.0
 * two_queues.c - a batch is copied to the device and a kernel reads it, step after step.
 *
 *     serial       one queue: copy, kernel, clFinish
 *     overlapped   the next batch travels on a second queue while the kernel computes
 *     resident     the same without copies: both batches are on the device already
 *
 * Two threads of the device: the kernel is one work-group and takes one, a copy takes the other. The host only waits. */
#include "pair.h"

#include <string.h>

enum { WORDS = 8 << 20, ROUNDS = 70 * 1000, STRIDE = WORDS / PAIR_LANES };

int main(int argc, char **argv)
{
    static pair      p;
    uint32_t        *batch[2], results[PAIR_LANES];
    cl_mem           in[2], out;
    cl_command_queue copies;
    cl_kernel        kernel;
    cl_event         there = NULL;
    uint32_t         last;

    pair_open(&p, argc, argv, "2", 100);
    copies = pair_queue(&p);
    kernel = pair_kernel(&p);
    for (int k = 0; k < 2; k++) {
        batch[k] = pair_numbers(WORDS, (uint32_t)k);
        in[k] = pair_buffer(&p, WORDS * sizeof(uint32_t));
        PAIR_OK(clEnqueueWriteBuffer(p.queue, in[k], CL_TRUE, 0, WORDS * sizeof(uint32_t), batch[k], 0, NULL, NULL));
    }
    out = pair_buffer(&p, sizeof results);
    for (int i = -PAIR_WARM_UP; i < p.steps; i++) {
        const int k = i & 1;

        pair_step(&p, i);
        if (strcmp(p.word, "serial") == 0) {
            PAIR_OK(clEnqueueWriteBuffer(p.queue, in[k], CL_FALSE, 0, WORDS * sizeof(uint32_t), batch[k], 0, NULL, NULL));
            pair_churn(p.queue, kernel, in[k], out, 0, ROUNDS, STRIDE, PAIR_LANES, 0, NULL);
        } else {
            pair_churn(p.queue, kernel, in[k], out, 0, ROUNDS, STRIDE, PAIR_LANES, there != NULL, &there);
            PAIR_OK(clFlush(p.queue));
            if (there != NULL)
                clReleaseEvent(there);
            there = NULL;
            if (strcmp(p.word, "overlapped") == 0) {
                PAIR_OK(clEnqueueWriteBuffer(copies, in[1 - k], CL_FALSE, 0, WORDS * sizeof(uint32_t), batch[1 - k], 0, NULL,
                                             &there));
                PAIR_OK(clFinish(copies));
            }
        }
        PAIR_OK(clEnqueueReadBuffer(p.queue, out, CL_FALSE, 0, sizeof results, results, 0, NULL, NULL));
        PAIR_OK(clFinish(p.queue));
        pair_add(&p, results, PAIR_LANES);
    }
    pair_step(&p, p.steps);
    last = pair_churned(batch[(p.steps - 1) & 1][STRIDE], 0, ROUNDS);
    return pair_close(&p, results[1], last);
}
