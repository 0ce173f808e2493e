/* SPDX-License-Identifier: Apache-2.0
 * map.c - growth and insertion; the look-up is inline in the header because indexes live by it.
 *
 * A value of HU_MAP_NONE means free, so hu_map_put must be followed by storing another value.
 */
#include "base/map.h"

static bool take(hu_map *map, size_t places)
{
    map->keys = hu_arena_grow(map->arena, NULL, places * sizeof *map->keys);
    map->values = hu_arena_grow(map->arena, NULL, places * sizeof *map->values);
    if (!map->keys || !map->values)
        return false;
    memset(map->values, 0xff, places * sizeof *map->values);
    map->mask = places - 1;
    return true;
}

bool hu_map_init(hu_map *map, hu_arena *arena, size_t expect)
{
    size_t places = 64;

    *map = (hu_map){.arena = arena};
    while (places < expect * 2 && places < SIZE_MAX / 64)
        places *= 2;
    return take(map, places);
}

static size_t place_of(const hu_map *map, uint64_t key)
{
    size_t i = hu_hash_u64(key) & map->mask;

    while (map->values[i] != HU_MAP_NONE && map->keys[i] != key)
        i = (i + 1) & map->mask;
    return i;
}

static bool grow(hu_map *map)
{
    const hu_map old = *map;

    if (!take(map, (old.mask + 1) * 2)) {
        *map = old;
        return false;
    }
    for (size_t i = 0; i <= old.mask; i++) {
        if (old.values[i] != HU_MAP_NONE) {
            const size_t at = place_of(map, old.keys[i]);

            map->keys[at] = old.keys[i];
            map->values[at] = old.values[i];
        }
    }
    hu_arena_drop(map->arena, old.keys);
    hu_arena_drop(map->arena, old.values);
    return true;
}

uint32_t *hu_map_put(hu_map *map, uint64_t key)
{
    size_t at;

    if (map->n * 3 >= (map->mask + 1) * 2 && !grow(map))
        return NULL;
    at = place_of(map, key);
    if (map->values[at] == HU_MAP_NONE) {
        map->keys[at] = key;
        map->n++;
    }
    return &map->values[at];
}

void hu_map_drop(hu_map *map)
{
    hu_arena_drop(map->arena, map->keys);
    hu_arena_drop(map->arena, map->values);
    *map = (hu_map){.arena = map->arena};
}

void hu_map_clear(hu_map *map)
{
    if (map->n)
        memset(map->values, 0xff, (map->mask + 1) * sizeof *map->values);
    map->n = 0;
}
