/* SPDX-License-Identifier: Apache-2.0
 * node_log.c - which reader a file needs; reads lines of JSON and answers of Prometheus itself. */
#include "ingest/node_log.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/number.h"
#include "base/sort.h"
#include "ingest/amd_smi.h"
#include "ingest/node_series.h"
#include "ingest/node_text.h"
#include "ingest/node_zones.h"
#include "ingest/smi_xml.h"

enum { HEAD_BYTES = 64 << 10, LINE_BYTES = 1024 };
enum { FEWEST_GAPS = 3, HOLD_NS = 2000000000, HOLD_PERIODS = 4 }; /* as analyze/gpu_clocks.c */

const char hu_node_log_none[] =
    "no samples of GPUs: no log of holdup monitor --jsonl, no answer of Prometheus, no scrape of an exporter, and no output "
    "of nvidia-smi (--query-gpu as CSV, dmon, pmon, -q, -q -x, topo -m), dcgmi dmon, amd-smi or rocm-smi";

typedef struct {
    hu_series   series;
    hu_arena   *scratch; /* of a line, or of the whole answer */
    const char *file;
} reader;

/* Ours, or an answer of Prometheus. */
static bool probe_json(hu_str head)
{
    head.n = head.n < HEAD_BYTES ? head.n : HEAD_BYTES;
    if (head.n == 0 || head.p[0] != '{')
        return false;
    if (hu_str_starts(head, HU_STR("{\"time\":")) && hu_str_has(head, HU_STR("\"source\":")) &&
        hu_str_has(head, HU_STR("\"metrics\":")))
        return true;
    return hu_str_has(head, HU_STR("\"resultType\"")) &&
           (hu_str_has(head, HU_STR("\"matrix\"")) || hu_str_has(head, HU_STR("\"vector\""))) &&
           (hu_str_has(head, HU_STR("\"holdup_")) || hu_str_has(head, HU_STR("\"DCGM_FI_")));
}

bool hu_node_log_probe(hu_str head)
{
    return probe_json(head) || hu_amd_smi_probe(head) || hu_smi_xml_probe(head) || hu_node_text_probe(head);
}

static hu_series_labels read_labels(reader *r, hu_str object)
{
    hu_series_labels out = {0};
    hu_json          j = hu_json_enter(object);
    hu_str           key, value;

    while (hu_json_member(&j, &key, &value)) {
        hu_str *label = hu_series_label(&out, key);

        if (label)
            *label = hu_json_text(r->scratch, value);
    }
    return out;
}

/* ---- lines of our own log ---------------------------------------------------------------------------------------- */

/* False: the line is not whole. */
static bool read_line(reader *r, hu_str line)
{
    hu_str  key, value, host = HU_STR(""), metrics = {0}, metric;
    int64_t ns = 0;
    hu_json j = hu_json_enter(line);

    while (hu_json_member(&j, &key, &value)) {
        if (hu_str_equal(key, HU_STR("time")) && !hu_parse_scaled(value, 9, &ns))
            return false;
        if (hu_str_equal(key, HU_STR("host")))
            host = hu_json_text(r->scratch, value);
        if (hu_str_equal(key, HU_STR("metrics")))
            metrics = value;
    }
    if (j.is_broken || !metrics.p || hu_node_is_moment(ns))
        return false;
    j = hu_json_enter(metrics);
    while (hu_json_element(&j, &metric)) {
        const hu_str           name = hu_json_text(r->scratch, hu_json_get(metric, HU_STR("name")));
        const hu_series_labels l = read_labels(r, hu_json_get(metric, HU_STR("labels")));
        uint32_t               gpu;
        double                 number;

        if (!hu_parse_f64(hu_json_get(metric, HU_STR("value")), &number))
            continue;
        if (hu_series_take_zone(&r->series, name, &l, host, ns, number))
            continue;
        gpu = hu_series_gpu(&r->series, name, &l, host);
        if (gpu != HU_NONE)
            hu_series_take(&r->series, gpu, name, &l, ns, number);
    }
    return !j.is_broken;
}

/* Whole lines of a span; *left: bytes behind the last of them. */
static int read_lines(reader *r, const hu_span *span, size_t *left, hu_error *err)
{
    const char *at = span->p, *end = span->p + span->n;

    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        hu_arena   *scratch;

        if (!newline && !span->is_last)
            break;
        scratch = r->scratch = hu_arena_new();
        if (!scratch)
            return hu_fail_memory(err);
        if (newline != at && !read_line(r, (hu_str){at, (size_t)((newline ? newline : end) - at)}) && newline &&
            r->series.sink->log->bad_lines++ == 0)
            r->series.sink->log->bad_offset = (int64_t)(span->offset + (uint64_t)(at - span->p));
        hu_arena_free(scratch);
        if (!r->series.sink->has_memory)
            return hu_fail_memory(err);
        at = newline ? newline + 1 : end;
    }
    *left = (size_t)(end - at);
    return 0;
}

static int read_log(reader *r, hu_input *in, hu_error *err)
{
    hu_span span;
    size_t  left = 0;
    int     rc;

    do {
        if ((rc = hu_input_next(in, left, &span, err)) < 0 || (rc = read_lines(r, &span, &left, err)) < 0)
            return rc;
    } while (!span.is_last);
    return 0;
}

/* ---- an answer of Prometheus ------------------------------------------------------------------------------------- */

/* [time, "value"] */
static void read_pair(reader *r, uint32_t gpu, hu_str name, const hu_series_labels *l, hu_str pair)
{
    hu_json both = hu_json_enter(pair);
    hu_str  part;
    int64_t ns;
    double  value;

    if (hu_json_element(&both, &part) && hu_parse_scaled(part, 9, &ns) && hu_json_element(&both, &part) &&
        hu_parse_f64(hu_json_text(r->scratch, part), &value) && !hu_node_is_moment(ns) &&
        !hu_series_take_zone(&r->series, name, l, HU_STR(""), ns, value) && gpu != HU_NONE)
        hu_series_take(&r->series, gpu, name, l, ns, value);
}

static void read_series(reader *r, hu_str one)
{
    const hu_str           metric = hu_json_get(one, HU_STR("metric"));
    const hu_str           name = hu_json_text(r->scratch, hu_json_get(metric, HU_STR("__name__")));
    const hu_series_labels l = read_labels(r, metric);
    const uint32_t         gpu = hu_series_gpu(&r->series, name, &l, HU_STR(""));
    const hu_str           single = hu_json_get(one, HU_STR("value"));
    hu_json                values = hu_json_enter(hu_json_get(one, HU_STR("values")));
    hu_str                 pair;

    if (single.p) /* of a moment: a vector */
        read_pair(r, gpu, name, &l, single);
    while (hu_json_element(&values, &pair))
        read_pair(r, gpu, name, &l, pair);
}

static int read_answer(reader *r, hu_input *in, hu_error *err)
{
    hu_str  text, one;
    hu_json all;
    int     rc;

    r->scratch = hu_arena_new();
    if (!r->scratch)
        return hu_fail_memory(err);
    rc = hu_input_read_whole(in, r->scratch, &text, err);
    if (rc == 0) {
        const hu_str result = hu_json_get(hu_json_get(text, HU_STR("data")), HU_STR("result"));

        all = hu_json_enter(result);
        while (hu_json_element(&all, &one))
            read_series(r, one);
        if (all.is_broken || !result.p)
            rc = hu_fail(err, HU_EFORMAT, r->file, (int64_t)text.n, "this answer of Prometheus ends early; fetch it again");
    }
    hu_arena_free(r->scratch);
    if (rc == 0 && !r->series.sink->has_memory)
        rc = hu_fail_memory(err);
    return rc;
}

static int read_json(hu_node_sink *sink, hu_input *in, hu_error *err)
{
    hu_arena *arena = hu_arena_new();
    reader   *r = arena ? hu_arena_calloc(arena, 1, sizeof *r) : NULL;
    int       rc = r ? 0 : hu_fail_memory(err);

    if (rc == 0) {
        r->series.sink = sink;
        r->file = hu_input_name(in);
        rc = hu_str_starts(hu_input_head(in), HU_STR("{\"time\":")) ? read_log(r, in, err) : read_answer(r, in, err);
    }
    hu_arena_free(arena);
    return rc;
}

/* 0, 0: nothing yet. */
static void widen(int64_t *first_ns, int64_t *last_ns, int64_t ns)
{
    if (hu_node_is_moment(ns))
        return;
    *first_ns = *last_ns == 0 || ns < *first_ns ? ns : *first_ns;
    *last_ns = ns > *last_ns ? ns : *last_ns;
}

/* Samples from these numbers on are of this file. */
static bool keep_file(hu_node_sink *s, size_t samples, size_t zones, int64_t bad_lines, int64_t bad_offset)
{
    hu_node_log *log = s->log;
    hu_node_file file = {.file = hu_node_keep(s, s->file),
                         .n = log->samples.n - samples + log->zone_samples.n - zones,
                         .bad_lines = bad_lines,
                         .bad_offset = bad_offset};

    for (size_t i = samples; i < log->samples.n; i++)
        widen(&file.first_ns, &file.last_ns, log->samples.at[i].ns);
    for (size_t i = zones; i < log->zone_samples.n; i++)
        widen(&file.first_ns, &file.last_ns, log->zone_samples.at[i].ns);
    return s->has_memory && hu_vec_push(log->arena, &log->files, file);
}

int hu_node_log_read(hu_node_log *log, hu_input *in, hu_error *err)
{
    const size_t before = log->samples.n, counts = log->counts.n, zones = log->zone_samples.n,
                 topologies = log->topologies.n, processes = log->processes.n;
    const hu_str  head = hu_input_head(in);
    const char   *file = hu_input_name(in);
    hu_node_sink  sink = hu_node_sink_of(log, in);
    const int64_t bad_lines = log->bad_lines, bad_offset = log->bad_offset;
    int           rc;

    log->bad_lines = 0; /* of this one */

    if (probe_json(head))
        rc = read_json(&sink, in, err);
    else if (hu_amd_smi_probe(head))
        rc = hu_amd_smi_read(&sink, in, err);
    else if (hu_smi_xml_probe(head))
        rc = hu_smi_xml_read(&sink, in, err);
    else if (hu_node_text_probe(head))
        rc = hu_node_text_read(&sink, in, err);
    else
        return hu_fail(err, HU_EFORMAT, file, 0, "%s", hu_node_log_none);
    if (rc == 0 && !sink.has_memory)
        rc = hu_fail_memory(err);
    if (rc == 0 && sink.is_full)
        rc = hu_fail(err, HU_ELIMIT, file, HU_NO_OFFSET, "more than %lld samples; cut the log, or use --limit events=N",
                     (long long)sink.most);
    if (rc == 0 && log->samples.n == before && log->counts.n == counts && log->zone_samples.n == zones &&
        log->topologies.n == topologies && log->processes.n == processes && !sink.has_lost)
        rc = hu_fail(err, HU_EFORMAT, file, HU_NO_OFFSET, "no sample of a GPU; was it taken on a node with GPUs?");
    if (rc == 0 && !keep_file(&sink, before, zones, log->bad_lines, log->bad_offset))
        rc = hu_fail_memory(err);
    log->bad_offset = bad_lines ? bad_offset : log->bad_offset;
    log->bad_lines += bad_lines;
    if (rc < 0) {
        log->samples.n = before;
        log->counts.n = counts;
        log->zone_samples.n = zones;
        log->topologies.n = topologies;
        log->processes.n = processes;
    }
    return rc;
}

int hu_node_log_read_path(hu_node_log *log, const char *path, const hu_limits *limits, hu_error *err)
{
    const hu_input_options how = {.limits = *limits, .threads = 2};
    hu_input              *in = hu_input_open(path, &how, err);
    int                    rc;

    if (!in)
        return err->code;
    rc = hu_node_log_read(log, in, err);
    hu_input_close(in);
    return rc;
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

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

static bool is_like(const hu_node_sample *a, const hu_node_sample *b)
{
    return a->gpu == b->gpu && a->quantity == b->quantity;
}

/* Reasons of one moment are one number; what two files hold of the same moment counts once. */
static void join_moments(hu_node_log *log)
{
    hu_node_sample *at = log->samples.at;
    size_t          n = 0;

    for (size_t i = 0; i < log->samples.n; i++) {
        if (n == 0 || !is_like(&at[n - 1], &at[i]) || at[n - 1].ns != at[i].ns)
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
        if (is_like(&at[i - 1], &at[i]) && !hu_node_is_moment(at[i - 1].ns) &&
            (at[i].quantity == HU_GAUGE_POWER || at[i].quantity == HU_GAUGE_BUSY))
            gaps[n++] = at[i].ns - at[i - 1].ns;
    log->period_ns = n >= FEWEST_GAPS ? hu_node_period(hu_sort_nth_i64(gaps, n, n / 2)) : 0;
    return true;
}

bool hu_node_log_end(hu_node_log *log)
{
    hu_node_zones_end(log);
    if (!hu_node_log_has_any(log) && log->counts.n == 0)
        return true;
    log->first_ns = log->last_ns = 0;
    for (size_t i = 0; i < log->zone_samples.n; i++)
        widen(&log->first_ns, &log->last_ns, log->zone_samples.at[i].ns);
    for (size_t i = 0; i < log->samples.n; i++)
        widen(&log->first_ns, &log->last_ns, log->samples.at[i].ns);
    for (size_t i = 0; i < log->counts.n; i++)
        widen(&log->first_ns, &log->last_ns, log->counts.at[i].ns);
    if (log->counts.n)
        qsort(log->counts.at, log->counts.n, sizeof *log->counts.at, compare_counts);
    if (log->samples.n == 0)
        return true;
    if (!sort_samples(log))
        return false;
    join_moments(log);
    return measure_period(log);
}

/* ---- with a trace ------------------------------------------------------------------------------------------------ */

/* What is chosen for one trace. */
typedef struct {
    const hu_node_log *log;
    hu_builder        *b;
    int64_t            from_ns, to_ns; /* Unix time */
    int64_t            base_ns, rank, device;
    hu_str             host; /* whose GPUs count; "" all */
} fitting;

bool hu_node_is_same_host(hu_str a, hu_str b)
{
    const char *x = a.n ? memchr(a.p, '.', a.n) : NULL, *y = b.n ? memchr(b.p, '.', b.n) : NULL;

    a.n = x ? (size_t)(x - a.p) : a.n;
    b.n = y ? (size_t)(y - b.p) : b.n;
    return hu_str_equal(a, b);
}

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

        for (last = i + 1; last < f->log->samples.n && is_like(&at[i], &at[last]); last++)
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

hu_node_fit hu_node_log_add(const hu_node_log *log, int64_t rank, hu_builder *b)
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
