/* SPDX-License-Identifier: Apache-2.0
 * sweep.h - one instant after the other of a replay, private to this folder; replay.c says what they are made of.
 *
 * Inline, and `path` a constant wherever it is passed, so that a sweep without a path does not pay for one.
 */
#ifndef HU_GRAPH_SWEEP_H
#define HU_GRAPH_SWEEP_H

#include "graph/replay.h"

#define HU_SWEEP_INLINE static inline __attribute__((always_inline))

/* Which term was the largest.  Above HU_BY_LINK: a row of g->link. */
enum { HU_BY_OWN, HU_BY_LAUNCH, HU_BY_BEFORE, HU_BY_START, HU_BY_FULL, HU_BY_HOST, HU_BY_LINK };

enum { HU_EXTERNAL_NS = 100000 }; /* a delay this long has a cause outside of the stream */

/* Nodes of one lane in a row that launch nothing and wait for nothing: first .. end, and behind them one that may. */
typedef struct {
    uint32_t first, end, lane;
} hu_chain;

typedef HU_VEC(hu_chain) hu_chains;

/* Operations in a row that one step launched. */
typedef struct {
    uint32_t first, end;
    int32_t  step;
} hu_step_ops;

struct hu_replay {
    const hu_graph *g;
    hu_chains       chains;    /* of all nodes, in order */
    HU_VEC(hu_step_ops) steps; /* all operations, in order */
    int64_t   origin_ns;       /* at which its window begins; 0 of a rank alone */
    int64_t  *lane_end, *stream_end;
    uint32_t *stream_last;
    int64_t  *node_begin, *node_end, *op_start, *op_end;
    uint32_t *node_end_by, *op_by; /* NULL until a path is asked for */
    uint32_t *op_before;           /* the one that HU_BY_BEFORE means, after edits */
    uint32_t *lane_before;         /* the node before in its lane */
    bool      is_by_marks;         /* the last sweep's steps end at the host's marks, not when their work has ended */
    hu_arena *arena;
};

/* Room for sweeps, without chains: of several ranks, joint.c knows what lies in a row.  NULL when there is no memory. */
hu_replay *hu_sweep_new(const hu_graph *g, hu_arena *arena);

/* Room for what a path needs.  False when there is no memory. */
bool hu_sweep_keep_path(hu_replay *r);

/* When each step ended; *last_op is the operation that ended the last one, HU_NONE when the host's mark did. */
void hu_sweep_ends(hu_replay *r, const hu_costs *c, int64_t *ends_ns, uint32_t *last_op);

HU_SWEEP_INLINE int64_t hu_sweep_instant(const hu_replay *r, const hu_link *link)
{
    return link->at == HU_AT_OP_END     ? r->op_end[link->from]
           : link->at == HU_AT_OP_START ? r->op_start[link->from]
                                        : r->node_end[link->from];
}

/* Does a frozen delay follow what comes before it?  A short one is the device's own noise in either reading. */
HU_SWEEP_INLINE bool hu_sweep_follows(const hu_op *op, const hu_costs *c)
{
    return c->anchor == HU_ANCHOR_PREDECESSOR || op->frozen_ns < HU_EXTERNAL_NS;
}

/* Before the first node. */
HU_SWEEP_INLINE void hu_sweep_reset(hu_replay *r)
{
    for (uint32_t k = 0; k < r->g->n_lanes; k++)
        r->lane_end[k] = r->origin_ns;
    for (uint32_t k = 0; k < r->g->n_streams; k++)
        r->stream_last[k] = HU_NONE;
}

HU_SWEEP_INLINE bool hu_sweep_is_plain(const hu_node *n)
{
    return n->n_ops == 0 && n->n_waits == 0 && n->after == HU_NONE;
}

/* One of these ends when its time is over, and the next begins: no row of the graph has to be looked at. */
HU_SWEEP_INLINE void hu_sweep_chain(hu_replay *r, const hu_costs *c, const hu_chain *chain, bool path)
{
    int64_t now = r->lane_end[chain->lane];

    for (uint32_t i = chain->first; i < chain->end; i++) {
        r->node_begin[i] = now;
        now += c->node[i] * c->scale;
        r->node_end[i] = now;
        if (path)
            r->node_end_by[i] = HU_BY_OWN;
    }
    r->lane_end[chain->lane] = now;
}

HU_SWEEP_INLINE void hu_sweep_begin(hu_replay *r, const hu_costs *c, uint32_t i)
{
    const hu_graph *g = r->g;
    const hu_node  *n = &g->node[i];
    int64_t         begin = r->lane_end[n->lane];

    if (n->after != HU_NONE && !(c->node_flags[i] & HU_EDIT_NO_AFTER)) {
        const int64_t at = hu_sweep_instant(r, &g->link[n->after]) + g->link[n->after].weight_ns * c->scale;

        begin = at > begin ? at : begin;
    }
    r->node_begin[i] = begin;
}

/*
 * The gap before an operation.  Where another one than the calibrated is tried, none is longer than it was seen, so that
 * the steps as they were keep their length; and none is shorter than nothing.
 */
HU_SWEEP_INLINE int64_t hu_sweep_gap_ns(const hu_graph *g, const hu_op *op, const hu_costs *c)
{
    int64_t most;

    if (c->gap_more_ns == 0 || op->before == HU_NONE)
        return op->gap_ns;
    if (c->gap_more_ns < 0)
        return op->gap_ns + c->gap_more_ns > 0 ? op->gap_ns + c->gap_more_ns : op->gap_ns < 0 ? op->gap_ns : 0;
    most = op->start_ns - g->op[op->before].start_ns - g->op[op->before].cost_ns;
    if (most > op->gap_ns + c->gap_more_ns)
        return op->gap_ns + c->gap_more_ns;
    return most > op->gap_ns ? most : op->gap_ns;
}

/* The node that launched it has begun. */
HU_SWEEP_INLINE void hu_sweep_start(hu_replay *r, const hu_costs *c, uint32_t i, bool path)
{
    const hu_op  *op = &r->g->op[i];
    const int64_t begin_ns = r->node_begin[op->node];
    int64_t       start = INT64_MIN;
    uint32_t      by = HU_BY_START;

    if (op->has_launch) {
        start = begin_ns + op->launch_ns * c->scale;
        by = HU_BY_LAUNCH;
    }
    if (r->stream_last[op->stream] != HU_NONE) {
        const int64_t free = r->stream_end[op->stream] + hu_sweep_gap_ns(r->g, op, c) * c->scale;

        if (free > start) {
            start = free;
            by = HU_BY_BEFORE;
        }
        if (path)
            r->op_before[i] = r->stream_last[op->stream];
    } else if (path) {
        r->op_before[i] = HU_NONE;
    }
    for (uint32_t k = op->deps; k < op->deps + op->n_deps; k++) {
        const hu_link *link = &r->g->link[k];
        int64_t        at;

        if (link->at != HU_AT_NODE_END && c->op_flags[link->from] & HU_EDIT_DETACHED)
            continue;
        at = hu_sweep_instant(r, link) + link->weight_ns * c->scale;
        if (at > start) {
            start = at;
            by = HU_BY_LINK + k;
        }
    }
    if (start == INT64_MIN)
        start = r->origin_ns;
    if (op->frozen_ns) {
        const int64_t tied = begin_ns + (op->start_ns - r->g->node[op->node].start_ns) * c->scale;

        if (hu_sweep_follows(op, c))
            start += op->frozen_ns * c->scale;
        else if (tied > start) {
            start = tied;
            by = HU_BY_HOST;
        }
    }
    r->op_start[i] = start;
    if (path)
        r->op_by[i] = by;
}

HU_SWEEP_INLINE void hu_sweep_finish(hu_replay *r, const hu_costs *c, uint32_t i, int64_t end_ns)
{
    r->op_end[i] = end_ns;
    if (!(c->op_flags[i] & HU_EDIT_DETACHED)) {
        r->stream_end[r->g->op[i].stream] = end_ns;
        r->stream_last[r->g->op[i].stream] = i;
    }
}

/* `end_ns`: when it would end without any wait. */
HU_SWEEP_INLINE void hu_sweep_end(hu_replay *r, const hu_costs *c, uint32_t i, int64_t end_ns, bool path)
{
    const hu_graph *g = r->g;
    const hu_node  *n = &g->node[i];
    uint32_t        by = HU_BY_OWN;

    if (n->n_ops && g->op[n->ops].full != HU_NONE && r->op_end[g->op[n->ops].full] > end_ns) {
        end_ns = r->op_end[g->op[n->ops].full];
        by = HU_BY_FULL;
    }
    if (!(c->node_flags[i] & HU_EDIT_NO_WAIT)) {
        for (uint32_t k = n->waits; k < n->waits + n->n_waits; k++) {
            const hu_link *link = &g->link[k];
            int64_t        at;

            if (link->at != HU_AT_NODE_END && c->op_flags[link->from] & HU_EDIT_DETACHED)
                continue;
            at = hu_sweep_instant(r, link) + link->weight_ns * c->scale;
            if (at > end_ns) {
                end_ns = at;
                by = HU_BY_LINK + k;
            }
        }
    }
    r->node_end[i] = end_ns;
    r->lane_end[n->lane] = end_ns;
    if (path)
        r->node_end_by[i] = by;
}

#endif
