/* SPDX-License-Identifier: Apache-2.0
 * map.h - 64-bit keys to 32-bit values, open addressing on an arena. */
#ifndef HU_BASE_MAP_H
#define HU_BASE_MAP_H

#include "base/arena.h"
#include "base/hash.h"

#define HU_MAP_NONE UINT32_MAX

typedef struct {
    hu_arena *arena;
    uint64_t *keys;
    uint32_t *values; /* HU_MAP_NONE marks a free place */
    size_t    n, mask;
} hu_map;

/* Room for about `expect` keys.  False when there is no memory. */
bool hu_map_init(hu_map *map, hu_arena *arena, size_t expect);

/* The place of the value for `key`, new ones hold HU_MAP_NONE; NULL when there is no memory.  Valid until the next put. */
uint32_t *hu_map_put(hu_map *map, uint64_t key);

/* Forgets all keys and keeps the room for them. */
void hu_map_clear(hu_map *map);

/* Gives the memory back before the arena goes. */
void hu_map_drop(hu_map *map);

static inline uint32_t hu_map_get(const hu_map *map, uint64_t key)
{
    for (size_t i = hu_hash_u64(key) & map->mask;; i = (i + 1) & map->mask) {
        if (map->values[i] == HU_MAP_NONE || map->keys[i] == key)
            return map->values[i];
    }
}

#endif
