/* SPDX-License-Identifier: Apache-2.0
 * profile_pprof.c - pprof's profile.proto: samples of numbers of locations, the innermost first; tables of what those are.
 *
 * Of several quantities that is read which `go tool pprof` shows: the one that the file calls its default, else the last.
 * Functions are told apart by name, as there.
 */
#include <stdio.h>

#include "base/map.h"
#include "base/protobuf.h"
#include "ingest/profile.h"
#include "ingest/profile_parts.h"

enum {
    TYPE = 1,
    SAMPLE = 2,
    LOCATION = 4,
    FUNCTION = 5,
    TEXT = 6,
    DURATION = 10,
    PERIOD_TYPE = 11,
    PERIOD = 12,
    DEFAULT = 14
};
enum { LOOKED_AT = 64, MOST_TYPES = 16, MOST_DEPTH = 4096 };

/* What is summed, or sampled: a name and its unit, both places in the table of texts. */
static bool read_type(hu_str bytes, uint64_t *name, uint64_t *unit)
{
    hu_protobuf       m = hu_protobuf_of(bytes);
    hu_protobuf_field f;

    *name = *unit = 0;
    while (hu_protobuf_next(&m, &f))
        if (f.wire != HU_WIRE_VARINT || (f.number != 1 && f.number != 2))
            return false;
        else
            *(f.number == 1 ? name : unit) = f.value;
    return !m.bad && *name && *unit;
}

/* Its fields have the kinds that profile.proto gives them, and one says what is sampled; packets and planes begin
   otherwise. */
bool hu_profile_is_pprof(hu_str head)
{
    hu_protobuf       m = hu_protobuf_of(head);
    hu_protobuf_field f;
    uint64_t          name, unit;
    bool              has_type = false, has_more = false;

    for (int i = 0; i < LOOKED_AT && hu_protobuf_next(&m, &f); i++) {
        const bool is_bytes = f.number <= TEXT || f.number == PERIOD_TYPE;

        if (f.number == 0 || f.number > 15 || (f.wire != (is_bytes ? HU_WIRE_BYTES : HU_WIRE_VARINT) && f.number != 13))
            return false;
        if ((f.number == TYPE || f.number == PERIOD_TYPE) && !read_type(f.bytes, &name, &unit))
            return false;
        has_type |= f.number == TYPE || f.number == PERIOD_TYPE;
        has_more |= f.number == SAMPLE || f.number == TEXT;
    }
    return has_type && has_more;
}

typedef struct {
    profile_sums *s;
    HU_VEC(hu_str) texts;
    HU_VEC(hu_str) samples;
    HU_VEC(hu_str) locations; /* whole messages, by the place that `place` has for their number */
    hu_map   place, name;     /* a location's number to its place in `locations`; a function's to its text */
    uint64_t type[MOST_TYPES], unit[MOST_TYPES];
    size_t   n_types;
    uint64_t chosen_name; /* the quantity that the file calls its default; 0 none */
    int64_t  duration_ns, period;
    uint64_t period_name, period_unit;
} reader;

static hu_str text_at(const reader *r, uint64_t i)
{
    return i < r->texts.n ? r->texts.at[i] : HU_STR("");
}

/* The number under a field of a message; 0 without. */
static uint64_t number_in(hu_str message, uint32_t number)
{
    hu_protobuf       m = hu_protobuf_of(message);
    hu_protobuf_field f;
    uint64_t          value = 0;

    while (hu_protobuf_next(&m, &f))
        if (f.number == number && f.wire == HU_WIRE_VARINT)
            value = f.value;
    return value;
}

/* False: no memory. */
static bool take_field(reader *r, const hu_protobuf_field *f)
{
    hu_arena *arena = r->s->arena;
    uint32_t *at;

    switch (f->number) {
    case TYPE:
        if (r->n_types < MOST_TYPES && read_type(f->bytes, &r->type[r->n_types], &r->unit[r->n_types]))
            r->n_types++;
        return true;
    case SAMPLE:
        return hu_vec_push(arena, &r->samples, f->bytes);
    case LOCATION:
        if (!(at = hu_map_put(&r->place, number_in(f->bytes, 1))))
            return false;
        *at = (uint32_t)r->locations.n;
        return hu_vec_push(arena, &r->locations, f->bytes);
    case FUNCTION:
        if (!(at = hu_map_put(&r->name, number_in(f->bytes, 1))))
            return false;
        *at = (uint32_t)(number_in(f->bytes, 2) & INT32_MAX);
        return true;
    case TEXT:
        return hu_vec_push(arena, &r->texts, f->bytes);
    case DURATION:
        r->duration_ns = (int64_t)f->value;
        return true;
    case PERIOD_TYPE:
        read_type(f->bytes, &r->period_name, &r->period_unit);
        return true;
    case PERIOD:
        r->period = (int64_t)f->value;
        return true;
    case DEFAULT:
        r->chosen_name = f->value;
        return true;
    default:
        return true;
    }
}

/* A list of numbers, packed into one field or a field each. */
static size_t add_numbers(const hu_protobuf_field *f, uint64_t *out, size_t n, size_t room)
{
    hu_protobuf m;

    if (f->wire == HU_WIRE_VARINT && n < room)
        out[n++] = f->value;
    if (f->wire != HU_WIRE_BYTES)
        return n;
    for (m = hu_protobuf_of(f->bytes); n < room && m.p < m.end && hu_protobuf_varint(&m, &out[n]); n++)
        continue;
    return n;
}

/* The functions of a location, the innermost first: those that the compiler put into one another. */
static bool push_location(reader *r, uint64_t number)
{
    const uint32_t    place = hu_map_get(&r->place, number);
    hu_protobuf       m = hu_protobuf_of(place == HU_MAP_NONE ? HU_STR("") : r->locations.at[place]);
    hu_protobuf_field f;
    uint64_t          address = 0;
    uint32_t          function;
    size_t            before = r->s->stack.n;
    char              text[32];

    while (hu_protobuf_next(&m, &f)) {
        if (f.number == 3 && f.wire == HU_WIRE_VARINT)
            address = f.value;
        if (f.number != 4 || f.wire != HU_WIRE_BYTES || r->s->stack.n >= MOST_DEPTH)
            continue;
        function = profile_function(r->s, text_at(r, hu_map_get(&r->name, number_in(f.bytes, 1))), HU_STR(""));
        if (function == UINT32_MAX || !hu_vec_push(r->s->arena, &r->s->stack, function))
            return false;
    }
    if (r->s->stack.n > before)
        return true;
    snprintf(text, sizeof text, "0x%llx", (unsigned long long)address); /* no table of names was there */
    function = profile_function(r->s, hu_str_of(text), HU_STR(""));
    return function != UINT32_MAX && hu_vec_push(r->s->arena, &r->s->stack, function);
}

static int take_sample(reader *r, hu_str message, size_t chosen, double scale, hu_error *err)
{
    uint64_t          at[MOST_DEPTH], value[MOST_TYPES];
    size_t            n = 0, n_values = 0;
    hu_protobuf       m = hu_protobuf_of(message);
    hu_protobuf_field f;

    while (hu_protobuf_next(&m, &f)) {
        if (f.number == 1)
            n = add_numbers(&f, at, n, HU_COUNT(at));
        else if (f.number == 2)
            n_values = add_numbers(&f, value, n_values, HU_COUNT(value));
    }
    if (m.bad || chosen >= n_values) {
        r->s->out->n_malformed++;
        return 0;
    }
    r->s->stack.n = 0;
    for (size_t i = 0; i < n; i++)
        if (!push_location(r, at[i]))
            return hu_fail_memory(err);
    for (size_t i = 0, k = r->s->stack.n; i + 1 < k; i++, k--) { /* the outermost first */
        const uint32_t kept = r->s->stack.at[i];

        r->s->stack.at[i] = r->s->stack.at[k - 1];
        r->s->stack.at[k - 1] = kept;
    }
    return profile_add(r->s, (double)(int64_t)value[chosen] * scale, err);
}

static hu_profile_clock clock_of(hu_str measure, hu_profile_unit unit)
{
    return hu_str_equal(measure, HU_STR("cpu"))                                    ? HU_PROFILE_CPU
           : hu_str_equal(measure, HU_STR("wall"))                                 ? HU_PROFILE_WALL
           : hu_str_equal(measure, HU_STR("delay"))                                ? HU_PROFILE_WAITING
           : unit == HU_PROFILE_BYTES                                              ? HU_PROFILE_MEMORY
           : unit == HU_PROFILE_COUNT && !hu_str_equal(measure, HU_STR("samples")) ? HU_PROFILE_EVENTS
                                                                                   : HU_PROFILE_UNSAID;
}

static double scale_of(hu_str unit, hu_profile_unit *kind)
{
    static const struct {
        hu_str          word;
        hu_profile_unit kind;
        double          scale;
    } units[] = {{{"nanoseconds", 11}, HU_PROFILE_TIME, 1},    {{"microseconds", 12}, HU_PROFILE_TIME, 1e3},
                 {{"milliseconds", 12}, HU_PROFILE_TIME, 1e6}, {{"seconds", 7}, HU_PROFILE_TIME, 1e9},
                 {{"bytes", 5}, HU_PROFILE_BYTES, 1},          {{"kilobytes", 9}, HU_PROFILE_BYTES, 1024}};

    for (size_t i = 0; i < HU_COUNT(units); i++)
        if (hu_str_equal(unit, units[i].word)) {
            *kind = units[i].kind;
            return units[i].scale;
        }
    *kind = HU_PROFILE_COUNT;
    return 1;
}

/* The quantity that is read, and what is said of it and of the first other one. */
static size_t choose(reader *r, double *scale)
{
    hu_profile_sums *out = r->s->out;
    size_t           chosen = r->n_types - 1;

    for (size_t i = 0; r->chosen_name && i < r->n_types; i++)
        if (hu_str_equal(text_at(r, r->type[i]), text_at(r, r->chosen_name)))
            chosen = i;
    *scale = scale_of(text_at(r, r->unit[chosen]), &out->unit);
    out->measure = text_at(r, r->type[chosen]);
    if (r->n_types > 1)
        out->other = text_at(r, r->type[chosen ? 0 : 1]);
    out->clock = clock_of(out->measure, out->unit);
    out->duration_ns = r->duration_ns > 0 ? (double)r->duration_ns : 0;
    if (hu_str_equal(text_at(r, r->period_unit), HU_STR("nanoseconds")) && r->period > 1 &&
        hu_str_equal(text_at(r, r->period_name), out->measure))
        out->sample_ns = (double)r->period;
    return chosen;
}

int profile_read_pprof(profile_sums *s, hu_str message, hu_error *err)
{
    reader           *r = hu_arena_calloc(s->arena, 1, sizeof *r);
    hu_protobuf       m = hu_protobuf_of(message);
    hu_protobuf_field f;
    double            scale;
    size_t            chosen;
    int               rc = 0;

    if (!r || !hu_map_init(&r->place, s->arena, 256) || !hu_map_init(&r->name, s->arena, 256))
        return hu_fail_memory(err);
    r->s = s;
    s->out->format = "pprof";
    while (hu_protobuf_next(&m, &f))
        if (!take_field(r, &f))
            return hu_fail_memory(err);
    if (m.bad || r->n_types == 0)
        return hu_fail(err, HU_EFORMAT, s->file, (int64_t)(m.p - message.p),
                       m.bad ? "is a damaged profile of pprof" : "is a profile of pprof that does not say what it measures");
    chosen = choose(r, &scale);
    for (size_t i = 0; rc == 0 && i < r->samples.n; i++)
        rc = take_sample(r, r->samples.at[i], chosen, scale, err);
    return rc;
}
