/* SPDX-License-Identifier: Apache-2.0
 * build.h - how a graph is put together, private to this folder: lanes, then work, then what waits, then the weights. */
#ifndef HU_GRAPH_BUILD_H
#define HU_GRAPH_BUILD_H

#include "analyze/backlog.h"
#include "analyze/wakes.h"
#include "base/map.h"
#include "graph/graph.h"

/* A link on its way into the graph; those of one operation or node are chained. */
typedef struct {
    hu_link  link;
    uint32_t next;
} hu_pending;

/* Another thread works from one time to another, without a rest in which the main thread does something. */
typedef struct {
    int64_t  start_ns, end_ns;
    uint32_t lane;
} hu_burst;

typedef HU_VEC(hu_burst) hu_bursts;

/* From this node on, a stream waits for an operation of another one. */
typedef struct {
    uint32_t stream, node, from;
} hu_stream_wait;

typedef struct {
    hu_graph     *g;
    const hu_ask *ask;
    int64_t       from_ns, to_ns; /* what is built: the window, and the step before it */
    size_t        first_mark;     /* index among ask->steps of the first mark; the guard, if there is one */
    uint32_t     *node_of_call; /* by slice of an outermost call: 1 + its node, else 0; pages without calls stay untouched */
    hu_map        calls;        /* correlation of a call -> node; hu_build_map_calls */
    hu_map        cold_of_call; /* slice of a launch that first loads code -> ns of it that launch; and see hu_cold_find */
    hu_map        own_of_call;  /* the same, of one in which the profiler first works for itself */
    uint8_t      *label;        /* HU_IN_* by string id, HU_UNLABELLED until it is asked for */
    hu_wakes      wakes;        /* that ended waits; none in a trace with steps or a device */
    int64_t      *wake_cuts;    /* where nodes begin for that: of track t [first_cut[t], first_cut[t + 1]) */
    size_t       *first_cut;    /* NULL: there are none */
    hu_backlog    backlog;      /* what was launched before the capture */
    hu_str        focus;        /* glob of operators for HU_IN_FOCUS; "" none */
    const uint8_t *recompute;   /* by slice */
    bool           merges;      /* short nodes of a long run (merge.c) */
    int64_t        chunk_ns;    /* so long may be what is merged: what merged nodes say of places is that good */
    uint8_t       *name_merges; /* by string id, for merge.c to work in */
    HU_VEC(int64_t) anchors;    /* sorted: no node may be merged across them */
    HU_VEC(hu_merged) merged;
    HU_VEC(hu_node) nodes;
    hu_bursts bursts, asides; /* that the main thread waits for, by start; and others that launch work, thread by thread */
    HU_VEC(hu_op) ops;
    HU_VEC(hu_stream_wait) stream_waits;       /* by stream and node */
    HU_VEC(hu_pending) links;                  /* while it is built, op.deps and node.waits are heads of chains */
    uint32_t        *by_stream, *stream_first; /* operations by stream, in order; stream s: [first[s], first[s + 1]) */
    const hu_track **stream_track;
} hu_building;

/* Which steps, and what is built around them.  False: nothing to replay. */
bool hu_build_window(hu_building *b, size_t max_slices);

/* Of a capture without steps, only this share of what it was. */
void hu_build_shorten(hu_building *b, double share);

enum { HU_UNLABELLED = 128 };

/* What a name says of the time under it: HU_IN_*. */
uint8_t  hu_build_label(hu_building *b, uint32_t name);
hu_class hu_build_call_class(const hu_ask *ask, uint32_t call, hu_call_kind *kind);

/* Nodes of all host threads, in the order in which they begin; and the marks of the steps among them.  Of a merged capture
   that still has many more nodes than `most`, only the beginning. */
int hu_build_lanes(hu_building *b, size_t most, hu_error *err);

/*
 * Finds the bursts of other threads, of which `is_engine` tells by lane the ones of autograd, and cuts the nodes of the main
 * thread where they begin and end.  Nodes still lie thread by thread.  False: no memory.
 */
bool hu_build_bursts(hu_building *b, const uint8_t *is_engine);

/* Cuts sleeps where a child process ends in them.  Nodes still lie thread by thread, pieces behind them.  False: no
   memory. */
bool hu_build_cut_looks(hu_building *b);

/* Nothing was recorded of another thread, or a call in which it waits. */
bool hu_build_is_idle(const hu_node *n);

/* The main thread may wait in it: no call, no operator, nothing that has a name of its own. */
bool hu_build_is_silent(const hu_node *n);

/* The device work that the nodes launched. */
int hu_build_ops(hu_building *b, hu_error *err);

/* The streams' operations in order, and what the synchronisation records say. */
int hu_build_streams(hu_building *b, hu_error *err);

/* Links between streams, between threads, and from the device to calls that wait for it. */
int hu_build_events(hu_building *b, hu_error *err);
int hu_build_handoffs(hu_building *b, hu_error *err);
int hu_build_joins(hu_building *b, hu_error *err);

/* The lane of the thread that started the one of `lane`: of its process, and it ran when that was born; of several the main
   one.  `track`: of each lane.  HU_NONE: not known, or it was there before. */
uint32_t hu_build_creator(const hu_building *b, const hu_track *const *track, uint32_t lane);

/* Finds the wake-ups that links come from, and where nodes must begin for them, before there are nodes.  False: no
   memory. */
bool hu_build_wakes_find(hu_building *b, uint32_t main_track);

/* Links from what wakes to the end of what waits. */
int hu_build_wakes(hu_building *b, hu_error *err);

/* Links from one wait for a worker of the data loader to the next.  Returns 0 or HU_ENOMEM. */
int hu_build_loaders(hu_building *b, hu_error *err);

/* Nodes by lane, in order: those of lane k are of_lane[first[k], first[k + 1]).  False: no memory. */
typedef struct {
    uint32_t *of_lane, *first;
} hu_lane_nodes;

bool hu_build_lane_nodes(const hu_building *b, hu_lane_nodes *out);

/* The first place in l->of_lane of a lane whose node begins at a time or later. */
uint32_t hu_build_first_from(const hu_building *b, const hu_lane_nodes *l, uint32_t lane, int64_t time_ns);

/* Waits with a time limit that are parts of a longer one (ticks.c).  False: no memory. */
bool hu_build_ticks(hu_building *b, const hu_lane_nodes *l, const uint32_t *lane_of);

/* Were calls of the system or of MPI recorded? */
bool hu_build_has_calls(const hu_building *b);

/* Marks pauses of threads that launch work: HU_IN_STALL. */
int hu_build_stalls(hu_building *b, hu_error *err);
int hu_build_waits(hu_building *b, hu_error *err);

bool hu_build_link_op(hu_building *b, uint32_t op, hu_link link);
bool hu_build_link_node(hu_building *b, uint32_t node, hu_link link);

/* Nodes of calls by their correlation, b->calls; once.  False when there is no memory. */
bool hu_build_map_calls(hu_building *b);

/* The last operation of a stream that was launched before a node; HU_NONE. */
uint32_t hu_build_last_before(const hu_building *b, uint32_t stream, uint32_t node);

/* The first that was launched by a node or a later one; HU_NONE. */
uint32_t hu_build_first_from_node(const hu_building *b, uint32_t stream, uint32_t node);

/* commands.c: a note about a command that waits for another; about a barrier; all notes about one call that waits.
 * False: no memory. */
bool hu_build_command_wait(hu_building *b, const hu_map *calls, const hu_sync_detail *note, uint32_t node);
bool hu_build_barrier(hu_building *b, const hu_sync_detail *note, uint32_t node);
bool hu_build_command_sync(hu_building *b, const hu_map *calls, const uint32_t *notes, size_t n_notes, uint32_t node,
                           bool *waited);

/* The work of the device's other streams, or of all, that ended last before a time, among what was launched before `op`. */
uint32_t hu_build_ended_before(const hu_building *b, uint32_t op, bool own_too, int64_t time_ns);

/* The mean of the samples within `reach` of their median; `otherwise` when there are fewer than three.  Sorts them. */
int64_t hu_build_typical(int64_t *samples, size_t n, int64_t reach, int64_t otherwise);

/* Weights; what starts later than they say is linked by inference or frozen. */
int hu_build_calibrate(hu_building *b, hu_error *err);
int hu_build_residuals(hu_building *b, hu_error *err);
int hu_build_queue(hu_building *b, hu_error *err);

static inline int64_t hu_build_op_end(const hu_building *b, uint32_t op)
{
    return b->ops.at[op].start_ns + b->ask->s.dur_ns[b->ops.at[op].slice];
}

static inline uint32_t hu_build_pieces(const hu_building *b, const hu_node *n)
{
    return n->merged == HU_NONE ? 1 : b->merged.at[n->merged].n;
}

/* The end of a node as observed; its cost may be less, when it waits. */
int64_t hu_build_node_end(const hu_building *b, uint32_t node);

#endif
