/* SPDX-License-Identifier: Apache-2.0
 * pair.h - what the programs of the OpenCL pairs share: one device with few threads, kernels whose results are known, steps.
 *
 *     PROGRAM WORD [STEPS]        WORD chooses the arm; prints one line of JSON: time, CPU time, steps, a sum of all results
 *
 * A CPU is the device, and the host computes on the same cores: each program says how many threads the device gets, so that
 * host and device fit next to each other on two cores. PoCL's threads stay on the first cores (POCL_AFFINITY), the host's on the
 * last one: a scheduler that puts both on one core, now and then, would be measured instead of the cause. Warm-up steps come
 * first: PoCL compiles a kernel when it first runs. */
#ifndef PAIR_H
#define PAIR_H

#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS

#include <holdup_annotate.h>

#include <CL/cl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

enum { PAIR_WARM_UP = 5, PAIR_MOST_STEPS = 1000, PAIR_LANES = 64 };

/* What every program has. */
typedef struct {
    cl_device_id     device;
    cl_context       context;
    cl_command_queue queue;
    cl_program       program;
    const char      *word; /* the arm */
    int              steps;
    uint64_t         sum;                           /* of all results: the same in both arms */
    double           ended_ms[PAIR_MOST_STEPS + 1]; /* of each step, by the host */
    double           user_ms, sys_ms;               /* CPU time of all threads in the steps */
} pair;

__attribute__((noreturn, cold, unused)) static void pair_fail(const char *what, int code)
{
    fprintf(stderr, "pair: %s: %d\n", what, code);
    exit(1);
}

/* Ends the program unless the call succeeded. */
#define PAIR_OK(call)                                     \
    do {                                                  \
        const cl_int pair_code_ = (call);                 \
        if (pair_code_ != CL_SUCCESS) {                   \
            fprintf(stderr, "pair: line %d\n", __LINE__); \
            pair_fail(#call, (int)pair_code_);            \
        }                                                 \
    } while (0)

__attribute__((unused)) static double pair_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* `churn` is the work of all kernels: `rounds` steps of a generator for each item, which no compiler can shorten. An item begins
 * with what lies at its place of `in`, and adds `salt`. */
static const char PAIR_SOURCE[] =
    "kernel void churn(global const uint *in, global uint *out, uint salt, uint rounds, uint stride)\n"
    "{\n"
    "    uint at = get_global_id(0), x = in[at * stride] + salt;\n"
    "    for (uint i = 0; i < rounds; i++)\n"
    "        x = x * 1664525u + 1013904223u;\n"
    "    out[at] = x;\n"
    "}\n";

/* The same on the host. */
__attribute__((unused)) static uint32_t pair_churned(uint32_t in, uint32_t salt, uint32_t rounds)
{
    uint32_t x = in + salt;

    for (uint32_t i = 0; i < rounds; i++)
        x = x * 1664525u + 1013904223u;
    return x;
}

__attribute__((unused)) static cl_command_queue pair_queue(pair *p)
{
    cl_int           code;
    cl_command_queue queue = clCreateCommandQueue(p->context, p->device, 0, &code);

    PAIR_OK(code);
    return queue;
}

__attribute__((unused)) static cl_kernel pair_kernel(pair *p)
{
    cl_int    code;
    cl_kernel kernel = clCreateKernel(p->program, "churn", &code);

    PAIR_OK(code);
    return kernel;
}

__attribute__((unused)) static cl_mem pair_buffer(pair *p, size_t bytes)
{
    cl_int code;
    cl_mem buffer = clCreateBuffer(p->context, CL_MEM_READ_WRITE, bytes, NULL, &code);

    PAIR_OK(code);
    return buffer;
}

/* Memory of the host whose pages are there: n numbers that follow from `seed`. */
__attribute__((unused)) static uint32_t *pair_numbers(size_t n, uint32_t seed)
{
    uint32_t *numbers = malloc(n * sizeof *numbers);

    if (numbers == NULL)
        pair_fail("malloc", (int)n);
    for (size_t i = 0; i < n; i++)
        numbers[i] = (uint32_t)i * 2654435761u + seed;
    return numbers;
}

/* Enqueues `churn` for `items` in work-groups of PAIR_LANES; one group runs on one thread of the device. */
__attribute__((unused)) static void pair_churn(cl_command_queue queue, cl_kernel kernel, cl_mem in, cl_mem out,
                                               uint32_t salt, uint32_t rounds, uint32_t stride, size_t items, cl_uint n,
                                               const cl_event *after)
{
    const size_t lanes = PAIR_LANES;

    PAIR_OK(clSetKernelArg(kernel, 0, sizeof in, &in));
    PAIR_OK(clSetKernelArg(kernel, 1, sizeof out, &out));
    PAIR_OK(clSetKernelArg(kernel, 2, sizeof salt, &salt));
    PAIR_OK(clSetKernelArg(kernel, 3, sizeof rounds, &rounds));
    PAIR_OK(clSetKernelArg(kernel, 4, sizeof stride, &stride));
    PAIR_OK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, &lanes, n, n > 0 ? after : NULL, NULL));
}

/* Adds results to the sum that both arms must agree on. */
__attribute__((unused)) static void pair_add(pair *p, const uint32_t *results, size_t n)
{
    for (size_t i = 0; i < n; i++)
        p->sum = p->sum * 31 + results[i];
}

/* The host's own work: `rounds` of the generator, which take some 1.5 ns each; what comes out depends on all of them. */
__attribute__((unused)) static uint32_t pair_host_work(uint32_t seed, uint32_t rounds)
{
    uint32_t result = pair_churned(seed, 1, rounds);

    __asm__ volatile("" : "+r"(result)); /* is not moved out of the step */
    return result;
}

/* This thread, and those that it starts, on the last core that there is. */
__attribute__((unused)) static void pair_pin(void)
{
    cpu_set_t all, one;
    size_t    last = 0;

    if (sched_getaffinity(0, sizeof all, &all) != 0)
        return;
    for (size_t i = 0; i < CPU_SETSIZE; i++)
        last = CPU_ISSET(i, &all) ? i : last;
    CPU_ZERO(&one);
    CPU_SET(last, &one);
    (void)sched_setaffinity(0, sizeof one, &one);
}

/* The device with `threads` threads, a context, one queue, and the arm of the command line. */
__attribute__((unused)) static void pair_open(pair *p, int argc, char **argv, const char *threads, int steps)
{
    const char    *source = PAIR_SOURCE;
    cl_platform_id platform;
    cl_int         code;

    setenv("POCL_MAX_PTHREAD_COUNT", threads, 1); /* other platforms ignore both */
    setenv("POCL_AFFINITY", "1", 1);
    p->word = argc > 1 ? argv[1] : "";
    p->steps = argc > 2 ? atoi(argv[2]) : steps;
    if (p->steps < 1 || p->steps > PAIR_MOST_STEPS)
        pair_fail("steps", p->steps);
    PAIR_OK(clGetPlatformIDs(1, &platform, NULL));
    PAIR_OK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &p->device, NULL));
    p->context = clCreateContext(NULL, 1, &p->device, NULL, NULL, &code);
    PAIR_OK(code);
    p->queue = pair_queue(p);
    p->program = clCreateProgramWithSource(p->context, 1, &source, NULL, &code);
    PAIR_OK(code);
    PAIR_OK(clBuildProgram(p->program, 1, &p->device, "", NULL, NULL));
    pair_pin();
}

/* Adds the process's CPU time until now. */
__attribute__((unused)) static void pair_add_cpu(pair *p, double sign)
{
    struct rusage use;

    getrusage(RUSAGE_SELF, &use);
    p->user_ms += sign * ((double)use.ru_utime.tv_sec * 1e3 + (double)use.ru_utime.tv_usec / 1e3);
    p->sys_ms += sign * ((double)use.ru_stime.tv_sec * 1e3 + (double)use.ru_stime.tv_usec / 1e3);
}

/* Before step i; steps below 0 are warm-up and are not marked. Behind the last step: with i = steps. */
__attribute__((unused)) static void pair_step(pair *p, int i)
{
    if (i == 0 || i == p->steps)
        pair_add_cpu(p, i == 0 ? -1.0 : 1.0);
    if (i >= 0)
        p->ended_ms[i] = pair_ms();
    if (i == p->steps)
        holdup_step_end();
    else if (i >= 0)
        holdup_step_number(i);
}

/* Compares the last result with the host's, and prints the line. Returns the exit status. */
__attribute__((unused)) static int pair_close(pair *p, uint32_t got, uint32_t expected)
{
    if (got != expected) {
        fprintf(stderr, "pair: the device computed %u, the host %u\n", got, expected);
        return 1;
    }
    printf("{\"steps\": %d, \"ms\": %.3f, \"user_ms\": %.3f, \"sys_ms\": %.3f, \"sum\": \"%016llx\", \"step_ms\": [",
           p->steps, p->ended_ms[p->steps] - p->ended_ms[0], p->user_ms, p->sys_ms, (unsigned long long)p->sum);
    for (int i = 0; i < p->steps; i++)
        printf("%s%.4f", i > 0 ? ", " : "", p->ended_ms[i + 1] - p->ended_ms[i]);
    printf("]}\n");
    clReleaseProgram(p->program);
    clReleaseCommandQueue(p->queue);
    clReleaseContext(p->context);
    return 0;
}

#endif
