/* SPDX-License-Identifier: Apache-2.0
 * format_payload.h - how structured values of NVTX events lie in a ring: raw bytes, and a text that says what they mean.
 *
 * An event (BEGIN, END, MARK, START, STOP) that carries payloads is followed by MOREs of its group, for each payload:
 *
 *     aux = HU_MORE_SCHEMA   a = schema: a string id, or HU_SCHEMA_SCALAR + a type below; b = bytes the client gave
 *     aux = HU_MORE_BYTES    up to 16 bytes each in a and b, their number in id; fewer in all than said: cut
 *
 * Registering a schema or an enum makes a text in the table of strings (so it is there whatever the gate, the flight
 * recorder or the order of calls does), and the id of that text is the schema.  Lines end in '\n', fields are split by
 * '\t'; in names every character below ' ' is a blank.
 *
 *     holdup-schema TAB kind(1 static 2 dynamic 3 union 4 union, selector inside) TAB bytes(0: unknown) TAB pack TAB name
 *     TYPE TAB FLAGS TAB DETAIL TAB OFFSET TAB NAME            one line per entry; numbers are decimal,
 *     ...                                                      TYPE is a type below, or "@" and the id of a schema or enum
 *     @ID                                                      the last line, when the text is longer than one string
 *                                                              holds: the lines of string ID follow
 *     holdup-enum TAB bytes TAB name
 *     VALUE TAB IS_FLAG TAB NAME
 *
 * The types and flags are those of nvToolsExtPayload.h.  A registered string, and a text that was behind a pointer, are
 * stored as 8 bytes that hold a string id, and have the type HU_PAYLOAD_STRING_ID.
 */
#ifndef HU_PROTOCOL_FORMAT_PAYLOAD_H
#define HU_PROTOCOL_FORMAT_PAYLOAD_H

#include "protocol/format.h"

#define HU_SCHEMA_TEXT   "holdup-schema"
#define HU_ENUM_TEXT     "holdup-enum"
#define HU_SCHEMA_SCALAR 0x80000000u

enum {
    HU_MORE_SCHEMA = 15,         /* besides hu_more */
    HU_PAYLOAD_BYTES_MAX = 2048, /* of all payloads of one event; what is more is cut */
    HU_PAYLOADS_MAX = 16,        /* of one event */
    HU_SCHEMA_ENTRIES_MAX = 256,
    HU_SCHEMA_LINKS_MAX = 64, /* strings that one schema may be split into */
};

/* clang-format off */
typedef enum {
    HU_PAYLOAD_CHAR = 1, HU_PAYLOAD_UCHAR, HU_PAYLOAD_SHORT, HU_PAYLOAD_USHORT, HU_PAYLOAD_INT, HU_PAYLOAD_UINT,
    HU_PAYLOAD_LONG, HU_PAYLOAD_ULONG, HU_PAYLOAD_LONGLONG, HU_PAYLOAD_ULONGLONG, HU_PAYLOAD_INT8, HU_PAYLOAD_UINT8,
    HU_PAYLOAD_INT16, HU_PAYLOAD_UINT16, HU_PAYLOAD_INT32, HU_PAYLOAD_UINT32, HU_PAYLOAD_INT64, HU_PAYLOAD_UINT64,
    HU_PAYLOAD_FLOAT, HU_PAYLOAD_DOUBLE, HU_PAYLOAD_LONGDOUBLE, HU_PAYLOAD_SIZE, HU_PAYLOAD_ADDRESS, HU_PAYLOAD_WCHAR,
    HU_PAYLOAD_CHAR8, HU_PAYLOAD_CHAR16, HU_PAYLOAD_CHAR32, HU_PAYLOAD_BYTE = 32, HU_PAYLOAD_INT128, HU_PAYLOAD_UINT128,
    HU_PAYLOAD_FLOAT16 = 42, HU_PAYLOAD_FLOAT32, HU_PAYLOAD_FLOAT64, HU_PAYLOAD_FLOAT128, HU_PAYLOAD_BF16 = 50,
    HU_PAYLOAD_TF32 = 52, HU_PAYLOAD_CATEGORY = 68, HU_PAYLOAD_COLOR, HU_PAYLOAD_SCOPE, HU_PAYLOAD_PID32, HU_PAYLOAD_PID64,
    HU_PAYLOAD_TID32, HU_PAYLOAD_TID64, HU_PAYLOAD_TEXT, HU_PAYLOAD_TEXT8, HU_PAYLOAD_TEXT16, HU_PAYLOAD_TEXT32,
    HU_PAYLOAD_STRING_ID = 80, HU_PAYLOAD_SELECTOR = 100, HU_PAYLOAD_REFERENCED = 1022, HU_PAYLOAD_RAW = 1023,
} hu_payload_type;

enum {
    HU_ENTRY_POINTER = 1 << 1, HU_ENTRY_FROM_BASE = 1 << 2, HU_ENTRY_FROM_HERE = 1 << 3,
    HU_ENTRY_ARRAY = 7 << 4, HU_ENTRY_ARRAY_FIXED = 1 << 4, HU_ENTRY_ARRAY_ZERO = 2 << 4, HU_ENTRY_ARRAY_INDEX = 3 << 4,
    HU_ENTRY_ARRAY_OTHER = 4 << 4, HU_ENTRY_DEEP = 1 << 8, HU_ENTRY_HIDE = 1 << 9, HU_ENTRY_MESSAGE = 1 << 10,
};
/* clang-format on */

/* Bytes of one value of a type on a 64-bit system (they are their alignment too); 0: not a value of its own size. */
static inline uint32_t hu_payload_type_bytes(uint64_t type)
{
    /* clang-format off */
    static const uint8_t BYTES[] = {
        0, 1, 1, 2, 2, 4, 4, 8, 8, 8, 8, 1, 1, 2, 2, 4, 4, 8, 8, 4, 8, 16, 8, 8, 4, 1, 2, 4, 0, 0, 0, 0, 1, 16, 16,
        [HU_PAYLOAD_FLOAT16] = 2, 4, 8, 16, [HU_PAYLOAD_BF16] = 2, [HU_PAYLOAD_TF32] = 4,
        [HU_PAYLOAD_CATEGORY] = 4, 4, 8, 4, 8, 4, 8, [HU_PAYLOAD_STRING_ID] = 8, [HU_PAYLOAD_SELECTOR] = 4,
    };
    /* clang-format on */

    return type < sizeof BYTES ? BYTES[type] : 0;
}

#endif
