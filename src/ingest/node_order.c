/* SPDX-License-Identifier: Apache-2.0
 * node_order.c - samples by GPU, quantity and time, whatever file they are from: of one moment there is one value. */
#include "ingest/node_order.h"

#include <stdlib.h>

#include "base/sort.h"
#include "ingest/node_zones.h"

enum { FEWEST_GAPS = 3 };

static int by_time(const void *left, const void *right)
{
    const hu_node_sample *a = left, *b = right;

    return (a->ns > b->ns) - (a->ns < b->ns);
}

static bool is_in_order(const hu_node_sample *at, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (at[i].ns < at[i - 1].ns)
            return false;
    return true;
}

/* By GPU, quantity and time.  A monitor writes in the order of time, so a place for each series is mostly all of it. */
static bool sort_samples(hu_node_log *log)
{
    const size_t    n = log->samples.n, n_series = log->gpus.n * HU_GPU_QUANTITY_COUNT;
    size_t         *next = hu_arena_calloc(log->arena, n_series + 1, sizeof *next);
    hu_node_sample *old = log->samples.at, *at = hu_arena_grow(log->arena, NULL, n * sizeof *at);

    if (!next || !at)
        return false;
    for (size_t i = 0; i < n; i++)
        next[old[i].gpu * HU_GPU_QUANTITY_COUNT + old[i].quantity + 1]++;
    for (size_t k = 0; k < n_series; k++)
        next[k + 1] += next[k];
    for (size_t i = 0; i < n; i++)
        at[next[old[i].gpu * HU_GPU_QUANTITY_COUNT + old[i].quantity]++] = old[i];
    for (size_t k = 0, from = 0; k < n_series; from = next[k++]) /* which is where each ends now */
        if (!is_in_order(at + from, next[k] - from))
            qsort(at + from, next[k] - from, sizeof *at, by_time);
    hu_arena_drop(log->arena, old);
    log->samples.at = at;
    log->samples.cap = n;
    return true;
}

/* Reasons of one moment are one number; what two files hold of the same moment counts once. */
static void join_moments(hu_node_log *log)
{
    hu_node_sample *at = log->samples.at;
    size_t          n = 0;

    for (size_t i = 0; i < log->samples.n; i++) {
        if (n == 0 || !hu_node_is_one_series(&at[n - 1], &at[i]) || at[n - 1].ns != at[i].ns)
            at[n++] = at[i];
        else if (at[i].quantity == HU_GAUGE_REASONS)
            at[n - 1].value = (double)((uint64_t)at[n - 1].value | (uint64_t)at[i].value);
    }
    log->samples.n = n;
}

/* Counts, likewise. */
static int compare_counts(const void *left, const void *right)
{
    const hu_node_count *a = left, *b = right;

    if (a->gpu != b->gpu)
        return a->gpu < b->gpu ? -1 : 1;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    return (a->ns > b->ns) - (a->ns < b->ns);
}

/* The median gap between samples of power, or else of what changes as often. */
static bool measure_period(hu_node_log *log)
{
    const hu_node_sample *at = log->samples.at;
    int64_t              *gaps = hu_arena_calloc(log->arena, log->samples.n + 1, sizeof *gaps);
    size_t                n = 0;

    if (!gaps)
        return false;
    for (size_t i = 1; i < log->samples.n; i++)
        if (hu_node_is_one_series(&at[i - 1], &at[i]) && !hu_node_is_moment(at[i - 1].ns) &&
            (at[i].quantity == HU_GAUGE_POWER || at[i].quantity == HU_GAUGE_BUSY))
            gaps[n++] = at[i].ns - at[i - 1].ns;
    log->period_ns = n >= FEWEST_GAPS ? hu_node_period(hu_sort_nth_i64(gaps, n, n / 2)) : 0;
    return true;
}

bool hu_node_order(hu_node_log *log)
{
    hu_node_zones_end(log);
    if (!hu_node_log_has_any(log) && log->counts.n == 0)
        return true;
    log->first_ns = log->last_ns = 0;
    for (size_t i = 0; i < log->zone_samples.n; i++)
        hu_node_widen(&log->first_ns, &log->last_ns, log->zone_samples.at[i].ns);
    for (size_t i = 0; i < log->samples.n; i++)
        hu_node_widen(&log->first_ns, &log->last_ns, log->samples.at[i].ns);
    for (size_t i = 0; i < log->counts.n; i++)
        hu_node_widen(&log->first_ns, &log->last_ns, log->counts.at[i].ns);
    if (log->counts.n)
        qsort(log->counts.at, log->counts.n, sizeof *log->counts.at, compare_counts);
    if (log->samples.n == 0)
        return true;
    if (!sort_samples(log))
        return false;
    join_moments(log);
    return measure_period(log);
}
