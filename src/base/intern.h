/* SPDX-License-Identifier: Apache-2.0
 * intern.h - equal strings become one 32-bit id; id 0 is "". */
#ifndef HU_BASE_INTERN_H
#define HU_BASE_INTERN_H

#include "base/arena.h"

typedef struct {
    const char *p;
    uint32_t    n;
    uint32_t    hash;
} hu_intern_entry;

typedef struct {
    hu_arena *arena;                 /* of the tables */
    hu_arena *texts;                 /* the same, unless the table was cleared */
    HU_VEC(hu_intern_entry) entries; /* by id */
    uint64_t *slots;                 /* hash in the high half, id in the low half; 0 is free */
    size_t    mask;                  /* slots - 1 */
    uint64_t  bytes;                 /* of all distinct strings */
    uint64_t  invalid_utf8;          /* distinct strings that are not valid UTF-8 */
} hu_intern;

/* False when there is no memory. */
bool hu_intern_init(hu_intern *table, hu_arena *arena);

/* The id of s, which is copied when it is new.  UINT32_MAX when there is no memory. */
uint32_t hu_intern_add(hu_intern *table, hu_str s);

/* Adds all texts of another table in its order; ids[i] becomes the id of from's text i.  False when there is no memory. */
bool hu_intern_add_all(hu_intern *table, const hu_intern *from, uint32_t *ids);

/* Forgets all texts but "", whose memory goes, and keeps the room for them.  From then on the texts live in an arena of
   their own, `texts`, which is the caller's to free.  False when there is no memory. */
bool hu_intern_clear(hu_intern *table);

/* The id of s, or UINT32_MAX when it was never added. */
uint32_t hu_intern_find(const hu_intern *table, hu_str s);

/* The text of an id that came from this table; valid as long as its arena. */
static inline hu_str hu_intern_get(const hu_intern *table, uint32_t id)
{
    return (hu_str){table->entries.at[id].p, table->entries.at[id].n};
}

#endif
