/* SPDX-License-Identifier: Apache-2.0
 * rocprof_csv.c - tables of rocprofv3 (908_kernel_trace.csv, 908_hip_api_trace.csv ...), and results.csv of rocprof and
 * rocprofv2 (docs/formats/rocprof.md).
 *
 * rocprofv3 writes a table for each kind of record, so a trace is several files: any of them stands for all that lie beside
 * it under the same name.  Traps: a table of kernels does not say its process; sizes of copies are in none; agents are
 * numbered as `--agent-index` had it, "Agent 4" by node or by order, "GPU 0" among its kind.
 */
#include <stdio.h>

#include "base/number.h"
#include "ingest/format.h"
#include "ingest/rocm.h"
#include "ingest/rocprof_set.h"
#include "ingest/rocprof_table.h"

enum { PATH_BYTES = 4096, LOGICAL_AGENT = 1 << 20 };

typedef struct {
    rocm_reader rocm;
    hu_map      dispatches; /* of kernels with counters: that were read */
    int64_t     pid;        /* of tables that do not say it; 0 unknown */
    bool        has_agents, has_kernels, has_streams, is_cut;
} reader;

static void no_memory(reader *r)
{
    hu_builder_fail(r->rocm.b, HU_ENOMEM, HU_NO_OFFSET, "out of memory");
}

static bool probe(hu_str head)
{
    rocprof_heading h;

    return rocprof_heading_take(&head, &h);
}

/* Agents */

static void take_agent(reader *r, const rocprof_heading *h, const rocprof_cells *c, int64_t *n_gpus)
{
    const hu_str  name = rocprof_text(h, c, ROCPROF_PRODUCT);
    const int64_t logical = rocprof_int(h, c, ROCPROF_LOGICAL, -1);
    const bool    is_gpu = hu_str_equal(rocprof_text(h, c, ROCPROF_TYPE), HU_STR("GPU"));
    rocm_agent    a = {.agent = rocprof_int(h, c, ROCPROF_NODE, ROCM_NO_AGENT),
                       .number = is_gpu ? *n_gpus : -1,
                       .name = name.n ? name : rocprof_text(h, c, ROCPROF_NAME),
                       .units = rocprof_int(h, c, ROCPROF_UNITS, 0),
                       .wave = rocprof_int(h, c, ROCPROF_WAVE, 0),
                       .waves_per_unit = rocprof_int(h, c, ROCPROF_WAVES, 0)};

    *n_gpus += is_gpu;
    r->has_agents = true;
    rocm_add_agent(&r->rocm, &a);
    if (is_gpu && logical >= 0 && logical < LOGICAL_AGENT) {
        uint32_t *place = hu_map_put(&r->rocm.devices, (uint64_t)(LOGICAL_AGENT + logical));

        if (place)
            *place = (uint32_t)a.number;
        else
            no_memory(r);
    }
}

/* "Agent 4", "4": by order, which is the default, or else by node; "GPU 0" among GPUs; "CPU 1" is none.  Without a table of
   agents a number is the GPU's, unless `may_be_host`. */
static int64_t device_of(const reader *r, hu_str agent, bool may_be_host)
{
    hu_str  digits = {agent.p, agent.n};
    int64_t number, found;

    for (size_t i = 0; i < agent.n; i++)
        if (agent.p[i] == ' ')
            digits = (hu_str){agent.p + i + 1, agent.n - i - 1};
    if (hu_str_starts(agent, HU_STR("CPU")) || !hu_parse_i64(digits, &number) || number < 0 || number >= LOGICAL_AGENT)
        return -1;
    if (hu_str_starts(agent, HU_STR("GPU")))
        return number;
    found = rocm_device_of(&r->rocm, LOGICAL_AGENT + number);
    if (found < 0)
        found = rocm_device_of(&r->rocm, number);
    return found < 0 && !r->has_agents && !may_be_host ? number : found;
}

/* Rows */

static rocm_when when_of(const reader *r, const rocprof_heading *h, const rocprof_cells *c)
{
    return (rocm_when){.start_ns = rocprof_int(h, c, ROCPROF_START, -1),
                       .end_ns = rocprof_int(h, c, ROCPROF_END, -1),
                       .pid = rocprof_int(h, c, ROCPROF_PROCESS, r->pid),
                       .tid = rocprof_int(h, c, ROCPROF_THREAD, 0),
                       .correlation = rocprof_int(h, c, ROCPROF_CORRELATION, 0)};
}

/* Where no record says a stream, rows are those of the queues. */
static int64_t row_of(const reader *r, const rocprof_heading *h, const rocprof_cells *c)
{
    const int64_t stream = rocprof_int(h, c, ROCPROF_STREAM, -1);

    return r->has_streams ? stream : rocprof_int(h, c, ROCPROF_QUEUE, stream);
}

static void take_kernel(reader *r, const rocprof_heading *h, const rocprof_cells *c)
{
    rocm_kernel k = {.when = when_of(r, h, c),
                     .device = rocprof_int(h, c, ROCPROF_NUMBER, -1),
                     .stream = row_of(r, h, c),
                     .name = rocm_kernel_name(&r->rocm, rocprof_text(h, c, ROCPROF_KERNEL)),
                     .shared_bytes = rocprof_int(h, c, ROCPROF_SHARED, 0),
                     .registers = rocprof_int(h, c, ROCPROF_VECTOR, 0) + rocprof_int(h, c, ROCPROF_ACCUMULATION, 0)};

    if (k.device < 0)
        k.device = device_of(r, rocprof_text(h, c, ROCPROF_AGENT), false);
    for (int i = 0; i < 3; i++) {
        k.grid[i] = rocprof_int(h, c, (rocprof_column)(ROCPROF_GRID_X + i), 1);
        k.group[i] = rocprof_int(h, c, (rocprof_column)(ROCPROF_GROUP_X + i), 1);
    }
    rocm_add_kernel(&r->rocm, &k);
}

/* Of its rows, one for each counter, the first. */
static void take_counted(reader *r, const rocprof_heading *h, const rocprof_cells *c)
{
    const int64_t dispatch = rocprof_int(h, c, ROCPROF_DISPATCH, -1);
    uint32_t     *place = hu_map_put(&r->dispatches, (uint64_t)dispatch);
    const bool    is_new = place && *place == HU_MAP_NONE;

    if (!place) {
        no_memory(r);
        return;
    }
    *place = 0;
    if (is_new || dispatch < 0)
        take_kernel(r, h, c);
}

static void take_copy(reader *r, const rocprof_heading *h, const rocprof_cells *c)
{
    const hu_str direction = rocprof_text(h, c, ROCPROF_DIRECTION);
    const bool   from_host = hu_str_has(direction, HU_STR("HOST_TO")), to_host = hu_str_has(direction, HU_STR("TO_HOST"));
    rocm_copy    copy = {.when = when_of(r, h, c), .direction = direction, .from = -1, .to = -1, .bytes = -1};

    if (!from_host)
        copy.from = device_of(r, rocprof_text(h, c, ROCPROF_FROM), false);
    if (!to_host)
        copy.to = device_of(r, rocprof_text(h, c, ROCPROF_TO), false);
    copy.stream = rocprof_int(h, c, ROCPROF_STREAM, -1);
    rocm_add_copy(&r->rocm, &copy);
}

/* rocprofv2 writes what the GPU did among the calls. */
static void take_operation(reader *r, const rocprof_heading *h, const rocprof_cells *c)
{
    const hu_str kernel = rocprof_text(h, c, ROCPROF_KERNEL), function = rocprof_text(h, c, ROCPROF_FUNCTION);

    if (kernel.n)
        take_kernel(r, h, c);
    else if (hu_str_has(function, HU_STR("Copy")))
        rocm_add_copy(
            &r->rocm,
            &(rocm_copy){.when = when_of(r, h, c), .direction = function, .from = -1, .to = -1, .stream = -1, .bytes = -1});
}

static void take_call(reader *r, const rocprof_heading *h, const rocprof_cells *c)
{
    rocm_call call = {.when = when_of(r, h, c),
                      .domain = rocprof_text(h, c, ROCPROF_DOMAIN),
                      .name = rocprof_text(h, c, ROCPROF_FUNCTION),
                      .message = HU_STR("")};

    if (hu_str_has(call.domain, HU_STR("_OPS_"))) {
        take_operation(r, h, c);
        return;
    }
    if (hu_str_starts(call.domain, HU_STR("MARKER_CORE")) && !hu_str_equal(call.name, HU_STR("roctxGetThreadId"))) {
        call.message = call.name; /* the text stands in the place of the function */
        call.overlaps = call.when.tid == 0;
    }
    r->pid = r->pid ? r->pid : call.when.pid;
    rocm_add_call(&r->rocm, &call);
}

static void take_allocation(reader *r, const rocprof_heading *h, const rocprof_cells *c)
{
    const rocm_when when = when_of(r, h, c);
    const hu_str    operation = rocprof_text(h, c, ROCPROF_OPERATION);
    const bool      is_release = hu_str_has(operation, HU_STR("FREE"));

    if (is_release || hu_str_has(operation, HU_STR("ALLOCATE")))
        rocm_add_allocation(&r->rocm,
                            &(rocm_allocation){.time_ns = when.start_ns,
                                               .pid = when.pid,
                                               .tid = when.tid,
                                               .bytes = is_release ? -1 : rocprof_int(h, c, ROCPROF_BYTES, 0),
                                               .address = (uint64_t)rocprof_int(h, c, ROCPROF_ADDRESS, 0),
                                               .device = (int32_t)device_of(r, rocprof_text(h, c, ROCPROF_AGENT), true)});
}

/* Tables */

static bool find_stream(const rocprof_heading *h, hu_str text, hu_arena *arena)
{
    rocprof_cells c;

    while (h->place[ROCPROF_STREAM] >= 0 && rocprof_row_take(&text, arena, &c) == ROCPROF_ROW)
        if (rocprof_int(h, &c, ROCPROF_STREAM, 0) > 0)
            return true;
    return false;
}

static void take_row(reader *r, const rocprof_heading *h, const rocprof_cells *c, int64_t *n_gpus)
{
    switch (h->kind) {
    case ROCPROF_KERNELS:
        take_kernel(r, h, c);
        break;
    case ROCPROF_COUNTERS:
        take_counted(r, h, c);
        break;
    case ROCPROF_COPIES:
        take_copy(r, h, c);
        break;
    case ROCPROF_CALLS:
        take_call(r, h, c);
        break;
    case ROCPROF_ALLOCATIONS:
        take_allocation(r, h, c);
        break;
    case ROCPROF_AGENTS:
        take_agent(r, h, c, n_gpus);
        break;
    case ROCPROF_NO_TABLE:
        break;
    }
}

/* All rows of one table; `arena` goes with it. */
static void read_table(reader *r, hu_str text, hu_arena *arena)
{
    const char     *begin = text.p;
    hu_quality     *q = hu_builder_quality(r->rocm.b);
    int64_t         n_gpus = 0;
    rocprof_heading h;
    rocprof_cells   c;
    rocprof_taken   taken;

    if (!rocprof_heading_take(&text, &h) || (h.kind == ROCPROF_COUNTERS && r->has_kernels))
        return;
    r->has_kernels |= h.kind == ROCPROF_KERNELS;
    r->has_streams |= find_stream(&h, text, arena);
    while (hu_builder_status(r->rocm.b, NULL) == 0 && (taken = rocprof_row_take(&text, arena, &c)) != ROCPROF_NO_MORE) {
        if (taken == ROCPROF_NO_MEMORY) {
            no_memory(r);
        } else if (taken == ROCPROF_CUT_ROW && c.n < h.n) {
            r->is_cut = true;
            hu_builder_truncated(r->rocm.b, (int64_t)(text.p - begin), "");
        } else if (c.n < h.n) {
            q->events++;
            hu_quality_count(q, HU_REASON_MALFORMED, 0);
        } else {
            take_row(r, &h, &c, &n_gpus);
        }
    }
}

/* A stream that breaks gives what came before. */
static int read_input(reader *r, hu_input *in, hu_error *err)
{
    hu_arena *arena = hu_arena_new();
    hu_str    text = {NULL, 0};
    int       rc = arena ? hu_input_read_whole(in, arena, &text, err) : hu_fail_memory(err);

    if (rc < 0 && text.p) {
        hu_builder_truncated(r->rocm.b, (int64_t)text.n, err->text);
        *err = (hu_error){0};
        r->is_cut = true;
        rc = 0;
    }
    if (rc == 0) {
        hu_builder_info(r->rocm.b)->bytes += (int64_t)text.n;
        read_table(r, text, arena);
    }
    hu_arena_free(arena);
    return rc;
}

/* A table beside the one that was named, if it is there. */
static void read_beside(reader *r, const char *path, const hu_input_options *options)
{
    hu_error  err = {0};
    hu_input *in = hu_input_open(path, options, &err);
    char      words[256];

    if (in && read_input(r, in, &err) == 0) {
        hu_input_close(in);
        return;
    }
    if (in)
        hu_input_close(in);
    snprintf(words, sizeof words, "%.*s could not be read: %.120s", HU_FMT(hu_str_base_name(hu_str_of(path))), err.text);
    rocm_warn(&r->rocm, words);
}

static bool exists(const char *path)
{
    FILE *f = fopen(path, "re");

    if (f)
        fclose(f);
    return f;
}

/* "908" of "908_". */
static int64_t pid_of(hu_str prefix)
{
    hu_str  name = hu_str_base_name(prefix);
    int64_t pid;

    while (name.n && memchr("_-.", name.p[name.n - 1], 3))
        name.n--;
    for (size_t i = name.n; i-- > 0;)
        if (name.p[i] < '0' || name.p[i] > '9') {
            name = (hu_str){name.p + i + 1, name.n - i - 1};
            break;
        }
    return hu_parse_i64(name, &pid) && pid > 0 && pid < UINT32_MAX ? pid : 0;
}

/* The table that was named in its place among those beside it. */
static int read_set(reader *r, hu_input *in, hu_error *err)
{
    const hu_str           name = hu_str_of(hu_input_name(in));
    const hu_input_options options = {.limits = *hu_input_limits(in), .threads = hu_input_threads(in)};
    hu_str                 prefix, packed;
    size_t                 own;
    int                    rc = 0;

    if (!hu_rocprof_set_table(name, &prefix, &own, &packed))
        return read_input(r, in, err);
    r->pid = pid_of(prefix);
    for (size_t i = 0; hu_rocprof_tables[i] && rc == 0; i++) {
        char path[PATH_BYTES];

        if (i == own)
            rc = read_input(r, in, err);
        else if (snprintf(path, sizeof path, "%.*s%s%.*s", HU_FMT(prefix), hu_rocprof_tables[i], HU_FMT(packed)) <
                     (int)sizeof path &&
                 exists(path))
            read_beside(r, path, &options);
    }
    return rc;
}

static const char *tool_of(hu_str head)
{
    rocprof_heading h;

    rocprof_heading_take(&head, &h);
    return h.kind == ROCPROF_AGENTS || h.place[ROCPROF_NUMBER] < 0 ? "rocprofv3 (ROCm)" : "rocprof (ROCm)";
}

static int import(hu_input *in, hu_builder *b, hu_error *err)
{
    hu_arena *arena = hu_arena_new();
    reader    r = {0};
    int       rc = 0;

    if (!arena || !rocm_init(&r.rocm, b, arena) || !hu_map_init(&r.dispatches, arena, 64))
        rc = hu_fail_memory(err);
    if (rc == 0) {
        r.rocm.part = hu_input_part(in);
        hu_builder_info(b)->tool = hu_str_of(tool_of(hu_input_head(in)));
        rc = read_set(&r, in, err);
    }
    if (rc == 0) {
        rocm_finish(&r.rocm);
        hu_builder_quality(b)->has_all_events = !r.is_cut;
        rc = hu_builder_status(b, err);
    }
    if (rc == 0 && hu_builder_slice_count(b) == 0)
        rc = hu_fail(
            err, HU_EEMPTY, hu_input_name(in), HU_NO_OFFSET,
            "a table of rocprof without a row of a kernel, copy, call or marker; pass it with *_kernel_trace.csv of the "
            "same run beside it");
    hu_arena_free(arena);
    return rc;
}

const hu_format hu_format_rocprof_csv = {
    .name = "rocprof-csv",
    .what = "tables of rocprofv3 and rocprof (*_kernel_trace.csv, results.csv)",
    .suffixes = "_trace.csv results.csv",
    .probe = probe,
    .import = import,
};
