/* SPDX-License-Identifier: Apache-2.0
 * waits.c - calls that return only when the device has done something.
 *
 * Some wait by definition: for all streams of the device, or for what was launched on one stream.  The synchronisation
 * record names the stream; without one it is taken to be the stream whose last work ended just before the return, and the
 * link counts as inferred.  A copy between the device and pageable memory waits for itself.  Allocation and release of
 * device memory wait when they are long and everything was drained at their return.
 *
 * The cost of a call that waits is what such a call takes when it does not.
 */
#include "graph/build.h"

enum {
    RETURN_NS = 60000,      /* from the end of the work to the return, at most */
    USUAL_RETURN_NS = 5000, /* where nothing was seen of it; 3 to 20 us were measured */
    EARLY_NS = 2000,        /* clocks of host and device disagree by so much */
    MOST_EARLY_NS = 30000,  /* or by so much, where a call that names what it waits for lasted EARLY_SHARE times as long */
    EARLY_SHARE = 100,
    LONG_CALL_NS = 20000, /* an allocation that takes longer may have waited */
    MOST_STREAMS = 64,
};

typedef struct {
    hu_building *b;
    hu_map       sync_of_call; /* correlation -> slice of the record */
    uint32_t     device_name, event_name;
    HU_VEC(uint32_t) notes; /* records of one call: those of a call of OpenCL are several */
} work;

static bool is_opencl(const hu_ask *ask, uint32_t slice)
{
    return hu_str_starts(hu_ask_name(ask, slice), HU_STR("Queue Sync")) ||
           hu_str_starts(hu_ask_name(ask, slice), HU_STR("Command Sync"));
}

static bool map_syncs(work *w)
{
    const hu_ask *ask = w->b->ask;

    if (!hu_map_init(&w->sync_of_call, ask->scratch, 64))
        return false;
    w->device_name = hu_trace_find_text(ask->trace, HU_STR("Context Sync"));
    w->event_name = hu_trace_find_text(ask->trace, HU_STR("Event Sync"));
    for (uint32_t i = 0; i < ask->s.n; i++) {
        uint32_t *place;

        if (ask->s.kind[i] != HU_KIND_SYNC || !ask->s.correlation[i])
            continue;
        place = hu_map_put(&w->sync_of_call, ask->s.correlation[i]);
        if (!place)
            return false;
        if (*place == HU_MAP_NONE || !is_opencl(ask, i))
            *place = i;
    }
    return true;
}

/* The records of a call: they are written one behind the other, from the first one that the map knows. */
static bool wait_commands(work *w, const hu_map *calls, uint32_t node, uint32_t first, bool *waited)
{
    const hu_ask  *ask = w->b->ask;
    const uint32_t correlation = ask->s.correlation[first];

    w->notes.n = 0;
    for (uint32_t i = first; i < ask->s.n; i++) {
        if (ask->s.kind[i] != HU_KIND_SYNC)
            continue;
        if (ask->s.correlation[i] != correlation)
            break;
        if (!hu_vec_push(ask->scratch, &w->notes, i))
            return false;
    }
    return hu_build_command_sync(w->b, calls, w->notes.at, w->notes.n, node, waited);
}

/* Adds a link with the weight that was seen; false when there is no memory. */
static bool wait_for(hu_building *b, uint32_t node, uint32_t op, uint8_t at, hu_class class)
{
    const int64_t from = at == HU_AT_OP_END ? hu_build_op_end(b, op) : b->ops.at[op].start_ns;
    const int64_t seen = hu_build_node_end(b, node) - from;
    const hu_link link = {
        .from = op, .weight_ns = seen > INT32_MAX ? INT32_MAX : (int32_t)seen, .at = at, .class = (uint8_t) class};

    b->g->calibration.wait_links++;
    return hu_build_link_node(b, node, link);
}

/* So much later than its return may end what a call waited for, by its own record. */
static int64_t early_ns(const hu_building *b, uint32_t node)
{
    const int64_t share = (hu_build_node_end(b, node) - b->nodes.at[node].start_ns) / EARLY_SHARE;

    return share < EARLY_NS ? EARLY_NS : share < MOST_EARLY_NS ? share : MOST_EARLY_NS;
}

/* Every stream's last work; the ones that ended long before get the weight of the latest, for they could be the latest. */
static bool wait_for_all(hu_building *b, uint32_t node, int64_t device, hu_class class, bool *found)
{
    const int64_t end = hu_build_node_end(b, node), early = device >= 0 ? early_ns(b, node) : EARLY_NS;
    uint32_t      last[MOST_STREAMS];
    size_t        n = 0;
    int64_t       latest = INT64_MIN, weight;

    *found = false;
    for (uint32_t s = 0; s < b->g->n_streams && n < MOST_STREAMS; s++) {
        const uint32_t op = hu_build_last_before(b, s, node);

        if (op == HU_NONE || (device >= 0 && b->stream_track[s]->device != device))
            continue;
        if (hu_build_op_end(b, op) > end + early)
            continue; /* not waited for: another device, or a record that lies */
        last[n++] = op;
        latest = hu_build_op_end(b, op) > latest ? hu_build_op_end(b, op) : latest;
    }
    *found = n > 0 && latest > b->nodes.at[node].start_ns;
    weight = *found && end - latest <= RETURN_NS ? end - latest : USUAL_RETURN_NS;
    for (size_t i = 0; i < n; i++) {
        const hu_link link = {.from = last[i], .weight_ns = (int32_t)weight, .at = HU_AT_OP_END, .class = (uint8_t) class};

        b->g->calibration.wait_links++;
        if (!hu_build_link_node(b, node, link))
            return false;
    }
    return true;
}

/* The stream whose last work launched before a call ended within it, shortly before its return; HU_NONE. */
static uint32_t drained(const hu_building *b, uint32_t node, bool all)
{
    const int64_t start = b->nodes.at[node].start_ns, end = hu_build_node_end(b, node);
    uint32_t      best = HU_NONE;

    for (uint32_t s = 0; s < b->g->n_streams; s++) {
        const uint32_t op = hu_build_last_before(b, s, node);
        const int64_t  op_end = op == HU_NONE ? INT64_MIN : hu_build_op_end(b, op);

        if (op_end > end + EARLY_NS && all)
            return HU_NONE;
        if (op_end <= start || op_end > end + EARLY_NS || end - op_end > RETURN_NS)
            continue;
        if (best == HU_NONE || op_end > hu_build_op_end(b, best))
            best = op;
    }
    return best;
}

/* The last work before the event that a call waits for; HU_NONE when the record does not say. */
static uint32_t of_record(const hu_building *b, const hu_map *calls, const hu_sync_detail *d, int64_t device)
{
    const uint32_t record = d->wait_record > 0 ? hu_map_get(calls, (uint64_t)d->wait_record) : HU_MAP_NONE;

    for (uint32_t s = 0; record != HU_MAP_NONE && s < b->g->n_streams; s++)
        if (b->stream_track[s]->stream == d->wait_stream && (device < 0 || b->stream_track[s]->device == device))
            return hu_build_last_before(b, s, record);
    return HU_NONE;
}

/*
 * Of what a stream waits for by events since its last work `op` was launched, the operation that ended last, if it ended
 * after that; HU_NONE.  A call that waits for the stream waits for it, too.
 */
static uint32_t awaited(const hu_building *b, uint32_t stream, uint32_t op, uint32_t node)
{
    const uint32_t since = op == HU_NONE ? 0 : b->ops.at[op].node;
    int64_t        latest = op == HU_NONE ? INT64_MIN : hu_build_op_end(b, op);
    size_t         low = 0, high = b->stream_waits.n;
    uint32_t       best = HU_NONE;

    while (low < high) {
        const size_t          middle = low + (high - low) / 2;
        const hu_stream_wait *at = &b->stream_waits.at[middle];

        if (at->stream < stream || (at->stream == stream && at->node < node))
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t n = 0; low > 0 && n < MOST_STREAMS; n++) {
        const hu_stream_wait *at = &b->stream_waits.at[--low];
        const int64_t         end = hu_build_op_end(b, at->from);

        if (at->stream != stream || at->node < since)
            break;
        if (end > latest && end <= hu_build_node_end(b, node) + early_ns(b, node)) {
            latest = end;
            best = at->from;
        }
    }
    return best;
}

static bool wait_sync(work *w, const hu_map *calls, uint32_t node, bool *waited)
{
    hu_building   *b = w->b;
    const hu_ask  *ask = b->ask;
    const hu_str   name = hu_ask_name(ask, b->nodes.at[node].slice);
    const uint32_t correlation = ask->s.correlation[b->nodes.at[node].slice];
    const uint32_t record = correlation ? hu_map_get(&w->sync_of_call, correlation) : HU_MAP_NONE;
    uint32_t       op = HU_NONE, by_event = HU_NONE;
    hu_class class = HU_CLASS_RETURN;

    *waited = false;
    if (record != HU_MAP_NONE && is_opencl(ask, record))
        return wait_commands(w, calls, node, record, waited);
    if (hu_str_has(name, HU_STR("Device")) || hu_str_has(name, HU_STR("Ctx")))
        return wait_for_all(b, node, record == HU_MAP_NONE ? -1 : ask->tracks[ask->s.track[record]].device, class, waited);
    if (record != HU_MAP_NONE && ask->s.detail[record] != HU_NONE) {
        const hu_sync_detail *d = hu_trace_sync_detail(ask->trace, ask->s.detail[record]);
        const int64_t         device = ask->tracks[ask->s.track[record]].device;

        if (ask->s.name[record] == w->event_name)
            op = of_record(b, calls, d, device);
        else
            for (uint32_t s = 0; s < b->g->n_streams && op == HU_NONE && by_event == HU_NONE; s++)
                if (b->stream_track[s]->stream == d->stream && (device < 0 || b->stream_track[s]->device == device)) {
                    op = hu_build_last_before(b, s, node);
                    by_event = awaited(b, s, op, node);
                }
        if (op != HU_NONE && hu_build_op_end(b, op) > hu_build_node_end(b, node) + early_ns(b, node))
            op = HU_NONE;
    }
    if (by_event != HU_NONE) {
        const int64_t seen = hu_build_node_end(b, node) - hu_build_op_end(b, by_event);
        const hu_link link = {.from = op,
                              .weight_ns = (int32_t)(seen < INT32_MAX ? seen : INT32_MAX),
                              .at = HU_AT_OP_END,
                              .class = (uint8_t) class}; /* it could be the latest */

        if (op != HU_NONE && !hu_build_link_node(b, node, link))
            return false;
        op = by_event;
    }
    if (op == HU_NONE) {
        op = drained(b, node, false);
        class = HU_CLASS_INFERRED;
        b->g->calibration.inferred += op != HU_NONE;
    }
    if (op == HU_NONE)
        return true;
    *waited = hu_build_op_end(b, op) > b->nodes.at[node].start_ns;
    if (!*waited) {
        /* it had ended, so nothing was seen of the cost of waiting */
        const hu_link link = {.from = op, .weight_ns = USUAL_RETURN_NS, .at = HU_AT_OP_END, .class = (uint8_t) class};

        return hu_build_link_node(b, node, link);
    }
    return wait_for(b, node, op, HU_AT_OP_END, class);
}

/* A copy that its own call waits for: to the end, or to the start when the rest is staged. */
static bool wait_copy(hu_building *b, uint32_t node, bool *waited)
{
    const hu_node *n = &b->nodes.at[node];
    const uint32_t own = hu_graph_own_op(b->ops.at, n);
    const hu_op   *op = own == HU_NONE ? NULL : &b->ops.at[own];
    const int64_t  end = hu_build_node_end(b, node);
    bool           pageable, blocks;

    *waited = false;
    if (!op || !op->has_launch || op->class != HU_CLASS_COPY)
        return true;
    pageable = hu_str_has(hu_ask_name(b->ask, op->slice), HU_STR("Pageable"));
    blocks = pageable || (hu_str_starts(hu_ask_name(b->ask, n->slice), HU_STR("cl"))
                              ? hu_str_ends(hu_ask_name(b->ask, n->slice), HU_STR("(blocking)"))
                              : !hu_str_has(hu_ask_name(b->ask, n->slice), HU_STR("Async")));
    if (!blocks && end - n->start_ns < LONG_CALL_NS)
        return true;
    if (end >= hu_build_op_end(b, own) - EARLY_NS) {
        *waited = true;
        return wait_for(b, node, own, HU_AT_OP_END, blocks ? HU_CLASS_RETURN : HU_CLASS_INFERRED);
    }
    if (pageable && end > op->start_ns && end - n->start_ns > LONG_CALL_NS) {
        *waited = true;
        return wait_for(b, node, own, HU_AT_OP_START, HU_CLASS_RETURN);
    }
    return true;
}

int hu_build_waits(hu_building *b, hu_error *err)
{
    work w = {.b = b};

    if (!map_syncs(&w) || !hu_build_map_calls(b))
        return hu_fail_memory(err);
    for (uint32_t i = 0; i < b->nodes.n; i++) {
        hu_node *n = &b->nodes.at[i];
        bool     ok = true, waited = false;

        if (n->call == HU_CALL_SYNC)
            ok = wait_sync(&w, &b->calls, i, &waited);
        else if (n->call == HU_CALL_COPY)
            ok = wait_copy(b, i, &waited);
        else if (n->call == HU_CALL_ALLOC && n->cost_ns > LONG_CALL_NS && drained(b, i, true) != HU_NONE) {
            b->g->calibration.inferred++;
            ok = wait_for_all(b, i, -1, HU_CLASS_INFERRED, &waited);
        }
        if (!ok)
            return hu_fail_memory(err);
        if (waited && n->cost_ns > b->g->calibration.call_ns[n->call])
            n->cost_ns = b->g->calibration.call_ns[n->call];
    }
    return 0;
}
