/* SPDX-License-Identifier: Apache-2.0
 * torch_frames.c - which code asked for memory.
 *
 * An allocation's place in the code is its innermost Python frame that is not PyTorch's own.  Its stack is the user's frames
 * and the operator below them: frames of libraries and of the interpreter are many, and the same for every model.
 */
#include "ingest/torch_frames.h"

#include <stdio.h>

enum { SITE_BYTES = 320, MOST_FRAMES = 128 };

static bool is_python(const hu_value *frame)
{
    return hu_str_ends(hu_value_text(hu_value_get(frame, "filename")), HU_STR(".py"));
}

/* "attention (model.py:84)"; of compiled code the operator of a C++ frame. */
static uint32_t name_frame(hu_torch_frames *f, const hu_value *frame, hu_str name)
{
    const hu_str file = hu_str_base_name(hu_value_text(hu_value_get(frame, "filename")));
    char         text[SITE_BYTES];
    int          n;

    n = is_python(frame)
            ? snprintf(text, sizeof text, "%.*s (%.*s:%lld)", (int)(name.n < 150 ? name.n : 150), name.p,
                       (int)(file.n < 120 ? file.n : 120), file.p, (long long)hu_value_int(hu_value_get(frame, "line"), 0))
            : snprintf(text, sizeof text, "%.*s", (int)(name.n < 250 ? name.n : 250), name.p);
    return hu_builder_intern(f->b, (hu_str){text, (size_t)n});
}

/* "bmm" of "at::_ops::bmm::call(…)", "BmmBackward0" of "torch::autograd::generated::BmmBackward0::apply(…)". */
static hu_str between(hu_str name, hu_str before, hu_str after)
{
    const char *from = name.n ? memmem(name.p, name.n, before.p, before.n) : NULL, *to;

    if (!from)
        return HU_STR("");
    from += before.n;
    to = memmem(from, (size_t)(name.p + name.n - from), after.p, after.n);
    return to ? (hu_str){from, (size_t)(to - from)} : HU_STR("");
}

/* Code of somebody's model, and not of a library. */
static bool is_users(const hu_value *frame)
{
    static const hu_str libraries[] = {{"/torch/", 7}, {"site-packages/", 14}, {"dist-packages/", 14}, {"lib/python3", 11}};
    const hu_str        file = hu_value_text(hu_value_get(frame, "filename"));

    for (size_t i = 0; i < HU_COUNT(libraries); i++)
        if (hu_str_has(file, libraries[i]))
            return false;
    return is_python(frame);
}

static uint32_t call(hu_torch_frames *f, uint32_t caller, uint32_t function)
{
    return hu_builder_cpu_stack(f->b, &(hu_cpu_stack){.caller = caller, .function = function});
}

static hu_torch_frame read_frame(hu_torch_frames *f, const hu_value *frame)
{
    const hu_str   name = hu_value_text(hu_value_get(frame, "name"));
    hu_torch_frame out = {.is_python = is_python(frame), .is_users = is_users(frame)};

    if (out.is_python) {
        out.name = name_frame(f, frame, name);
        out.is_optimizer = hu_str_has(hu_value_text(hu_value_get(frame, "filename")), HU_STR("/torch/optim/"));
        return out;
    }
    out.operation = between(name, HU_STR("at::_ops::"), HU_STR("::"));
    out.node = between(name, HU_STR("autograd::generated::"), HU_STR("::apply"));
    out.is_backward = out.node.n || hu_str_has(name, HU_STR("autograd::Engine::evaluate_function"));
    return out;
}

/* NULL: no memory. */
static const hu_torch_frame *frame_at(hu_torch_frames *f, const hu_value *frame)
{
    uint32_t *place = hu_map_put(&f->frame_of, (uint64_t)(uintptr_t)frame);

    if (place && *place == HU_MAP_NONE) {
        *place = (uint32_t)f->frames.n;
        if (!hu_vec_push(f->arena, &f->frames, read_frame(f, frame)))
            return NULL;
    }
    return place ? &f->frames.at[*place] : NULL;
}

/* Outermost first: the user's frames, of code that has none all of Python's; then what compiled code does. */
static uint32_t make_stack(hu_torch_frames *f, const hu_value *frames, bool has_users, hu_str node, hu_str operation)
{
    uint32_t stack = 0;
    size_t   n = 0;

    for (size_t i = hu_value_count(frames); i-- > 0 && n < MOST_FRAMES;) {
        const hu_torch_frame *frame = frame_at(f, hu_value_at(frames, i));

        if (!frame || !(has_users ? frame->is_users : frame->is_python))
            continue;
        stack = call(f, stack, frame->name);
        n++;
    }
    if (node.n)
        stack = call(f, stack, name_frame(f, NULL, node));
    return operation.n ? call(f, stack, name_frame(f, NULL, operation)) : stack;
}

/* The frame that says most: the user's, else any Python, else the operator that compiled code calls. */
static hu_torch_site find_site(hu_torch_frames *f, const hu_value *frames)
{
    uint32_t      users = 0, python = 0;
    hu_str        node = HU_STR(""), operation = HU_STR("");
    hu_torch_site found = {0};

    for (size_t i = 0; i < hu_value_count(frames); i++) {
        const hu_torch_frame *frame = frame_at(f, hu_value_at(frames, i));

        if (!frame) {
            hu_builder_fail(f->b, HU_ENOMEM, HU_NO_OFFSET, "out of memory");
            return found;
        }
        users = users ? users : frame->is_users ? frame->name : 0;
        python = python ? python : frame->is_python ? frame->name : 0;
        operation = operation.n ? operation : frame->operation;
        node = node.n ? node : frame->node;
        if (frame->is_backward || node.n)
            found.phase = HU_MEMORY_IN_BACKWARD;
        else if (frame->is_optimizer)
            found.phase = HU_MEMORY_IN_OPTIMIZER;
    }
    if (users || python)
        found.name = users ? users : python;
    else if (node.n || operation.n)
        found.name = name_frame(f, NULL, node.n ? node : operation);
    else if (hu_value_count(frames))
        found.name = hu_builder_intern(f->b, HU_STR("code without a name"));
    found.stack = make_stack(f, frames, users != 0, node, operation);
    if (!found.stack && found.name)
        found.stack = call(f, 0, found.name);
    return found;
}

bool hu_torch_frames_init(hu_torch_frames *f, hu_builder *b, hu_arena *arena)
{
    *f = (hu_torch_frames){.b = b, .arena = arena};
    return hu_map_init(&f->known, arena, 1024) && hu_map_init(&f->frame_of, arena, 1024);
}

hu_torch_site hu_torch_frames_site(hu_torch_frames *f, const hu_value *frames)
{
    uint32_t *place = hu_value_count(frames) ? hu_map_put(&f->known, (uint64_t)(uintptr_t)frames) : NULL;

    if (!hu_value_count(frames))
        return (hu_torch_site){0};
    if (place && *place != HU_MAP_NONE)
        return f->sites.at[*place];
    if (!place || !hu_vec_push(f->arena, &f->sites, find_site(f, frames))) {
        hu_builder_fail(f->b, HU_ENOMEM, HU_NO_OFFSET, "out of memory");
        return (hu_torch_site){0};
    }
    *place = (uint32_t)f->sites.n - 1;
    return f->sites.at[*place];
}
