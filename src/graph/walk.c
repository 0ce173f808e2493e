/* SPDX-License-Identifier: Apache-2.0
 * walk.c - from each instant to the one that its largest term came from. */
#include "graph/walk.h"

#include <assert.h>

void hu_walk_add(hu_walk *w, hu_class class, uint32_t slice, int64_t to_ns)
{
    /* A weight may be negative, where the clocks of host and device disagree: the piece before ends later than what it
     * held.  What the two share belongs to the later piece. */
    const int64_t held_ns = to_ns < w->now_ns ? to_ns : w->now_ns;
    const int64_t until = held_ns > w->from_ns ? held_ns : w->from_ns, length = w->now_ns - until;
    uint32_t      name, *place;

    w->now_ns = until;
    if (length == 0)
        return;
    w->path->by_class[class] += length;
    if (!w->arena || w->failed)
        return;
    if (slice != HU_NONE)
        w->path->beside_ns[class] += hu_beside_ns(&w->beside, slice, length);
    name = slice == HU_NONE ? 0 : w->r->g->ask->s.name[slice];
    place = hu_map_put(&w->row_of_key, (uint64_t) class << 32 | name);
    if (place && *place == HU_MAP_NONE) {
        *place = (uint32_t)w->rows.n;
        if (!hu_vec_push(w->arena, &w->rows, ((hu_path_row){.name = name, .class = (uint8_t) class})))
            place = NULL;
    }
    if (!place) {
        w->failed = true;
        return;
    }
    if (slice != HU_NONE && w->path->track_ns)
        w->path->track_ns[w->r->g->ask->s.track[slice]] += length;
    w->rows.at[*place].total_ns += length;
    w->rows.at[*place].count++;
}

/* Along a link; returns the kind of instant it comes from. */
static int follow(hu_walk *w, const hu_link *link, uint32_t *i)
{
    hu_walk_add(w, (hu_class)link->class, HU_NONE, hu_sweep_instant(w->r, link));
    *i = link->from;
    return link->at == HU_AT_OP_END ? HU_WALK_OP_END : link->at == HU_AT_OP_START ? HU_WALK_OP_START : HU_WALK_NODE_END;
}

static int leave_op_start(hu_walk *w, const hu_costs *c, uint32_t *i)
{
    const hu_replay *r = w->r;
    const hu_op     *op = &r->g->op[*i];
    const uint32_t   by = r->op_by[*i];

    if (op->frozen_ns && hu_sweep_follows(op, c))
        hu_walk_add(w, HU_CLASS_FROZEN, HU_NONE, w->now_ns - op->frozen_ns * c->scale);
    if (by == HU_BY_LAUNCH || by == HU_BY_HOST) {
        hu_walk_add(w, by == HU_BY_HOST ? HU_CLASS_FROZEN : HU_CLASS_LAUNCH, HU_NONE, r->node_begin[op->node]);
        *i = op->node;
        return HU_WALK_NODE_BEGIN;
    }
    if (by == HU_BY_BEFORE) {
        hu_walk_add(w, HU_CLASS_GAP, HU_NONE, r->op_end[r->op_before[*i]]);
        *i = r->op_before[*i];
        return HU_WALK_OP_END;
    }
    if (by == HU_BY_START) {
        hu_walk_add(w, HU_CLASS_FROZEN, HU_NONE, w->from_ns);
        return HU_WALK_WINDOW;
    }
    return follow(w, &r->g->link[by - HU_BY_LINK], i);
}

static int leave_node_end(hu_walk *w, uint32_t *i)
{
    const hu_replay *r = w->r;
    const hu_node   *n = &r->g->node[*i];
    const uint32_t   by = r->node_end_by[*i];

    if (by == HU_BY_OWN) {
        hu_walk_add(w, (hu_class)n->class, n->slice, r->node_begin[*i]);
        return HU_WALK_NODE_BEGIN;
    }
    if (by == HU_BY_FULL) {
        *i = r->g->op[n->ops].full;
        hu_walk_add(w, HU_CLASS_LAUNCH_CALL, n->slice, r->op_end[*i]);
        return HU_WALK_OP_END;
    }
    return follow(w, &r->g->link[by - HU_BY_LINK], i);
}

/* Did a node begin when the one before it on its thread ended, or when another thread handed over? */
static bool follows_lane(const hu_replay *r, uint32_t i)
{
    const uint32_t before = r->lane_before[i];

    return r->g->node[i].after == HU_NONE || r->node_begin[i] == (before == HU_NONE ? r->origin_ns : r->node_end[before]);
}

int hu_walk_first(const hu_replay *r, uint32_t last_op, uint32_t *i)
{
    const hu_graph *g = r->g;

    if (last_op != HU_NONE) {
        *i = last_op;
        return HU_WALK_OP_END;
    }
    if (g->mark[g->n_marks - 1].mark < g->n_nodes) {
        *i = g->mark[g->n_marks - 1].mark;
        return HU_WALK_NODE_BEGIN;
    }
    for (*i = (uint32_t)g->n_nodes - 1; g->node[*i].lane != g->main_lane && *i; --*i)
        ;
    return HU_WALK_NODE_END;
}

bool hu_walk_goes_on(hu_walk *w, int at)
{
    if (w->now_ns <= w->from_ns || at == HU_WALK_WINDOW)
        return false;
    assert(w->steps_left > 0);
    return w->steps_left-- > 0;
}

int hu_walk_step(hu_walk *w, const hu_costs *c, int at, uint32_t *i)
{
    const hu_replay *r = w->r;
    const hu_graph  *g = r->g;

    if (at == HU_WALK_OP_END) {
        hu_walk_add(w, (hu_class)g->op[*i].class, g->op[*i].slice, r->op_start[*i]);
        return HU_WALK_OP_START;
    }
    if (at == HU_WALK_OP_START)
        return leave_op_start(w, c, i);
    if (at == HU_WALK_NODE_END)
        return leave_node_end(w, i);
    if (!follows_lane(r, *i))
        return follow(w, &g->link[g->node[*i].after], i);
    *i = r->lane_before[*i];
    return *i == HU_NONE ? HU_WALK_WINDOW : HU_WALK_NODE_END;
}
