/* SPDX-License-Identifier: Apache-2.0
 * protobuf_out.c - the wire format: a varint of field number and type, then the value.
 *
 * The length of a nested message comes before it and is known only behind it.  One byte is left free, because nearly
 * all messages are shorter than 128 bytes; a longer one is moved up by the bytes that its length takes more.
 */
#include "base/protobuf_out.h"

#include "base/utf8.h"

enum { VARINT = 0, FIXED64 = 1, BYTES = 2 };

bool hu_pb_write_room(hu_pbw *w, size_t bytes)
{
    if (w->no_memory)
        return false;
    if (bytes <= w->cap - w->n)
        return true;
    if (bytes > SIZE_MAX / 2 - w->n || !hu_vec_make_room(w->arena, (void **)&w->at, &w->cap, w->n + bytes, 1))
        w->no_memory = true;
    return !w->no_memory;
}

static void write_tag(hu_pbw *w, uint32_t field, unsigned type)
{
    hu_pb_write_varint(w, (uint64_t)field << 3 | type);
}

static void write_bytes(hu_pbw *w, const void *bytes, size_t n)
{
    if (n && hu_pb_write_room(w, n)) {
        memcpy(w->at + w->n, bytes, n);
        w->n += n;
    }
}

void hu_pb_write_int(hu_pbw *w, uint32_t field, int64_t value)
{
    hu_pb_write_uint(w, field, (uint64_t)value);
}

void hu_pb_write_fixed64(hu_pbw *w, uint32_t field, uint64_t value)
{
    char bytes[8];

    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(value >> (8 * i));
    write_tag(w, field, FIXED64);
    write_bytes(w, bytes, sizeof bytes);
}

void hu_pb_write_double(hu_pbw *w, uint32_t field, double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    hu_pb_write_fixed64(w, field, bits);
}

static void write_repaired(hu_pbw *w, hu_str text)
{
    while (text.n) {
        char           bytes[4];
        const uint32_t c = hu_utf8_next(&text);

        if (c == HU_UTF8_BAD)
            write_bytes(w, "\xef\xbf\xbd", 3);
        else
            write_bytes(w, bytes, hu_utf8_put(bytes, c));
    }
}

void hu_pb_write_str(hu_pbw *w, uint32_t field, hu_str text)
{
    if (hu_utf8_is_valid(text)) {
        write_tag(w, field, BYTES);
        hu_pb_write_varint(w, text.n);
        write_bytes(w, text.p, text.n);
    } else {
        const size_t open = hu_pb_write_open(w, field);

        write_repaired(w, text);
        hu_pb_write_close(w, open);
    }
}

size_t hu_pb_write_open(hu_pbw *w, uint32_t field)
{
    write_tag(w, field, BYTES);
    if (hu_pb_write_room(w, 1))
        w->n++;
    return w->n;
}

void hu_pb_write_close(hu_pbw *w, size_t open)
{
    const size_t n = w->n - open;
    size_t       more = 0;

    for (size_t left = n >> 7; left; left >>= 7)
        more++;
    if (!hu_pb_write_room(w, more))
        return;
    if (more)
        memmove(w->at + open + more, w->at + open, n);
    for (size_t i = 0; i <= more; i++)
        w->at[open - 1 + i] = (char)((n >> (7 * i) & 0x7f) | (i < more ? 0x80 : 0));
    w->n += more;
}
