/* SPDX-License-Identifier: Apache-2.0
 * graph.c - puts a graph together: each stage adds what the ones before it cannot know. */
#include <assert.h>

#include "graph/build.h"
#include "graph/cold.h"
#include "graph/effect.h"
#include "graph/merge.h"

/* Chains become runs of one table. */
static bool pack(hu_building *b)
{
    hu_graph *g = b->g;
    hu_link  *link = hu_arena_alloc(b->ask->arena, (b->links.n + 1) * sizeof *link);
    size_t    n = 0;

    if (!link)
        return false;
    for (size_t i = 0; i < b->ops.n; i++) {
        uint32_t at = b->ops.at[i].deps;

        b->ops.at[i].deps = (uint32_t)n;
        for (; at != HU_NONE; at = b->links.at[at].next)
            link[n++] = b->links.at[at].link;
        b->ops.at[i].n_deps = (uint32_t)n - b->ops.at[i].deps;
    }
    for (size_t i = 0; i < b->nodes.n; i++) {
        hu_node *node = &b->nodes.at[i];
        uint32_t at = node->waits;

        node->waits = (uint32_t)n;
        for (; at != HU_NONE; at = b->links.at[at].next)
            link[n++] = b->links.at[at].link;
        node->n_waits = (uint32_t)n - node->waits;
        if (node->after != HU_NONE) {
            link[n] = b->links.at[node->after].link;
            node->after = (uint32_t)n++;
        }
    }
    g->link = link;
    g->n_links = n;
    hu_arena_trim(b->ask->arena, b->nodes.at, b->nodes.n * sizeof *b->nodes.at);
    g->node = b->nodes.at;
    g->n_nodes = b->nodes.n;
    g->merged = b->merged.at;
    g->op = b->ops.at;
    g->n_ops = b->ops.n;
    return true;
}

int hu_graph_build(const hu_ask *ask, const hu_graph_options *options, hu_graph *out, hu_error *err)
{
    hu_building  b = {.g = out, .ask = ask};
    const size_t most = options->max_slices ? options->max_slices : HU_GRAPH_SLICES;
    int          rc;

    *out = (hu_graph){.ask = ask, .covered = 1};
    b.focus = options->focus;
    b.label = hu_arena_alloc(ask->scratch, hu_trace_string_count(ask->trace) + 1);
    if (!b.label)
        return hu_fail_memory(err);
    memset(b.label, HU_UNLABELLED, hu_trace_string_count(ask->trace) + 1);
    if (!hu_build_window(&b, most))
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "the trace has no time to replay");
    if (!hu_merge_prepare(&b, most))
        return hu_fail_memory(err);
    if (out->is_whole && !b.merges && ask->s.n > most)
        hu_build_shorten(&b, (double)most / (double)ask->s.n);
    if (!hu_cold_find(ask, ask->scratch, &b.cold_of_call) || !hu_cold_find_profiled(ask, ask->scratch, &b.own_of_call))
        return hu_fail_memory(err);
    if ((rc = hu_build_lanes(&b, most, err)) < 0 || (rc = hu_build_ops(&b, err)) < 0 ||
        (rc = hu_build_streams(&b, err)) < 0 || (rc = hu_build_events(&b, err)) < 0 ||
        (rc = hu_build_calibrate(&b, err)) < 0 || (rc = hu_build_residuals(&b, err)) < 0 ||
        (rc = hu_build_waits(&b, err)) < 0 || (rc = hu_build_queue(&b, err)) < 0 || (rc = hu_build_handoffs(&b, err)) < 0 ||
        (rc = hu_build_wakes(&b, err)) < 0 || (rc = hu_build_joins(&b, err)) < 0 || (rc = hu_build_loaders(&b, err)) < 0 ||
        (rc = hu_build_stalls(&b, err)) < 0)
        return rc;
    if (!pack(&b))
        return hu_fail_memory(err);
    assert(hu_graph_is_sound(out));
    out->from_ns = b.from_ns;
    out->step_ns = (double)(out->mark[out->n_marks - 1].end_ns - out->mark[0].end_ns) / (double)(out->n_marks - 1);
    if (!(out->step_ns > 0))
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "the trace has no time to replay");
    return 0;
}

/* Does [first, first + count) lie in [0, n)? */
static bool has(size_t n, uint32_t first, uint32_t count)
{
    return count == 0 || (first < n && count <= n - first);
}

static bool is_row(size_t n, uint32_t row)
{
    return row == HU_NONE || row < n;
}

/* Does a link come from a node before `node`, or from an operation before `op`? */
static bool is_earlier(const hu_graph *g, uint32_t link, uint32_t node, uint32_t op)
{
    return g->link[link].from < (g->link[link].at == HU_AT_NODE_END ? node : op);
}

static bool is_sound_op(const hu_graph *g, uint32_t i)
{
    const hu_op *op = &g->op[i];

    if (op->node >= g->n_nodes || op->stream >= g->n_streams || !is_row(i, op->before) ||
        !has(g->n_links, op->deps, op->n_deps) || op->step < -1 || (op->step >= 0 && (size_t)op->step + 1 >= g->n_marks))
        return false;
    for (uint32_t k = op->deps; k < op->deps + op->n_deps; k++)
        if (!is_earlier(g, k, op->node, i))
            return false;
    return true;
}

static bool is_sound_node(const hu_graph *g, uint32_t i, size_t *ops)
{
    const hu_node *n = &g->node[i];

    /* operations stand in the order of their nodes, so that those of one node are its own alone */
    if (n->lane >= g->n_lanes || n->ops != *ops || !has(g->n_ops, n->ops, n->n_ops) ||
        !has(g->n_links, n->waits, n->n_waits) || !is_row(g->n_links, n->after))
        return false;
    *ops += n->n_ops;
    for (uint32_t k = n->ops; k < n->ops + n->n_ops; k++)
        if (g->op[k].node != i || !is_row(n->ops, g->op[k].full))
            return false;
    for (uint32_t k = n->waits; k < n->waits + n->n_waits; k++)
        if (!is_earlier(g, k, i, n->ops + n->n_ops))
            return false;
    return n->after == HU_NONE || is_earlier(g, n->after, i, n->ops);
}

bool hu_graph_is_sound(const hu_graph *g)
{
    size_t ops = 0;

    if (g->n_marks == 0)
        return false;
    for (uint32_t i = 0; i < g->n_ops; i++)
        if (!is_sound_op(g, i))
            return false;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        if (!is_sound_node(g, i, &ops))
            return false;
    for (size_t i = 0; i < g->n_marks; i++)
        if (g->mark[i].mark > g->n_nodes)
            return false;
    for (size_t i = 0; i < g->n_effects; i++)
        if (!hu_effect_is_sound(g, g->effect[i].changes))
            return false;
    return ops == g->n_ops;
}

static void *copy_rows(hu_arena *arena, const void *rows, size_t bytes)
{
    void *copy = hu_arena_alloc(arena, bytes + 1);

    if (copy && bytes)
        memcpy(copy, rows, bytes);
    return copy;
}

hu_graph *hu_graph_copy(const hu_graph *g, hu_arena *arena)
{
    hu_graph *copy = hu_arena_alloc(arena, sizeof *copy);

    if (!copy)
        return NULL;
    *copy = *g;
    copy->ask = NULL;
    copy->merged = NULL;
    copy->node = copy_rows(arena, g->node, g->n_nodes * sizeof *g->node);
    copy->op = copy_rows(arena, g->op, g->n_ops * sizeof *g->op);
    copy->link = copy_rows(arena, g->link, g->n_links * sizeof *g->link);
    copy->mark = copy_rows(arena, g->mark, g->n_marks * sizeof *g->mark);
    copy->effect = copy_rows(arena, g->effect, g->n_effects * sizeof *g->effect);
    for (size_t i = 0; copy->effect && i < g->n_effects; i++) {
        copy->effect[i].changes = hu_arena_copy(arena, g->effect[i].changes);
        if (!copy->effect[i].changes.p)
            return NULL;
    }
    return copy->node && copy->op && copy->link && copy->mark && copy->effect ? copy : NULL;
}

uint32_t hu_graph_main_track(const hu_graph *g)
{
    uint32_t lane = 0;

    for (uint32_t t = 0; g->ask && t < g->ask->n_tracks; t++)
        if (g->ask->tracks[t].type == HU_TRACK_HOST && lane++ == g->main_lane)
            return t;
    return HU_NONE;
}

static const struct {
    const char *key, *words;
} classes[] = {
#define C(id, key, words) [HU_CLASS_##id] = {key, words},
    HU_CLASSES(C)
#undef C
};

const char *hu_class_key(hu_class c)
{
    return classes[c].key;
}

const char *hu_class_words(hu_class c)
{
    return classes[c].words;
}
