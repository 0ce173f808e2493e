/* SPDX-License-Identifier: Apache-2.0
 * log_calls.h - the collectives that each rank of each communicator called, as NCCL logs them (NCCL_DEBUG_SUBSYS=COLL). */
#ifndef HU_TRACE_LOG_CALLS_H
#define HU_TRACE_LOG_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

enum { HU_LOG_CALLS_KEPT = 1024 /* of each rank: as far as a host runs ahead of its GPU */ };

typedef struct {
    int64_t  count; /* elements */
    uint64_t line;  /* from 1 on */
    int32_t  root;
    uint8_t  operation; /* of hu_log_calls.operations */
    uint8_t  datatype, reduction;
} hu_log_call;

/* A rank of a communicator. */
typedef struct {
    hu_str   process;  /* "node1:4711" */
    uint64_t comm;     /* its address in that process */
    uint64_t comm_id;  /* the same on all ranks; 0 not told */
    int64_t  rank;     /* in the communicator; -1 not told */
    int64_t  ranks;    /* of the communicator; 0 not told */
    uint64_t n;        /* calls so far */
    bool     has_init; /* the log has its beginning */
    bool     has_p2p;
    bool     is_over;         /* it was destroyed, as at the end of a run */
    HU_VEC(hu_log_call) kept; /* the last of them: call i, from 0 on, is at i % HU_LOG_CALLS_KEPT */
} hu_log_member;

typedef struct {
    HU_VEC(hu_log_member) members;
    HU_VEC(hu_str) operations; /* "AllReduce" */
    uint64_t  n;               /* lines of collectives */
    uint64_t  n_torn;          /* and of such whose rank is not told any more: torn, or left out by Ray */
    uint32_t *slots;           /* by process and address: 1 + the member's number; 0 is free */
} hu_log_calls;

#endif
