/* SPDX-License-Identifier: Apache-2.0
 * memory_segments.c - what a picture of the allocator's segments needs: the largest of them, and where they are held. */
#include <stdlib.h>

#include "analyze/memory_work.h"

typedef struct {
    uint32_t row, first_block;
    int64_t  bytes;
} entry;

static int by_size(const void *left, const void *right)
{
    const entry *a = left, *b = right;

    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

static hu_str pool_of(const hu_memory_work *w, const hu_memory_segment *s)
{
    for (size_t p = 0; p < w->pools.n; p++)
        if (w->pools.at[p].device_type == s->device_type && w->pools.at[p].device == s->device)
            return w->pools.at[p].name;
    return HU_STR("");
}

/* Neighbours in the same state are one run. */
static bool add_runs(const hu_memory_block *blocks, size_t n, uint32_t number, hu_arena *arena, hu_memory_run **out,
                     size_t *n_out)
{
    HU_VEC(hu_memory_run) list = {*out, *n_out, *n_out};
    int64_t offset = 0;

    for (size_t i = 0; i < n; i++) {
        const bool     is_held = blocks[i].state != HU_MEMORY_FREE;
        hu_memory_run *last = list.n ? &list.at[list.n - 1] : NULL;

        if (last && last->segment == (int64_t)number && last->is_held == is_held) {
            last->bytes += blocks[i].bytes;
            last->blocks++;
        } else if (!hu_vec_push(arena, &list, ((hu_memory_run){number, offset, blocks[i].bytes, 1, is_held}))) {
            return false;
        }
        offset += blocks[i].bytes;
    }
    *out = list.at;
    *n_out = list.n;
    return true;
}

int hu_memory_find_segments(hu_memory_work *w, hu_memory *out, hu_error *err)
{
    size_t                   n, n_blocks;
    const hu_memory_segment *s = hu_trace_segments(w->ask->trace, &n);
    const hu_memory_block   *blocks = hu_trace_blocks(w->ask->trace, &n_blocks);
    entry                   *order = hu_arena_alloc(w->ask->scratch, (n + 1) * sizeof *order);
    uint32_t                 block = 0;

    out->segments = hu_arena_calloc(w->ask->arena, HU_MEMORY_SEGMENTS + 1, sizeof *out->segments);
    if (!order || !out->segments)
        return hu_fail_memory(err);
    for (uint32_t i = 0; i < n; i++) {
        order[i] = (entry){i, block, s[i].total_bytes};
        block += s[i].n_blocks;
    }
    if (n)
        qsort(order, n, sizeof *order, by_size);
    for (size_t i = 0; i < n && i < HU_MEMORY_SEGMENTS && out->n_runs < HU_MEMORY_RUNS; i++) {
        const hu_memory_segment *of = &s[order[i].row];

        out->segments[out->n_segments++] = (hu_memory_piece){pool_of(w, of),         of->total_bytes, of->allocated_bytes,
                                                             of->largest_free_bytes, of->stream,      of->is_small,
                                                             of->is_expandable};
        if (of->n_blocks &&
            !add_runs(blocks + order[i].first_block, of->n_blocks, (uint32_t)i, w->ask->arena, &out->runs, &out->n_runs))
            return hu_fail_memory(err);
    }
    return 0;
}
