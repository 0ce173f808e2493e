/* SPDX-License-Identifier: Apache-2.0
 * xplane_parts.c - dictionaries of a plane, lines, events and what is told of them.
 *
 * An event's name and stats are ids of its plane's dictionaries.  What is the same for all events of a name lies with the
 * name; what the event says itself comes after it and counts.  A text may be an id, too (`ref_value`).
 *
 * Time.  An event begins `offset_ps` after its line's `timestamp_ns`.  Both its ends are rounded to the nearest nanosecond,
 * not its start and its length: so events that nest or touch still do, and no sum is off by more than a nanosecond for an
 * event.
 */
#include <stdlib.h>

#include "base/number.h"
#include "ingest/xplane.h"

enum { MOST_FIELDS = 512 };

static const int64_t MOST_NS = INT64_C(1) << 61; /* so that sums of two times fit */
static const int64_t WEEK_NS = INT64_C(7) * 24 * 3600 * 1000000000;

bool xplane_no_memory(xplane_reader *r)
{
    hu_builder_fail(r->b, HU_ENOMEM, HU_NO_OFFSET, "out of memory");
    return false;
}

static void malformed(xplane_reader *r)
{
    hu_quality *q = hu_builder_quality(r->b);

    q->events++;
    hu_quality_count(q, HU_REASON_MALFORMED, 0);
}

/* ---- dictionaries --------------------------------------------------------------------------------------------- */

/* An entry of a map: a number and a message. */
static bool read_entry(hu_str entry, uint64_t *key, hu_str *value)
{
    hu_protobuf       m = hu_protobuf_of(entry);
    hu_protobuf_field f;

    *key = 0;
    *value = HU_STR("");
    while (hu_protobuf_next(&m, &f)) {
        if (f.number == XENTRY_KEY)
            *key = f.value;
        else if (f.number == XENTRY_VALUE)
            *value = f.bytes;
    }
    return !m.bad;
}

static hu_str text_in(hu_str message, uint32_t number)
{
    hu_protobuf       m = hu_protobuf_of(message);
    hu_protobuf_field f;
    hu_str            found = HU_STR("");

    while (hu_protobuf_next(&m, &f))
        if (f.number == number && f.wire == HU_WIRE_BYTES)
            found = f.bytes;
    return found;
}

static uint8_t known_stat(hu_str name)
{
    static const char *const names[] = {
#define S(id, text) [XPLANE_##id] = (text),
        XPLANE_STATS(S)
#undef S
    };

    for (size_t i = 0; i < HU_COUNT(names); i++)
        if (hu_str_equal(name, hu_str_of(names[i])))
            return i == XPLANE_MEMSET_DETAILS_ ? XPLANE_MEMSET_DETAILS : (uint8_t)i;
    return XPLANE_STAT_COUNT;
}

static bool keep_name(xplane_reader *r, xplane_plane *plane, bool is_event, hu_str entry)
{
    uint64_t  key;
    hu_str    value;
    uint32_t *place;

    if (!read_entry(entry, &key, &value)) {
        malformed(r);
        return true;
    }
    place = hu_map_put(is_event ? &plane->event_of : &plane->stat_of, key);
    if (!place)
        return xplane_no_memory(r);
    *place = (uint32_t)(is_event ? plane->event_names.n : plane->stat_names.n);
    if (is_event) {
        const xplane_event_name fresh = {
            .name = text_in(value, XNAMES_NAME), .shown = text_in(value, XNAMES_SHOWN), .message = value};

        return hu_vec_push(r->arena, &plane->event_names, fresh) || xplane_no_memory(r);
    } else {
        const hu_str           name = text_in(value, XNAMES_NAME);
        const xplane_stat_name fresh = {name, known_stat(name)};

        return hu_vec_push(r->arena, &plane->stat_names, fresh) || xplane_no_memory(r);
    }
}

bool xplane_open_plane(xplane_reader *r, xplane_plane *plane)
{
    hu_protobuf       m = hu_protobuf_of(plane->message);
    hu_protobuf_field f;

    if (plane->is_opened)
        return true;
    plane->is_opened = true;
    if (!hu_map_init(&plane->event_of, r->arena, 0) || !hu_map_init(&plane->stat_of, r->arena, 0))
        return xplane_no_memory(r);
    while (hu_protobuf_next(&m, &f)) {
        if ((f.number == XPLANE_EVENT_NAMES || f.number == XPLANE_STAT_NAMES) &&
            !keep_name(r, plane, f.number == XPLANE_EVENT_NAMES, f.bytes))
            return false;
    }
    if (m.bad)
        malformed(r);
    return true;
}

/* ---- stats ---------------------------------------------------------------------------------------------------- */

static int64_t whole(double value)
{
    return value > -9e18 && value < 9e18 ? (int64_t)value : 0;
}

static bool take_stat(const xplane_plane *plane, hu_str message, xplane_stats *out)
{
    hu_protobuf       m = hu_protobuf_of(message);
    hu_protobuf_field f;
    uint32_t          row = HU_MAP_NONE;
    xplane_value      v = {.text = HU_STR("")};

    while (hu_protobuf_next(&m, &f)) {
        switch (f.number) {
        case XSTAT_NAME:
            row = hu_map_get(&plane->stat_of, f.value);
            break;
        case XSTAT_DOUBLE:
            v.number = f.wire == HU_WIRE_FIXED64 ? whole(hu_protobuf_double(&f)) : 0;
            break;
        case XSTAT_UNSIGNED:
        case XSTAT_SIGNED:
            v.number = (int64_t)f.value;
            break;
        case XSTAT_TEXT:
        case XSTAT_BYTES:
            v.text = f.bytes;
            v.is_text = true;
            break;
        case XSTAT_REFERENCE: {
            const uint32_t name = hu_map_get(&plane->stat_of, f.value);

            v.text = name == HU_MAP_NONE ? HU_STR("") : plane->stat_names.at[name].name;
            v.is_text = true;
            break;
        }
        default:
            break;
        }
    }
    if (row != HU_MAP_NONE && plane->stat_names.at[row].known < XPLANE_STAT_COUNT) {
        out->has |= UINT64_C(1) << plane->stat_names.at[row].known;
        out->at[plane->stat_names.at[row].known] = v;
    }
    return !m.bad;
}

/* What lies with a name is read again for each event of it, so a name with more fields than any profiler writes is cut. */
static bool take_stats(const xplane_plane *plane, hu_str message, uint32_t number, xplane_stats *out)
{
    hu_protobuf       m = hu_protobuf_of(message);
    hu_protobuf_field f;

    for (int i = 0; i < MOST_FIELDS && hu_protobuf_next(&m, &f); i++)
        if (f.number == number && f.wire == HU_WIRE_BYTES && !take_stat(plane, f.bytes, out))
            return false;
    return !m.bad;
}

void xplane_plane_stats(const xplane_plane *plane, xplane_stats *out)
{
    out->has = 0;
    take_stats(plane, plane->message, XPLANE_STAT, out);
}

int64_t xplane_number(const xplane_stats *s, xplane_known what, int64_t absent)
{
    int64_t number;

    if (!xplane_has(s, what))
        return absent;
    if (!s->at[what].is_text)
        return s->at[what].number;
    return hu_parse_i64(s->at[what].text, &number) ? number : absent;
}

size_t xplane_detail(hu_str details, const char *key, int64_t *out, size_t room)
{
    const hu_str want = hu_str_of(key);
    size_t       n = 0;

    for (size_t i = 0; i + want.n < details.n; i++) {
        if ((i && details.p[i - 1] != ' ' && details.p[i - 1] != '\n') || memcmp(details.p + i, want.p, want.n) != 0 ||
            details.p[i + want.n] != ':')
            continue;
        for (i += want.n + 1; n < room && i < details.n; i++) {
            size_t to = i;

            while (to < details.n && details.p[to] != ' ' && details.p[to] != ',' && details.p[to] != '\n')
                to++;
            if (!hu_parse_i64((hu_str){details.p + i, to - i}, &out[n]))
                break;
            n++;
            i = to;
            if (i >= details.n || details.p[i] != ',')
                break;
        }
        break;
    }
    return n;
}

/* ---- lines and events ----------------------------------------------------------------------------------------- */

static int64_t within(int64_t ns)
{
    return ns > MOST_NS ? MOST_NS : ns < -MOST_NS ? -MOST_NS : ns;
}

bool xplane_next_line(hu_protobuf *m, xplane_line *out)
{
    hu_protobuf_field f;

    while (hu_protobuf_next(m, &f)) {
        hu_protobuf line = hu_protobuf_of(f.bytes);

        if (f.number != XPLANE_LINE || f.wire != HU_WIRE_BYTES)
            continue;
        *out = (xplane_line){.name = HU_STR(""), .message = f.bytes};
        while (hu_protobuf_next(&line, &f)) {
            if (f.number == XLINE_ID)
                out->id = (int64_t)f.value;
            else if (f.number == XLINE_NAME)
                out->name = f.bytes;
            else if (f.number == XLINE_NS)
                out->timestamp_ns = within((int64_t)f.value);
        }
        return true;
    }
    return false;
}

/* To the nearest. */
static int64_t ns_of(int64_t ps)
{
    const int64_t ns = ps / 1000, rest = ps % 1000;

    return ns + (rest >= 500) - (rest < -500);
}

/* False: counted and done with. */
static bool set_time(xplane_reader *r, const xplane_line *line, int64_t offset_ps, int64_t dur_ps, hu_builder_slice *s)
{
    hu_quality *q = hu_builder_quality(r->b);
    int64_t     end_ps;

    if (dur_ps < 0) {
        hu_quality_count(q, HU_REASON_NEGATIVE_DURATION, 0);
        dur_ps = 0;
    }
    if (dur_ps / 1000 > WEEK_NS || __builtin_add_overflow(offset_ps, dur_ps, &end_ps)) {
        hu_quality_count(q, HU_REASON_ABSURD_DURATION, 0);
        return false;
    }
    s->start_ns = line->timestamp_ns + ns_of(offset_ps);
    s->dur_ns = line->timestamp_ns + ns_of(end_ps) - s->start_ns;
    q->duration_sum_ns += s->dur_ns;
    return true;
}

static void name_event(xplane_reader *r, xplane_plane *plane, uint64_t id, xplane_event *e)
{
    const uint32_t row = hu_map_get(&plane->event_of, id);

    e->name = e->shown = HU_STR("");
    e->name_id = 0;
    e->stats.has = 0;
    if (row == HU_MAP_NONE) {
        hu_quality_count(hu_builder_quality(r->b), HU_REASON_UNKNOWN_ID, 0);
        return;
    }
    e->name = plane->event_names.at[row].name;
    e->shown = plane->event_names.at[row].shown;
    if (!plane->event_names.at[row].id)
        plane->event_names.at[row].id = hu_builder_intern(r->b, e->name);
    e->name_id = plane->event_names.at[row].id;
    take_stats(plane, plane->event_names.at[row].message, XNAMES_STAT, &e->stats);
}

static bool read_event(xplane_reader *r, xplane_plane *plane, const xplane_line *line, hu_str message, xplane_event *out)
{
    hu_protobuf       m = hu_protobuf_of(message);
    hu_protobuf_field f;
    uint64_t          name = 0;
    int64_t           offset_ps = 0, dur_ps = 0;

    hu_builder_quality(r->b)->events++;
    out->is_sum = false;
    while (hu_protobuf_next(&m, &f)) {
        if (f.number == XEVENT_NAME)
            name = f.value;
        else if (f.number == XEVENT_OFFSET_PS)
            offset_ps = (int64_t)f.value;
        else if (f.number == XEVENT_DURATION_PS)
            dur_ps = (int64_t)f.value;
        else if (f.number == XEVENT_TIMES)
            out->is_sum = true;
    }
    if (m.bad) {
        hu_quality_count(hu_builder_quality(r->b), HU_REASON_MALFORMED, 0);
        return false;
    }
    if (out->is_sum) {
        r->n_sums++;
        return false;
    }
    out->slice = (hu_builder_slice){.detail = HU_NONE};
    if (!set_time(r, line, offset_ps, dur_ps, &out->slice))
        return false;
    name_event(r, plane, name, out);
    if (!take_stats(plane, message, XEVENT_STAT, &out->stats))
        hu_quality_count(hu_builder_quality(r->b), HU_REASON_UNKNOWN_ID, 0);
    out->slice.name = out->name_id;
    return true;
}

bool xplane_next_event(xplane_reader *r, xplane_plane *plane, const xplane_line *line, hu_protobuf *m, xplane_event *out)
{
    hu_protobuf_field f;

    while (hu_builder_status(r->b, NULL) == 0 && hu_protobuf_next(m, &f))
        if (f.number == XLINE_EVENT && f.wire == HU_WIRE_BYTES && read_event(r, plane, line, f.bytes, out))
            return true;
    if (m->bad) {
        malformed(r);
        m->bad = false;
        m->p = m->end;
    }
    return false;
}
