/* SPDX-License-Identifier: Apache-2.0
 * numbering.c - first come, first served: the order of the files decides, so the result is always the same. */
#include "render/export/numbering.h"

bool hu_numbering_init(hu_numbering *n, hu_arena *arena)
{
    n->made_up = HU_NUMBERING_FIRST;
    return hu_map_init(&n->taken, arena, 0) && hu_map_init(&n->given, arena, 0);
}

bool hu_numbering_next_file(hu_numbering *n)
{
    hu_arena *arena = n->given.arena;

    hu_map_drop(&n->given);
    return hu_map_init(&n->given, arena, 0);
}

uint32_t hu_numbering_make_up(hu_numbering *n)
{
    return n->made_up++;
}

uint32_t hu_numbering_of(hu_numbering *n, int64_t id, bool is_text)
{
    const bool is_usable = !is_text && id > 0 && id < HU_NUMBERING_FIRST;
    uint32_t  *given = hu_map_put(&n->given, (uint64_t)id << 1 ^ is_text), *taken;

    if (!given)
        return 0;
    if (*given != HU_MAP_NONE)
        return *given;
    if (!is_usable)
        return *given = hu_numbering_make_up(n);
    taken = hu_map_put(&n->taken, (uint64_t)id);
    if (!taken) {
        *given = hu_numbering_make_up(n); /* a place must not stay free; the caller gives up anyway */
        return 0;
    }
    *given = *taken == HU_MAP_NONE ? (uint32_t)id : hu_numbering_make_up(n);
    *taken = 1;
    return *given;
}
