/* SPDX-License-Identifier: Apache-2.0
 * pickle.h - Python's pickles as plain values: lists, dictionaries, texts and numbers.
 *
 * A pickle is a program for a stack machine, and may ask to import and call anything.  This reader builds values and does
 * nothing else: what would import, call or set a state is an error that names it.  Protocols 0 to 5.
 */
#ifndef HU_BASE_PICKLE_H
#define HU_BASE_PICKLE_H

#include "base/arena.h"
#include "base/error.h"
#include "base/limits.h"

typedef enum {
    HU_VALUE_NONE,
    HU_VALUE_BOOL,
    HU_VALUE_INT, /* beyond 64 bits: the nearest */
    HU_VALUE_REAL,
    HU_VALUE_TEXT,
    HU_VALUE_BYTES,
    HU_VALUE_LIST, /* tuples and sets, too */
    HU_VALUE_DICT,
} hu_value_type;

typedef struct hu_value hu_value;

/* A value may be part of several others, and of itself: whoever walks down has to stop by a depth of its own. */
struct hu_value {
    hu_value_type type;
    uint32_t      n; /* items of a list; keys and values of a dictionary, by turns */
    union {
        int64_t          integer; /* BOOL, INT */
        double           real;
        hu_str           text; /* TEXT, BYTES; borrowed from the pickle, or in the arena */
        const hu_value **items;
    };
};

/*
 * Reads a whole pickle.  Values live in `arena`, texts may point into `bytes`.  NULL with *err filled: cut, malformed, over
 * a limit (limits->events values, limits->string_bytes of memory), or it asks for something else than data.
 */
const hu_value *hu_pickle_read(hu_str bytes, const char *file, const hu_limits *limits, hu_arena *arena, hu_error *err);

/* The last value under a text key; NULL where `dict` is no dictionary or has none. */
const hu_value *hu_value_get(const hu_value *dict, const char *key);

/* Item i of a list; NULL where there is none. */
const hu_value *hu_value_at(const hu_value *list, size_t i);

size_t  hu_value_count(const hu_value *list); /* 0 where it is no list */
int64_t hu_value_int(const hu_value *v, int64_t absent);
hu_str  hu_value_text(const hu_value *v); /* "" where it is no text */

#endif
