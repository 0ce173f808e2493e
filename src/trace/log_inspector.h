/* SPDX-License-Identifier: Apache-2.0
 * log_inspector.h - calls of collectives as NCCL's Inspector wrote them down, each of each rank. */
#ifndef HU_TRACE_LOG_INSPECTOR_H
#define HU_TRACE_LOG_INSPECTOR_H

#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

typedef struct {
    hu_str  id, name; /* "0x7f8c496ae9f661"; the name that the program gave it, "" none */
    int64_t ranks, nodes;
} hu_inspector_comm;

typedef struct {
    hu_str  host;
    int64_t pid;
} hu_inspector_process;

typedef struct {
    hu_str op;
    bool   is_p2p; /* "Send", "Recv" */
} hu_inspector_op;

/* One call of one rank. */
typedef struct {
    int64_t  sn; /* of its communicator and operation: the same call on all ranks */
    int64_t  bytes, ns;
    double   alg, bus; /* 1e9 bytes per second; NaN not told */
    int64_t  ranks;    /* of its communicator */
    uint32_t comm, process, op;
    int32_t  rank; /* in its communicator; -1 not told */
} hu_inspector_call;

/* Of all files; n_files is 0 without. */
typedef struct {
    HU_VEC(hu_inspector_comm) comms;
    HU_VEC(hu_inspector_process) processes;
    HU_VEC(hu_inspector_op) ops;
    HU_VEC(hu_inspector_call) calls;
    hu_str   version; /* of the format: "v4.0"; "" */
    uint64_t n_files;
    int64_t  n_cpu;     /* calls whose time the CPU took, not the GPU */
    int64_t  n_dropped; /* calls that the plugin says it lost */
    int64_t  n_torn;    /* records that end early, or lack what a call needs */
    int64_t  n_more;    /* calls beyond the limit of events */
} hu_log_inspector;

#endif
