/* SPDX-License-Identifier: Apache-2.0
 * copies.c - reads direction and memory kinds off the name, because that is where profilers put them.
 *
 * "Memcpy HtoD (Pageable -> Device)": a pageable copy is staged through a buffer of the driver and blocks the calling
 * thread, whatever the call was named.
 */
#include "analyze/copies.h"

#include <math.h>
#include <stdlib.h>

#include "analyze/select.h"
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

int hu_copies_measure(const hu_trace *trace, const hu_intervals *scope, hu_arena *arena, hu_arena *scratch,
                      hu_copies *out, hu_error *err)
{
    const hu_slices s = hu_trace_slices(trace);
    HU_VEC(hu_copy) list = {0};
    hu_copies result = {0};
    hu_map    rows;

    if (!hu_map_init(&rows, scratch, 64))
        return hu_fail_memory(err);
    for (uint32_t i = 0; i < s.n; i++) {
        uint32_t *place;

        if (!hu_kind_in(s.kind[i], HU_KINDS_COPY) || !hu_select_in(scope, hu_select_time(trace, &s, i)))
            continue;
        place = hu_map_put(&rows, s.name[i]);
        if (!place)
            return hu_fail_memory(err);
        if (*place == HU_MAP_NONE) {
            hu_copy c = {.name = hu_trace_text(trace, s.name[i])};

            read_name(&c);
            if (s.kind[i] == HU_KIND_MEMSET)
                c.direction = HU_STR("set");
            *place = (uint32_t)list.n;
            if (!hu_vec_push(arena, &list, c))
                return hu_fail_memory(err);
        }
        add(&list.at[*place], s.dur_ns[i], s.detail[i] != HU_NONE ? hu_trace_copy_detail(trace, s.detail[i])->bytes : -1);
        result.total_ns += s.dur_ns[i];
    }
    if (list.n)
        qsort(list.at, list.n, sizeof *list.at, by_total);
    result.at = list.at;
    result.n = list.n;
    *out = result;
    return 0;
}

double hu_copy_gbps(const hu_copy *c)
{
    return c->has_bytes && c->timed_bytes_ns > 0 ? (double)c->bytes / (double)c->timed_bytes_ns : (double)NAN;
}
