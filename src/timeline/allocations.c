/* SPDX-License-Identifier: Apache-2.0
 * allocations.c - rows of analyze/memory_lives.h by pool and birth, as columns of varints, each over all pools before the
 * next begins:
 *
 *     mean, most, reserved   of each pool, `points` pieces of time of `piece` ns from `from` on: bytes held on average and
 *                            at most, bytes that the allocator held; zigzags of differences
 *     born       without the `before` first ones of a pool, which were taken earlier: since the one before it, the first
 *                since `from`
 *     died       0 never, else 1 + how long after its birth, or after `from`
 *     bytes
 *     site       0 none, else 1 + index into "sites": the code that took it, or the operator where its slice is not here
 *     slice      0 none, else 1 + zigzag of the difference to the last one: its operator, by the timeline's columns
 *     stack      0 none, else 1 + row of a chain
 *     category   index into "categories"
 *
 * and where there are chains (`stacks`) before all these: their callers and functions, as in samples.c.
 */
#include "timeline/allocations.h"

#include <math.h>

#include "analyze/memory_lives.h"
#include "base/sort.h"
#include "timeline/samples.h"

typedef struct {
    hu_put           put;
    hu_memory_lives  lives;
    const hu_memory *memory;
    const hu_seen   *seen;
    hu_slices        s;
    uint32_t        *row; /* of those that are listed, by pool of the digest, then in their order */
    size_t          *end; /* by pool of the digest: behind its last row */
    size_t           n;
    int64_t          least; /* bytes that a row has at least; 0: all are listed */
    int64_t          left_out_bytes;
    bool             has_stacks;
} encoder;

static bool is_listed(const encoder *e, const hu_memory_span *a, size_t *of_least)
{
    if (a->bytes != e->least)
        return a->bytes > e->least;
    return !e->least || (*of_least && (*of_least)--);
}

/* Where there are too many rows: how many bytes the listed ones have at least, and how many of just that size fit. */
static bool find_least(encoder *e, hu_arena *arena, size_t *of_least)
{
    const size_t n = e->lives.n, first = n > HU_ALLOCATIONS_MOST ? n - HU_ALLOCATIONS_MOST : 0;
    int64_t     *bytes = first ? hu_arena_alloc(arena, n * sizeof *bytes) : NULL;

    *of_least = 0;
    if (!first || !bytes)
        return !first;
    for (size_t i = 0; i < n; i++)
        bytes[i] = e->lives.at[i].bytes;
    hu_sort_i64(bytes, n);
    e->least = bytes[first];
    for (size_t i = first; i < n && bytes[i] == e->least; i++)
        ++*of_least;
    return true;
}

static bool list_rows(encoder *e, hu_arena *arena)
{
    const size_t n_pools = e->memory->n;
    uint32_t    *pool_of = hu_arena_alloc(arena, (e->lives.n_pools + 1) * sizeof *pool_of), *kept;
    size_t       n_kept = 0, of_least;

    kept = hu_arena_alloc(arena, (HU_ALLOCATIONS_MOST + 1) * sizeof *kept);
    e->row = hu_arena_alloc(arena, (HU_ALLOCATIONS_MOST + 1) * sizeof *e->row);
    e->end = hu_arena_calloc(arena, n_pools + 1, sizeof *e->end);
    if (!pool_of || !kept || !e->row || !e->end || !find_least(e, arena, &of_least))
        return false;
    for (size_t i = 0; i < e->lives.n_pools; i++)
        for (pool_of[i] = 0; pool_of[i] < n_pools; pool_of[i]++)
            if (hu_str_equal(e->memory->at[pool_of[i]].name, e->lives.pools[i]))
                break;
    for (size_t i = 0; i < e->lives.n; i++) {
        const hu_memory_span *a = &e->lives.at[i];

        if (n_kept < HU_ALLOCATIONS_MOST && is_listed(e, a, &of_least))
            kept[n_kept++] = (uint32_t)i;
        else
            e->left_out_bytes += a->bytes;
    }
    for (size_t p = 0; p < n_pools; p++) {
        for (size_t k = 0; k < n_kept; k++)
            if (pool_of[e->lives.at[kept[k]].pool] == p) {
                e->has_stacks |= e->lives.at[kept[k]].stack != 0;
                e->row[e->n++] = kept[k];
            }
        e->end[p] = e->n;
    }
    return true;
}

static const hu_memory_span *row_at(const encoder *e, size_t k)
{
    return &e->lives.at[e->row[k]];
}

static void put_curve(encoder *e, const hu_series *s, bool is_mean)
{
    int64_t last = 0;

    for (int i = 0; i < HU_SERIES_POINTS; i++) {
        const int64_t value = llround(is_mean ? hu_series_mean(s, i) : s->at[i].most);

        hu_put_varint(&e->put, hu_put_zigzag(value - last));
        last = value;
    }
}

static void put_times(encoder *e)
{
    for (size_t p = 0, k = 0; p < e->memory->n; p++)
        for (int64_t last = e->lives.first_ns; k < e->end[p]; k++)
            if (row_at(e, k)->born_ns != HU_BORN_BEFORE) {
                hu_put_varint(&e->put, (uint64_t)(row_at(e, k)->born_ns - last));
                last = row_at(e, k)->born_ns;
            }
    for (size_t k = 0; k < e->n; k++) {
        const hu_memory_span *a = row_at(e, k);
        const int64_t         from = a->born_ns == HU_BORN_BEFORE ? e->lives.first_ns : a->born_ns;

        hu_put_varint(&e->put, a->died_ns == HU_DIED_NEVER ? 0 : 1 + (uint64_t)(a->died_ns - from));
    }
}

/* The string that says where it is from when no slice of the timeline does; 0 none. */
static uint32_t site_of(const encoder *e, const hu_memory_span *a)
{
    return a->site ? a->site : a->op != HU_NONE && !e->seen->number[a->op] ? e->s.name[a->op] : 0;
}

static void put_origins(encoder *e, hu_json_out *head)
{
    int64_t last = 0;

    hu_put_begin_numbers(&e->put);
    for (size_t k = 0; k < e->n; k++) {
        const uint32_t site = site_of(e, row_at(e, k));

        hu_put_varint(&e->put, site ? 1 + (uint64_t)hu_put_number(&e->put, site) : 0);
    }
    hu_put_strings(&e->put, head, "sites");
    for (size_t k = 0; k < e->n; k++) {
        const uint32_t op = row_at(e, k)->op, number = op == HU_NONE ? 0 : e->seen->number[op];

        hu_put_varint(&e->put, number ? 1 + hu_put_zigzag((int64_t)number - last) : 0);
        last = number ? number : last;
    }
    for (size_t k = 0; k < e->n; k++)
        hu_put_varint(&e->put, e->has_stacks ? row_at(e, k)->stack : 0);
    for (size_t k = 0; k < e->n; k++)
        hu_put_varint(&e->put, row_at(e, k)->category);
}

static void write_pools(const encoder *e, hu_json_out *j)
{
    hu_json_open(j, "pools", '[');
    for (size_t p = 0, k = 0; p < e->memory->n; p++) {
        const hu_memory_pool *pool = &e->memory->at[p];
        const size_t          first = k;
        size_t                before = 0;

        for (; k < e->end[p]; k++)
            before += row_at(e, k)->born_ns == HU_BORN_BEFORE;
        hu_json_open(j, NULL, '{');
        hu_json_str(j, "name", pool->name);
        hu_json_int(j, "n", (int64_t)(k - first));
        hu_json_int(j, "before", (int64_t)before);
        hu_json_int(j, "first_bytes", pool->first_bytes);
        hu_json_close(j, '}');
    }
    hu_json_close(j, ']');
}

static void write_head(const encoder *e, int64_t origin_ns, hu_json_out *j)
{
    hu_json_int(j, "n", (int64_t)e->n);
    hu_json_int(j, "of", (int64_t)e->lives.n);
    hu_json_int(j, "least", e->least);
    hu_json_int(j, "left_out_bytes", e->left_out_bytes);
    hu_json_bool(j, "has_address", e->lives.has_address);
    hu_json_int(j, "from", e->lives.first_ns - origin_ns);
    hu_json_int(j, "to", e->lives.last_ns - origin_ns);
    hu_json_int(j, "piece", e->memory->at[0].allocated.piece_ns);
    hu_json_int(j, "points", HU_SERIES_POINTS);
    hu_json_int(j, "stacks", e->has_stacks ? (int64_t)hu_trace_cpu_stack_count(e->put.trace) : 0);
    hu_json_open(j, "categories", '[');
    for (int c = 0; c < HU_MEMORY_CATEGORY_COUNT; c++)
        hu_json_str(j, NULL, hu_str_of(hu_memory_category_key((hu_memory_category)c)));
    hu_json_close(j, ']');
    write_pools(e, j);
}

int hu_allocations_encode(const hu_trace *trace, const hu_digest *d, const hu_seen *seen, int64_t origin_ns, hu_arena *arena,
                          hu_json_out *head, hu_str *out, hu_error *err)
{
    encoder e = {.put = {.trace = trace, .arena = arena}, .memory = &d->memory, .seen = seen, .s = hu_trace_slices(trace)};
    hu_ask  ask;
    int     rc;

    *out = (hu_str){"", 0};
    if (d->memory.n == 0)
        return 0;
    if ((rc = hu_ask_prepare(trace, arena, arena, &ask, err)) < 0 || (rc = hu_memory_lives_find(&ask, &e.lives, err)) < 0)
        return rc;
    if (e.lives.n == 0)
        return 0;
    if (!list_rows(&e, arena))
        return hu_fail_memory(err);
    e.has_stacks &= hu_trace_cpu_stack_count(trace) <= HU_SAMPLES_STACKS;
    hu_json_open(head, "allocations", '{');
    write_head(&e, origin_ns, head);
    if (e.has_stacks)
        hu_samples_put_stacks(&e.put, head);
    for (size_t p = 0; p < e.memory->n; p++) {
        put_curve(&e, &e.memory->at[p].allocated, true);
        put_curve(&e, &e.memory->at[p].allocated, false);
        put_curve(&e, &e.memory->at[p].reserved, false);
    }
    put_times(&e);
    for (size_t k = 0; k < e.n; k++)
        hu_put_varint(&e.put, (uint64_t)row_at(&e, k)->bytes);
    put_origins(&e, head);
    hu_json_close(head, '}');
    *out = (hu_str){(const char *)e.put.out.at, e.put.out.n};
    return e.put.failed ? hu_fail_memory(err) : 0;
}
