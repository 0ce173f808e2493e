/* SPDX-License-Identifier: Apache-2.0
 * slow_kernel.c - three kernels in a step keep the device busy; one of them takes most of the time.
 *
 *     slow    each work-item of `walk` takes all rounds one by one
 *     fast    `leap` has the same results in a quarter of the rounds
 *     waits   as slow, with clFinish at the end of each step, which costs next to nothing
 *
 * Nothing but the kernel can be faster: the host enqueues the next step while the device works on this one.
 * One thread of the device next to the host's, which only waits. */
#include "pair.h"

#include <string.h>

enum { ITEMS = 16 * PAIR_LANES, SLOW = 5000, SHORT = 800 };

/* `leap` takes four steps of the generator at once: x a^4 + c (a^3 + a^2 + a + 1). */
static const char SOURCE[] =
    "kernel void walk(global const uint *in, global uint *out, uint salt, uint rounds, uint stride)\n"
    "{\n"
    "    uint at = get_global_id(0), x = in[at * stride] + salt;\n"
    "    for (uint i = 0; i < rounds; i++)\n"
    "        x = x * 1664525u + 1013904223u;\n"
    "    out[at] = x;\n"
    "}\n"
    "kernel void leap(global const uint *in, global uint *out, uint salt, uint rounds, uint stride)\n"
    "{\n"
    "    const uint a = 1664525u, c = 1013904223u * (a * a * a + a * a + a + 1u);\n"
    "    uint at = get_global_id(0), x = in[at * stride] + salt;\n"
    "    for (uint i = 0; i < rounds; i += 4)\n"
    "        x = x * (a * a * a * a) + c;\n"
    "    out[at] = x;\n"
    "}\n";

/* The kernel of this program that is called so. */
static cl_kernel own_kernel(pair *p, const char *name)
{
    const char *source = SOURCE;
    cl_int      code;
    cl_program  program = clCreateProgramWithSource(p->context, 1, &source, NULL, &code);
    cl_kernel   kernel;

    PAIR_OK(code);
    PAIR_OK(clBuildProgram(program, 1, &p->device, "", NULL, NULL));
    kernel = clCreateKernel(program, name, &code);
    PAIR_OK(code);
    return kernel;
}

int main(int argc, char **argv)
{
    static pair     p;
    static uint32_t results[2][ITEMS];
    uint32_t       *numbers = pair_numbers(ITEMS, 17), expected;
    cl_event        read[2] = {NULL, NULL};
    cl_mem          a, b, c, out[2];
    cl_kernel       kernel, slow;

    pair_open(&p, argc, argv, "1", 100);
    kernel = pair_kernel(&p);
    slow = own_kernel(&p, strcmp(p.word, "fast") == 0 ? "leap" : "walk");
    a = pair_buffer(&p, sizeof results[0]);
    b = pair_buffer(&p, sizeof results[0]);
    c = pair_buffer(&p, sizeof results[0]);
    out[0] = pair_buffer(&p, sizeof results[0]);
    out[1] = pair_buffer(&p, sizeof results[0]);
    PAIR_OK(clEnqueueWriteBuffer(p.queue, a, CL_TRUE, 0, sizeof results[0], numbers, 0, NULL, NULL));
    for (int i = -PAIR_WARM_UP; i < p.steps; i++) {
        const int now = i & 1, before = 1 - now;

        pair_step(&p, i);
        pair_churn(p.queue, kernel, a, b, (uint32_t)i, SHORT, 1, ITEMS, 0, NULL);
        pair_churn(p.queue, slow, b, c, 1, SLOW, 1, ITEMS, 0, NULL);
        pair_churn(p.queue, kernel, c, out[now], 2, SHORT, 1, ITEMS, 0, NULL);
        PAIR_OK(clEnqueueReadBuffer(p.queue, out[now], CL_FALSE, 0, sizeof results[0], results[now], 0, NULL, &read[now]));
        PAIR_OK(clFlush(p.queue));
        if (strcmp(p.word, "waits") == 0)
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
    expected = pair_churned(numbers[1], (uint32_t)p.steps - 1, SHORT);
    expected = pair_churned(pair_churned(expected, 1, SLOW), 2, SHORT);
    free(numbers);
    return pair_close(&p, results[(p.steps - 1) & 1][1], expected);
}
