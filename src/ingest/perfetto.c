/* SPDX-License-Identifier: Apache-2.0
 * perfetto.c - Perfetto traces (.pftrace, .perfetto-trace): a stream of packets, each by one of several writers.
 *
 * The file is one protobuf message without an end: field 1, again and again, is a packet.  A file that breaks off is
 * whole up to its last whole packet.  Traps:
 *  - there is no magic; a newline and "{" of JSON are a tag and a length too, so the first packet has to be well formed
 *    and to hold a byte that no text holds;
 *  - fields of a packet come in any order, and what an event means depends on its sequence: what it declared since it
 *    last cleared its state, its default clock and track.  An event that needs a state which is not there is lost;
 *  - a packet may be a compressed bundle of packets, but not a bundle of bundles.
 */
#include "base/number.h"
#include "ingest/format.h"
#include "ingest/perfetto_reader.h"
#include "ingest/run_facts.h"

enum { LARGEST_FIELD = 1999, RATIO_FREE_BYTES = 64 << 20 };

typedef struct {
    perfetto_reader r;
    hu_input       *in;
    hu_span         span;
    const char     *p, *end;
    hu_error       *err;
} document;

bool perfetto_no_memory(perfetto_reader *r)
{
    hu_builder_fail(r->b, HU_ENOMEM, HU_NO_OFFSET, "out of memory");
    return false;
}

void perfetto_malformed(perfetto_reader *r)
{
    hu_quality *q = hu_builder_quality(r->b);

    q->events++;
    hu_quality_count(q, HU_REASON_MALFORMED, 0);
}

/* ---- is it one? ----------------------------------------------------------------------------------------------- */

/* Text has neither control characters, nor bytes that begin or continue nothing in UTF-8. */
static bool is_binary(hu_str s)
{
    for (size_t i = 0; i < s.n; i++) {
        const unsigned char c = (unsigned char)s.p[i];

        if ((c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7f || c >= 0xf8)
            return true;
    }
    return false;
}

static bool is_packet_field(const hu_protobuf_field *f)
{
    return f->number <= LARGEST_FIELD;
}

static bool probe(hu_str head)
{
    hu_protobuf       m = hu_protobuf_of(head), packet;
    hu_protobuf_field f;
    uint64_t          n;
    bool              is_whole;
    size_t            n_fields = 0;

    if (head.n < 4 || head.p[0] != (HU_PT_TRACE_PACKET << 3 | HU_WIRE_BYTES))
        return false;
    m.p++;
    if (!hu_protobuf_varint(&m, &n) || n < 2)
        return false;
    is_whole = n <= (uint64_t)(m.end - m.p);
    packet = hu_protobuf_of((hu_str){m.p, is_whole ? (size_t)n : (size_t)(m.end - m.p)});
    if (!is_binary((hu_str){packet.p, (size_t)(packet.end - packet.p)}))
        return false;
    while (hu_protobuf_next(&packet, &f)) {
        if (!is_packet_field(&f))
            return false;
        n_fields++;
    }
    if (!is_whole) /* its last field is cut, if it holds nothing else: a bundle that is longer than the head */
        return n_fields > 0 || (packet.p < packet.end && ((unsigned char)*packet.p & 7) == HU_WIRE_BYTES);
    m.p += n;
    return !packet.bad && n_fields > 0 && (m.p == m.end || ((unsigned char)*m.p & 7) == HU_WIRE_BYTES);
}

/* ---- packets -------------------------------------------------------------------------------------------------- */

static uint32_t find_sequence(perfetto_reader *r, uint64_t id)
{
    uint32_t *place;

    if (r->last_sequence && id == r->last_id)
        return r->last_sequence;
    place = hu_map_put(&r->sequence_of, id);
    if (place && *place == HU_MAP_NONE && hu_vec_push(r->arena, &r->sequences, (perfetto_sequence){0}))
        *place = (uint32_t)r->sequences.n - 1;
    if (!place || *place == HU_MAP_NONE) {
        perfetto_no_memory(r);
        return 0; /* there is always one */
    }
    r->last_id = id;
    r->last_sequence = *place;
    return *place;
}

/* A varint of at most nine bytes; NULL: it is longer, or cut. */
static inline const char *plain_varint(const char *p, const char *end, uint64_t *out)
{
    uint64_t value = 0;

    for (unsigned shift = 0; p < end && shift < 63; shift += 7) {
        const unsigned char byte = (unsigned char)*p++;

        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *out = value;
            return p;
        }
    }
    return NULL;
}

/*
 * What nearly all packets of a large file are: an event with its writer, time and flags, and nothing that declares.  False:
 * it holds something else, and read_packet() tells what.
 */
static bool read_plain(perfetto_reader *r, hu_str message, perfetto_packet *out)
{
    enum { TIME = HU_PT_PACKET_TIMESTAMP << 3, SEQUENCE = HU_PT_PACKET_SEQUENCE << 3, FLAGS = HU_PT_PACKET_FLAGS << 3 };
    enum { EVENT = HU_PT_PACKET_EVENT << 3 | HU_WIRE_BYTES };
    const char *p = message.p, *const end = message.p + message.n;
    uint64_t sequence = 0, value;

    *out = (perfetto_packet){.defaults = HU_STR(""), .interned = HU_STR(""), .clock_snapshot = HU_STR("")};
    while (p < end) {
        const unsigned char tag = (unsigned char)*p;

        p = plain_varint(p + 1, end, &value);
        if (!p)
            return false;
        if (tag == TIME) {
            out->timestamp = value;
            out->has_timestamp = true;
        } else if (tag == SEQUENCE) {
            sequence = value;
        } else if (tag == FLAGS && !(value & HU_PT_FLAG_CLEARED)) {
            out->needs_state = (value & HU_PT_FLAG_NEEDS_STATE) != 0;
        } else if (tag == EVENT && value <= (uint64_t)(end - p)) {
            out->what = (hu_protobuf_field){HU_PT_PACKET_EVENT, HU_WIRE_BYTES, 0, {p, (size_t)value}};
            p += value;
        } else {
            return false;
        }
    }
    out->sequence = find_sequence(r, sequence);
    return true;
}

/* False: not well formed. */
static bool read_packet(perfetto_reader *r, hu_str message, perfetto_packet *out)
{
    hu_protobuf       m = hu_protobuf_of(message);
    hu_protobuf_field f;
    uint64_t          sequence = 0;

    *out = (perfetto_packet){.defaults = HU_STR(""), .interned = HU_STR(""), .clock_snapshot = HU_STR("")};
    while (hu_protobuf_next(&m, &f)) {
        switch (f.number) {
        case HU_PT_PACKET_TIMESTAMP:
            out->timestamp = f.value;
            out->has_timestamp = true;
            break;
        case HU_PT_PACKET_CLOCK:
            out->clock = f.value;
            out->has_clock = f.value != 0;
            break;
        case HU_PT_PACKET_SEQUENCE:
            sequence = f.value;
            break;
        case HU_PT_PACKET_FLAGS:
            out->is_cleared |= (f.value & HU_PT_FLAG_CLEARED) != 0;
            out->needs_state = (f.value & HU_PT_FLAG_NEEDS_STATE) != 0;
            break;
        case HU_PT_PACKET_OLD_CLEARED:
            out->is_cleared |= f.value != 0;
            break;
        case HU_PT_PACKET_DROPPED:
            out->is_dropped = f.value != 0;
            break;
        case HU_PT_PACKET_DEFAULTS:
            out->defaults = f.bytes;
            break;
        case HU_PT_PACKET_INTERNED:
            out->interned = f.bytes;
            break;
        case HU_PT_PACKET_CLOCK_SNAPSHOT:
            out->clock_snapshot = f.bytes;
            break;
        case HU_PT_PACKET_EVENT:
        case HU_PT_PACKET_COMPRESSED:
        case HU_PT_PACKET_GPU_COUNTERS:
        case HU_PT_PACKET_GPU_STAGE:
        case HU_PT_PACKET_TASK:
        case HU_PT_PACKET_TREE:
        case HU_PT_PACKET_ATTRIBUTES:
        case HU_PT_PACKET_TRACK:
        case HU_PT_PACKET_SAMPLE:
        case HU_PT_PACKET_GPU_INFO:
        case HU_PT_PACKET_ZSTD:
            out->what = f;
            break;
        default:
            break;
        }
    }
    out->sequence = find_sequence(r, sequence);
    return !m.bad;
}

static void take_defaults(perfetto_reader *r, perfetto_sequence *s, hu_str message)
{
    hu_protobuf       m = hu_protobuf_of(message), event;
    hu_protobuf_field f, g;

    s->clock = 0;
    s->track = 0;
    while (hu_protobuf_next(&m, &f)) {
        if (f.number == HU_PT_DEFAULTS_CLOCK)
            s->clock = f.value <= UINT32_MAX ? (uint32_t)f.value : 0;
        if (f.number == HU_PT_DEFAULTS_SAMPLE)
            perfetto_samples_defaults(r, f.bytes);
        if (f.number != HU_PT_DEFAULTS_EVENT)
            continue;
        event = hu_protobuf_of(f.bytes);
        while (hu_protobuf_next(&event, &g))
            if (g.number == HU_PT_EVENT_DEFAULTS_TRACK)
                s->track = g.value;
    }
}

static void take_state(perfetto_reader *r, const perfetto_packet *packet)
{
    perfetto_sequence *s = &r->sequences.at[packet->sequence];
    const bool         declares = packet->is_dropped || packet->is_cleared || packet->defaults.n || packet->interned.n ||
                          packet->clock_snapshot.n;

    if (!declares)
        return;
    if (packet->is_dropped)
        s->is_valid = false;
    if (packet->is_cleared)
        *s = (perfetto_sequence){.generation = s->generation + 1, .is_valid = true};
    if (packet->defaults.n)
        take_defaults(r, s, packet->defaults);
    if (packet->interned.n)
        perfetto_values_intern(r, packet->sequence, packet->interned);
    if (packet->clock_snapshot.n)
        perfetto_clocks_snapshot(r, packet->sequence, packet->clock_snapshot);
    s->state = ++r->n_states;
}

/* {key 1, value 2}, by the names that holdup itself writes. */
static void take_device_fact(hu_device *d, hu_str message)
{
    hu_protobuf       m = hu_protobuf_of(message);
    hu_protobuf_field f;
    hu_str            key = HU_STR(""), text = HU_STR("");
    int64_t           value;

    while (hu_protobuf_next(&m, &f)) {
        key = f.number == 1 ? f.bytes : key;
        text = f.number == 2 ? f.bytes : text;
    }
    if (!hu_parse_i64(text, &value) || value < 0)
        return;
    if (hu_str_equal(key, HU_STR("id")))
        d->id = value;
    else if (hu_str_equal(key, HU_STR("memory_bytes")))
        d->memory_bytes = value;
    else if (value > INT32_MAX)
        return;
    else if (hu_str_equal(key, HU_STR("sm_count")))
        d->sm_count = (int32_t)value;
    else if (hu_str_equal(key, HU_STR("compute_major")))
        d->major = (int32_t)value;
    else if (hu_str_equal(key, HU_STR("compute_minor")))
        d->minor = (int32_t)value;
    else if (hu_str_equal(key, HU_STR("warp_size")))
        d->warp_size = (int32_t)value;
    else if (hu_str_equal(key, HU_STR("max_threads_per_sm")))
        d->max_threads_per_sm = (int32_t)value;
}

/* {gpus 1 {name 1, extra_info 6}} */
static void take_devices(perfetto_reader *r, hu_str message)
{
    hu_protobuf       m = hu_protobuf_of(message), gpu;
    hu_protobuf_field f, g;
    int64_t           n = 0;

    while (hu_protobuf_next(&m, &f)) {
        hu_device d = {.id = n};

        if (f.number != 1)
            continue;
        gpu = hu_protobuf_of(f.bytes);
        while (hu_protobuf_next(&gpu, &g)) {
            if (g.number == 1 && g.bytes.n)
                d.name = hu_builder_intern(r->b, g.bytes);
            else if (g.number == 6 && g.bytes.n)
                take_device_fact(&d, g.bytes);
        }
        hu_builder_device(r->b, &d);
        n++;
    }
}

/* {key 1, int 2 | text 3} */
static void take_attribute(perfetto_reader *r, hu_str message)
{
    hu_protobuf       m = hu_protobuf_of(message);
    hu_protobuf_field f, value = {0};
    hu_str            key = HU_STR("");
    char              digits[HU_NUMBER_BYTES];

    while (hu_protobuf_next(&m, &f)) {
        key = f.number == 1 ? f.bytes : key;
        value = f.number == 2 || f.number == 3 ? f : value;
    }
    if (m.bad || !key.n || !value.number)
        return;
    if (hu_str_equal(key, HU_STR("holdup.version")))
        r->is_ours = true;
    if (value.number == 3) {
        hu_facts_take_text(r->b, key, value.bytes);
        perfetto_values_quote(r, value.bytes);
        hu_builder_metadata(r->b, key, (hu_str){r->text.at, r->text.n});
        r->text.n = 0;
        return;
    }
    hu_facts_take_number(r->b, key, (int64_t)value.value);
    if (hu_str_equal(key, HU_STR("holdup.torn_records")) && value.value < UINT64_C(1) << 50)
        hu_builder_quality(r->b)->count[HU_REASON_TORN] = (int64_t)value.value;
    else if (hu_str_equal(key, HU_STR("holdup.overwritten_records")) && value.value < UINT64_C(1) << 50)
        hu_builder_quality(r->b)->count[HU_REASON_OVERWRITTEN] = (int64_t)value.value;
    hu_builder_metadata(r->b, key, (hu_str){digits, hu_format_i64(digits, (int64_t)value.value)});
}

static void take_attributes(perfetto_reader *r, hu_str message)
{
    hu_protobuf       m = hu_protobuf_of(message);
    hu_protobuf_field f;

    while (hu_protobuf_next(&m, &f))
        if (f.number == 1)
            take_attribute(r, f.bytes);
}

static bool is_event(const perfetto_packet *packet)
{
    return packet->what.number == HU_PT_PACKET_EVENT || packet->what.number == HU_PT_PACKET_GPU_STAGE ||
           packet->what.number == HU_PT_PACKET_GPU_COUNTERS || packet->what.number == HU_PT_PACKET_SAMPLE ||
           packet->what.number == HU_PT_PACKET_TASK;
}

static void take_event(perfetto_reader *r, const perfetto_packet *packet)
{
    hu_quality *q = hu_builder_quality(r->b);

    if (packet->needs_state && !r->sequences.at[packet->sequence].is_valid) {
        q->events++;
        hu_quality_count(q, HU_REASON_NO_STATE, 0);
    } else if (packet->what.number == HU_PT_PACKET_EVENT) {
        if (!perfetto_repeat_take(r, packet))
            perfetto_events_track_event(r, packet);
    } else if (packet->what.number == HU_PT_PACKET_TASK) {
        perfetto_sched_take(r, packet);
    } else if (packet->what.number == HU_PT_PACKET_GPU_STAGE) {
        perfetto_gpu_stage(r, packet);
    } else if (packet->what.number == HU_PT_PACKET_SAMPLE) {
        perfetto_samples_take(r, packet);
    } else {
        perfetto_gpu_counters(r, packet);
    }
}

static void take_bundle(perfetto_reader *r, const hu_protobuf_field *f);

static void take_packet(perfetto_reader *r, hu_str message, bool is_bundled)
{
    perfetto_packet packet;
    int64_t         ns;

    r->n_packets++;
    if (!read_plain(r, message, &packet) && !read_packet(r, message, &packet)) {
        perfetto_malformed(r);
        return;
    }
    take_state(r, &packet);
    if (is_event(&packet)) {
        take_event(r, &packet);
        return;
    }
    if (packet.has_timestamp)
        perfetto_clocks_time(r, &packet, &ns); /* an incremental clock counts every stamp */
    if (packet.what.number == HU_PT_PACKET_TRACK)
        perfetto_tracks_declare(r, packet.what.bytes);
    else if (packet.what.number == HU_PT_PACKET_TREE)
        perfetto_sched_tree(r, packet.what.bytes);
    else if (packet.what.number == HU_PT_PACKET_ATTRIBUTES)
        take_attributes(r, packet.what.bytes);
    else if (packet.what.number == HU_PT_PACKET_GPU_INFO)
        take_devices(r, packet.what.bytes);
    else if (packet.what.number && !is_bundled)
        take_bundle(r, &packet.what);
    else if (packet.what.number)
        perfetto_malformed(r);
}

/* What a bundle inflates to is held against what all bundles together took in the file. */
static bool is_bomb(perfetto_reader *r, size_t packed)
{
    r->packed_bytes += packed;
    r->unpacked_bytes += r->unpacked.n;
    return r->unpacked_bytes > RATIO_FREE_BYTES &&
           r->unpacked_bytes / (r->packed_bytes + 1) > (uint64_t)hu_input_limits(r->chrome.in)->inflate_ratio;
}

static void take_bundle(perfetto_reader *r, const hu_protobuf_field *f)
{
    const size_t           most = (size_t)hu_input_limits(r->chrome.in)->event_bytes;
    hu_error               err = {0};
    const hu_unpack_method method = f->number == HU_PT_PACKET_ZSTD ? HU_UNPACK_ZSTD : HU_UNPACK_ZLIB;
    const int              rc = hu_unpack(method, f->bytes, most, r->arena, &r->unpacked, &err);
    hu_protobuf            m = hu_protobuf_of((hu_str){r->unpacked.at, r->unpacked.n});
    hu_protobuf_field      packet;

    if (rc == HU_ENOMEM)
        perfetto_no_memory(r);
    else if (rc == HU_EIO)
        hu_builder_fail(r->b, HU_EIO, r->offset, err.text);
    else if (rc == HU_ELIMIT)
        hu_builder_fail(r->b, HU_ELIMIT, r->offset,
                        "a compressed packet exceeds the limit; if you trust the file, raise --limit event_bytes=N");
    else if (is_bomb(r, f->bytes.n))
        hu_builder_fail(r->b, HU_ELIMIT, r->offset,
                        "the decompressed packets exceed the limit; if you trust the file, raise --limit inflate_ratio=N");
    while (hu_builder_status(r->b, NULL) == 0 && hu_protobuf_next(&m, &packet))
        if (packet.number == HU_PT_TRACE_PACKET)
            take_packet(r, packet.bytes, true);
    if (rc == HU_EFORMAT || m.bad)
        perfetto_malformed(r);
}

/* ---- the file ------------------------------------------------------------------------------------------------- */

static int64_t offset_of(const document *d, const char *p)
{
    return (int64_t)(d->span.offset + (uint64_t)(p - d->span.p));
}

static void truncated(document *d, const char *why)
{
    hu_error broken = {0};

    hu_input_status(d->in, &broken);
    hu_builder_truncated(d->r.b, offset_of(d, d->end), broken.code ? broken.text : why);
}

typedef enum { FRAME_WHOLE, FRAME_CUT, FRAME_BAD } frame;

/* Is the field at d->p whole, does the text end within it, or is it no field? */
static frame look(const document *d, hu_protobuf *m, hu_protobuf_field *f)
{
    uint64_t tag, n;

    *m = (hu_protobuf){d->p, d->end, false};
    if (hu_protobuf_next(m, f))
        return FRAME_WHOLE;
    *m = (hu_protobuf){d->p, d->end, false};
    if (!hu_protobuf_varint(m, &tag))
        return d->end - d->p < 10 ? FRAME_CUT : FRAME_BAD;
    if (tag >> 3 == 0 || tag > UINT32_MAX)
        return FRAME_BAD;
    switch (tag & 7) {
    case HU_WIRE_BYTES:
        return hu_protobuf_varint(m, &n) || m->end - m->p < 10 ? FRAME_CUT : FRAME_BAD;
    case HU_WIRE_VARINT:
        return m->end - m->p < 10 ? FRAME_CUT : FRAME_BAD;
    case HU_WIRE_FIXED32:
    case HU_WIRE_FIXED64:
        return FRAME_CUT;
    default:
        return FRAME_BAD;
    }
}

static int read_packets(document *d)
{
    for (;;) {
        hu_protobuf       m;
        hu_protobuf_field f;
        int               rc;

        switch (d->p < d->end ? look(d, &m, &f) : FRAME_CUT) {
        case FRAME_WHOLE:
            d->r.offset = offset_of(d, d->p);
            if (f.number == HU_PT_TRACE_PACKET && f.wire == HU_WIRE_BYTES)
                take_packet(&d->r, f.bytes, false);
            d->p = m.p;
            if (hu_builder_status(d->r.b, NULL) < 0)
                return 0;
            break;
        case FRAME_CUT:
            if (d->span.is_last) {
                if (d->p < d->end || hu_input_status(d->in, NULL) < 0)
                    truncated(d, "");
                return 0;
            }
            rc = hu_input_next(d->in, (size_t)(d->end - d->p), &d->span, d->err);
            if (rc < 0)
                return rc;
            d->p = d->span.p;
            d->end = d->span.p + d->span.n;
            break;
        case FRAME_BAD:
            hu_builder_truncated(d->r.b, offset_of(d, d->p), "what follows is not a trace packet");
            return 0;
        }
    }
}

static int fail_empty(document *d)
{
    const hu_quality *q = hu_builder_quality(d->r.b);

    if (q->events)
        return hu_fail(d->err, HU_EEMPTY, hu_input_name(d->in), 0,
                       "none of %lld events of this Perfetto trace could be read; see what `protoc --decode_raw` shows",
                       (long long)q->events);
    return hu_fail(d->err, HU_EEMPTY, hu_input_name(d->in), q->is_truncated ? q->truncated_at : 0,
                   "this Perfetto trace has no track events and no GPU work in its %lld packets%s; holdup reads only those",
                   (long long)d->r.n_packets, q->is_truncated ? " before it is cut" : "");
}

static bool prepare(document *d, hu_input *in, hu_builder *b, hu_arena *arena)
{
    perfetto_reader *r = &d->r;

    d->in = in;
    r->b = b;
    r->arena = arena;
    r->primary_clock = HU_PT_BOOTTIME;
    r->chrome.in = in;
    r->chrome.b = b;
    r->chrome.arena = arena;
    r->repeats = hu_arena_calloc(arena, (size_t)1 << PERFETTO_REPEAT_BITS, sizeof *r->repeats);
    return r->repeats && hu_map_init(&r->sequence_of, arena, 0) && hu_map_init(&r->interned_of, arena, 0) &&
           hu_map_init(&r->clock_of, arena, 0) && hu_map_init(&r->track_of, arena, 0) &&
           hu_map_init(&r->places, arena, CHROME_MOST_KEYS) && hu_map_init(&r->flows, arena, 0) &&
           hu_map_init(&r->stages, arena, 0) && hu_map_init(&r->counter_of, arena, 0) &&
           hu_map_init(&r->process_of, arena, 0) && hu_map_init(&r->stretch_of, arena, 0) &&
           hu_vec_push(arena, &r->sequences, (perfetto_sequence){0}) && perfetto_values_prepare(r);
}

static void finish(document *d)
{
    hu_trace_info *info = hu_builder_info(d->r.b);

    perfetto_tracks_finish(&d->r);
    perfetto_sched_finish(&d->r);
    chrome_finish_metadata(&d->r.chrome);
    info->tool = d->r.is_ours ? HU_STR("holdup run") : HU_STR("Perfetto");
    info->bytes = offset_of(d, d->end);
}

static int import(hu_input *in, hu_builder *b, hu_error *err)
{
    hu_arena         *arena = hu_arena_new();
    document         *d = arena ? hu_arena_calloc(arena, 1, sizeof *d) : NULL;
    const hu_quality *q = hu_builder_quality(b);
    int               rc;

    if (!d || !prepare(d, in, b, arena)) {
        hu_arena_free(arena);
        return hu_fail_memory(err);
    }
    d->err = err;
    rc = hu_input_next(in, 0, &d->span, err);
    if (rc == 0) {
        d->p = d->span.p;
        d->end = d->p + d->span.n;
        rc = read_packets(d);
    }
    if (rc == 0) {
        finish(d);
        rc = hu_builder_status(b, err);
    }
    /* of our own recording, losses and lives are an answer, too */
    if (rc == 0 && !(d->r.is_ours && q->events) && q->events <= hu_quality_lost(q) && hu_builder_slice_count(b) == 0)
        rc = fail_empty(d);
    hu_arena_free(arena);
    return rc;
}

const hu_format hu_format_perfetto = {
    .name = "perfetto",
    .what = "track events and GPU work of Perfetto traces",
    .suffixes = ".pftrace .perfetto-trace",
    .probe = probe,
    .import = import,
};
