/* SPDX-License-Identifier: Apache-2.0
 * joint_edit.h - what could be different among the ranks of a job: one that matches the others, all that match. */
#ifndef HU_GRAPH_JOINT_EDIT_H
#define HU_GRAPH_JOINT_EDIT_H

#include "graph/joint.h"

/*
 * The work of each rank between its meetings, by class; found once.  The work before a meeting is compared among the ranks
 * that meet there, so that like is compared with like: the stages of a pipeline never are.
 */
typedef struct hu_joint_facts hu_joint_facts;

/* Lives in `arena`.  NULL when there is no memory. */
hu_joint_facts *hu_joint_facts_new(const hu_joint *j, const hu_joint_rank *ranks, size_t n, hu_arena *arena);

/* One rank's work becomes, class by class, the median of that of the others before each meeting: it may get longer.
   Returns how many nodes and operations it changed. */
size_t hu_joint_edit_straggler(const hu_joint_facts *f, size_t rank, hu_costs *c);

/* The work is shared out evenly: that of all ranks becomes the mean of those that meet; costs[0..n). */
size_t hu_joint_edit_imbalance(const hu_joint_facts *f, hu_costs *const *costs);

/* Nobody is ever late: the work of all ranks becomes the median of those that meet. */
size_t hu_joint_edit_hiccups(const hu_joint_facts *f, hu_costs *const *costs);

#endif
