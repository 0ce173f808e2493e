/* SPDX-License-Identifier: Apache-2.0
 * node_sink.c - GPUs are few: their list is searched from the front. */
#include "ingest/node_sink.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>

#include "base/number.h"

hu_node_sink hu_node_sink_of(hu_node_log *log, hu_input *in)
{
    return (hu_node_sink){
        .log = log, .file = hu_str_of(hu_input_name(in)), .most = hu_input_limits(in)->events, .has_memory = true};
}

hu_str hu_node_keep(hu_node_sink *s, hu_str text)
{
    const hu_str kept = text.n ? hu_arena_copy(s->log->arena, text) : HU_STR("");

    if (!kept.p)
        s->has_memory = false;
    return kept.p ? kept : HU_STR("");
}

/* A number counts within a file: it may be of another node in the next. */
static bool is_of(const hu_node_sink *s, const hu_node_gpu *gpu, const hu_node_who *who)
{
    if (who->uuid.n)
        return hu_str_equal(gpu->uuid, who->uuid);
    return (who->number >= 0 ? gpu->number == who->number : hu_str_equal(gpu->bus, who->bus)) &&
           hu_str_equal(gpu->file, s->file) && (who->host.n == 0 || hu_node_is_same_host(gpu->host, who->host));
}

static void complete(hu_node_sink *s, hu_node_gpu *gpu, const hu_node_who *who)
{
    gpu->name = gpu->name.n ? gpu->name : hu_node_keep(s, who->name);
    gpu->bus = gpu->bus.n ? gpu->bus : hu_node_keep(s, who->bus);
    gpu->driver = gpu->driver.n ? gpu->driver : hu_node_keep(s, who->driver);
}

uint32_t hu_node_gpu_of(hu_node_sink *s, const hu_node_who *who)
{
    hu_node_log *log = s->log;
    char         text[HU_NODE_TEXT];
    hu_str       uuid = who->uuid;
    int64_t      number = who->number;

    if (uuid.n >= HU_NODE_TEXT || (uuid.n == 0 && who->number < 0 && who->bus.n == 0))
        return HU_NONE;
    for (size_t i = 0; i < log->gpus.n; i++)
        if (is_of(s, &log->gpus.at[i], who)) {
            complete(s, &log->gpus.at[i], who);
            return (uint32_t)i;
        }
    if (log->gpus.n >= HU_NODE_MOST_GPUS)
        return HU_NONE;
    if (number < 0) /* their order */
        number = (int64_t)log->gpus.n;
    if (uuid.n == 0 && who->number < 0)
        uuid = (hu_str){text,
                        (size_t)snprintf(text, sizeof text, "bus %.*s of %.*s", (int)(who->bus.n < 32 ? who->bus.n : 32),
                                         who->bus.p, (int)(s->file.n < 64 ? s->file.n : 64), s->file.p)};
    else if (uuid.n == 0) /* stands for the node that the file does not name */
        uuid = (hu_str){text, (size_t)snprintf(text, sizeof text, "index %lld of %.*s", (long long)who->number,
                                               (int)(s->file.n < 64 ? s->file.n : 64), s->file.p)};
    if (!hu_vec_push(log->arena, &log->gpus,
                     ((hu_node_gpu){.uuid = hu_node_keep(s, uuid),
                                    .host = hu_node_keep(s, who->host),
                                    .name = hu_node_keep(s, who->name),
                                    .bus = hu_node_keep(s, who->bus),
                                    .driver = hu_node_keep(s, who->driver),
                                    .file = hu_node_keep(s, s->file),
                                    .number = number,
                                    .rank = -1,
                                    .is_unnumbered = who->uuid.n == 0 && who->number < 0,
                                    .lost = HU_STR("")})))
        s->has_memory = false;
    return s->has_memory ? (uint32_t)(log->gpus.n - 1) : HU_NONE;
}

/* Room for one more?  All kinds of samples count together. */
static bool has_room(hu_node_sink *s)
{
    s->is_full |= (int64_t)(s->log->samples.n + s->log->counts.n + s->log->zone_samples.n) >= s->most;
    return !s->is_full;
}

void hu_node_put_sample(hu_node_sink *s, uint32_t gpu, hu_gpu_quantity quantity, int64_t ns, double value)
{
    if (hu_node_is_value(value) && has_room(s) &&
        !hu_vec_push(s->log->arena, &s->log->samples, ((hu_node_sample){ns, value, gpu, quantity})))
        s->has_memory = false;
}

void hu_node_put_count(hu_node_sink *s, uint32_t gpu, hu_node_count_kind kind, int64_t ns, double value)
{
    if (hu_node_is_value(value) && value >= 0 && has_room(s) &&
        !hu_vec_push(s->log->arena, &s->log->counts, ((hu_node_count){ns, value, gpu, kind})))
        s->has_memory = false;
}

void hu_node_put_lost(hu_node_sink *s, uint32_t gpu, int64_t ns, hu_str words)
{
    hu_node_gpu *at = &s->log->gpus.at[gpu];

    s->has_lost = true;
    if (at->lost.n)
        return;
    at->lost = hu_node_keep(s, words);
    at->lost_ns = ns;
}

void hu_node_next_moment(hu_node_sink *s)
{
    s->moment = ++s->log->moments;
}

hu_node_row hu_node_row_new(void)
{
    hu_node_row row = {.who = {.uuid = HU_STR(""),
                               .host = HU_STR(""),
                               .name = HU_STR(""),
                               .bus = HU_STR(""),
                               .driver = HU_STR(""),
                               .number = -1},
                       .held = {NAN, NAN},
                       .lost = HU_STR("")};

    for (size_t i = 0; i < HU_COUNT(row.values); i++)
        row.values[i] = NAN;
    for (size_t i = 0; i < HU_COUNT(row.facts); i++)
        row.facts[i] = NAN;
    for (size_t i = 0; i < HU_COUNT(row.counts); i++)
        row.counts[i] = NAN;
    return row;
}

bool hu_node_put_row(hu_node_sink *s, const hu_node_row *row)
{
    const uint32_t gpu = hu_node_gpu_of(s, &row->who);
    int64_t        ns = row->ns;
    hu_node_gpu   *at;
    bool           has_any = false;

    if (gpu == HU_NONE)
        return false;
    at = &s->log->gpus.at[gpu];
    at->is_mig |= row->is_mig;
    s->log->has_amd |= row->is_amd;
    if (ns == 0) {
        if (s->moment == 0 || at->moment == s->moment)
            hu_node_next_moment(s);
        ns = at->moment = s->moment;
    }
    for (size_t i = 0; i < HU_COUNT(row->facts); i++)
        if (hu_node_is_value(row->facts[i]) && row->facts[i] > 0)
            at->facts[i] = row->facts[i];
    for (size_t i = 0; i < HU_COUNT(row->values); i++) {
        has_any |= isfinite(row->values[i]);
        hu_node_put_sample(s, gpu, (hu_gpu_quantity)i, ns, row->values[i]);
    }
    for (size_t i = 0; i < HU_COUNT(row->counts); i++) {
        has_any |= isfinite(row->counts[i]);
        hu_node_put_count(s, gpu, (hu_node_count_kind)i, ns, row->counts[i]);
    }
    for (size_t i = 0; i < HU_COUNT(row->held); i++)
        if (row->held[i] >= 0 && row->held[i] <= 1) {
            at->held[i] += row->held[i];
            at->n_held[i]++;
        }
    if (!has_any && row->lost.n)
        hu_node_put_lost(s, gpu, ns, row->lost);
    return has_any || row->lost.n;
}

bool hu_node_number(hu_str s, double *out)
{
    size_t   n = 0;
    uint64_t bits = 0;

    if (hu_str_starts_with(s, "0x")) {
        for (n = 2; n < s.n && n < 18 && isxdigit((unsigned char)s.p[n]); n++)
            bits = bits * 16 + (uint64_t)(isdigit((unsigned char)s.p[n]) ? s.p[n] - '0' : (s.p[n] | 0x20) - 'a' + 10);
        *out = (double)(bits & UINT32_MAX);
        return n > 2;
    }
    while (n < s.n && (isdigit((unsigned char)s.p[n]) || s.p[n] == '.' || s.p[n] == '-' || s.p[n] == '+' ||
                       ((s.p[n] == 'e' || s.p[n] == 'E') && n && isdigit((unsigned char)s.p[n - 1]))))
        n++;
    return hu_parse_f64((hu_str){s.p, n}, out);
}
