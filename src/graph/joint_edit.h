/* SPDX-License-Identifier: Apache-2.0
 * joint_edit.h - what could be different among the ranks of a job: one that matches the others, all that match. */
#ifndef HU_GRAPH_JOINT_EDIT_H
#define HU_GRAPH_JOINT_EDIT_H

#include "graph/edit.h"
#include "graph/joint.h"

/*
 * The work of each rank between its meetings, by class; found once.  The work before a meeting is compared among the ranks
 * that meet there, so that like is compared with like: the stages of a pipeline never are.
 */
typedef struct hu_joint_facts hu_joint_facts;

/* Lives in `arena`.  NULL when there is no memory. */
hu_joint_facts *hu_joint_facts_new(const hu_joint *j, const hu_joint_rank *ranks, size_t n, hu_arena *arena);

/* Another one for another thread; what they share, neither changes.  NULL: no memory. */
hu_joint_facts *hu_joint_facts_fork(const hu_joint_facts *f, hu_arena *arena);

/* Does an edit change the work of ranks between their meetings? */
static inline bool hu_joint_edit_is_work(hu_edit_kind kind)
{
    return kind == HU_EDIT_STRAGGLER || kind == HU_EDIT_BALANCE || kind == HU_EDIT_HICCUPS;
}

/*
 * Those of `edits` that change work, as they concern one rank, the host's and the device's work of each leg by itself:
 *
 *     straggler   that of the rank becomes the median of the others' before each meeting: it may get longer
 *     balance     that of all ranks becomes the mean of those that meet
 *     hiccups     nobody is late: what is above the median becomes the median; of two ranks the host's work the lesser
 *
 * Where several change the same work, the least of them counts, so that two together are never slower than one.  Returns how
 * many nodes and operations it changed.
 */
size_t hu_joint_edit_work(const hu_joint_facts *f, const hu_edit *edits, size_t n, size_t rank, hu_costs *c);

#endif
