/* SPDX-License-Identifier: Apache-2.0
 * pattern.c - counts, sums and the most common size of calls by slot and kind; linear but for sorting the sizes. */
#include "analyze/pattern.h"

#include "analyze/shapes.h"
#include "base/sort.h"

enum { CELLS = HU_SLOT_COUNT * HU_TRAFFIC_COUNT };

static size_t cell_of(const hu_traffic_call *c)
{
    return (size_t)c->slot * HU_TRAFFIC_COUNT + c->kind;
}

static bool is_tensor(const hu_traffic_call *c)
{
    return !c->is_orphan && c->kind != HU_TRAFFIC_BARRIER && !c->is_integer &&
           (c->bytes < 0 || c->bytes > HU_PATTERN_SCALAR_BYTES);
}

static void find_common(const int64_t *sorted, size_t n, int64_t *common, int64_t *common_n)
{
    *common = -1;
    *common_n = 0;
    for (size_t i = 0; i < n;) {
        size_t k = i;

        while (k < n && sorted[k] == sorted[i])
            k++;
        if ((int64_t)(k - i) >= *common_n) { /* of equally many the larger */
            *common = sorted[i];
            *common_n = (int64_t)(k - i);
        }
        i = k;
    }
}

static void add(hu_pattern *p, const hu_traffic_call *c)
{
    int64_t *bytes = &p->bytes[c->slot][c->kind];

    p->ns = hu_plus(p->ns, c->dur_ns) < 0 ? p->ns : p->ns + c->dur_ns;
    p->all_bytes = c->bytes < 0 || hu_plus(p->all_bytes, c->bytes) < 0 ? p->all_bytes : p->all_bytes + c->bytes;
    p->barriers += c->kind == HU_TRAFFIC_BARRIER;
    p->integers += c->is_integer;
    p->uneven += c->is_uneven;
    p->orphans += c->is_orphan;
    if (!is_tensor(c)) {
        p->scalars += !c->is_orphan && c->kind != HU_TRAFFIC_BARRIER && !c->is_integer;
        return;
    }
    p->tensors++;
    p->sized += c->bytes >= 0;
    p->named += c->is_named;
    p->n[c->slot][c->kind]++;
    *bytes = c->bytes < 0 || hu_plus(*bytes, c->bytes) < 0 ? *bytes : *bytes + c->bytes;
}

bool hu_pattern_count(const hu_traffic *traffic, const hu_traffic_group *group, hu_arena *scratch, hu_pattern *out)
{
    const hu_traffic_call *calls = traffic->at + group->first;
    size_t                 first[CELLS + 1] = {0}, place[CELLS];
    int64_t               *sizes = hu_arena_grow(scratch, NULL, (group->n + 1) * sizeof *sizes);

    *out = (hu_pattern){0};
    if (!sizes)
        return false;
    for (size_t i = 0; i < group->n; i++) {
        add(out, &calls[i]);
        first[cell_of(&calls[i]) + 1] += is_tensor(&calls[i]) && calls[i].bytes >= 0;
    }
    for (size_t c = 0; c < CELLS; c++) {
        first[c + 1] += first[c];
        place[c] = first[c];
    }
    for (size_t i = 0; i < group->n; i++)
        if (is_tensor(&calls[i]) && calls[i].bytes >= 0)
            sizes[place[cell_of(&calls[i])]++] = calls[i].bytes;
    for (size_t c = 0; c < CELLS; c++) {
        hu_sort_i64(sizes + first[c], first[c + 1] - first[c]);
        find_common(sizes + first[c], first[c + 1] - first[c], &out->common[c / HU_TRAFFIC_COUNT][c % HU_TRAFFIC_COUNT],
                    &out->common_n[c / HU_TRAFFIC_COUNT][c % HU_TRAFFIC_COUNT]);
    }
    hu_arena_drop(scratch, sizes);
    return true;
}
