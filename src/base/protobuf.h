/* SPDX-License-Identifier: Apache-2.0
 * protobuf.h - the wire format of protocol buffers, field by field, where it lies.  No length in it is trusted. */
#ifndef HU_BASE_PROTOBUF_H
#define HU_BASE_PROTOBUF_H

#include <stdint.h>

#include "base/str.h"

/* What is left of one message.  Past a fault it is empty and stays `bad`, so a reader asks once, at the end. */
typedef struct {
    const char *p, *end;
    bool        bad;
} hu_protobuf;

typedef enum { HU_WIRE_VARINT = 0, HU_WIRE_FIXED64 = 1, HU_WIRE_BYTES = 2, HU_WIRE_FIXED32 = 5 } hu_wire;

typedef struct {
    uint32_t number;
    hu_wire  wire;
    uint64_t value; /* of a number, as it lies: signs and fractions are the reader's; 0 for bytes */
    hu_str   bytes; /* of bytes, texts and messages; "" for a number */
} hu_protobuf_field;

static inline hu_protobuf hu_protobuf_of(hu_str message)
{
    return (hu_protobuf){message.p, message.p + message.n, false};
}

/* The next field.  False at the end, or at what is no field: then m->bad, and m->p is where it would begin. */
bool hu_protobuf_next(hu_protobuf *m, hu_protobuf_field *out);

/* One bare varint, as packed lists and frames hold them. */
bool hu_protobuf_varint(hu_protobuf *m, uint64_t *out);

/*
 * The numbers of a repeated field that came as one number or packed, up to `room` of them; `is_fixed`: 8 bytes each.
 * Returns how many.
 */
size_t hu_protobuf_numbers(const hu_protobuf_field *f, bool is_fixed, uint64_t *out, size_t room);

/* A double as fixed64 holds it. */
static inline double hu_protobuf_double(const hu_protobuf_field *f)
{
    double value;

    memcpy(&value, &f->value, sizeof value);
    return value;
}

#endif
