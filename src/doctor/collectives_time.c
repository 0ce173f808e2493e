/* SPDX-License-Identifier: Apache-2.0
 * collectives_time.c - times one size of one collective, and checks what it computed.
 *
 * A sample is a barrier and then some calls in a row, so many that the clock and the way out of the barrier weigh
 * little; its time is that of the slowest rank.  All ranks see the same numbers, so all decide alike when it is enough.
 * Values are small whole numbers: their sum is exact in float, in whatever order it is added up, up to 16,000 ranks.
 */
#include <math.h>
#include <string.h>
#include <time.h>

#include "doctor/collectives_run.h"
#include "doctor/collectives_watch.h"

enum { PERIOD = 1021, STRIDE = 101, ROUND = 16, TRIALS_LEAST = 3, CALLS_MOST = 1024, GROWTH = 4 };

static const double SAMPLE_S = 200e-6;
static const double LEAST_S = 0.05; /* a shorter look sees one mood of the machine */
static const double LONG_S = 0.02;  /* a sample that took so long met other programs, or is of one long call */

double hu_measuring_clock(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int64_t hu_measuring_calls(double (*sample)(void *context, int64_t calls), void *context, double *sample_s)
{
    int64_t calls = 1;

    for (int again = 0; again < TRIALS_LEAST && calls < CALLS_MOST; again++) {
        *sample_s = sample(context, calls);
        if (*sample_s >= SAMPLE_S / 2 && *sample_s < LONG_S)
            continue;
        if (*sample_s >= LONG_S)
            break;
        calls *= GROWTH;
        again = -1;
    }
    if (*sample_s >= LONG_S && calls > 1) /* the processors are not its own: short samples can be ended in time */
        calls /= GROWTH;
    return calls;
}

/* What rank r has at place i. */
static float value_of(int64_t r, int64_t i)
{
    return (float)((i + STRIDE * r) % PERIOD);
}

static void fill(const hu_measuring *m, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        m->in[i] = value_of(m->rank, i);
    memset(m->out, 0xff, (size_t)n * sizeof *m->out); /* NaN: what nobody writes is not right by chance */
}

/* A row of values that goes through PERIOD from where it begins: `of` holds what comes at each place of it. */
static bool is_row(const float *got, int64_t n, const float *of, int64_t from)
{
    int64_t at = from % PERIOD;

    for (int64_t i = 0; i < n; i++) {
        if (got[i] != of[at])
            return false;
        at = at + 1 == PERIOD ? 0 : at + 1;
    }
    return true;
}

static bool is_right(const hu_measuring *m, hu_comm_kind kind, int64_t each)
{
    float sums[PERIOD], ones[PERIOD];

    for (int64_t p = 0; p < PERIOD; p++) {
        ones[p] = (float)p;
        sums[p] = 0;
        for (int64_t r = 0; r < m->size; r++)
            sums[p] += value_of(r, p);
    }
    if (kind == HU_COMM_ALL_REDUCE)
        return is_row(m->out, each * m->size, sums, 0);
    if (kind == HU_COMM_REDUCE_SCATTER)
        return is_row(m->out, each, sums, each * m->rank);
    for (int64_t r = 0; r < m->size; r++)
        if (!is_row(m->out + r * each, each, ones, STRIDE * r + (kind == HU_COMM_ALL_TO_ALL ? each * m->rank : 0)))
            return false;
    return true;
}

static void call(const hu_measuring *m, hu_comm_kind kind, size_t each)
{
    switch (kind) {
    case HU_COMM_ALL_REDUCE:
        m->mpi->all_reduce(m->in, m->out, each * (size_t)m->size);
        break;
    case HU_COMM_ALL_GATHER:
        m->mpi->all_gather(m->in, m->out, each);
        break;
    case HU_COMM_REDUCE_SCATTER:
        m->mpi->reduce_scatter(m->in, m->out, each);
        break;
    default:
        m->mpi->all_to_all(m->in, m->out, each);
    }
    hu_watch_tick();
}

/* Seconds of `calls` calls, behind a barrier. */
static double sample(const hu_measuring *m, hu_comm_kind kind, size_t each, int64_t calls)
{
    double began;

    m->mpi->barrier();
    began = hu_measuring_clock();
    for (int64_t i = 0; i < calls; i++)
        call(m, kind, each);
    return hu_measuring_clock() - began;
}

typedef struct {
    const hu_measuring *m;
    hu_comm_kind        kind;
    size_t              each;
} trial;

/* The same of the slowest rank, known to all. */
static double try_calls(void *context, int64_t calls)
{
    const trial *t = context;
    double       seconds = sample(t->m, t->kind, t->each, calls);

    t->m->mpi->maximum(&seconds, 1);
    return seconds;
}

bool hu_measure_collective(hu_measuring *m, hu_comm_kind kind, double share_s, double foreseen_s, hu_timing *out)
{
    const int64_t each = out->bytes / (int64_t)sizeof(float) / m->size;
    double        samples[HU_SAMPLES_MOST], agree[ROUND + 1], last;
    const double  began = m->now_s;
    size_t        n = 0;
    int64_t       calls, round;

    hu_watch_step(hu_comm_kind_words(kind), out->bytes, 20 * foreseen_s);
    fill(m, each * m->size);
    agree[0] = sample(m, kind, (size_t)each, 1);
    agree[1] = is_right(m, kind, each) ? 0 : m->rank + 1;
    m->mpi->maximum(agree, 2);
    out->wrong_rank = (int64_t)agree[1] - 1;
    calls = hu_measuring_calls(try_calls, &(trial){m, kind, (size_t)each}, &last);
    round = (int64_t)fmin(ROUND, fmax(1, share_s / 5 / fmax(last, 1e-9)));
    while (n < HU_SAMPLES_LEAST || (n < HU_SAMPLES_MOST && m->now_s - began < share_s &&
                                    !(m->now_s - began > LEAST_S && hu_measuring_is_enough(samples, n)))) {
        for (int64_t i = 0; i < round; i++)
            agree[i] = sample(m, kind, (size_t)each, calls);
        agree[round] = hu_measuring_clock() - m->began_s;
        m->mpi->maximum(agree, (size_t)round + 1);
        m->now_s = agree[round];
        for (int64_t i = 0; i < round && n < HU_SAMPLES_MOST; i++)
            samples[n++] = agree[i] / (double)calls * 1e9;
    }
    return hu_measuring_keep(m, samples, n, calls, out);
}
