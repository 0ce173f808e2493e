/* SPDX-License-Identifier: Apache-2.0
 * nvtx_payload.c - NVTX's structured payloads: schemas become texts, payloads raw bytes behind their event.
 *
 * A schema is written once, as a text (protocol/format_payload.h); what is kept of it here is only what an event needs in
 * this process: its size, and where it holds what means nothing elsewhere: handles of registered strings, and pointers
 * to texts that the schema asks to copy ("deep copy"), or that are the event's message.  Pointers to anything else are
 * not followed: a wrong one would end the job.
 */
#include <stdio.h>
#include <string.h>

#include "base/banned.h"
#include "inject/nvtx.h"
#include "inject/process.h"
#include "inject/sys.h"
#include "protocol/format_payload.h"
#include "protocol/redact.h"

enum {
    SCHEMAS = 1 << 10,
    SCHEMAS_MAX = SCHEMAS - SCHEMAS / 4,
    TEXTS_MAX = 8, /* handles and pointers in one schema */
    PIECE = 16,    /* bytes of a MORE */
    LINE_MAX_BYTES = 320,
    NAME_MAX_BYTES = 200,
    LINK_BYTES = HU_STRING_BYTES_MAX - 16, /* of one string, without the line that leads on */
    DYNAMIC = 32,                          /* ids from 1 << 32 on are a tool's to give */
};

typedef enum { HANDLE, POINTER, EMBEDDED } text_kind;

typedef struct {
    uint32_t offset;
    uint16_t bytes; /* EMBEDDED: how many at most */
    uint16_t kind;
} text_place;

typedef struct {
    uint64_t   id; /* what the client calls it; 0: free, stored last */
    uint32_t   domain, text;
    uint32_t   bytes;            /* 0: not fixed */
    uint16_t   n_texts, message; /* message: of texts, + 1 */
    text_place texts[TEXTS_MAX];
} schema;

static schema   schemas[SCHEMAS];
static uint32_t n_schemas, lock;

static uint32_t first_slot(uint32_t domain, uint64_t id)
{
    return (uint32_t)((id ^ (uint64_t)domain << 40) * 0x9e3779b97f4a7c15u >> 54) & (SCHEMAS - 1);
}

/* NULL: not registered in this domain. */
static const schema *find(uint32_t domain, uint64_t id)
{
    for (uint32_t i = first_slot(domain, id); id; i = (i + 1) & (SCHEMAS - 1)) {
        const uint64_t there = __atomic_load_n(&schemas[i].id, __ATOMIC_ACQUIRE);

        if (there == id && schemas[i].domain == domain)
            return &schemas[i];
        if (there == 0)
            return NULL;
    }
    return NULL;
}

/* The first registration of an id counts: another one while events are on their way would change their meaning. */
static void add(const schema *s)
{
    uint32_t i = first_slot(s->domain, s->id);

    if (!hu_lock(&lock))
        return;
    if (!find(s->domain, s->id) && n_schemas < SCHEMAS_MAX) {
        while (schemas[i].id)
            i = (i + 1) & (SCHEMAS - 1);
        schemas[i] = *s;
        schemas[i].id = 0;
        __atomic_store_n(&schemas[i].id, s->id, __ATOMIC_RELEASE);
        n_schemas++;
    }
    hu_unlock(&lock);
}

static bool is_text(uint64_t type)
{
    return type == HU_PAYLOAD_TEXT || type == HU_PAYLOAD_TEXT8;
}

/* A text of its own place in the payload, not a pointer to one. */
static bool is_embedded(const hu_nvtx_entry *e)
{
    return !(e->flags & HU_ENTRY_POINTER) && (e->detail > 0 || e->flags & HU_ENTRY_ARRAY);
}

/* Bytes of an entry in a payload of fixed layout; 0: that depends on the data. */
static uint64_t entry_bytes(uint32_t domain, const hu_nvtx_entry *e)
{
    const schema  *nested = find(domain, e->type);
    uint64_t       one = nested ? nested->bytes : hu_payload_type_bytes(e->type);
    const uint64_t array = e->flags & HU_ENTRY_ARRAY;

    if (e->flags & HU_ENTRY_POINTER)
        return 8;
    if (e->type >= HU_PAYLOAD_TEXT && e->type <= HU_PAYLOAD_TEXT32)
        return !is_embedded(e) ? 8 : array > HU_ENTRY_ARRAY_FIXED ? 0 : e->detail;
    if (array == HU_ENTRY_ARRAY_FIXED && e->detail <= HU_PAYLOAD_BYTES_MAX)
        return one * e->detail;
    return array ? 0 : one;
}

static uint64_t alignment(uint64_t bytes, uint64_t pack)
{
    const uint64_t natural = bytes % 8 == 0 ? 8 : bytes % 4 == 0 ? 4 : bytes % 2 == 0 ? 2 : 1;

    return pack && pack < natural ? pack : natural;
}

static void note_text(schema *s, const hu_nvtx_entry *e, uint64_t offset)
{
    const bool is_message = e->flags & HU_ENTRY_MESSAGE;
    text_place place = {.offset = (uint32_t)offset, .kind = HANDLE};

    if (is_text(e->type)) {
        if (is_embedded(e) ? !is_message : !(e->flags & (HU_ENTRY_DEEP | HU_ENTRY_MESSAGE)))
            return;
        place.kind = is_embedded(e) ? EMBEDDED : POINTER;
        place.bytes = (uint16_t)(e->detail < HU_PAYLOAD_BYTES_MAX ? e->detail : HU_PAYLOAD_BYTES_MAX);
    } else if (e->type != HU_PAYLOAD_STRING_ID || e->flags & (HU_ENTRY_POINTER | HU_ENTRY_ARRAY)) {
        return;
    }
    if (s->n_texts == TEXTS_MAX)
        return;
    s->texts[s->n_texts++] = place;
    if (is_message)
        s->message = s->n_texts;
}

/* Where the texts are, and how large it all is: natural alignment where no offset was given. */
static void lay_out(schema *s, const hu_nvtx_schema *from, size_t n)
{
    const uint64_t pack = from->mask & HU_NVTX_HAS_PACK ? from->pack : 0;
    uint64_t       at = 0, most = 1;

    for (size_t i = 0; i < n; i++) {
        const hu_nvtx_entry *e = &from->entries[i];
        const uint64_t       bytes = entry_bytes(s->domain, e);
        const uint64_t       a = is_text(e->type) && is_embedded(e) ? 1 : alignment(bytes, pack);
        const uint64_t       offset = i == 0 || e->offset ? e->offset : (at + a - 1) / a * a;

        if (bytes == 0 || offset > HU_PAYLOAD_BYTES_MAX)
            return; /* all behind it lies where the data say */
        note_text(s, e, offset);
        at = offset + bytes;
        most = a > most ? a : most;
    }
    s->bytes = (uint32_t)((at + most - 1) / most * most);
}

static size_t put_name(char *to, const char *name)
{
    size_t n = 0;

    for (; name && name[n] && n < NAME_MAX_BYTES; n++)
        to[n] = (unsigned char)name[n] < ' ' ? ' ' : name[n];
    return n;
}

static size_t entry_line(char to[LINE_MAX_BYTES], uint32_t domain, const hu_nvtx_entry *e)
{
    const schema  *nested = find(domain, e->type);
    const bool     is_copied = is_text(e->type) && !is_embedded(e) && e->flags & (HU_ENTRY_DEEP | HU_ENTRY_MESSAGE);
    const uint64_t type = nested ? nested->text : is_copied ? HU_PAYLOAD_STRING_ID : e->type;
    const uint64_t flags = is_copied ? e->flags & ~(uint64_t)(HU_ENTRY_POINTER | HU_ENTRY_ARRAY) : e->flags;
    int            n = snprintf(to, LINE_MAX_BYTES - NAME_MAX_BYTES - 1, "%s%llu\t%llu\t%llu\t%llu\t", nested ? "@" : "",
                                (unsigned long long)type, (unsigned long long)flags, (unsigned long long)e->detail,
                                (unsigned long long)e->offset);
    size_t         length = n > 0 ? (size_t)n : 0;

    length += put_name(to + length, e->name);
    to[length++] = '\n';
    return length;
}

static size_t value_line(char to[LINE_MAX_BYTES], const hu_nvtx_enum_value *v)
{
    int n = snprintf(to, LINE_MAX_BYTES - NAME_MAX_BYTES - 1, "%llu\t%d\t", (unsigned long long)v->value, v->is_flag != 0);
    size_t length = n > 0 ? (size_t)n : 0;

    length += put_name(to + length, v->name);
    to[length++] = '\n';
    return length;
}

typedef struct {
    uint32_t                  domain;
    const hu_nvtx_entry      *entries; /* or */
    const hu_nvtx_enum_value *values;
    size_t                    n;
} lines;

static size_t put_line(const lines *l, size_t i, char to[LINE_MAX_BYTES])
{
    return l->entries ? entry_line(to, l->domain, &l->entries[i]) : value_line(to, &l->values[i]);
}

/* The strings that a head and its lines need, the last one first, because each names the one behind it.  0: no room. */
static uint32_t write_text(const char *head, size_t head_bytes, const lines *l)
{
    size_t   starts[HU_SCHEMA_LINKS_MAX + 1], n_links = 0, used = head_bytes;
    char     text[HU_STRING_BYTES_MAX], line[LINE_MAX_BYTES];
    uint32_t next = 0;

    starts[n_links++] = 0;
    for (size_t i = 0; i < l->n; i++) {
        const size_t bytes = put_line(l, i, line);

        if (used + bytes > LINK_BYTES) {
            if (n_links == HU_SCHEMA_LINKS_MAX)
                return 0;
            starts[n_links++] = i;
            used = 0;
        }
        used += bytes;
    }
    starts[n_links] = l->n;
    for (size_t k = n_links; k-- > 0;) {
        size_t n = 0;

        if (k == 0) {
            memcpy(text, head, head_bytes);
            n = head_bytes;
        }
        for (size_t i = starts[k]; i < starts[k + 1]; i++)
            n += put_line(l, i, text + n);
        if (next)
            n += (size_t)snprintf(text + n, sizeof text - n, "@%u\n", next);
        next = hu_string_as_is(text, n);
        if (next == 0)
            return 0;
    }
    return next;
}

static uint64_t remember(schema *s, uint64_t said, uint64_t forced)
{
    if (!s->text)
        return 0;
    s->id = forced ? forced : said ? said : (uint64_t)1 << DYNAMIC | s->text;
    add(s);
    return s->id;
}

uint64_t hu_nvtx_schema_add(uint32_t domain, const hu_nvtx_schema *from, uint64_t id)
{
    enum { MANDATORY = HU_NVTX_HAS_TYPE | HU_NVTX_HAS_ENTRIES | HU_NVTX_HAS_COUNT, STATIC = 1 };
    schema s = {.domain = domain};
    lines  l = {.domain = domain};
    char   head[LINE_MAX_BYTES];
    int    n;
    size_t length;

    if (!from || (from->mask & MANDATORY) != MANDATORY || !from->entries || from->n_entries == 0)
        return 0;
    l.entries = from->entries;
    l.n = from->n_entries < HU_SCHEMA_ENTRIES_MAX ? from->n_entries : HU_SCHEMA_ENTRIES_MAX;
    if (from->type == STATIC)
        lay_out(&s, from, l.n);
    if (from->mask & HU_NVTX_HAS_SIZE && from->type == STATIC)
        s.bytes = from->bytes < UINT32_MAX ? (uint32_t)from->bytes : 0;
    n = snprintf(head, sizeof head - NAME_MAX_BYTES - 1, HU_SCHEMA_TEXT "\t%llu\t%u\t%llu\t", (unsigned long long)from->type,
                 s.bytes, (unsigned long long)(from->mask & HU_NVTX_HAS_PACK ? from->pack : 0));
    length = n > 0 ? (size_t)n : 0;
    length += put_name(head + length, from->mask & HU_NVTX_HAS_NAME ? from->name : NULL);
    head[length++] = '\n';
    s.text = write_text(head, length, &l);
    return remember(&s, from->mask & HU_NVTX_HAS_ID ? from->id : 0, id);
}

uint64_t hu_nvtx_enum_add(uint32_t domain, const hu_nvtx_enum *from, uint64_t id)
{
    enum { MANDATORY = HU_NVTX_ENUM_HAS_ENTRIES | HU_NVTX_ENUM_HAS_COUNT };
    schema s = {.domain = domain};
    lines  l = {.domain = domain};
    char   head[LINE_MAX_BYTES];
    int    n;
    size_t length;

    if (!from || (from->mask & MANDATORY) != MANDATORY || !from->entries || from->n_entries == 0)
        return 0;
    l.values = from->entries;
    l.n = from->n_entries < HU_SCHEMA_ENTRIES_MAX ? from->n_entries : HU_SCHEMA_ENTRIES_MAX;
    s.bytes = from->mask & HU_NVTX_ENUM_HAS_SIZE && from->bytes <= sizeof(uint64_t) ? (uint32_t)from->bytes : 4;
    n = snprintf(head, sizeof head - NAME_MAX_BYTES - 1, HU_ENUM_TEXT "\t%u\t", s.bytes);
    length = n > 0 ? (size_t)n : 0;
    length += put_name(head + length, from->mask & HU_NVTX_HAS_NAME ? from->name : NULL);
    head[length++] = '\n';
    s.text = write_text(head, length, &l);
    return remember(&s, from->mask & HU_NVTX_ENUM_HAS_ID ? from->id : 0, id);
}

/* What the client means by a payload: its schema in the ring's words, and its bytes.  false: nothing to show. */
static bool look_at(uint32_t domain, const hu_nvtx_payload *p, const schema **s, uint32_t *word, size_t *bytes)
{
    *s = find(domain, p->schema);
    *bytes = p->bytes;
    if (*s)
        *word = (*s)->text;
    else if (p->schema >> DYNAMIC == 1 && (uint32_t)p->schema <= HU_STRINGS_MAX)
        *word = (uint32_t)p->schema; /* of another domain */
    else if (p->schema <= HU_PAYLOAD_RAW && p->schema != HU_PAYLOAD_REFERENCED)
        *word = HU_SCHEMA_SCALAR + (uint32_t)p->schema;
    else
        return false;
    if (!p->data)
        return false;
    if (!*s && is_text(p->schema)) {
        *word = HU_SCHEMA_SCALAR + HU_PAYLOAD_STRING_ID;
        *bytes = sizeof(uint64_t);
    } else if (*bytes == SIZE_MAX) {
        *bytes = *s ? (*s)->bytes : hu_payload_type_bytes(p->schema);
    }
    return *bytes > 0;
}

static size_t clipped(size_t bytes, size_t room)
{
    return bytes < room ? bytes : room;
}

uint32_t hu_nvtx_payload_records(const hu_nvtx_payloads *p)
{
    size_t   room = HU_PAYLOAD_BYTES_MAX;
    uint32_t n = 0;

    for (size_t i = 0; i < p->n && i < HU_PAYLOADS_MAX; i++) {
        const schema *s;
        uint32_t      word;
        size_t        bytes;

        if (!look_at(p->domain, &p->list[i], &s, &word, &bytes))
            continue;
        n += 1 + (uint32_t)((clipped(bytes, room) + PIECE - 1) / PIECE);
        room -= clipped(bytes, room);
    }
    return n;
}

static uint64_t word_at(const char *data, uint32_t offset)
{
    uint64_t word;

    memcpy(&word, data + offset, sizeof word);
    return word;
}

static uint32_t text_of(const char *data, size_t bytes, const text_place *t)
{
    if (t->offset >= bytes)
        return 0;
    if (t->kind == EMBEDDED)
        return hu_string(data + t->offset, strnlen(data + t->offset, clipped(t->bytes, bytes - t->offset)));
    if (t->offset + sizeof(uint64_t) > bytes)
        return 0;
    if (t->kind == POINTER)
        return hu_string_of((const char *)(uintptr_t)word_at(data, t->offset));
    return hu_nvtx_id((const void *)(uintptr_t)word_at(data, t->offset));
}

/* As long as it was: what is shorter ends in NUL, what is longer is cut. */
static void redact_embedded(const char *text, char *to, size_t room)
{
    const size_t n = hu_redact_text((hu_str){text, strnlen(text, room)}, to, room);

    memset(to + n, 0, room - n);
}

/* A copy in which handles and pointers are string ids. */
static void translate(const schema *s, const char *data, char *copy, size_t bytes)
{
    memcpy(copy, data, bytes);
    for (unsigned i = 0; i < s->n_texts; i++) {
        const text_place *t = &s->texts[i];
        const uint64_t    id = t->kind == EMBEDDED ? 0 : text_of(data, bytes, t);

        if (t->kind == EMBEDDED && t->offset < bytes && hu_the_control->redacts_ranges)
            redact_embedded(data + t->offset, copy + t->offset, clipped(t->bytes, bytes - t->offset));
        if (t->kind != EMBEDDED && t->offset + sizeof id <= bytes)
            memcpy(copy + t->offset, &id, sizeof id);
    }
}

static hu_record *write_bytes(const char *data, size_t bytes, hu_record *to, const hu_record *end)
{
    for (size_t at = 0; at < bytes && to < end; at += PIECE, to++) {
        const size_t n = clipped(bytes - at, PIECE);
        uint64_t     words[2] = {0, 0};

        memcpy(words, data + at, n);
        hu_ring_more(to, (uint32_t)n, HU_MORE_BYTES, words[0]);
        to->b = words[1];
    }
    return to;
}

hu_record *hu_nvtx_payload_write(const hu_nvtx_payloads *p, hu_record *to, const hu_record *end)
{
    size_t room = HU_PAYLOAD_BYTES_MAX;

    for (size_t i = 0; i < p->n && i < HU_PAYLOADS_MAX && to < end; i++) {
        const hu_nvtx_payload *payload = &p->list[i];
        const char            *data = payload->data;
        const schema          *s;
        char                   copy[HU_PAYLOAD_BYTES_MAX];
        uint64_t               id;
        uint32_t               word;
        size_t                 bytes, kept;

        if (!look_at(p->domain, payload, &s, &word, &bytes))
            continue;
        kept = clipped(bytes, room);
        room -= kept;
        if (word == HU_SCHEMA_SCALAR + HU_PAYLOAD_STRING_ID && kept >= sizeof id) {
            id = is_text(payload->schema) ? hu_string(data, strnlen(data, clipped(payload->bytes, HU_STRING_BYTES_MAX)))
                                          : hu_nvtx_id((const void *)(uintptr_t)word_at(data, 0));
            data = memcpy(copy, &id, sizeof id);
        } else if (s && s->n_texts) {
            translate(s, data, copy, kept);
            data = copy;
        }
        hu_ring_more(to, 0, HU_MORE_UINT, word);
        to->aux = HU_MORE_SCHEMA;
        to->b = bytes;
        to = write_bytes(data, kept, to + 1, end);
    }
    return to;
}

uint32_t hu_nvtx_payload_message(const hu_nvtx_payloads *p)
{
    for (size_t i = 0; i < p->n && i < HU_PAYLOADS_MAX; i++) {
        const schema *s;
        uint32_t      word;
        size_t        bytes;

        if (look_at(p->domain, &p->list[i], &s, &word, &bytes) && s && s->message)
            return text_of(p->list[i].data, bytes, &s->texts[s->message - 1]);
    }
    return 0;
}
