/* SPDX-License-Identifier: Apache-2.0
 * protobuf.c - tags, varints and lengths.  Groups (wire types 3 and 4) died in 2008 and count as a fault. */
#include "base/protobuf.h"

enum { VARINT_BYTES = 10 };

bool hu_protobuf_varint(hu_protobuf *m, uint64_t *out)
{
    uint64_t    value = 0;
    const char *p = m->p;

    if (p < m->end && (unsigned char)*p < 0x80) { /* most tags, ids and lengths */
        *out = (unsigned char)*p;
        m->p = p + 1;
        return true;
    }
    for (unsigned i = 0; i < VARINT_BYTES && p < m->end; i++) {
        const unsigned char byte = (unsigned char)*p++;

        value |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (byte < 0x80) {
            m->p = p;
            *out = value;
            return true;
        }
    }
    m->bad = true;
    return false;
}

static bool read_fixed(hu_protobuf *m, size_t n, uint64_t *out)
{
    uint64_t value = 0;

    if ((size_t)(m->end - m->p) < n)
        return false;
    for (size_t i = 0; i < n; i++)
        value |= (uint64_t)(unsigned char)m->p[i] << (8 * i);
    m->p += n;
    *out = value;
    return true;
}

static bool read_value(hu_protobuf *m, hu_protobuf_field *f)
{
    uint64_t n;

    switch (f->wire) {
    case HU_WIRE_VARINT:
        return hu_protobuf_varint(m, &f->value);
    case HU_WIRE_FIXED64:
        return read_fixed(m, 8, &f->value);
    case HU_WIRE_FIXED32:
        return read_fixed(m, 4, &f->value);
    case HU_WIRE_BYTES:
        if (!hu_protobuf_varint(m, &n) || n > (uint64_t)(m->end - m->p))
            return false;
        f->bytes = (hu_str){m->p, (size_t)n};
        m->p += n;
        return true;
    }
    return false;
}

bool hu_protobuf_next(hu_protobuf *m, hu_protobuf_field *out)
{
    const char *begin = m->p;
    uint64_t    tag;

    if (m->bad || m->p >= m->end)
        return false;
    if (hu_protobuf_varint(m, &tag) && tag >> 3 != 0 && tag <= UINT32_MAX) {
        *out = (hu_protobuf_field){.number = (uint32_t)(tag >> 3), .wire = (hu_wire)(tag & 7), .bytes = HU_STR("")};
        if (read_value(m, out))
            return true;
    }
    m->p = begin;
    m->bad = true;
    return false;
}

size_t hu_protobuf_numbers(const hu_protobuf_field *f, bool is_fixed, uint64_t *out, size_t room)
{
    hu_protobuf packed = hu_protobuf_of(f->bytes);
    size_t      n = 0;

    if (f->wire != HU_WIRE_BYTES) {
        if (room)
            out[0] = f->value;
        return room ? 1 : 0;
    }
    while (n < room && packed.p < packed.end &&
           (is_fixed ? read_fixed(&packed, 8, &out[n]) : hu_protobuf_varint(&packed, &out[n])))
        n++;
    return n;
}
