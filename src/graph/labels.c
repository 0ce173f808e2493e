/* SPDX-License-Identifier: Apache-2.0
 * labels.c - what names say of the time under them: the data loader, a checkpoint, the collector, the optimizer. */
#include "analyze/names.h"
#include "base/glob.h"
#include "graph/build.h"
#include "graph/cold.h"

/* Frames and ranges that compile, try or connect, and do nothing of the job meanwhile; what runs compiled code
   ("## Call CompiledFxGraph", "Torch-Compiled Region") does not. */
static const struct {
    const char *part, *end;
} compile_frames[] = {
    {"", "(dynamo_timed)"},
    {"torch/_dynamo/convert_frame.py", ": _compile"},
    {"torch/_dynamo/convert_frame.py", ": compile_inner"},
    {"torch/_inductor/compile_fx.py", ": compile_fx"},
    {"torch/_inductor/compile_fx.py", ": compile_fx_inner"},
    {"torch/_inductor/async_compile.py", ": wait"},
    {"triton/compiler/compiler.py", ": compile"},
    {"triton/runtime/autotuner.py", ": _bench"},
    {"torch/utils/cpp_extension.py", ": load"},
    {"torch/distributed/distributed_c10d.py", ": init_process_group"},
    {"torch/distributed/distributed_c10d.py", ": new_group"},
};

static const char *const loader_frames[] = {"torch/utils/data/dataloader.py"};

static uint8_t label_of(uint8_t flags, hu_str name)
{
    uint8_t in = 0;

    if (flags & HU_NAME_STEP)
        return 0;
    if (flags & HU_NAME_DATA_LOADER)
        in |= HU_IN_DATA;
    for (size_t i = 0; i < HU_COUNT(loader_frames); i++)
        if (hu_str_ends(name, HU_STR(": __next__")) && hu_str_has(name, hu_str_of(loader_frames[i])))
            in |= HU_IN_DATA;
    if (flags & HU_NAME_GC)
        in |= HU_IN_GC;
    if (hu_names_writes_files(name))
        in |= HU_IN_IO;
    for (size_t i = 0; i < HU_COUNT(compile_frames); i++)
        if (hu_str_ends(name, hu_str_of(compile_frames[i].end)) && hu_str_has(name, hu_str_of(compile_frames[i].part)))
            in |= HU_IN_COMPILE;
    if (hu_str_starts(name, HU_STR("ncclCommInit")) || hu_str_starts(name, HU_STR("ncclCommSplit")))
        in |= HU_IN_COMPILE; /* NCCL's own ranges */
    return in;
}

uint8_t hu_build_label(hu_building *b, uint32_t name)
{
    uint8_t *label = &b->label[name];

    if (*label == HU_UNLABELLED) {
        const hu_str text = hu_trace_text(b->ask->trace, name);

        *label = label_of(b->ask->names[name], text);
        if (b->focus.n && hu_glob_match(b->focus, text))
            *label |= HU_IN_FOCUS;
    }
    return *label;
}

/* A blocking copy is a copy that its call waits for. */
static hu_class opencl_class(hu_str name, uint8_t flags, hu_call_kind *kind)
{
    if (!(flags & (HU_NAME_SYNC | HU_NAME_LAUNCH)))
        return HU_CLASS_OTHER_CALL;
    *kind = hu_str_has(name, HU_STR("Kernel")) || hu_str_has(name, HU_STR("Task")) ? HU_CALL_KERNEL
            : hu_str_has(name, HU_STR("Fill"))                                     ? HU_CALL_SET
                                                                                   : HU_CALL_COPY;
    return flags & HU_NAME_SYNC ? HU_CLASS_SYNC_CALL : HU_CLASS_LAUNCH_CALL;
}

hu_class hu_build_call_class(const hu_ask *ask, uint32_t call, hu_call_kind *kind)
{
    const hu_str  name = hu_ask_name(ask, call);
    const uint8_t flags = ask->names[ask->s.name[call]];

    *kind = HU_CALL_OTHER;
    if (hu_str_starts(name, HU_STR("clEnqueue")))
        return opencl_class(name, flags, kind);
    if (flags & HU_NAME_ALLOC) {
        *kind = HU_CALL_ALLOC;
        return HU_CLASS_ALLOC_CALL;
    }
    if (hu_cold_loads_code(name))
        return HU_CLASS_COMPILE_CALL;
    if (flags & HU_NAME_SYNC) {
        *kind = hu_str_has(name, HU_STR("emcpy")) ? HU_CALL_COPY : HU_CALL_SYNC;
        return HU_CLASS_SYNC_CALL;
    }
    if (!(flags & HU_NAME_LAUNCH))
        return HU_CLASS_OTHER_CALL;
    *kind = hu_str_has(name, HU_STR("emcpy"))   ? HU_CALL_COPY
            : hu_str_has(name, HU_STR("emset")) ? HU_CALL_SET
            : hu_str_has(name, HU_STR("Graph")) ? HU_CALL_GRAPH
                                                : HU_CALL_KERNEL;
    return HU_CLASS_LAUNCH_CALL;
}
