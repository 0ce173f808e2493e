/* SPDX-License-Identifier: Apache-2.0
 * traffic.h - every call of a collective of one rank: its kind, process group, bytes, and the phase it was started in. */
#ifndef HU_ANALYZE_TRAFFIC_H
#define HU_ANALYZE_TRAFFIC_H

#include "analyze/phases.h"

typedef enum {
    HU_TRAFFIC_ALL_GATHER,
    HU_TRAFFIC_REDUCE_SCATTER,
    HU_TRAFFIC_ALL_REDUCE,
    HU_TRAFFIC_ALL_TO_ALL,
    HU_TRAFFIC_SEND,
    HU_TRAFFIC_RECV,
    HU_TRAFFIC_EXCHANGE, /* sends and receives, which of them is not recorded */
    HU_TRAFFIC_BROADCAST,
    HU_TRAFFIC_REDUCE,
    HU_TRAFFIC_BARRIER,
    HU_TRAFFIC_OTHER,
    HU_TRAFFIC_COUNT
} hu_traffic_kind;

/* When a call was started: the phases, and what follows backward or optimizer without being either. */
typedef enum { HU_SLOT_FORWARD, HU_SLOT_BACKWARD, HU_SLOT_OPTIMIZER, HU_SLOT_AFTER, HU_SLOT_OTHER, HU_SLOT_COUNT } hu_slot;

typedef struct {
    hu_traffic_kind kind;
    hu_slot         slot;
    uint32_t        group;            /* row of hu_traffic.groups */
    uint32_t        span;             /* the last span of hu_phase_spans that had begun; HU_NONE */
    uint32_t        step;             /* which of the steps that count; 0 where there are none */
    int64_t         host_ns;          /* when it was started */
    int64_t         start_ns, dur_ns; /* on the device; on the host where no device took part */
    int64_t         bytes;            /* by the convention of nccl-tests (comm.c); -1 not recorded */
    int64_t         peer;             /* of a send or receive: the other's global rank; -1 not recorded */
    hu_str          dtype;            /* "BFloat16", "c10::Half"; "" not recorded */
    bool            is_integer;       /* counts, indices and tokens, no parameters or activations */
    bool            is_named;         /* the kind comes from arguments or operators, not from a kernel's name */
    bool            is_uneven;        /* an all-to-all with split sizes that differ */
    bool            is_orphan;        /* its launch is not in the capture: nothing says for which pass it was started */
} hu_traffic_call;

typedef struct {
    hu_str  name, description, ranks; /* "" not recorded */
    int64_t size;                     /* ranks; -1 unknown */
    bool    is_stream;                /* not recorded: what one stream carries counts as a group */
    size_t  first, n;                 /* its calls */
} hu_traffic_group;

typedef struct {
    hu_traffic_call  *at; /* by group, then in the order of time */
    size_t            n;
    hu_traffic_group *groups; /* in the order of their first calls */
    size_t            n_groups;
    hu_traffic_call  *peers; /* sends and receives as the host started them, where kernels do not tell */
    size_t            n_peers;
    hu_traffic_call  *ranges; /* where no device took part: when the back end was at work ("gloo:…") */
    size_t            n_ranges;
    bool              on_host; /* no device took part */
    hu_intervals      steps;   /* that count, on the host; none: all of the capture counts */
} hu_traffic;

/*
 * Calls started in the steps that count, or in the whole capture where there are none.  Lives in the scratch arena of
 * `ask`, texts are borrowed from the trace.  Returns 0 or HU_ENOMEM.
 */
int hu_traffic_list(const hu_ask *ask, const hu_phase_spans *spans, hu_traffic *out, hu_error *err);

/*
 * The same with `peers` in the place of the sends and receives of kernels, in *out; a plain copy where there are no peers.
 * Lives in the scratch arena of `ask`, as `from` does, whose groups it counts anew.  Returns 0 or HU_ENOMEM.
 */
int hu_traffic_by_peers(const hu_ask *ask, const hu_traffic *from, hu_traffic *out, hu_error *err);

/* Does a call go from one rank to another? */
static inline bool hu_traffic_is_exchange(hu_traffic_kind kind)
{
    return kind == HU_TRAFFIC_SEND || kind == HU_TRAFFIC_RECV || kind == HU_TRAFFIC_EXCHANGE;
}

/* The kind that a name tells: of a collective, an operator, an annotation or a kernel. */
hu_traffic_kind hu_traffic_kind_of(hu_str name);

/* "all-gather" */
const char *hu_traffic_kind_name(hu_traffic_kind kind);

#endif
