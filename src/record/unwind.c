/* SPDX-License-Identifier: Apache-2.0
 * unwind.c - steps from function to caller as debuggers do, as far as the copy of the stack reaches; then frame pointers.
 *
 * A function that saves no frame pointer (all that gcc makes at -O2, and leaves of libc everywhere) leaves its caller's in
 * the register: a chain of frame pointers then goes on with the caller's caller, and the caller is not in it; or the
 * register holds any number, and the chain is that of nobody.  The tables of call_frames.h say where each return address
 * lies.  When the copy ends, the chain of the register is right if no function on the way has saved the register, and it
 * points behind what was walked.
 */
#include "record/unwind.h"

#include "base/map.h"
#include "record/call_frames.h"

enum { STEPS = 64, PATH_MOST = 4096, OPEN_MOST = 256 };

typedef struct {
    hu_call_frames *tables;
    bool            is_asked;
} file;

typedef struct {
    uint32_t      module;
    uint64_t      offset;
    hu_call_frame frame;
} rule;

struct hu_unwind {
    const hu_perf_files  *files;
    const hu_perf_spaces *spaces;
    hu_arena             *arena;
    HU_VEC(file) opened; /* by module */
    size_t n_open;
    hu_map rule_of; /* module and offset: place in rules */
    HU_VEC(rule) rules;
};

hu_unwind *hu_unwind_new(const hu_perf_files *files, const hu_perf_spaces *spaces, hu_arena *arena)
{
    hu_unwind *u = hu_arena_calloc(arena, 1, sizeof *u);

    if (!u || !hu_map_init(&u->rule_of, arena, 256))
        return NULL;
    u->files = files;
    u->spaces = spaces;
    u->arena = arena;
    return u;
}

void hu_unwind_free(hu_unwind *u)
{
    for (size_t i = 0; u && i < u->opened.n; i++)
        hu_call_frames_close(u->opened.at[i].tables);
}

/* NULL: there are none, or no memory. */
static hu_call_frames *tables_of(hu_unwind *u, uint32_t module)
{
    const hu_perf_module *m = &u->files->modules.at[module];
    file                 *f;

    while (u->opened.n <= module)
        if (!hu_vec_push(u->arena, &u->opened, (file){0}))
            return NULL;
    f = &u->opened.at[module];
    if (!f->is_asked && m->kind == HU_MODULE_FILE && u->n_open < OPEN_MOST) {
        const hu_str path = hu_intern_get(&u->files->texts, m->path);
        char         text[PATH_MOST + 1];

        f->is_asked = true;
        if (path.n <= PATH_MOST) {
            memcpy(text, path.p, path.n);
            text[path.n] = '\0';
            f->tables = hu_call_frames_open(text, m->build_id, m->build_id_bytes, u->arena);
            u->n_open += f->tables != NULL;
        }
    }
    return f->tables;
}

static hu_call_frame rule_at(hu_unwind *u, uint32_t pid, uint64_t address)
{
    const hu_perf_place *p = hu_perf_spaces_find(u->spaces, pid, address);
    const uint64_t       offset = p ? address - p->start + p->offset : 0;
    hu_call_frames      *tables = p ? tables_of(u, p->module) : NULL;
    uint64_t             key;

    if (!tables)
        return (hu_call_frame){.is_known = false};
    key = hu_hash_mix(offset ^ 0x9e3779b97f4a7c15u, p->module ^ 0xd6e8feb86659fd93u);
    for (;; key++) {
        uint32_t *at = hu_map_put(&u->rule_of, key);

        if (!at)
            return (hu_call_frame){.is_known = false};
        if (*at == HU_MAP_NONE) {
            if (!hu_vec_push(u->arena, &u->rules, ((rule){p->module, offset, hu_call_frames_find(tables, offset)})))
                return (hu_call_frame){.is_known = false};
            *at = (uint32_t)u->rules.n - 1;
        }
        if (u->rules.at[*at].module == p->module && u->rules.at[*at].offset == offset)
            return u->rules.at[*at].frame;
    }
}

static bool load(const hu_user_stack *s, uint64_t address, uint64_t *out)
{
    if (address < s->sp || address - s->sp > s->bytes || s->bytes - (address - s->sp) < sizeof *out)
        return false;
    memcpy(out, s->stack + (address - s->sp), sizeof *out);
    return true;
}

/* Where the chain of frame pointers goes on behind what was walked; n: nowhere. */
static size_t rest_of(const uint64_t *chain, size_t n, const uint64_t *walked, size_t n_walked, bool is_behind)
{
    for (size_t i = 1; i < n; i++)
        if (chain[i] == walked[n_walked - 1])
            return i + 1;
    return is_behind ? 1 : n;
}

size_t hu_unwind_correct(hu_unwind *u, uint32_t pid, const hu_user_stack *user, uint64_t *chain, size_t n, size_t room)
{
    uint64_t walked[STEPS], sp = user->sp, bp = user->bp;
    size_t   n_walked = 1, next, kept;
    bool     is_bp_own = true; /* still what it was in the innermost function */

    if (n == 0)
        return n;
    walked[0] = chain[0];
    while (n_walked < STEPS) {
        const hu_call_frame r = rule_at(u, pid, walked[n_walked - 1] - (n_walked > 1));
        const uint64_t      top = (r.is_from_bp ? bp : sp) + (uint64_t)(int64_t)r.top;
        uint64_t            back, saved;

        if (!r.is_known || top <= sp || !load(user, top - 8, &back) || !back ||
            !hu_perf_spaces_find(u->spaces, pid, back - 1))
            break;
        if (r.bp) {
            if (!load(user, top + (uint64_t)(int64_t)r.bp, &saved))
                break;
            is_bp_own = false;
            bp = saved;
        }
        walked[n_walked++] = back;
        sp = top;
    }
    if (n_walked == 1)
        return n;
    next = rest_of(chain, n, walked, n_walked, is_bp_own && bp >= sp);
    kept = n - next < room - n_walked ? n - next : room - n_walked;
    if (n_walked >= room)
        return n;
    memmove(chain + n_walked, chain + next, kept * sizeof *chain);
    memcpy(chain, walked, n_walked * sizeof *chain);
    return n_walked + kept;
}
