/* SPDX-License-Identifier: Apache-2.0
 * perfetto_values.c - names by id, and the values of arguments as members of a `chrome_event`.
 *
 * Names, categories, argument names and texts may be ids, which a sequence declares once and forgets when it clears its
 * state.  Arrays and dictionaries are messages in messages; they become the JSON text that other profilers write.
 */
#include <math.h>

#include "base/number.h"
#include "ingest/perfetto_reader.h"

enum { MOST_DEPTH = 512 };

/* DebugAnnotation; its relatives number the same values otherwise */

static uint64_t interned_key(uint32_t sequence, uint32_t generation, hu_pt_interned type, uint64_t iid)
{
    return hu_hash_mix(iid ^ 0x9e3779b97f4a7c15u,
                       ((uint64_t)sequence << 32 | generation) ^ (uint64_t)type << 20 ^ 0xd6e8feb86659fd93u);
}

/* NULL: never declared, or forgotten since. */
const perfetto_interned *perfetto_values_find(perfetto_reader *r, uint32_t sequence, hu_pt_interned type, uint64_t iid)
{
    const uint32_t           generation = r->sequences.at[sequence].generation;
    const uint32_t           at = hu_map_get(&r->interned_of, interned_key(sequence, generation, type, iid));
    const perfetto_interned *i = at == HU_MAP_NONE ? NULL : &r->interned.at[at];

    return i && i->iid == iid && i->sequence == sequence && i->generation == generation && i->type == type ? i : NULL;
}

hu_str perfetto_values_text(perfetto_reader *r, uint32_t sequence, hu_pt_interned type, uint64_t iid)
{
    const perfetto_interned *i = iid ? perfetto_values_find(r, sequence, type, iid) : NULL;

    if (iid && !i)
        hu_quality_count(hu_builder_quality(r->b), HU_REASON_UNKNOWN_ID, 0);
    return i ? i->text : HU_STR("");
}

bool perfetto_values_prepare(perfetto_reader *r)
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
int perfetto_values_place(const perfetto_reader *r, hu_str name)
{
    const uint32_t at = hu_map_get(&r->places, hu_hash_bytes(name.p, name.n));

    return at != HU_MAP_NONE && chrome_keys[at].n - 1u == name.n && memcmp(chrome_keys[at].text, name.p, name.n) == 0
               ? chrome_keys[at].place
               : CHROME_IGNORED;
}

int perfetto_values_place_by_id(perfetto_reader *r, uint32_t sequence, hu_pt_interned type, uint64_t iid)
{
    const perfetto_interned *i = perfetto_values_find(r, sequence, type, iid);

    if (!i)
        hu_quality_count(hu_builder_quality(r->b), HU_REASON_UNKNOWN_ID, 0);
    return i ? (int)i->number : CHROME_IGNORED;
}

void perfetto_values_declare(perfetto_reader *r, uint32_t sequence, const perfetto_interned *entry)
{
    const uint32_t generation = r->sequences.at[sequence].generation;
    uint32_t      *place = hu_map_put(&r->interned_of, interned_key(sequence, generation, entry->type, entry->iid));

    if (!place || !hu_vec_push(r->arena, &r->interned, *entry)) {
        perfetto_no_memory(r);
    } else {
        *place = (uint32_t)r->interned.n - 1;
        r->interned.at[*place].sequence = sequence;
        r->interned.at[*place].generation = generation;
    }
    if ((int64_t)r->interned.n > hu_input_limits(r->chrome.in)->events)
        hu_builder_fail(r->b, HU_ELIMIT, r->offset, "more interned names than the limit; raise --limit events=N");
}

static void intern_one(perfetto_reader *r, uint32_t sequence, hu_pt_interned type, hu_str message)
{
    perfetto_interned entry = {
        .sequence = sequence, .generation = r->sequences.at[sequence].generation, .type = type, .text = HU_STR("")};
    hu_protobuf       m = hu_protobuf_of(message);
    hu_protobuf_field f;

    while (hu_protobuf_next(&m, &f)) {
        if (f.number == 1)
            entry.iid = f.value;
        else if (f.number == 2 && f.wire == HU_WIRE_BYTES)
            entry.text = f.bytes;
        else if (f.number == 2)
            entry.number = (int32_t)f.value;
        else if (f.number == 3 && type == HU_PT_INTERNED_KERNEL && f.bytes.n)
            entry.text = f.bytes; /* demangled */
    }
    if (m.bad) {
        perfetto_malformed(r);
        return;
    }
    if (type == HU_PT_INTERNED_NOTE_NAME || type == HU_PT_INTERNED_KERNEL_ARG_NAME)
        entry.number = perfetto_values_place(r, entry.text);
    entry.text = hu_builder_text(r->b, hu_builder_intern(r->b, entry.text));
    perfetto_values_declare(r, sequence, &entry);
}

void perfetto_values_intern(perfetto_reader *r, uint32_t sequence, hu_str message)
{
    hu_protobuf       m = hu_protobuf_of(message);
    hu_protobuf_field f;
    bool              has_frames = false;

    while (hu_protobuf_next(&m, &f)) {
        switch (f.number) {
        case HU_PT_INTERNED_CATEGORY:
        case HU_PT_INTERNED_EVENT_NAME:
        case HU_PT_INTERNED_NOTE_NAME:
        case HU_PT_INTERNED_CONTEXT:
        case HU_PT_INTERNED_GPU_SPECIFICATION:
        case HU_PT_INTERNED_TEXT:
        case HU_PT_INTERNED_FUNCTION:
        case HU_PT_INTERNED_PATH:
        case HU_PT_INTERNED_KERNEL:
        case HU_PT_INTERNED_KERNEL_ARG_NAME:
            intern_one(r, sequence, (hu_pt_interned)f.number, f.bytes);
            break;
        case HU_PT_INTERNED_FRAME:
        case HU_PT_INTERNED_STACK:
        case HU_PT_INTERNED_MAPPING:
            has_frames = true;
            break;
        default:
            break;
        }
    }
    if (has_frames)
        perfetto_samples_intern(r, sequence, message);
    if (m.bad)
        perfetto_malformed(r);
}

void perfetto_values_set(perfetto_reader *r, int place, chrome_value v)
{
    v.stamp = r->chrome.event.stamp;
    r->chrome.event.at[place] = v;
}

void perfetto_values_set_int(perfetto_reader *r, int place, int64_t number)
{
    perfetto_values_set(r, place, (chrome_value){.p = "", .type = CHROME_INT, .number = number});
}

void perfetto_values_set_double(perfetto_reader *r, int place, double value)
{
    if (isfinite(value))
        perfetto_values_set(r, place, (chrome_value){.p = "", .type = CHROME_DOUBLE, .real = value});
}

/* "[64, 1, 1]" in quotes is a list. */
void perfetto_values_set_text(perfetto_reader *r, int place, hu_str s)
{
    const bool is_list = s.n >= 2 && s.p[0] == '[' && s.p[s.n - 1] == ']';

    if (s.n < UINT32_MAX)
        perfetto_values_set(
            r, place, (chrome_value){.p = s.p, .n = (uint32_t)s.n, .type = is_list ? CHROME_CONTAINER : CHROME_STRING});
}

void perfetto_values_append(perfetto_reader *r, hu_str s)
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
void perfetto_values_set_appended(perfetto_reader *r, int place, size_t from)
{
    if (r->text.n - from < UINT32_MAX)
        perfetto_values_set(
            r, place,
            (chrome_value){.p = NULL, .n = (uint32_t)(r->text.n - from), .type = CHROME_CONTAINER, .number = (int64_t)from});
}

void perfetto_values_resolve(perfetto_reader *r)
{
    chrome_event *e = &r->chrome.event;

    for (int i = 0; r->text.n && i < CHROME_PLACES; i++)
        if (chrome_has(e, i) && e->at[i].type == CHROME_CONTAINER && !e->at[i].p)
            e->at[i].p = r->text.at + e->at[i].number;
}

void perfetto_values_set_unsigned(perfetto_reader *r, int place, uint64_t number)
{
    char digits[HU_NUMBER_BYTES];

    if (number <= INT64_MAX) {
        perfetto_values_set_int(r, place, (int64_t)number);
    } else {
        const size_t from = r->text.n;

        perfetto_values_append(r, (hu_str){digits, hu_format_u64(digits, number)});
        perfetto_values_set_appended(r, place, from);
    }
}

void perfetto_values_quote(perfetto_reader *r, hu_str s)
{
    static const char hex[] = "0123456789abcdef";

    perfetto_values_append(r, HU_STR("\""));
    for (size_t i = 0, from = 0; i <= s.n; i++) {
        const unsigned char c = i < s.n ? (unsigned char)s.p[i] : 0;

        if (i < s.n && c >= 0x20 && c != '"' && c != '\\')
            continue;
        perfetto_values_append(r, (hu_str){s.p + from, i - from});
        if (i < s.n) {
            const char escape[6] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};

            perfetto_values_append(r, c >= 0x20 ? (hu_str){(const char[]){'\\', (char)c}, 2} : (hu_str){escape, 6});
        }
        from = i + 1;
    }
    perfetto_values_append(r, HU_STR("\""));
}

static void append_double(perfetto_reader *r, double value)
{
    char   digits[HU_NUMBER_BYTES];
    size_t n = hu_format_fixed(digits, value, 9);

    if (!isfinite(value)) {
        perfetto_values_append(r, HU_STR("null"));
        return;
    }
    while (n > 1 && digits[n - 1] == '0' && digits[n - 2] != '.')
        n--;
    perfetto_values_append(r, (hu_str){digits, n});
}

static hu_str note_name(perfetto_reader *r, uint32_t sequence, hu_str message)
{
    hu_protobuf       m = hu_protobuf_of(message);
    hu_protobuf_field f;
    hu_str            name = HU_STR("");

    while (hu_protobuf_next(&m, &f)) {
        if (f.number == HU_PT_NOTE_NAME)
            name = f.bytes;
        else if (f.number == HU_PT_NOTE_NAME_IID)
            name = perfetto_values_text(r, sequence, HU_PT_INTERNED_NOTE_NAME, f.value);
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
        const bool is_part = f.number == HU_PT_NOTE_DICT || f.number == HU_PT_NOTE_ARRAY;

        if (n && !(is_part && f.number == container))
            continue; /* one value each; the rest is names, or somebody's mistake */
        switch (f.number) {
        case HU_PT_NOTE_BOOL:
            perfetto_values_append(r, f.value ? HU_STR("true") : HU_STR("false"));
            break;
        case HU_PT_NOTE_UINT:
        case HU_PT_NOTE_POINTER:
            perfetto_values_append(r, (hu_str){digits, hu_format_u64(digits, f.value)});
            break;
        case HU_PT_NOTE_INT:
            perfetto_values_append(r, (hu_str){digits, hu_format_i64(digits, (int64_t)f.value)});
            break;
        case HU_PT_NOTE_DOUBLE:
            append_double(r, hu_protobuf_double(&f));
            break;
        case HU_PT_NOTE_TEXT:
            perfetto_values_quote(r, f.bytes);
            break;
        case HU_PT_NOTE_TEXT_IID:
            perfetto_values_quote(r, perfetto_values_text(r, sequence, HU_PT_INTERNED_TEXT, f.value));
            break;
        case HU_PT_NOTE_DICT:
        case HU_PT_NOTE_ARRAY:
            perfetto_values_append(r, n ? HU_STR(", ") : f.number == HU_PT_NOTE_DICT ? HU_STR("{") : HU_STR("["));
            container = f.number;
            if (container == HU_PT_NOTE_DICT) {
                perfetto_values_quote(r, note_name(r, sequence, f.bytes));
                perfetto_values_append(r, HU_STR(": "));
            }
            is_good = append_note(r, sequence, f.bytes, depth + 1) && is_good;
            break;
        default:
            continue;
        }
        n++;
    }
    if (container)
        perfetto_values_append(r, container == HU_PT_NOTE_DICT ? HU_STR("}") : HU_STR("]"));
    else if (n == 0)
        perfetto_values_append(r, HU_STR("[]")); /* an empty list has no field of its own */
    return is_good && !m.bad;
}

void perfetto_values_start(perfetto_reader *r)
{
    chrome_event *e = &r->chrome.event;

    e->stamp++;
    e->duplicates = e->odd_words = e->n_extra = 0;
    e->too_deep = false;
    r->text.n = 0;
}

/* False: not well formed. */
bool perfetto_values_note(perfetto_reader *r, uint32_t sequence, hu_str message)
{
    hu_protobuf       m = hu_protobuf_of(message);
    hu_protobuf_field f, value = {0};
    const size_t      from = r->text.n;
    int               place = CHROME_IGNORED;

    while (hu_protobuf_next(&m, &f)) {
        if (f.number == HU_PT_NOTE_NAME)
            place = perfetto_values_place(r, f.bytes);
        else if (f.number == HU_PT_NOTE_NAME_IID)
            place = perfetto_values_place_by_id(r, sequence, HU_PT_INTERNED_NOTE_NAME, f.value);
        else
            value = f;
    }
    if (m.bad)
        return false;
    if (place == CHROME_IGNORED)
        return true;
    switch (value.number) {
    case HU_PT_NOTE_BOOL:
        perfetto_values_set(
            r, place, (chrome_value){.p = value.value ? "true" : "false", .n = value.value ? 4 : 5, .type = CHROME_WORD});
        break;
    case HU_PT_NOTE_INT:
        perfetto_values_set_int(r, place, (int64_t)value.value);
        break;
    case HU_PT_NOTE_UINT:
    case HU_PT_NOTE_POINTER:
        perfetto_values_set_unsigned(r, place, value.value);
        break;
    case HU_PT_NOTE_DOUBLE:
        perfetto_values_set_double(r, place, hu_protobuf_double(&value));
        break;
    case HU_PT_NOTE_TEXT:
        perfetto_values_set_text(r, place, value.bytes);
        break;
    case HU_PT_NOTE_TEXT_IID:
        perfetto_values_set_text(r, place, perfetto_values_text(r, sequence, HU_PT_INTERNED_TEXT, value.value));
        break;
    case HU_PT_NOTE_DICT:
    case HU_PT_NOTE_ARRAY:
        if (!append_note(r, sequence, message, 0))
            return false;
        perfetto_values_set_appended(r, place, from);
        break;
    default:
        break;
    }
    return true;
}
