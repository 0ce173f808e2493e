/* SPDX-License-Identifier: Apache-2.0
 * perf_spaces.c - sorted lists of mappings; a child shares its parent's until one of them changes. */
#include "record/perf_spaces.h"

enum { PLACES_MAX = 8192, NO_SPACE = UINT32_MAX - 1 };

bool hu_perf_spaces_init(hu_perf_spaces *s, hu_arena *arena)
{
    *s = (hu_perf_spaces){.arena = arena};
    return hu_map_init(&s->space_of, arena, 64);
}

static uint32_t space_of(const hu_perf_spaces *s, uint32_t pid)
{
    const uint32_t at = hu_map_get(&s->space_of, pid);

    return at == HU_MAP_NONE ? NO_SPACE : at;
}

static bool set_space(hu_perf_spaces *s, uint32_t pid, uint32_t space)
{
    uint32_t *place = hu_map_put(&s->space_of, pid);

    if (place)
        *place = space;
    return place != NULL;
}

/* The process has none from now on. */
static bool leave(hu_perf_spaces *s, uint32_t pid)
{
    const uint32_t at = space_of(s, pid);

    if (at == NO_SPACE)
        return true;
    if (!set_space(s, pid, NO_SPACE))
        return false;
    if (--s->spaces.at[at].owners)
        return true;
    s->spaces.at[at].places.n = 0;
    return hu_vec_push(s->arena, &s->unused, at);
}

static uint32_t new_space(hu_perf_spaces *s)
{
    if (s->unused.n) {
        const uint32_t at = s->unused.at[--s->unused.n];

        s->spaces.at[at].owners = 1;
        return at;
    }
    return hu_vec_push(s->arena, &s->spaces, (hu_perf_space){.owners = 1}) ? (uint32_t)s->spaces.n - 1 : NO_SPACE;
}

bool hu_perf_spaces_clear(hu_perf_spaces *s, uint32_t pid)
{
    return leave(s, pid);
}

bool hu_perf_spaces_fork(hu_perf_spaces *s, uint32_t parent, uint32_t child)
{
    const uint32_t at = space_of(s, parent);

    if (parent == child)
        return true;
    if (!leave(s, child))
        return false;
    if (at == NO_SPACE)
        return true;
    s->spaces.at[at].owners++;
    return set_space(s, child, at);
}

/* A space that `pid` alone owns; NULL without memory. */
static hu_perf_space *own(hu_perf_spaces *s, uint32_t pid)
{
    const uint32_t at = space_of(s, pid);
    uint32_t       mine;

    if (at != NO_SPACE && s->spaces.at[at].owners == 1)
        return &s->spaces.at[at];
    mine = new_space(s);
    if (mine == NO_SPACE || !set_space(s, pid, mine))
        return NULL;
    if (at != NO_SPACE) {
        hu_perf_space       *to = &s->spaces.at[mine];
        const hu_perf_space *from = &s->spaces.at[at];

        if (from->places.n && !hu_vec_reserve(s->arena, &to->places, from->places.n))
            return NULL;
        if (from->places.n)
            memcpy(to->places.at, from->places.at, from->places.n * sizeof *to->places.at);
        to->places.n = from->places.n;
        s->spaces.at[at].owners--;
    }
    return &s->spaces.at[mine];
}

/* The first place that ends behind `address`. */
static size_t first_behind(const hu_perf_space *space, uint64_t address)
{
    size_t low = 0, high = space->places.n;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (space->places.at[middle].end > address)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* What the new one covers goes; one that sticks out on both sides becomes two. */
bool hu_perf_spaces_map(hu_perf_spaces *s, uint32_t pid, const hu_perf_place *place)
{
    hu_perf_space *space;
    hu_perf_place *at;
    hu_perf_place  pieces[3];
    size_t         first, end, n = 0;

    if (place->end <= place->start)
        return true;
    space = own(s, pid);
    if (!space || !hu_vec_reserve(s->arena, &space->places, 2))
        return false;
    at = space->places.at;
    first = end = first_behind(space, place->start);
    while (end < space->places.n && at[end].start < place->end)
        end++;
    if (first < end && at[first].start < place->start) {
        pieces[n] = at[first];
        pieces[n++].end = place->start;
    }
    pieces[n++] = *place;
    if (first < end && at[end - 1].end > place->end) {
        pieces[n] = at[end - 1];
        pieces[n].offset += place->end - pieces[n].start;
        pieces[n++].start = place->end;
    }
    if (space->places.n + n - (end - first) > PLACES_MAX) {
        s->dropped++;
        return true;
    }
    memmove(at + first + n, at + end, (space->places.n - end) * sizeof *at);
    memcpy(at + first, pieces, n * sizeof *at);
    space->places.n += n - (end - first);
    return true;
}

const hu_perf_place *hu_perf_spaces_find(const hu_perf_spaces *s, uint32_t pid, uint64_t address)
{
    const uint32_t at = space_of(s, pid);
    size_t         i;

    if (at == NO_SPACE)
        return NULL;
    i = first_behind(&s->spaces.at[at], address);
    return i < s->spaces.at[at].places.n && s->spaces.at[at].places.at[i].start <= address ? &s->spaces.at[at].places.at[i]
                                                                                           : NULL;
}
