/* SPDX-License-Identifier: Apache-2.0
 * groups.c - a trace knows equal names by their id: rows are counted by id and laid behind each other, and only the
 * different names are sorted as texts.
 */
#include "query/groups.h"

#include <stdlib.h>

static int compare_names(const hu_sql_run *a, const hu_sql_run *b)
{
    const size_t n = a->name.n < b->name.n ? a->name.n : b->name.n;
    const int    first = n ? memcmp(a->name.p, b->name.p, n) : 0;

    return first ? first : (a->name.n > b->name.n) - (a->name.n < b->name.n);
}

static int by_source(const hu_sql_run *a, const hu_sql_run *b)
{
    return (a->source > b->source) - (a->source < b->source);
}

static int upwards(const void *a, const void *b)
{
    const int names = compare_names(a, b);

    return names ? names : by_source(a, b);
}

static int downwards(const void *a, const void *b)
{
    const int names = compare_names(b, a);

    return names ? names : by_source(a, b);
}

/* How many rows of the table each name id of a trace has; their sum. */
static size_t count_rows(const hu_slices *s, unsigned kinds, uint32_t *count)
{
    size_t sum = 0;

    for (size_t i = 0; i < s->n; i++) {
        const bool fits = hu_kind_in(s->kind[i], kinds);

        count[s->name[i]] += fits;
        sum += fits;
    }
    return sum;
}

/* The runs of one trace; `first` has a place for each name id, all 0. */
static bool add_trace(const hu_sql_binding *b, uint32_t source, uint32_t *first, hu_arena *arena, hu_sql_groups *out)
{
    const hu_trace *trace = b->sources[source].trace;
    const hu_slices s = b->sources[source].ask.s;
    const uint32_t  n_names = hu_trace_string_count(trace);
    const size_t    n = count_rows(&s, b->table->kinds, first);
    uint32_t       *rows = hu_arena_alloc(arena, (n + 1) * sizeof *rows), at = 0;

    if (!rows)
        return false;
    for (uint32_t name = 0; name < n_names; name++) {
        const uint32_t count = first[name];

        if (count)
            out->at[out->n++] = (hu_sql_run){hu_trace_text(trace, name), rows + at, count, source};
        first[name] = at;
        at += count;
    }
    for (size_t i = 0; i < s.n; i++)
        if (hu_kind_in(s.kind[i], b->table->kinds))
            rows[first[s.name[i]]++] = (uint32_t)i;
    return true;
}

bool hu_sql_groups_make(const hu_sql_binding *binding, bool descending, hu_arena *arena, hu_sql_groups *out)
{
    size_t most = 0;

    for (size_t i = 0; i < binding->n_sources; i++)
        most += hu_trace_string_count(binding->sources[i].trace);
    *out = (hu_sql_groups){.at = hu_arena_alloc(arena, (most + 1) * sizeof *out->at)};
    if (!out->at)
        return false;
    for (uint32_t i = 0; i < binding->n_sources; i++) {
        const size_t bytes = ((size_t)hu_trace_string_count(binding->sources[i].trace) + 1) * sizeof(uint32_t);
        uint32_t    *first = hu_arena_grow_cleared(arena, NULL, 0, bytes);
        const bool   made = first && add_trace(binding, i, first, arena, out);

        hu_arena_drop(arena, first);
        if (!made)
            return false;
    }
    qsort(out->at, out->n, sizeof *out->at, descending ? downwards : upwards);
    return true;
}
