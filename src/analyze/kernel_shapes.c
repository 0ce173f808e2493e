/* SPDX-License-Identifier: Apache-2.0
 * kernel_shapes.c - one pass over device slices, a row for each name with one grid and block. */
#include "analyze/kernel_shapes.h"

#include <stdlib.h>

#include "base/map.h"

typedef struct {
    const hu_ask *ask;
    hu_map        row_of; /* a hash of name and shape -> row; who finds another there looks one further */
    HU_VEC(hu_kernel_shape) list;
} work;

static uint64_t key_of(uint32_t name, const hu_kernel_detail *k)
{
    uint64_t key = hu_hash_u64(name + 1);

    for (int i = 0; i < 3; i++)
        key = hu_hash_u64(key ^ ((uint64_t)k->grid[i] << 16 | k->block[i]));
    return key;
}

static bool is_of(const hu_kernel_shape *row, hu_str name, const hu_kernel_detail *k)
{
    return row->name.p == name.p && memcmp(row->grid, k->grid, sizeof row->grid) == 0 &&
           memcmp(row->block, k->block, sizeof row->block) == 0;
}

static hu_kernel_shape *row_of(work *w, uint32_t i, const hu_kernel_detail *k)
{
    const hu_str name = hu_ask_name(w->ask, i);

    for (uint64_t key = key_of(w->ask->s.name[i], k);; key++) {
        uint32_t       *place = hu_map_put(&w->row_of, key);
        hu_kernel_shape row = {.name = name};

        if (!place)
            return NULL;
        if (*place != HU_MAP_NONE && is_of(&w->list.at[*place], name, k))
            return &w->list.at[*place];
        if (*place != HU_MAP_NONE)
            continue;
        memcpy(row.grid, k->grid, sizeof row.grid);
        memcpy(row.block, k->block, sizeof row.block);
        *place = (uint32_t)w->list.n;
        return hu_vec_push(w->ask->arena, &w->list, row) ? &w->list.at[w->list.n - 1] : NULL;
    }
}

static int by_time(const void *left, const void *right)
{
    const hu_kernel_shape *a = left, *b = right;
    int                    c;

    if (a->total_ns != b->total_ns)
        return a->total_ns > b->total_ns ? -1 : 1;
    c = hu_str_compare(a->name, b->name);
    c = c ? c : memcmp(a->grid, b->grid, sizeof a->grid);
    return c ? c : memcmp(a->block, b->block, sizeof a->block);
}

int hu_kernel_shapes_measure(const hu_ask *ask, hu_kernel_shapes *out, hu_error *err)
{
    work w = {.ask = ask};

    *out = (hu_kernel_shapes){0};
    if (!hu_map_init(&w.row_of, ask->scratch, 256))
        return hu_fail_memory(err);
    for (size_t n = 0; n < ask->n_work; n++) {
        const uint32_t          i = ask->work[n];
        const hu_kernel_detail *k;
        hu_kernel_shape        *row;

        if (ask->s.kind[i] != HU_KIND_KERNEL || ask->s.detail[i] == HU_NONE || !hu_ask_has(ask, i))
            continue;
        k = hu_trace_kernel_detail(ask->trace, ask->s.detail[i]);
        if (!k->grid[0])
            continue;
        row = row_of(&w, i, k);
        if (!row)
            return hu_fail_memory(err);
        row->calls++;
        row->total_ns += ask->s.dur_ns[i];
        if (ask->counted && hu_select_in(ask->counted, hu_select_time(ask->trace, &ask->s, i))) {
            row->calls_in_steps++;
            row->steps_ns += ask->s.dur_ns[i];
        }
    }
    if (w.list.n > 1)
        qsort(w.list.at, w.list.n, sizeof *w.list.at, by_time);
    out->at = w.list.at;
    out->n = w.list.n;
    return 0;
}
