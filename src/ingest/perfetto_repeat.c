/* SPDX-License-Identifier: Apache-2.0
 * perfetto_repeat.c - an event that is the same as an earlier one but for its time is not read again.
 *
 * A program that reads byte by byte writes the same thirty bytes a million times: kind, name, class, file and count.  What
 * they mean depends on them and on what their writer has declared, so both are compared, and the slice of the earlier one
 * is taken with a new time, and with how many bytes it moved.  Only calls of the system, and ends: nothing
 * else comes as often.
 */
#include "base/hash.h"
#include "ingest/perfetto_reader.h"

enum { ROWS = 1 << PERFETTO_REPEAT_BITS };

static uint64_t load(const char *p)
{
    uint64_t value;

    memcpy(&value, p, sizeof value);
    return value;
}

/* By the ends of the event: kind and name, and file or descriptor; between them lies what differs from call to call. */
static perfetto_repeat *row_of(perfetto_reader *r, const perfetto_packet *packet)
{
    const hu_str   body = packet->what.bytes;
    const uint64_t state = r->sequences.at[packet->sequence].state;
    const uint64_t ends = body.n < 8 ? hu_hash_bytes(body.p, body.n) : hu_hash_mix(load(body.p), load(body.p + body.n - 8));

    return &r->repeats[hu_hash_u64(ends ^ hu_hash_mix(state, body.n)) & (ROWS - 1)];
}

/* The varint of `n` bytes at p.  False: it has another length. */
static bool read_varint(const char *p, uint32_t n, int64_t *out)
{
    hu_protobuf m = {p, p + n, false};
    uint64_t    value;

    if (!hu_protobuf_varint(&m, &value) || m.p != p + n)
        return false;
    *out = (int64_t)value;
    return true;
}

/* Is it the same event, but for its time and the bytes that it moved? */
static bool is_same(const perfetto_repeat *known, hu_str body, uint64_t state, int64_t *bytes)
{
    const uint32_t behind = known->number + known->number_n;

    if (known->n != body.n || known->state != state ||
        memcmp(known->body, body.p, known->number ? known->number : body.n) != 0)
        return false;
    *bytes = known->bytes;
    return !known->number || (memcmp(known->body + behind, body.p + behind, body.n - behind) == 0 &&
                              read_varint(body.p + known->number, known->number_n, bytes));
}

/* Finds the number of bytes among the arguments of an event, where there is one. */
static void find_number(perfetto_reader *r, const perfetto_packet *packet, perfetto_repeat *row)
{
    hu_protobuf       m = hu_protobuf_of(packet->what.bytes), note;
    hu_protobuf_field f, g;

    row->number = row->number_n = 0;
    while (hu_protobuf_next(&m, &f)) {
        int         place = CHROME_IGNORED;
        const char *at = NULL, *end = NULL;
        int64_t     value = 0;

        if (f.number != HU_PT_EVENT_NOTE)
            continue;
        note = hu_protobuf_of(f.bytes);
        for (const char *p = note.p; hu_protobuf_next(&note, &g); p = note.p) {
            if (g.number == HU_PT_NOTE_NAME)
                place = perfetto_values_place(r, g.bytes);
            else if (g.number == HU_PT_NOTE_NAME_IID)
                place = perfetto_values_place_by_id(r, packet->sequence, HU_PT_INTERNED_NOTE_NAME, g.value);
            else if (g.number == HU_PT_NOTE_INT) {
                at = p + 1; /* its tag has one byte */
                end = note.p;
                value = (int64_t)g.value;
            }
        }
        if (place != CHROME_BYTES || !at)
            continue;
        if (row->number) { /* twice: which one counts is for the reader to say */
            row->number = 0;
            return;
        }
        row->number = (uint32_t)(at - packet->what.bytes.p);
        row->number_n = (uint32_t)(end - at);
        row->bytes = value;
    }
}

bool perfetto_repeat_take(perfetto_reader *r, const perfetto_packet *packet)
{
    const hu_str           body = packet->what.bytes;
    hu_quality            *q = hu_builder_quality(r->b);
    const perfetto_repeat *known;
    hu_builder_slice       slice;
    int64_t                ns, bytes;

    if (body.n > sizeof known->body)
        return false;
    known = row_of(r, packet);
    if (!is_same(known, body, r->sequences.at[packet->sequence].state, &bytes) || bytes < 0 || bytes >= INT64_C(1) << 50)
        return false;
    q->events++;
    q->by_phase[known->is_end ? 'E' : 'B']++;
    if (!perfetto_clocks_time(r, packet, &ns) || ns <= INT64_MIN / 2 || ns >= INT64_MAX / 2) {
        hu_quality_count(q, HU_REASON_NO_TIME, 0);
        return true;
    }
    if (known->is_end) {
        perfetto_tracks_edge(r, known->track, ns, PERFETTO_END);
        return true;
    }
    slice = known->slice;
    slice.start_ns = ns;
    if (bytes != known->bytes)
        slice.detail = hu_builder_os_detail_like(r->b, slice.detail, bytes);
    const size_t n = hu_builder_slice_count(r->b);

    hu_builder_add(r->b, &slice);
    if (hu_builder_slice_count(r->b) > n)
        perfetto_tracks_edge(r, known->track, ns, (uint32_t)n);
    return true;
}

void perfetto_repeat_keep(perfetto_reader *r, const perfetto_packet *packet, uint32_t track, const hu_builder_slice *slice)
{
    const hu_str     body = packet->what.bytes;
    perfetto_repeat *row;

    if (body.n > sizeof row->body || (slice && slice->kind != HU_KIND_OS_CALL))
        return;
    row = row_of(r, packet);
    row->state = r->sequences.at[packet->sequence].state;
    row->n = (uint32_t)body.n;
    row->track = track;
    row->is_end = !slice;
    row->number = row->number_n = 0;
    row->bytes = 0;
    if (slice) {
        row->slice = *slice;
        find_number(r, packet, row);
    }
    memcpy(row->body, body.p, body.n);
}
