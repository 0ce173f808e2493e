/* SPDX-License-Identifier: Apache-2.0
 * accumulation.c - forward, backward, forward, backward, …, optimizer: a round.
 *
 * A round reduces too often when each of its backward passes all-reduces the same buckets in the same order, by their bytes
 * and type, as its last one does: gradients are summed over the passes, and one reduction of the sum is the same.  What a
 * group all-reduces in forward too belongs to the layers (tensor parallelism, batch norm over ranks), and is no gradient.
 */
#include "graph/accumulation.h"

#include <stdlib.h>

#include "analyze/traffic.h"
#include "base/hash.h"

enum { SCALAR_BYTES = 64, FEWEST_PASSES = 2 };

typedef struct {
    uint64_t buckets; /* what it reduces, in its order */
    int64_t  calls, bytes;
} pass;

typedef struct {
    const hu_graph *g;
    hu_phase_spans  spans;
    hu_traffic      traffic;
    uint8_t        *is_of_layers; /* by group */
    pass           *pass;         /* by span; of backward */
    uint8_t        *is_more;      /* by span: its reductions are superfluous */
    hu_intervals    more;         /* when these ran */
} work;

static bool is_reduction(const work *w, const hu_traffic_call *c)
{
    return c->kind == HU_TRAFFIC_ALL_REDUCE && !c->is_integer && !c->is_orphan && c->bytes > SCALAR_BYTES &&
           !w->is_of_layers[c->group];
}

/* The backward pass that a call belongs to: gradients are reduced in it, or right behind it; HU_NONE. */
static uint32_t pass_of(const work *w, const hu_traffic_call *c)
{
    uint32_t k = c->span;

    if (c->slot != HU_SLOT_BACKWARD && c->slot != HU_SLOT_AFTER)
        return HU_NONE;
    while (k != HU_NONE && w->spans.at[k].phase != HU_PHASE_BACKWARD)
        k = k ? k - 1 : HU_NONE;
    return k;
}

static void find_passes(work *w)
{
    for (size_t i = 0; i < w->traffic.n; i++)
        if (w->traffic.at[i].slot == HU_SLOT_FORWARD && w->traffic.at[i].kind == HU_TRAFFIC_ALL_REDUCE &&
            w->traffic.at[i].bytes > SCALAR_BYTES)
            w->is_of_layers[w->traffic.at[i].group] = 1;
    for (size_t i = 0; i < w->traffic.n; i++) {
        const hu_traffic_call *c = &w->traffic.at[i];
        const uint32_t         k = is_reduction(w, c) ? pass_of(w, c) : HU_NONE;

        if (k == HU_NONE)
            continue;
        w->pass[k].buckets = hu_hash_mix(w->pass[k].buckets + hu_hash_bytes(c->dtype.p, c->dtype.n),
                                         hu_hash_u64((uint64_t)c->bytes ^ (uint64_t)c->group << 48));
        w->pass[k].calls++;
        w->pass[k].bytes += c->bytes;
    }
}

/* The backward passes among the spans [first, end), which an optimizer ends. */
static void judge_round(work *w, size_t first, size_t end, hu_accumulation *out)
{
    const pass *last = NULL;
    int64_t     n = 0;

    for (size_t k = first; k < end; k++)
        if (w->spans.at[k].phase == HU_PHASE_BACKWARD)
            last = &w->pass[k];
    for (size_t k = first; last && last->calls && k < end; k++) {
        if (w->spans.at[k].phase != HU_PHASE_BACKWARD)
            continue;
        if (w->pass[k].buckets != last->buckets || w->pass[k].calls != last->calls)
            return;
        n++;
    }
    if (n < FEWEST_PASSES)
        return;
    for (size_t k = first; k < end; k++)
        w->is_more[k] = w->spans.at[k].phase == HU_PHASE_BACKWARD && &w->pass[k] != last;
    out->rounds++;
    out->passes += n;
    out->calls += n * last->calls;
    out->more_calls += (n - 1) * last->calls;
    out->bytes = last->bytes;
}

static void judge_rounds(work *w, hu_accumulation *out)
{
    size_t first = 0;

    for (size_t k = 0; k < w->spans.n; k++) {
        if (w->spans.at[k].phase != HU_PHASE_OPTIMIZER)
            continue;
        judge_round(w, first, k, out);
        first = k + 1;
    }
}

/* Does a time lie in a reduction that is not needed? */
static bool is_superfluous(const work *w, int64_t time_ns)
{
    size_t low = 0, high = w->more.n;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (w->more.at[middle].end_ns <= time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low < w->more.n && w->more.at[low].start_ns <= time_ns;
}

static bool mark_rows(work *w, hu_arena *arena, hu_accumulation *out)
{
    const hu_graph *g = w->g;
    hu_arena       *scratch = g->ask->scratch;

    for (size_t i = 0; i < w->traffic.n; i++) {
        const hu_traffic_call *c = &w->traffic.at[i];
        const uint32_t         k = is_reduction(w, c) ? pass_of(w, c) : HU_NONE;

        if (k != HU_NONE && w->is_more[k] && !hu_intervals_add(scratch, &w->more, c->start_ns, c->start_ns + c->dur_ns))
            return false;
    }
    out->op = hu_arena_calloc(arena, g->n_ops + 1, 1);
    out->node = hu_arena_calloc(arena, g->n_nodes + 1, 1);
    if (!out->op || !out->node || !hu_intervals_unite(scratch, &w->more))
        return false;
    for (size_t i = 0; i < g->n_ops; i++)
        out->op[i] = g->op[i].class == HU_CLASS_COMM && is_superfluous(w, g->op[i].start_ns);
    for (size_t i = 0; i < g->n_nodes; i++)
        out->node[i] = g->node[i].class == HU_CLASS_HOST_COMM && is_superfluous(w, g->node[i].start_ns);
    return true;
}

bool hu_accumulation_find(const hu_graph *g, hu_arena *arena, hu_accumulation *out)
{
    hu_arena *scratch = g->ask->scratch;
    hu_error  unused;
    work      w = {.g = g};

    *out = (hu_accumulation){0};
    if (hu_phase_spans_find(g->ask, &w.spans, &unused) < 0)
        return false;
    if (!w.spans.has_backward)
        return true;
    if (hu_traffic_list(g->ask, &w.spans, &w.traffic, &unused) < 0)
        return false;
    w.is_of_layers = hu_arena_calloc(scratch, w.traffic.n_groups + 1, 1);
    w.pass = hu_arena_calloc(scratch, w.spans.n + 1, sizeof *w.pass);
    w.is_more = hu_arena_calloc(scratch, w.spans.n + 1, 1);
    if (!w.is_of_layers || !w.pass || !w.is_more)
        return false;
    find_passes(&w);
    judge_rounds(&w, out);
    return out->rounds == 0 || mark_rows(&w, arena, out);
}
