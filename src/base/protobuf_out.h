/* SPDX-License-Identifier: Apache-2.0
 * protobuf_out.h - writes protocol buffer messages, field by field, into memory that grows.
 *
 * A nested message is opened and closed; its length is filled in when it closes.  Running out of memory is remembered:
 * later calls do nothing, and the caller asks once, before it uses the bytes.
 */
#ifndef HU_BASE_PROTOBUF_OUT_H
#define HU_BASE_PROTOBUF_OUT_H

#include "base/arena.h"

typedef struct {
    hu_arena *arena;
    char     *at;
    size_t    n, cap;
    bool      no_memory;
} hu_pbw;

static inline void hu_pbw_init(hu_pbw *w, hu_arena *arena)
{
    *w = (hu_pbw){.arena = arena};
}

/* Forgets what was written and keeps the memory. */
static inline void hu_pbw_clear(hu_pbw *w)
{
    w->n = 0;
}

/* Makes room; false when there is no memory. */
bool hu_pb_write_room(hu_pbw *w, size_t bytes);

/* One varint without a tag, for packed lists. */
static inline void hu_pb_write_varint(hu_pbw *w, uint64_t value)
{
    enum { LONGEST = 10 };

    if (!hu_pb_write_room(w, LONGEST))
        return;
    for (; value >= 0x80; value >>= 7)
        w->at[w->n++] = (char)(value | 0x80);
    w->at[w->n++] = (char)value;
}

/* uint32, uint64, bool and enum fields; int32 and int64 by a cast, which writes ten bytes for a negative number. */
static inline void hu_pb_write_uint(hu_pbw *w, uint32_t field, uint64_t value)
{
    hu_pb_write_varint(w, (uint64_t)field << 3);
    hu_pb_write_varint(w, value);
}

void hu_pb_write_int(hu_pbw *w, uint32_t field, int64_t value);
void hu_pb_write_fixed64(hu_pbw *w, uint32_t field, uint64_t value);
void hu_pb_write_double(hu_pbw *w, uint32_t field, double value);

/* A string field, which must be UTF-8: each byte that is not becomes U+FFFD. */
void hu_pb_write_str(hu_pbw *w, uint32_t field, hu_str text);

/* Begins a nested message or a packed list; what it returns goes to hu_pb_write_close. */
size_t hu_pb_write_open(hu_pbw *w, uint32_t field);
void   hu_pb_write_close(hu_pbw *w, size_t open);

#endif
