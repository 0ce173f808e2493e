/* SPDX-License-Identifier: Apache-2.0
 * openmp_tool.c - a program's own OMPT tool, by LLVM's header: it counts parallel regions and prints how many. */
#include <omp-tools.h>
#include <stdio.h>

static long regions;

static void parallel_begin(ompt_data_t *task, const ompt_frame_t *frame, ompt_data_t *region, unsigned requested, int flags,
                           const void *code)
{
    (void)task, (void)frame, (void)region, (void)requested, (void)flags, (void)code;
    regions++;
}

static int initialize(ompt_function_lookup_t lookup, int device, ompt_data_t *data)
{
    ompt_set_callback_t set = (ompt_set_callback_t)lookup("ompt_set_callback");

    (void)device, (void)data;
    return set(ompt_callback_parallel_begin, (ompt_callback_t)parallel_begin) == ompt_set_always;
}

static void finalize(ompt_data_t *data)
{
    (void)data;
    printf("own tool: %ld\n", regions);
    fflush(stdout);
}

ompt_start_tool_result_t *ompt_start_tool(unsigned version, const char *runtime)
{
    static ompt_start_tool_result_t tool = {initialize, finalize, {0}};

    (void)version, (void)runtime;
    return &tool;
}
