/* SPDX-License-Identifier: Apache-2.0
 * node_difference.c - GPUs by their UUIDs where both runs have them, else by node and number. */
#include "job/node_difference.h"

#include <math.h>

enum { BLOCKS = 8 };

static const double ERRORS = 3, LEAST_CHANGE = 0.01;

static const bool are_shares[] = {
#define C(id, key, words, unit, is_share) is_share,
    HU_NODE_CHANGES(C)
#undef C
};

/* Values of one GPU, in the order of time. */
typedef struct {
    double *at;
    size_t  n;
} series;

/* What one run has of one quantity. */
typedef struct {
    double mean, error; /* NaN: none; not known */
    size_t n;
} estimate;

static const hu_node_sample *first_of(const hu_node_log *log, uint32_t gpu, hu_gpu_quantity quantity, size_t *n)
{
    size_t from = 0, to = log->samples.n, end;

    while (from < to) { /* they lie by GPU, quantity and time */
        const size_t          middle = from + (to - from) / 2;
        const hu_node_sample *s = &log->samples.at[middle];

        if (s->gpu < gpu || (s->gpu == gpu && s->quantity < quantity))
            from = middle + 1;
        else
            to = middle;
    }
    for (end = from; end < log->samples.n && log->samples.at[end].gpu == gpu && log->samples.at[end].quantity == quantity;)
        end++;
    *n = end - from;
    return log->samples.at + from;
}

static const hu_gpu_quantity quantities[HU_NODE_CHANGE_KINDS] = {
    [HU_NODE_CHANGE_BUSY] = HU_GAUGE_BUSY,
    [HU_NODE_CHANGE_MEMORY_BUSY] = HU_GAUGE_MEMORY_BUSY,
    [HU_NODE_CHANGE_LOWERED] = HU_GAUGE_REASONS,
    [HU_NODE_CHANGE_SM_CLOCK] = HU_GAUGE_SM_CLOCK,
    [HU_NODE_CHANGE_MEMORY_CLOCK] = HU_GAUGE_MEMORY_CLOCK,
    [HU_NODE_CHANGE_POWER] = HU_GAUGE_POWER,
    [HU_NODE_CHANGE_MEMORY] = HU_GAUGE_MEMORY,
    [HU_NODE_CHANGE_TEMPERATURE] = HU_GAUGE_TEMPERATURE,
};

/* `into` has room for all samples of the run. */
static void collect(const hu_node_log *log, const hu_node_gpu_answer *g, hu_node_change_kind kind, series *into)
{
    const uint32_t        gpu = (uint32_t)(g->gpu - log->gpus.at);
    size_t                n, n_busy, k = 0;
    const hu_node_sample *at = first_of(log, gpu, quantities[kind], &n), *busy = first_of(log, gpu, HU_GAUGE_BUSY, &n_busy);

    into->n = 0;
    for (size_t i = 0; i < n; i++) {
        double value = at[i].value;

        if (kind == HU_NODE_CHANGE_LOWERED)
            value = hu_node_bits_lower(value) ? 100 : 0;
        if (kind == HU_NODE_CHANGE_SM_CLOCK) {
            while (k < n_busy && busy[k].ns < at[i].ns)
                k++;
            if (k == n_busy || busy[k].ns != at[i].ns || !hu_node_is_busy(busy[k].value))
                continue;
        }
        into->at[into->n++] = value;
    }
}

static double mean_of(const double *at, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += at[i];
    return sum / (double)n;
}

/* Of the mean, by those of blocks. */
static double error_of(const series *s, double mean)
{
    double squares = 0;

    if (s->n < HU_NODE_LEAST_SAMPLES)
        return NAN;
    for (size_t i = 0; i < BLOCKS; i++) {
        const size_t from = i * s->n / BLOCKS, to = (i + 1) * s->n / BLOCKS;
        const double by = mean_of(s->at + from, to - from) - mean;

        squares += by * by;
    }
    return sqrt(squares / (BLOCKS - 1) / BLOCKS);
}

static estimate estimate_of(const hu_node_log *log, const hu_node_gpu_answer *g, hu_node_change_kind kind, series *room)
{
    estimate e = {NAN, NAN, 0};

    if (kind == HU_NODE_CHANGE_LOWERED && hu_node_is_timed(g))
        return (estimate){100 * hu_node_lowered_share(g), NAN, g->looks};
    collect(log, g, kind, room);
    if (room->n) {
        e.n = room->n;
        e.mean = mean_of(room->at, room->n);
        e.error = error_of(room, e.mean);
    }
    return e;
}

static void judge(hu_node_change *c, hu_node_change_kind kind)
{
    const double by = fabs(c->b - c->a), larger = fabs(c->a) > fabs(c->b) ? fabs(c->a) : fabs(c->b);

    c->is_clear = by > ERRORS * c->error && by >= (are_shares[kind] ? 100 * LEAST_CHANGE : LEAST_CHANGE * larger);
}

static void compare(const hu_node_answer *run[2], hu_node_gpu_change *g, series *room)
{
    for (hu_node_change_kind k = 0; k < HU_NODE_CHANGE_KINDS; k++) {
        const estimate a = estimate_of(run[0]->log, g->a, k, room), b = estimate_of(run[1]->log, g->b, k, room);

        g->of[k] = (hu_node_change){a.mean, b.mean, sqrt(a.error * a.error + b.error * b.error), {a.n, b.n}, false};
        judge(&g->of[k], k);
    }
}

/* GPUs of a job do the same, so their errors do not cancel. */
static void sum_up(hu_node_difference *out)
{
    for (hu_node_change_kind k = 0; k < HU_NODE_CHANGE_KINDS; k++) {
        hu_node_change *all = &out->all[k];

        *all = (hu_node_change){0, 0, 0, {0, 0}, false};
        for (size_t i = 0; i < out->n; i++) {
            const hu_node_change *c = &out->at[i].of[k];

            all->a += c->a / (double)out->n;
            all->b += c->b / (double)out->n;
            all->error += c->error / (double)out->n;
            all->n[0] += c->n[0];
            all->n[1] += c->n[1];
        }
        judge(all, k);
    }
}

/* The readers make up one of number and file where a file has none. */
static bool has_uuid(const hu_node_gpu *gpu)
{
    return gpu->uuid.n && !hu_str_starts(gpu->uuid, HU_STR("index ")) && !hu_str_starts(gpu->uuid, HU_STR("bus "));
}

static bool is_of_one_host(const hu_node_answer *run)
{
    for (size_t i = 1; i < run->n; i++)
        if (!hu_str_equal(run->at[i].gpu->host, run->at[0].gpu->host))
            return false;
    return true;
}

static bool is_same(const hu_node_difference *d, const hu_node_gpu *a, const hu_node_gpu *b, bool by_uuid)
{
    if (by_uuid)
        return hu_str_equal(a->uuid, b->uuid);
    if (!(is_of_one_host(d->run[0]) && is_of_one_host(d->run[1])) && !hu_node_is_same_host(a->host, b->host))
        return false;
    return a->is_unnumbered == b->is_unnumbered &&
           (a->is_unnumbered ? hu_str_equal(a->bus, b->bus) : a->number == b->number);
}

static const hu_node_gpu_answer *find(const hu_node_difference *d, const hu_node_gpu *gpu, bool by_uuid)
{
    for (size_t i = 0; i < d->run[1]->n; i++)
        if (is_same(d, gpu, d->run[1]->at[i].gpu, by_uuid))
            return &d->run[1]->at[i];
    return NULL;
}

static bool have_uuids(const hu_node_answer *run)
{
    for (size_t i = 0; i < run->n; i++)
        if (!has_uuid(run->at[i].gpu))
            return false;
    return run->n > 0;
}

/* By UUID where any is in both: else they are other GPUs, or their files do not say. */
static void match(hu_node_difference *d)
{
    const bool know = have_uuids(d->run[0]) && have_uuids(d->run[1]);
    bool       by_uuid = false;

    for (size_t i = 0; know && i < d->run[0]->n; i++)
        by_uuid |= find(d, d->run[0]->at[i].gpu, true) != NULL;
    for (size_t i = 0; i < d->run[0]->n; i++) {
        const hu_node_gpu_answer *b = find(d, d->run[0]->at[i].gpu, by_uuid);

        if (b)
            d->at[d->n++] = (hu_node_gpu_change){.a = &d->run[0]->at[i], .b = b};
    }
    for (int k = 0; k < 2; k++)
        d->only[k] = d->run[k]->n - (d->n < d->run[k]->n ? d->n : d->run[k]->n);
    d->is_by_number = !know && d->n > 0;
    d->are_others = know && !by_uuid && d->n > 0;
    d->has_all = d->n > 0 && d->only[0] == 0 && d->only[1] == 0;
}

bool hu_node_difference_measure(const hu_node_answer *a, const hu_node_answer *b, hu_arena *arena, hu_node_difference *out)
{
    const size_t most = a->log->samples.n > b->log->samples.n ? a->log->samples.n : b->log->samples.n;
    series       room = {hu_arena_alloc(arena, (most + 1) * sizeof *room.at), 0};

    *out = (hu_node_difference){.run = {a, b}, .at = hu_arena_calloc(arena, a->n + 1, sizeof *out->at)};
    if (!out->at || !room.at)
        return false;
    match(out);
    for (size_t i = 0; i < out->n; i++)
        compare(out->run, &out->at[i], &room);
    if (out->has_all)
        sum_up(out);
    return true;
}
