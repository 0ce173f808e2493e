/* SPDX-License-Identifier: Apache-2.0
 * copies.c - reads direction and memory kinds off the name, because that is where profilers put them.
 *
 * "Memcpy HtoD (Pageable -> Device)": a pageable copy is staged through a buffer of the driver and blocks the calling
 * thread, whatever the call was named.
 */
#include "analyze/copies.h"

#include <math.h>
#include <stdlib.h>

#include "analyze/join.h"
#include "base/map.h"

static const char *const directions[] = {"HtoD", "DtoH", "DtoD", "HtoH", "PtoP"};

static void read_name(hu_copy *c)
{
    const char *open = memchr(c->name.p, '(', c->name.n);
    const char *arrow = memmem(c->name.p, c->name.n, " -> ", 4);
    const char *close = memrchr(c->name.p, ')', c->name.n);

    for (size_t i = 0; i < HU_COUNT(directions); i++)
        if (hu_str_has(c->name, hu_str_of(directions[i])))
            c->direction = hu_str_of(directions[i]);
    if (open && arrow && close && open < arrow && arrow < close) {
        c->from = (hu_str){open + 1, (size_t)(arrow - open) - 1};
        c->to = (hu_str){arrow + 4, (size_t)(close - arrow) - 4};
        c->is_pageable = hu_str_equal(c->from, HU_STR("Pageable")) || hu_str_equal(c->to, HU_STR("Pageable"));
    } else if (open && close && open < close) {
        c->to = (hu_str){open + 1, (size_t)(close - open) - 1};
    }
}

static int by_total(const void *left, const void *right)
{
    const hu_copy *a = left, *b = right;

    if (a->total_ns != b->total_ns)
        return a->total_ns > b->total_ns ? -1 : 1;
    return hu_str_compare(a->name, b->name);
}

static void add(hu_copy *c, int64_t dur, int64_t bytes)
{
    c->min_ns = c->calls == 0 || dur < c->min_ns ? dur : c->min_ns;
    c->max_ns = dur > c->max_ns ? dur : c->max_ns;
    c->calls++;
    c->total_ns += dur;
    if (bytes >= 0) {
        c->has_bytes = true;
        c->bytes += bytes;
        c->timed_bytes_ns += dur;
    }
}

/* A call without "Async" returns when its copy is done, and so does every copy from or to pageable memory. */
static bool blocks(const hu_ask *ask, uint32_t i, const hu_copy *c)
{
    const uint32_t call = hu_trace_launch_of(ask->trace, i);

    return call != HU_NONE && (c->is_pageable || (ask->names[ask->s.name[call]] & HU_NAME_SYNC));
}

/* Which series a copy belongs to; HU_COPY_DIRECTIONS: none, as no device takes part or nothing tells. */
static hu_copy_direction direction_of(const hu_copy *c)
{
    if (hu_str_equal(c->direction, HU_STR("HtoD")))
        return HU_COPY_HTOD;
    if (hu_str_equal(c->direction, HU_STR("DtoH")))
        return HU_COPY_DTOH;
    if (hu_str_equal(c->direction, HU_STR("DtoD")) || hu_str_equal(c->direction, HU_STR("PtoP")))
        return HU_COPY_DTOD;
    return hu_str_equal(c->direction, HU_STR("set")) ? HU_COPY_SET : HU_COPY_DIRECTIONS;
}

typedef HU_VEC(hu_intervals) interval_lists;

static int add_exposed(const hu_ask *ask, hu_copy *c, hu_intervals *at, hu_error *err)
{
    if (!hu_intervals_unite(ask->scratch, at))
        return hu_fail_memory(err);
    c->running_ns = hu_intervals_length(at);
    c->exposed_ns = c->running_ns - hu_intervals_common(at, &ask->kernels);
    return 0;
}

/* Copies from the host together: kinds that run at once count once. */
static int unite_htod(const hu_ask *ask, const hu_copy *copies, const hu_intervals *at, size_t n, hu_copies *out,
                      hu_error *err)
{
    hu_intervals all = {0};

    for (size_t r = 0; r < n; r++)
        for (size_t k = 0; hu_str_equal(copies[r].direction, HU_STR("HtoD")) && k < at[r].n; k++)
            if (!hu_intervals_add(ask->scratch, &all, at[r].at[k].start_ns, at[r].at[k].end_ns))
                return hu_fail_memory(err);
    if (!hu_intervals_unite(ask->scratch, &all))
        return hu_fail_memory(err);
    out->htod_ns = hu_intervals_length(&all);
    out->htod_exposed_ns = out->htod_ns - hu_intervals_common(&all, &ask->kernels);
    return 0;
}

int hu_copies_measure(const hu_ask *ask, hu_copies *out, hu_error *err)
{
    const hu_slices *s = &ask->s;
    HU_VEC(hu_copy) list = {0};
    interval_lists at = {0};
    hu_copies      result = {0};
    hu_map         rows;
    int            rc = 0;

    if (!hu_map_init(&rows, ask->scratch, 64))
        return hu_fail_memory(err);
    for (int d = 0; d < HU_COPY_DIRECTIONS && ask->copies.n; d++)
        hu_series_init(&result.gbps[d], ask->copies.at[0].start_ns, ask->copies.at[ask->copies.n - 1].end_ns);
    for (size_t k = 0; k < ask->n_work; k++) {
        const uint32_t    i = ask->work[k];
        int64_t           bytes;
        uint32_t         *place;
        hu_copy          *row;
        hu_copy_direction direction;

        if (!hu_kind_in(s->kind[i], HU_KINDS_COPY) || !hu_ask_has(ask, i))
            continue;
        place = hu_map_put(&rows, s->name[i]);
        if (!place)
            return hu_fail_memory(err);
        if (*place == HU_MAP_NONE) {
            hu_copy c = {.name = hu_ask_name(ask, i)};

            read_name(&c);
            if (s->kind[i] == HU_KIND_MEMSET)
                c.direction = HU_STR("set");
            *place = (uint32_t)list.n;
            if (!hu_vec_push(ask->arena, &list, c) || !hu_vec_push(ask->scratch, &at, (hu_intervals){0}))
                return hu_fail_memory(err);
        }
        row = &list.at[*place];
        bytes = s->detail[i] != HU_NONE ? hu_trace_copy_detail(ask->trace, s->detail[i])->bytes : -1;
        add(row, s->dur_ns[i], bytes);
        row->blocking += blocks(ask, i, row);
        if (!hu_intervals_add(ask->scratch, &at.at[*place], s->start_ns[i], hu_ask_end(ask, i)))
            return hu_fail_memory(err);
        direction = direction_of(row);
        if (bytes > 0 && s->dur_ns[i] > 0 && direction < HU_COPY_DIRECTIONS)
            hu_series_add(&result.gbps[direction], s->start_ns[i], hu_ask_end(ask, i), (double)bytes / (double)s->dur_ns[i]);
        result.total_ns += s->dur_ns[i];
    }
    for (size_t r = 0; rc == 0 && r < list.n; r++)
        rc = add_exposed(ask, &list.at[r], &at.at[r], err);
    if (rc == 0)
        rc = unite_htod(ask, list.at, at.at, list.n, &result, err);
    if (rc < 0)
        return rc;
    result.exposed_ns = hu_intervals_length(&ask->copies) - hu_intervals_common(&ask->copies, &ask->kernels);
    if (list.n)
        qsort(list.at, list.n, sizeof *list.at, by_total);
    result.at = list.at;
    result.n = list.n;
    *out = result;
    return 0;
}

static void row_key(const void *row, hu_str *a, hu_str *b)
{
    (void)b;
    *a = ((const hu_copy *)row)->name;
}

static void add_row(void *left, const void *right)
{
    hu_copy       *into = left;
    const hu_copy *from = right;

    into->min_ns = from->min_ns < into->min_ns ? from->min_ns : into->min_ns;
    into->max_ns = from->max_ns > into->max_ns ? from->max_ns : into->max_ns;
    into->calls += from->calls;
    into->total_ns += from->total_ns;
    into->bytes += from->bytes;
    into->timed_bytes_ns += from->timed_bytes_ns;
    into->has_bytes |= from->has_bytes;
    into->running_ns += from->running_ns;
    into->exposed_ns += from->exposed_ns;
    into->blocking += from->blocking;
}

bool hu_copies_merge(hu_copies *into, const hu_copies *from, hu_arena *arena)
{
    static const hu_join_rule rule = {sizeof(hu_copy), row_key, add_row, by_total};

    into->total_ns += from->total_ns;
    into->exposed_ns += from->exposed_ns;
    into->htod_ns += from->htod_ns;
    into->htod_exposed_ns += from->htod_exposed_ns;
    memset(into->gbps, 0, sizeof into->gbps);
    return hu_join_rows(&rule, (void **)&into->at, &into->n, from->at, from->n, arena);
}

double hu_copy_gbps(const hu_copy *c)
{
    return c->has_bytes && c->timed_bytes_ns > 0 ? (double)c->bytes / (double)c->timed_bytes_ns : (double)NAN;
}
