/* SPDX-License-Identifier: Apache-2.0
 * drift.c - compares each kernel with itself: the last third of the window's steps against the first.
 *
 * Sums of steps would compare what was asked of the device (longer sequences, other kernels), not how fast it is.  One slow
 * step is not taken for a trend: the ratio is the median over the last third's steps.
 */
#include "graph/drift.h"

#include <math.h>
#include <stdlib.h>

#include "base/map.h"

enum { FEWEST_STEPS = 2 }; /* in each third */

typedef struct {
    double early_ns, late_ns;
    size_t n_early, n_late;
} group;

static uint64_t mix(uint64_t key, uint64_t more)
{
    return hu_hash_u64(key) ^ more;
}

static uint64_t mix_launch(uint64_t key, const uint32_t grid[3], const uint16_t block[3])
{
    for (int i = 0; i < 3; i++)
        key = mix(key, (uint64_t)grid[i] << 16 | block[i]);
    return key;
}

uint64_t hu_drift_same_kernel(const hu_ask *ask, uint32_t slice)
{
    const uint32_t own = ask->s.detail[slice];
    const uint32_t call = hu_trace_launch_of(ask->trace, slice), op = hu_trace_op_of(ask->trace, slice);
    uint64_t       key = hu_hash_u64(ask->s.name[slice]);

    if (own != HU_NONE) {
        const hu_kernel_detail *d = hu_trace_kernel_detail(ask->trace, own);

        key = mix_launch(key, d->grid, d->block);
    }
    if (call != HU_NONE && ask->s.detail[call] != HU_NONE &&
        hu_kind_in(ask->s.kind[call], HU_BIT(RUNTIME) | HU_BIT(DRIVER))) {
        const uint32_t row = hu_trace_call_detail(ask->trace, ask->s.detail[call])->geometry;

        if (row)
            key = mix_launch(key, hu_trace_geometry(ask->trace, row)->grid, hu_trace_geometry(ask->trace, row)->block);
    }
    if (op != HU_NONE && ask->s.detail[op] != HU_NONE && ask->s.kind[op] == HU_KIND_CPU_OP) {
        const hu_op_detail *d = hu_trace_op_detail(ask->trace, ask->s.detail[op]);

        key = mix(mix(key, d->dims), d->types);
    }
    return key;
}

/* Does the trace say both the grid and the shapes, so that equal keys are equal work? */
static bool is_described(const hu_ask *ask, uint32_t slice)
{
    const uint32_t own = ask->s.detail[slice];
    const uint32_t call = hu_trace_launch_of(ask->trace, slice), op = hu_trace_op_of(ask->trace, slice);
    bool           has_grid = own != HU_NONE && hu_trace_kernel_detail(ask->trace, own)->grid[0];

    if (!has_grid && call != HU_NONE && ask->s.detail[call] != HU_NONE &&
        hu_kind_in(ask->s.kind[call], HU_BIT(RUNTIME) | HU_BIT(DRIVER)))
        has_grid = hu_trace_call_detail(ask->trace, ask->s.detail[call])->geometry;
    return has_grid && op != HU_NONE && ask->s.detail[op] != HU_NONE && ask->s.kind[op] == HU_KIND_CPU_OP &&
           hu_trace_op_detail(ask->trace, ask->s.detail[op])->dims;
}

/* of[i]: which group operation i belongs to, HU_NONE for what is not compared. */
static bool find_groups(const hu_graph *g, const uint8_t *is_beside, hu_arena *scratch, uint32_t *of, uint32_t *n)
{
    hu_map place;

    if (!hu_map_init(&place, scratch, 256))
        return false;
    for (size_t i = 0; i < g->n_ops; i++) {
        uint32_t *at;

        of[i] = HU_NONE;
        if (g->op[i].class != HU_CLASS_COMPUTE || g->op[i].step < 0 || is_beside[i])
            continue;
        at = hu_map_put(&place, hu_drift_same_kernel(g->ask, g->op[i].slice));
        if (!at)
            return false;
        if (*at == HU_MAP_NONE)
            *at = (*n)++;
        of[i] = *at;
    }
    return true;
}

static int by_value(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

/* The median over the last third's steps of what is compared there, against what the same took in the first third. */
static double late_ratio(const hu_graph *g, const hu_drift *d, int first, double *seen, double *early)
{
    const int n = (int)(g->n_marks - 1) - first;
    int       known = 0;

    for (size_t i = 0; i < g->n_ops; i++) {
        if (g->op[i].step < first || !d->early_ns[i])
            continue;
        seen[g->op[i].step - first] += (double)g->op[i].cost_ns;
        early[g->op[i].step - first] += (double)d->early_ns[i];
    }
    for (int k = 0; k < n; k++)
        if (early[k] > 0)
            seen[known++] = seen[k] / early[k];
    if (known == 0)
        return (double)NAN;
    qsort(seen, (size_t)known, sizeof *seen, by_value);
    return (seen[(known - 1) / 2] + seen[known / 2]) / 2;
}

static double slower_share(const group *at, uint32_t n)
{
    double slower = 0, all = 0;

    for (uint32_t k = 0; k < n; k++) {
        if (!at[k].n_early || !at[k].n_late)
            continue;
        all += at[k].late_ns;
        if (at[k].late_ns / (double)at[k].n_late > HU_DRIFT_LEAST * at[k].early_ns / (double)at[k].n_early)
            slower += at[k].late_ns;
    }
    return all > 0 ? slower / all : 0;
}

static bool measure(const hu_graph *g, const uint8_t *is_beside, int third, hu_arena *scratch, hu_drift *out)
{
    const int steps = (int)(g->n_marks - 1);
    uint32_t *of = hu_arena_alloc(scratch, (g->n_ops + 1) * sizeof *of), n = 0;
    double   *seen = hu_arena_calloc(scratch, (size_t)third + 1, sizeof *seen);
    double   *early = hu_arena_calloc(scratch, (size_t)third + 1, sizeof *early);
    group    *at;

    if (!of || !seen || !early || !find_groups(g, is_beside, scratch, of, &n))
        return false;
    at = hu_arena_calloc(scratch, (size_t)n + 1, sizeof *at);
    if (!at)
        return false;
    for (size_t i = 0; i < g->n_ops; i++) {
        if (of[i] == HU_NONE)
            continue;
        if (g->op[i].step < third) {
            at[of[i]].early_ns += (double)g->op[i].cost_ns;
            at[of[i]].n_early++;
        } else if (g->op[i].step >= steps - third) {
            at[of[i]].late_ns += (double)g->op[i].cost_ns;
            at[of[i]].n_late++;
        }
    }
    for (size_t i = 0; i < g->n_ops; i++) {
        if (of[i] == HU_NONE || g->op[i].step < third || !at[of[i]].n_early)
            continue;
        out->early_ns[i] = (int64_t)(at[of[i]].early_ns / (double)at[of[i]].n_early + 0.5);
        if (g->op[i].step < steps - third)
            continue;
        out->kernels++;
        out->described += is_described(g->ask, g->op[i].slice);
    }
    out->slower = slower_share(at, n);
    out->ratio = late_ratio(g, out, steps - third, seen, early);
    return true;
}

bool hu_drift_measure(const hu_graph *g, const uint8_t *is_beside, hu_arena *arena, hu_drift *out)
{
    const int third = (int)(g->n_marks - 1) / 3;
    hu_arena *scratch;
    bool      ok;

    *out = (hu_drift){.ratio = NAN, .early_ns = hu_arena_calloc(arena, g->n_ops + 1, sizeof *out->early_ns)};
    if (!out->early_ns)
        return false;
    if (third < FEWEST_STEPS || g->is_whole)
        return true;
    scratch = hu_arena_new();
    ok = scratch && measure(g, is_beside, third, scratch, out);
    hu_arena_free(scratch);
    return ok;
}
