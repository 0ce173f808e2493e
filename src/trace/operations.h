/* SPDX-License-Identifier: Apache-2.0
 * operations.h - a training job as a table of operations: who did what in which step, from when on and how long.
 *
 * This is the second model beside hu_trace: one row for each pass of a microbatch, each send and receive of a pipeline,
 * each collective and each optimizer step, of all workers at once.  A worker is one place of the grid data parallel
 * rank x pipeline stage; the devices of a tensor parallel group are one worker.
 */
#ifndef HU_TRACE_OPERATIONS_H
#define HU_TRACE_OPERATIONS_H

#include "base/arena.h"
#include "base/error.h"

/*
 * What an operation can be: name in the file, the type under which it is reported, and whether its time is mostly a
 * transfer (then its ideal is the median over all like it, which outliers of the network do not move) or work of the
 * worker itself (then it is the mean, because the work is there and could only be dealt out better).
 * By name, which is also how operations are ordered that begin together.
 */
#define HU_OPERATIONS(O)                                                                 \
    O(BACKWARD, "backward-compute", "backward-compute", false)                           \
    O(BACKWARD_RECV, "backward-recv", "backward-pp-comm", true)                          \
    O(BACKWARD_SEND, "backward-send", "backward-pp-comm", true)                          \
    O(EMBEDDING_GRADS, "embedding-grads-all-reduce", "embedding-grads-all-reduce", true) \
    O(FORWARD, "forward-compute", "forward-compute", false)                              \
    O(FORWARD_RECV, "forward-recv", "forward-pp-comm", true)                             \
    O(FORWARD_SEND, "forward-send", "forward-pp-comm", true)                             \
    O(GC, "gc", "gc", false)                                                             \
    O(GRADS, "grads-reduce-scatter", "grads-reduce-scatter", true)                       \
    O(NORM_GRADS, "layernorm-grads-all-reduce", "layernorm-grads-all-reduce", true)      \
    O(OPTIMIZER, "optimizer", "optimizer", false)                                        \
    O(CLIP, "optimizer-clip-main-grad", "optimizer-clip-main-grad", true)                \
    O(PARAMS, "params-all-gather", "params-all-gather", true)                            \
    O(SEPARATE_GRADS, "separate-grads-all-reduce", "separate-grads-all-reduce", true)

typedef enum {
#define O(id, name, type, is_transfer) HU_OPERATION_##id,
    HU_OPERATIONS(O)
#undef O
        HU_OPERATION_COUNT
} hu_operation_kind;

typedef struct {
    int64_t  step;
    int64_t  start_ns, duration_ns; /* the start on any clock that one worker keeps */
    uint32_t dp, stage;             /* the worker */
    int32_t  rank;                  /* its number in the whole job; -1: not told */
    int32_t  sequence;              /* of operations of this kind in the step and worker; -1: not told */
    int32_t  chunk;                 /* of the model, counted in its stage; -1: not told */
    int32_t  model_chunk;           /* the same, counted in the model; -1: not told */
    int32_t  microbatch;            /* -1: not told */
    uint32_t line;                  /* of the file */
    uint8_t  kind;                  /* hu_operation_kind */
} hu_operation;

/* Numbers beyond these are errors of the file, not large jobs. */
enum { HU_OPERATIONS_DP = 4096, HU_OPERATIONS_STAGES = 256, HU_OPERATIONS_CHUNKS = 256 };

typedef struct {
    hu_operation *at; /* by step, dp, stage, start, sequence, kind, line */
    size_t        n, cap;
    uint64_t      unknown_rows;     /* of kinds that are not in the table, left out */
    char          unknown_kind[64]; /* the first of them */
    bool          is_cut;           /* the file ends in the middle of a row, or its compression broke */
} hu_operations;

/* Into the order above, in place. */
void hu_operations_sort(hu_operations *table);

/* The kind with this name, or HU_OPERATION_COUNT. */
hu_operation_kind hu_operation_find(hu_str name);

const char *hu_operation_name(hu_operation_kind kind);
const char *hu_operation_type(hu_operation_kind kind); /* "forward-pp-comm" for sends and receives of activations */
bool        hu_operation_is_transfer(hu_operation_kind kind);

#endif
