/* SPDX-License-Identifier: Apache-2.0
 * execution.h - what an execution trace holds: operators that called each other, with their arguments and without times.
 */
#ifndef HU_TRACE_EXECUTION_H
#define HU_TRACE_EXECUTION_H

#include "base/intern.h"

typedef enum {
    HU_EXECUTION_OPERATOR,
    HU_EXECUTION_RANGE,     /* that the program, or its framework, marked */
    HU_EXECUTION_STRUCTURE, /* a process or a thread, the observer's own */
    HU_EXECUTION_KINDS,
} hu_execution_kind;

/* Texts are ids of hu_execution.texts. */
typedef struct {
    uint64_t id, parent;
    uint64_t record; /* rf_id: "External id" of the same operator in a trace of torch.profiler; 0 none */
    int64_t  thread;
    int64_t  dur_ns;        /* that a converter put in; 0 none */
    uint32_t name;          /* 0 none */
    uint32_t shapes, types; /* of its inputs, JSON text as recorded; 0 none */
    uint32_t depth;         /* of an operator: operators that called it, and itself */
    uint8_t  kind;
} hu_execution_node;

/* Of one file, in the arena that it was read into. */
typedef struct {
    const char *file, *writer; /* writer: "PyTorch", "Chakra" */
    hu_str      schema;        /* as the file says it; "" not said */
    int64_t     pid;           /* -1 not said */
    int64_t     rank;          /* by the file's name; -1 not said */
    hu_intern   texts;
    HU_VEC(hu_execution_node) nodes;
    int64_t malformed; /* nodes without a name or a number */
    bool    is_cut;
} hu_execution;

#endif
