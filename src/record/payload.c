/* SPDX-License-Identifier: Apache-2.0
 * payload.c - raw bytes and the text of their schema (format_payload.h) become named values.
 *
 * Both come from a program that may be wrong or hostile: lines, entries, nesting, values and the strings that one schema
 * is spread over are counted against limits, and no offset or length is used before it is compared with the bytes.
 * Layout: an offset that is given counts, else an entry follows the one before it at its natural alignment (or the
 * schema's packing), as nvToolsExtPayload.h says.
 */
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "protocol/format_payload.h"
#include "record/payload.h"

enum {
    DEPTH_MAX = 8,
    VISITS_MAX = 2048,
    VALUES_MAX = 256,
    NAME_BYTES = 256,
    ELEMENTS_MAX = 32,
    TEXT_BYTES = 1024,
    FIELDS = 5,
    KIND_UNION = 3,
};

typedef struct {
    const hu_payload_strings *strings;
    hu_payload_take          *take;
    void                     *context;
    uint32_t                  visits, values;
    char                      name[NAME_BYTES];
} walk;

typedef struct { /* of the lines of one schema */
    hu_str   rest;
    uint32_t links;
} reader;

typedef struct {
    uint64_t type, flags, detail, offset;
    bool     is_nested;
    hu_str   name;
} entry;

typedef struct {
    bool     is_enum;
    uint64_t kind, bytes, pack;
    hu_str   name;
    reader   lines;
} schema;

typedef struct {
    hu_str   data;                        /* the whole payload */
    uint64_t at;                          /* of the struct that is being read */
    uint64_t ints[HU_SCHEMA_ENTRIES_MAX]; /* values of its entries, that arrays name as their length */
} place;

static bool get_string(walk *w, uint64_t id, hu_str *text)
{
    return id > 0 && id <= HU_STRINGS_MAX && w->strings->get(w->strings->context, (uint32_t)id, text);
}

static hu_str cut(hu_str *rest, char at)
{
    const char *end = rest->n ? memchr(rest->p, at, rest->n) : NULL;
    hu_str      head = *rest;

    if (end) {
        head.n = (size_t)(end - rest->p);
        rest->p = end + 1;
        rest->n -= head.n + 1;
    } else {
        *rest = (hu_str){NULL, 0};
    }
    return head;
}

/* The next line, in the next string when the last one leads there; false: no more. */
static bool next_line(walk *w, reader *r, hu_str *line)
{
    while (r->rest.n) {
        uint64_t id;

        *line = cut(&r->rest, '\n');
        if (line->n < 2 || line->p[0] != '@' || memchr(line->p, '\t', line->n))
            return true;
        if (++r->links > HU_SCHEMA_LINKS_MAX || !hu_parse_u64((hu_str){line->p + 1, line->n - 1}, &id) ||
            !get_string(w, id, &r->rest))
            return false;
    }
    return false;
}

static bool open_schema(walk *w, uint64_t id, schema *s)
{
    hu_str text, line, what;

    *s = (schema){0};
    if (!get_string(w, id, &text))
        return false;
    s->lines.rest = text;
    if (!next_line(w, &s->lines, &line))
        return false;
    what = cut(&line, '\t');
    s->is_enum = hu_str_equal(what, HU_STR(HU_ENUM_TEXT));
    if (!s->is_enum && (!hu_str_equal(what, HU_STR(HU_SCHEMA_TEXT)) || !hu_parse_u64(cut(&line, '\t'), &s->kind)))
        return false;
    if (!hu_parse_u64(cut(&line, '\t'), &s->bytes))
        return false;
    if (!s->is_enum && !hu_parse_u64(cut(&line, '\t'), &s->pack))
        return false;
    s->name = line;
    return true;
}

static bool parse_entry(hu_str line, entry *e)
{
    hu_str type = cut(&line, '\t');

    *e = (entry){0};
    if (type.n > 1 && type.p[0] == '@') {
        e->is_nested = true;
        type = (hu_str){type.p + 1, type.n - 1};
    }
    if (!hu_parse_u64(type, &e->type) || !hu_parse_u64(cut(&line, '\t'), &e->flags) ||
        !hu_parse_u64(cut(&line, '\t'), &e->detail) || !hu_parse_u64(cut(&line, '\t'), &e->offset))
        return false;
    e->name = line;
    return true;
}

static bool is_text(uint64_t type)
{
    return type >= HU_PAYLOAD_TEXT && type <= HU_PAYLOAD_TEXT32;
}

static bool is_signed(uint64_t type)
{
    switch (type) {
    case HU_PAYLOAD_CHAR:
    case HU_PAYLOAD_SHORT:
    case HU_PAYLOAD_INT:
    case HU_PAYLOAD_LONG:
    case HU_PAYLOAD_LONGLONG:
    case HU_PAYLOAD_INT8:
    case HU_PAYLOAD_INT16:
    case HU_PAYLOAD_INT32:
    case HU_PAYLOAD_INT64:
        return true;
    default:
        return false;
    }
}

/* Little-endian, as the program's machine is. */
static uint64_t load(const char *p, uint64_t bytes)
{
    uint64_t v = 0;

    for (uint64_t i = bytes < 8 ? bytes : 8; i-- > 0;)
        v = v << 8 | (unsigned char)p[i];
    return v;
}

static int64_t extend(uint64_t v, uint64_t bytes)
{
    const unsigned shift = bytes < 8 ? (unsigned)(64 - 8 * bytes) : 0;

    return (int64_t)(v << shift) >> shift;
}

/* IEEE 754 of 16 bits, which C has no type for. */
static double half(uint64_t v)
{
    const unsigned exponent = (unsigned)(v >> 10) & 31;
    double         d = (double)(v & 1023);

    if (exponent == 31)
        d = d > 0 ? (double)__builtin_nan("") : __builtin_inf();
    else
        d = exponent == 0 ? d / 16777216.0 : (1024.0 + d) / 33554432.0 * (double)(1u << exponent);
    return v & 0x8000 ? -d : d;
}

static bool as_double(uint64_t type, uint64_t v, double *out)
{
    uint32_t low = (uint32_t)v;
    float    f;

    switch (type) {
    case HU_PAYLOAD_DOUBLE:
    case HU_PAYLOAD_FLOAT64:
        memcpy(out, &v, sizeof *out);
        return true;
    case HU_PAYLOAD_FLOAT16:
        *out = half(v);
        return true;
    case HU_PAYLOAD_BF16:
        low <<= 16;
        break;
    case HU_PAYLOAD_FLOAT:
    case HU_PAYLOAD_FLOAT32:
    case HU_PAYLOAD_TF32:
        break;
    default:
        return false;
    }
    memcpy(&f, &low, sizeof f);
    *out = (double)f;
    return true;
}

static void give(walk *w, size_t name, hu_payload_value v)
{
    if (w->values >= VALUES_MAX)
        return;
    w->values++;
    v.name = (hu_str){w->name, name};
    if (name == 0)
        v.name = HU_STR("payload");
    w->take(w->context, &v);
}

static void give_text(walk *w, size_t name, hu_str text)
{
    const char *end = text.n ? memchr(text.p, '\0', text.n) : NULL;

    give(w, name, (hu_payload_value){.kind = HU_VALUE_TEXT, .text = {text.p, end ? (size_t)(end - text.p) : text.n}});
}

static void give_hex(walk *w, size_t name, const char *p, uint64_t n)
{
    static const char DIGITS[] = "0123456789abcdef";
    char              text[2 * ELEMENTS_MAX + 4];
    size_t            length = 0;

    for (uint64_t i = 0; i < n && i < ELEMENTS_MAX; i++) {
        text[length++] = DIGITS[(unsigned char)p[i] >> 4];
        text[length++] = DIGITS[(unsigned char)p[i] & 15];
    }
    if (n > ELEMENTS_MAX) {
        memcpy(text + length, "...", 3);
        length += 3;
    }
    give(w, name, (hu_payload_value){.kind = HU_VALUE_TEXT, .text = {text, length}});
}

/* One value of a type with a size. */
static void give_scalar(walk *w, size_t name, uint64_t type, const char *p, uint64_t bytes)
{
    const uint64_t   v = load(p, bytes);
    hu_payload_value value = {.kind = HU_VALUE_UINT, .u = v};
    hu_str           text;

    if (type == HU_PAYLOAD_STRING_ID) {
        give_text(w, name, get_string(w, v, &text) ? text : HU_STR(""));
        return;
    }
    if (bytes > 8 || type == HU_PAYLOAD_BYTE) {
        give_hex(w, name, p, bytes);
        return;
    }
    if (type == HU_PAYLOAD_ADDRESS || type == HU_PAYLOAD_COLOR) {
        value.kind = HU_VALUE_ADDRESS;
    } else if (is_signed(type)) {
        value.kind = HU_VALUE_INT;
        value.i = extend(v, bytes);
    } else if (as_double(type, v, &value.d)) {
        value.kind = HU_VALUE_DOUBLE;
    }
    give(w, name, value);
}

static size_t put_scalar(char to[32], uint64_t type, const char *p, uint64_t bytes)
{
    const uint64_t v = load(p, bytes);
    double         d;

    if (is_signed(type))
        return hu_format_i64(to, extend(v, bytes));
    return as_double(type, v, &d) ? hu_format_f64(to, d, type != HU_PAYLOAD_DOUBLE) : hu_format_u64(to, v);
}

static bool is_character(uint64_t type)
{
    return type == HU_PAYLOAD_CHAR || type == HU_PAYLOAD_UCHAR || type == HU_PAYLOAD_CHAR8;
}

/* An array is one text: a value each would flood the view that shows them. */
static void give_array(walk *w, size_t name, uint64_t type, hu_str data, uint64_t one)
{
    char   text[TEXT_BYTES];
    size_t n = 0;

    if (is_character(type)) {
        give_text(w, name, data);
        return;
    }
    if (type == HU_PAYLOAD_BYTE || one > 8) {
        give_hex(w, name, data.p, data.n);
        return;
    }
    for (uint64_t i = 0; (i + 1) * one <= data.n; i++) {
        if (i == ELEMENTS_MAX || n + 40 > sizeof text) {
            n += (size_t)snprintf(text + n, sizeof text - n, ", ...");
            break;
        }
        if (i)
            n += (size_t)snprintf(text + n, sizeof text - n, ", ");
        n += put_scalar(text + n, type, data.p + i * one, one);
    }
    give(w, name, (hu_payload_value){.kind = HU_VALUE_TEXT, .text = {text, n}});
}

static void append(char to[TEXT_BYTES], size_t *n, hu_str part)
{
    if (*n && *n + 1 < TEXT_BYTES)
        to[(*n)++] = '|';
    if (part.n > TEXT_BYTES - *n)
        part.n = TEXT_BYTES - *n;
    if (part.n)
        memcpy(to + *n, part.p, part.n);
    *n += part.n;
}

/* The name of the value, or of the flags in it; the number when it has none. */
static void give_enum(walk *w, size_t name, schema *s, uint64_t v)
{
    char     text[TEXT_BYTES];
    size_t   n = 0;
    uint64_t left = v;
    hu_str   line;

    for (uint32_t i = 0; i < HU_SCHEMA_ENTRIES_MAX && next_line(w, &s->lines, &line) && w->visits < VISITS_MAX; i++) {
        uint64_t value, is_flag;

        w->visits++;
        if (!hu_parse_u64(cut(&line, '\t'), &value) || !hu_parse_u64(cut(&line, '\t'), &is_flag))
            continue;
        if (value == v) {
            n = 0;
            left = 0;
            append(text, &n, line);
            break;
        }
        if (is_flag && value && (left & value) == value) {
            append(text, &n, line);
            left &= ~value;
        }
    }
    if (n && left == 0)
        give(w, name, (hu_payload_value){.kind = HU_VALUE_TEXT, .text = {text, n}});
    else
        give(w, name, (hu_payload_value){.kind = HU_VALUE_UINT, .u = v});
}

static size_t join_name(walk *w, size_t prefix, hu_str name)
{
    size_t n = prefix;

    if (n && name.n && n < NAME_BYTES)
        w->name[n++] = '.';
    if (name.n > NAME_BYTES - n)
        name.n = NAME_BYTES - n;
    if (name.n)
        memcpy(w->name + n, name.p, name.n);
    return n + name.n;
}

static uint64_t alignment(uint64_t bytes, uint64_t pack)
{
    const uint64_t natural = bytes % 8 == 0 ? 8 : bytes % 4 == 0 ? 4 : bytes % 2 == 0 ? 2 : 1;

    return pack && pack < natural ? pack : natural;
}

/* How many elements an entry has; 1 when it is no array.  false: the data do not say. */
static bool count_of(const entry *e, const place *p, uint64_t at, uint64_t one, uint32_t index, uint64_t *count)
{
    const uint64_t room = at < p->data.n ? p->data.n - at : 0;

    switch (e->flags & HU_ENTRY_ARRAY) {
    case 0:
        *count = is_text(e->type) ? e->detail : 1;
        return true;
    case HU_ENTRY_ARRAY_FIXED:
        *count = e->detail;
        return true;
    case HU_ENTRY_ARRAY_INDEX:
        if (e->detail >= index)
            return false;
        *count = p->ints[e->detail];
        return true;
    case HU_ENTRY_ARRAY_ZERO:
        for (*count = 0; one && (*count + 1) * one <= room; ++*count)
            if (load(p->data.p + at + *count * one, one) == 0) {
                ++*count;
                return true;
            }
        return one > 0;
    default:
        return false;
    }
}

static bool decode_schema(walk *w, uint64_t id, place *p, size_t prefix, unsigned depth, uint64_t *end);

/* Nested schemas and enums.  *at moves behind it. */
static bool decode_nested(walk *w, const entry *e, place *p, uint64_t pack, size_t name, unsigned depth, uint32_t index,
                          uint64_t *at)
{
    schema   s;
    uint64_t count, a;

    if (!open_schema(w, e->type, &s))
        return false;
    a = alignment(s.bytes ? s.bytes : 1, pack);
    if (!e->offset && index)
        *at = p->at + (*at - p->at + a - 1) / a * a;
    if (!count_of(e, p, *at, s.bytes, index, &count))
        return false;
    for (uint64_t i = 0; i < count; i++) {
        if (*at > p->data.n || (s.is_enum && s.bytes > p->data.n - *at))
            return false;
        if (s.is_enum) {
            const reader first = s.lines;

            p->ints[index] = load(p->data.p + *at, s.bytes);
            if (!(e->flags & HU_ENTRY_HIDE))
                give_enum(w, name, &s, p->ints[index]);
            s.lines = first;
            *at += s.bytes;
        } else {
            place    inner = {.data = p->data, .at = *at};
            uint64_t end = *at;

            if (!decode_schema(w, e->type, &inner, name, depth + 1, &end))
                return false;
            *at = s.bytes ? *at + s.bytes : end;
        }
        if (w->visits++ >= VISITS_MAX)
            return false;
    }
    return true;
}

/* One entry at *at, which then lies behind it.  false: what follows cannot be found. */
static bool decode_entry(walk *w, const entry *e, place *p, uint64_t pack, size_t prefix, unsigned depth, uint32_t index,
                         uint64_t *at)
{
    const size_t name = join_name(w, prefix, e->name);
    const bool   is_pointer = (e->flags & (HU_ENTRY_POINTER | HU_ENTRY_FROM_BASE | HU_ENTRY_FROM_HERE)) ||
                            (is_text(e->type) && e->detail == 0 && !(e->flags & HU_ENTRY_ARRAY));
    uint64_t one = is_pointer ? 8 : is_text(e->type) ? 1 : hu_payload_type_bytes(e->type), count = 1, a;

    if (e->is_nested && !is_pointer)
        return decode_nested(w, e, p, pack, name, depth, index, at);
    if (one == 0)
        return false;
    a = alignment(one, pack);
    if (!e->offset && index)
        *at = p->at + (*at - p->at + a - 1) / a * a;
    if (!is_pointer && !count_of(e, p, *at, one, index, &count))
        return false;
    if (*at > p->data.n || count > (p->data.n - *at) / one)
        return false;
    if (one <= 8 && count == 1)
        p->ints[index] = load(p->data.p + *at, one);
    if (!(e->flags & HU_ENTRY_HIDE)) {
        const hu_str data = {p->data.p + *at, (size_t)(count * one)};

        if (is_pointer)
            give_scalar(w, name, HU_PAYLOAD_ADDRESS, data.p, one);
        else if (is_text(e->type) && e->type <= HU_PAYLOAD_TEXT8)
            give_text(w, name, data);
        else if (is_text(e->type))
            give_hex(w, name, data.p, data.n);
        else if (e->flags & HU_ENTRY_ARRAY)
            give_array(w, name, e->type, data, one);
        else
            give_scalar(w, name, e->type, data.p, one);
    }
    *at += count * one;
    return true;
}

static bool decode_schema(walk *w, uint64_t id, place *p, size_t prefix, unsigned depth, uint64_t *end)
{
    uint64_t at = p->at;
    schema   s;
    hu_str   line;
    entry    e;

    if (depth > DEPTH_MAX || !open_schema(w, id, &s) || s.is_enum)
        return false;
    if (s.kind >= KIND_UNION) { /* which member counts is said elsewhere; its bytes are passed over */
        *end = at + s.bytes;
        return s.bytes > 0;
    }
    for (uint32_t i = 0; i < HU_SCHEMA_ENTRIES_MAX && next_line(w, &s.lines, &line); i++) {
        if (w->visits++ >= VISITS_MAX || !parse_entry(line, &e) || e.offset > p->data.n)
            return false;
        if (e.offset || i == 0)
            at = p->at + e.offset;
        if (!decode_entry(w, &e, p, s.pack, prefix, depth, i, &at))
            return false;
    }
    *end = at;
    return true;
}

uint32_t hu_payload_decode(const hu_payload_strings *strings, uint32_t id, hu_str bytes, hu_payload_take *take,
                           void *context)
{
    walk     w = {.strings = strings, .take = take, .context = context};
    place    p = {.data = bytes};
    uint64_t end = 0;
    schema   s;

    if (id >= HU_SCHEMA_SCALAR) {
        const uint64_t type = id - HU_SCHEMA_SCALAR, one = hu_payload_type_bytes(type);

        if (type == HU_PAYLOAD_RAW)
            give_hex(&w, 0, bytes.p, bytes.n);
        else if (one && bytes.n >= 2 * one)
            give_array(&w, 0, type, bytes, one);
        else if (one && bytes.n >= one)
            give_scalar(&w, 0, type, bytes.p, one);
    } else if (open_schema(&w, id, &s) && s.is_enum) {
        if (s.bytes > 0 && bytes.n >= s.bytes)
            give_enum(&w, 0, &s, load(bytes.p, s.bytes));
    } else {
        (void)decode_schema(&w, id, &p, 0, 0, &end);
    }
    return w.values;
}
