/* SPDX-License-Identifier: Apache-2.0
 * node_tracks.c - by the wall clock, and for the GPU that the rank worked on, where that is known. */
#include "ingest/node_tracks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "ingest/node_sink.h"
#include "ingest/node_zones.h"

enum { LINE_BYTES = 1024 };
enum { HOLD_NS = 2000000000, HOLD_PERIODS = 4 }; /* as analyze/gpu_clocks.c */

/* What is chosen for one trace. */
typedef struct {
    const hu_node_log *log;
    hu_builder        *b;
    int64_t            from_ns, to_ns; /* Unix time */
    int64_t            base_ns, rank, device;
    hu_str             host; /* whose GPUs count; "" all */
} fitting;

/* The node of the one GPU that the log says a rank has; "" where it says none, or several. */
static hu_str host_of_rank(const fitting *f)
{
    const hu_node_gpu *found = NULL;

    for (size_t i = 0; i < f->log->gpus.n && f->rank >= 0; i++)
        if (f->log->gpus.at[i].rank == f->rank) {
            if (found)
                return HU_STR("");
            found = &f->log->gpus.at[i];
        }
    return found ? found->host : HU_STR("");
}

/* False: it is not known which node's GPUs are meant. */
static bool choose_host(fitting *f)
{
    const hu_node_gpu *at = f->log->gpus.at, *first = NULL;
    const hu_str       own = hu_builder_info(f->b)->host;
    bool               is_one = true;

    for (size_t i = 0; i < f->log->gpus.n; i++) {
        if (at[i].moment) /* it was sampled without times: none of it is added */
            continue;
        first = first ? first : &at[i];
        is_one = is_one && hu_node_is_same_host(at[i].host, first->host);
    }
    if (is_one)
        return true;
    for (size_t i = 0; i < f->log->gpus.n && own.n; i++)
        if (hu_node_is_same_host(at[i].host, own))
            f->host = own;
    if (f->host.n == 0 && own.n == 0)
        f->host = host_of_rank(f);
    return f->host.n > 0;
}

static bool is_of_node(const fitting *f, const hu_node_gpu *gpu)
{
    return f->host.n == 0 || hu_node_is_same_host(gpu->host, f->host);
}

/* Of a job of several ranks the only GPU of a log may be that of another: unless it is of the trace's own node. */
static bool may_be_own(const fitting *f, uint32_t only)
{
    const hu_trace_info *info = hu_builder_info(f->b);

    return info->world_size <= 1 || (info->host.n && hu_node_is_same_host(f->log->gpus.at[only].host, info->host));
}

/* The one GPU that this rank worked on; HU_NONE: that is not known. */
static uint32_t own_gpu(const fitting *f)
{
    uint32_t by_rank = HU_NONE, only = HU_NONE;
    size_t   n_rank = 0, n = 0;

    for (size_t i = 0; i < f->log->gpus.n; i++) {
        if (!is_of_node(f, &f->log->gpus.at[i]))
            continue;
        n++;
        only = (uint32_t)i;
        if (f->rank >= 0 && f->log->gpus.at[i].rank == f->rank) {
            n_rank++;
            by_rank = (uint32_t)i;
        }
    }
    return n_rank == 1 ? by_rank : n == 1 && may_be_own(f, only) ? only : HU_NONE;
}

/* How long a value says something. */
static int64_t hold_ns(const fitting *f)
{
    return HOLD_NS + HOLD_PERIODS * f->log->period_ns;
}

static bool is_near(const fitting *f, int64_t ns)
{
    return ns >= f->from_ns - hold_ns(f) && ns - hold_ns(f) <= f->to_ns;
}

/* Of a series of n samples at a moment that lies behind `at` of them: the last value, of energy between two.  NaN: none. */
static double value_at(const fitting *f, const hu_node_sample *first, size_t n, size_t at, int64_t ns)
{
    const hu_node_sample *before = at ? &first[at - 1] : NULL, *after = at < n ? &first[at] : NULL;

    if (!before || first->quantity == HU_GAUGE_XID || ns - before->ns > hold_ns(f))
        return NAN;
    if (first->quantity != HU_GAUGE_ENERGY)
        return before->value;
    if (!after || after->ns - before->ns > hold_ns(f) || after->value < before->value)
        return NAN;
    return before->value + (after->value - before->value) * (double)(ns - before->ns) / (double)(after->ns - before->ns);
}

static void put_sample(const fitting *f, uint32_t track, int64_t ns, double value)
{
    if (!isnan(value))
        hu_builder_sample(f->b, track, ns - f->base_ns, value);
}

/* A series in the trace's own time: its beginning and its end get the values that held then. */
static void add_track(const fitting *f, const hu_node_sample *first, size_t n, const char *label)
{
    static const struct {
        const char *words, *unit;
    } quantities[] = {
#define Q(id, words, unit, factor) {words, unit},
        HU_GPU_QUANTITIES(Q)
#undef Q
    };
    uint32_t track;
    size_t   i = 0;
    char     name[HU_NODE_TEXT];

    if (!is_near(f, first[0].ns) && !is_near(f, first[n - 1].ns) && (first[0].ns > f->to_ns || first[n - 1].ns < f->from_ns))
        return;
    snprintf(name, sizeof name, "%s %s (%s)", label, quantities[first->quantity].words, quantities[first->quantity].unit);
    track = hu_builder_counter(f->b, (hu_builder_id){0}, hu_builder_intern(f->b, hu_str_of(name)));
    while (i < n && first[i].ns <= f->from_ns)
        i++;
    put_sample(f, track, f->from_ns, value_at(f, first, n, i, f->from_ns));
    for (; i < n && first[i].ns < f->to_ns; i++)
        put_sample(f, track, first[i].ns, first[i].value);
    /* energy a moment later: the end of the last step then lies between two */
    put_sample(f, track, f->to_ns + (first->quantity == HU_GAUGE_ENERGY), value_at(f, first, n, i, f->to_ns));
}

/* A text as a field of a line. */
static void put_field(char *line, size_t *n, hu_str text)
{
    for (size_t i = 0; i < text.n && *n + 2 < LINE_BYTES; i++)
        line[(*n)++] = (unsigned char)text.p[i] < ' ' ? ' ' : text.p[i];
    line[(*n)++] = '\t';
}

/* As analyze/gpu_clocks.c reads it. */
static size_t put_gpu(const fitting *f, const hu_node_gpu *gpu, bool is_own, bool is_known, char line[LINE_BYTES])
{
    size_t n = (size_t)snprintf(line, LINE_BYTES, "%lld\t%d\t-1\t%d\t%lld\t%lld\t%lld\t0\t%lld\t0\t0\t",
                                (long long)gpu->number, is_own, gpu->is_mig, (long long)gpu->facts[HU_NODE_MOST_SM_MHZ],
                                (long long)gpu->facts[HU_NODE_MOST_MEMORY_MHZ],
                                (long long)(gpu->facts[HU_NODE_LIMIT_WATTS] * 1000), (long long)f->log->period_ns);

    put_field(line, &n, gpu->uuid);
    put_field(line, &n, gpu->bus);
    put_field(line, &n, gpu->driver);
    put_field(line, &n, gpu->name);
    put_field(line, &n, HU_STR(""));
    n += (size_t)snprintf(line + n, LINE_BYTES - n, "%lld\n", (long long)(is_known ? f->device : -1));
    return n;
}

static void add_gpus(fitting *f)
{
    const hu_node_sample *at = f->log->samples.at;
    const uint32_t        own = own_gpu(f);
    uint32_t              written = HU_NONE;
    hu_str                lines = {0};
    hu_arena             *scratch = hu_arena_new();
    char                 *text = scratch ? hu_arena_alloc(scratch, f->log->gpus.n * LINE_BYTES + 1) : NULL;

    if (!text) {
        hu_arena_free(scratch);
        hu_builder_fail(f->b, HU_ENOMEM, HU_NO_OFFSET, "out of memory");
        return;
    }
    lines.p = text;
    for (size_t i = 0, last; i < f->log->samples.n; i = last) {
        const hu_node_gpu *gpu = &f->log->gpus.at[at[i].gpu];
        const bool         is_known = at[i].gpu == own && f->device >= 0;
        char               label[HU_GPU_LABEL_BYTES];

        for (last = i + 1; last < f->log->samples.n && hu_node_is_one_series(&at[i], &at[last]); last++)
            continue;
        while (i < last && hu_node_is_moment(at[i].ns)) /* of another file, which says no times */
            i++;
        if (i == last || !is_of_node(f, gpu) || (own != HU_NONE && at[i].gpu != own))
            continue;
        hu_gpu_label(is_known ? f->device : -1, gpu->number, label);
        add_track(f, &at[i], last - i, label);
        if (at[i].gpu != written) {
            written = at[i].gpu;
            lines.n += put_gpu(f, gpu, at[i].gpu == own, is_known, text + lines.n);
        }
    }
    hu_builder_info(f->b)->gpus = hu_builder_keep(f->b, lines);
    hu_arena_free(scratch);
}

hu_node_fit hu_node_tracks_add(const hu_node_log *log, int64_t rank, hu_builder *b)
{
    const hu_trace_info *info = hu_builder_info(b);
    fitting              f = {.log = log, .b = b, .base_ns = info->base_ns, .rank = rank, .device = -1};
    bool                 has_any = false;
    hu_node_fit          zones;

    if (!log || !hu_node_log_has_any(log))
        return HU_NODE_NONE;
    if (info->gpus.n && log->zone_samples.n == 0)
        return HU_NODE_OWN;
    if (!hu_builder_span(b, &f.from_ns, &f.to_ns) || __builtin_add_overflow(f.from_ns, f.base_ns, &f.from_ns) ||
        __builtin_add_overflow(f.to_ns, f.base_ns, &f.to_ns) || hu_node_is_moment(f.from_ns))
        return info->gpus.n ? HU_NODE_OWN : HU_NODE_NO_CLOCK;
    if (log->last_ns == 0)
        return HU_NODE_NO_TIMES;
    zones = hu_node_zones_add(log, f.from_ns, f.to_ns, b);
    if (info->gpus.n)
        return zones == HU_NODE_ADDED ? zones : HU_NODE_OWN;
    if (log->samples.n == 0)
        return zones;
    if (!choose_host(&f))
        return HU_NODE_WHICH;
    for (size_t i = 0; i < log->samples.n && !has_any; i++)
        has_any = is_near(&f, log->samples.at[i].ns) && is_of_node(&f, &log->gpus.at[log->samples.at[i].gpu]);
    if (!has_any)
        return HU_NODE_APART;
    f.device = hu_builder_only_device(b);
    add_gpus(&f);
    return HU_NODE_ADDED;
}
