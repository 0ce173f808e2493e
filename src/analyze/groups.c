/* SPDX-License-Identifier: Apache-2.0
 * groups.c - climbs from an operator to the Python frames around it.
 *
 * With with_stack=True the profiler records Python frames as slices of the same thread, and each nn.Module as a frame
 * named "nn.Module: Linear_3".  Backward operators run in a thread of the engine that has no frames; they belong where
 * their forward operator ran.  Older traces carry "Call stack" and "Module Hierarchy" as texts of the operator instead.
 */
#include "analyze/groups.h"

#include "base/hash.h"

typedef struct {
    uint32_t name[HU_GROUP_FRAMES]; /* string ids, innermost first */
    int      n;
    uint32_t text; /* instead: a string id of the trace; 0 none */
    bool     is_backward;
} path;

static uint32_t frame_above(const hu_ask *ask, uint32_t slice)
{
    uint32_t at = slice == HU_NONE ? HU_NONE : ask->s.parent[slice];

    while (at != HU_NONE && ask->s.kind[at] != HU_KIND_PYTHON)
        at = ask->s.parent[at];
    return at;
}

/* The forward operator of the innermost slice around this one that has one. */
static uint32_t forward_of(const hu_ask *ask, uint32_t slice)
{
    for (uint32_t at = slice; at != HU_NONE; at = ask->s.parent[at]) {
        const uint32_t forward = hu_trace_forward_of(ask->trace, at);

        if (forward != HU_NONE)
            return forward;
    }
    return HU_NONE;
}

static uint32_t text_of(const hu_ask *ask, uint32_t slice, hu_grouping grouping)
{
    const hu_op_detail *d = NULL;

    if (slice != HU_NONE && ask->s.kind[slice] == HU_KIND_CPU_OP && ask->s.detail[slice] != HU_NONE)
        d = hu_trace_op_detail(ask->trace, ask->s.detail[slice]);
    if (!d || !d->extra)
        return 0;
    return grouping == HU_GROUP_STACK ? hu_trace_op_extra(ask->trace, d->extra)->stack
                                      : hu_trace_op_extra(ask->trace, d->extra)->module;
}

/* "<built-in method relu of type object …>" says what the operator's name says; frames of torch are not the user's. */
static bool is_wanted(const hu_ask *ask, uint32_t frame, hu_grouping grouping, bool torch_too)
{
    const hu_str name = hu_ask_name(ask, frame);

    if (grouping == HU_GROUP_MODULE)
        return (ask->names[ask->s.name[frame]] & HU_NAME_MODULE) != 0;
    return !hu_str_starts(name, HU_STR("<built-in ")) && (torch_too || !hu_str_starts(name, HU_STR("torch/")));
}

static void climb(const hu_ask *ask, hu_grouping grouping, int frames, uint32_t slice, path *out)
{
    out->n = 0;
    out->text = text_of(ask, slice, grouping);
    for (int torch_too = 0; torch_too < 2 && out->n == 0; torch_too++)
        for (uint32_t at = frame_above(ask, slice); at != HU_NONE && out->n < frames; at = frame_above(ask, at))
            if (is_wanted(ask, at, grouping, torch_too != 0))
                out->name[out->n++] = ask->s.name[at];
}

static void find_path(const hu_ask *ask, hu_grouping grouping, int frames, uint32_t slice, path *out)
{
    if (grouping == HU_GROUP_MODULE || frames > HU_GROUP_FRAMES)
        frames = HU_GROUP_FRAMES;
    out->is_backward = false;
    climb(ask, grouping, frames, slice, out);
    if (out->n == 0 && !out->text) {
        const uint32_t forward = forward_of(ask, slice);

        climb(ask, grouping, frames, forward, out);
        out->is_backward = out->n > 0 || out->text != 0;
    }
}

static uint32_t shapes_of(const hu_ask *ask, uint32_t slice)
{
    if (ask->s.detail[slice] == HU_NONE || !hu_kind_in(ask->s.kind[slice], HU_BIT(CPU_OP) | HU_BIT(USER)))
        return 0;
    return hu_trace_op_detail(ask->trace, ask->s.detail[slice])->dims;
}

uint64_t hu_group_key(const hu_ask *ask, hu_grouping grouping, int frames, uint32_t slice)
{
    uint64_t key = 0;
    path     p;

    if (grouping == HU_GROUP_NAME)
        return 0;
    if (grouping == HU_GROUP_SHAPES)
        return shapes_of(ask, slice);
    find_path(ask, grouping, frames, slice, &p);
    key = (uint64_t)p.text << 1 | p.is_backward;
    for (int i = 0; i < p.n; i++)
        key = hu_hash_u64(key ^ p.name[i]) + 1;
    return key;
}

/* "nn.Module: Linear_3" -> "Linear_3" */
static hu_str without_prefix(hu_str name)
{
    const hu_str prefix = HU_STR("nn.Module: ");

    return hu_str_starts(name, prefix) ? (hu_str){name.p + prefix.n, name.n - prefix.n} : name;
}

static hu_str join(const hu_ask *ask, hu_grouping grouping, const path *p, hu_arena *arena)
{
    const hu_str between = grouping == HU_GROUP_STACK ? HU_STR(" < ") : HU_STR("/");
    const hu_str mark = HU_STR(" (backward)");
    size_t       size = mark.n + 1, n = 0;
    char        *text;

    for (int i = 0; i < p->n; i++)
        size += hu_trace_text(ask->trace, p->name[i]).n + between.n;
    size += hu_trace_text(ask->trace, p->text).n;
    text = hu_arena_alloc(arena, size);
    if (!text)
        return (hu_str){0};
    for (int i = 0; i < p->n; i++) {
        const hu_str part = without_prefix(
            hu_trace_text(ask->trace, p->name[grouping == HU_GROUP_STACK ? i : p->n - 1 - i]));

        memcpy(text + n, between.p, i ? between.n : 0);
        n += i ? between.n : 0;
        memcpy(text + n, part.p, part.n);
        n += part.n;
    }
    if (p->n == 0) {
        memcpy(text, hu_trace_text(ask->trace, p->text).p, hu_trace_text(ask->trace, p->text).n);
        n = hu_trace_text(ask->trace, p->text).n;
    }
    if (p->is_backward) {
        memcpy(text + n, mark.p, mark.n);
        n += mark.n;
    }
    return (hu_str){text, n};
}

hu_str hu_group_text(const hu_ask *ask, hu_grouping grouping, int frames, uint32_t slice, hu_arena *arena)
{
    path p;

    if (grouping == HU_GROUP_NAME)
        return HU_STR("");
    if (grouping == HU_GROUP_SHAPES)
        return hu_trace_text(ask->trace, shapes_of(ask, slice));
    find_path(ask, grouping, frames, slice, &p);
    return join(ask, grouping, &p, arena);
}
