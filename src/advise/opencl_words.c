/* SPDX-License-Identifier: Apache-2.0
 * opencl_words.c - fixes in the terms of OpenCL's own interface.
 *
 * Source of what is advised: the OpenCL specification (CL_MEM_ALLOC_HOST_PTR and mapping for transfers, events in place of
 * clFinish, clFlush, clGetProgramInfo(CL_PROGRAM_BINARIES)), which every vendor's guide repeats.
 */
#include "advise/opencl_words.h"

#include <stdio.h>

static const struct {
    hu_rule     rule;
    const char *fix;
} fixes[] = {
    {HU_RULE_COMPUTE_BOUND, "faster kernels: local memory, vector types, another work-group size, -cl-fast-relaxed-math; or "
                            "a faster device"},
    {HU_RULE_BANDWIDTH_BOUND, "one kernel instead of several that pass their data through global memory"},
    {HU_RULE_LAUNCH_BOUND,
     "fewer and larger commands: more work-items in each kernel, several steps in one kernel, one copy for many; enqueue "
     "ahead and wait by events, not after each command"},
    {HU_RULE_HOST_WORK, "move it out of the step, into another thread, or do it while the device works: enqueue, clFlush, "
                        "then compute on the host, then wait"},
    {HU_RULE_UNRECORDED, "holdup run with osrt and cpu in --trace names files, locks, sleep and hot functions; ranges of "
                         "holdup_annotate.h or NVTX name your own code"},
    {HU_RULE_BLOCKING, "no clFinish and no blocking call behind each enqueue; wait once, where the host needs a result"},
    {HU_RULE_HOST_SYNC,
     "wait for the event of the one command that the host needs, not for the queue (clFinish); enqueue the "
     "next step before waiting for this one, with two sets of buffers"},
    {HU_RULE_COPY_BOUND, "blocking_write CL_FALSE and an event, on a second queue that runs ahead; buffers of "
                         "CL_MEM_ALLOC_HOST_PTR, mapped, so that nothing is staged"},
    {HU_RULE_DATA_LOADING, "load the next input in another thread while the device works on this one"},
    {HU_RULE_ALLOCATOR, "create buffers once and use them again: no clCreateBuffer in the loop"},
    {HU_RULE_PIN, "create host-visible buffers (CL_MEM_ALLOC_HOST_PTR) once and use them again"},
    {HU_RULE_WARM_UP, "build programs before the loop, and keep their binaries: clGetProgramInfo(CL_PROGRAM_BINARIES), "
                      "clCreateProgramWithBinary"},
    {HU_RULE_COLD,
     "build programs before the loop, and keep their binaries (CL_PROGRAM_BINARIES); run each kernel once before "
     "what is measured"},
};

/* Do its calls enqueue commands of OpenCL, and none launch anything else? */
static bool is_alone(const hu_digest *d)
{
    bool has_own = false;

    for (size_t i = 0; i < d->calls.n; i++) {
        const hu_str name = d->calls.at[i].name;

        has_own = has_own || hu_str_starts(name, HU_STR("clEnqueue"));
        if (hu_str_starts(name, HU_STR("cuda")) || hu_str_starts(name, HU_STR("hip")) || hu_str_starts(name, HU_STR("cuL")))
            return false;
    }
    return has_own;
}

void hu_opencl_words(hu_findings *f, const hu_digest *d)
{
    if (!is_alone(d))
        return;
    for (size_t i = 0; i < f->n; i++)
        for (size_t k = 0; k < HU_COUNT(fixes); k++)
            if (f->at[i].rule == fixes[k].rule && !(f->at[i].rule == HU_RULE_DATA_LOADING && f->at[i].fix[0]))
                snprintf(f->at[i].fix, sizeof f->at[i].fix, "%s", fixes[k].fix);
}
