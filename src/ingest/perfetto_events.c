/* SPDX-License-Identifier: Apache-2.0
 * perfetto_events.c - from one event to the `chrome_event` that the same event would be in Chrome JSON.
 *
 * So categories and arguments (debug annotations, launch arguments, extra data) are understood in one place,
 * chrome_take.c, and a trace that was converted reads as it did before.  Traps:
 *  - flows have no category: between operators they are forward-backward links, between a call and GPU work they
 *    are the launch, unless a correlation says so already;
 *  - an event that is lost may have an end, which must not close another one.
 */
#include <math.h>

#include "ingest/perfetto_reader.h"
#include "ingest/producers.h"

enum { MOST_FLOWS = 16 };

/* TrackEvent, LegacyEvent */

/* What is not in chrome_event. */
typedef struct {
    uint64_t type, track, name_iid, flows[MOST_FLOWS];
    size_t   n_flows, n_open_flows; /* the rest ends here */
    hu_str   name, category;
    bool     has_name, is_known_category, has_counter;
    double   counter;
    char     phase; /* of the old form; '\0' */
    int64_t  dur_us;
    hu_str   gpu;
} track_event;

/* The first one that says what kind the event is, else the first. */
static void take_category(track_event *t, hu_str category)
{
    const bool is_known = hu_producers_kind(category) != HU_KIND_OTHER;

    if (t->category.n && (t->is_known_category || !is_known))
        return;
    t->category = category;
    t->is_known_category = is_known;
}

static void take_legacy(track_event *t, hu_str message)
{
    hu_protobuf       m = hu_protobuf_of(message);
    hu_protobuf_field f;

    while (hu_protobuf_next(&m, &f)) {
        if (f.number == HU_PT_LEGACY_PHASE)
            t->phase = (char)(f.value & 0x7f);
        else if (f.number == HU_PT_LEGACY_DURATION)
            t->dur_us = (int64_t)f.value;
        else if (f.number == HU_PT_LEGACY_NAME_IID && !t->has_name)
            t->name_iid = f.value;
    }
}

static void take_flows(track_event *t, const hu_protobuf_field *f)
{
    const size_t n = hu_protobuf_numbers(f, true, t->flows + t->n_flows, MOST_FLOWS - t->n_flows);

    if (f->number == HU_PT_EVENT_FLOW && t->n_open_flows == t->n_flows)
        t->n_open_flows += n; /* those that end come behind */
    t->n_flows += n;
}

static bool read_event(perfetto_reader *r, const perfetto_packet *packet, track_event *t)
{
    const uint32_t    s = packet->sequence;
    hu_protobuf       m = hu_protobuf_of(packet->what.bytes);
    hu_protobuf_field f;
    bool              is_good = true;
    uint64_t          categories[8];
    size_t            n;

    while (hu_protobuf_next(&m, &f)) {
        switch (f.number) {
        case HU_PT_EVENT_TYPE:
            t->type = f.value;
            break;
        case HU_PT_EVENT_TRACK:
            t->track = f.value;
            break;
        case HU_PT_EVENT_NAME:
            t->name = f.bytes;
            t->has_name = true;
            break;
        case HU_PT_EVENT_NAME_IID:
            t->name_iid = f.value;
            break;
        case HU_PT_EVENT_CATEGORY:
            take_category(t, f.bytes);
            break;
        case HU_PT_EVENT_CATEGORY_IID:
            n = hu_protobuf_numbers(&f, false, categories, HU_COUNT(categories));
            for (size_t i = 0; i < n; i++)
                take_category(t, perfetto_values_text(r, s, HU_PT_INTERNED_CATEGORY, categories[i]));
            break;
        case HU_PT_EVENT_NOTE:
            is_good = perfetto_values_note(r, s, f.bytes) && is_good;
            break;
        case HU_PT_EVENT_COUNTER:
            t->counter = (double)(int64_t)f.value;
            t->has_counter = true;
            break;
        case HU_PT_EVENT_COUNTER_DOUBLE:
            t->counter = hu_protobuf_double(&f);
            t->has_counter = true;
            break;
        case HU_PT_EVENT_FLOW:
        case HU_PT_EVENT_FLOW_END:
            take_flows(t, &f);
            break;
        case HU_PT_EVENT_CORRELATION:
            if (!chrome_has(&r->chrome.event, CHROME_CORRELATION))
                perfetto_values_set_unsigned(r, CHROME_CORRELATION, f.value);
            break;
        case HU_PT_EVENT_LEGACY:
            take_legacy(t, f.bytes);
            break;
        case HU_PT_EVENT_GPU:
            t->gpu = f.bytes;
            break;
        default:
            break;
        }
    }
    if (!t->has_name && t->name_iid)
        t->name = perfetto_values_text(r, s, HU_PT_INTERNED_EVENT_NAME, t->name_iid);
    return is_good && !m.bad;
}

hu_str perfetto_events_category(hu_str name)
{
    return hu_str_starts(name, HU_STR("Memcpy"))   ? HU_STR("gpu_memcpy")
           : hu_str_starts(name, HU_STR("Memset")) ? HU_STR("gpu_memset")
                                                   : HU_STR("kernel");
}

/* Category and row, which depend on each other: what names a device and a stream, and no other kind, is work. */
static hu_kind place_event(perfetto_reader *r, const track_event *t, uint32_t track)
{
    chrome_event         *e = &r->chrome.event;
    const chrome_value   *row = perfetto_tracks_row(r, track);
    const perfetto_track *where = &r->tracks.at[track];
    const bool            on_stream = !where->has_tid && chrome_has(e, CHROME_DEVICE) && chrome_has(e, CHROME_STREAM);
    hu_kind               kind;

    perfetto_values_set(r, CHROME_PID, row[0]);
    perfetto_values_set(r, CHROME_TID, row[1]);
    if (t->category.n)
        perfetto_values_set_text(r, CHROME_CAT, t->category);
    if (on_stream && !t->is_known_category)
        perfetto_values_set_text(r, CHROME_CAT, perfetto_events_category(t->name));
    kind = chrome_take_kind(&r->chrome);
    if (kind == HU_KIND_OPENMP) /* a row beside what the thread does, of the same thread */
        perfetto_values_set(r, CHROME_TID, perfetto_tracks_thread(r, track));
    if (row[1].type == CHROME_INT)
        return kind;
    if (on_stream && row[0].type != CHROME_INT) {
        perfetto_values_set(r, CHROME_PID, e->at[CHROME_DEVICE]);
        perfetto_values_set(r, CHROME_TID, e->at[CHROME_STREAM]);
    } else if (hu_kind_in(kind, HU_KINDS_DEVICE)) {
        perfetto_values_set_text(r, CHROME_TID, where->name); /* for the number at its end */
    }
    return kind;
}

/* One number for all slices that a flow connects, until it ends; 0 without memory. */
uint32_t perfetto_events_number(perfetto_reader *r, hu_map *map, uint64_t id, bool *is_first)
{
    uint32_t *place = hu_map_put(map, id);

    if (!place) {
        perfetto_no_memory(r);
        return 0;
    }
    *is_first = *place == HU_MAP_NONE || *place == 0;
    if (*is_first)
        *place = ++r->n_flows;
    return *place;
}

/* The device work of a call, by the ids of its render stages. */
static uint32_t submission_of(perfetto_reader *r, hu_str gpu)
{
    hu_protobuf       m = hu_protobuf_of(gpu);
    hu_protobuf_field f;
    uint32_t          number = 0;
    uint64_t          ids[MOST_FLOWS];
    bool              is_first;

    while (hu_protobuf_next(&m, &f)) {
        const size_t n = f.number == 1 ? hu_protobuf_numbers(&f, false, ids, HU_COUNT(ids)) : 0;

        for (size_t i = 0; i < n; i++) {
            uint32_t *place = number ? hu_map_put(&r->stages, ids[i]) : NULL;

            if (place)
                *place = number;
            else
                number = perfetto_events_number(r, &r->stages, ids[i], &is_first);
        }
    }
    return number;
}

static void link_launch(perfetto_reader *r, const track_event *t, hu_kind kind)
{
    uint32_t number = 0;
    bool     is_first;

    if (chrome_has(&r->chrome.event, CHROME_CORRELATION) || !hu_kind_in(kind, HU_KINDS_CALL | HU_KINDS_DEVICE))
        return;
    if (t->gpu.n)
        number = submission_of(r, t->gpu);
    if (!number && t->n_flows)
        number = perfetto_events_number(r, &r->flows, t->flows[0], &is_first);
    if (number)
        perfetto_values_set_int(r, CHROME_CORRELATION, PERFETTO_FIRST_FLOW + number);
}

static void add_flows(perfetto_reader *r, const track_event *t, const hu_builder_slice *s)
{
    for (size_t i = 0; i < t->n_flows; i++) {
        bool           is_first = true;
        const bool     is_op = s->kind == HU_KIND_CPU_OP;
        const uint32_t number = is_op ? perfetto_events_number(r, &r->flows, t->flows[i], &is_first) : 0;
        uint32_t      *place = i >= t->n_open_flows ? hu_map_put(&r->flows, t->flows[i]) : NULL;

        if (number)
            hu_builder_flow(
                r->b,
                &(hu_flow){.time_ns = s->start_ns, .id = number, .track = s->track, .slice = HU_NONE, .is_end = !is_first});
        if (place)
            *place = 0; /* the id may be used again */
    }
}

/* How often anything was found wrong with an event. */
static int64_t count_reasons(const perfetto_reader *r)
{
    const hu_quality *q = hu_builder_quality(r->b);
    int64_t           n = 0;

    for (size_t i = 0; i < HU_REASON_COUNT; i++)
        n += q->count[i];
    return n;
}

static void take_begin(perfetto_reader *r, const perfetto_packet *packet, const track_event *t, uint32_t track, int64_t ns)
{
    const size_t     n = hu_builder_slice_count(r->b);
    const hu_kind    kind = place_event(r, t, track);
    const int64_t    counted = count_reasons(r); /* what is counted once would have to be counted with each repetition */
    hu_builder_slice s;

    link_launch(r, t, kind);
    if (!chrome_take_slice(&r->chrome, &s))
        return;
    add_flows(r, t, &s);
    hu_builder_add(r->b, &s);
    if (hu_builder_slice_count(r->b) > n)
        perfetto_tracks_edge(r, track, ns, (uint32_t)n);
    if (t->n_flows == 0 && t->gpu.n == 0 && !packet->interned.n && count_reasons(r) == counted)
        perfetto_repeat_keep(r, packet, track, &s);
}

static void take_counter(perfetto_reader *r, const track_event *t, uint32_t at, int64_t ns)
{
    const chrome_value *row = perfetto_tracks_row(r, at);
    perfetto_track     *track = &r->tracks.at[at];
    const hu_builder_id pid = row[0].type == CHROME_INT
                                  ? (hu_builder_id){row[0].number, false}
                                  : (hu_builder_id){hu_builder_intern(r->b, (hu_str){row[0].p, row[0].n}), true};
    const double        value = t->counter * track->unit;

    track->total = track->is_delta ? track->total + value : value;
    if (t->has_counter && isfinite(track->total))
        hu_builder_sample(r->b, hu_builder_counter(r->b, pid, hu_builder_intern(r->b, track->name)), ns, track->total);
}

/* The old form says its phase by letter. */
static uint64_t type_of_phase(char phase)
{
    return phase == 'B'                                   ? HU_PT_TYPE_BEGIN
           : phase == 'E'                                 ? HU_PT_TYPE_END
           : phase == 'I' || phase == 'i' || phase == 'R' ? HU_PT_TYPE_INSTANT
                                                          : 0;
}

void perfetto_events_track_event(perfetto_reader *r, const perfetto_packet *packet)
{
    static const char letters[] = {'\0', 'B', 'E', 'i', 'C'};
    hu_quality       *q = hu_builder_quality(r->b);
    track_event       t = {.track = r->sequences.at[packet->sequence].track, .name = HU_STR(""), .category = HU_STR("")};
    bool              is_good, has_time;
    int64_t           ns = 0;
    uint32_t          track;

    perfetto_values_start(r);
    is_good = read_event(r, packet, &t);
    has_time = perfetto_clocks_time(r, packet, &ns);
    if (!t.type)
        t.type = type_of_phase(t.phase);
    q->events++;
    if (t.type < HU_COUNT(letters) && t.type && t.type != HU_PT_TYPE_INSTANT)
        q->by_phase[(int)letters[t.type]]++;
    track = perfetto_tracks_find(r, t.track);
    if (track == UINT32_MAX)
        return;
    if (!is_good || r->chrome.event.too_deep) {
        hu_quality_count(q, is_good ? HU_REASON_TOO_DEEP : HU_REASON_MALFORMED, 0);
        if (has_time && t.type == HU_PT_TYPE_BEGIN)
            perfetto_tracks_edge(r, track, ns, PERFETTO_LOST); /* or its end would close somebody else */
        return;
    }
    if (!has_time) {
        hu_quality_count(q, HU_REASON_NO_TIME, 0);
        return;
    }
    perfetto_values_resolve(r);
    perfetto_values_set_text(r, CHROME_NAME, t.name);
    perfetto_values_set_int(r, CHROME_TS, ns);
    if (t.type == HU_PT_TYPE_BEGIN) {
        take_begin(r, packet, &t, track, ns);
    } else if (t.type == HU_PT_TYPE_END) {
        perfetto_tracks_edge(r, track, ns, PERFETTO_END);
        perfetto_repeat_keep(r, packet, track, NULL);
    } else if (t.type == HU_PT_TYPE_COUNTER) {
        take_counter(r, &t, track, ns);
    } else if (t.type == HU_PT_TYPE_INSTANT || t.phase == 'X') {
        int64_t dur_ns;

        place_event(r, &t, track);
        perfetto_values_set(r, CHROME_PH, (chrome_value){.p = t.type ? "i" : "X", .n = 1, .type = CHROME_STRING});
        if (!__builtin_mul_overflow(t.dur_us, INT64_C(1000), &dur_ns))
            perfetto_values_set_int(r, CHROME_DUR, dur_ns);
        chrome_take_event(&r->chrome);
    } else {
        hu_quality_count(q, HU_REASON_NO_PHASE, 0);
    }
}
