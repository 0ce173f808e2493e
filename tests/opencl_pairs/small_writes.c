/* SPDX-License-Identifier: Apache-2.0
 * small_writes.c - the input of a step comes in parts of 1 kB.
 *
 *     many    a copy for each part, 2048 in a step
 *     one     the parts lie next to each other, and one copy takes all of them
 *
 * One thread of the device next to the host's. */
#include "pair.h"

#include <string.h>

enum { PARTS = 2048, WORDS = 256, ITEMS = 8 * PAIR_LANES, STRIDE = PARTS * WORDS / ITEMS, ROUNDS = 4000 };

int main(int argc, char **argv)
{
    static pair     p;
    static uint32_t results[ITEMS];
    uint32_t       *parts = pair_numbers((size_t)PARTS * WORDS, 13);
    const size_t    bytes = WORDS * sizeof *parts;
    cl_mem          in, out;
    cl_kernel       kernel;

    pair_open(&p, argc, argv, "1", 100);
    kernel = pair_kernel(&p);
    in = pair_buffer(&p, PARTS * bytes);
    out = pair_buffer(&p, sizeof results);
    for (int i = -PAIR_WARM_UP; i < p.steps; i++) {
        pair_step(&p, i);
        if (strcmp(p.word, "many") == 0)
            for (size_t n = 0; n < PARTS; n++)
                PAIR_OK(clEnqueueWriteBuffer(p.queue, in, CL_FALSE, n * bytes, bytes, parts + n * WORDS, 0, NULL, NULL));
        else
            PAIR_OK(clEnqueueWriteBuffer(p.queue, in, CL_FALSE, 0, PARTS * bytes, parts, 0, NULL, NULL));
        pair_churn(p.queue, kernel, in, out, (uint32_t)i, ROUNDS, STRIDE, ITEMS, 0, NULL);
        PAIR_OK(clEnqueueReadBuffer(p.queue, out, CL_FALSE, 0, sizeof results, results, 0, NULL, NULL));
        PAIR_OK(clFinish(p.queue));
        pair_add(&p, results, ITEMS);
    }
    pair_step(&p, p.steps);
    free(parts);
    return pair_close(&p, results[1], pair_churned(STRIDE * 2654435761u + 13, (uint32_t)p.steps - 1, ROUNDS));
}
