/* SPDX-License-Identifier: Apache-2.0
 * repeats.c - sorts the calls by id and time; a call within another of its id is the same call, seen twice. */
#include "trace/repeats.h"

#include <stdlib.h>

#include "trace/columns.h"

typedef struct {
    uint32_t id, slice;
    int64_t  start_ns, end_ns;
} call;

typedef HU_VEC(call) calls;

static int compare(const void *left, const void *right)
{
    const call *a = left, *b = right;

    if (a->id != b->id)
        return a->id < b->id ? -1 : 1;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    if (a->end_ns != b->end_ns)
        return a->end_ns > b->end_ns ? -1 : 1;
    return a->slice < b->slice ? -1 : 1;
}

static bool collect(const hu_trace *t, hu_arena *scratch, calls *out)
{
    for (uint32_t i = 0; i < t->n; i++)
        if (t->correlation[i] && t->kind[i] == HU_KIND_RUNTIME &&
            !hu_vec_push(scratch, out, ((call){t->correlation[i], i, t->start_ns[i], t->start_ns[i] + t->dur_ns[i]})))
            return false;
    if (out->n)
        qsort(out->at, out->n, sizeof *out->at, compare);
    return true;
}

/* Of calls that lie within another the outer one stays. */
static void drop_inner(calls *c)
{
    size_t n = 0;

    for (size_t i = 0; i < c->n; i++)
        if (!n || c->at[i].id != c->at[n - 1].id || c->at[i].start_ns >= c->at[n - 1].end_ns)
            c->at[n++] = c->at[i];
    c->n = n;
}

/* The last call of an id that began by then; NULL: nobody has the id. */
static const call *find(const calls *c, uint32_t id, int64_t time_ns)
{
    size_t low = 0, high = c->n;

    while (low < high) { /* the first that is later */
        const size_t middle = low + (high - low) / 2;
        const call  *at = &c->at[middle];

        if (at->id < id || (at->id == id && at->start_ns <= time_ns))
            low = middle + 1;
        else
            high = middle;
    }
    if (low > 0 && c->at[low - 1].id == id)
        return &c->at[low - 1];
    return low < c->n && c->at[low].id == id ? &c->at[low] : NULL;
}

bool hu_trace_link_repeats(hu_trace *t, hu_arena *scratch)
{
    calls c = {0};

    if (!collect(t, scratch, &c))
        return false;
    drop_inner(&c);
    for (uint32_t i = 0; i < t->n; i++) {
        const call *at;

        if (t->correlation[i] && hu_kind_in(t->kind[i], HU_KINDS_DEVICE | HU_BIT(SYNC)) &&
            (at = find(&c, t->correlation[i], t->start_ns[i])))
            t->parent[i] = at->slice;
    }
    hu_arena_drop(scratch, c.at);
    return true;
}
