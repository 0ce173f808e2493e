/* SPDX-License-Identifier: Apache-2.0
 * payload.h - the structured values of an NVTX event (NCCL's counts and peers, for one) by name and type. */
#ifndef HU_RECORD_PAYLOAD_H
#define HU_RECORD_PAYLOAD_H

#include <stdint.h>

#include "base/str.h"

typedef enum { HU_VALUE_INT, HU_VALUE_UINT, HU_VALUE_DOUBLE, HU_VALUE_ADDRESS, HU_VALUE_TEXT } hu_value_kind;

typedef struct {
    hu_str        name; /* "outer.inner" of nested schemas; valid during the call, as `text` is */
    hu_value_kind kind;
    int64_t       i;
    uint64_t      u; /* UINT, ADDRESS */
    double        d;
    hu_str        text;
} hu_payload_value;

/* The texts of a session's process: false when there is no such id. */
typedef struct {
    bool (*get)(void *context, uint32_t id, hu_str *text);
    void *context;
} hu_payload_strings;

typedef void hu_payload_take(void *context, const hu_payload_value *value);

/*
 * Calls `take` for each value in `bytes`, in the order of the schema.  `id` is `a` of a MORE of kind HU_MORE_SCHEMA,
 * `bytes` what the HU_MORE_BYTES behind it hold (protocol/format_payload.h).  Values that the bytes do not reach, that the
 * schema hides, and the members of unions are left out.  Returns how many values there were; 0 for a schema that is none.
 * Work is bounded whatever the schema says.
 */
uint32_t hu_payload_decode(const hu_payload_strings *strings, uint32_t id, hu_str bytes, hu_payload_take *take,
                           void *context);

#endif
