/* SPDX-License-Identifier: Apache-2.0
 * joint_causes.h - what the causes that ranks share cost their job: each taken away from all ranks that have it. */
#ifndef HU_ADVISE_JOINT_CAUSES_H
#define HU_ADVISE_JOINT_CAUSES_H

#include "graph/joint_pricers.h"

/* The price of one cause over all ranks; the step is the job's, and not that of one rank. */
typedef struct {
    uint64_t cause; /* hu_finding.cause */
    size_t   ranks; /* that have it */
    hu_price price;
} hu_joint_cause;

/* Taken away one after the other, the best of what is left first. */
typedef struct {
    uint64_t cause;
    double   before_ns, after_ns;
} hu_joint_rung;

enum { HU_JOINT_CAUSES = 32, HU_JOINT_RUNGS = 6 };

typedef struct {
    hu_joint_cause at[HU_JOINT_CAUSES]; /* in the order in which ranks tell them */
    size_t         n;
    hu_joint_rung  ladder[HU_JOINT_RUNGS];
    size_t         n_ladder;
} hu_joint_causes;

/* Of the effects in the graphs of ranks[0..n), those that some rank has words for.  Returns 0 or HU_ENOMEM. */
int hu_joint_causes_measure(hu_joint_pricers *p, const hu_joint_rank *ranks, size_t n, hu_arena *scratch,
                            hu_joint_causes *out, hu_error *err);

/* NULL: nobody told it. */
const hu_joint_cause *hu_joint_causes_find(const hu_joint_causes *c, uint64_t cause);

#endif
