/* SPDX-License-Identifier: Apache-2.0
 * naming.c - other names of kernels and ranges: as the tool recorded them, else as they follow from the name. */
#include "analyze/naming.h"

#include "base/short_name.h"

bool hu_naming_init(hu_naming *naming, unsigned how, hu_arena *arena)
{
    *naming = (hu_naming){.how = how, .arena = arena, .has_memory = true};
    return hu_intern_init(&naming->texts, arena);
}

static bool is_by_nsight(const hu_trace *t)
{
    return hu_str_equal(hu_trace_get_info(t)->format, HU_STR("nsight-sqlite"));
}

bool hu_naming_is_range(const hu_trace *t, const hu_slices *s, uint32_t slice)
{
    const unsigned kind = s->kind[slice];
    size_t         n;

    if (kind != HU_KIND_USER && kind != HU_KIND_CPU_OP && kind != HU_KIND_MPI)
        return false;
    if (kind == HU_KIND_CPU_OP && !is_by_nsight(t))
        return false;
    if (kind == HU_KIND_MPI && hu_trace_alias(t, HU_ALIAS_DOMAIN, s->name[slice]) == HU_NONE)
        return false;
    return !hu_trace_tracks(t, &n)[s->track[slice]].tid_is_text;
}

uint32_t hu_naming_range_around(const hu_trace *t, const hu_slices *s, uint32_t slice)
{
    uint32_t up = s->parent[slice];

    while (up != HU_NONE && !hu_naming_is_range(t, s, up))
        up = s->parent[up];
    return up;
}

hu_str hu_naming_range(const hu_trace *t, uint32_t name)
{
    const uint32_t alias = hu_trace_alias(t, HU_ALIAS_DOMAIN, name);

    return hu_trace_text(t, alias == HU_NONE || alias == 0 ? name : alias);
}

static hu_str own_name(hu_naming *naming, const hu_trace *t, uint32_t name)
{
    const hu_str   text = hu_trace_text(t, name);
    const uint32_t alias = naming->how & HU_NAMING_FORMS
                               ? hu_trace_alias(t, naming->how & HU_NAMING_BASE ? HU_ALIAS_BASE : HU_ALIAS_MANGLED, name)
                               : HU_NONE;

    if (alias != HU_NONE && alias != 0)
        return hu_trace_text(t, alias);
    if (naming->how & HU_NAMING_BASE)
        return hu_short_name_own(text);
    naming->is_ambiguous |= alias == 0;
    naming->is_unknown |= naming->how & HU_NAMING_MANGLED && alias == HU_NONE;
    return text;
}

static hu_str join(hu_naming *naming, hu_str range, hu_str kernel)
{
    const size_t n = range.n + 1 + kernel.n;
    uint32_t     id;

    if (n > naming->n_room) {
        char *room = hu_arena_grow(naming->arena, naming->room, 2 * n);

        if (!room) {
            naming->has_memory = false;
            return kernel;
        }
        naming->room = room;
        naming->n_room = 2 * n;
    }
    memcpy(naming->room, range.p, range.n);
    naming->room[range.n] = '/';
    if (kernel.n)
        memcpy(naming->room + range.n + 1, kernel.p, kernel.n);
    id = hu_intern_add(&naming->texts, (hu_str){naming->room, n});
    naming->has_memory &= id != UINT32_MAX;
    return id == UINT32_MAX ? kernel : hu_intern_get(&naming->texts, id);
}

hu_str hu_naming_kernel(hu_naming *naming, const hu_trace *t, const hu_slices *s, uint32_t slice)
{
    const hu_str   kernel = own_name(naming, t, s->name[slice]);
    const uint32_t call = naming->how & HU_NAMING_NVTX_NAME ? hu_trace_launch_of(t, slice) : HU_NONE;
    const uint32_t range = call == HU_NONE ? HU_NONE : hu_naming_range_around(t, s, call);
    const hu_str   text = range == HU_NONE ? HU_STR("") : hu_trace_text(t, s->name[range]);

    return text.n ? join(naming, text, kernel) : kernel;
}
