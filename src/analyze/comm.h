/* SPDX-License-Identifier: Apache-2.0
 * comm.h - collectives of one rank: how much, how fast, and how much of it nothing hides. */
#ifndef HU_ANALYZE_COMM_H
#define HU_ANALYZE_COMM_H

#include "analyze/ask.h"

typedef struct {
    hu_str   name;                  /* "allreduce", "_allgather_base"; of a kernel without arguments its name          */
    hu_str   group;                 /* process group: its description or name; "" not recorded                         */
    hu_str   dtype;                 /* "BFloat16"; "" not recorded                                                     */
    int64_t  group_size;            /* ranks; -1 not recorded                                                          */
    int64_t  bytes;                 /* of one call, by the convention of nccl-tests (see comm.c); -1 not recorded      */
    bool     on_host;               /* measured on the host: no device took part (gloo)                                */
    hu_stats duration;              /* in ns; on one rank it includes the wait for the others                          */
    int64_t  exposed_ns;            /* time of its calls that no computation hid                                       */
    double   factor;                /* bus bandwidth = factor * algorithm bandwidth; NaN unknown                       */
} hu_collective;

/* One collective as this rank was in it. */
typedef struct {
    uint64_t group;                 /* of the process group: the same on all its ranks                                 */
    uint64_t what;                  /* of name, type and size                                                          */
    int64_t  start_ns, dur_ns;      /* since 1970 where the trace says so                                              */
    int64_t  sequence;              /* within the group; -1 not recorded                                               */
    bool     synchronises;          /* nobody leaves it before all have come                                           */
    uint32_t slice;                 /* of the trace that it was measured in                                            */
} hu_comm_call;

typedef struct {
    hu_collective *at;              /* by total time, then name, group, bytes */
    size_t   n;
    int64_t  calls;
    int64_t  total_ns;              /* union on the device, or of threads where no device took part */
    int64_t  overlapped_ns, exposed_ns;
    int64_t  bytes;                 /* of the calls that say so */
    bool     on_host;
    hu_comm_call *calls_at;         /* in the order of time; none in a digest of several ranks */
    size_t   n_calls_at;
} hu_comm;

/* Rows live in the arena of `ask`, texts are borrowed from the trace.  Returns 0 or HU_ENOMEM. */
int hu_comm_measure(const hu_ask *ask, hu_comm *out, hu_error *err);

/* Adds the rows of another rank to equal ones.  Texts are borrowed.  False when there is no memory. */
bool hu_comm_merge(hu_comm *into, const hu_comm *from, hu_arena *arena);

/* 1e9 bytes per second: bytes of a call over its mean duration; NaN unknown. */
double hu_collective_alg_gbps(const hu_collective *c);
double hu_collective_bus_gbps(const hu_collective *c);

/* Bytes of one element of a type as Kineto names it ("Float", "BFloat16"); 0 unknown. */
int hu_comm_dtype_bytes(hu_str dtype);

#endif
