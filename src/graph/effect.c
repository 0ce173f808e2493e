/* SPDX-License-Identifier: Apache-2.0
 * effect.c - changes as numbers of varying length: first those of the nodes, then those of the operations.
 *
 *     gap to the one before (0 ends the list), flags of both flavours, the usual cost, and the free one where it differs
 */
#include "graph/effect.h"

#include "base/protobuf.h"
#include "base/protobuf_out.h"

enum {
    FLAG_BITS = 2, /* of HU_EDIT_NO_WAIT and HU_EDIT_DETACHED */
    FLAGS = (1 << FLAG_BITS) - 1,
    SAME = 1 << 2 * FLAG_BITS, /* both flavours leave the same cost */
};

#define MOST_COST_NS (INT64_C(1) << 56)

typedef struct {
    uint32_t row;
    uint8_t  flags[2]; /* usual, free */
    int64_t  cost_ns[2];
} change;

/* Costs and flags of one kind of row, in both flavours. */
typedef struct {
    const int64_t *usual, *free;
    const uint8_t *usual_flags, *free_flags;
} columns;

static uint64_t as_cost(int64_t cost_ns)
{
    return cost_ns < 0 ? 0 : cost_ns > MOST_COST_NS ? (uint64_t)MOST_COST_NS : (uint64_t)cost_ns;
}

static void write_change(hu_pbw *w, const columns *c, uint32_t i, uint32_t *last)
{
    const uint64_t usual = as_cost(c->usual[i]), free = as_cost(c->free[i]);

    hu_pb_write_varint(w, i + 1 - *last);
    hu_pb_write_varint(w,
                       (uint64_t)c->usual_flags[i] | (uint64_t)c->free_flags[i] << FLAG_BITS | (usual == free ? SAME : 0));
    hu_pb_write_varint(w, usual);
    if (usual != free)
        hu_pb_write_varint(w, free);
    *last = i + 1;
}

static bool is_changed(const columns *c, uint32_t i, int64_t cost_ns)
{
    return c->usual[i] != cost_ns || c->free[i] != cost_ns || c->usual_flags[i] || c->free_flags[i];
}

bool hu_effect_record(const hu_graph *g, const hu_costs *usual, const hu_costs *free, hu_arena *arena, hu_str *out)
{
    const columns nodes = {usual->node, free->node, usual->node_flags, free->node_flags},
                  ops = {usual->op, free->op, usual->op_flags, free->op_flags};
    hu_arena *scratch = hu_arena_new();
    hu_pbw    w;
    uint32_t  last = 0, none = 0;
    size_t    n;
    bool      ok;

    if (!scratch)
        return false;
    hu_pbw_init(&w, scratch);
    for (uint32_t i = 0; i < g->n_nodes; i++)
        if (is_changed(&nodes, i, g->node[i].cost_ns))
            write_change(&w, &nodes, i, &last);
    n = last;
    hu_pb_write_varint(&w, none);
    last = 0;
    for (uint32_t i = 0; i < g->n_ops; i++)
        if (is_changed(&ops, i, g->op[i].cost_ns))
            write_change(&w, &ops, i, &last);
    hu_pb_write_varint(&w, none);
    ok = !w.no_memory;
    *out = ok && n + last ? hu_arena_copy(arena, (hu_str){w.at, w.n}) : HU_STR("");
    hu_arena_free(scratch);
    return ok && out->p;
}

/* The next change of a list of `n` rows.  False at the end of the list, and at what is none: then m->bad. */
static bool read_change(hu_protobuf *m, size_t n, uint32_t *last, change *out)
{
    uint64_t gap = 0, flags = 0, usual = 0, free = 0;

    if (!hu_protobuf_varint(m, &gap) || gap == 0)
        return false;
    if (gap > n - *last || !hu_protobuf_varint(m, &flags) || flags > (SAME | FLAGS | FLAGS << FLAG_BITS) ||
        !hu_protobuf_varint(m, &usual) || usual > (uint64_t)MOST_COST_NS ||
        (!(flags & SAME) && (!hu_protobuf_varint(m, &free) || free > (uint64_t)MOST_COST_NS))) {
        m->bad = true;
        return false;
    }
    *last += (uint32_t)gap;
    *out = (change){.row = *last - 1,
                    .flags = {(uint8_t)(flags & FLAGS), (uint8_t)(flags >> FLAG_BITS & FLAGS)},
                    .cost_ns = {(int64_t)usual, (int64_t)(flags & SAME ? usual : free)}};
    return true;
}

/* What is left of a cost, of which another edit may have left less: the same share. */
static int64_t left_of(const change *x, hu_effect_flavour flavour, int64_t own_ns, int64_t cost_ns)
{
    const int64_t free = x->cost_ns[1];
    const int64_t wanted = flavour == HU_EFFECT_USUAL  ? x->cost_ns[0]
                           : flavour == HU_EFFECT_FREE ? free
                                                       : free + (own_ns - free) / 2;

    if (cost_ns == own_ns || own_ns <= 0)
        return wanted;
    return (int64_t)((double)cost_ns * ((double)wanted / (double)own_ns) + 0.5);
}

size_t hu_effect_apply(const hu_graph *g, hu_str changes, hu_effect_flavour flavour, hu_costs *c)
{
    const int   which = flavour == HU_EFFECT_USUAL ? 0 : 1;
    hu_protobuf m = hu_protobuf_of(changes);
    uint32_t    last = 0;
    size_t      n = 0;
    change      x;

    for (; changes.n && read_change(&m, g->n_nodes, &last, &x); n++) {
        c->node[x.row] = left_of(&x, flavour, g->node[x.row].cost_ns, c->node[x.row]);
        c->node_flags[x.row] |= x.flags[which];
    }
    for (last = 0; changes.n && !m.bad && read_change(&m, g->n_ops, &last, &x); n++) {
        c->op[x.row] = left_of(&x, flavour, g->op[x.row].cost_ns, c->op[x.row]);
        c->op_flags[x.row] |= x.flags[which];
    }
    return n;
}

bool hu_effect_is_sound(const hu_graph *g, hu_str changes)
{
    hu_protobuf m = hu_protobuf_of(changes);
    uint32_t    last = 0;
    change      x;

    if (changes.n == 0)
        return true;
    while (read_change(&m, g->n_nodes, &last, &x))
        continue;
    last = 0;
    while (!m.bad && read_change(&m, g->n_ops, &last, &x))
        continue;
    return !m.bad && m.p == m.end;
}
