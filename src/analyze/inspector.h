/* SPDX-License-Identifier: Apache-2.0
 * inspector.h - calls of collectives by size, and which rank the others wait for in them. */
#ifndef HU_ANALYZE_INSPECTOR_H
#define HU_ANALYZE_INSPECTOR_H

#include "trace/log_inspector.h"

/* All calls of one operation, size and number of ranks. */
typedef struct {
    const hu_inspector_op *op;
    int64_t                bytes, ranks;
    int64_t                count, records; /* calls; what their ranks wrote of them */
    double                 median_ns;      /* of a rank in a call */
    double                 total_ns;       /* of all ranks */
    double                 least_ns;   /* median over the calls, of the rank that came last; NaN: one rank alone is told */
    double                 wait_ns;    /* of all ranks, for the last one; 0 where least_ns is not known */
    double                 bus, alg;   /* median over records, as they say; 1e9 bytes per second; NaN */
    double                 best_bus;   /* the same of the rank that came last: what the links give */
    int64_t                last;       /* the rank that comes last most often; -1 not known */
    double                 last_share; /* of the calls that several ranks tell */
} hu_inspector_size;

/* One rank of the job, in all calls of collectives that several ranks tell. */
typedef struct {
    int64_t rank;
    size_t  process;       /* of the log */
    int64_t calls, n_last; /* and in how many of them it came last */
    double  held_ns;       /* that each other rank waited for it, summed over those calls */
    double  wait_ns;       /* that it waited for others */
    double  ns;            /* in collectives */
} hu_inspector_rank;

typedef struct {
    HU_VEC(hu_inspector_size) sizes; /* the longest total first */
    HU_VEC(hu_inspector_rank) ranks; /* whom the others wait for longest, first */
    int64_t world;                   /* ranks of the largest communicator */
    int64_t compared;                /* calls that several ranks tell */
    double  ns, wait_ns;             /* of all ranks in collectives; of it, waiting */
} hu_inspector_answer;

/* Borrows from `log`.  False: no memory. */
bool hu_inspector_measure(const hu_log_inspector *log, hu_arena *arena, hu_inspector_answer *out);

#endif
