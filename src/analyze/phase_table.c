/* SPDX-License-Identifier: Apache-2.0
 * phase_table.c - sets of intervals by phase, filled in one pass over the device's work and one over its collectives. */
#include "analyze/phase_table.h"

#include <string.h>

typedef struct {
    hu_intervals host, compute, comm, by_kind[HU_PHASE_TRAFFIC_COUNT];
} sets;

static int column_of(hu_traffic_kind kind)
{
    switch (kind) {
    case HU_TRAFFIC_ALL_GATHER:
        return HU_PHASE_GATHER;
    case HU_TRAFFIC_REDUCE_SCATTER:
        return HU_PHASE_SCATTER;
    case HU_TRAFFIC_ALL_REDUCE:
        return HU_PHASE_REDUCE;
    default:
        return HU_PHASE_ELSE;
    }
}

static hu_phase phase_of(const hu_traffic_call *c)
{
    return c->slot <= (hu_slot)HU_PHASE_OPTIMIZER ? (hu_phase)c->slot : HU_PHASE_OTHER;
}

static bool is_counted(const hu_ask *ask, const hu_traffic *traffic, int64_t time_ns)
{
    return traffic->steps.n ? hu_select_in(&traffic->steps, time_ns) : hu_select_in(ask->scope, time_ns);
}

static bool add_compute(const hu_ask *ask, const hu_phase_spans *spans, const hu_traffic *traffic, sets *by_phase)
{
    for (size_t k = 0; k < ask->n_work; k++) {
        const uint32_t i = ask->work[k];
        int64_t        time_ns;
        hu_phase       phase;

        if (ask->s.kind[i] != HU_KIND_KERNEL)
            continue;
        time_ns = hu_select_time(ask->trace, &ask->s, i);
        if (!is_counted(ask, traffic, time_ns))
            continue;
        phase = hu_phase_of_work(ask, spans, i);
        if (!hu_intervals_add(ask->scratch, &by_phase[phase].compute, ask->s.start_ns[i], hu_ask_end(ask, i)))
            return false;
    }
    return true;
}

static bool add_time(const hu_ask *ask, const hu_traffic_call *c, sets *by_phase)
{
    sets *s = &by_phase[phase_of(c)];

    return hu_intervals_add(ask->scratch, &s->comm, c->start_ns, c->start_ns + c->dur_ns) &&
           hu_intervals_add(ask->scratch, &s->by_kind[column_of(c->kind)], c->start_ns, c->start_ns + c->dur_ns);
}

/* Where no device took part, times are those of the back end's own threads. */
static bool add_traffic(const hu_ask *ask, const hu_traffic *traffic, sets *by_phase, hu_phase_row *rows)
{
    for (size_t i = 0; i < traffic->n; i++) {
        const hu_traffic_call *c = &traffic->at[i];
        const hu_phase         phase = phase_of(c);

        rows[phase].calls++;
        if (c->bytes > 0 && __builtin_add_overflow(rows[phase].bytes, c->bytes, &rows[phase].bytes))
            rows[phase].bytes = INT64_MAX;
        if (!traffic->on_host && !add_time(ask, c, by_phase))
            return false;
    }
    for (size_t i = 0; i < traffic->n_ranges; i++)
        if (!add_time(ask, &traffic->ranges[i], by_phase))
            return false;
    return true;
}

/* The host's time by phase; what no span covers of the steps, or of the capture, is the rest. */
static bool add_host(const hu_ask *ask, const hu_phase_spans *spans, const hu_traffic *traffic, sets *by_phase,
                     hu_phase_row *rows)
{
    int64_t marked = 0, whole = 0;

    for (size_t i = 0; i < spans->n; i++)
        if (!hu_intervals_add(ask->scratch, &by_phase[spans->at[i].phase].host, spans->at[i].start_ns, spans->at[i].end_ns))
            return false;
    for (size_t p = 0; p < HU_PHASE_OTHER; p++) {
        rows[p].host_ns = traffic->steps.n ? hu_intervals_common(&by_phase[p].host, &traffic->steps)
                                           : hu_intervals_length(&by_phase[p].host);
        marked += rows[p].host_ns;
    }
    if (traffic->steps.n)
        whole = hu_intervals_length(&traffic->steps);
    else if (spans->n)
        whole = spans->at[spans->n - 1].end_ns - spans->at[0].start_ns;
    rows[HU_PHASE_OTHER].host_ns = whole > marked ? whole - marked : 0;
    return true;
}

static bool finish(const hu_ask *ask, sets *s, hu_phase_row *row)
{
    if (!hu_intervals_unite(ask->scratch, &s->compute) || !hu_intervals_unite(ask->scratch, &s->comm))
        return false;
    row->compute_ns = hu_intervals_length(&s->compute);
    row->exposed_ns = hu_intervals_length(&s->comm) - hu_intervals_common(&s->comm, &ask->compute);
    for (size_t k = 0; k < HU_PHASE_TRAFFIC_COUNT; k++) {
        if (!hu_intervals_unite(ask->scratch, &s->by_kind[k]))
            return false;
        row->comm_ns[k] = hu_intervals_length(&s->by_kind[k]);
    }
    return true;
}

/* Phases that only marks tell are not missed where there are none. */
static bool is_shown(const hu_phase_row *row)
{
    return row->phase <= HU_PHASE_OPTIMIZER || row->phase == HU_PHASE_OTHER || row->host_ns > 0;
}

int hu_phase_table_measure(const hu_ask *ask, const hu_phase_spans *spans, const hu_traffic *traffic, hu_phase_table *out,
                           hu_error *err)
{
    sets          by_phase[HU_PHASE_COUNT] = {0};
    hu_phase_row *rows = hu_arena_calloc(ask->arena, HU_PHASE_COUNT, sizeof *rows);

    *out = (hu_phase_table){.at = rows, .sources = spans->sources, .on_host = ask->n_work == 0};
    if (!rows)
        return hu_fail_memory(err);
    if (spans->n == 0)
        return 0;
    if (!add_host(ask, spans, traffic, by_phase, rows) || !add_compute(ask, spans, traffic, by_phase) ||
        !add_traffic(ask, traffic, by_phase, rows))
        return hu_fail_memory(err);
    for (size_t p = 0; p < HU_PHASE_COUNT; p++) {
        rows[p].phase = (hu_phase)p;
        if (!finish(ask, &by_phase[p], &rows[p]))
            return hu_fail_memory(err);
        if (is_shown(&rows[p]))
            rows[out->n++] = rows[p];
    }
    return 0;
}

/* The row of a phase, in their order; there is room for all. */
static hu_phase_row *row_of(hu_phase_table *t, hu_phase phase)
{
    size_t i = t->n;

    while (i && t->at[i - 1].phase >= phase)
        i--;
    if (i == t->n || t->at[i].phase != phase) {
        memmove(&t->at[i + 1], &t->at[i], (t->n - i) * sizeof *t->at);
        t->at[i] = (hu_phase_row){.phase = phase};
        t->n++;
    }
    return &t->at[i];
}

bool hu_phase_table_merge(hu_phase_table *into, const hu_phase_table *from, hu_arena *arena)
{
    if (from->n) {
        hu_phase_row *at = hu_arena_calloc(arena, HU_PHASE_COUNT, sizeof *at);

        if (!at)
            return false;
        if (into->n)
            memcpy(at, into->at, into->n * sizeof *at);
        else
            into->on_host = true;
        into->at = at;
    }
    into->sources |= from->sources;
    for (size_t p = 0; p < from->n; p++) {
        const hu_phase_row *b = &from->at[p];
        hu_phase_row       *a = row_of(into, b->phase);

        into->on_host &= from->on_host;
        a->host_ns += b->host_ns;
        a->compute_ns += b->compute_ns;
        a->exposed_ns += b->exposed_ns;
        a->calls += b->calls;
        if (__builtin_add_overflow(a->bytes, b->bytes, &a->bytes))
            a->bytes = INT64_MAX;
        for (size_t k = 0; k < HU_PHASE_TRAFFIC_COUNT; k++)
            a->comm_ns[k] += b->comm_ns[k];
    }
    return true;
}
