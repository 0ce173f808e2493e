/* SPDX-License-Identifier: Apache-2.0
 * chakra.c - execution traces of MLCommons Chakra: a GlobalMetadata, then nodes, each a protocol buffer behind its length.
 *
 * Fields as in the files that its converters write (et_def.proto).  What a converter of PyTorch's traces takes over stands
 * in attributes: rf_id, scope, tid; shapes and types are JSON text again.
 */
#include "base/protobuf.h"
#include "ingest/execution_trace.h"

enum { META_VERSION = 1, META_ATTRIBUTE = 2 };
enum {
    NODE_ID = 1,
    NODE_NAME = 2,
    NODE_TYPE = 3,
    NODE_CTRL_DEPS = 4,
    NODE_DURATION_US = 7,
    NODE_INPUTS = 8,
    NODE_ATTRIBUTE = 10
};
enum { INFO_SHAPES = 2, INFO_TYPES = 3 };
enum { ATTRIBUTE_NAME = 1, ATTRIBUTE_DOC = 2 };
enum { TYPE_METADATA = 1, TYPES = 8, USER_SCOPE = 7, MOST_HEAD = 1 << 16, LOOKED_AT = 3 };

static const int64_t MOST_US = INT64_C(1000000000000000);

static bool is_name(hu_str s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] < ' ')
            return false;
    return s.n > 0 && s.n < 4096;
}

/* The next message behind its length; false at the end, or where the length passes it. */
static bool next_message(hu_protobuf *m, hu_str *out)
{
    const char *begin = m->p;
    uint64_t    n;

    if (m->p >= m->end || !hu_protobuf_varint(m, &n) || n > (uint64_t)(m->end - m->p)) {
        m->p = begin;
        return false;
    }
    *out = (hu_str){m->p, (size_t)n};
    m->p += n;
    return true;
}

/* "schema" and "1.1.0"; "" and a number where the value is one. */
static bool read_attribute(hu_str message, hu_str *name, hu_str *text, uint64_t *number)
{
    hu_protobuf       m = hu_protobuf_of(message);
    hu_protobuf_field f;

    *name = *text = HU_STR("");
    *number = 0;
    while (hu_protobuf_next(&m, &f))
        if (f.number == ATTRIBUTE_NAME && f.wire == HU_WIRE_BYTES)
            *name = f.bytes;
        else if (f.number > ATTRIBUTE_DOC && f.wire == HU_WIRE_BYTES)
            *text = f.bytes;
        else if (f.number > ATTRIBUTE_DOC)
            *number = f.value;
    return !m.bad && is_name(*name);
}

/* An empty one is what old converters write. */
static bool is_metadata(hu_str message)
{
    hu_protobuf       m = hu_protobuf_of(message);
    hu_protobuf_field f;
    hu_str            name, text;
    uint64_t          number;

    while (hu_protobuf_next(&m, &f))
        if (f.wire != HU_WIRE_BYTES || (f.number != META_VERSION && f.number != META_ATTRIBUTE) ||
            (f.number == META_ATTRIBUTE && !read_attribute(f.bytes, &name, &text, &number)) ||
            (f.number == META_VERSION && !is_name(f.bytes)))
            return false;
    return !m.bad;
}

/* Its number, its name and its type. */
static bool is_node(hu_str message)
{
    hu_protobuf       m = hu_protobuf_of(message);
    hu_protobuf_field f;
    bool              has_name = false, has_type = false;

    while (hu_protobuf_next(&m, &f)) {
        if (f.number == 0 || f.number > NODE_ATTRIBUTE || (f.number == NODE_TYPE && f.value >= TYPES))
            return false;
        has_name |= f.number == NODE_NAME && f.wire == HU_WIRE_BYTES && is_name(f.bytes);
        has_type |= f.number == NODE_TYPE && f.wire == HU_WIRE_VARINT;
    }
    return !m.bad && has_name && has_type;
}

bool hu_chakra_probe(hu_str head)
{
    hu_protobuf m = hu_protobuf_of((hu_str){head.p, head.n < MOST_HEAD ? head.n : MOST_HEAD});
    hu_str      message;
    int         nodes = 0;

    if (!next_message(&m, &message) || !is_metadata(message))
        return false;
    while (nodes < LOOKED_AT && next_message(&m, &message))
        if (is_node(message))
            nodes++;
        else
            return false;
    return nodes > 0;
}

static void take_attribute(hu_execution_node *node, hu_str message, bool *is_range)
{
    hu_str   name, text;
    uint64_t number;

    if (!read_attribute(message, &name, &text, &number))
        return;
    if (hu_str_equal(name, HU_STR("rf_id")))
        node->record = number;
    else if (hu_str_equal(name, HU_STR("tid")))
        node->thread = (int64_t)number;
    else if (hu_str_equal(name, HU_STR("scope")))
        *is_range |= number == USER_SCOPE;
}

static void take_inputs(hu_execution *e, hu_execution_node *node, hu_str message)
{
    hu_protobuf       m = hu_protobuf_of(message);
    hu_protobuf_field f;

    while (hu_protobuf_next(&m, &f))
        if (f.number == INFO_SHAPES && f.bytes.n > 2)
            node->shapes = hu_intern_add(&e->texts, f.bytes);
        else if (f.number == INFO_TYPES && f.bytes.n > 2)
            node->types = hu_intern_add(&e->texts, f.bytes);
}

static bool read_node(hu_execution *e, hu_arena *arena, hu_str message)
{
    hu_execution_node node = {0};
    hu_protobuf       m = hu_protobuf_of(message);
    hu_protobuf_field f;
    hu_str            name = HU_STR("");
    bool              is_range = false, has_parent = false;

    while (hu_protobuf_next(&m, &f)) {
        if (f.number == NODE_ID)
            node.id = f.value;
        else if (f.number == NODE_NAME)
            name = f.bytes;
        else if (f.number == NODE_TYPE)
            is_range |= f.value == TYPE_METADATA;
        else if (f.number == NODE_CTRL_DEPS && !has_parent)
            has_parent = hu_protobuf_numbers(&f, false, &node.parent, 1) == 1;
        else if (f.number == NODE_DURATION_US && f.value < (uint64_t)MOST_US)
            node.dur_ns = (int64_t)f.value * 1000;
        else if (f.number == NODE_INPUTS)
            take_inputs(e, &node, f.bytes);
        else if (f.number == NODE_ATTRIBUTE)
            take_attribute(&node, f.bytes, &is_range);
    }
    if (m.bad || name.n == 0) {
        e->malformed++;
        return true;
    }
    return hu_execution_add(e, arena, &node, name, is_range);
}

static void read_metadata(hu_execution *e, hu_arena *arena, hu_str message)
{
    hu_protobuf       m = hu_protobuf_of(message);
    hu_protobuf_field f;
    hu_str            name, text;
    uint64_t          number;

    while (hu_protobuf_next(&m, &f)) {
        if (f.number == META_VERSION && e->schema.n == 0)
            e->schema = f.bytes;
        if (f.number != META_ATTRIBUTE || !read_attribute(f.bytes, &name, &text, &number))
            continue;
        if (hu_str_equal(name, HU_STR("schema")))
            e->schema = text;
        else if (hu_str_equal(name, HU_STR("pid")))
            e->pid = (int64_t)number;
    }
    e->schema = hu_arena_copy(arena, e->schema);
    if (!e->schema.p)
        e->schema = HU_STR("");
}

int hu_chakra_read(hu_str bytes, const hu_limits *limits, hu_arena *arena, hu_execution *out, hu_error *err)
{
    hu_protobuf m = hu_protobuf_of(bytes);
    hu_str      message;

    out->writer = "Chakra";
    if (next_message(&m, &message))
        read_metadata(out, arena, message);
    while (next_message(&m, &message)) {
        if (out->nodes.n == (size_t)limits->events)
            return hu_fail(err, HU_ELIMIT, out->file, HU_NO_OFFSET, "has more than %lld nodes; raise --limit events",
                           (long long)limits->events);
        if (!read_node(out, arena, message))
            return hu_fail_memory(err);
    }
    out->is_cut = m.p < m.end || m.bad;
    return 0;
}
