/* SPDX-License-Identifier: Apache-2.0
 * host_energy.c - the attribute holdup.rapl says which zones there are; their counter tracks are known by name. */
#include "analyze/host_energy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/energy_series.h"
#include "base/number.h"
#include "base/rapl.h"

enum { HOLD_NS = 2000000000, HOLD_PERIODS = 4 }; /* as analyze/gpu_clocks.c */

static hu_str cut(hu_str *rest, char end)
{
    const char  *at = rest->n ? memchr(rest->p, end, rest->n) : NULL;
    const hu_str part = {rest->p, at ? (size_t)(at - rest->p) : rest->n};

    *rest = at ? (hu_str){at + 1, rest->n - part.n - 1} : (hu_str){rest->n ? rest->p + rest->n : rest->p, 0};
    return part;
}

static int by_time(const void *left, const void *right)
{
    const hu_energy_sample *a = left, *b = right;

    return (a->ns > b->ns) - (a->ns < b->ns);
}

static bool collect(const hu_ask *ask, hu_str name, hu_energy_series *out)
{
    HU_VEC(hu_energy_sample) list = {0};
    char             track[HU_RAPL_TRACK_BYTES];
    size_t           n;
    const hu_sample *samples = hu_trace_samples(ask->trace, &n);
    uint32_t         id;

    hu_rapl_track(name, track);
    id = hu_trace_find_text(ask->trace, hu_str_of(track));
    for (size_t i = 0; id != HU_NONE && i < n; i++)
        if (ask->tracks[samples[i].track].type == HU_TRACK_COUNTER && ask->tracks[samples[i].track].name == id &&
            isfinite(samples[i].value) &&
            !hu_vec_push(ask->scratch, &list, ((hu_energy_sample){samples[i].time_ns, samples[i].value})))
            return false;
    if (list.n)
        qsort(list.at, list.n, sizeof *list.at, by_time);
    out->at = list.at;
    out->n = list.n;
    return true;
}

static bool measure(const hu_ask *ask, hu_str name, int64_t hold_ns, hu_energy_zone *out)
{
    hu_energy_series e = {.hold_ns = hold_ns};
    hu_energy_steps  steps;

    *out = (hu_energy_zone){.name = name,
                            .host = hu_trace_get_info(ask->trace)->host,
                            .kind = hu_rapl_kind_of(name),
                            .watts = NAN,
                            .step_joules = NAN};
    if (!collect(ask, name, &e) || !hu_energy_find_steps(&e, ask->steps, ask->scratch, &steps))
        return false;
    out->joules = hu_energy_all(&e);
    if (e.n > 1 && e.at[e.n - 1].ns > e.at[0].ns)
        out->watts = out->joules / (double)(e.at[e.n - 1].ns - e.at[0].ns) * 1e9;
    if (steps.is_enough)
        out->step_joules = steps.joules / (double)steps.n;
    return true;
}

int hu_host_energy_measure(const hu_ask *ask, hu_host_energy *out, hu_error *err)
{
    HU_VEC(hu_energy_zone) list = {0};
    hu_str  text = hu_trace_get_info(ask->trace)->rapl, first = cut(&text, '\n');
    int64_t period_ns = 0;

    *out = (hu_host_energy){.state = -1};
    if (first.n == 0)
        return 0;
    out->state = hu_rapl_state_of(cut(&first, '\t'));
    if (!hu_parse_i64(first, &period_ns) || period_ns < 0 || period_ns > INT64_MAX / 16)
        period_ns = 0;
    while (text.n && list.n < HU_RAPL_ZONES) {
        hu_energy_zone zone;

        if (!measure(ask, cut(&text, '\n'), HOLD_NS + HOLD_PERIODS * period_ns, &zone) ||
            !hu_vec_push(ask->arena, &list, zone))
            return hu_fail_memory(err);
    }
    out->at = list.at;
    out->n = list.n;
    return 0;
}

bool hu_host_energy_merge(hu_host_energy *into, const hu_host_energy *from, hu_arena *arena)
{
    HU_VEC(hu_energy_zone) list = {.at = into->at, .n = into->n, .cap = into->n};

    into->state = from->state > into->state ? from->state : into->state;
    for (size_t i = 0; i < from->n; i++) {
        const hu_energy_zone *z = &from->at[i];
        bool                  is_there = false;

        for (size_t k = 0; k < list.n && !is_there; k++)
            is_there = hu_str_equal(list.at[k].host, z->host) && hu_str_equal(list.at[k].name, z->name);
        if (!is_there && !hu_vec_push(arena, &list, *z))
            return false;
    }
    into->at = list.at;
    into->n = list.n;
    return true;
}

bool hu_energy_zone_counts(const hu_energy_zone *z)
{
    return z->kind == HU_RAPL_PACKAGE || z->kind == HU_RAPL_MEMORY;
}

double hu_host_energy_joules(const hu_host_energy *h)
{
    double sum = 0;
    size_t n = 0;

    for (size_t i = 0; i < h->n; i++)
        if (hu_energy_zone_counts(&h->at[i])) {
            sum += h->at[i].joules;
            n++;
        }
    return n ? sum : NAN;
}

double hu_host_energy_step_joules(const hu_host_energy *h)
{
    double sum = 0;
    size_t n = 0;

    for (size_t i = 0; i < h->n; i++)
        if (hu_energy_zone_counts(&h->at[i])) {
            sum += h->at[i].step_joules;
            n++;
        }
    return n ? sum : NAN;
}
