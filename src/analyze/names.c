/* SPDX-License-Identifier: Apache-2.0
 * names.c - names that mean something, as PyTorch and the runtimes write them.
 *
 * Source for the data loader and the collectives: the rules of the TensorBoard profiler plugin (torch-tb-profiler),
 * with the back ends that came after it.
 */
#include "analyze/names.h"

#include <strings.h>

#include "base/number.h"

enum { LONGEST_MARK = 128 }; /* a step's number stands before this byte */

static const hu_str step_prefix = {"ProfilerStep#", 13};

static const char *const loader_prefixes[] = {"enumerate(DataLoader)#", "enumerate(DataPipe)#", "enumerate(IterDataPipe)#"};

/* Phases of a pipeline in which the next batch is made (holdup_annotate.h, the Python package). */
static const char *const loader_names[] = {"data", "preprocessing"};

static const char *const comm_prefixes[] = {
    "nccl:", "gloo:", "mpi:", "ucc:", "xccl:", "hccl:", "oneccl_bindings_for_pytorch::"};

/* Kernel launches, graph launches and asynchronous copies; what they start carries the same correlation id. */
static const char *const launch_parts[] = {
    "LaunchKernel", "GraphLaunch",       "MemcpyAsync",      "MemsetAsync",
    "ModuleLaunch", "LaunchCooperative", "MemcpyWithStream", "job_prep_and_submit_for_execution"};

/* Calls that return only when the device has done something; asynchronous copies of pageable memory are not among them. */
static const char *const sync_names[] = {
    "cudaDeviceSynchronize", "cudaStreamSynchronize", "cudaEventSynchronize", "cudaMemcpy",          "cudaMemcpy2D",
    "cudaMemcpyToSymbol",    "cudaMemcpyFromSymbol",  "cuCtxSynchronize",     "cuStreamSynchronize", "cuEventSynchronize",
    "hipDeviceSynchronize",  "hipStreamSynchronize",  "hipEventSynchronize",  "hipMemcpy",           "hipMemcpyWithStream",
    "hipMemcpyDtoH",         "hipMemcpyHtoD",         "cuMemcpyDtoH_v2",      "cuMemcpyHtoD_v2",
};

static const char *const alloc_prefixes[] = {
    "cudaMalloc",      "cudaFree",           "cudaHostAlloc", "cudaHostRegister", "cuMemAlloc",
    "cuMemFree",       "cuMemCreate",        "cuMemRelease",  "cuMemMap",         "cuMemUnmap",
    "cuMemSetAccess",  "hipMalloc",          "hipFree",       "hipHostMalloc",    "hipHostFree",
    "hipHostRegister", "cudaHostUnregister", "cuMemHost",     "hipHostAlloc",     "hipHostUnregister",
};

/* "Python GC" is written with record_python_gc_info=True, the other by with_stack=True when somebody calls gc.collect() */
static const char *const gc_names[] = {"Python GC", "<built-in function collect>"};

static bool is_any(hu_str name, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (hu_str_equal(name, hu_str_of(list[i])))
            return true;
    return false;
}

static bool starts_with_any(hu_str name, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (hu_str_starts_with(name, list[i]))
            return true;
    return false;
}

bool hu_names_is_host_memory(hu_str name)
{
    static const char *const prefixes[] = {
        "cudaHostAlloc",  "cudaMallocHost", "cudaFreeHost",  "cudaHostRegister",  "cudaHostUnregister",
        "cuMemHostAlloc", "cuMemAllocHost", "cuMemFreeHost", "cuMemHostRegister", "cuMemHostUnregister",
        "hipHostMalloc",  "hipHostAlloc",   "hipHostFree",   "hipHostRegister",   "hipHostUnregister",
        "hipMallocHost",  "hipFreeHost",
    };

    return starts_with_any(name, prefixes, HU_COUNT(prefixes));
}

int64_t hu_names_step_number(hu_str name)
{
    int64_t number;

    if (!hu_str_starts(name, step_prefix))
        return -1;
    return hu_parse_i64((hu_str){name.p + step_prefix.n, name.n - step_prefix.n}, &number) ? number : -1;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_separator(char c)
{
    return c == ' ' || c == '#' || c == ':' || c == '=' || c == '_' || c == '-' || c == '[' || c == '(';
}

/* Does the word end here, as a word of its own: "train_step", "TrainStep", not "footstep" and not "micro_batch"? */
static bool ends_with_word(hu_str text, hu_str word)
{
    const size_t at = text.n - word.n;
    hu_str       before = {text.p, at};

    if (text.n < word.n || strncasecmp(text.p + at, word.p, word.n) != 0)
        return false;
    if (at && is_letter(text.p[at - 1]) && !(text.p[at] == 'S' || text.p[at] == 'I' || text.p[at] == 'B'))
        return false;
    while (before.n && is_separator(before.p[before.n - 1]))
        before.n--;
    return before.n < 5 || strncasecmp(before.p + before.n - 5, "micro", 5) != 0;
}

bool hu_names_is_iteration(hu_str name, hu_str *stem, int64_t *number)
{
    static const hu_str words[] = {{"step", 4}, {"iter", 4}, {"iteration", 9}, {"batch", 5}};
    size_t              digits, n;

    *number = -1;
    for (size_t i = 0; i <= name.n && i < LONGEST_MARK; i++) {
        if (i < name.n && !(name.p[i] >= '0' && name.p[i] <= '9'))
            continue;
        for (digits = i; digits < name.n && name.p[digits] >= '0' && name.p[digits] <= '9';)
            digits++;
        for (n = i; n && is_separator(name.p[n - 1]);)
            n--;
        for (size_t w = 0; w < HU_COUNT(words); w++) {
            if (!ends_with_word((hu_str){name.p, n}, words[w]))
                continue;
            if (digits < name.n && (is_letter(name.p[digits]) || name.p[digits] == '.'))
                continue;
            *stem = (hu_str){name.p, n};
            if (digits > i && !hu_parse_i64((hu_str){name.p + i, digits - i}, number))
                *number = -1;
            return true;
        }
        i = digits;
    }
    return false;
}

bool hu_names_is_profiler(hu_str name)
{
    return hu_str_has(name, HU_STR("profiler.py(")) &&
           (hu_str_ends(name, HU_STR(": start_trace")) || hu_str_ends(name, HU_STR(": stop_trace")));
}

/* "AddmmBackward0", "CompiledFunctionBackward", "MulBackward" */
static bool is_graph_node(hu_str name)
{
    const hu_str tail = HU_STR("Backward");
    size_t       n = name.n;

    while (n && name.p[n - 1] >= '0' && name.p[n - 1] <= '9')
        n--;
    return n > tail.n && name.p[0] >= 'A' && name.p[0] <= 'Z' && memcmp(name.p + n - tail.n, tail.p, tail.n) == 0 &&
           !memchr(name.p, ' ', name.n) && !memchr(name.p, '.', name.n);
}

bool hu_names_is_autograd_node(hu_str name)
{
    return hu_str_starts(name, HU_STR("autograd::engine::evaluate_function")) ||
           hu_str_starts(name, HU_STR("torch::autograd::")) || is_graph_node(name);
}

/*
 * Calls of OpenCL: what they enqueue carries their correlation; `holdup run` writes " (blocking)" behind those that return
 * only when their command is complete.
 */
static uint8_t opencl_flags(hu_str name)
{
    if (hu_str_equal(name, HU_STR("clFinish")) || hu_str_equal(name, HU_STR("clWaitForEvents")) ||
        hu_str_ends(name, HU_STR(" (blocking)")))
        return HU_NAME_SYNC;
    return hu_str_starts(name, HU_STR("clEnqueue")) && !hu_str_has(name, HU_STR("Marker")) &&
                   !hu_str_has(name, HU_STR("Barrier")) && !hu_str_has(name, HU_STR("WaitForEvents"))
               ? HU_NAME_LAUNCH
               : 0;
}

uint8_t hu_names_of(hu_str name)
{
    uint8_t flags = 0;

    if (hu_str_starts(name, step_prefix))
        return HU_NAME_STEP;
    if (starts_with_any(name, loader_prefixes, HU_COUNT(loader_prefixes)) ||
        is_any(name, loader_names, HU_COUNT(loader_names)))
        flags |= HU_NAME_DATA_LOADER;
    if (starts_with_any(name, comm_prefixes, HU_COUNT(comm_prefixes)))
        flags |= HU_NAME_COMM;
    for (size_t i = 0; i < HU_COUNT(launch_parts) && name.n < 64 && !memchr(name.p, ':', name.n); i++)
        if (hu_str_has(name, hu_str_of(launch_parts[i])))
            flags |= HU_NAME_LAUNCH;
    if (hu_str_starts(name, HU_STR("nn.Module: ")))
        flags |= HU_NAME_MODULE;
    if (hu_str_starts(name, HU_STR("cu")) || hu_str_starts(name, HU_STR("hip"))) {
        if (is_any(name, sync_names, HU_COUNT(sync_names)))
            flags |= HU_NAME_SYNC;
        if (starts_with_any(name, alloc_prefixes, HU_COUNT(alloc_prefixes)))
            flags |= HU_NAME_ALLOC;
    }
    if (hu_str_starts(name, HU_STR("cl")) && name.n > 2 && name.p[2] >= 'A' && name.p[2] <= 'Z')
        flags |= opencl_flags(name);
    if (is_any(name, gc_names, HU_COUNT(gc_names)))
        flags |= HU_NAME_GC;
    return flags;
}

const uint8_t *hu_names_classify(const hu_trace *trace, hu_arena *arena)
{
    const uint32_t n = hu_trace_string_count(trace);
    uint8_t       *flags = hu_arena_alloc(arena, n);

    for (uint32_t i = 0; flags && i < n; i++)
        flags[i] = hu_names_of(hu_trace_text(trace, i));
    return flags;
}

/* Frames and ranges under which a program writes files.  A frame reads "torch/serialization.py(877): save". */
static const struct {
    const char *file, *function;
} io_frames[] = {
    {"torch/serialization.py", ": save"},
    {"torch/distributed/checkpoint/", ": save"},
    {"torch/distributed/checkpoint/", ": async_save"},
    {"<built-in function fsync", ""},
    {"<built-in function fdatasync", ""},
    {" of _io.TextIOWrapper object", ""}, /* not of _io.BytesIO and _io.StringIO, which are memory */
    {" of _io.Buffered", ""},
    {" of _io.FileIO object", ""},
    {"<built-in function print>", ""},
    {"numpy/", ": save"},
    {"safetensors/", ": save_file"},
};

static const char *const io_words[] = {"checkpoint", "torch.save", "save_model", "save_state"};
/* Checkpoints of activations write no files, and no module does ("nn.Module: CheckpointWrapper_3"). */
static const char *const io_exceptions[] = {
    "torch/utils/checkpoint", "CheckpointFunction", "checkpoint_wrapper", "activation_checkpoint",
    "gradient_checkpoint",    "nn.Module: ",        "checkpoint_wrapped", "FSDP::"};

static bool has_word(hu_str name, const char *word)
{
    const size_t n = strlen(word);

    for (size_t i = 0; i + n <= name.n; i++) {
        size_t k = 0;

        while (k < n && (name.p[i + k] | ((name.p[i + k] >= 'A' && name.p[i + k] <= 'Z') ? 0x20 : 0)) == word[k])
            k++;
        if (k == n)
            return true;
    }
    return false;
}

static bool seems_to_write(hu_str name)
{
    for (size_t i = 0; i < HU_COUNT(io_frames); i++)
        if (hu_str_ends(name, hu_str_of(io_frames[i].function)) && hu_str_has(name, hu_str_of(io_frames[i].file)))
            return true;
    if (hu_str_has(name, HU_STR(".py(")) || hu_str_starts(name, HU_STR("aten::")))
        return false;
    for (size_t i = 0; i < HU_COUNT(io_words); i++)
        if (has_word(name, io_words[i]))
            return true;
    return false;
}

/* Hardly any name seems to, so that few are looked up among the exceptions. */
bool hu_names_writes_files(hu_str name)
{
    if (!seems_to_write(name))
        return false;
    for (size_t i = 0; i < HU_COUNT(io_exceptions); i++)
        if (hu_str_has(name, hu_str_of(io_exceptions[i])))
            return false;
    return true;
}

hu_loader_kinds hu_names_loaders(const hu_trace *trace)
{
    const hu_str single = HU_STR("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__");
    const hu_str many = HU_STR("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__");

    return (hu_loader_kinds){.in_process = hu_trace_find_text(trace, single) != HU_NONE,
                             .has_workers = hu_trace_find_text(trace, many) != HU_NONE};
}
