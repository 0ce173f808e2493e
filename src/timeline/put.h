/* SPDX-License-Identifier: Apache-2.0
 * put.h - columns of LEB128 varints behind each other, and numbers for what a page has in a list. */
#ifndef HU_TIMELINE_PUT_H
#define HU_TIMELINE_PUT_H

#include "base/json_out.h"
#include "base/map.h"
#include "trace/trace.h"

typedef HU_VEC(uint8_t) hu_put_bytes;

typedef struct {
    const hu_trace *trace;
    hu_arena       *arena;
    hu_map          numbers; /* of strings or tracks, in the order of their first use */
    HU_VEC(uint32_t) values; /* those that have a number */
    hu_put_bytes out;
    bool         failed; /* no memory */
} hu_put;

static inline void hu_put_varint(hu_put *w, uint64_t v)
{
    if (!hu_vec_reserve(w->arena, &w->out, 10)) {
        w->failed = true;
        return;
    }
    for (; v >= 128; v >>= 7)
        w->out.at[w->out.n++] = (uint8_t)(v | 128);
    w->out.at[w->out.n++] = (uint8_t)v;
}

static inline uint64_t hu_put_zigzag(int64_t v)
{
    return (uint64_t)v << 1 ^ (uint64_t)(v >> 63);
}

static inline void hu_put_begin_numbers(hu_put *w)
{
    w->values.n = 0;
    w->failed |= !hu_map_init(&w->numbers, w->arena, 256);
}

static inline uint32_t hu_put_number(hu_put *w, uint32_t value)
{
    uint32_t *place = w->failed ? NULL : hu_map_put(&w->numbers, value);

    if (place && *place == HU_MAP_NONE) {
        *place = (uint32_t)w->values.n;
        if (!hu_vec_push(w->arena, &w->values, value))
            place = NULL;
    }
    w->failed |= !place;
    return place ? *place : 0;
}

/* The strings that have a number. */
static inline void hu_put_strings(const hu_put *w, hu_json_out *head, const char *key)
{
    hu_json_open(head, key, '[');
    for (size_t i = 0; i < w->values.n; i++)
        hu_json_str(head, NULL, hu_trace_text(w->trace, w->values.at[i]));
    hu_json_close(head, ']');
}

#endif
