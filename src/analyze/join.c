/* SPDX-License-Identifier: Apache-2.0
 * join.c - texts of different traces have different ids, so rows meet by their bytes. */
#include "analyze/join.h"

#include <stdlib.h>

#include "base/map.h"

typedef struct {
    const hu_join_rule *rule;
    char               *rows;
    size_t              n;
    uint32_t           *next; /* of rows with one hash */
    hu_map              by_hash;
} joined;

static bool put(joined *j, const void *row)
{
    hu_str    a = HU_STR(""), b = HU_STR("");
    uint32_t *first;

    j->rule->key(row, &a, &b);
    first = hu_map_put(&j->by_hash, hu_hash_bytes(a.p, a.n) ^ hu_hash_u64(hu_hash_bytes(b.p, b.n)));
    if (!first)
        return false;
    for (uint32_t i = *first; i != HU_MAP_NONE; i = j->next[i]) {
        hu_str c = HU_STR(""), d = HU_STR("");

        j->rule->key(j->rows + i * j->rule->row_bytes, &c, &d);
        if (hu_str_equal(a, c) && hu_str_equal(b, d)) {
            j->rule->add(j->rows + i * j->rule->row_bytes, row);
            return true;
        }
    }
    memcpy(j->rows + j->n * j->rule->row_bytes, row, j->rule->row_bytes);
    j->next[j->n] = *first;
    *first = (uint32_t)j->n++;
    return true;
}

bool hu_join_rows(const hu_join_rule *rule, void **into, size_t *n, const void *from, size_t n_from, hu_arena *arena)
{
    const size_t most = *n + n_from;
    joined       j = {.rule = rule};

    j.rows = hu_arena_calloc(arena, most + 1, rule->row_bytes);
    j.next = hu_arena_calloc(arena, most + 1, sizeof *j.next);
    if (!j.rows || !j.next || !hu_map_init(&j.by_hash, arena, most))
        return false;
    for (size_t i = 0; i < *n; i++)
        if (!put(&j, (const char *)*into + i * rule->row_bytes))
            return false;
    for (size_t i = 0; i < n_from; i++)
        if (!put(&j, (const char *)from + i * rule->row_bytes))
            return false;
    if (j.n)
        qsort(j.rows, j.n, rule->row_bytes, rule->compare);
    hu_map_drop(&j.by_hash);
    *into = j.rows;
    *n = j.n;
    return true;
}

bool hu_join_chain(void **into, size_t *n, const void *from, size_t n_from, size_t row_bytes, hu_arena *arena)
{
    char *at = hu_arena_calloc(arena, *n + n_from + 1, row_bytes);

    if (!at)
        return false;
    if (*n)
        memcpy(at, *into, *n * row_bytes);
    if (n_from)
        memcpy(at + *n * row_bytes, from, n_from * row_bytes);
    *into = at;
    *n += n_from;
    return true;
}
