/* SPDX-License-Identifier: Apache-2.0
 * joint_price.h - what an edit would bring to a job: the mean step of all its ranks, before and after. */
#ifndef HU_GRAPH_JOINT_PRICE_H
#define HU_GRAPH_JOINT_PRICE_H

#include "graph/effect.h"
#include "graph/joint_comm.h"
#include "graph/joint_edit.h"
#include "graph/price.h"

typedef struct hu_joint_pricer hu_joint_pricer;

/*
 * `facts[0..n)` are those of the ranks' graphs, for edits that look into one rank; NULL: only edits between ranks are made.
 * `fits` as for hu_joint_comm_new.
 * Everything lives in `arena`; ranks, facts and `j`, in which nothing is parked, must outlive it.  NULL when there is no
 * memory.
 */
hu_joint_pricer *hu_joint_pricer_new(hu_joint *j, const hu_joint_rank *ranks, const hu_edit_facts *const *facts, size_t n,
                                     const hu_comm_fit *fits, size_t n_fits, hu_arena *arena);

/* Another one for another thread, of one without facts; lives in `arena`, no longer than the one that it comes from.
   NULL: no memory. */
hu_joint_pricer *hu_joint_pricer_fork(const hu_joint_pricer *p, hu_arena *arena);

/* Edits that are made together, each on all ranks; edit.rank is a row of `ranks`.  A free flavour is not priced apart, and
   out->is_feasible is false: nobody looked. */
void hu_joint_price_edits(hu_joint_pricer *p, const hu_edit *edits, size_t n, hu_price *out);

/* What one cause costs the ranks of a job: the effects that the same edit had on each of them (effect.h). */
typedef struct {
    const hu_str *changes; /* by row of `ranks`; "" of a rank that has no such cause */
    hu_edit_kind  edit;
    double        scatter_pct; /* points by which the gain differs between steps */
} hu_joint_effect;

/* As hu_joint_price_edits and, of the edit of a finding, hu_price_named: the cause is taken away from all ranks that have
   it.  out->sure_pct is the low end without the scatter of the steps. */
void hu_joint_price_effect(hu_joint_pricer *p, const hu_joint_effect *e, hu_price *out);

/*
 * Where ranks are stages of a pipeline: how much longer than the work of a stage their step stays, as a share of that work.
 * Records seldom say what waits for which message, so a replay alone would fill the gaps that the schedule leaves.  For
 * hu_joint_price_effect(s).
 */
void hu_joint_pricer_drain(hu_joint_pricer *p, double share);

/* The step with several causes taken away, in the terms of hu_joint_pricer_step_ns; no interval. */
double hu_joint_price_effects_ns(hu_joint_pricer *p, const hu_joint_effect *const *effects, size_t n);

/* By how much the replay of the worst step is off, %: a step is the mean over the ranks here. */
double hu_joint_pricer_worst_pct(const hu_joint_pricer *p);

/* The step when one rank, a row of `ranks`, becomes like the others. */
double hu_joint_price_straggler_ns(hu_joint_pricer *p, size_t rank);

/* Mean step over ranks, measured and simulated as it was, in ns. */
double hu_joint_pricer_seen_ns(const hu_joint_pricer *p);
double hu_joint_pricer_step_ns(const hu_joint_pricer *p);

/* The costs of all ranks, as they were when it returns. */
hu_costs *const *hu_joint_pricer_costs(hu_joint_pricer *p);

#endif
