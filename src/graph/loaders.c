/* SPDX-License-Identifier: Apache-2.0
 * loaders.c - batches come from worker processes at their own pace.
 *
 * Where the main thread waits for a worker, the batch is there when the worker has it, however early the main thread asks: a
 * faster step only waits longer.  So from one such wait to the next there is a link as long as was seen between them.  It
 * holds while the workers are the slower side; a rare wait has a cause of its own, and workers that were far ahead in
 * between.
 */
#include "analyze/names.h"
#include "base/sort.h"
#include "graph/build.h"

enum { LEAST_WAIT_NS = 200000, FEWEST_WAITS = 3, REGULAR = 2 };

static const double FEW_TIMES = 3; /* the shortest fetch: longer ones waited */

typedef struct {
    int64_t  length_ns;
    uint32_t node; /* the longest of its nodes, in which it waits */
    size_t   number;
} fetch;

typedef HU_VEC(fetch) fetches;

/* The main thread's fetches: each a run of nodes that lie in the loader. */
static bool find_fetches(const hu_building *b, const hu_lane_nodes *l, fetches *out)
{
    bool inside = false;

    for (uint32_t k = l->first[b->g->main_lane]; k < l->first[b->g->main_lane + 1]; k++) {
        const uint32_t i = l->of_lane[k];
        const hu_node *n = &b->nodes.at[i];

        if (!(n->in & HU_IN_DATA)) {
            inside = false;
            continue;
        }
        if (!inside && !hu_vec_push(b->ask->scratch, out, ((fetch){0, i, out->n})))
            return false;
        inside = true;
        out->at[out->n - 1].length_ns += n->seen_ns;
        if (n->seen_ns > b->nodes.at[out->at[out->n - 1].node].seen_ns)
            out->at[out->n - 1].node = i;
    }
    return true;
}

/* Keeps those that waited; false when they are too few or too irregular for a pace. */
static bool keep_waits(hu_arena *scratch, fetches *f)
{
    int64_t *apart, shortest = INT64_MAX;
    size_t   n = 0;

    for (size_t i = 0; i < f->n; i++)
        shortest = f->at[i].length_ns < shortest ? f->at[i].length_ns : shortest;
    for (size_t i = 0; i < f->n; i++)
        if (f->at[i].length_ns >= LEAST_WAIT_NS &&
            ((double)f->at[i].length_ns > FEW_TIMES * (double)shortest || shortest >= LEAST_WAIT_NS))
            f->at[n++] = f->at[i];
    f->n = n;
    if (n < FEWEST_WAITS)
        return false;
    apart = hu_arena_alloc(scratch, n * sizeof *apart);
    if (!apart)
        return false;
    for (size_t i = 1; i < n; i++)
        apart[i - 1] = (int64_t)(f->at[i].number - f->at[i - 1].number);
    hu_sort_i64(apart, n - 1);
    return apart[n - 2] <= REGULAR * apart[(n - 1) / 2];
}

int hu_build_loaders(hu_building *b, hu_error *err)
{
    const hu_loader_kinds kinds = hu_names_loaders(b->ask->trace);
    hu_lane_nodes         l;
    fetches               f = {0};

    if (!kinds.has_workers || kinds.in_process)
        return 0;
    if (!hu_build_lane_nodes(b, &l) || !find_fetches(b, &l, &f))
        return hu_fail_memory(err);
    if (!keep_waits(b->ask->scratch, &f))
        return 0;
    for (size_t i = 1; i < f.n; i++) {
        const uint32_t now = f.at[i].node, before = f.at[i - 1].node;
        const int64_t  pace = hu_build_node_end(b, now) - hu_build_node_end(b, before);

        if (pace > INT32_MAX)
            continue;
        if (!hu_build_link_node(
                b, now, (hu_link){.from = before, .weight_ns = (int32_t)pace, .at = HU_AT_NODE_END, .class = HU_CLASS_DATA}))
            return hu_fail_memory(err);
        b->nodes.at[now].cost_ns = 0;
    }
    return 0;
}
