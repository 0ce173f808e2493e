/* SPDX-License-Identifier: Apache-2.0
 * parallelism.h - how a job is spread over its ranks, inferred from what one rank communicates (docs/parallelism.md). */
#ifndef HU_ANALYZE_PARALLELISM_H
#define HU_ANALYZE_PARALLELISM_H

#include "analyze/phase_table.h"

/* id, key, words, counts it in the product of degrees */
/* clang-format off */
#define HU_PARALLEL_KINDS(K)                                                                                    \
    K(UNKNOWN, "unknown", "not recognised", 0)                                                                  \
    K(TP, "tp", "TP", 1)                                    /* tensors of a layer are split                  */ \
    K(TP_SP, "tp-sp", "TP with sequence parallel", 1)                                                           \
    K(CP, "cp", "CP", 1)                                    /* the sequence is split                         */ \
    K(PP, "pp", "PP", 1)                                    /* layers are split                              */ \
    K(EP, "ep", "EP", 0)                                    /* experts are split, over ranks of the data     */ \
    K(EMBEDDINGS, "sharded-embeddings", "sharded embeddings", 0)                                                \
    K(HSDP, "hsdp", "HSDP", 1)                              /* the groups that shard, see hsdp-replicas       */ \
    K(HSDP_REPLICAS, "hsdp-replicas", "replicas", 1)                                                            \
    K(FULL_SHARD, "full-shard", "FSDP full shard or ZeRO-3", 1)                                                 \
    K(GRAD_OP, "shard-grad-op", "FSDP SHARD_GRAD_OP", 1)                                                        \
    K(ZERO_2, "zero-2", "ZeRO-2", 1)                                                                            \
    K(ZERO_1, "zero-1", "ZeRO-1", 1)                                                                            \
    K(DDP, "ddp", "DDP", 1)                                                                                     \
    K(TIED, "tied-embeddings", "tied embeddings", 0)        /* of the first and the last stage               */
/* clang-format on */

typedef enum {
#define K(id, key, words, counts) HU_PARALLEL_##id,
    HU_PARALLEL_KINDS(K)
#undef K
        HU_PARALLEL_COUNT
} hu_parallel_kind;

typedef enum { HU_TRUST_LOW, HU_TRUST_MEDIUM, HU_TRUST_HIGH } hu_trust;

/* What one process group is for. */
typedef struct {
    hu_parallel_kind kind;
    hu_trust         trust;
    hu_str           words;            /* the kind's, or closer: "FSDP full shard" */
    hu_str           group, ranks;     /* its description or name, and its members; "" not recorded */
    int64_t          size;             /* ranks; -1 unknown */
    hu_str           pattern;          /* what was seen: "forward 24 all-gather; backward 23 all-gather, …" */
    int64_t          calls, bytes, ns; /* in the steps that count; bytes of the calls that say */
    bool             is_main;          /* stands in the summary */
    size_t           source, id;       /* row of the traffic's groups; the order of judging */
} hu_parallel_group;

/* Why one group was judged as it was. */
typedef struct {
    size_t group; /* row of hu_parallelism.at */
    hu_str text;
} hu_parallel_reason;

typedef struct {
    hu_parallel_group  *at; /* main ones first, in the order of kinds, then by bytes */
    size_t              n;
    hu_parallel_reason *reasons;
    size_t              n_reasons;
    hu_str              summary;     /* "TP 2 × PP 2 × DDP 2"; "" nothing was recognised */
    hu_str              why_not;     /* then why; "" */
    hu_trust            trust;       /* of the summary */
    bool                is_training; /* a backward pass was seen */
    int64_t             world_size;  /* -1 unknown */
    int64_t             product;     /* of the degrees that were recognised; -1 when one is unknown */

    /* per step, NaN where it does not apply or is not known */
    double parameter_bytes; /* gathered or reduced once, in the type they travel in */
    double gradient_bytes;
    double buckets, first_bucket, largest_bucket; /* reductions of gradients; bytes */
    double during_backward_pct;                   /* of them, started while backward still runs */
    hu_str gradient_dtype;
    hu_str order; /* "reverse": from the last layer to the first; "mixed"; "" unknown */
    double units; /* all-gathers of one forward pass */
    double prefetch_forward_pct, prefetch_backward_pct; /* time of all-gathers but each pass's first, computed over */
    double layers;                                      /* that are split by tensor parallelism */
    double expert_layers;
    double passes; /* forward passes of a step */

    int64_t stages, microbatches; /* of a pipeline; -1 unknown */
    hu_str  stage;                /* "first", "middle", "last"; "" */
    double  bubble_pct;           /* of forward and backward, in which this rank neither computes nor communicates
                                       but with its neighbours                                                  */
    double  ideal_bubble_pct;     /* (p - 1) / (m + p - 1) */
} hu_parallelism;

/* Answers live in the arena of `ask`, names are borrowed from the trace.  Returns 0 or HU_ENOMEM. */
int hu_parallelism_measure(const hu_ask *ask, hu_phase_table *phases, hu_parallelism *out, hu_error *err);

/* What is known without any call. */
hu_parallelism hu_parallelism_unknown(void);

const char *hu_parallel_kind_key(hu_parallel_kind kind);
const char *hu_trust_name(hu_trust trust); /* "low", "medium", "high" */

#endif
