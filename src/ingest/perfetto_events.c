/* SPDX-License-Identifier: Apache-2.0
 * perfetto_events.c - from one event to the `chrome_event` that the same event would be in Chrome JSON.
 *
 * So categories and arguments (debug annotations, launch arguments, extra data) are understood in one place,
 * chrome_take.c, and a trace that was converted reads as it did before.  Traps:
 *  - names, categories, argument names and texts may be ids that the writer declared once, and forgets now and then;
 *  - arrays and dictionaries are messages in messages; they become the JSON text that other profilers write;
 *  - flows have no category: between operators they are forward-backward links, between a call and device work they
 *    are the launch, unless a correlation says so already.
 */
#include <math.h>

#include "base/number.h"
#include "ingest/perfetto_reader.h"
#include "ingest/producers.h"

enum { MOST_FLOWS = 16, MOST_DEPTH = 512 };

/* Correlations that come from flows, where no profiler counts. */
static const int64_t FIRST_FLOW = INT64_C(0x80000000);

/* TrackEvent, LegacyEvent */
enum {
    EVENT_CATEGORY_IID = 3, EVENT_ANNOTATION = 4, EVENT_LEGACY = 6, EVENT_TYPE = 9, EVENT_NAME_IID = 10, EVENT_TRACK = 11,
    EVENT_CATEGORY = 22, EVENT_NAME = 23, EVENT_COUNTER = 30, EVENT_COUNTER_DOUBLE = 44, EVENT_FLOW = 47,
    EVENT_FLOW_END = 48, EVENT_CORRELATION = 52, EVENT_GPU = 3000,
    LEGACY_NAME_IID = 1, LEGACY_PHASE = 2, LEGACY_DURATION = 3,
};
enum { TYPE_BEGIN = 1, TYPE_END = 2, TYPE_INSTANT = 3, TYPE_COUNTER = 4 };

/* DebugAnnotation; its relatives number the same values otherwise */
enum {
    NOTE_NAME_IID = 1, NOTE_BOOL = 2, NOTE_UINT = 3, NOTE_INT = 4, NOTE_DOUBLE = 5, NOTE_STRING = 6, NOTE_POINTER = 7,
    NOTE_NAME = 10, NOTE_DICT = 11, NOTE_ARRAY = 12, NOTE_STRING_IID = 17,
};

/* GpuRenderStageEvent, its launch and arguments */
enum {
    STAGE_EVENT_ID = 1, STAGE_DURATION = 2, STAGE_CONTEXT = 5, STAGE_EXTRA = 6, STAGE_GPU = 11, STAGE_QUEUE_IID = 13,
    STAGE_IID = 14, STAGE_NAME = 17, STAGE_KERNEL = 19, STAGE_NAME_IID = 20, STAGE_LAUNCH = 21,
    LAUNCH_GRID = 1, LAUNCH_BLOCK = 2, LAUNCH_ARG = 3,
    ARG_NAME_IID = 1, ARG_NAME = 2, ARG_INT = 3, ARG_UINT = 4, ARG_DOUBLE = 5, ARG_STRING = 6, ARG_STRING_IID = 7,
};

/* What is not in chrome_event. */
typedef struct {
    uint64_t type, track, name_iid, flows[2 * MOST_FLOWS];
    size_t   n_flows, n_open_flows;     /* the rest ends here */
    hu_str   name, category;
    bool     has_name, is_known_category, has_counter;
    double   counter;
    char     phase;                     /* of the old form; '\0' */
    int64_t  dur_us;
    hu_str   gpu;
} track_event;

/* ---- ids ------------------------------------------------------------------------------------------------------ */

static uint64_t interned_key(uint32_t sequence, uint32_t generation, perfetto_interned_type type, uint64_t iid)
{
    return hu_hash_mix(iid ^ 0x9e3779b97f4a7c15u, ((uint64_t)sequence << 32 | generation) ^ (uint64_t)type << 20 ^
                                                      0xd6e8feb86659fd93u);
}

/* NULL: never declared, or forgotten since. */
static const perfetto_interned *get(perfetto_reader *r, uint32_t sequence, perfetto_interned_type type, uint64_t iid)
{
    const uint32_t generation = r->sequences.at[sequence].generation;
    const uint32_t at = hu_map_get(&r->interned_of, interned_key(sequence, generation, type, iid));
    const perfetto_interned *i = at == HU_MAP_NONE ? NULL : &r->interned.at[at];

    return i && i->iid == iid && i->sequence == sequence && i->generation == generation && i->type == type ? i : NULL;
}

static hu_str text_by_id(perfetto_reader *r, uint32_t sequence, perfetto_interned_type type, uint64_t iid)
{
    const perfetto_interned *i = iid ? get(r, sequence, type, iid) : NULL;

    if (iid && !i)
        hu_quality_count(hu_builder_quality(r->b), HU_REASON_UNKNOWN_ID, 0);
    return i ? i->text : HU_STR("");
}

bool perfetto_events_prepare(perfetto_reader *r)
{
    for (size_t i = 0; i < chrome_key_count; i++) {
        uint32_t *place;

        if (!chrome_keys[i].is_arg || chrome_keys[i].place == CHROME_IGNORED)
            continue;
        place = hu_map_put(&r->places, hu_hash_bytes(chrome_keys[i].text, chrome_keys[i].n - 1u));
        if (!place)
            return false;
        *place = (uint32_t)i;
    }
    return true;
}

/* Where the value of an argument goes; CHROME_IGNORED when nobody asks for it. */
static int place_of(const perfetto_reader *r, hu_str name)
{
    const uint32_t at = hu_map_get(&r->places, hu_hash_bytes(name.p, name.n));

    return at != HU_MAP_NONE && chrome_keys[at].n - 1u == name.n && memcmp(chrome_keys[at].text, name.p, name.n) == 0
               ? chrome_keys[at].place
               : CHROME_IGNORED;
}

static int place_by_id(perfetto_reader *r, uint32_t sequence, perfetto_interned_type type, uint64_t iid)
{
    const perfetto_interned *i = get(r, sequence, type, iid);

    if (!i)
        hu_quality_count(hu_builder_quality(r->b), HU_REASON_UNKNOWN_ID, 0);
    return i ? (int)i->number : CHROME_IGNORED;
}

static void intern_one(perfetto_reader *r, uint32_t sequence, perfetto_interned_type type, hu_str message)
{
    perfetto_interned entry = {.sequence = sequence, .generation = r->sequences.at[sequence].generation, .type = type,
                               .text = HU_STR("")};
    hu_protobuf       m = hu_protobuf_of(message);
    hu_protobuf_field f;
    uint32_t         *place;

    while (hu_protobuf_next(&m, &f)) {
        if (f.number == 1)
            entry.iid = f.value;
        else if (f.number == 2 && f.wire == HU_WIRE_BYTES)
            entry.text = f.bytes;
        else if (f.number == 2)
            entry.number = (int32_t)f.value;
        else if (f.number == 3 && type == PERFETTO_KERNEL && f.bytes.n)
            entry.text = f.bytes;           /* demangled */
    }
    if (m.bad) {
        perfetto_malformed(r);
        return;
    }
    if (type == PERFETTO_ARG_NAME || type == PERFETTO_KERNEL_ARG_NAME)
        entry.number = place_of(r, entry.text);
    entry.text = hu_builder_text(r->b, hu_builder_intern(r->b, entry.text));
    place = hu_map_put(&r->interned_of, interned_key(sequence, entry.generation, type, entry.iid));
    if (!place || !hu_vec_push(r->arena, &r->interned, entry))
        perfetto_no_memory(r);
    else
        *place = (uint32_t)r->interned.n - 1;
    if ((int64_t)r->interned.n > hu_input_limits(r->chrome.in)->events)
        hu_builder_fail(r->b, HU_ELIMIT, r->offset, "more interned names than the limit; raise --limit events=N");
}

void perfetto_events_intern(perfetto_reader *r, uint32_t sequence, hu_str message)
{
    hu_protobuf       m = hu_protobuf_of(message);
    hu_protobuf_field f;

    while (hu_protobuf_next(&m, &f)) {
        switch (f.number) {
        case PERFETTO_CATEGORY:
        case PERFETTO_EVENT_NAME:
        case PERFETTO_ARG_NAME:
        case PERFETTO_CONTEXT:
        case PERFETTO_GPU_SPECIFICATION:
        case PERFETTO_STRING:
        case PERFETTO_KERNEL:
        case PERFETTO_KERNEL_ARG_NAME:
            intern_one(r, sequence, (perfetto_interned_type)f.number, f.bytes);
            break;
        default:
            break;
        }
    }
    if (m.bad)
        perfetto_malformed(r);
}

/* ---- values --------------------------------------------------------------------------------------------------- */

static void set(perfetto_reader *r, int place, chrome_value v)
{
    v.stamp = r->chrome.event.stamp;
    r->chrome.event.at[place] = v;
}

static void set_int(perfetto_reader *r, int place, int64_t number)
{
    set(r, place, (chrome_value){.p = "", .type = CHROME_INT, .number = number});
}

/* "[64, 1, 1]" in quotes is a list. */
static void set_text(perfetto_reader *r, int place, hu_str s)
{
    const bool is_list = s.n >= 2 && s.p[0] == '[' && s.p[s.n - 1] == ']';

    if (s.n < UINT32_MAX)
        set(r, place, (chrome_value){.p = s.p, .n = (uint32_t)s.n, .type = is_list ? CHROME_CONTAINER : CHROME_STRING});
}

static void append(perfetto_reader *r, hu_str s)
{
    if ((int64_t)(r->text.n + s.n) > hu_input_limits(r->chrome.in)->event_bytes) {
        hu_builder_fail(r->b, HU_ELIMIT, r->offset,
                        "the arguments of one event are longer than the limit; raise --limit event_bytes=N");
    } else if (!hu_vec_reserve(r->arena, &r->text, s.n + 1)) {
        perfetto_no_memory(r);
    } else {
        if (s.n)
            memcpy(r->text.at + r->text.n, s.p, s.n);
        r->text.n += s.n;
    }
}

/* r->text moves as it grows: until the event is whole, a value holds how far from its beginning it lies. */
static void set_appended(perfetto_reader *r, int place, size_t from)
{
    if (r->text.n - from < UINT32_MAX)
        set(r, place, (chrome_value){.p = NULL, .n = (uint32_t)(r->text.n - from), .type = CHROME_CONTAINER,
                                     .number = (int64_t)from});
}

static void resolve_appended(perfetto_reader *r)
{
    chrome_event *e = &r->chrome.event;

    for (int i = 0; r->text.n && i < CHROME_PLACES; i++)
        if (chrome_has(e, i) && e->at[i].type == CHROME_CONTAINER && !e->at[i].p)
            e->at[i].p = r->text.at + e->at[i].number;
}

static void set_unsigned(perfetto_reader *r, int place, uint64_t number)
{
    char digits[HU_NUMBER_BYTES];

    if (number <= INT64_MAX) {
        set_int(r, place, (int64_t)number);
    } else {
        const size_t from = r->text.n;

        append(r, (hu_str){digits, hu_format_u64(digits, number)});
        set_appended(r, place, from);
    }
}

static void append_quoted(perfetto_reader *r, hu_str s)
{
    static const char hex[] = "0123456789abcdef";

    append(r, HU_STR("\""));
    for (size_t i = 0, from = 0; i <= s.n; i++) {
        const unsigned char c = i < s.n ? (unsigned char)s.p[i] : 0;

        if (i < s.n && c >= 0x20 && c != '"' && c != '\\')
            continue;
        append(r, (hu_str){s.p + from, i - from});
        if (i < s.n) {
            const char escape[6] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};

            append(r, c >= 0x20 ? (hu_str){(const char[]){'\\', (char)c}, 2} : (hu_str){escape, 6});
        }
        from = i + 1;
    }
    append(r, HU_STR("\""));
}

static void append_double(perfetto_reader *r, double value)
{
    char   digits[HU_NUMBER_BYTES];
    size_t n = hu_format_fixed(digits, value, 9);

    if (!isfinite(value)) {
        append(r, HU_STR("null"));
        return;
    }
    while (n > 1 && digits[n - 1] == '0' && digits[n - 2] != '.')
        n--;
    append(r, (hu_str){digits, n});
}

static hu_str note_name(perfetto_reader *r, uint32_t sequence, hu_str message)
{
    hu_protobuf       m = hu_protobuf_of(message);
    hu_protobuf_field f;
    hu_str            name = HU_STR("");

    while (hu_protobuf_next(&m, &f)) {
        if (f.number == NOTE_NAME)
            name = f.bytes;
        else if (f.number == NOTE_NAME_IID)
            name = text_by_id(r, sequence, PERFETTO_ARG_NAME, f.value);
    }
    return name;
}

/* The value of one annotation as JSON.  False: not well formed. */
static bool append_note(perfetto_reader *r, uint32_t sequence, hu_str message, int64_t depth)
{
    const int64_t     deepest = hu_input_limits(r->chrome.in)->nesting;
    hu_protobuf       m = hu_protobuf_of(message);
    hu_protobuf_field f;
    char              digits[HU_NUMBER_BYTES];
    size_t            n = 0;
    uint32_t          container = 0;
    bool              is_good = true;

    if (depth > deepest || depth > MOST_DEPTH) {
        r->chrome.event.too_deep = true;
        return true;
    }
    while (hu_protobuf_next(&m, &f) && !r->chrome.event.too_deep && hu_builder_status(r->b, NULL) == 0) {
        const bool is_part = f.number == NOTE_DICT || f.number == NOTE_ARRAY;

        if (n && !(is_part && f.number == container))
            continue;               /* one value each; the rest is names, or somebody's mistake */
        switch (f.number) {
        case NOTE_BOOL:
            append(r, f.value ? HU_STR("true") : HU_STR("false"));
            break;
        case NOTE_UINT:
        case NOTE_POINTER:
            append(r, (hu_str){digits, hu_format_u64(digits, f.value)});
            break;
        case NOTE_INT:
            append(r, (hu_str){digits, hu_format_i64(digits, (int64_t)f.value)});
            break;
        case NOTE_DOUBLE:
            append_double(r, hu_protobuf_double(&f));
            break;
        case NOTE_STRING:
            append_quoted(r, f.bytes);
            break;
        case NOTE_STRING_IID:
            append_quoted(r, text_by_id(r, sequence, PERFETTO_STRING, f.value));
            break;
        case NOTE_DICT:
        case NOTE_ARRAY:
            append(r, n ? HU_STR(", ") : f.number == NOTE_DICT ? HU_STR("{") : HU_STR("["));
            container = f.number;
            if (container == NOTE_DICT) {
                append_quoted(r, note_name(r, sequence, f.bytes));
                append(r, HU_STR(": "));
            }
            is_good = append_note(r, sequence, f.bytes, depth + 1) && is_good;
            break;
        default:
            continue;
        }
        n++;
    }
    if (container)
        append(r, container == NOTE_DICT ? HU_STR("}") : HU_STR("]"));
    else if (n == 0)
        append(r, HU_STR("[]"));    /* an empty list has no field of its own */
    return is_good && !m.bad;
}

/* False: not well formed. */
static bool take_note(perfetto_reader *r, uint32_t sequence, hu_str message)
{
    hu_protobuf       m = hu_protobuf_of(message);
    hu_protobuf_field f, value = {0};
    const size_t      from = r->text.n;
    int               place = CHROME_IGNORED;

    while (hu_protobuf_next(&m, &f)) {
        if (f.number == NOTE_NAME)
            place = place_of(r, f.bytes);
        else if (f.number == NOTE_NAME_IID)
            place = place_by_id(r, sequence, PERFETTO_ARG_NAME, f.value);
        else
            value = f;
    }
    if (m.bad)
        return false;
    if (place == CHROME_IGNORED)
        return true;
    switch (value.number) {
    case NOTE_BOOL:
        set(r, place, (chrome_value){.p = value.value ? "true" : "false", .n = value.value ? 4 : 5, .type = CHROME_WORD});
        break;
    case NOTE_INT:
        set_int(r, place, (int64_t)value.value);
        break;
    case NOTE_UINT:
    case NOTE_POINTER:
        set_unsigned(r, place, value.value);
        break;
    case NOTE_DOUBLE:
        set(r, place, (chrome_value){.p = "", .type = CHROME_DOUBLE, .real = hu_protobuf_double(&value)});
        break;
    case NOTE_STRING:
        set_text(r, place, value.bytes);
        break;
    case NOTE_STRING_IID:
        set_text(r, place, text_by_id(r, sequence, PERFETTO_STRING, value.value));
        break;
    case NOTE_DICT:
    case NOTE_ARRAY:
        if (!append_note(r, sequence, message, 0))
            return false;
        set_appended(r, place, from);
        break;
    default:
        break;
    }
    return true;
}

/* ---- events of threads and other tracks ----------------------------------------------------------------------- */

static void start_event(perfetto_reader *r)
{
    chrome_event *e = &r->chrome.event;

    e->stamp++;
    e->duplicates = e->odd_words = e->n_extra = 0;
    e->too_deep = false;
    r->text.n = 0;
}

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
        if (f.number == LEGACY_PHASE)
            t->phase = (char)(f.value & 0x7f);
        else if (f.number == LEGACY_DURATION)
            t->dur_us = (int64_t)f.value;
        else if (f.number == LEGACY_NAME_IID && !t->has_name)
            t->name_iid = f.value;
    }
}

static void take_flows(track_event *t, const hu_protobuf_field *f)
{
    const size_t n = t->n_flows < MOST_FLOWS ? hu_protobuf_numbers(f, true, t->flows + t->n_flows, MOST_FLOWS - t->n_flows) : 0;

    if (f->number == EVENT_FLOW && t->n_open_flows == t->n_flows)
        t->n_open_flows += n;       /* those that end come behind */
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
        case EVENT_TYPE:
            t->type = f.value;
            break;
        case EVENT_TRACK:
            t->track = f.value;
            break;
        case EVENT_NAME:
            t->name = f.bytes;
            t->has_name = true;
            break;
        case EVENT_NAME_IID:
            t->name_iid = f.value;
            break;
        case EVENT_CATEGORY:
            take_category(t, f.bytes);
            break;
        case EVENT_CATEGORY_IID:
            n = hu_protobuf_numbers(&f, false, categories, HU_COUNT(categories));
            for (size_t i = 0; i < n; i++)
                take_category(t, text_by_id(r, s, PERFETTO_CATEGORY, categories[i]));
            break;
        case EVENT_ANNOTATION:
            is_good = take_note(r, s, f.bytes) && is_good;
            break;
        case EVENT_COUNTER:
            t->counter = (double)(int64_t)f.value;
            t->has_counter = true;
            break;
        case EVENT_COUNTER_DOUBLE:
            t->counter = hu_protobuf_double(&f);
            t->has_counter = true;
            break;
        case EVENT_FLOW:
        case EVENT_FLOW_END:
            take_flows(t, &f);
            break;
        case EVENT_CORRELATION:
            if (!chrome_has(&r->chrome.event, CHROME_CORRELATION))
                set_unsigned(r, CHROME_CORRELATION, f.value);
            break;
        case EVENT_LEGACY:
            take_legacy(t, f.bytes);
            break;
        case EVENT_GPU:
            t->gpu = f.bytes;
            break;
        default:
            break;
        }
    }
    if (!t->has_name && t->name_iid)
        t->name = text_by_id(r, s, PERFETTO_EVENT_NAME, t->name_iid);
    return is_good && !m.bad;
}

static hu_str category_of_work(hu_str name)
{
    return hu_str_starts(name, HU_STR("Memcpy"))   ? HU_STR("gpu_memcpy")
           : hu_str_starts(name, HU_STR("Memset")) ? HU_STR("gpu_memset")
                                                   : HU_STR("kernel");
}

/* Category and row, which depend on each other: what names a device and a stream, and is not known otherwise, is work. */
static hu_kind place_event(perfetto_reader *r, const track_event *t, uint32_t track)
{
    chrome_event       *e = &r->chrome.event;
    const chrome_value *row = perfetto_tracks_row(r, track);
    const perfetto_track *where = &r->tracks.at[track];
    const bool on_stream = !where->has_tid && chrome_has(e, CHROME_DEVICE) && chrome_has(e, CHROME_STREAM);
    hu_kind    kind;

    set(r, CHROME_PID, row[0]);
    set(r, CHROME_TID, row[1]);
    if (t->category.n)
        set_text(r, CHROME_CAT, t->category);
    if (on_stream && !t->is_known_category)
        set_text(r, CHROME_CAT, category_of_work(t->name));
    kind = chrome_take_kind(&r->chrome);
    if (row[1].type == CHROME_INT)
        return kind;
    if (on_stream && row[0].type != CHROME_INT) {
        set(r, CHROME_PID, e->at[CHROME_DEVICE]);
        set(r, CHROME_TID, e->at[CHROME_STREAM]);
    } else if (hu_kind_in(kind, HU_KINDS_DEVICE)) {
        set_text(r, CHROME_TID, where->name);       /* for the number at its end */
    }
    return kind;
}

/* One number for all slices that a flow connects, until it ends; 0 without memory. */
static uint32_t number_of(perfetto_reader *r, hu_map *map, uint64_t id, bool *is_first)
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
                number = number_of(r, &r->stages, ids[i], &is_first);
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
        number = number_of(r, &r->flows, t->flows[0], &is_first);
    if (number)
        set_int(r, CHROME_CORRELATION, FIRST_FLOW + number);
}

static void add_flows(perfetto_reader *r, const track_event *t, const hu_builder_slice *s)
{
    for (size_t i = 0; i < t->n_flows; i++) {
        bool           is_first = true;
        const uint32_t number = s->kind == HU_KIND_CPU_OP ? number_of(r, &r->flows, t->flows[i], &is_first) : 0;
        uint32_t      *place = i >= t->n_open_flows ? hu_map_put(&r->flows, t->flows[i]) : NULL;

        if (number)
            hu_builder_flow(r->b, &(hu_flow){.time_ns = s->start_ns, .id = number, .track = s->track,
                                             .slice = HU_NONE, .is_end = !is_first});
        if (place)
            *place = 0;             /* the id may be used again */
    }
}

static void take_begin(perfetto_reader *r, const track_event *t, uint32_t track, int64_t ns)
{
    const size_t     n = hu_builder_slice_count(r->b);
    const hu_kind    kind = place_event(r, t, track);
    hu_builder_slice s;

    link_launch(r, t, kind);
    if (!chrome_take_slice(&r->chrome, &s))
        return;
    add_flows(r, t, &s);
    hu_builder_add(r->b, &s);
    if (hu_builder_slice_count(r->b) > n)
        perfetto_tracks_edge(r, track, ns, (uint32_t)n);
}

static void take_counter(perfetto_reader *r, const track_event *t, uint32_t at, int64_t ns)
{
    const chrome_value *row = perfetto_tracks_row(r, at);
    perfetto_track     *track = &r->tracks.at[at];
    const hu_builder_id pid = row[0].type == CHROME_INT
                                  ? (hu_builder_id){row[0].number, false}
                                  : (hu_builder_id){hu_builder_intern(r->b, (hu_str){row[0].p, row[0].n}), true};
    const double value = t->counter * track->unit;

    track->total = track->is_delta ? track->total + value : value;
    if (t->has_counter)
        hu_builder_sample(r->b, hu_builder_counter(r->b, pid, hu_builder_intern(r->b, track->name)), ns, track->total);
}

/* The old form says its phase by letter. */
static uint64_t type_of_phase(char phase)
{
    return phase == 'B'                                     ? TYPE_BEGIN
           : phase == 'E'                                   ? TYPE_END
           : phase == 'I' || phase == 'i' || phase == 'R'   ? TYPE_INSTANT
                                                            : 0;
}

void perfetto_events_track_event(perfetto_reader *r, const perfetto_packet *packet)
{
    static const char letters[] = {'\0', 'B', 'E', 'i', 'C'};
    hu_quality *q = hu_builder_quality(r->b);
    track_event t = {.track = r->sequences.at[packet->sequence].track, .name = HU_STR(""), .category = HU_STR("")};
    bool        is_good, has_time;
    int64_t     ns = 0;
    uint32_t    track;

    start_event(r);
    is_good = read_event(r, packet, &t);
    has_time = perfetto_clocks_time(r, packet, &ns);
    if (!t.type)
        t.type = type_of_phase(t.phase);
    q->events++;
    if (t.type < HU_COUNT(letters) && t.type && t.type != TYPE_INSTANT)
        q->by_phase[(int)letters[t.type]]++;
    track = perfetto_tracks_find(r, t.track);
    if (track == UINT32_MAX)
        return;
    if (!is_good || r->chrome.event.too_deep) {
        hu_quality_count(q, is_good ? HU_REASON_TOO_DEEP : HU_REASON_MALFORMED, 0);
        if (has_time && t.type == TYPE_BEGIN)
            perfetto_tracks_edge(r, track, ns, PERFETTO_LOST);     /* or its end would close somebody else */
        return;
    }
    if (!has_time) {
        hu_quality_count(q, HU_REASON_NO_TIME, 0);
        return;
    }
    resolve_appended(r);
    set_text(r, CHROME_NAME, t.name);
    set_int(r, CHROME_TS, ns);
    if (t.type == TYPE_BEGIN) {
        take_begin(r, &t, track, ns);
    } else if (t.type == TYPE_END) {
        perfetto_tracks_edge(r, track, ns, PERFETTO_END);
    } else if (t.type == TYPE_COUNTER) {
        take_counter(r, &t, track, ns);
    } else if (t.type == TYPE_INSTANT || t.phase == 'X') {
        int64_t dur_ns;

        place_event(r, &t, track);
        set(r, CHROME_PH, (chrome_value){.p = t.type ? "i" : "X", .n = 1, .type = CHROME_STRING});
        if (!__builtin_mul_overflow(t.dur_us, INT64_C(1000), &dur_ns))
            set_int(r, CHROME_DUR, dur_ns);
        chrome_take_event(&r->chrome);
    } else {
        hu_quality_count(q, HU_REASON_NO_PHASE, 0);
    }
}

/* ---- device work and device counters -------------------------------------------------------------------------- */

/* {x 1, y 2, z 3} as "[x, y, z]" */
static void take_dimensions(perfetto_reader *r, int place, hu_str message)
{
    const size_t      from = r->text.n;
    hu_protobuf       m = hu_protobuf_of(message);
    hu_protobuf_field f;
    uint64_t          size[3] = {1, 1, 1};
    char              digits[HU_NUMBER_BYTES];

    while (hu_protobuf_next(&m, &f))
        if (f.number >= 1 && f.number <= 3)
            size[f.number - 1] = f.value;
    for (size_t i = 0; i < 3; i++) {
        append(r, i ? HU_STR(", ") : HU_STR("["));
        append(r, (hu_str){digits, hu_format_u64(digits, size[i])});
    }
    append(r, HU_STR("]"));
    set_appended(r, place, from);
}

static void take_argument(perfetto_reader *r, uint32_t sequence, hu_str message)
{
    hu_protobuf       m = hu_protobuf_of(message);
    hu_protobuf_field f, value = {0};
    int               place = CHROME_IGNORED;

    while (hu_protobuf_next(&m, &f)) {
        if (f.number == ARG_NAME)
            place = place_of(r, f.bytes);
        else if (f.number == ARG_NAME_IID)
            place = place_by_id(r, sequence, PERFETTO_KERNEL_ARG_NAME, f.value);
        else
            value = f;
    }
    if (place == CHROME_IGNORED || m.bad)
        return;
    if (value.number == ARG_INT)
        set_int(r, place, (int64_t)value.value);
    else if (value.number == ARG_UINT)
        set_unsigned(r, place, value.value);
    else if (value.number == ARG_DOUBLE)
        set(r, place, (chrome_value){.p = "", .type = CHROME_DOUBLE, .real = hu_protobuf_double(&value)});
    else if (value.number == ARG_STRING)
        set_text(r, place, value.bytes);
    else if (value.number == ARG_STRING_IID)
        set_text(r, place, text_by_id(r, sequence, PERFETTO_STRING, value.value));
}

static void take_launch(perfetto_reader *r, uint32_t sequence, hu_str message)
{
    hu_protobuf       m = hu_protobuf_of(message);
    hu_protobuf_field f;

    while (hu_protobuf_next(&m, &f)) {
        if (f.number == LAUNCH_GRID)
            take_dimensions(r, CHROME_GRID, f.bytes);
        else if (f.number == LAUNCH_BLOCK)
            take_dimensions(r, CHROME_BLOCK, f.bytes);
        else if (f.number == LAUNCH_ARG)
            take_argument(r, sequence, f.bytes);
    }
}

/* {name 1, value 2} */
static void take_extra(perfetto_reader *r, hu_str message)
{
    hu_protobuf       m = hu_protobuf_of(message);
    hu_protobuf_field f;
    hu_str            name = HU_STR(""), value = HU_STR("");
    int               place;

    while (hu_protobuf_next(&m, &f)) {
        if (f.number == 1)
            name = f.bytes;
        else if (f.number == 2)
            value = f.bytes;
    }
    place = place_of(r, name);
    if (place != CHROME_IGNORED)
        set_text(r, place, value);
}

/* The row of device work: of the process that owns the context, else of the device, as other profilers number it. */
static void place_stage(perfetto_reader *r, uint32_t sequence, uint64_t context, int64_t gpu, uint64_t queue)
{
    const perfetto_interned *owner = context ? get(r, sequence, PERFETTO_CONTEXT, context) : NULL;
    const hu_str name = text_by_id(r, sequence, PERFETTO_GPU_SPECIFICATION, queue);

    if (!chrome_has(&r->chrome.event, CHROME_DEVICE))
        set_int(r, CHROME_DEVICE, gpu);
    set_int(r, CHROME_PID, owner ? owner->number : gpu);
    set_int(r, CHROME_TID, queue <= INT64_MAX ? (int64_t)queue : -1);
    if (name.n && name.p[name.n - 1] >= '0' && name.p[name.n - 1] <= '9')
        set_text(r, CHROME_TID, name);      /* "Channel #7" */
}

void perfetto_events_gpu_stage(perfetto_reader *r, const perfetto_packet *packet)
{
    const uint32_t    s = packet->sequence;
    hu_quality       *q = hu_builder_quality(r->b);
    hu_protobuf       m = hu_protobuf_of(packet->what.bytes);
    hu_protobuf_field f;
    uint64_t          id = 0, context = 0, queue = 0, duration = 0;
    int64_t           gpu = 0, ns = 0;
    hu_str            name = HU_STR(""), kernel = HU_STR(""), stage = HU_STR(""), category;
    bool              is_first;
    uint32_t          number;

    start_event(r);
    q->events++;
    while (hu_protobuf_next(&m, &f)) {
        switch (f.number) {
        case STAGE_EVENT_ID:
            id = f.value;
            break;
        case STAGE_DURATION:
            duration = f.value;
            break;
        case STAGE_CONTEXT:
            context = f.value;
            break;
        case STAGE_EXTRA:
            take_extra(r, f.bytes);
            break;
        case STAGE_GPU:
            gpu = (int32_t)f.value;
            break;
        case STAGE_QUEUE_IID:
            queue = f.value;
            break;
        case STAGE_IID:
            stage = text_by_id(r, s, PERFETTO_GPU_SPECIFICATION, f.value);
            break;
        case STAGE_NAME:
            name = f.bytes;
            break;
        case STAGE_NAME_IID:
            name = text_by_id(r, s, PERFETTO_EVENT_NAME, f.value);
            break;
        case STAGE_KERNEL:
            kernel = text_by_id(r, s, PERFETTO_KERNEL, f.value);
            break;
        case STAGE_LAUNCH:
            take_launch(r, s, f.bytes);
            break;
        default:
            break;
        }
    }
    if (m.bad || !perfetto_clocks_time(r, packet, &ns)) {
        hu_quality_count(q, m.bad ? HU_REASON_MALFORMED : HU_REASON_NO_TIME, 0);
        return;
    }
    resolve_appended(r);
    name = name.n ? name : kernel.n ? kernel : stage;
    category = hu_producers_kind(stage) != HU_KIND_OTHER ? stage : category_of_work(name);
    place_stage(r, s, context, gpu, queue);
    if (!chrome_has(&r->chrome.event, CHROME_CORRELATION) && id) {
        number = number_of(r, &r->stages, id, &is_first);
        set_int(r, CHROME_CORRELATION, FIRST_FLOW + number);
    }
    set_text(r, CHROME_CAT, category);
    set_text(r, CHROME_NAME, name);
    set_int(r, CHROME_TS, ns);
    set_int(r, CHROME_DUR, duration <= INT64_MAX ? (int64_t)duration : INT64_MAX);
    set(r, CHROME_PH, (chrome_value){.p = "X", .n = 1, .type = CHROME_STRING});
    chrome_take_event(&r->chrome);
}

/* {counter_id 1, name 2} of GpuCounterDescriptor.specs 1 */
static void declare_counters(perfetto_reader *r, uint64_t gpu, hu_str message)
{
    hu_protobuf       m = hu_protobuf_of(message), spec;
    hu_protobuf_field f, g;

    while (hu_protobuf_next(&m, &f)) {
        uint64_t  id = 0;
        hu_str    name = HU_STR("");
        uint32_t *place;

        if (f.number != 1)
            continue;
        spec = hu_protobuf_of(f.bytes);
        while (hu_protobuf_next(&spec, &g)) {
            if (g.number == 1)
                id = g.value;
            else if (g.number == 2)
                name = g.bytes;
        }
        place = hu_map_put(&r->counter_of, gpu << 32 ^ id);
        if (place)
            *place = hu_builder_intern(r->b, name);
        else
            perfetto_no_memory(r);
    }
}

/* {counter_id 1, int 2 | double 3} */
static void take_gpu_counter(perfetto_reader *r, uint64_t gpu, int64_t ns, hu_str message)
{
    hu_protobuf       m = hu_protobuf_of(message);
    hu_protobuf_field f;
    uint64_t          id = 0;
    double            value = (double)NAN;
    uint32_t          name;

    while (hu_protobuf_next(&m, &f)) {
        if (f.number == 1)
            id = f.value;
        else if (f.number == 2)
            value = (double)(int64_t)f.value;
        else if (f.number == 3)
            value = hu_protobuf_double(&f);
    }
    name = hu_map_get(&r->counter_of, gpu << 32 ^ id);
    if (name == HU_MAP_NONE)
        hu_quality_count(hu_builder_quality(r->b), HU_REASON_UNKNOWN_ID, 0);
    if (!isnan(value))
        hu_builder_sample(r->b, hu_builder_counter(r->b, (hu_builder_id){(int64_t)gpu, false},
                                                   name == HU_MAP_NONE ? 0 : name), ns, value);
}

void perfetto_events_gpu_counters(perfetto_reader *r, const perfetto_packet *packet)
{
    hu_quality       *q = hu_builder_quality(r->b);
    hu_protobuf       m = hu_protobuf_of(packet->what.bytes);
    hu_protobuf_field f;
    uint64_t          gpu = 0;
    hu_str            descriptor = HU_STR("");
    int64_t           ns;

    q->events++;
    q->by_phase['C']++;
    while (hu_protobuf_next(&m, &f)) {
        if (f.number == 1)
            descriptor = f.bytes;
        else if (f.number == 3)
            gpu = (uint32_t)f.value;
    }
    if (m.bad || !perfetto_clocks_time(r, packet, &ns)) {
        hu_quality_count(q, m.bad ? HU_REASON_MALFORMED : HU_REASON_NO_TIME, 0);
        return;
    }
    declare_counters(r, gpu, descriptor);
    m = hu_protobuf_of(packet->what.bytes);
    while (hu_protobuf_next(&m, &f))
        if (f.number == 2)
            take_gpu_counter(r, gpu, ns, f.bytes);
}
