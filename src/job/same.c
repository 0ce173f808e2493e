/* SPDX-License-Identifier: Apache-2.0
 * same.c - by device and inode; parts of a file are told apart by their process, and a snapshot may be compared to
 * itself. */
#include "job/same.h"

#include <sys/stat.h>

#include "across/roster.h"
#include "base/input.h"
#include "base/map.h"

typedef struct {
    dev_t   device;
    ino_t   inode;
    int64_t pid, rank; /* rank: by its name, -1: it says none */
} identity;

static bool identify(const char *path, identity *out)
{
    struct stat st;

    *out = (identity){.rank = hu_roster_rank_of_name(hu_str_of(path), 0)};
    hu_input_split(path, &out->pid);
    if (out->pid || !hu_inputs_is_trace(path) || stat(path, &st) < 0 || !S_ISREG(st.st_mode))
        return false;
    out->device = st.st_dev;
    out->inode = st.st_ino;
    return true;
}

static bool is_same(const identity *a, const identity *b)
{
    return a->device == b->device && a->inode == b->inode && (a->rank == b->rank || a->rank < 0 || b->rank < 0);
}

int hu_inputs_drop_same(hu_inputs *inputs, hu_arena *arena, hu_error *err)
{
    identity *known = hu_arena_calloc(arena, inputs->n + 1, sizeof *known);
    hu_map    firsts;
    size_t    n = 0;

    if (!known || !hu_map_init(&firsts, arena, inputs->n))
        return hu_fail_memory(err);
    for (size_t i = 0; i < inputs->n; i++) {
        const char *path = inputs->at[i];
        identity    one;
        uint32_t   *first;

        if (identify(path, &one)) {
            if (!(first = hu_map_put(&firsts, (uint64_t)one.inode)))
                return hu_fail_memory(err);
            if (*first != HU_MAP_NONE && is_same(&known[*first], &one)) {
                inputs->same = inputs->same ? inputs->same : path;
                inputs->n_same++;
                continue;
            }
            if (*first == HU_MAP_NONE)
                *first = (uint32_t)n;
        }
        known[n] = one;
        inputs->at[n++] = path;
    }
    inputs->n = n;
    return 0;
}
