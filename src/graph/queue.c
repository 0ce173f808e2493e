/* SPDX-License-Identifier: Apache-2.0
 * queue.c - back-pressure: a launch blocks while too many pieces of work of its stream are outstanding.
 *
 * How many is not a constant of nature (1,022 has been measured), so it is read off in two ways.  At the return of
 * launches that took far longer than usual, the number of outstanding pieces is always the same.  And where nearly every
 * launch waits, so that none takes longer than usual, never more than so many are outstanding, and launches at that
 * number return just when the device ends a piece, not at any time in between.  Without this link a replay of a job that
 * the device limits agrees with the measurement to the last microsecond and predicts nonsense.
 */
#include <stdlib.h>

#include "base/sort.h"
#include "graph/build.h"

enum {
    FEWEST_BLOCKED = 8,
    FEWEST_LOCKED = 32,
    LEAST_QUEUE = 64,
    LONG_CALL_NS = 20000,
    REACH_NS = 100000,
    FREE_CALL_NS = 7000, /* a launch that does not wait, where a trace has none */
};

static const double LONG_FACTOR = 4; /* of the median launch */
static const double SPREAD = 0.05;   /* of the queue's length, that half of the blocked launches agree within */
static const double SHARED = 0.25;   /* of it, that other streams may have taken */
static const double TOP = 0.005;     /* of the largest number outstanding, that launches are seen below it */
static const double LOCKED = 0.3;    /* of the way from one end of work to the next; half by chance */

/* A launch at its return. */
typedef struct {
    int64_t outstanding; /* pieces of its stream, its own among them */
    double  phase;       /* how far the device was from the end of one piece to that of the next; 1 before the first */
} launch_return;

static bool is_launch(const hu_node *n)
{
    return n->n_ops && n->call >= HU_CALL_KERNEL && n->call <= HU_CALL_SET;
}

static bool is_blocked(const hu_building *b, const hu_node *n)
{
    const int64_t usual = b->g->calibration.call_ns[n->call];

    return is_launch(n) && n->cost_ns > LONG_CALL_NS && (double)n->cost_ns > LONG_FACTOR * (double)usual;
}

/* `place`: of the launched operation on its stream. */
static launch_return return_of(const hu_building *b, uint32_t op, uint32_t place, int64_t time_ns)
{
    const uint32_t first = b->stream_first[b->ops.at[op].stream];
    uint32_t       low = first, high = place + 1;
    int64_t        from, to;

    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;

        if (hu_build_op_end(b, b->by_stream[middle]) <= time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == first || low > place)
        return (launch_return){(int64_t)place + 1 - low, 1};
    from = hu_build_op_end(b, b->by_stream[low - 1]);
    to = hu_build_op_end(b, b->by_stream[low]);
    return (launch_return){(int64_t)place + 1 - low, to > from ? (double)(time_ns - from) / (double)(to - from) : 1};
}

/* The number at which launches that took long returned; 0: they do not agree, or are few.  Sorts. */
static int64_t length_by_blocked(int64_t *depth, size_t n)
{
    if (n < FEWEST_BLOCKED)
        return 0;
    hu_sort_i64(depth, n);
    return (double)(depth[3 * n / 4] - depth[n / 4]) > SPREAD * (double)depth[n / 2] ? 0 : depth[n / 2];
}

/* The number that is never exceeded, if launches there wait for the device; 0: they do not.  Sorts the list. */
static int64_t length_by_locked(launch_return *at, size_t n, int64_t *depth)
{
    int64_t most = 0, best = 0;
    size_t  top = 0, locked = 0, longest = 0;

    for (size_t i = 0; i < n; i++)
        most = at[i].outstanding > most ? at[i].outstanding : most;
    for (size_t i = 0; i < n; i++) {
        if ((double)at[i].outstanding < (1 - TOP) * (double)most - 1)
            continue;
        depth[top++] = at[i].outstanding;
        locked += at[i].phase < LOCKED;
    }
    if (most < LEAST_QUEUE || top < FEWEST_LOCKED || 2 * locked < top)
        return 0;
    hu_sort_i64(depth, top);
    for (size_t i = 0, from = 0; i < top; i++) {
        from = i && depth[i] == depth[i - 1] ? from : i;
        if (i - from >= longest) {
            longest = i - from;
            best = depth[i];
        }
    }
    return best;
}

static int64_t find_length(const hu_building *b, const uint32_t *place, launch_return *at, int64_t *depth)
{
    size_t  n = 0, blocked = 0;
    int64_t queue;

    for (uint32_t i = 0; i < b->nodes.n; i++) {
        const hu_node *node = &b->nodes.at[i];
        const uint32_t own = is_launch(node) ? hu_graph_own_op(b->ops.at, node) : HU_NONE;

        if (own == HU_NONE)
            continue;
        at[n] = return_of(b, own, place[own], hu_build_node_end(b, i));
        if (at[n].outstanding >= LEAST_QUEUE && is_blocked(b, node))
            depth[blocked++] = at[n].outstanding;
        n++;
    }
    queue = length_by_blocked(depth, blocked);
    return queue ? queue : length_by_locked(at, n, depth);
}

/* What makes room for the launch of a node; HU_NONE: nothing has to. */
static uint32_t makes_room(const hu_building *b, const uint32_t *place, const hu_node *node)
{
    const uint32_t own = node->call == HU_CALL_NONE ? HU_NONE : hu_graph_own_op(b->ops.at, node);
    const int64_t  queue = b->g->calibration.queue;
    uint32_t       full;

    if (own == HU_NONE || place[own] < b->stream_first[b->ops.at[own].stream] + (uint32_t)queue)
        return HU_NONE;
    full = b->by_stream[place[own] - (uint32_t)queue];
    return full < node->ops ? full : HU_NONE; /* its own work: one launch of a graph, which takes one place */
}

/* What a launch of a kind takes that finds room at once: the usual one, unless most of a kind had to wait. */
static void measure_free(const hu_building *b, const uint32_t *place, int64_t *samples, int64_t *free_ns)
{
    for (hu_call_kind k = HU_CALL_KERNEL; k <= HU_CALL_SET; k++) {
        const int64_t usual = b->g->calibration.call_ns[k];
        size_t        n = 0;
        int64_t       median_ns;

        for (uint32_t i = 0; i < b->nodes.n; i++) {
            const hu_node *node = &b->nodes.at[i];
            const uint32_t full = node->call == k ? makes_room(b, place, node) : HU_NONE;

            if (node->call == k && node->n_ops && (full == HU_NONE || hu_build_op_end(b, full) <= node->start_ns))
                samples[n++] = node->cost_ns;
        }
        median_ns = n ? hu_sort_nth_i64(samples, n, n / 2) : 0;
        free_ns[k] = n >= FEWEST_BLOCKED && median_ns < usual                           ? median_ns
                     : k != HU_CALL_GRAPH && n < FEWEST_BLOCKED && usual > FREE_CALL_NS ? FREE_CALL_NS
                                                                                        : usual;
    }
}

/*
 * Where streams share a queue, its part that is one stream's is now longer, now shorter: what a launch waited for is what
 * ended just before it returned, on any stream, where its own has about as much outstanding as usual.
 */
static uint32_t made_room(const hu_building *b, const uint32_t *place, const hu_node *node, int64_t returned)
{
    const uint32_t own = hu_graph_own_op(b->ops.at, node);
    const int64_t  queue = b->g->calibration.queue, outstanding = return_of(b, own, place[own], returned).outstanding;
    const uint32_t ended = hu_build_ended_before(b, node->ops, true, returned);

    if (llabs(outstanding - queue) > (int64_t)(SHARED * (double)queue) || ended == HU_NONE)
        return HU_NONE;
    return hu_build_op_end(b, ended) > node->start_ns && returned - hu_build_op_end(b, ended) < REACH_NS ? ended : HU_NONE;
}

static void link_launches(hu_building *b, const uint32_t *place, const int64_t *free_ns)
{
    for (uint32_t i = 0; i < b->nodes.n; i++) {
        hu_node       *node = &b->nodes.at[i];
        const uint32_t full = makes_room(b, place, node);
        const int64_t  end = full != HU_NONE ? hu_build_op_end(b, full) : 0, returned = hu_build_node_end(b, i);

        if (full == HU_NONE)
            continue;
        b->ops.at[node->ops].full = full;
        if (is_launch(node) && is_blocked(b, node) && llabs(returned - end) >= REACH_NS) {
            const uint32_t other = made_room(b, place, node, returned);

            if (other != HU_NONE) {
                b->ops.at[node->ops].full = other;
                node->cost_ns = free_ns[node->call];
            }
            continue;
        }
        if (!is_launch(node) || node->cost_ns <= free_ns[node->call] || llabs(returned - end) >= REACH_NS)
            continue;
        if (is_blocked(b, node) || (node->start_ns < end && end <= returned))
            node->cost_ns = free_ns[node->call];
    }
}

int hu_build_queue(hu_building *b, hu_error *err)
{
    int64_t       *samples = hu_arena_grow(b->ask->scratch, NULL, (b->nodes.n + 1) * sizeof *samples);
    uint32_t      *place = hu_arena_grow(b->ask->scratch, NULL, (b->ops.n + 1) * sizeof *place);
    launch_return *at = hu_arena_grow(b->ask->scratch, NULL, (b->nodes.n + 1) * sizeof *at);
    int64_t        free_ns[HU_CALL_KINDS] = {0};

    if (!samples || !place || !at)
        return hu_fail_memory(err);
    for (uint32_t k = 0; k < b->ops.n; k++)
        place[b->by_stream[k]] = k;
    b->g->calibration.queue = find_length(b, place, at, samples);
    if (b->g->calibration.queue) {
        measure_free(b, place, samples, free_ns);
        link_launches(b, place, free_ns);
    }
    hu_arena_drop(b->ask->scratch, samples);
    hu_arena_drop(b->ask->scratch, place);
    hu_arena_drop(b->ask->scratch, at);
    return 0;
}
