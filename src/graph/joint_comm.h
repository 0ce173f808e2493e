/* SPDX-License-Identifier: Apache-2.0
 * joint_comm.h - what the collectives in which ranks meet cost, and could. */
#ifndef HU_GRAPH_JOINT_COMM_H
#define HU_GRAPH_JOINT_COMM_H

#include "graph/joint.h"

/* Of each meeting: what it costs before its first byte, and which others could be sent with it; found once. */
typedef struct hu_joint_comm hu_joint_comm;

/*
 * `fits` are lines through the sizes of this job (hu_rendezvous.transfers).  Where there is none for a collective, half of
 * the shortest of its kind and group size is taken for its latency, or more where its bytes cannot take so long: a guess.
 * Lives in `arena`; NULL when there is no memory.
 */
hu_joint_comm *hu_joint_comm_new(const hu_joint *j, const hu_joint_rank *ranks, size_t n, const hu_comm_fit *fits,
                                 size_t n_fits, hu_arena *arena);

/* Another one for another thread; what they share, neither changes.  NULL: no memory. */
hu_joint_comm *hu_joint_comm_fork(const hu_joint_comm *k, hu_arena *arena);

/* Each changes costs[0..n) and returns how many operations and nodes it touched. */
size_t hu_joint_comm_bandwidth(const hu_joint_comm *k, double factor, hu_costs *const *costs);
size_t hu_joint_comm_latency(const hu_joint_comm *k, double factor, hu_costs *const *costs);

/* `factor` calls of one kind and group, in a row and in one step, become one, which goes when the last of them is ready. */
size_t hu_joint_comm_bucket(const hu_joint_comm *k, double factor, hu_costs *const *costs);

#endif
