/* SPDX-License-Identifier: Apache-2.0
 * slice_args.h - what a slice carries, as a list of names and values, spelled as Kineto spells them. */
#ifndef HU_RENDER_EXPORT_SLICE_ARGS_H
#define HU_RENDER_EXPORT_SLICE_ARGS_H

#include "trace/trace.h"

/* id, the name */
#define HU_ARGS(A)                                      \
    A(EXTERNAL_ID, "External id")                       \
    A(CORRELATION, "correlation")                       \
    A(DEVICE, "device")                                 \
    A(STREAM, "stream")                                 \
    A(CONTEXT, "context")                               \
    A(REGISTERS, "registers per thread")                \
    A(SHARED_MEMORY, "shared memory")                   \
    A(BLOCKS_PER_SM, "blocks per SM")                   \
    A(WARPS_PER_SM, "warps per SM")                     \
    A(GRID, "grid")                                     \
    A(BLOCK, "block")                                   \
    A(OCCUPANCY, "est. achieved occupancy %")           \
    A(GRAPH, "graph id")                                \
    A(GRAPH_NODE, "graph node id")                      \
    A(PRIORITY, "priority")                             \
    A(BYTES, "bytes")                                   \
    A(BANDWIDTH, "memory bandwidth (GB/s)")             \
    A(FROM_DEVICE, "fromDevice")                        \
    A(TO_DEVICE, "toDevice")                            \
    A(CALLBACK_ID, "cbid")                              \
    A(WAIT_STREAM, "wait_on_stream")                    \
    A(WAIT_RECORD, "wait_on_cuda_event_record_corr_id") \
    A(WAIT_EVENT, "wait_on_cuda_event_id")              \
    A(SEQUENCE, "Sequence number")                      \
    A(FORWARD_THREAD, "Fwd thread id")                  \
    A(DIMS, "Input Dims")                               \
    A(TYPES, "Input type")                              \
    A(STRIDES, "Input Strides")                         \
    A(CONCRETE, "Concrete Inputs")                      \
    A(STACK, "Call stack")                              \
    A(MODULE, "Module Hierarchy")                       \
    A(BACKEND, "kernel_backend")                        \
    A(FILE, "kernel_file")                              \
    A(PYTHON_ID, "Python id")                           \
    A(PYTHON_PARENT, "Python parent id")                \
    A(PYTHON_MODULE, "Python module id")                \
    A(COLLECTIVE, "Collective name")                    \
    A(IN_ELEMENTS, "In msg nelems")                     \
    A(OUT_ELEMENTS, "Out msg nelems")                   \
    A(GROUP_SIZE, "Group size")                         \
    A(DTYPE, "dtype")                                   \
    A(IN_SPLIT, "In split size")                        \
    A(OUT_SPLIT, "Out split size")                      \
    A(GROUP, "Process Group Name")                      \
    A(GROUP_DESCRIPTION, "Process Group Description")   \
    A(GROUP_RANKS, "Process Group Ranks")               \
    A(SOURCE_RANK, "Src Rank")                          \
    A(TARGET_RANK, "Dst Rank")                          \
    A(RANK_START, "Global rank start")                  \
    A(RANK_STRIDE, "Global rank stride")                \
    A(REGION, "region")                                 \
    A(THREADS, "threads")                               \
    A(WORK_NS, "work_ns")                               \
    A(CALLER, "caller")                                 \
    A(PLACE, "place")                                   \
    A(LINE, "line")                                     \
    A(WORKSHARING, "worksharing")                       \
    A(COMM_SEQUENCE, "Seq")                             \
    A(COMM_ID, "Comms Id")                              \
    A(IS_ASYNC, "Is asynchronized op")                  \
    A(RECORDED, "recorded")                             \
    A(CLASS, "class")                                   \
    A(PATH, "path")                                     \
    A(COMM, "comm")                                     \
    A(PEER, "peer")                                     \
    A(ROOT, "root")                                     \
    A(TAG, "tag")                                       \
    A(CALLS, "calls")

typedef enum {
#define A(id, text) HU_ARG_##id,
    HU_ARGS(A)
#undef A
        HU_ARG_COUNT
} hu_arg_id;

typedef enum {
    HU_ARG_INT,
    HU_ARG_REAL,
    HU_ARG_FLOAT, /* a number that was rounded to float */
    HU_ARG_BOOL,
    HU_ARG_TEXT, /* a string id */
    HU_ARG_LIST, /* the string id of a JSON text */
    HU_ARG_TRIPLE,
    HU_ARG_WORD, /* one of a few, not of the trace's strings */
} hu_arg_type;

typedef struct {
    uint8_t  id, type; /* hu_arg_id, hu_arg_type */
    uint32_t text;
    union {
        int64_t     whole;
        double      real;
        uint32_t    triple[3];
        const char *word;
    };
} hu_arg;

/* What is absent is left out.  Returns how many there are. */
size_t hu_slice_args(const hu_trace *trace, const hu_slices *s, uint32_t slice, hu_arg out[HU_ARG_COUNT]);

const char *hu_arg_name(unsigned id);

/* Kineto's category of a kind of slice; that of communication kernels is "kernel". */
const char *hu_arg_category(unsigned kind);

#endif
