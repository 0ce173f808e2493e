/* SPDX-License-Identifier: Apache-2.0
 * node_log.c - reads lines of JSON, or one answer of Prometheus, by the names of the series. */
#include "ingest/node_log.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/number.h"
#include "ingest/node_csv.h"
#include "ingest/node_zones.h"

enum { HEAD_BYTES = 64 << 10, MOST_GPUS = 4096, TEXT = 128, LINE_BYTES = 1024, MOST_XIDS = 256 };
enum { FEWEST_GAPS = 3, HOLD_NS = 2000000000, HOLD_PERIODS = 4 }; /* as analyze/gpu_clocks.c */

static const int64_t LEAST_WALL_NS = INT64_C(1000000000000000000); /* September 2001 */

/* Series that hold a quantity, and what one unit of theirs is in ours (base/gpu_counters.h). */
static const struct {
    const char     *name;
    hu_gpu_quantity quantity;
    double          factor;
} series[] = {
    {"holdup_gpu_utilization_ratio", HU_GAUGE_BUSY, 100},
    {"holdup_gpu_memory_busy_ratio", HU_GAUGE_MEMORY_BUSY, 100},
    {"holdup_gpu_sm_clock_hertz", HU_GAUGE_SM_CLOCK, 1e-6},
    {"holdup_gpu_memory_clock_hertz", HU_GAUGE_MEMORY_CLOCK, 1e-6},
    {"holdup_gpu_power_watts", HU_GAUGE_POWER, 1},
    {"holdup_gpu_energy_joules_total", HU_GAUGE_ENERGY, 1},
    {"holdup_gpu_memory_used_bytes", HU_GAUGE_MEMORY, 1},
    {"holdup_gpu_temperature_celsius", HU_GAUGE_TEMPERATURE, 1},
    {"DCGM_FI_DEV_GPU_UTIL", HU_GAUGE_BUSY, 1},
    {"DCGM_FI_DEV_MEM_COPY_UTIL", HU_GAUGE_MEMORY_BUSY, 1},
    {"DCGM_FI_DEV_SM_CLOCK", HU_GAUGE_SM_CLOCK, 1},
    {"DCGM_FI_DEV_MEM_CLOCK", HU_GAUGE_MEMORY_CLOCK, 1},
    {"DCGM_FI_DEV_POWER_USAGE", HU_GAUGE_POWER, 1},
    {"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", HU_GAUGE_ENERGY, 1e-3},
    {"DCGM_FI_DEV_FB_USED", HU_GAUGE_MEMORY, 1 << 20},
    {"DCGM_FI_DEV_GPU_TEMP", HU_GAUGE_TEMPERATURE, 1},
    {"DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", HU_GAUGE_REASONS, 1},
    {"DCGM_FI_DEV_CLOCKS_EVENT_REASONS", HU_GAUGE_REASONS, 1},
};

static const struct {
    uint32_t    bit;
    const char *words;
} reasons[] = {
#define R(id, bit, lowers, words) {bit, words},
    HU_GPU_REASONS(R)
#undef R
};

/* Labels that matter, of either exporter. */
typedef struct {
    hu_str gpu, uuid, gi, host, model, bus, driver, rank, reason, xid, zone;
} labels;

/* A counter of errors, so that its rise is seen. */
typedef struct {
    uint32_t gpu;
    int64_t  xid;
    double   count;
} xid_count;

typedef struct {
    hu_node_log *log;
    hu_arena    *scratch; /* of a line, or of the whole answer */
    const char  *file;
    int64_t      most;
    xid_count    xids[MOST_XIDS];
    size_t       n_xids;
    bool         has_memory, is_full;
} reader;

bool hu_node_log_probe(hu_str head)
{
    if (hu_node_csv_probe(head))
        return true;
    head.n = head.n < HEAD_BYTES ? head.n : HEAD_BYTES;
    if (head.n == 0 || head.p[0] != '{')
        return false;
    if (hu_str_starts(head, HU_STR("{\"time\":")) && hu_str_has(head, HU_STR("\"source\":")) &&
        hu_str_has(head, HU_STR("\"metrics\":")))
        return true;
    return hu_str_has(head, HU_STR("\"resultType\"")) && hu_str_has(head, HU_STR("\"matrix\"")) &&
           (hu_str_has(head, HU_STR("\"holdup_")) || hu_str_has(head, HU_STR("\"DCGM_FI_")));
}

static hu_str keep(reader *r, hu_str text)
{
    const hu_str kept = hu_arena_copy(r->log->arena, text);

    if (!kept.p)
        r->has_memory = false;
    return kept.p ? kept : HU_STR("");
}

/* "node7:9878" is node7. */
static hu_str without_port(hu_str host)
{
    const char *colon = host.n ? memrchr(host.p, ':', host.n) : NULL;

    return colon ? (hu_str){host.p, (size_t)(colon - host.p)} : host;
}

static labels read_labels(reader *r, hu_str object)
{
    static const struct {
        const char *key;
        size_t      offset;
    } known[] = {
        {"gpu", offsetof(labels, gpu)},         {"uuid", offsetof(labels, uuid)},
        {"UUID", offsetof(labels, uuid)},       {"gi", offsetof(labels, gi)},
        {"GPU_I_ID", offsetof(labels, gi)},     {"instance", offsetof(labels, host)},
        {"host", offsetof(labels, host)},       {"Hostname", offsetof(labels, host)},
        {"hostname", offsetof(labels, host)},   {"model", offsetof(labels, model)},
        {"modelName", offsetof(labels, model)}, {"pci_bus_id", offsetof(labels, bus)},
        {"driver", offsetof(labels, driver)},   {"DCGM_FI_DRIVER_VERSION", offsetof(labels, driver)},
        {"rank", offsetof(labels, rank)},       {"reason", offsetof(labels, reason)},
        {"xid", offsetof(labels, xid)},         {"zone", offsetof(labels, zone)},
    };
    labels  out = {0};
    hu_json j = hu_json_enter(object);
    hu_str  key, value;

    while (hu_json_member(&j, &key, &value))
        for (size_t i = 0; i < HU_COUNT(known); i++)
            if (hu_str_equal(key, hu_str_of(known[i].key)))
                *(hu_str *)((char *)&out + known[i].offset) = hu_json_text(r->scratch, value);
    return out;
}

/* The GPU of these labels; it is added where it is new.  HU_NONE: they name none. */
static uint32_t find_gpu(reader *r, const labels *l, hu_str host)
{
    const hu_str of = l->host.n ? without_port(l->host) : host;
    int64_t      number = -1;
    hu_node_gpu *at = r->log->gpus.at;
    size_t       i;

    if (l->uuid.n == 0 || l->uuid.n >= TEXT)
        return HU_NONE;
    for (i = 0; i < r->log->gpus.n; i++)
        if (hu_str_equal(at[i].uuid, l->uuid))
            return (uint32_t)i;
    if (i == MOST_GPUS || !hu_parse_i64(l->gpu, &number) || number < 0)
        return HU_NONE;
    if (!hu_vec_push(r->log->arena, &r->log->gpus,
                     ((hu_node_gpu){.uuid = keep(r, l->uuid),
                                    .host = keep(r, of),
                                    .name = keep(r, l->model),
                                    .bus = keep(r, l->bus),
                                    .driver = keep(r, l->driver),
                                    .number = number,
                                    .rank = -1})))
        r->has_memory = false;
    return r->has_memory ? (uint32_t)i : HU_NONE;
}

static void add_sample(reader *r, uint32_t gpu, hu_gpu_quantity quantity, int64_t ns, double value)
{
    if (!isfinite(value) || ns < LEAST_WALL_NS)
        return;
    if ((int64_t)r->log->samples.n >= r->most)
        r->is_full = true;
    else if (!hu_vec_push(r->log->arena, &r->log->samples, ((hu_node_sample){ns, value, gpu, quantity})))
        r->has_memory = false;
}

/* A GPU's information, or whose it is: known once, whenever it was sampled. */
static void take_facts(reader *r, hu_node_gpu *gpu, hu_str name, const labels *l, double value)
{
    int64_t rank;

    if (hu_str_equal(name, HU_STR("holdup_gpu_info"))) {
        gpu->name = gpu->name.n ? gpu->name : keep(r, l->model);
        gpu->bus = gpu->bus.n ? gpu->bus : keep(r, l->bus);
        gpu->driver = gpu->driver.n ? gpu->driver : keep(r, l->driver);
    } else if (hu_str_equal(name, HU_STR("holdup_job_info")) && hu_parse_i64(l->rank, &rank) && rank >= 0) {
        gpu->rank = gpu->rank < 0 || gpu->rank == rank ? (gpu->rank == HU_NODE_SEVERAL ? HU_NODE_SEVERAL : rank)
                                                       : HU_NODE_SEVERAL;
    } else if (hu_str_equal(name, HU_STR("holdup_gpu_power_limit_watts"))) {
        gpu->limit_watts = value;
    } else if (hu_str_equal(name, HU_STR("holdup_gpu_sm_clock_max_hertz"))) {
        gpu->most_sm_mhz = value * 1e-6;
    } else if (hu_str_equal(name, HU_STR("holdup_gpu_memory_clock_max_hertz"))) {
        gpu->most_memory_mhz = value * 1e-6;
    }
}

/* The first value of a counter says nothing of when its errors were. */
static void take_xid(reader *r, uint32_t gpu, const labels *l, int64_t ns, double count)
{
    int64_t xid;
    size_t  i = 0;

    if (!hu_parse_i64(l->xid, &xid))
        return;
    while (i < r->n_xids && (r->xids[i].gpu != gpu || r->xids[i].xid != xid))
        i++;
    if (i == MOST_XIDS)
        return;
    if (i == r->n_xids)
        r->xids[r->n_xids++] = (xid_count){gpu, xid, count};
    if (count > r->xids[i].count)
        add_sample(r, gpu, HU_GAUGE_XID, ns, (double)xid);
    r->xids[i].count = count;
}

static void take_value(reader *r, uint32_t gpu, hu_str name, const labels *l, int64_t ns, double value)
{
    for (size_t i = 0; i < HU_COUNT(series); i++)
        if (hu_str_equal(name, hu_str_of(series[i].name))) {
            add_sample(r, gpu, series[i].quantity, ns, value * series[i].factor);
            return;
        }
    if (hu_str_equal(name, HU_STR("holdup_gpu_clock_event_reason"))) {
        for (size_t i = 0; i < HU_COUNT(reasons); i++)
            if (hu_str_equal(l->reason, hu_str_of(reasons[i].words)))
                add_sample(r, gpu, HU_GAUGE_REASONS, ns, value > 0 ? reasons[i].bit : 0);
        return;
    }
    if (hu_str_equal(name, HU_STR("holdup_gpu_xid_errors_total")))
        take_xid(r, gpu, l, ns, value);
    else
        take_facts(r, &r->log->gpus.at[gpu], name, l, value);
}

/* A series of the log about a GPU as a whole; HU_NONE: it is about something else. */
static uint32_t gpu_of_series(reader *r, hu_str name, const labels *l, hu_str host)
{
    uint32_t gpu;

    if (!hu_str_starts(name, HU_STR("holdup_gpu_")) && !hu_str_equal(name, HU_STR("holdup_job_info")) &&
        !hu_str_starts(name, HU_STR("DCGM_FI_")))
        return HU_NONE;
    gpu = find_gpu(r, l, host);
    if (gpu != HU_NONE && l->gi.n) {
        r->log->gpus.at[gpu].is_mig = true;
        return HU_NONE;
    }
    return gpu;
}

/* Of a node's processors.  False: it is no such series. */
static bool take_zone(reader *r, hu_str name, const labels *l, hu_str host, int64_t ns, double joules)
{
    if (!hu_str_equal(name, HU_STR("holdup_host_energy_joules_total")))
        return false;
    if ((int64_t)(r->log->samples.n + r->log->zone_samples.n) >= r->most)
        r->is_full = true;
    else if (ns >= LEAST_WALL_NS &&
             !hu_node_zones_take(r->log, l->host.n ? without_port(l->host) : host, l->zone, ns, joules))
        r->has_memory = false;
    return true;
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
    if (j.is_broken || !metrics.p || ns < LEAST_WALL_NS)
        return false;
    j = hu_json_enter(metrics);
    while (hu_json_element(&j, &metric)) {
        const hu_str name = hu_json_text(r->scratch, hu_json_get(metric, HU_STR("name")));
        const labels l = read_labels(r, hu_json_get(metric, HU_STR("labels")));
        uint32_t     gpu;
        double       number;

        if (!hu_parse_f64(hu_json_get(metric, HU_STR("value")), &number))
            continue;
        if (take_zone(r, name, &l, host, ns, number))
            continue;
        gpu = gpu_of_series(r, name, &l, host);
        if (gpu != HU_NONE)
            take_value(r, gpu, name, &l, ns, number);
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
            r->log->bad_lines++ == 0)
            r->log->bad_offset = (int64_t)(span->offset + (uint64_t)(at - span->p));
        hu_arena_free(scratch);
        if (!r->has_memory)
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

static void read_series(reader *r, hu_str one)
{
    const hu_str metric = hu_json_get(one, HU_STR("metric"));
    const hu_str name = hu_json_text(r->scratch, hu_json_get(metric, HU_STR("__name__")));
    const labels l = read_labels(r, metric);
    uint32_t     gpu = gpu_of_series(r, name, &l, HU_STR(""));
    hu_json      values = hu_json_enter(hu_json_get(one, HU_STR("values")));
    hu_str       pair, part;

    while (hu_json_element(&values, &pair)) {
        hu_json both = hu_json_enter(pair);
        int64_t ns;
        double  value;

        if (hu_json_element(&both, &part) && hu_parse_scaled(part, 9, &ns) && hu_json_element(&both, &part) &&
            hu_parse_f64(hu_json_text(r->scratch, part), &value) && !take_zone(r, name, &l, HU_STR(""), ns, value) &&
            gpu != HU_NONE)
            take_value(r, gpu, name, &l, ns, value);
    }
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
    if (rc == 0 && !r->has_memory)
        rc = hu_fail_memory(err);
    return rc;
}

int hu_node_log_read(hu_node_log *log, hu_input *in, hu_error *err)
{
    const size_t before = log->samples.n, zones_before = log->zone_samples.n;
    reader       r = {.log = log, .file = hu_input_name(in), .most = hu_input_limits(in)->events, .has_memory = true};
    int          rc;

    if (!hu_node_log_probe(hu_input_head(in)))
        return hu_fail(
            err, HU_EFORMAT, r.file, 0,
            "no log of holdup monitor --jsonl, no answer of Prometheus to a query_range of its series, and no CSV "
            "of nvidia-smi with timestamp");
    if (hu_node_csv_probe(hu_input_head(in)))
        rc = hu_node_csv_read(log, in, err);
    else
        rc = hu_str_starts(hu_input_head(in), HU_STR("{\"time\":")) ? read_log(&r, in, err) : read_answer(&r, in, err);
    if (rc == 0 && r.is_full)
        rc = hu_fail(err, HU_ELIMIT, r.file, HU_NO_OFFSET, "more than %lld samples; cut the log, or use --limit events=N",
                     (long long)r.most);
    if (rc == 0 && log->samples.n == before && log->zone_samples.n == zones_before)
        rc = hu_fail(err, HU_EFORMAT, r.file, HU_NO_OFFSET, "no sample of a GPU; was it taken on a node with GPUs?");
    if (rc < 0) {
        log->samples.n = before;
        log->zone_samples.n = zones_before;
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

static int compare(const void *left, const void *right)
{
    const hu_node_sample *a = left, *b = right;

    if (a->gpu != b->gpu)
        return a->gpu < b->gpu ? -1 : 1;
    if (a->quantity != b->quantity)
        return a->quantity < b->quantity ? -1 : 1;
    return (a->ns > b->ns) - (a->ns < b->ns);
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

static int by_length(const void *left, const void *right)
{
    const int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

    return (a > b) - (a < b);
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
        if (is_like(&at[i - 1], &at[i]) && (at[i].quantity == HU_GAUGE_POWER || at[i].quantity == HU_GAUGE_BUSY))
            gaps[n++] = at[i].ns - at[i - 1].ns;
    qsort(gaps, n, sizeof *gaps, by_length);
    log->period_ns = n >= FEWEST_GAPS ? gaps[n / 2] : 0;
    return true;
}

static void widen(hu_node_log *log, int64_t ns)
{
    log->first_ns = ns < log->first_ns ? ns : log->first_ns;
    log->last_ns = ns > log->last_ns ? ns : log->last_ns;
}

bool hu_node_log_end(hu_node_log *log)
{
    hu_node_zones_end(log);
    if (!hu_node_log_has_any(log))
        return true;
    log->first_ns = INT64_MAX;
    log->last_ns = INT64_MIN;
    for (size_t i = 0; i < log->zone_samples.n; i++)
        widen(log, log->zone_samples.at[i].ns);
    for (size_t i = 0; i < log->samples.n; i++)
        widen(log, log->samples.at[i].ns);
    if (log->samples.n == 0)
        return true;
    qsort(log->samples.at, log->samples.n, sizeof *log->samples.at, compare);
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
    const hu_node_gpu *at = f->log->gpus.at;
    const hu_str       own = hu_builder_info(f->b)->host;
    bool               is_one = true;

    for (size_t i = 1; i < f->log->gpus.n; i++)
        is_one = is_one && hu_node_is_same_host(at[i].host, at[0].host);
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
    return ns >= f->from_ns - hold_ns(f) && ns <= f->to_ns + hold_ns(f);
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
    char     name[TEXT];

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
                                (long long)gpu->number, is_own, gpu->is_mig, (long long)gpu->most_sm_mhz,
                                (long long)gpu->most_memory_mhz, (long long)(gpu->limit_watts * 1000),
                                (long long)f->log->period_ns);

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
        if (!is_of_node(f, gpu) || (own != HU_NONE && at[i].gpu != own))
            continue;
        hu_gpu_label(is_known ? f->device : -1, gpu->number, label);
        add_track(f, &at[i], last - i, label);
        if (i == 0 || at[i - 1].gpu != at[i].gpu)
            lines.n += put_gpu(f, gpu, at[i].gpu == own, is_known, text + lines.n);
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
        __builtin_add_overflow(f.to_ns, f.base_ns, &f.to_ns) || f.from_ns < LEAST_WALL_NS)
        return info->gpus.n ? HU_NODE_OWN : HU_NODE_NO_CLOCK;
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
