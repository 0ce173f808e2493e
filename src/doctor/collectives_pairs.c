/* SPDX-License-Identifier: Apache-2.0
 * collectives_pairs.c - messages between two ranks while all others sleep.
 *
 * Rank 0 says who: it sends both an order, and the rest naps until one comes, so that on a machine with few processors
 * nobody spins but the two.  The first of the two decides when it is enough; the first byte of a message says that
 * another one follows.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "doctor/collectives_run.h"
#include "doctor/collectives_watch.h"

typedef struct {
    int32_t peer; /* -1: the end */
    int32_t is_first;
    int64_t bytes;
    double  seconds;
} order;

typedef struct {
    int64_t n, calls, is_wrong;
    double  ns[HU_SAMPLES_MOST];
} answer;

static const double MATRIX_SHARE = 0.3, MATRIX_PAIR_S = 0.25;

enum { MATRIX_BYTES = 3000000, CALLS = 16 /* half round trips of a size, at least */ };

/* Half of a round trip, seconds. */
static double round_trips(const hu_measuring *m, const order *o, int64_t calls)
{
    const double began = hu_measuring_clock();

    for (int64_t i = 0; i < calls; i++) {
        m->mpi->put(m->in, (size_t)o->bytes, o->peer);
        m->mpi->get(m->out, (size_t)o->bytes, o->peer);
        hu_watch_tick();
    }
    return (hu_measuring_clock() - began) / 2;
}

typedef struct {
    const hu_measuring *m;
    const order        *o;
} trial;

static double try_trips(void *context, int64_t calls)
{
    const trial *t = context;

    return 2 * round_trips(t->m, t->o, calls);
}

static void play_first(const hu_measuring *m, const order *o, answer *a)
{
    unsigned char *in = (unsigned char *)m->in;
    const double   began = hu_measuring_clock();
    double         last;
    size_t         n = 0;

    for (int64_t i = 0; i < o->bytes; i++)
        in[i] = (unsigned char)(1 + i % 251);
    memset(m->out, 0, (size_t)o->bytes);
    round_trips(m, o, 1);
    a->is_wrong = memcmp(m->in, m->out, (size_t)o->bytes) != 0;
    a->calls = hu_measuring_calls(try_trips, &(trial){m, o}, &last);
    while (n < HU_SAMPLES_LEAST || (n < HU_SAMPLES_MOST && hu_measuring_clock() - began < o->seconds &&
                                    !(n % 10 == 0 && hu_measuring_is_enough(a->ns, n))))
        a->ns[n++] = round_trips(m, o, a->calls) / (double)a->calls * 1e9;
    a->n = (int64_t)n;
    in[0] = 0;
    round_trips(m, o, 1);
}

static void play_second(const hu_measuring *m, const order *o)
{
    const unsigned char *out = (const unsigned char *)m->out;

    do {
        m->mpi->get(m->out, (size_t)o->bytes, o->peer);
        m->mpi->put(m->out, (size_t)o->bytes, o->peer);
        hu_watch_tick();
    } while (out[0]);
}

static void play(const hu_measuring *m, const order *o, answer *a)
{
    char what[64];

    snprintf(what, sizeof what, "messages of ranks %d and %d", m->rank, o->peer);
    hu_watch_step(what, o->bytes, o->seconds);
    if (o->is_first)
        play_first(m, o, a);
    else
        play_second(m, o);
    hu_watch_step(NULL, 0, 0);
}

/* All but rank 0. */
static void obey(const hu_measuring *m)
{
    for (;;) {
        order  o;
        answer a = {0};

        m->mpi->receive(&o, sizeof o, 0);
        if (o.peer < 0)
            return;
        play(m, &o, &a);
        if (o.is_first)
            m->mpi->send(&a, sizeof a, 0);
    }
}

/* Rank 0: ranks a and b exchange messages. */
static void exchange(hu_measuring *m, int a, int b, int64_t bytes, double seconds, answer *out)
{
    const order orders[2] = {{b, 1, bytes, seconds}, {a, 0, bytes, seconds}};
    char        what[64];

    for (int i = 0; i < 2; i++)
        if (orders[1 - i].peer != 0)
            m->mpi->send(&orders[i], sizeof orders[i], orders[1 - i].peer);
    *out = (answer){0};
    if (a == 0 || b == 0)
        play(m, &orders[a != 0], out);
    if (a != 0) {
        snprintf(what, sizeof what, "messages of ranks %d and %d", a, b);
        hu_watch_step(what, bytes, seconds + 5);
        m->mpi->receive(out, sizeof *out, a);
    }
    m->now_s = hu_measuring_clock() - m->began_s;
}

static double median_of(answer *a)
{
    hu_timing t;

    hu_timing_of(a->ns, (size_t)a->n, &t);
    return a->is_wrong ? (double)NAN : t.median_ns;
}

static void try_pair(hu_measuring *m, hu_pair *p, double seconds)
{
    answer a;

    exchange(m, p->a, p->b, m->c->pair_latency_bytes, seconds / 2, &a);
    p->latency_ns = fmin(p->latency_ns, median_of(&a));
    p->is_wrong |= a.is_wrong != 0;
    exchange(m, p->a, p->b, m->c->pair_bytes, seconds / 2, &a);
    p->ns = fmin(p->ns, median_of(&a));
    p->is_wrong |= a.is_wrong != 0;
}

/* Machines, or ranks where there is only one machine; each with each, or in a ring. */
static bool list_pairs(hu_measuring *m)
{
    hu_collectives *c = m->c;
    const int       n = c->n_machines > 1 ? (int)c->n_machines : c->size;
    int            *rank = hu_arena_calloc(m->arena, (size_t)n, sizeof *rank);

    c->pairs_are_machines = c->n_machines > 1;
    c->pairs_are_all = n <= HU_PLACES_MOST;
    c->pairs = hu_arena_calloc(m->arena, c->pairs_are_all ? (size_t)(n * (n - 1) / 2) : (size_t)n, sizeof *c->pairs);
    if (!rank || !c->pairs)
        return false;
    for (int i = 0; i < n; i++)
        rank[i] = c->pairs_are_machines ? c->machines[i].first : i;
    for (int i = 0; i < n; i++)
        for (int k = i + 1; k < n; k++)
            if (c->pairs_are_all || k == i + 1)
                c->pairs[c->n_pairs++] = (hu_pair){.a = rank[i], .b = rank[k], .latency_ns = (double)NAN, .ns = (double)NAN};
    if (!c->pairs_are_all)
        c->pairs[c->n_pairs++] = (hu_pair){.a = rank[0], .b = rank[n - 1], .latency_ns = (double)NAN, .ns = (double)NAN};
    return true;
}

/* Only who was slow twice is the odd one: after the second time, others may look slow beside those that are fast now. */
static void forgive_the_rest(hu_collectives *c)
{
    bool is_sure = true;

    for (size_t i = 0; i < c->n_pairs; i++)
        is_sure &= !c->pairs[i].is_odd || c->pairs[i].is_tried_twice;
    for (size_t i = 0; i < c->n_pairs; i++)
        c->pairs[i].is_odd &= is_sure;
    if (!is_sure)
        c->odd_rank = -1;
}

/* What somebody's backup disturbed is fast a second time: the better one counts. */
static void measure_matrix(hu_measuring *m, double until_s)
{
    hu_collectives *c = m->c;
    const double    seconds = fmin(MATRIX_PAIR_S, (until_s - m->now_s) / (double)c->n_pairs);

    for (size_t i = 0; i < c->n_pairs && m->now_s < until_s; i++)
        try_pair(m, &c->pairs[i], seconds);
    hu_collectives_judge(c);
    for (size_t i = 0; i < c->n_pairs; i++) {
        c->pairs[i].is_tried_twice = c->pairs[i].is_odd;
        if (c->pairs[i].is_odd)
            try_pair(m, &c->pairs[i], 2 * seconds);
    }
    hu_collectives_judge(c);
    forgive_the_rest(c);
}

/* Series of the pair, once for each pair. */
static void add_series(hu_collectives *c, int a, int b, const char *role)
{
    for (size_t i = 0; i < c->n_series; i++)
        if (c->series[i].kind == HU_COMM_EXCHANGE && c->series[i].a == a && c->series[i].b == b)
            return;
    if (c->n_series < HU_SERIES_MOST)
        c->series[c->n_series++] = (hu_series){.kind = HU_COMM_EXCHANGE, .a = a, .b = b, .role = role, .factor = 1};
}

static void choose_pairs(hu_collectives *c)
{
    const hu_pair *slow = NULL, *fast = NULL;

    if (c->pairs_are_machines && c->machines[0].second >= 0)
        add_series(c, c->machines[0].first, c->machines[0].second, "neighbours on one machine");
    add_series(c, c->pairs[0].a, c->pairs[0].b, c->pairs_are_machines ? "neighbours on two machines" : "neighbours");
    for (size_t i = 0; i < c->n_pairs; i++) {
        if (isnan(c->pairs[i].ns))
            continue;
        slow = !slow || c->pairs[i].ns > slow->ns ? &c->pairs[i] : slow;
        fast = !fast || c->pairs[i].ns < fast->ns ? &c->pairs[i] : fast;
    }
    if (slow && c->n_pairs > 1)
        add_series(c, slow->a, slow->b, "slowest pair");
    if (fast && c->n_pairs > 1)
        add_series(c, fast->a, fast->b, "fastest pair");
}

static bool measure_sizes(hu_measuring *m, hu_series *s, const int64_t *sizes, size_t n, double until_s)
{
    for (size_t i = 0; i < n; i++) {
        hu_timing   *t = &s->at[s->n];
        const double left = until_s - m->now_s, foreseen = CALLS * hu_measuring_foresee(s, sizes[i]);
        answer       a;

        *t = (hu_timing){.bytes = sizes[i], .wrong_rank = -1};
        hu_timing_of(NULL, 0, t);
        s->n++;
        if (sizes[i] > m->room) {
            t->lacks_memory = true;
            continue;
        }
        if (left < foreseen || left <= 0) {
            t->foreseen_s = foreseen;
            continue;
        }
        exchange(m, s->a, s->b, sizes[i], left / (double)(n - i), &a);
        t->wrong_rank = a.is_wrong ? s->a : -1;
        if (!hu_measuring_keep(m, a.ns, (size_t)a.n, a.calls, t))
            return false;
    }
    return true;
}

static bool lead(hu_measuring *m, const int64_t *sizes, size_t n_sizes, double until_s)
{
    hu_collectives *c = m->c;
    const size_t    before = c->n_series;

    if (sizes[0] > m->room)
        return true;
    c->pair_latency_bytes = sizes[0];
    c->pair_bytes = sizes[0];
    for (size_t i = 0; i < n_sizes; i++)
        if (sizes[i] <= MATRIX_BYTES && sizes[i] <= m->room)
            c->pair_bytes = sizes[i];
    if (!list_pairs(m))
        return false;
    measure_matrix(m, m->now_s + MATRIX_SHARE * (until_s - m->now_s));
    choose_pairs(c);
    for (size_t i = before; i < c->n_series; i++)
        if (!measure_sizes(m, &c->series[i], sizes, n_sizes, m->now_s + (until_s - m->now_s) / (double)(c->n_series - i)))
            return false;
    return true;
}

bool hu_measure_pairs(hu_measuring *m, const int64_t *sizes, size_t n_sizes, double until_s)
{
    const order end = {.peer = -1};
    bool        is_fine;

    hu_watch_step(NULL, 0, 0);
    if (m->rank) {
        obey(m);
        return true;
    }
    is_fine = lead(m, sizes, n_sizes, until_s);
    for (int r = 1; r < m->size; r++)
        m->mpi->send(&end, sizeof end, r);
    return is_fine;
}
