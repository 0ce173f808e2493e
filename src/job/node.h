/* SPDX-License-Identifier: Apache-2.0
 * node.h - what samples of a monitor say of GPUs without a trace: how busy they were, what lowered their clocks, errors.
 *
 * What no sample says is NaN, or 0 where it is a count.
 */
#ifndef HU_JOB_NODE_H
#define HU_JOB_NODE_H

#include "ingest/node_log.h"
#include "job/inputs.h"

typedef struct {
    size_t n;
    double mean, least, most;
} hu_node_stat;

typedef struct {
    const hu_node_gpu *gpu;
    hu_node_stat       of[HU_GPU_QUANTITY_COUNT];
    size_t             looks;                                        /* samples of the quantity that has most */
    size_t             reason_looks, by_reason[HU_GPU_REASON_COUNT]; /* samples with reasons, and with each of them */
    size_t             lowered;                                      /* samples in which one lowered the clocks */
    hu_node_stat       lowered_mhz;                                  /* the SM clock in those */
    double             peer_mhz; /* of GPUs of its model, the busy ones' clock; 0: none */
    hu_node_stat       busy_mhz; /* the SM clock where the GPU was busy */
    double             first[HU_NODE_COUNT_KINDS], last[HU_NODE_COUNT_KINDS];
    double             counted_share; /* of the time, by the driver's counters: the reason that lowered clocks longest */
    hu_gpu_reason      counted_reason;
    size_t             xids;       /* errors while it was sampled, at least */
    double             last_xid;   /* of them; NaN none */
    int64_t            last_ns;    /* of its last sample */
    size_t             file_looks; /* of the GPU of its file that has most */
} hu_node_gpu_answer;

typedef enum {
    HU_NODE_SAYS_LOST,      /* the driver gave no more values of it */
    HU_NODE_SAYS_XID,       /* an error that the driver told of */
    HU_NODE_SAYS_ECC,       /* uncorrected ECC errors */
    HU_NODE_SAYS_FEWER,     /* it has clearly fewer samples than others of its file, which go on */
    HU_NODE_SAYS_THROTTLED, /* clocks were lowered */
    HU_NODE_SAYS_SLOW,      /* clocks were low while busy, and no reason lowered them */
    HU_NODE_SAYS_LANES,     /* a PCIe link is narrower than it could be */
    HU_NODE_SAYS_LINKS,     /* errors of links became more */
    HU_NODE_SAYS_ROWS,      /* rows of memory wait to be replaced */
    HU_NODE_SAYS_KINDS
} hu_node_says;

/* A kind of trouble, and the GPUs that have it. */
typedef struct {
    hu_node_says    kind;
    const uint32_t *gpus; /* of the answer, the worst first */
    size_t          n;
} hu_node_trouble;

typedef struct {
    const hu_node_log  *log;
    hu_node_gpu_answer *at; /* by host and number */
    size_t              n;
    size_t              looks;   /* of the GPU that has most */
    double              seconds; /* from the first to the last; NaN: the samples have no times */
    double              busy;    /* mean utilization of all GPUs */
    bool                has_busy, has_clock, has_most, has_reasons;

    const hu_node_process *const *processes; /* the busiest first */
    size_t                        n_processes;
    hu_node_trouble               troubles[HU_NODE_SAYS_KINDS]; /* the gravest first */
    size_t                        n_troubles;
} hu_node_answer;

/* All files as one log.  Returns 0 or an error of the first that cannot be read. */
int hu_node_files_read(const hu_inputs *inputs, const hu_limits *limits, hu_arena *arena, hu_node_log *out, hu_error *err);

/* False: no memory. */
bool hu_node_measure(const hu_node_log *log, hu_arena *arena, hu_node_answer *out);

/* The reason that lowered the clock most often; HU_GPU_REASON_COUNT: none did. */
hu_gpu_reason hu_node_main_reason(const hu_node_gpu_answer *g);

/* Did it draw what it may in all samples, of which none holds reasons? */
bool hu_node_is_at_limit(const hu_node_gpu_answer *g);

/* Does this reason lower the clock of work? */
bool hu_node_reason_lowers(hu_gpu_reason reason);

/* Does one of a sample's reasons? */
bool hu_node_bits_lower(double bits);

/* Is a clock one of work at this utilization? */
bool hu_node_is_busy(double pct);

/* Is it known by time in which clocks were lowered, rather than by samples with reasons? */
bool hu_node_is_timed(const hu_node_gpu_answer *g);

/* Share of the samples in which the clock was lowered, or of the time (hu_node_is_timed); NaN: unknown. */
double hu_node_lowered_share(const hu_node_gpu_answer *g);

#endif
