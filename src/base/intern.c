/* SPDX-License-Identifier: Apache-2.0
 * intern.c - open addressing with the hash beside the id, so that a miss rarely touches the text.
 *
 * Texts are kept as they came, bad UTF-8 included: two names that differ only in a broken byte stay two names.  The
 * renderers make them printable.
 */
#include "base/intern.h"

#include "base/hash.h"
#include "base/utf8.h"

enum { FIRST_SLOTS = 1024 };

static bool grow(hu_intern *table, size_t slots)
{
    uint64_t *fresh = hu_arena_grow(table->arena, NULL, slots * sizeof *fresh);

    if (!fresh)
        return false;
    memset(fresh, 0, slots * sizeof *fresh);
    for (size_t id = 1; id < table->entries.n; id++) {
        size_t i = table->entries.at[id].hash & (slots - 1);

        while (fresh[i])
            i = (i + 1) & (slots - 1);
        fresh[i] = (uint64_t)table->entries.at[id].hash << 32 | id;
    }
    hu_arena_drop(table->arena, table->slots);
    table->slots = fresh;
    table->mask = slots - 1;
    return true;
}

bool hu_intern_init(hu_intern *table, hu_arena *arena)
{
    *table = (hu_intern){.arena = arena, .texts = arena};
    return hu_vec_push(arena, &table->entries, ((hu_intern_entry){.p = ""})) && grow(table, FIRST_SLOTS);
}

static bool is_entry(const hu_intern *table, uint64_t slot, uint32_t hash, hu_str s)
{
    const hu_intern_entry *e;

    if ((uint32_t)(slot >> 32) != hash)
        return false;
    e = &table->entries.at[(uint32_t)slot];
    return e->n == s.n && memcmp(e->p, s.p, s.n) == 0;
}

uint32_t hu_intern_find(const hu_intern *table, hu_str s)
{
    const uint32_t hash = (uint32_t)hu_hash_bytes(s.p, s.n);

    if (s.n == 0)
        return 0;
    for (size_t i = hash & table->mask; table->slots[i]; i = (i + 1) & table->mask)
        if (is_entry(table, table->slots[i], hash, s))
            return (uint32_t)table->slots[i];
    return UINT32_MAX;
}

static uint32_t add(hu_intern *table, hu_str s, uint32_t hash)
{
    size_t i = hash & table->mask;
    hu_str kept;

    for (; table->slots[i]; i = (i + 1) & table->mask)
        if (is_entry(table, table->slots[i], hash, s))
            return (uint32_t)table->slots[i];

    if (s.n > UINT32_MAX || table->entries.n >= UINT32_MAX - 1)
        return UINT32_MAX;
    kept = hu_arena_copy(table->texts, s);
    if (!kept.p || !hu_vec_push(table->arena, &table->entries, ((hu_intern_entry){kept.p, (uint32_t)kept.n, hash})))
        return UINT32_MAX;
    table->slots[i] = (uint64_t)hash << 32 | (uint32_t)(table->entries.n - 1);
    table->bytes += s.n;
    table->invalid_utf8 += !hu_utf8_is_valid(s);
    if (table->entries.n * 2 > table->mask && !grow(table, (table->mask + 1) * 2))
        return UINT32_MAX;
    return (uint32_t)(table->entries.n - 1);
}

uint32_t hu_intern_add(hu_intern *table, hu_str s)
{
    return s.n ? add(table, s, (uint32_t)hu_hash_bytes(s.p, s.n)) : 0;
}

/* Brings what `add` will look at into the cache: of the text that comes last the slot, of one before it the entry that the
   slot names, of the next one its letters.  Each is far from the others, and nothing else is done here. */
static void prefetch(const hu_intern *table, const hu_intern *from, size_t next)
{
    const size_t last = from->entries.n - 1;
    const size_t far = next + 12 < last ? next + 12 : last, near = next + 6 < last ? next + 6 : last;
    const size_t here = next + 2 < last ? next + 2 : last;

    __builtin_prefetch(&table->slots[from->entries.at[far].hash & table->mask]);
    __builtin_prefetch(&table->entries.at[(uint32_t)table->slots[from->entries.at[near].hash & table->mask]]);
    __builtin_prefetch(table->entries.at[(uint32_t)table->slots[from->entries.at[here].hash & table->mask]].p);
}

bool hu_intern_add_all(hu_intern *table, const hu_intern *from, uint32_t *ids)
{
    ids[0] = 0;
    for (size_t i = 1; i < from->entries.n; i++) {
        const hu_intern_entry *e = &from->entries.at[i];

        prefetch(table, from, i);
        ids[i] = add(table, (hu_str){e->p, e->n}, e->hash);
        if (ids[i] == UINT32_MAX)
            return false;
    }
    return true;
}

bool hu_intern_clear(hu_intern *table)
{
    hu_arena *fresh = hu_arena_new();

    if (!fresh)
        return false;
    if (table->texts != table->arena)
        hu_arena_free(table->texts);
    table->texts = fresh;
    memset(table->slots, 0, (table->mask + 1) * sizeof *table->slots);
    table->entries.n = 1;
    table->bytes = table->invalid_utf8 = 0;
    return true;
}
