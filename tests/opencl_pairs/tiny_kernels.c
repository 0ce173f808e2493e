/* SPDX-License-Identifier: Apache-2.0
 * tiny_kernels.c - the same work in many launches, or in one.
 *
 *     many     a launch for each 64 items, 1000 in a step
 *     one      one launch for all
 *
 * One thread of the device next to the host's. */
#include "pair.h"

#include <string.h>

enum { PARTS = 1000, ITEMS = PARTS * PAIR_LANES, ROUNDS = 60 };

/* `items` at the place `from` of both buffers, each a launch. */
static void launch(pair *p, cl_kernel kernel, cl_mem in, cl_mem out, int i, int parts)
{
    const size_t  items = ITEMS / (size_t)parts, lanes = PAIR_LANES;
    const cl_uint rounds = ROUNDS, stride = 1, salt = (cl_uint)i;

    PAIR_OK(clSetKernelArg(kernel, 0, sizeof in, &in));
    PAIR_OK(clSetKernelArg(kernel, 1, sizeof out, &out));
    PAIR_OK(clSetKernelArg(kernel, 2, sizeof salt, &salt));
    PAIR_OK(clSetKernelArg(kernel, 3, sizeof rounds, &rounds));
    PAIR_OK(clSetKernelArg(kernel, 4, sizeof stride, &stride));
    for (size_t from = 0; from < ITEMS; from += items)
        PAIR_OK(clEnqueueNDRangeKernel(p->queue, kernel, 1, &from, &items, &lanes, 0, NULL, NULL));
}

int main(int argc, char **argv)
{
    static pair     p;
    static uint32_t results[ITEMS];
    uint32_t       *numbers = pair_numbers(ITEMS, 11);
    cl_mem          in, out;
    cl_kernel       kernel;
    int             parts;

    pair_open(&p, argc, argv, "1", 100);
    parts = strcmp(p.word, "many") == 0 ? PARTS : 1;
    kernel = pair_kernel(&p);
    in = pair_buffer(&p, sizeof results);
    out = pair_buffer(&p, sizeof results);
    PAIR_OK(clEnqueueWriteBuffer(p.queue, in, CL_TRUE, 0, sizeof results, numbers, 0, NULL, NULL));
    for (int i = -PAIR_WARM_UP; i < p.steps; i++) {
        pair_step(&p, i);
        launch(&p, kernel, in, out, i, parts);
        PAIR_OK(clEnqueueReadBuffer(p.queue, out, CL_FALSE, 0, sizeof results, results, 0, NULL, NULL));
        PAIR_OK(clFinish(p.queue));
        pair_add(&p, results, ITEMS);
    }
    pair_step(&p, p.steps);
    free(numbers);
    return pair_close(&p, results[ITEMS / 2], pair_churned(ITEMS / 2 * 2654435761u + 11, (uint32_t)p.steps - 1, ROUNDS));
}
