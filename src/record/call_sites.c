/* SPDX-License-Identifier: Apache-2.0
 * call_sites.c - reads the copy of /proc/PID/maps, and asks the symbols of the files in it.
 *
 * Global objects lie partly in memory that no file is mapped to (.bss), which has no name in the maps: a mapping without one
 * right behind those of a file belongs to it.
 */
#include "record/call_sites.h"
#include "record/proc.h"

#include <stdio.h>

enum { PATH_MOST = 4096, PLACES_MAX = 65536, NAME_MOST = 1024 };

#define NO_FILE UINT64_MAX /* the offset of what is mapped from none */

/* The mappings of a file follow each other. */
static uint32_t module_of(hu_call_sites *s, hu_str path, uint64_t start)
{
    if (s->modules.n && hu_str_equal(s->modules.at[s->modules.n - 1].path, path))
        return (uint32_t)s->modules.n - 1;
    path = hu_arena_copy(s->arena, path);
    if (!path.p || !hu_vec_push(s->arena, &s->modules, ((hu_call_module){path, start})))
        return UINT32_MAX;
    return (uint32_t)s->modules.n - 1;
}

/* "55d0-55f0 r-xp 00001000 08:01 1234   /usr/bin/x".  False without memory. */
static bool take_line(hu_call_sites *s, hu_str line)
{
    const hu_call_place *last = s->places.n ? &s->places.at[s->places.n - 1] : NULL;
    hu_call_place        place;

    if (!hu_proc_take_hex(&line, '-', &place.start) || !hu_proc_take_hex(&line, ' ', &place.end) || place.end <= place.start)
        return true;
    hu_proc_skip_word(&line);
    if (!hu_proc_take_hex(&line, ' ', &place.offset))
        return true;
    hu_proc_skip_word(&line);
    hu_proc_skip_word(&line);
    if (s->places.n == PLACES_MAX || (last && place.start < last->end))
        return true;
    if (line.n == 0 && last && last->offset != NO_FILE && place.start == last->end) {
        place.offset = NO_FILE;
        place.module = last->module;
        return hu_vec_push(s->arena, &s->places, place);
    }
    if (line.n == 0 || line.n > PATH_MOST || *line.p != '/' || place.offset == NO_FILE)
        return true;
    place.module = module_of(s, line, place.start);
    return place.module != UINT32_MAX && hu_vec_push(s->arena, &s->places, place);
}

bool hu_call_sites_read(hu_call_sites *out, hu_str ring, hu_str program, hu_symbols *symbols, hu_arena *arena)
{
    hu_str text = hu_proc_read_maps(ring, arena);

    *out = (hu_call_sites){.arena = arena, .symbols = symbols, .program = program};
    if (!text.p || !hu_map_init(&out->code, arena, 0) || !hu_map_init(&out->objects, arena, 0) ||
        !hu_map_init(&out->addresses, arena, 0) || !hu_map_init(&out->calls, arena, 0) ||
        !hu_map_init(&out->lines, arena, 0))
        return false;
    while (text.n) {
        const char  *end = memchr(text.p, '\n', text.n);
        const hu_str line = {text.p, end ? (size_t)(end - text.p) : text.n};

        text = (hu_str){text.p + line.n + (end != NULL), text.n - line.n - (end != NULL)};
        if (!take_line(out, line))
            return false;
    }
    return true;
}

/* NULL: there is none. */
static const hu_call_place *place_of(const hu_call_sites *s, uint64_t address)
{
    size_t low = 0, high = s->places.n;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (s->places.at[middle].start > address)
            high = middle;
        else
            low = middle + 1;
    }
    return low && address < s->places.at[low - 1].end ? &s->places.at[low - 1] : NULL;
}

static hu_str base_name(hu_str path)
{
    for (size_t i = path.n; i-- > 0;)
        if (path.p[i] == '/' && i + 1 < path.n)
            return (hu_str){path.p + i + 1, path.n - i - 1};
    return path;
}

static hu_str name_code(hu_call_sites *s, uint64_t address)
{
    const hu_call_place *place = place_of(s, address);
    char                 text[2 * NAME_MOST];
    hu_str               path, name;
    int                  n;

    if (!place || place->offset == NO_FILE)
        return HU_STR("");
    path = s->modules.at[place->module].path;
    if (hu_str_equal(base_name(path), HU_STR("libholdup-inject.so")))
        return HU_STR(""); /* a form with `...` calls the one with a va_list: who called the first is not known */
    name = s->symbols ? hu_symbols_find(s->symbols, path, NULL, 0, address - place->start + place->offset) : HU_STR("");
    if (name.n > NAME_MOST)
        name.n = NAME_MOST;
    if (name.n && hu_str_equal(path, s->program))
        return name;
    path = base_name(path);
    if (path.n > NAME_MOST / 2)
        path.n = NAME_MOST / 2;
    if (name.n)
        n = snprintf(text, sizeof text, "%.*s (%.*s)", HU_FMT(name), HU_FMT(path));
    else
        n = snprintf(text, sizeof text, "%.*s+0x%llx", HU_FMT(path),
                     (unsigned long long)(address - place->start + place->offset));
    return hu_arena_copy(s->arena, (hu_str){text, n > 0 ? (size_t)n : 0});
}

static hu_str name_object(hu_call_sites *s, uint64_t address)
{
    const hu_call_place  *place = place_of(s, address);
    const hu_call_module *module;
    char                  text[NAME_MOST + 32];
    uint64_t              inside = 0;
    hu_str                name;
    int                   n;

    if (!place || !s->symbols)
        return HU_STR("");
    module = &s->modules.at[place->module];
    name = hu_symbols_find_object(s->symbols, module->path, address - module->start, &inside);
    if (name.n == 0 || inside == 0)
        return name;
    if (name.n > NAME_MOST)
        name.n = NAME_MOST;
    n = snprintf(text, sizeof text, "%.*s+0x%llx", HU_FMT(name), (unsigned long long)inside);
    return hu_arena_copy(s->arena, (hu_str){text, n > 0 ? (size_t)n : 0});
}

static hu_str name_place(hu_call_sites *s, uint64_t code)
{
    const hu_call_place *place = place_of(s, code);
    hu_str               path;
    char                 text[NAME_MOST];
    uint64_t             address;
    int                  n;

    if (!place || place->offset == NO_FILE || !s->symbols)
        return HU_STR("");
    path = s->modules.at[place->module].path;
    if (!hu_symbols_address(s->symbols, path, code - place->start + place->offset, &address))
        return HU_STR("");
    path = base_name(path);
    n = snprintf(text, sizeof text, "%.*s+0x%llx", path.n < NAME_MOST / 2 ? (int)path.n : NAME_MOST / 2, path.p,
                 (unsigned long long)address);
    return hu_arena_copy(s->arena, (hu_str){text, n > 0 ? (size_t)n : 0});
}

static hu_str name_line(hu_call_sites *s, uint64_t code)
{
    const hu_call_place *place = place_of(s, code);

    if (!place || place->offset == NO_FILE || !s->symbols)
        return HU_STR("");
    return hu_symbols_find_line(s->symbols, s->modules.at[place->module].path, code - place->start + place->offset);
}

static hu_str name_address(hu_call_sites *s, uint64_t address)
{
    char      text[24];
    const int n = snprintf(text, sizeof text, "0x%llx", (unsigned long long)address);

    return hu_arena_copy(s->arena, (hu_str){text, (size_t)n});
}

/* Asked once for each address. */
static uint32_t known(hu_call_sites *s, hu_map *map, uint64_t address, hu_str (*name)(hu_call_sites *s, uint64_t address))
{
    uint32_t at = hu_map_get(map, address), *place;

    if (at == HU_MAP_NONE) {
        const hu_str text = name(s, address);

        if (!hu_vec_push(s->arena, &s->names, text))
            return HU_CALL_SITE_NONE;
        at = (uint32_t)s->names.n - 1;
        place = hu_map_put(map, address);
        if (place)
            *place = at;
    }
    return s->names.at[at].n ? at : HU_CALL_SITE_NONE;
}

/* A call may be the last instruction of its function: the one before belongs to it. */
uint32_t hu_call_sites_caller(hu_call_sites *s, uint64_t return_address)
{
    return s->places.n && return_address ? known(s, &s->code, return_address - 1, name_code) : HU_CALL_SITE_NONE;
}

uint32_t hu_call_sites_place(hu_call_sites *s, uint64_t return_address)
{
    return s->places.n && return_address ? known(s, &s->calls, return_address - 1, name_place) : HU_CALL_SITE_NONE;
}

uint32_t hu_call_sites_line(hu_call_sites *s, uint64_t return_address)
{
    return s->places.n && return_address ? known(s, &s->lines, return_address - 1, name_line) : HU_CALL_SITE_NONE;
}

uint32_t hu_call_sites_object(hu_call_sites *s, uint64_t address)
{
    return s->places.n && address ? known(s, &s->objects, address, name_object) : HU_CALL_SITE_NONE;
}

uint32_t hu_call_sites_address(hu_call_sites *s, uint64_t address)
{
    return known(s, &s->addresses, address, name_address);
}
