/* SPDX-License-Identifier: Apache-2.0
 * node_log.c - which reader a file needs; reads lines of JSON and answers of Prometheus itself. */
#include "ingest/node_log.h"

#include <string.h>

#include "base/json.h"
#include "base/number.h"
#include "ingest/amd_smi.h"
#include "ingest/node_series.h"
#include "ingest/node_text.h"
#include "ingest/smi_xml.h"
#include "trace/builder.h"

enum { HEAD_BYTES = 64 << 10 };

const char hu_node_log_none[] =
    "no samples of GPUs: no log of holdup monitor --jsonl, no answer of Prometheus, no scrape of an exporter, and no output "
    "of nvidia-smi (--query-gpu as CSV, dmon, pmon, -q, -q -x, topo -m), dcgmi dmon, amd-smi or rocm-smi";

typedef struct {
    hu_series   series;
    hu_arena   *scratch; /* of a line, or of the whole answer */
    const char *file;
} reader;

bool hu_node_is_same_host(hu_str a, hu_str b)
{
    const char *x = a.n ? memchr(a.p, '.', a.n) : NULL, *y = b.n ? memchr(b.p, '.', b.n) : NULL;

    a.n = x ? (size_t)(x - a.p) : a.n;
    b.n = y ? (size_t)(y - b.p) : b.n;
    return hu_str_equal(a, b);
}

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

/* Samples from these numbers on are of this file. */
static bool keep_file(hu_node_sink *s, size_t samples, size_t zones, int64_t bad_lines, int64_t bad_offset)
{
    hu_node_log *log = s->log;
    hu_node_file file = {.file = hu_node_keep(s, s->file),
                         .n = log->samples.n - samples + log->zone_samples.n - zones,
                         .bad_lines = bad_lines,
                         .bad_offset = bad_offset};

    for (size_t i = samples; i < log->samples.n; i++)
        hu_node_widen(&file.first_ns, &file.last_ns, log->samples.at[i].ns);
    for (size_t i = zones; i < log->zone_samples.n; i++)
        hu_node_widen(&file.first_ns, &file.last_ns, log->zone_samples.at[i].ns);
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
