/* SPDX-License-Identifier: Apache-2.0
 * node_zones.c - a few zones of a few nodes: lists are searched from the front. */
#include "ingest/node_zones.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rapl.h"

enum { MOST_ZONES = 4096, HEAD_BYTES = 64 };

static const int64_t HOLD_NS = 2000000000;

bool hu_node_zones_take(hu_node_log *log, hu_str host, hu_str zone, int64_t ns, double joules)
{
    size_t i = 0;

    while (i < log->zones.n && !(hu_str_equal(log->zones.at[i].name, zone) && hu_str_equal(log->zones.at[i].host, host)))
        i++;
    if (i == MOST_ZONES || zone.n == 0 || zone.n >= HU_RAPL_NAME || !isfinite(joules))
        return true;
    for (size_t k = 0; k < zone.n; k++) /* it becomes a line of the trace's information */
        if ((unsigned char)zone.p[k] <= ' ')
            return true;
    if (i == log->zones.n) {
        const hu_node_zone one = {.name = hu_arena_copy(log->arena, zone), .host = hu_arena_copy(log->arena, host)};

        if (!one.name.p || !one.host.p || !hu_vec_push(log->arena, &log->zones, one))
            return false;
    }
    return hu_vec_push(log->arena, &log->zone_samples, ((hu_node_zone_sample){ns, joules, (uint32_t)i}));
}

static int compare(const void *left, const void *right)
{
    const hu_node_zone_sample *a = left, *b = right;

    return a->zone != b->zone ? (a->zone > b->zone) - (a->zone < b->zone) : (a->ns > b->ns) - (a->ns < b->ns);
}

/* What two files hold of the same moment counts once. */
void hu_node_zones_end(hu_node_log *log)
{
    hu_node_zone_sample *at = log->zone_samples.at;
    size_t               n = 0;

    if (log->zone_samples.n == 0)
        return;
    qsort(at, log->zone_samples.n, sizeof *at, compare);
    for (size_t i = 0; i < log->zone_samples.n; i++)
        if (n == 0 || at[n - 1].zone != at[i].zone || at[n - 1].ns != at[i].ns)
            at[n++] = at[i];
    log->zone_samples.n = n;
}

/* The node whose zones are meant.  False: not known. */
static bool choose_host(const hu_node_log *log, hu_str own, hu_str *out)
{
    bool is_one = true;

    *out = log->zones.at[0].host;

    for (size_t i = 0; i < log->zones.n; i++) {
        if (own.n && hu_node_is_same_host(log->zones.at[i].host, own)) {
            *out = log->zones.at[i].host;
            return true;
        }
        is_one = is_one && hu_node_is_same_host(log->zones.at[i].host, log->zones.at[0].host);
    }
    return is_one;
}

/* Between two samples, as far as they are not too far apart; NAN. */
static double between(const hu_node_zone_sample *a, int64_t ns, int64_t hold_ns)
{
    if (a[1].ns - a[0].ns > hold_ns || a[1].joules < a[0].joules)
        return (double)NAN;
    return a[0].joules + (a[1].joules - a[0].joules) * (double)(ns - a[0].ns) / (double)(a[1].ns - a[0].ns);
}

static bool add_track(const hu_node_zone_sample *at, size_t n, hu_str name, int64_t hold_ns, int64_t from_ns, int64_t to_ns,
                      hu_builder *b)
{
    const int64_t base = hu_builder_info(b)->base_ns;
    char          text[HU_RAPL_TRACK_BYTES];
    uint32_t      track;

    if (n < 2 || at[0].ns >= to_ns || at[n - 1].ns <= from_ns)
        return false;
    hu_rapl_track(name, text);
    track = hu_builder_counter(b, (hu_builder_id){0}, hu_builder_intern(b, hu_str_of(text)));
    for (size_t i = 0; i < n; i++) {
        if (at[i].ns >= from_ns && at[i].ns <= to_ns)
            hu_builder_sample(b, track, at[i].ns - base, at[i].joules);
        for (int end = 0; end < 2 && i + 1 < n; end++) { /* the values at both ends of the trace */
            const int64_t ns = end ? to_ns : from_ns;
            const double  value = at[i].ns < ns && at[i + 1].ns > ns ? between(&at[i], ns, hold_ns) : (double)NAN;

            if (!isnan(value))
                hu_builder_sample(b, track, ns - base, value);
        }
    }
    return true;
}

hu_node_fit hu_node_zones_add(const hu_node_log *log, int64_t from_ns, int64_t to_ns, hu_builder *b)
{
    hu_trace_info             *info = hu_builder_info(b);
    const hu_node_zone_sample *at = log->zone_samples.at;
    hu_str                     host, lines = {0};
    hu_arena                  *scratch;
    char                      *text;
    int64_t                    period_ns = 0;

    if (log->zone_samples.n == 0)
        return HU_NODE_NONE;
    if (hu_str_starts(info->rapl, hu_str_of(hu_rapl_state_word(HU_RAPL_READ))))
        return HU_NODE_OWN;
    if (!choose_host(log, info->host, &host))
        return HU_NODE_WHICH;
    scratch = hu_arena_new();
    text = scratch ? hu_arena_alloc(scratch, HEAD_BYTES + log->zones.n * HU_RAPL_NAME) : NULL;
    if (!text) {
        hu_arena_free(scratch);
        hu_builder_fail(b, HU_ENOMEM, HU_NO_OFFSET, "out of memory");
        return HU_NODE_NONE;
    }
    for (size_t i = 0, end; i < log->zone_samples.n; i = end) {
        const hu_node_zone *z = &log->zones.at[at[i].zone];

        for (end = i + 1; end < log->zone_samples.n && at[end].zone == at[i].zone; end++)
            continue;
        if (!hu_str_equal(z->host, host))
            continue;
        if (lines.n == 0) {
            period_ns = end - i > 1 ? hu_node_period((at[end - 1].ns - at[i].ns) / (int64_t)(end - i - 1)) : 0;
            lines = (hu_str){text, (size_t)snprintf(text, HEAD_BYTES, "%s\t%lld\n", hu_rapl_state_word(HU_RAPL_READ),
                                                    (long long)period_ns)};
        }
        if (add_track(&at[i], end - i, z->name, HOLD_NS + 4 * period_ns, from_ns, to_ns, b)) {
            memcpy(text + lines.n, z->name.p, z->name.n);
            text[lines.n + z->name.n] = '\n';
            lines.n += z->name.n + 1;
        }
    }
    const bool has_any = lines.n && memchr(text, '\n', lines.n) != text + lines.n - 1;

    if (has_any)
        info->rapl = hu_builder_keep(b, lines);
    hu_arena_free(scratch);
    return has_any ? HU_NODE_ADDED : HU_NODE_APART;
}
