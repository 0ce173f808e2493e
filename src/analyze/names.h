/* SPDX-License-Identifier: Apache-2.0
 * names.h - what a name says about a slice, asked once per distinct name. */
#ifndef HU_ANALYZE_NAMES_H
#define HU_ANALYZE_NAMES_H

#include "base/arena.h"
#include "trace/trace.h"

enum {
    HU_NAME_STEP = 1,        /* ProfilerStep#N */
    HU_NAME_DATA_LOADER = 2, /* the wait for the next batch */
    HU_NAME_COMM = 4,        /* a collective as the host sees it: nccl:all_reduce, gloo:… */
    HU_NAME_LAUNCH = 8,      /* a call that puts work on a device */
    HU_NAME_MODULE = 16,     /* a Python frame that stands for an nn.Module */
    HU_NAME_SYNC = 32,       /* a call that waits for the device */
    HU_NAME_ALLOC = 64,      /* a call that takes memory from the driver or gives it back */
    HU_NAME_GC = 128,        /* Python collects garbage */
};

/* Flags of one name. */
uint8_t hu_names_of(hu_str name);

/* Flags by string id; NULL when there is no memory. */
const uint8_t *hu_names_classify(const hu_trace *trace, hu_arena *arena);

/* Is it a node of the autograd graph as the engine runs it: "autograd::engine::evaluate_function: …", "AddmmBackward0"? */
bool hu_names_is_autograd_node(hu_str name);

/* Is it a call that allocates, registers or frees memory of the host for the device to copy from? */
bool hu_names_is_host_memory(hu_str name);

/* Does a Python frame or a range of this name write files: a checkpoint, an fsync, a print or a log? */
bool hu_names_writes_files(hu_str name);

/* Is it a Python frame in which a profiler begins or ends its trace: "profiler.py(213): stop_trace"? */
bool hu_names_is_profiler(hu_str name);

typedef struct {
    bool in_process, has_workers; /* both: the job has two loaders, or neither: it has none of PyTorch's */
} hu_loader_kinds;

/* How PyTorch's data loaders of a trace load, by what torch.profiler names their fetches. */
hu_loader_kinds hu_names_loaders(const hu_trace *trace);

/*
 * Does a range of this name mark an iteration: "step 10", "iteration_3", "Iter #4/100", "batch 7", or "train_step"?  *stem:
 * what stands before the number, without separators; *number: -1 where there is none.
 */
bool hu_names_is_iteration(hu_str name, hu_str *stem, int64_t *number);

/* The number behind "ProfilerStep#", or -1. */
int64_t hu_names_step_number(hu_str name);

#endif
