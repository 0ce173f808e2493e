/* SPDX-License-Identifier: Apache-2.0
 * collectives.c - the order of a measurement: places, pairs, collectives by size, so that what time is left out is the
 * largest. */
#include "doctor/collectives.h"

#include <math.h>
#include <string.h>

#include "analyze/comm_fit.h"
#include "doctor/collectives_place.h"
#include "doctor/collectives_run.h"
#include "doctor/collectives_watch.h"

enum { WARM_UPS = 3, COPIES = 3 /* of a size: in, out, and what MPI keeps */ };

static const double PAIRS_SHARE = 0.3, MEMORY_SHARE = 0.5;

static const hu_comm_kind kinds[] = {HU_COMM_ALL_REDUCE, HU_COMM_ALL_GATHER, HU_COMM_REDUCE_SCATTER, HU_COMM_ALL_TO_ALL};

size_t hu_collectives_sizes(int64_t from, int64_t to, int64_t *out)
{
    size_t n = 0;

    for (int64_t at = from; at <= to && n < HU_SIZES_MOST - 1; at *= 10) {
        out[n++] = at;
        if (3 * at <= to && n < HU_SIZES_MOST - 1)
            out[n++] = 3 * at;
    }
    if (out[n - 1] < to)
        out[n++] = to;
    return n;
}

bool hu_collectives_wrong(const hu_collectives *c)
{
    for (size_t i = 0; i < c->n_series; i++)
        for (size_t k = 0; k < c->series[i].n; k++)
            if (c->series[i].at[k].wrong_rank >= 0)
                return true;
    for (size_t i = 0; i < c->n_pairs; i++)
        if (c->pairs[i].is_wrong)
            return true;
    return false;
}

/* Everybody learns where everybody is.  False when there is no memory. */
static bool meet(hu_measuring *m)
{
    hu_rank_place *all = hu_arena_calloc(m->arena, (size_t)m->size, sizeof *all);
    hu_rank_place  mine;

    _Static_assert(sizeof(hu_rank_place) % sizeof(float) == 0, "gathered as floats, of which no bit changes");
    if (!all)
        return false;
    hu_rank_place_of_this(&mine);
    m->mpi->all_gather((const float *)(const void *)&mine, (float *)(void *)all, sizeof mine / sizeof(float));
    m->c->places = all;
    m->c->size = m->size;
    return hu_collectives_group(m->c, m->arena);
}

/* Buffers that leave half of each machine's memory alone.  False when even that is not to be had, anywhere. */
static bool make_room(hu_measuring *m, int64_t largest)
{
    double lacks = 0;

    m->room = largest;
    for (size_t i = 0; i < m->c->n_machines; i++) {
        const hu_machine *machine = &m->c->machines[i];

        if (machine->place->memory > 0)
            m->room = (int64_t)fmin((double)m->room, MEMORY_SHARE * machine->place->memory / COPIES / machine->n);
    }
    m->in = hu_arena_grow(m->arena, NULL, (size_t)m->room);
    m->out = hu_arena_grow(m->arena, NULL, (size_t)m->room);
    lacks = !m->in || !m->out;
    m->mpi->maximum(&lacks, 1);
    return lacks == 0;
}

/* A size that ranks share: a little more, for whole floats each. */
static int64_t shared_bytes(const hu_measuring *m, int64_t bytes)
{
    const int64_t whole = m->size * (int64_t)sizeof(float);

    return (bytes + whole - 1) / whole * whole;
}

/* Larger sizes need longer for as many calls. */
static double weight_of(int64_t bytes)
{
    return bytes < 1000000 ? 1 : bytes < 10000000 ? 2 : 4;
}

/* All ranks, with the same numbers.  False when there is no memory. */
static bool measure_collectives(hu_measuring *m, const int64_t *sizes, size_t n)
{
    double left = 0;

    for (size_t k = 0; k < HU_COUNT(kinds); k++)
        m->c->series[k] = (hu_series){.kind = kinds[k], .a = -1, .b = -1, .factor = hu_comm_factor(kinds[k], m->size)};
    for (size_t i = 0; i < n; i++)
        left += weight_of(sizes[i]) * HU_COUNT(kinds);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < HU_COUNT(kinds); k++) {
            hu_series    *s = &m->c->series[k];
            hu_timing    *t = &s->at[s->n];
            const int64_t bytes = shared_bytes(m, sizes[i]);
            const double  rest = m->options.seconds - m->now_s, share = rest * weight_of(sizes[i]) / left;

            *t = (hu_timing){.bytes = bytes, .wrong_rank = -1};
            hu_timing_of(NULL, 0, t);
            t->foreseen_s = (WARM_UPS + HU_SAMPLES_LEAST) * hu_measuring_foresee(s, bytes);
            s->n++;
            left -= weight_of(sizes[i]);
            t->lacks_memory = t->bytes > m->room;
            if (t->lacks_memory || rest <= 0 || t->foreseen_s > rest)
                continue;
            if (!hu_measure_collective(m, s->kind, share, t->foreseen_s, t))
                return false;
            t->foreseen_s = 0;
        }
    }
    return true;
}

static bool measure(hu_measuring *m)
{
    int64_t      sizes[HU_SIZES_MOST];
    const size_t n = hu_collectives_sizes(m->options.from_bytes, m->options.to_bytes, sizes);
    hu_turns     turns = hu_turns_now();
    float       *shares = hu_arena_calloc(m->arena, (size_t)m->size, sizeof *shares), mine;
    double       agree;

    if (!shares || !make_room(m, shared_bytes(m, sizes[n - 1])))
        return false;
    m->c->n_series = HU_COUNT(kinds);
    if (!hu_measure_pairs(m, sizes, n, m->now_s + PAIRS_SHARE * (m->options.seconds - m->now_s)))
        m->c->n_pairs = 0; /* the others wait for what follows */
    hu_watch_step("the wait after messages between pairs", 0, m->options.seconds);
    agree = hu_measuring_clock() - m->began_s;
    m->mpi->maximum(&agree, 1);
    m->now_s = agree;
    mine = (float)hu_queued_share(turns);
    m->mpi->all_gather(&mine, shares, 1);
    m->c->queued_shares = shares;
    hu_collectives_doubt(m->c);
    turns = hu_turns_now();
    if (!measure_collectives(m, sizes, n))
        return false;
    agree = hu_queued_share(turns);
    m->mpi->maximum(&agree, 1);
    m->c->queued_share = agree;
    return true;
}

/* Ranks that were given other options would wait for each other: the largest of each is everybody's. */
static void share_options(hu_measuring *m)
{
    hu_collectives_options *o = &m->options;
    double                  all[] = {(double)o->from_bytes, (double)o->to_bytes, o->seconds, o->patience_s};

    m->mpi->maximum(all, HU_COUNT(all));
    *o = (hu_collectives_options){(int64_t)all[0], (int64_t)all[1], all[2], all[3]};
}

int hu_collectives_run(const hu_mpi_module *mpi, int rank, int size, const hu_collectives_options *options, hu_arena *arena,
                       hu_collectives *out, hu_error *err)
{
    hu_measuring m = {.mpi = mpi, .rank = rank, .size = size, .options = *options, .arena = arena, .c = out};
    double       lacks;
    bool         is_fine;

    share_options(&m);
    *out = (hu_collectives){.options = m.options, .odd_rank = -1, .disturbed_rank = -1};
    m.began_s = hu_measuring_clock();
    mpi->library(out->library, sizeof out->library);
    lacks = !meet(&m);
    mpi->maximum(&lacks, 1);
    if (lacks > 0)
        return hu_fail_memory(err);
    hu_watch_begin(rank, size, out->places, m.options.patience_s);
    is_fine = measure(&m);
    hu_watch_step("the end", 0, 0);
    mpi->barrier();
    hu_watch_end();
    out->took_s = hu_measuring_clock() - m.began_s;
    for (size_t i = 0; is_fine && rank == 0 && i < out->n_series; i++)
        is_fine = hu_series_fit(&out->series[i], arena);
    return is_fine ? 0 : hu_fail_memory(err);
}
