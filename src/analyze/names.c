/* SPDX-License-Identifier: Apache-2.0
 * names.c - names that mean something, as PyTorch and the runtimes write them.
 *
 * Source for the data loader and the collectives: the rules of the TensorBoard profiler plugin (torch-tb-profiler),
 * with the back ends that came after it.
 */
#include "analyze/names.h"

#include "base/number.h"

static const hu_str step_prefix = {"ProfilerStep#", 13};

static const char *const loader_prefixes[] = {"enumerate(DataLoader)#", "enumerate(DataPipe)#", "enumerate(IterDataPipe)#"};

static const char *const comm_prefixes[] = {"nccl:", "gloo:", "mpi:", "ucc:", "xccl:", "hccl:"};

/* Kernel launches, graph launches and asynchronous copies; what they start carries the same correlation id. */
static const char *const launch_parts[] = {"LaunchKernel",  "GraphLaunch",     "MemcpyAsync", "MemsetAsync",
                                           "ModuleLaunch",  "LaunchCooperative", "MemcpyWithStream",
                                           "job_prep_and_submit_for_execution"};

static bool starts_with_any(hu_str name, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (hu_str_starts(name, hu_str_of(list[i])))
            return true;
    return false;
}

int64_t hu_names_step_number(hu_str name)
{
    int64_t number;

    if (!hu_str_starts(name, step_prefix))
        return -1;
    return hu_parse_i64((hu_str){name.p + step_prefix.n, name.n - step_prefix.n}, &number) ? number : -1;
}

static uint8_t classify(hu_str name)
{
    uint8_t flags = 0;

    if (hu_str_starts(name, step_prefix))
        return HU_NAME_STEP;
    if (starts_with_any(name, loader_prefixes, HU_COUNT(loader_prefixes)))
        flags |= HU_NAME_DATA_LOADER;
    if (starts_with_any(name, comm_prefixes, HU_COUNT(comm_prefixes)))
        flags |= HU_NAME_COMM;
    for (size_t i = 0; i < HU_COUNT(launch_parts) && name.n < 64; i++)
        if (hu_str_has(name, hu_str_of(launch_parts[i])))
            flags |= HU_NAME_LAUNCH;
    return flags;
}

const uint8_t *hu_names_classify(const hu_trace *trace, hu_arena *arena)
{
    const uint32_t n = hu_trace_string_count(trace);
    uint8_t       *flags = hu_arena_alloc(arena, n);

    for (uint32_t i = 0; flags && i < n; i++)
        flags[i] = classify(hu_trace_text(trace, i));
    return flags;
}
