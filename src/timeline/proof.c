/* SPDX-License-Identifier: Apache-2.0
 * proof.c - which slice shows best what a finding says.
 *
 * What an edit takes from the cost of each piece of the graph is added to its slice, and on host threads to all slices
 * around it.  A slice is a proof when the edit takes at least half of it; the largest such one counts, and in it the
 * innermost slice that still has three quarters: not the step but its loader, not the loader but the call that it waits in.
 */
#include "timeline/proof.h"

#include "base/map.h"

typedef struct {
    uint32_t slice, heir; /* heir: its child with the most; a place in `list`, HU_NONE */
    int64_t  taken_ns;
} share;

typedef struct {
    const hu_graph *g;
    hu_slices       s;
    hu_arena       *arena;
    hu_map          place; /* slice: its place in `list` */
    HU_VEC(share) list;
    bool failed; /* no memory */
} tally;

static share *share_of(tally *t, uint32_t slice)
{
    uint32_t *place = hu_map_put(&t->place, slice);

    if (place && *place == HU_MAP_NONE) {
        const share fresh = {.slice = slice, .heir = HU_NONE};

        *place = (uint32_t)t->list.n;
        if (!hu_vec_push(t->arena, &t->list, fresh))
            place = NULL;
    }
    t->failed |= !place;
    return place ? &t->list.at[*place] : NULL;
}

/* No more than the slice is long: a node of merged calls stands for several slices. */
static void add(tally *t, uint32_t slice, int64_t ns)
{
    if (slice == HU_NONE || ns <= 0)
        return;
    ns = ns < t->s.dur_ns[slice] ? ns : t->s.dur_ns[slice];
    while (slice != HU_NONE && !t->failed) {
        share *x = share_of(t, slice);

        if (x)
            x->taken_ns += ns;
        slice = hu_kind_in(t->s.kind[slice], HU_KINDS_DEVICE) ? HU_NONE : t->s.parent[slice];
    }
}

static void find_heirs(tally *t)
{
    for (uint32_t i = 0; i < t->list.n; i++) {
        const uint32_t slice = t->list.at[i].slice;
        const bool     is_device = hu_kind_in(t->s.kind[slice], HU_KINDS_DEVICE);
        const uint32_t around = is_device || t->s.parent[slice] == HU_NONE ? HU_MAP_NONE
                                                                           : hu_map_get(&t->place, t->s.parent[slice]);

        if (around != HU_MAP_NONE) {
            share *x = &t->list.at[around];

            if (x->heir == HU_NONE || t->list.at[x->heir].taken_ns < t->list.at[i].taken_ns)
                x->heir = i;
        }
    }
}

/* The slice, or HU_NONE. */
static uint32_t best_of(tally *t)
{
    const share *best = NULL;

    find_heirs(t);
    for (size_t i = 0; i < t->list.n; i++) {
        const share *x = &t->list.at[i];

        if (x->taken_ns >= t->s.dur_ns[x->slice] / 2 && (!best || x->taken_ns > best->taken_ns))
            best = x;
    }
    while (best && best->heir != HU_NONE && t->list.at[best->heir].taken_ns / 3 >= best->taken_ns / 4)
        best = &t->list.at[best->heir];
    return best ? best->slice : HU_NONE;
}

static void clear(tally *t)
{
    hu_map_clear(&t->place);
    t->list.n = 0;
}

/* What a call waits for does not cost it anything: where it waits no longer, that is what is taken. */
static void add_edit(tally *t, const hu_costs *c)
{
    for (size_t i = 0; i < t->g->n_nodes; i++) {
        const hu_node *n = &t->g->node[i];
        const int64_t  wait = c->node_flags[i] & HU_EDIT_NO_WAIT && n->n_waits ? n->seen_ns - n->cost_ns : 0;

        add(t, n->slice, n->cost_ns - c->node[i] + (wait > 0 ? wait : 0));
    }
    for (size_t i = 0; i < t->g->n_ops; i++)
        add(t, t->g->op[i].slice, c->op_flags[i] & HU_EDIT_DETACHED ? t->g->op[i].cost_ns : t->g->op[i].cost_ns - c->op[i]);
}

static void add_class(tally *t, hu_class class)
{
    for (size_t i = 0; i < t->g->n_nodes; i++)
        if (t->g->node[i].class == class)
            add(t, t->g->node[i].slice, t->g->node[i].cost_ns);
    for (size_t i = 0; i < t->g->n_ops; i++)
        if (t->g->op[i].class == class)
            add(t, t->g->op[i].slice, t->g->op[i].cost_ns);
}

int hu_proofs_build(hu_simulation *s, const hu_findings *findings, hu_arena *scratch, hu_proof *out, hu_error *err)
{
    tally t = {.g = &s->graph, .s = hu_trace_slices(s->graph.ask->trace), .arena = scratch};
    int   n = 0;

    if (!hu_map_init(&t.place, scratch, 1024))
        return hu_fail_memory(err);
    for (size_t i = 0; i < findings->n; i++) {
        const hu_finding *f = &findings->at[i];
        hu_costs         *costs = hu_pricer_costs(s->pricer);

        if (f->edit.kind == HU_EDIT_KINDS || hu_edit_is_joint(f->edit.kind))
            continue;
        clear(&t);
        hu_edit_apply(hu_pricer_facts(s->pricer), &f->edit, costs);
        add_edit(&t, costs);
        out[n] = (hu_proof){.rule = f->rule, .class = HU_CLASS_COUNT, .slice = best_of(&t)};
        n += out[n].slice != HU_NONE;
    }
    for (hu_class c = 0; c < HU_CLASS_COUNT; c++) {
        clear(&t);
        add_class(&t, c);
        out[n] = (hu_proof){.class = c, .slice = best_of(&t)};
        n += out[n].slice != HU_NONE;
    }
    return t.failed ? hu_fail_memory(err) : n;
}
