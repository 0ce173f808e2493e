/* SPDX-License-Identifier: Apache-2.0
 * price_memo.c - a list, because a report asks some hundred questions, and comparing numbers costs nothing beside a replay.
 *
 * Only the length of the step is remembered.  Who needs costs or instants of a replay has to make it.
 */
#include "graph/price_memo.h"

#include <math.h>

#include "base/hash.h"

typedef struct {
    uint64_t          hash;
    hu_price_question question;
    double            step_ns;
} answer;

struct hu_price_memo {
    hu_arena *arena;
    HU_VEC(answer) known;
};

hu_price_memo *hu_price_memo_new(hu_arena *arena)
{
    hu_price_memo *m = hu_arena_calloc(arena, 1, sizeof *m);

    if (m)
        m->arena = arena;
    return m;
}

/* Factors count by their bits: no two that are equal may give different steps, and a NaN is itself. */
static uint64_t bits_of(double factor)
{
    uint64_t bits;

    memcpy(&bits, &factor, sizeof bits);
    return bits;
}

static uint64_t hash_of(const hu_price_question *q)
{
    uint64_t h = hu_hash_u64((uint64_t)q->gap_more_ns ^ (uint64_t)q->anchor << 62 ^ (uint64_t)q->n);

    for (size_t i = 0; i < q->n; i++) {
        const hu_edit *e = &q->edits[i];

        h = hu_hash_mix(h ^ bits_of(e->factor), hu_hash_u64((uint64_t)e->kind << 8 | (uint64_t)e->flavour) | 1);
        h ^= hu_hash_mix(hu_hash_u64((uint64_t)e->rank), hu_hash_bytes(e->glob.p, e->glob.n) | 1);
    }
    return h;
}

static bool is_same_edit(const hu_edit *a, const hu_edit *b)
{
    return a->kind == b->kind && a->flavour == b->flavour && bits_of(a->factor) == bits_of(b->factor) &&
           a->rank == b->rank && hu_str_equal(a->glob, b->glob);
}

static bool is_same(const hu_price_question *a, const hu_price_question *b)
{
    if (a->n != b->n || a->anchor != b->anchor || a->gap_more_ns != b->gap_more_ns)
        return false;
    for (size_t i = 0; i < a->n; i++)
        if (!is_same_edit(&a->edits[i], &b->edits[i]))
            return false;
    return true;
}

static const answer *find(const hu_price_memo *m, const hu_price_question *q, uint64_t hash)
{
    for (size_t i = 0; i < m->known.n; i++)
        if (m->known.at[i].hash == hash && is_same(&m->known.at[i].question, q))
            return &m->known.at[i];
    return NULL;
}

double hu_price_memo_get(const hu_price_memo *m, const hu_price_question *q)
{
    const answer *known = find(m, q, hash_of(q));

    return known ? known->step_ns : (double)NAN;
}

/* Whoever asked may forget the texts of his edits. */
static bool copy_edits(hu_arena *arena, hu_price_question *q)
{
    hu_edit *copy = hu_arena_alloc(arena, (q->n + 1) * sizeof *copy);

    for (size_t i = 0; copy && i < q->n; i++) {
        copy[i] = q->edits[i];
        if (!copy[i].glob.n)
            continue;
        copy[i].glob = hu_arena_copy(arena, copy[i].glob);
        if (!copy[i].glob.p)
            return false;
    }
    q->edits = copy;
    return copy != NULL;
}

void hu_price_memo_put(hu_price_memo *m, const hu_price_question *q, double step_ns)
{
    answer fresh = {.hash = hash_of(q), .question = *q, .step_ns = step_ns};

    if (!find(m, q, fresh.hash) && copy_edits(m->arena, &fresh.question))
        (void)hu_vec_push(m->arena, &m->known, fresh);
}

void hu_price_memo_join(hu_price_memo *m, const hu_price_memo *other)
{
    for (size_t i = 0; i < other->known.n; i++)
        hu_price_memo_put(m, &other->known.at[i].question, other->known.at[i].step_ns);
}
