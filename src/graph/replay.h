/* SPDX-License-Identifier: Apache-2.0
 * replay.h - runs a graph again, with costs as they were or as they could be; and says which links held it up. */
#ifndef HU_GRAPH_REPLAY_H
#define HU_GRAPH_REPLAY_H

#include "graph/graph.h"

/* What an edit may change of a node or an operation. */
enum {
    HU_EDIT_NO_WAIT = 1,  /* a call that no longer waits for the device */
    HU_EDIT_NO_AFTER = 4, /* a node whose begin no longer waits for another thread */
    HU_EDIT_DETACHED = 2, /* an operation that nothing waits for but the end of its step */
};

typedef enum {
    HU_ANCHOR_PREDECESSOR, /* frozen delays follow what comes before them */
    HU_ANCHOR_HOST,        /* frozen delays stay as long after their launch as they were */
} hu_anchor;

/* One set of costs of a graph; made by hu_costs_new, changed by edits. */
typedef struct {
    int64_t  *node, *op; /* cost_ns of each */
    uint8_t  *node_flags, *op_flags;
    hu_anchor anchor;
    int64_t   scale;       /* all weights times this; 1 */
    int64_t   gap_more_ns; /* that the device needs between two operations beyond hu_op.gap_ns, or less; 0 */
} hu_costs;

/* Where the time of a replay went, on its critical path. */
typedef struct {
    uint32_t name; /* string id of the slice; 0 none */
    uint8_t class;
    int64_t total_ns, count;
} hu_path_row;

typedef struct {
    int64_t by_class[HU_CLASS_COUNT]; /* sum = total_ns, exactly */
    int64_t total_ns;
    int64_t
        beside_ns[HU_CLASS_COUNT]; /* of by_class, in calls of other threads beside the main thread's own work (beside.h);
                                               0 unless rows were asked for */
    hu_path_row *at;               /* by total_ns, class, name; NULL unless it was asked for */
    size_t       n;
    int64_t     *track_ns; /* of slices, by their track; NULL unless rows were asked for */
} hu_path;

/* Working space of replays of one graph; one thread at a time. */
typedef struct hu_replay hu_replay;

/* Everything lives in `arena`.  NULL when there is no memory. */
hu_costs  *hu_costs_new(const hu_graph *g, hu_arena *arena);
hu_costs  *hu_costs_like(const hu_graph *g, const hu_costs *from, hu_arena *arena);
void       hu_costs_reset(const hu_graph *g, hu_costs *c);
void       hu_costs_copy(const hu_graph *g, const hu_costs *from, hu_costs *to);
hu_replay *hu_replay_new(const hu_graph *g, hu_arena *arena);

/* One sweep.  ends_ns[0..n_marks): when each step ended in this replay, by the host's marks or by its GPU work, whichever
   takes longer over the window.  O(nodes + operations + links). */
void hu_replay_run(hu_replay *r, const hu_costs *c, int64_t *ends_ns);

/* The same, and the critical path from the first mark to the last; rows live in `arena`, none when it is NULL.
   Returns 0 or HU_ENOMEM. */
int hu_replay_path(hu_replay *r, const hu_costs *c, int64_t *ends_ns, hu_arena *arena, hu_path *out, hu_error *err);

/*
 * How much later each operation could end without the last step ending later: slack_ns[0..n_ops), 0 on the critical path.
 * Run hu_replay_path first; this goes back over the same replay, in the same costs.  Returns 0 or HU_ENOMEM.
 */
int hu_replay_slack(const hu_replay *r, const hu_costs *c, const int64_t *ends_ns, hu_arena *scratch, int64_t *slack_ns,
                    hu_error *err);

/* When everything began and ended in the last replay, in ns since the window's start: node[0..n_nodes), op[0..n_ops).
   Borrowed until the next replay. */
typedef struct {
    const int64_t *node_begin, *node_end, *op_start, *op_end;
} hu_replay_instants;

hu_replay_instants hu_replay_get(const hu_replay *r);

/* Is a delay so long that it has a cause outside of its stream?  Only such ones are tied to the host by HU_ANCHOR_HOST. */
bool hu_replay_is_external(const hu_op *op);

/*
 * How long a step was as observed, from 0, between the ends that the last replay went by.  Over the window the host's marks
 * and the ends of the work may take as long as each other; of a single step they are different things.
 */
int64_t hu_replay_seen_ns(const hu_replay *r, size_t step);

/* The mean step of the last replay by the ends of what was launched in each, whatever the host's marks say; room for
   n_marks in `ends_ns`. */
double hu_replay_by_ends_ns(const hu_replay *r, int64_t *ends_ns);

/*
 * Did the last replay go by the host's marks where the measured steps go by the ends of their work?  Then *ends_ns becomes
 * those of the work, to be compared with graph->mark[].end_ns.
 */
bool hu_replay_work_ends(const hu_replay *r, int64_t *ends_ns);

/* Mean length of a step, from the ends of a replay. */
double hu_replay_step_ns(const hu_graph *g, const int64_t *ends_ns);

#endif
