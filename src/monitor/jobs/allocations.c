/* SPDX-License-Identifier: Apache-2.0
 * allocations.c - a list that grows, and which GPU a name means. */
#include "monitor/jobs/allocations.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { FIRST_ROOM = 16 };

void hu_allocations_add(hu_allocations *a, const hu_gpu_name *gpu, const hu_owner *owner)
{
    if (a->n == a->room) {
        const size_t   room = a->room ? 2 * a->room : FIRST_ROOM;
        hu_allocation *at = room <= HU_ALLOCATIONS_MOST ? realloc(a->at, room * sizeof *at) : NULL;

        if (!at) {
            a->is_cut = true;
            return;
        }
        a->at = at;
        a->room = room;
    }
    a->at[a->n++] = (hu_allocation){*gpu, *owner};
}

void hu_allocations_free(hu_allocations *a)
{
    free(a->at);
    *a = (hu_allocations){0};
}

static bool is_gpu(const hu_gpu_name *name, const hu_board_gpu *g)
{
    switch (name->by) {
    case HU_GPU_BY_UUID:
        return strcasecmp(name->text, g->uuid) == 0;
    case HU_GPU_BY_BUS:
        return g->bus[0] && strcasecmp(name->text, g->bus) == 0;
    case HU_GPU_BY_INDEX:
        return g->index == name->number;
    case HU_GPU_BY_MINOR:
        return (g->minor >= 0 ? g->minor : g->index) == name->number;
    }
    return false;
}

static const hu_board_gpu *parent_of(const hu_board_state *board, const hu_board_gpu *g)
{
    for (uint32_t i = 0; i < board->n; i++)
        if (strcmp(board->gpu[i].uuid, g->parent) == 0)
            return &board->gpu[i];
    return NULL;
}

bool hu_gpu_is_named(const hu_gpu_name *name, const hu_board_state *board, size_t row)
{
    const hu_board_gpu *g = &board->gpu[row], *parent = g->parent[0] ? parent_of(board, g) : NULL;

    if (g->is_divided)
        return false;
    if (!g->parent[0])
        return name->gi < 0 && is_gpu(name, g);
    if (name->by == HU_GPU_BY_UUID && is_gpu(name, g))
        return true;
    if (!parent || !is_gpu(name, parent))
        return false;
    return name->gi < 0 ? name->by != HU_GPU_BY_MINOR : name->gi == g->gi;
}
