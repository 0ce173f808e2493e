/* SPDX-License-Identifier: Apache-2.0
 * joint.h - the ranks of a job replayed together: a collective ends when the last of them has come.
 *
 * A rank alone cannot tell its communication from its waiting.  Here each rank runs on its own graph, and where all ranks of
 * a group meet (across/rendezvous.h) the arrivals are what each rank makes of them:
 *
 *     end = max over ranks of arrival + tau,      tau = min over ranks of the time that they spend in it
 *
 * so that whoever makes one rank faster sees what it is worth to the others.  A message joins two: its send and its receive
 * stay until the data has moved; but a send that was over before its receive began only holds the receive up.
 */
#ifndef HU_GRAPH_JOINT_H
#define HU_GRAPH_JOINT_H

#include "analyze/comm.h"
#include "graph/replay.h"

typedef struct {
    const hu_graph *graph;
    const hu_comm  *comm;      /* of the same trace */
    const uint32_t *met;       /* by call of `comm`: hu_rendezvous.met */
    int64_t         origin_ns; /* when the graph's window begins, on the clock that all share */
    bool            has_clock; /* that clock is known */
} hu_joint_rank;

/* A collective that never ends, because ranks wait for each other in another order: here it hangs. */
typedef struct {
    uint32_t met;            /* its number in hu_rendezvous.met */
    size_t   waits, missing; /* a rank that has come, and one that cannot: rows of `ranks` */
} hu_parked;

typedef struct hu_joint hu_joint;

/*
 * Everything lives in `arena`; the graphs must outlive it.  Collectives that lie in the window of only some of the ranks
 * stay as long as they were.  NULL when there is no memory, or the graphs are too large for numbers of 32 bits (HU_ELIMIT).
 */
hu_joint *hu_joint_new(const hu_joint_rank *ranks, size_t n, hu_arena *arena, hu_error *err);

/* Another one for another thread, with instants of its own: what they share, neither changes.  NULL: no memory. */
hu_joint *hu_joint_fork(const hu_joint *j, hu_arena *arena);

/* What hangs; none of a job that ran.  Nothing can be replayed when there is any. */
const hu_parked *hu_joint_parked(const hu_joint *j, size_t *n);

/* Collectives and messages that join ranks here; of them messages. */
size_t hu_joint_count(const hu_joint *j);
size_t hu_joint_messages(const hu_joint *j);
bool   hu_joint_is_message(const hu_joint *j, uint32_t meeting);

/* Do all ranks take part in it? */
bool hu_joint_is_of_all(const hu_joint *j, uint32_t meeting);

/*
 * One sweep over all ranks, each in its costs.  Returns the step of the job, in ns: from when the last rank ends the
 * step before the window to when the last rank ends the window's last one, over the steps.  A rank that is ahead of the
 * others when the window begins, and is not when it ends, takes longer than they, and that is no cost of the job.  Of
 * one step, of unequal windows, and where clocks are not known, the mean over ranks.  O(nodes + operations + links) of
 * all ranks.
 */
double hu_joint_run(hu_joint *j, hu_costs *const *costs);

/* When a rank's steps ended in the last sweep, ns: n_marks of its graph. */
const int64_t *hu_joint_ends_ns(const hu_joint *j, size_t rank);

/* The mean over ranks of their steps in the last sweep, ns. */
double hu_joint_mean_ns(const hu_joint *j);

/*
 * When each step of the job ended in the last sweep: on the last rank to end it, or the mean over ranks where clocks are not
 * known.  ends[0..hu_joint_marks()), of which the first is the end of the step before the window; 0 where the windows of the
 * ranks do not have the same steps.
 */
size_t hu_joint_marks(const hu_joint *j);
void   hu_joint_ends(const hu_joint *j, int64_t *ends);

/*
 * The same, and the critical path of the job: from the last rank to end its last step back to where its window begins, over
 * whichever rank held it up.  paths[0..n): what of it each rank is to blame for; communication counts for the rank that came
 * last.  Their totals sum to the time exactly.  Returns 0 or HU_ENOMEM.
 */
int hu_joint_path(hu_joint *j, hu_costs *const *costs, hu_path *paths, hu_error *err);

/* The call of one of the ranks that meet, a row of `ranks` and of its hu_comm.calls_at. */
void hu_joint_call(const hu_joint *j, uint32_t meeting, size_t *rank, uint32_t *call);

/* What a rank takes part in: the collective that an operation, or a node, is of, or the first of its messages; HU_NONE. */
uint32_t hu_joint_of_op(const hu_joint *j, size_t rank, uint32_t op);
uint32_t hu_joint_of_node(const hu_joint *j, size_t rank, uint32_t node);

#endif
