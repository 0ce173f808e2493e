/* SPDX-License-Identifier: Apache-2.0
 * wire.c - a struct is written in two rounds: what lies in it, then, in the same order, what it points to.
 *
 *     magic, fingerprint of the tables, texts (count, bytes of all, then length and bytes of each), the struct
 *
 * In the first round the lengths (HU_WIRE_SIZE) come before all else, for the other rows need them.  Integers are base-128
 * numbers, signed ones with the sign in the lowest bit; doubles are such numbers of their bytes back to front, so that whole
 * ones are short; a text is the number of its place in the list of texts, counted from 1, and 0 is a text that is not there.
 */
#include "base/wire.h"

#include <stdio.h>

#include "base/hash.h"
#include "base/intern.h"

static const char magic[8] = "hu-wire";

enum { MOST_NUMBER_BYTES = 10 };

typedef struct {
    hu_arena *scratch;
    HU_VEC(char) out;
    hu_intern texts;
    bool      failed; /* no memory */
} writer;

static size_t read_size(const void *base, size_t at)
{
    size_t n;

    memcpy(&n, (const char *)base + at, sizeof n);
    return n;
}

/* Elements of an array that are sent. */
static size_t count_of(const hu_wire_field *f, const void *base)
{
    const size_t n = f->used == HU_WIRE_ALL ? f->n : read_size(base, f->used);

    return n < f->n ? n : f->n;
}

static void put_number(writer *w, uint64_t v)
{
    if (!hu_vec_reserve(w->scratch, &w->out, MOST_NUMBER_BYTES)) {
        w->failed = true;
        return;
    }
    for (; v > 127; v >>= 7)
        w->out.at[w->out.n++] = (char)(v | 128);
    w->out.at[w->out.n++] = (char)v;
}

static void put_signed(writer *w, int64_t v)
{
    put_number(w, (uint64_t)v << 1 ^ (uint64_t)(v >> 63));
}

static void put_bytes(writer *w, const void *bytes, size_t n)
{
    if (!hu_vec_reserve(w->scratch, &w->out, n)) {
        w->failed = true;
        return;
    }
    if (n)
        memcpy(w->out.at + w->out.n, bytes, n);
    w->out.n += n;
}

static void put_text(writer *w, hu_str s)
{
    const uint32_t id = s.p ? hu_intern_add(&w->texts, s) : 0;

    w->failed |= id == UINT32_MAX;
    put_number(w, s.p ? (uint64_t)id + 1 : 0);
}

static void put_inside(writer *w, const hu_wire_table *table, const char *base);

/* clang-format off */
#define LOAD(type, v) type v; memcpy(&v, p, sizeof v)
/* clang-format on */

static void put_one(writer *w, const hu_wire_field *f, const char *p)
{
    switch (f->kind) {
    case HU_WIRE_SIZE: {
        put_number(w, read_size(p, 0));
        break;
    }
    case HU_WIRE_I64: {
        LOAD(int64_t, v);
        put_signed(w, v);
        break;
    }
    case HU_WIRE_I32: {
        LOAD(int32_t, v);
        put_signed(w, v);
        break;
    }
    case HU_WIRE_I16: {
        LOAD(int16_t, v);
        put_signed(w, v);
        break;
    }
    case HU_WIRE_U32:
    case HU_WIRE_ENUM:
    case HU_WIRE_INDEX: {
        LOAD(uint32_t, v);
        put_number(w, v);
        break;
    }
    case HU_WIRE_U16: {
        LOAD(uint16_t, v);
        put_number(w, v);
        break;
    }
    case HU_WIRE_U8:
    case HU_WIRE_BOOL: {
        LOAD(uint8_t, v);
        put_number(w, v);
        break;
    }
    case HU_WIRE_F64: {
        LOAD(uint64_t, v);
        put_number(w, __builtin_bswap64(v));
        break;
    }
    case HU_WIRE_STR: {
        LOAD(hu_str, v);
        put_text(w, v);
        break;
    }
    case HU_WIRE_WORD: {
        LOAD(const char *, v);
        put_text(w, hu_str_of(v));
        break;
    }
    case HU_WIRE_TEXT:
        put_text(w, (hu_str){p, strnlen(p, f->bytes)});
        break;
    case HU_WIRE_PART:
        put_inside(w, f->of, p);
        break;
    case HU_WIRE_MAYBE: {
        LOAD(const void *, v);
        put_number(w, v != NULL);
        break;
    }
    case HU_WIRE_LIST:
    case HU_WIRE_STRS:
    case HU_WIRE_LEFT:
        break;
    }
}

static void put_inside(writer *w, const hu_wire_table *table, const char *base)
{
    for (int sizes = 1; sizes >= 0; sizes--) {
        for (size_t i = 0; i < table->n; i++) {
            const hu_wire_field *f = &table->fields[i];
            const size_t         n = (f->kind == HU_WIRE_SIZE) == sizes ? count_of(f, base) : 0;

            for (size_t k = 0; k < n; k++)
                put_one(w, f, base + f->at + k * f->bytes);
        }
    }
}

static void put_behind(writer *w, const hu_wire_table *table, const char *base)
{
    for (size_t i = 0; i < table->n; i++) {
        const hu_wire_field *f = &table->fields[i];
        const char          *p = base + f->at;

        if (f->kind == HU_WIRE_PART) {
            for (size_t k = 0, n = count_of(f, base); k < n; k++)
                put_behind(w, f->of, p + k * f->bytes);
        } else if (f->kind == HU_WIRE_LIST || f->kind == HU_WIRE_STRS) {
            LOAD(const char *, at);
            const size_t n = read_size(base, f->used);

            for (size_t k = 0; k < n && f->kind == HU_WIRE_STRS; k++)
                put_text(w, ((const hu_str *)(const void *)at)[k]);
            for (size_t k = 0; k < n && f->of; k++)
                put_inside(w, f->of, at + k * f->bytes);
            for (size_t k = 0; k < n && f->of; k++)
                put_behind(w, f->of, at + k * f->bytes);
        } else if (f->kind == HU_WIRE_MAYBE) {
            LOAD(const char *, at);

            if (at) {
                put_inside(w, f->of, at);
                put_behind(w, f->of, at);
            }
        }
    }
}

/* What comes before the struct, which is known only when the struct has been written. */
static void put_head(writer *w, const hu_wire_table *table)
{
    const uint64_t print = hu_wire_fingerprint(table);

    put_bytes(w, magic, sizeof magic);
    put_bytes(w, &print, sizeof print);
    put_number(w, w->texts.entries.n - 1);
    put_number(w, w->texts.bytes);
    for (size_t i = 1; i < w->texts.entries.n; i++) {
        const hu_str s = hu_intern_get(&w->texts, (uint32_t)i);

        put_number(w, s.n);
        put_bytes(w, s.p, s.n);
    }
}

int hu_wire_pack(const hu_wire_table *table, const void *from, hu_arena *arena, hu_arena *scratch, hu_str *out,
                 hu_error *err)
{
    writer body = {.scratch = scratch}, head = {.scratch = scratch};
    char  *bytes = NULL;

    if (!hu_intern_init(&body.texts, scratch))
        return hu_fail_memory(err);
    put_inside(&body, table, from);
    put_behind(&body, table, from);
    head.texts = body.texts;
    put_head(&head, table);
    if (!body.failed && !head.failed)
        bytes = hu_arena_alloc(arena, head.out.n + body.out.n);
    if (!bytes)
        return hu_fail_memory(err);
    memcpy(bytes, head.out.at, head.out.n);
    memcpy(bytes + head.out.n, body.out.at, body.out.n);
    *out = (hu_str){bytes, head.out.n + body.out.n};
    return 0;
}

typedef struct {
    hu_arena     *arena;
    hu_str        in;
    size_t        at;
    const hu_str *texts;
    size_t        n_texts;
    int           code; /* of the first thing that went wrong; everything is 0 from there on */
    const char   *what;
} reader;

static void fail(reader *r, int code, const char *what)
{
    if (r->code)
        return;
    r->code = code;
    r->what = what;
}

static uint64_t get_number(reader *r)
{
    uint64_t v = 0;

    for (int shift = 0; !r->code && shift < 64; shift += 7) {
        uint8_t byte;

        if (r->at == r->in.n)
            break;
        byte = (uint8_t)r->in.p[r->at++];
        if (shift == 63 && byte > 1)
            break;
        v |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return v;
    }
    fail(r, HU_EFORMAT, "a number");
    return 0;
}

static int64_t get_signed(reader *r)
{
    const uint64_t v = get_number(r);

    return (int64_t)(v >> 1 ^ -(v & 1));
}

static uint64_t get_below(reader *r, uint64_t end, const hu_wire_field *f)
{
    const uint64_t v = get_number(r);

    if (v < end)
        return v;
    fail(r, HU_EFORMAT, f->name);
    return 0;
}

static int64_t get_within(reader *r, int64_t least, int64_t most, const hu_wire_field *f)
{
    const int64_t v = get_signed(r);

    if (v >= least && v <= most)
        return v;
    fail(r, HU_EFORMAT, f->name);
    return 0;
}

static hu_str get_text(reader *r)
{
    const uint64_t id = get_number(r);

    if (id > r->n_texts)
        fail(r, HU_EFORMAT, "a text");
    return r->code || id == 0 ? (hu_str){0} : r->texts[id - 1];
}

static void get_inside(reader *r, const hu_wire_table *table, char *base, uint32_t row);

#define STORE(type, v)                       \
    do {                                     \
        const type stored_ = (type)(v);      \
        memcpy(p, &stored_, sizeof stored_); \
    } while (0)

/* `row`: its number in the list that is read. */
static void get_one(reader *r, const hu_wire_field *f, char *p, uint32_t row)
{
    switch (f->kind) {
    case HU_WIRE_SIZE:
        STORE(size_t, get_number(r));
        break;
    case HU_WIRE_I64:
        STORE(int64_t, get_signed(r));
        break;
    case HU_WIRE_I32:
        STORE(int32_t, get_within(r, INT32_MIN, INT32_MAX, f));
        break;
    case HU_WIRE_I16:
        STORE(int16_t, get_within(r, INT16_MIN, INT16_MAX, f));
        break;
    case HU_WIRE_U32:
        STORE(uint32_t, get_below(r, UINT64_C(1) << 32, f));
        break;
    case HU_WIRE_INDEX: {
        const uint64_t v = get_number(r);

        if (v != UINT32_MAX && v >= row)
            fail(r, HU_EFORMAT, f->name);
        STORE(uint32_t, v);
        break;
    }
    case HU_WIRE_ENUM:
        STORE(uint32_t, get_below(r, f->end, f));
        break;
    case HU_WIRE_U16:
        STORE(uint16_t, get_below(r, 1 << 16, f));
        break;
    case HU_WIRE_U8:
    case HU_WIRE_BOOL:
        STORE(uint8_t, get_below(r, f->end ? f->end : 256, f));
        break;
    case HU_WIRE_F64:
        STORE(uint64_t, __builtin_bswap64(get_number(r)));
        break;
    case HU_WIRE_STR:
        STORE(hu_str, get_text(r));
        break;
    case HU_WIRE_WORD: {
        const hu_str s = get_text(r);

        STORE(char *, s.p);
        break;
    }
    case HU_WIRE_TEXT: {
        const hu_str s = get_text(r);

        if (s.n >= f->bytes)
            fail(r, HU_EFORMAT, f->name);
        else if (s.n)
            memcpy(p, s.p, s.n); /* NULs are there already */
        break;
    }
    case HU_WIRE_PART:
        get_inside(r, f->of, p, row);
        break;
    case HU_WIRE_MAYBE:
        if (get_below(r, 2, f)) {
            void *at = hu_arena_calloc(r->arena, 1, f->bytes);

            if (!at)
                fail(r, HU_ENOMEM, NULL);
            STORE(void *, at);
        }
        break;
    case HU_WIRE_LIST:
    case HU_WIRE_STRS:
    case HU_WIRE_LEFT:
        break;
    }
}

static void get_inside(reader *r, const hu_wire_table *table, char *base, uint32_t row)
{
    for (int sizes = 1; sizes >= 0; sizes--) {
        for (size_t i = 0; i < table->n; i++) {
            const hu_wire_field *f = &table->fields[i];
            const size_t         n = (f->kind == HU_WIRE_SIZE) == sizes ? count_of(f, base) : 0;

            if (n && f->kind != HU_WIRE_LIST && f->kind != HU_WIRE_STRS && f->used != HU_WIRE_ALL &&
                read_size(base, f->used) > f->n)
                fail(r, HU_EFORMAT, f->name);
            for (size_t k = 0; k < n && !r->code; k++)
                get_one(r, f, base + f->at + k * f->bytes, row);
        }
    }
}

/* The least bytes that one struct of a table takes: what holds a count against the bytes that are left. */
static size_t least(const hu_wire_table *table)
{
    size_t sum = 0;

    for (size_t i = 0; i < table->n; i++) {
        const hu_wire_field *f = &table->fields[i];

        if (f->kind == HU_WIRE_LEFT || f->kind == HU_WIRE_LIST || f->kind == HU_WIRE_STRS || f->used != HU_WIRE_ALL)
            continue;
        sum += f->n * (f->kind == HU_WIRE_PART ? least(f->of) : 1);
    }
    return sum ? sum : 1;
}

static void get_behind(reader *r, const hu_wire_table *table, char *base);

static void get_list(reader *r, const hu_wire_field *f, size_t n, char *p)
{
    char *at;

    if (n > (r->in.n - r->at) / (f->of ? least(f->of) : 1) || n >= UINT32_MAX) {
        fail(r, HU_EFORMAT, f->name);
        return;
    }
    at = hu_arena_calloc(r->arena, n + 1, f->bytes);
    if (!at) {
        fail(r, HU_ENOMEM, NULL);
        return;
    }
    STORE(char *, at);
    for (size_t k = 0; k < n && !r->code && !f->of; k++)
        ((hu_str *)(void *)at)[k] = get_text(r);
    for (size_t k = 0; k < n && !r->code && f->of; k++)
        get_inside(r, f->of, at + k * f->bytes, (uint32_t)k);
    for (size_t k = 0; k < n && !r->code && f->of; k++)
        get_behind(r, f->of, at + k * f->bytes);
}

static void get_behind(reader *r, const hu_wire_table *table, char *base)
{
    for (size_t i = 0; i < table->n && !r->code; i++) {
        const hu_wire_field *f = &table->fields[i];
        char                *p = base + f->at;

        if (f->kind == HU_WIRE_PART) {
            for (size_t k = 0, n = count_of(f, base); k < n && !r->code; k++)
                get_behind(r, f->of, p + k * f->bytes);
        } else if (f->kind == HU_WIRE_LIST || f->kind == HU_WIRE_STRS) {
            get_list(r, f, read_size(base, f->used), p);
        } else if (f->kind == HU_WIRE_MAYBE) {
            LOAD(char *, at);

            if (at) {
                get_inside(r, f->of, at, 0);
                get_behind(r, f->of, at);
            }
        }
    }
}

static void get_head(reader *r, const hu_wire_table *table)
{
    const uint64_t print = hu_wire_fingerprint(table);
    const size_t   n = sizeof magic + sizeof print;
    uint64_t       left; /* bytes of texts that are to come */
    hu_str        *texts;
    char          *copy;

    if (r->in.n < n || memcmp(r->in.p, magic, sizeof magic) != 0 ||
        memcmp(r->in.p + sizeof magic, &print, sizeof print) != 0) {
        fail(r, HU_EFORMAT, "the header: written by another version of holdup, or on another kind of machine");
        return;
    }
    r->at = n;
    r->n_texts = get_number(r);
    left = get_number(r);
    if (r->n_texts > r->in.n - r->at || left > r->in.n - r->at)
        fail(r, HU_EFORMAT, "the list of texts");
    if (r->code)
        return;
    texts = hu_arena_alloc(r->arena, (r->n_texts + 1) * sizeof *texts);
    copy = hu_arena_alloc(r->arena, left + r->n_texts + 1);
    if (!texts || !copy) {
        fail(r, HU_ENOMEM, NULL);
        return;
    }
    texts[0] = HU_STR("");
    for (size_t i = 0; i < r->n_texts && !r->code; i++) {
        const uint64_t bytes = get_number(r);

        if (bytes > left || bytes > r->in.n - r->at)
            fail(r, HU_EFORMAT, "a text");
        if (r->code)
            return;
        left -= bytes;
        memcpy(copy, r->in.p + r->at, bytes);
        copy[bytes] = '\0';
        texts[i + 1] = (hu_str){copy, bytes};
        copy += bytes + 1;
        r->at += bytes;
    }
    r->texts = texts;
    r->n_texts++;
}

int hu_wire_unpack(const hu_wire_table *table, hu_str bytes, hu_arena *arena, void *into, hu_error *err)
{
    reader r = {.arena = arena, .in = bytes};

    get_head(&r, table);
    if (!r.code)
        get_inside(&r, table, into, 0);
    if (!r.code)
        get_behind(&r, table, into);
    if (!r.code && r.at != bytes.n)
        fail(&r, HU_EFORMAT, "the end");
    if (r.code == HU_ENOMEM)
        return hu_fail_memory(err);
    return r.code ? hu_fail(err, r.code, NULL, (int64_t)r.at, "packed results are corrupt at %s", r.what) : 0;
}

uint64_t hu_wire_fingerprint(const hu_wire_table *table)
{
    uint64_t h = hu_hash_bytes(table->name, strlen(table->name)) ^ hu_hash_bytes(HU_VERSION, sizeof HU_VERSION);

    for (size_t i = 0; i < table->n; i++) {
        const hu_wire_field *f = &table->fields[i];

        h = hu_hash_mix(h ^ hu_hash_bytes(f->name, strlen(f->name)), 0x9e3779b97f4a7c15u ^ (uint64_t)f->kind);
        h = hu_hash_mix(h ^ f->n, 0xd6e8feb86659fd93u ^ f->end);
        h ^= hu_hash_u64(f->of ? hu_wire_fingerprint(f->of) : f->bytes);
    }
    return h;
}
