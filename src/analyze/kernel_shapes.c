/* SPDX-License-Identifier: Apache-2.0
 * kernel_shapes.c - one pass over device slices, a row for each name with one grid and block; and in which order they were
 * launched, for a profiler of single launches has no other clock. */
#include "analyze/kernel_shapes.h"

#include <stdlib.h>

#include "base/map.h"

enum { MOST_LAUNCHES = 1 << 20 }; /* that are put in order: steps of thousands of kernels are hundreds of steps */

typedef struct {
    int64_t          launched_ns, start_ns;
    hu_kernel_launch of;
} ordered;

typedef struct {
    const hu_ask *ask;
    hu_map        row_of; /* a hash of name and shape -> row; who finds another there looks one further */
    HU_VEC(hu_kernel_shape) list;
    HU_VEC(ordered) launches;
    const char *why_unordered;
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

/* The step that counts and holds a time, or HU_NONE. */
static uint32_t step_at(const hu_ask *ask, int64_t time_ns)
{
    const hu_steps *steps = ask->steps;
    size_t          low = 0, high = steps ? steps->n : 0;

    if (!ask->counted || !steps)
        return 0;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (steps->at[middle].end_ns <= time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low < steps->n && steps->at[low].start_ns <= time_ns && hu_step_counts(&steps->at[low]) ? (uint32_t)low : HU_NONE;
}

/* Adds a launch to those that are put in order.  False when there is no memory. */
static bool add_launch(work *w, uint32_t i, uint32_t row)
{
    const int64_t  launched_ns = hu_select_time(w->ask->trace, &w->ask->s, i);
    const uint32_t step = step_at(w->ask, launched_ns);
    ordered        one = {launched_ns, w->ask->s.start_ns[i], {row, step, w->ask->s.dur_ns[i]}};

    if (w->why_unordered || step == HU_NONE)
        return true;
    if (hu_trace_launch_of(w->ask->trace, i) == HU_NONE)
        w->why_unordered = "launches of the trace are not recorded";
    else if (w->launches.n == MOST_LAUNCHES)
        w->why_unordered = "the trace has too many launches";
    else
        return hu_vec_push(w->ask->scratch, &w->launches, one);
    return true;
}

static int by_launch(const void *left, const void *right)
{
    const ordered *a = left, *b = right;

    if (a->of.step != b->of.step)
        return a->of.step < b->of.step ? -1 : 1;
    if (a->launched_ns != b->launched_ns)
        return a->launched_ns < b->launched_ns ? -1 : 1;
    return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

typedef struct {
    hu_kernel_shape of;
    uint32_t        row;
} placed;

static int placed_by_time(const void *left, const void *right)
{
    return by_time(&((const placed *)left)->of, &((const placed *)right)->of);
}

/* Rows by their time, launches by theirs.  False when there is no memory. */
static bool put_in_order(work *w, hu_kernel_shapes *out)
{
    const size_t n = w->list.n, n_launches = w->why_unordered ? 0 : w->launches.n;
    placed      *rows = hu_arena_calloc(w->ask->scratch, n + 1, sizeof *rows);
    uint32_t    *now = hu_arena_calloc(w->ask->scratch, n + 1, sizeof *now);

    out->launches = hu_arena_calloc(w->ask->arena, n_launches + 1, sizeof *out->launches);
    if (!rows || !now || !out->launches)
        return false;
    for (size_t i = 0; i < n; i++)
        rows[i] = (placed){w->list.at[i], (uint32_t)i};
    if (n > 1)
        qsort(rows, n, sizeof *rows, placed_by_time);
    for (size_t i = 0; i < n; i++) {
        w->list.at[i] = rows[i].of;
        now[rows[i].row] = (uint32_t)i;
    }
    if (n_launches > 1)
        qsort(w->launches.at, n_launches, sizeof *w->launches.at, by_launch);
    for (size_t i = 0; i < n_launches; i++) {
        out->launches[i] = w->launches.at[i].of;
        out->launches[i].shape = now[out->launches[i].shape];
    }
    out->n_launches = n_launches;
    out->why_unordered = w->why_unordered;
    out->at = w->list.at;
    out->n = n;
    return true;
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
        if (!row || !add_launch(&w, i, (uint32_t)(row - w.list.at)))
            return hu_fail_memory(err);
        row->calls++;
        row->total_ns += ask->s.dur_ns[i];
        if (ask->counted && hu_select_in(ask->counted, hu_select_time(ask->trace, &ask->s, i))) {
            row->calls_in_steps++;
            row->steps_ns += ask->s.dur_ns[i];
        }
    }
    return put_in_order(&w, out) ? 0 : hu_fail_memory(err);
}
