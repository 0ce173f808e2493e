/* SPDX-License-Identifier: Apache-2.0
 * commands.c - what waits for which command of OpenCL, as `holdup run` recorded it: nothing here is deduced from times.
 *
 * A wait list names commands, and so do the notes that are written of it: a "Command Wait" for each command that another one
 * waits for, a "Command Sync" for each that a call waits for, and a "Queue Sync" for a call that empties a queue.  A command
 * is the operation of its call.  A marker has none: it is the last one of its queue before it.  A barrier has none either,
 * and the next one of its queue waits.  In a queue out of order, all that come behind a barrier wait for all before it.
 */
#include "graph/build.h"

enum { LANE_STEP = 10000, MOST_STREAMS = 64, USUAL_RETURN_NS = 5000, EARLY_NS = 50000 };

/* Queues out of order are several streams (record/pf_opencl.c). */
static bool is_of_queue(const hu_building *b, uint32_t stream, int64_t queue)
{
    const int64_t number = b->stream_track[stream]->stream;

    return queue > 0 && number >= queue && (number - queue) % LANE_STEP == 0;
}

/* The last operation of a queue before a node, of all of its streams the one that ended last. */
static uint32_t last_of_queue(const hu_building *b, int64_t queue, uint32_t node)
{
    uint32_t best = HU_NONE;

    for (uint32_t s = 0; s < b->g->n_streams; s++) {
        const uint32_t op = is_of_queue(b, s, queue) ? hu_build_last_before(b, s, node) : HU_NONE;

        if (op != HU_NONE && (best == HU_NONE || hu_build_op_end(b, op) > hu_build_op_end(b, best)))
            best = op;
    }
    return best;
}

static uint32_t command_of(const hu_building *b, const hu_map *calls, const hu_sync_detail *d)
{
    const uint32_t node = d->wait_record > 0 ? hu_map_get(calls, (uint64_t)d->wait_record) : HU_MAP_NONE;
    const uint32_t own = node == HU_MAP_NONE ? HU_NONE : hu_graph_own_op(b->ops.at, &b->nodes.at[node]);

    return node == HU_MAP_NONE || own != HU_NONE ? own : last_of_queue(b, d->wait_stream, node);
}

/* The operation that a wait list holds back. */
static uint32_t held_back(const hu_building *b, uint32_t node, int64_t queue)
{
    uint32_t to = hu_graph_own_op(b->ops.at, &b->nodes.at[node]);

    for (uint32_t s = 0; s < b->g->n_streams && to == HU_NONE; s++)
        if (is_of_queue(b, s, queue))
            to = hu_build_first_from_node(b, s, node + 1);
    return to;
}

bool hu_build_command_wait(hu_building *b, const hu_map *calls, const hu_sync_detail *d, uint32_t node)
{
    const hu_link  link = {.from = command_of(b, calls, d), .at = HU_AT_OP_END, .class = HU_CLASS_EVENT};
    const uint32_t to = held_back(b, node, d->stream);

    if (link.from == HU_NONE || to == HU_NONE || link.from >= to || b->ops.at[link.from].stream == b->ops.at[to].stream)
        return true;
    b->g->calibration.event_links++;
    return hu_build_link_op(b, to, link);
}

bool hu_build_barrier(hu_building *b, const hu_sync_detail *d, uint32_t node)
{
    for (uint32_t s = 0; s < b->g->n_streams; s++) {
        const uint32_t to = is_of_queue(b, s, d->stream) ? hu_build_first_from_node(b, s, node + 1) : HU_NONE;

        for (uint32_t k = 0; k < b->g->n_streams && to != HU_NONE; k++) {
            const uint32_t from = k != s && is_of_queue(b, k, d->stream) ? hu_build_last_before(b, k, node) : HU_NONE;
            const hu_link  link = {.from = from, .at = HU_AT_OP_END, .class = HU_CLASS_EVENT};

            if (from == HU_NONE || from >= to)
                continue;
            b->g->calibration.event_links++;
            if (!hu_build_link_op(b, to, link))
                return false;
        }
    }
    return true;
}

/* Those that a call waits for; how many. */
static size_t awaited(const hu_building *b, const hu_map *calls, uint32_t node, const hu_sync_detail *d, bool is_queue,
                      uint32_t *out, size_t room)
{
    size_t n = 0;

    if (!is_queue) {
        const uint32_t op = command_of(b, calls, d);

        if (op != HU_NONE && room)
            out[n++] = op;
        return n;
    }
    for (uint32_t s = 0; s < b->g->n_streams && n < room; s++) {
        const uint32_t op = is_of_queue(b, s, d->stream) ? hu_build_last_before(b, s, node) : HU_NONE;

        if (op != HU_NONE)
            out[n++] = op;
    }
    return n;
}

bool hu_build_command_sync(hu_building *b, const hu_map *calls, const uint32_t *notes, size_t n_notes, uint32_t node,
                           bool *waited)
{
    const hu_ask  *ask = b->ask;
    const uint32_t queue_name = hu_trace_find_text(ask->trace, HU_STR("Queue Sync"));
    const int64_t  end = hu_build_node_end(b, node);
    uint32_t       ops[MOST_STREAMS];
    size_t         n = 0, kept = 0;
    int64_t        latest = INT64_MIN, weight;

    for (size_t i = 0; i < n_notes; i++)
        if (ask->s.detail[notes[i]] != HU_NONE)
            n += awaited(b, calls, node, hu_trace_sync_detail(ask->trace, ask->s.detail[notes[i]]),
                         ask->s.name[notes[i]] == queue_name, ops + n, MOST_STREAMS - n);
    for (size_t i = 0; i < n; i++) {
        const int64_t op_end = hu_build_op_end(b, ops[i]);

        if (op_end > end + EARLY_NS || b->ops.at[ops[i]].node > node)
            continue; /* the clocks say that it did not wait for that one */
        ops[kept++] = ops[i];
        latest = op_end > latest ? op_end : latest;
    }
    *waited = kept && latest > b->nodes.at[node].start_ns;
    weight = *waited ? end - latest : USUAL_RETURN_NS;
    weight = weight < INT32_MAX ? weight : INT32_MAX;
    for (size_t i = 0; i < kept; i++) {
        const hu_link link = {.from = ops[i], .weight_ns = (int32_t)weight, .at = HU_AT_OP_END, .class = HU_CLASS_RETURN};

        b->g->calibration.wait_links++;
        if (!hu_build_link_node(b, node, link))
            return false;
    }
    return true;
}
