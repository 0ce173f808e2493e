/* SPDX-License-Identifier: Apache-2.0
 * comm.h - collectives of one rank: how much, how fast, and how much of it is exposed. */
#ifndef HU_ANALYZE_COMM_H
#define HU_ANALYZE_COMM_H

#include "analyze/ask.h"
#include "analyze/fit.h"

/* What a collective does; the same for all the names that libraries have for it. */
/* clang-format off */
#define HU_COMM_KINDS(K)                                                                                               \
    K(OTHER, "other") K(ALL_REDUCE, "all-reduce") K(ALL_GATHER, "all-gather") K(REDUCE_SCATTER, "reduce-scatter")      \
    K(ALL_TO_ALL, "all-to-all") K(BARRIER, "barrier") K(BROADCAST, "broadcast") K(REDUCE, "reduce") K(SEND, "send")    \
    K(RECEIVE, "receive") K(EXCHANGE, "send and receive")
/* clang-format on */

typedef enum {
#define K(id, word) HU_COMM_##id,
    HU_COMM_KINDS(K)
#undef K
        HU_COMM_KIND_COUNT
} hu_comm_kind;

/* What limits messages of one size, by the line through all sizes (analyze/fit.h). */
typedef enum { HU_LINK_UNKNOWN, HU_LINK_HOST, HU_LINK_NETWORK, HU_LINK_COUNT } hu_comm_link; /* all on one host or not */
typedef enum { HU_COMM_BY_UNKNOWN, HU_COMM_BY_LATENCY, HU_COMM_BY_BANDWIDTH, HU_COMM_BY_COUNT } hu_comm_bound;

typedef struct {
    hu_str        name;       /* "allreduce", "_allgather_base"; of a kernel without arguments its name */
    hu_str        group;      /* process group: its description or name; "" not recorded */
    hu_str        dtype;      /* "BFloat16"; "" not recorded */
    int64_t       group_size; /* ranks; -1 not recorded */
    int64_t       bytes;      /* of one call, by the convention of nccl-tests (see comm.c); -1 not recorded */
    bool          on_host;    /* measured on the host: no device took part (gloo) */
    bool          is_posted;  /* only when it was called is recorded: its duration is the call's alone */
    hu_stats      duration;   /* in ns; on one rank it includes the wait for the others */
    int64_t       exposed_ns; /* time of its calls that no computation hid */
    double        factor;     /* bus bandwidth = factor * algorithm bandwidth; NaN unknown */
    hu_comm_kind  kind;
    hu_comm_bound bound; /* by the fits of this rank, whose durations include waiting */
} hu_collective;

/* Latency and bandwidth of one kind of collective in groups of one size. */
typedef struct {
    hu_comm_kind kind;
    int64_t      group_size;
    hu_comm_link link;
    hu_fit       fit;
} hu_comm_fit;

/* One collective as this rank was in it. */
typedef struct {
    uint64_t group;            /* of the process group: the same on all its ranks */
    uint64_t what;             /* of name, type and size */
    int64_t  start_ns, dur_ns; /* since 1970 where the trace says so */
    int64_t  sequence;         /* within the group; -1 not recorded */
    uint32_t row;              /* of hu_comm.at */
    int32_t  peer;             /* of a send or receive: the other rank of the job; -1 not recorded */
    uint32_t order;            /* of calls that begin together */
    uint8_t  kind;             /* hu_comm_kind */
    bool     synchronises;     /* nobody leaves it before all have come */
    bool     is_posted;        /* it returned at once (MPI_Isend): its length says nothing */
    bool     is_anonymous;     /* its group is not recorded: the stream stands for it */
    uint32_t slice;            /* of the trace that it was measured in */
} hu_comm_call;

typedef struct {
    hu_collective *at; /* by total time, then name, group, bytes */
    size_t         n;
    int64_t        calls;
    int64_t        total_ns; /* union on the device, or of threads where no device took part */
    int64_t        overlapped_ns, exposed_ns;
    int64_t        bytes; /* of the calls that say so */
    bool           on_host;
    hu_comm_call  *calls_at; /* in the order of time; none in a digest of several ranks */
    size_t         n_calls_at;
    hu_comm_fit   *fits; /* from durations that include waiting; none in a digest of several ranks */
    size_t         n_fits;
} hu_comm;

/* Rows live in the arena of `ask`, texts are borrowed from the trace.  Returns 0 or HU_ENOMEM. */
int hu_comm_measure(const hu_ask *ask, hu_comm *out, hu_error *err);

/* Adds the rows of another rank to equal ones.  Texts are borrowed.  False when there is no memory. */
bool hu_comm_merge(hu_comm *into, const hu_comm *from, hu_arena *arena);

/* What is recorded of a collective's slice: with itself, or with the call that it was launched in.  NULL: nothing. */
const hu_collective_detail *hu_comm_detail(const hu_ask *ask, uint32_t slice);
int64_t                     hu_comm_bytes(const hu_ask *ask, uint32_t slice); /* as hu_collective.bytes */

/* 1e9 bytes per second: bytes of a call over its mean duration; NaN unknown. */
double hu_collective_alg_gbps(const hu_collective *c);
double hu_collective_bus_gbps(const hu_collective *c);

/* By a name of Kineto, a back end or a kernel; HU_COMM_OTHER when it tells none. */
hu_comm_kind hu_comm_kind_of(hu_str name);
const char  *hu_comm_kind_words(hu_comm_kind kind);

/* Does it go from one rank to another? */
static inline bool hu_comm_is_message(unsigned kind)
{
    return kind == HU_COMM_SEND || kind == HU_COMM_RECEIVE || kind == HU_COMM_EXCHANGE;
}

/* "latency", "bandwidth", "" unknown; "host", "network", "" unknown. */
const char *hu_comm_bound_key(hu_comm_bound bound);
const char *hu_comm_link_key(hu_comm_link link);

/* Bytes of one element of a type as Kineto names it ("Float", "BFloat16"); 0 unknown. */
int hu_comm_dtype_bytes(hu_str dtype);

#endif
