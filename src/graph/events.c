/* SPDX-License-Identifier: Apache-2.0
 * events.c - which stream waits for which, as the synchronisation records of the profiler say.
 *
 * Kineto writes a "Stream Wait Event" for each cudaStreamWaitEvent: the call by its correlation, the stream that waits, the
 * stream waited for, and the call that recorded the event.  Events are used again and again, so an event's number alone
 * says nothing.  Where the recording call is not resolved (-1), all that was enqueued on the other stream before the
 * wait stands for it, and the link counts as inferred.
 * Commands of OpenCL name what they wait for: commands.c.
 */
#include <stdlib.h>

#include "graph/build.h"

bool hu_build_link_op(hu_building *b, uint32_t op, hu_link link)
{
    if (!hu_vec_push(b->ask->scratch, &b->links, ((hu_pending){link, b->ops.at[op].deps})))
        return false;
    b->ops.at[op].deps = (uint32_t)b->links.n - 1;
    return true;
}

bool hu_build_link_node(hu_building *b, uint32_t node, hu_link link)
{
    if (!hu_vec_push(b->ask->scratch, &b->links, ((hu_pending){link, b->nodes.at[node].waits})))
        return false;
    b->nodes.at[node].waits = (uint32_t)b->links.n - 1;
    return true;
}

/* The first place of a stream's list whose operation was launched at or after a node. */
static uint32_t place_from(const hu_building *b, uint32_t stream, uint32_t node)
{
    uint32_t low = b->stream_first[stream], high = b->stream_first[stream + 1];

    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;

        if (b->ops.at[b->by_stream[middle]].node < node)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint32_t hu_build_first_from_node(const hu_building *b, uint32_t stream, uint32_t node)
{
    const uint32_t place = place_from(b, stream, node);

    return place < b->stream_first[stream + 1] ? b->by_stream[place] : HU_NONE;
}

uint32_t hu_build_last_before(const hu_building *b, uint32_t stream, uint32_t node)
{
    const uint32_t place = place_from(b, stream, node);

    return place > b->stream_first[stream] ? b->by_stream[place - 1] : HU_NONE;
}

static uint32_t find_stream(const hu_building *b, int64_t device, int64_t stream)
{
    for (uint32_t i = 0; i < b->g->n_streams; i++)
        if (b->stream_track[i]->stream == stream && (device < 0 || b->stream_track[i]->device == device))
            return i;
    return HU_NONE;
}

int hu_build_streams(hu_building *b, hu_error *err)
{
    const uint32_t n = b->g->n_streams;
    uint32_t      *place;

    b->by_stream = hu_arena_alloc(b->ask->scratch, (b->ops.n + 1) * sizeof *b->by_stream);
    b->stream_first = hu_arena_calloc(b->ask->scratch, n + 2, sizeof *b->stream_first);
    b->stream_track = hu_arena_calloc(b->ask->scratch, n + 1, sizeof *b->stream_track);
    place = hu_arena_calloc(b->ask->scratch, n + 1, sizeof *place);
    if (!b->by_stream || !b->stream_first || !b->stream_track || !place)
        return hu_fail_memory(err);
    for (size_t i = 0; i < b->ops.n; i++)
        b->stream_first[b->ops.at[i].stream + 1]++;
    for (uint32_t s = 0; s < n; s++) {
        b->stream_first[s + 1] += b->stream_first[s];
        place[s] = b->stream_first[s];
    }
    for (uint32_t i = 0; i < b->ops.n; i++) {
        const uint32_t s = b->ops.at[i].stream;

        b->by_stream[place[s]++] = i;
        b->stream_track[s] = &b->ask->tracks[b->ask->s.track[b->ops.at[i].slice]];
    }
    return 0;
}

bool hu_build_map_calls(hu_building *b)
{
    if (b->calls.arena)
        return true;
    if (!hu_map_init(&b->calls, b->ask->scratch, b->nodes.n / 2 + 1))
        return false;
    for (uint32_t i = 0; i < b->nodes.n; i++) {
        const hu_node *n = &b->nodes.at[i];
        uint32_t      *place;

        if (n->call == HU_CALL_NONE || !b->ask->s.correlation[n->slice])
            continue;
        place = hu_map_put(&b->calls, b->ask->s.correlation[n->slice]);
        if (!place)
            return false;
        *place = i;
    }
    return true;
}

static bool add_stream_wait(hu_building *b, const hu_map *calls, const hu_sync_detail *d, int64_t device, uint32_t wait)
{
    const uint32_t to = find_stream(b, device, d->stream), from = find_stream(b, device, d->wait_stream);
    const uint32_t record = d->wait_record > 0 ? hu_map_get(calls, (uint64_t)d->wait_record) : HU_MAP_NONE;
    hu_link        link = {.at = HU_AT_OP_END, .class = record == HU_MAP_NONE ? HU_CLASS_INFERRED : HU_CLASS_EVENT};
    uint32_t       place;

    if (to == HU_NONE || from == HU_NONE || from == to)
        return true;
    place = place_from(b, to, wait + 1);
    link.from = hu_build_last_before(b, from, record == HU_MAP_NONE ? wait : record);
    if (link.from != HU_NONE && !hu_vec_push(b->ask->scratch, &b->stream_waits, ((hu_stream_wait){to, wait, link.from})))
        return false;
    if (place == b->stream_first[to + 1] || link.from == HU_NONE || link.from >= b->by_stream[place])
        return true;
    if (hu_build_op_end(b, link.from) > b->ops.at[b->by_stream[place]].start_ns)
        return true; /* it did not wait for that one, so the record means another */
    b->g->calibration.event_links++;
    return hu_build_link_op(b, b->by_stream[place], link);
}

/* What a record says of a wait on the device. */
typedef enum { STREAM_WAIT, COMMAND_WAIT, BARRIER, NOTES } note;

static bool add_note(hu_building *b, const hu_map *calls, note kind, uint32_t slice, uint32_t node)
{
    const hu_ask         *ask = b->ask;
    const hu_sync_detail *d = hu_trace_sync_detail(ask->trace, ask->s.detail[slice]);

    return kind == BARRIER        ? hu_build_barrier(b, d, node)
           : kind == COMMAND_WAIT ? hu_build_command_wait(b, calls, d, node)
                                  : add_stream_wait(b, calls, d, ask->tracks[ask->s.track[slice]].device, node);
}

static int by_stream_and_node(const void *a, const void *b)
{
    const hu_stream_wait *x = a, *y = b;

    if (x->stream != y->stream)
        return x->stream < y->stream ? -1 : 1;
    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    return x->from < y->from ? -1 : x->from > y->from;
}

int hu_build_events(hu_building *b, hu_error *err)
{
    const hu_ask  *ask = b->ask;
    const uint32_t names[NOTES] = {[STREAM_WAIT] = hu_trace_find_text(ask->trace, HU_STR("Stream Wait Event")),
                                   [COMMAND_WAIT] = hu_trace_find_text(ask->trace, HU_STR("Command Wait")),
                                   [BARRIER] = hu_trace_find_text(ask->trace, HU_STR("Queue Barrier"))};

    if (!hu_build_map_calls(b))
        return hu_fail_memory(err);
    for (uint32_t i = 0; i < ask->s.n; i++) {
        note     kind = STREAM_WAIT;
        uint32_t node;

        if (ask->s.kind[i] != HU_KIND_SYNC || ask->s.detail[i] == HU_NONE || !ask->s.correlation[i])
            continue;
        while (kind < NOTES && ask->s.name[i] != names[kind])
            kind++;
        node = kind < NOTES ? hu_map_get(&b->calls, ask->s.correlation[i]) : HU_MAP_NONE;
        if (node != HU_MAP_NONE && !add_note(b, &b->calls, kind, i, node))
            return hu_fail_memory(err);
    }
    if (b->stream_waits.n)
        qsort(b->stream_waits.at, b->stream_waits.n, sizeof *b->stream_waits.at, by_stream_and_node);
    return 0;
}
