/* SPDX-License-Identifier: Apache-2.0
 * log_stalls.h - what PyTorch says when processes wait for one another in vain: at the start, in barriers, in a call. */
#ifndef HU_TRACE_LOG_STALLS_H
#define HU_TRACE_LOG_STALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

typedef enum {
    HU_LOG_STALL_WATCHDOG,   /* of ProcessGroupNCCL, without a heartbeat; about: the group's description */
    HU_LOG_STALL_MISMATCH,   /* ProcessGroupWrapper; about: its words */
    HU_LOG_STALL_BARRIER,    /* monitored_barrier; ranks: those that did not come */
    HU_LOG_STALL_GLOO,       /* a receive of gloo */
    HU_LOG_STALL_ID,         /* the first rank of a group did not give the others NCCL's id; about: its key */
    HU_LOG_STALL_CONNECT,    /* to the store; about: "host, port" */
    HU_LOG_STALL_JOIN,       /* of the store: `joined` of `expected` processes came */
    HU_LOG_STALL_RENDEZVOUS, /* of torchrun; about: the exception */
    HU_LOG_STALL_KINDS
} hu_log_stall_kind;

/* Of one kind in one file; what no line tells is -1 or "". */
typedef struct {
    hu_log_stall_kind kind;
    hu_str            about;
    int64_t           waited_ms, joined, expected;
    uint64_t          n, line; /* lines that tell it; the first */
    bool              is_over; /* there are steps behind it */
    HU_VEC(int64_t) ranks;     /* of the job: who says so; in the order of the lines */
} hu_log_stall;

typedef HU_VEC(hu_log_stall) hu_log_stalls;

#endif
