/* SPDX-License-Identifier: Apache-2.0
 * queue.c - back-pressure: a launch blocks while too many pieces of work of its stream are outstanding.
 *
 * How many is not a constant of nature (1,022 has been measured), so it is read off: at the return of launches that took far
 * longer than usual, the number of outstanding pieces is always the same.  Without this link a replay of a job that the
 * device limits agrees with the measurement to the last microsecond and predicts nonsense.
 */
#include <stdlib.h>

#include "base/sort.h"
#include "graph/build.h"

enum { FEWEST_BLOCKED = 8, LEAST_QUEUE = 64, LONG_CALL_NS = 20000, REACH_NS = 100000 };

static const double LONG_FACTOR = 4; /* of the median launch */
static const double SPREAD = 0.05;   /* of the queue's length, that half of the blocked launches agree within */

static bool is_blocked(const hu_building *b, const hu_node *n)
{
    const int64_t usual = b->g->calibration.call_ns[n->call];

    return n->n_ops && n->call >= HU_CALL_KERNEL && n->call <= HU_CALL_SET && n->cost_ns > LONG_CALL_NS &&
           (double)n->cost_ns > LONG_FACTOR * (double)usual;
}

/* The place on its stream of an operation, and how many there had ended by a time. */
static void outstanding_at(const hu_building *b, uint32_t op, uint32_t place, int64_t time_ns, int64_t *n)
{
    uint32_t low = b->stream_first[b->ops.at[op].stream], high = place + 1;

    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;

        if (hu_build_op_end(b, b->by_stream[middle]) <= time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    *n = (int64_t)place + 1 - low;
}

int hu_build_queue(hu_building *b, hu_error *err)
{
    int64_t  *depth = hu_arena_grow(b->ask->scratch, NULL, (b->nodes.n + 1) * sizeof *depth);
    uint32_t *place = hu_arena_grow(b->ask->scratch, NULL, (b->ops.n + 1) * sizeof *place);
    size_t    n = 0;
    int64_t   queue;

    if (!depth || !place)
        return hu_fail_memory(err);
    for (uint32_t k = 0; k < b->ops.n; k++)
        place[b->by_stream[k]] = k;
    for (uint32_t i = 0; i < b->nodes.n; i++) {
        const hu_node *node = &b->nodes.at[i];

        if (is_blocked(b, node)) {
            const uint32_t own = hu_graph_own_op(b->ops.at, node);

            if (own == HU_NONE)
                continue;
            outstanding_at(b, own, place[own], hu_build_node_end(b, i), &depth[n]);
            n += depth[n] >= LEAST_QUEUE;
        }
    }
    if (n < FEWEST_BLOCKED)
        return 0;
    hu_sort_i64(depth, n);
    queue = depth[n / 2];
    if ((double)(depth[3 * n / 4] - depth[n / 4]) > SPREAD * (double)queue)
        return 0;
    b->g->calibration.queue = queue;
    for (uint32_t i = 0; i < b->nodes.n; i++) {
        hu_node       *node = &b->nodes.at[i];
        const uint32_t own = node->call == HU_CALL_NONE ? HU_NONE : hu_graph_own_op(b->ops.at, node);
        uint32_t       full;

        if (own == HU_NONE || place[own] < b->stream_first[b->ops.at[own].stream] + (uint32_t)queue)
            continue;
        full = b->by_stream[place[own] - (uint32_t)queue];
        if (full >= node->ops)
            continue; /* its own work: one launch of a graph, which takes one place */
        b->ops.at[node->ops].full = full;
        if (is_blocked(b, node) && llabs(hu_build_node_end(b, i) - hu_build_op_end(b, b->ops.at[node->ops].full)) < REACH_NS)
            node->cost_ns = b->g->calibration.call_ns[node->call];
    }
    hu_arena_drop(b->ask->scratch, depth);
    hu_arena_drop(b->ask->scratch, place);
    return 0;
}
