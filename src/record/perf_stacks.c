/* SPDX-License-Identifier: Apache-2.0
 * perf_stacks.c - from the addresses of a call chain to a stack of frames that lie in modules.
 *
 * A frame is a module and a place in its file, so that the same function is one frame in all processes.  A caller's
 * address is the one it returns to, which may be the first of the next function: one byte before it is in the call.
 * Code without frame pointers leaves anything in that register: a chain ends at the first caller that lies nowhere, and
 * unwind.c corrects it as far as a copy of the stack reaches.
 */
#include "record/perf_stacks.h"

#include <linux/perf_event.h>

enum { DEEPEST = 1024 };

/* A name that is no path of a file is one of the kernel's: "//anon", "[heap]", "/memfd:jit (deleted)". */
hu_module_kind hu_perf_stacks_kind(hu_str name)
{
    if (name.n == 0 || name.p[0] != '/' || hu_str_starts(name, HU_STR("//")) || hu_str_starts(name, HU_STR("/memfd:")) ||
        hu_str_starts(name, HU_STR("/dev/")) || hu_str_starts(name, HU_STR("/SYSV")))
        return hu_str_equal(name, HU_STR("[vdso]")) ? HU_MODULE_UNKNOWN : HU_MODULE_JIT;
    return HU_MODULE_FILE;
}

static bool is_same_module(const hu_perf_module *a, const hu_perf_module *b)
{
    return a->path == b->path && a->pid == b->pid && a->kind == b->kind && a->build_id_bytes == b->build_id_bytes &&
           memcmp(a->build_id, b->build_id, sizeof a->build_id) == 0;
}

uint32_t hu_perf_stacks_module(hu_perf_stacks *s, const hu_perf_module *m)
{
    hu_perf_files *f = s->files;
    uint64_t       key = hu_hash_mix((uint64_t)m->path << 32 | m->pid,
                                     hu_hash_bytes((const char *)m->build_id, sizeof m->build_id) + m->kind);

    for (;; key++) {
        uint32_t *place = hu_map_put(&s->module_of, key);

        if (!place)
            return UINT32_MAX;
        if (*place == HU_MAP_NONE) {
            if (!hu_vec_push(f->arena, &f->modules, *m))
                return UINT32_MAX;
            *place = (uint32_t)f->modules.n - 1;
        } else if (!is_same_module(&f->modules.at[*place], m)) {
            continue;
        }
        return *place;
    }
}

bool hu_perf_stacks_init(hu_perf_stacks *s, hu_perf_files *files, hu_perf_spaces *spaces, hu_arena *arena)
{
    hu_perf_module kernel = {.kind = HU_MODULE_KERNEL}, unknown = {.kind = HU_MODULE_UNKNOWN};

    *s = (hu_perf_stacks){.files = files, .spaces = spaces};
    kernel.path = hu_intern_add(&files->texts, HU_STR("[kernel]"));
    unknown.path = hu_intern_add(&files->texts, HU_STR("[unknown]"));
    if (kernel.path == UINT32_MAX || unknown.path == UINT32_MAX || !hu_map_init(&s->module_of, arena, 64) ||
        !hu_map_init(&s->frame_of, arena, 256) || !hu_map_init(&s->stack_of, arena, 256))
        return false;
    s->kernel = hu_perf_stacks_module(s, &kernel);
    s->unknown = hu_perf_stacks_module(s, &unknown);
    s->unwind = hu_unwind_new(files, spaces, arena);
    return s->unwind && s->kernel != UINT32_MAX && s->unknown != UINT32_MAX &&
           hu_vec_push(files->arena, &files->stacks, (hu_perf_stack){0});
}

static uint32_t find_frame(hu_perf_stacks *s, uint32_t module, uint64_t at)
{
    hu_perf_files *f = s->files;
    uint64_t       key = hu_hash_mix(at ^ 0x9e3779b97f4a7c15u, module ^ 0xd6e8feb86659fd93u);

    for (;; key++) {
        uint32_t *place = hu_map_put(&s->frame_of, key);

        if (!place)
            return UINT32_MAX;
        if (*place == HU_MAP_NONE) {
            if (!hu_vec_push(f->arena, &f->frames, ((hu_perf_frame){.module = module, .at = at})))
                return UINT32_MAX;
            *place = (uint32_t)f->frames.n - 1;
        } else if (f->frames.at[*place].module != module || f->frames.at[*place].at != at) {
            continue;
        }
        return *place;
    }
}

static uint32_t frame_of(hu_perf_stacks *s, uint32_t pid, uint64_t address)
{
    const hu_perf_place *p = hu_perf_spaces_find(s->spaces, pid, address);

    if (!p)
        return find_frame(s, s->unknown, address);
    return find_frame(s, p->module,
                      s->files->modules.at[p->module].kind == HU_MODULE_FILE ? address - p->start + p->offset : address);
}

static uint32_t call(hu_perf_stacks *s, uint32_t caller, uint32_t frame)
{
    hu_perf_files *f = s->files;
    uint32_t      *place = frame == UINT32_MAX ? NULL : hu_map_put(&s->stack_of, (uint64_t)caller << 32 | frame);

    if (!place)
        return UINT32_MAX;
    if (*place == HU_MAP_NONE) {
        const hu_perf_stack stack = {.caller = caller, .frame = frame, .depth = f->stacks.at[caller].depth + 1};

        if (!hu_vec_push(f->arena, &f->stacks, stack))
            return UINT32_MAX;
        *place = (uint32_t)f->stacks.n - 1;
    }
    return *place;
}

void hu_perf_stacks_done(hu_perf_stacks *s)
{
    hu_unwind_free(s->unwind);
    s->unwind = NULL;
}

uint32_t hu_perf_stacks_chain(hu_perf_stacks *s, uint32_t pid, const char *chain, size_t n, const hu_user_stack *user,
                              bool is_kernel)
{
    uint64_t addresses[DEEPEST];
    size_t   depth = 0;
    uint32_t stack = 0;
    bool     is_user = true;

    for (size_t i = 0; i < n && depth < DEEPEST; i++) {
        const uint64_t address = hu_load_u64(chain + 8 * i);

        if (address >= (uint64_t)PERF_CONTEXT_MAX)
            is_user = address == (uint64_t)PERF_CONTEXT_USER;
        else if (is_user && address && depth > 0 && !hu_perf_spaces_find(s->spaces, pid, address - 1))
            break;
        else if (is_user && address)
            addresses[depth++] = address;
    }
    if (user && depth)
        depth = hu_unwind_correct(s->unwind, pid, user, addresses, depth, DEEPEST);
    for (size_t i = depth; i-- > 0 && stack != UINT32_MAX;)
        stack = call(s, stack, frame_of(s, pid, addresses[i] - (i > 0)));
    if (is_kernel && stack != UINT32_MAX)
        stack = call(s, stack, find_frame(s, s->kernel, 0));
    return stack;
}
