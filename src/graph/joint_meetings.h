/* SPDX-License-Identifier: Apache-2.0
 * joint_meetings.h - inside of a joint replay: who meets whom (joint_meetings.c), in which order all of it is swept
 * (joint.c).
 */
#ifndef HU_GRAPH_JOINT_MEETINGS_H
#define HU_GRAPH_JOINT_MEETINGS_H

#include "graph/joint.h"

enum { HU_JOINT_PARKED = 8 };

typedef struct {
    uint32_t rank, index; /* of an operation, or of a node when is_node */
    uint32_t several;     /* a row of `several`, where the operation is in more than one meeting; HU_NONE */
    bool     is_node;
    bool     is_early; /* a send that was over before its receive began: it waits for nobody, its end is waited for */
} hu_joint_guest;

typedef struct {
    uint32_t first, n; /* rows of `guest` */
    uint32_t met;
    uint32_t last;       /* the row that came last in the last sweep */
    uint32_t rank, call; /* of one of them, in its hu_comm.calls_at */
    bool     is_message;
} hu_joint_meeting;

/* An operation of several messages (batch_isend_irecv): it ends when all of them have. */
typedef struct {
    uint32_t rank, op;
    int64_t  end_ns; /* of the latest of them in the last sweep, */
    uint32_t by;     /* which is this meeting */
} hu_joint_several;

/* What comes next in the order: one of several things of a rank, or a meeting. */
typedef struct {
    uint32_t index, end; /* of nodes, operations or meetings: [index, end) */
    uint16_t rank;
    uint8_t  at;
} hu_joint_instant;

typedef struct {
    const hu_graph *graph;
    hu_replay      *replay;
    uint32_t       *of_op, *of_node; /* meeting; HU_NONE */
    uint32_t       *several_of_op;   /* row of `several`; HU_NONE */
    int64_t        *ends_ns;
    uint32_t        last_op;
    uint32_t        base; /* of its units, while the order is found: begins, ends, operations */
} hu_joint_member;

struct hu_joint {
    hu_joint_member  *rank;
    size_t            n;
    hu_joint_guest   *guest;
    hu_joint_meeting *meeting;
    size_t            n_meetings, n_messages;
    hu_joint_several *several;
    size_t            n_several;
    bool              has_latest; /* steps can be taken from the rank that ends one last to the rank that does so next */
    hu_joint_instant *order;
    size_t            n_order;
    hu_parked         parked[HU_JOINT_PARKED];
    size_t            n_parked;
};

/*
 * Only what all of its ranks have in their windows, once.  Fills guests and meetings of `j`, whose ranks are there;
 * what stays lives in `arena`.  False when there is no memory.
 */
bool hu_joint_find_meetings(hu_joint *j, const hu_joint_rank *ranks, hu_arena *arena, hu_arena *scratch);

#endif
