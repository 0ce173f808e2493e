/* SPDX-License-Identifier: Apache-2.0
 * joint_pricers.h - prices of a job on several threads, each with all of its ranks. */
#ifndef HU_GRAPH_JOINT_PRICERS_H
#define HU_GRAPH_JOINT_PRICERS_H

#include "graph/joint_price.h"

typedef struct hu_joint_pricers hu_joint_pricers;

/* Of `first`, and of copies of it for more threads, a few at most; of one with facts there are none: `threads` is 1.
   Lives in `arena`.  NULL: no memory. */
hu_joint_pricers *hu_joint_pricers_new(hu_joint_pricer *first, int threads, hu_arena *arena);

/* Calls job(context, pricer, i) once for every i in [0, n), in any order; no pricer does two at once. */
void hu_joint_pricers_each(hu_joint_pricers *p, size_t n, void (*job)(void *context, hu_joint_pricer *pricer, size_t i),
                           void *context);

/* hu_joint_pricer_step_ns, of all of them the same. */
double hu_joint_pricers_step_ns(const hu_joint_pricers *p);

/* The rank of n that is worth most when it becomes like the others, by step_ns[0..n): one replay for each. */
size_t hu_joint_pricers_worst(hu_joint_pricers *p, size_t n, double *step_ns);

#endif
