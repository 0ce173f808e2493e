/* SPDX-License-Identifier: Apache-2.0
 * inspector.c - sorts calls by size and compares the ranks of each.
 *
 * A rank's time in a collective is that of its kernel, which waits for the last rank.  So the rank with the shortest time
 * is the one that came last, its time is what the bytes take, and what the others take longer they waited for it.  Send and
 * Recv wait in the same way, but nothing says which two belong together.
 */
#include "analyze/inspector.h"

#include <math.h>
#include <stdlib.h>

#include "base/sort.h"
#include "base/stats.h"

typedef struct {
    const hu_log_inspector *log;
    hu_arena               *arena;
    hu_inspector_answer    *out;
    const int64_t          *job_ranks; /* of processes; -1: it has several, or is not known */
    uint32_t               *places;    /* in out->ranks, from 1 on, by rank of the job; 0: not there yet */
    size_t                  n_places;
    int64_t                *last_of;            /* calls of a size in which that place of out->ranks came last */
    size_t                 *touched, n_touched; /* places where it is not 0 */
    int64_t                *values;             /* room for numbers to sort */
} measuring;

enum { SCALE = 1000 }; /* of bandwidths that are sorted as whole numbers */

static int compare(const void *a, const void *b)
{
    const hu_inspector_call *x = *(const hu_inspector_call *const *)a, *y = *(const hu_inspector_call *const *)b;

#define BY(member)              \
    if (x->member != y->member) \
    return x->member < y->member ? -1 : 1
    BY(op);
    BY(bytes);
    BY(ranks);
    BY(comm);
    BY(sn);
    BY(process);
    BY(rank);
#undef BY
    return 0;
}

static int by_total(const void *a, const void *b)
{
    const hu_inspector_size *x = a, *y = b;

    return x->total_ns != y->total_ns ? (x->total_ns < y->total_ns ? 1 : -1) : (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

static int by_held(const void *a, const void *b)
{
    const hu_inspector_rank *x = a, *y = b;

    return x->held_ns != y->held_ns ? (x->held_ns < y->held_ns ? 1 : -1) : (x->rank > y->rank) - (x->rank < y->rank);
}

/* The rank of each process in the first communicator of the whole job. */
static const int64_t *find_ranks(const hu_log_inspector *log, int64_t world, hu_arena *arena)
{
    int64_t *ranks = hu_arena_alloc(arena, (log->processes.n + 1) * sizeof *ranks);
    bool    *is_several = hu_arena_calloc(arena, log->processes.n + 1, sizeof *is_several);
    uint32_t comm = 0;

    if (!ranks || !is_several)
        return NULL;
    for (size_t i = 0; i < log->processes.n; i++)
        ranks[i] = -1;
    while (comm < log->comms.n && log->comms.at[comm].ranks != world)
        comm++;
    for (size_t i = 0; i < log->calls.n; i++) {
        const hu_inspector_call *c = &log->calls.at[i];

        if (c->comm != comm)
            continue;
        is_several[c->process] |= ranks[c->process] >= 0 && ranks[c->process] != c->rank;
        ranks[c->process] = c->rank;
    }
    for (size_t i = 0; i < log->processes.n; i++)
        ranks[i] = is_several[i] ? -1 : ranks[i];
    return ranks;
}

static int64_t rank_of(const measuring *m, const hu_inspector_call *c)
{
    return c->ranks == m->out->world ? c->rank : m->job_ranks[c->process];
}

/* The place of a rank in the answer; false: no memory.  *place is SIZE_MAX where nobody knows which rank it is. */
static bool place_of(measuring *m, const hu_inspector_call *c, size_t *place)
{
    const int64_t rank = rank_of(m, c);

    *place = SIZE_MAX;
    if (rank < 0 || (size_t)rank >= m->n_places)
        return true;
    if (m->places[rank] == 0) {
        if (!hu_vec_push(m->arena, &m->out->ranks, ((hu_inspector_rank){.rank = rank, .process = c->process})))
            return false;
        m->places[rank] = (uint32_t)m->out->ranks.n;
    }
    *place = m->places[rank] - 1;
    return true;
}

/* One call of several ranks. */
static bool compare_ranks(measuring *m, const hu_inspector_call *const *calls, size_t n, hu_inspector_size *size)
{
    const hu_inspector_call *first = calls[0];
    double                   waits = 0;
    size_t                   last, place;

    for (size_t i = 1; i < n; i++)
        first = calls[i]->ns < first->ns ? calls[i] : first;
    if (!place_of(m, first, &last))
        return false;
    for (size_t i = 0; i < n; i++) {
        const double wait = (double)(calls[i]->ns - first->ns);

        if (!place_of(m, calls[i], &place))
            return false;
        waits += wait;
        if (place == SIZE_MAX)
            continue;
        m->out->ranks.at[place].calls++;
        m->out->ranks.at[place].wait_ns += wait;
        m->out->ranks.at[place].ns += (double)calls[i]->ns;
    }
    size->wait_ns += waits;
    m->out->compared++;
    if (last != SIZE_MAX && waits > 0) {
        m->out->ranks.at[last].n_last++;
        m->out->ranks.at[last].held_ns += waits / (double)(n - 1);
        if (m->last_of[last]++ == 0)
            m->touched[m->n_touched++] = last;
    }
    return true;
}

static double median_of(int64_t *values, size_t n)
{
    hu_sort_i64(values, n);
    return hu_stats_quantile(values, n, 0.5);
}

/* Of what is sorted: medians of times and bandwidths. */
static void measure_records(measuring *m, const hu_inspector_call *const *calls, size_t n, hu_inspector_size *size)
{
    size_t n_bus = 0, n_alg = 0;

    for (size_t i = 0; i < n; i++) {
        m->values[i] = calls[i]->ns;
        size->total_ns += (double)calls[i]->ns;
    }
    size->median_ns = median_of(m->values, n);
    for (size_t i = 0; i < n; i++)
        if (isfinite(calls[i]->bus))
            m->values[n_bus++] = llround(calls[i]->bus * SCALE);
    size->bus = median_of(m->values, n_bus) / SCALE;
    for (size_t i = 0; i < n; i++)
        if (isfinite(calls[i]->alg))
            m->values[n_alg++] = llround(calls[i]->alg * SCALE);
    size->alg = median_of(m->values, n_alg) / SCALE;
}

static bool is_same_call(const hu_inspector_call *a, const hu_inspector_call *b)
{
    return a->comm == b->comm && a->sn == b->sn && a->sn >= 0;
}

/* Of the calls that several ranks tell: what the last one's time is, and who that is. */
static bool measure_calls(measuring *m, const hu_inspector_call *const *calls, size_t n, hu_inspector_size *size)
{
    size_t   n_compared = 0, n_bus = 0;
    int64_t  most = 0;
    int64_t *bus = m->values + n;

    m->n_touched = 0;
    for (size_t from = 0, to; from < n; from = to) {
        int64_t least = calls[from]->ns;
        double  best = calls[from]->bus;

        for (to = from + 1; to < n && is_same_call(calls[from], calls[to]); to++) {
            least = calls[to]->ns < least ? calls[to]->ns : least;
            best = fmax(best, calls[to]->bus);
        }
        size->count += size->op->is_p2p ? (int64_t)(to - from) : 1;
        if (to - from < 2 || size->op->is_p2p)
            continue;
        if (!compare_ranks(m, calls + from, to - from, size))
            return false;
        m->values[n_compared++] = least;
        if (isfinite(best))
            bus[n_bus++] = llround(best * SCALE);
    }
    size->least_ns = median_of(m->values, n_compared);
    size->best_bus = median_of(bus, n_bus) / SCALE;
    for (size_t i = 0; i < m->n_touched; i++) {
        const size_t place = m->touched[i];

        if (m->last_of[place] > most) {
            most = m->last_of[place];
            size->last = m->out->ranks.at[place].rank;
            size->last_share = (double)most / (double)n_compared;
        }
        m->last_of[place] = 0;
    }
    return true;
}

/* Calls of one operation and size, of communicators of as many ranks. */
static bool take_size(measuring *m, const hu_inspector_call *const *calls, size_t n)
{
    hu_inspector_size size = {.op = &m->log->ops.at[calls[0]->op],
                              .bytes = calls[0]->bytes,
                              .ranks = calls[0]->ranks,
                              .records = (int64_t)n,
                              .last = -1};

    measure_records(m, calls, n, &size);
    if (!measure_calls(m, calls, n, &size))
        return false;
    if (!size.op->is_p2p)
        m->out->ns += size.total_ns;
    m->out->wait_ns += size.wait_ns;
    return hu_vec_push(m->arena, &m->out->sizes, size);
}

static bool is_same_size(const hu_inspector_call *a, const hu_inspector_call *b)
{
    return a->op == b->op && a->bytes == b->bytes && a->ranks == b->ranks;
}

static bool take_all(measuring *m)
{
    const size_t              n = m->log->calls.n;
    const hu_inspector_call **calls = hu_arena_alloc(m->arena, n * sizeof *calls);

    if (!calls)
        return false;
    for (size_t i = 0; i < n; i++)
        calls[i] = &m->log->calls.at[i];
    qsort(calls, n, sizeof *calls, compare);
    for (size_t from = 0, to; from < n; from = to) {
        for (to = from + 1; to < n && is_same_size(calls[from], calls[to]); to++)
            continue;
        if (!take_size(m, calls + from, to - from))
            return false;
    }
    return true;
}

bool hu_inspector_measure(const hu_log_inspector *log, hu_arena *arena, hu_inspector_answer *out)
{
    measuring m = {.log = log, .arena = arena, .out = out};

    *out = (hu_inspector_answer){0};
    if (log->calls.n == 0)
        return true;
    for (size_t i = 0; i < log->calls.n; i++) {
        const hu_inspector_call *c = &log->calls.at[i];

        out->world = c->ranks > out->world ? c->ranks : out->world;
        m.n_places = c->rank >= 0 && (size_t)c->rank >= m.n_places ? (size_t)c->rank + 1 : m.n_places;
    }
    m.job_ranks = find_ranks(log, out->world, arena);
    m.places = hu_arena_calloc(arena, m.n_places + 1, sizeof *m.places);
    m.last_of = hu_arena_calloc(arena, m.n_places + 1, sizeof *m.last_of);
    m.touched = hu_arena_alloc(arena, (m.n_places + 1) * sizeof *m.touched);
    m.values = hu_arena_alloc(arena, 2 * log->calls.n * sizeof *m.values);
    if (!m.job_ranks || !m.places || !m.last_of || !m.touched || !m.values || !take_all(&m))
        return false;
    if (out->sizes.n)
        qsort(out->sizes.at, out->sizes.n, sizeof *out->sizes.at, by_total);
    if (out->ranks.n)
        qsort(out->ranks.at, out->ranks.n, sizeof *out->ranks.at, by_held);
    return true;
}
