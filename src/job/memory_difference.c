/* SPDX-License-Identifier: Apache-2.0
 * memory_difference.c - pools by name; ranks have one device each, so that of two names the largest pools are compared. */
#include "job/memory_difference.h"

#include <math.h>
#include <stdlib.h>

static const hu_memory_pool *pool_of(const hu_memory *m, hu_str name)
{
    for (size_t i = 0; i < m->n; i++)
        if (hu_str_equal(m->at[i].name, name))
            return &m->at[i];
    return NULL;
}

/* Of a device; NULL: none. */
static const hu_memory_pool *largest(const hu_memory *m)
{
    for (size_t i = 0; i < m->n; i++)
        if (m->at[i].device_type != 0)
            return &m->at[i];
    return NULL;
}

static bool put(hu_memory_difference *out, hu_arena *arena, hu_str pool, const char *key, const char *words, double a,
                double b)
{
    if (!(a > 0) && !(b > 0))
        return true;
    return hu_vec_push(arena, &out->sums, ((hu_bytes_change){pool, key, words, {0}, a, b}));
}

static double known(int64_t bytes)
{
    return bytes < 0 ? (double)NAN : (double)bytes;
}

static double free_of(const hu_memory_pool *p)
{
    return p->at_end.is_known ? (double)p->at_end.free_bytes : p->segments ? (double)p->free_bytes : (double)NAN;
}

static double largest_free_of(const hu_memory_pool *p)
{
    return p->at_end.is_known ? (double)p->at_end.largest_free_bytes
           : p->segments      ? (double)p->largest_free_bytes
                              : (double)NAN;
}

static bool compare_pools(const hu_memory_pool *a, const hu_memory_pool *b, hu_arena *arena, hu_memory_difference *out)
{
    bool ok = put(out, arena, a->name, "peak", "held at the peak", (double)a->peak_bytes, (double)b->peak_bytes) &&
              put(out, arena, a->name, "reserved", "reserved at most", known(a->reserved_bytes), known(b->reserved_bytes)) &&
              put(out, arena, a->name, "end", "held at the end", (double)a->last_bytes, (double)b->last_bytes) &&
              put(out, arena, a->name, "free", "reserved and free at the end", free_of(a), free_of(b)) &&
              put(out, arena, a->name, "largest_free", "the largest free piece of it", largest_free_of(a),
                  largest_free_of(b));

    for (hu_memory_category c = 0; ok && c < HU_MEMORY_CATEGORY_COUNT; c++)
        ok = put(out, arena, a->name, hu_memory_category_key(c), hu_memory_category_words(c), (double)a->peak_by[c],
                 (double)b->peak_by[c]);
    return ok;
}

/* What an operator holds of a pool at its peak; NaN: the list is cut, or others hold what nobody knows. */
static double held_by(const hu_memory *m, const hu_memory_pool *pool, hu_str op)
{
    double bytes = 0;

    for (size_t i = 0; i < m->n_holders; i++)
        if (hu_str_equal(m->holders[i].device, pool->name) && hu_str_equal(m->holders[i].op, op))
            bytes += (double)m->holders[i].bytes;
    return bytes > 0 || (m->n_holders < HU_MEMORY_HOLDERS && pool->peak_by[HU_MEMORY_BEFORE] == 0) ? bytes : (double)NAN;
}

static bool has_holder(const hu_memory_difference *out, hu_str op)
{
    for (size_t i = 0; i < out->holders.n; i++)
        if (hu_str_equal(out->holders.at[i].name, op))
            return true;
    return false;
}

static bool add_holders(const hu_memory *of, const hu_memory_pool *pool, const hu_memory *a, const hu_memory_pool *in_a,
                        const hu_memory *b, const hu_memory_pool *in_b, hu_arena *arena, hu_memory_difference *out)
{
    for (size_t i = 0; i < of->n_holders; i++) {
        const hu_memory_holder *h = &of->holders[i];

        if (h->op.n && hu_str_equal(h->device, pool->name) && !has_holder(out, h->op) &&
            !hu_vec_push(
                arena, &out->holders,
                ((hu_bytes_change){in_a->name, NULL, NULL, h->op, held_by(a, in_a, h->op), held_by(b, in_b, h->op)})))
            return false;
    }
    return true;
}

static double size_of(const hu_bytes_change *c)
{
    return isnan(c->a_bytes) || isnan(c->b_bytes) ? 0 : fabs(c->b_bytes - c->a_bytes);
}

static int by_change(const void *left, const void *right)
{
    const double a = size_of(left), b = size_of(right);

    return a != b ? (a < b) - (a > b)
                  : hu_str_compare(((const hu_bytes_change *)left)->name, ((const hu_bytes_change *)right)->name);
}

bool hu_memory_difference_measure(const hu_digest *a, const hu_digest *b, hu_arena *arena, hu_memory_difference *out)
{
    const hu_memory_pool *one = NULL, *other = NULL;
    size_t                n_common = 0;

    *out = (hu_memory_difference){0};
    for (size_t i = 0; i < a->memory.n; i++) {
        const hu_memory_pool *pool = &a->memory.at[i], *same = pool_of(&b->memory, pool->name);

        if (!same)
            continue;
        if (!n_common++) {
            one = pool;
            other = same;
        }
        if (!compare_pools(pool, same, arena, out))
            return false;
    }
    if (!n_common && (one = largest(&a->memory)) && (other = largest(&b->memory)) && !compare_pools(one, other, arena, out))
        return false;
    if (!one || !other)
        return true;
    if (!add_holders(&a->memory, one, &a->memory, one, &b->memory, other, arena, out) ||
        !add_holders(&b->memory, other, &a->memory, one, &b->memory, other, arena, out))
        return false;
    if (out->holders.n)
        qsort(out->holders.at, out->holders.n, sizeof *out->holders.at, by_change);
    return true;
}
