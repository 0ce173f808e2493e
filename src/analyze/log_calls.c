/* SPDX-License-Identifier: Apache-2.0
 * log_calls.c - ranks of a communicator call the same collectives in the same order, so the n-th call of one belongs to
 * the n-th of each other.
 *
 * Traps: where a line is torn, a rank has a call more than is known, so nothing is compared.  A log that ends while the job
 * runs has ranks at different calls, and nothing hangs: what is measured is no verdict.  A rank that waits in another
 * communicator is behind in this one without being the cause.  Where NCCL does not print which communicator an address is
 * (no SUBSYS=INIT), members belong together if there are as many of that size as it has ranks.
 */
#include "analyze/log_calls.h"

#include <stdlib.h>

enum {
    REAL_REDUCTIONS = 5, /* sum to avg; what is above is a number of the process's own */
    MANY = 2048          /* members, of which it is not asked who waits elsewhere */
};

const hu_log_call *hu_log_call_of(const hu_log_member *m, uint64_t number)
{
    if (number >= m->n || m->n - number > HU_LOG_CALLS_KEPT)
        return NULL;
    return &m->kept.at[number % HU_LOG_CALLS_KEPT];
}

static bool is_same(const hu_log_call *a, const hu_log_call *b)
{
    return a->operation == b->operation && a->count == b->count && a->datatype == b->datatype && a->root == b->root &&
           (a->reduction == b->reduction || a->reduction >= REAL_REDUCTIONS || b->reduction >= REAL_REDUCTIONS);
}

static int by_communicator(const void *left, const void *right)
{
    const hu_log_member *a = *(const hu_log_member *const *)left, *b = *(const hu_log_member *const *)right;

    if (a->comm_id != b->comm_id)
        return a->comm_id < b->comm_id ? -1 : 1;
    if (a->ranks != b->ranks)
        return a->ranks < b->ranks ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return a < b ? -1 : a > b;
}

/* Members of one communicator, by their ranks. */
typedef struct {
    const hu_log_member **at;
    size_t                n;
} members;

static bool is_of_same(const hu_log_member *a, const hu_log_member *b)
{
    return a->comm_id == b->comm_id && a->ranks == b->ranks;
}

/* Do they surely belong together, and does the log have all their calls? */
static bool is_comparable(const members *c)
{
    bool has_ranks = true;

    for (size_t i = 0; i < c->n; i++) {
        if (c->at[i]->has_p2p)
            return false;
        if (i && c->at[i]->rank >= 0 && c->at[i]->rank == c->at[i - 1]->rank)
            return false;
        has_ranks &= c->at[i]->has_init;
    }
    return (has_ranks && c->at[0]->comm_id) || (int64_t)c->n == c->at[0]->ranks;
}

static bool are_all_over(const members *c)
{
    for (size_t i = 0; i < c->n; i++)
        if (!c->at[i]->is_over)
            return false;
    return true;
}

/* How many made the same call of that number as this one did. */
static size_t count_same(const members *c, const hu_log_member *m, uint64_t number)
{
    size_t n = 0;

    for (size_t i = 0; i < c->n; i++)
        n += is_same(hu_log_call_of(c->at[i], number), hu_log_call_of(m, number));
    return n;
}

/* From `number` on, one's calls are those of the other one later, as far as both are known: two of them at least. */
static bool has_skipped(const hu_log_member *odd, const hu_log_member *other, uint64_t number)
{
    uint64_t n = 0;

    for (;; n++) {
        const hu_log_call *a = hu_log_call_of(odd, number + n), *b = hu_log_call_of(other, number + n + 1);

        if (!a || !b)
            return n >= 2;
        if (!is_same(a, b))
            return false;
    }
}

/* False: no memory. */
static bool take_differing(const members *c, uint64_t number, hu_arena *arena, hu_calls_answer *out)
{
    const hu_log_member *common = c->at[0];
    size_t               most = 0;

    for (size_t i = 0; i < c->n && 2 * most <= c->n; i++) {
        const size_t n = count_same(c, c->at[i], number);

        if (n > most) {
            most = n;
            common = c->at[i];
        }
    }
    out->cause = HU_CALLS_DIFFER;
    out->ranks = common->ranks;
    out->other = common;
    out->number = number + 1;
    out->n_odd = 0;
    if (!(out->odd = hu_arena_calloc(arena, c->n, sizeof(const hu_log_member *))))
        return false;
    for (size_t i = 0; i < c->n; i++)
        if (!is_same(hu_log_call_of(c->at[i], number), hu_log_call_of(common, number)))
            out->odd[out->n_odd++] = c->at[i];
    out->is_skip = out->n_odd == 1 && has_skipped(out->odd[0], common, number);
    return true;
}

/* Whose calls are the fewest; false: all have as many. */
static bool find_range(const members *c, uint64_t *least, uint64_t *most)
{
    *least = UINT64_MAX;
    *most = 0;
    for (size_t i = 0; i < c->n; i++) {
        *least = c->at[i]->n < *least ? c->at[i]->n : *least;
        *most = c->at[i]->n > *most ? c->at[i]->n : *most;
    }
    return *least < *most;
}

/* The first call in which they differ, of those that all have and that are kept. */
static bool find_difference(const members *c, uint64_t least, uint64_t most, uint64_t *number)
{
    for (*number = most > HU_LOG_CALLS_KEPT ? most - HU_LOG_CALLS_KEPT : 0; *number < least; ++*number)
        for (size_t i = 1; i < c->n; i++)
            if (!is_same(hu_log_call_of(c->at[i], *number), hu_log_call_of(c->at[0], *number)))
                return true;
    return false;
}

/* Does its process wait in another communicator, where it is not behind? */
static bool waits_elsewhere(const hu_log_calls *calls, const hu_log_member *odd)
{
    for (size_t i = 0; i < calls->members.n && calls->members.n <= MANY; i++) {
        const hu_log_member *m = &calls->members.at[i];
        bool                 is_last = true, is_ahead = false;

        if (m->comm_id == 0 || is_of_same(m, odd) || !hu_str_equal(m->process, odd->process))
            continue;
        for (size_t k = 0; k < calls->members.n; k++)
            if (is_of_same(m, &calls->members.at[k])) {
                is_ahead |= calls->members.at[k].n < m->n;
                is_last &= calls->members.at[k].n <= m->n;
            }
        if (is_ahead && is_last)
            return true;
    }
    return false;
}

/* False: no memory. */
static bool take_behind(const members *c, uint64_t least, hu_arena *arena, hu_calls_answer *out)
{
    out->cause = HU_CALLS_BEHIND;
    out->ranks = c->at[0]->ranks;
    out->number = least + 1;
    out->least = UINT64_MAX;
    out->other = NULL;
    out->n_odd = 0;
    if (!(out->odd = hu_arena_calloc(arena, c->n, sizeof(const hu_log_member *))))
        return false;
    for (size_t i = 0; i < c->n; i++)
        if (c->at[i]->n == least) {
            out->odd[out->n_odd++] = c->at[i];
        } else {
            out->least = c->at[i]->n < out->least ? c->at[i]->n : out->least;
            out->other = !out->other || c->at[i]->n > out->other->n ? c->at[i] : out->other;
        }
    return true;
}

/* *is_final: no other communicator tells more.  False: no memory. */
static bool measure(const hu_log_calls *calls, const members *c, hu_arena *arena, hu_calls_answer *out, bool *is_final)
{
    hu_calls_answer found = *out;
    uint64_t        least, most, number;
    bool            is_uneven;

    *is_final = false;
    if (calls->n_torn || !is_comparable(c)) {
        out->n_unknown++;
        return true;
    }
    out->n_communicators++;
    found.n_communicators++;
    is_uneven = find_range(c, &least, &most);
    if (find_difference(c, least, most, &number)) {
        *is_final = true;
        return take_differing(c, number, arena, out);
    }
    if (!is_uneven || are_all_over(c))
        return true;
    if (!take_behind(c, least, arena, &found))
        return false;
    if (out->cause == HU_CALLS_ALIKE || !waits_elsewhere(calls, found.odd[0]))
        *out = found;
    return true;
}

bool hu_log_calls_measure(const hu_log_calls *calls, hu_arena *arena, hu_calls_answer *out)
{
    const size_t          n = calls->members.n;
    const hu_log_member **sorted = hu_arena_calloc(arena, n + 1, sizeof *sorted);
    bool                  is_final = false;

    *out = (hu_calls_answer){.cause = HU_CALLS_ALIKE};
    if (!sorted)
        return false;
    for (size_t i = 0; i < n && calls->n; i++)
        sorted[i] = &calls->members.at[i];
    if (calls->n == 0)
        return true;
    qsort(sorted, n, sizeof *sorted, by_communicator);
    for (size_t from = 0, to; from < n && !is_final; from = to) {
        uint64_t sum = 0;

        for (to = from; to < n && is_of_same(sorted[to], sorted[from]); to++)
            sum += sorted[to]->n;
        if (to > from + 1 && sum && !measure(calls, &(members){&sorted[from], to - from}, arena, out, &is_final))
            return false;
    }
    return true;
}
