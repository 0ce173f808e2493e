/* SPDX-License-Identifier: Apache-2.0
 * hta.c - HolisticTraceAnalysis from its loading rules on: what it keeps, how it rounds, what it takes for GPU work.
 *
 * Rows.       Complete events but the span of the capture.  When any time has a fraction of a microsecond, starts are
 *             rounded up and ends down, in double precision as pandas does it.
 * Device.     A row is GPU work when its `stream` argument is not -1, which sync records and Triton operators may have.
 * Last step.  With two or more ProfilerStep#N, host rows from the start of the last one on go, and device rows whose launch
 *             is not among the rows that stay.
 * Types.      By regular expressions on names: see type_of.
 * Order.      Rows come in the order of the file, sorted by time as pandas would: see hta_sort.h.  It matters where times
 *             are equal, and where rounding made a row end before it begins.
 */
#include "analyze/hta.h"

#include <math.h>
#include <stdlib.h>

#include "analyze/hta_sort.h"
#include "base/map.h"

enum { COMPUTATION = 1, COMMUNICATION = 2, MEMORY = 4, OTHER = 8 };

typedef struct {
    double   ts, dur;
    int64_t  stream;
    uint32_t slice;
    uint8_t  type;
} row;

typedef HU_VEC(row) row_list;

typedef struct {
    const hu_ask *ask;
    row          *at;    /* in the order of the file: device rows that are kept */
    double       *keys;  /* room for two times of each row, */
    uint32_t     *order; /* and for their order */
    size_t        n;
    uint8_t      *kept; /* by slice */
    hu_hta       *out;
    double        last_step; /* start of the last step; infinity without a filter */
} work;

static bool has_fraction(const hu_ask *ask)
{
    for (size_t i = 0; i < ask->s.n; i++)
        if (ask->s.kind[i] != HU_KIND_SPAN && ask->s.start_ns[i] % 1000)
            return true;
    return false;
}

static void read_times(const work *w, uint32_t i, double *ts, double *dur)
{
    /* the nearest double to the decimal text: absolute times have more digits than one holds, as HTA finds out */
    const double start = (double)((long double)w->ask->s.start_ns[i] / 1000), length = (double)w->ask->s.dur_ns[i] / 1000;

    *ts = w->out->is_rounded ? ceil(start) : start;
    *dur = w->out->is_rounded ? floor(start + length) - *ts : length;
}

static int64_t stream_of(const hu_ask *ask, uint32_t i)
{
    const uint32_t detail = ask->s.detail[i];

    if (hu_kind_in(ask->s.kind[i], HU_KINDS_DEVICE))
        return ask->tracks[ask->s.track[i]].stream;
    if (ask->s.kind[i] == HU_KIND_SYNC && detail != HU_NONE)
        return hu_trace_sync_detail(ask->trace, detail)->stream;
    if (ask->s.kind[i] == HU_KIND_CPU_OP && detail != HU_NONE && hu_trace_op_detail(ask->trace, detail)->extra)
        return hu_trace_op_extra(ask->trace, hu_trace_op_detail(ask->trace, detail)->extra)->stream;
    return -1;
}

static bool starts(hu_str name, const char *prefix)
{
    return hu_str_starts(name, hu_str_of(prefix));
}

static bool has(hu_str name, const char *part)
{
    return hu_str_has(name, hu_str_of(part));
}

static uint8_t type_of(hu_str name)
{
    static const char *const not_compute[] = {"nccl",        "Stream Wait Event",
                                              "runFunction", "hip",
                                              "job_exe",     "packet",
                                              "pe_exe",      "cpum_exe_subgraph",
                                              "hccl",        "collective_subgraph_execution"};

    if (starts(name, "nccl") || starts(name, "hip") || starts(name, "hccl") || has(name, "ncclKernel"))
        return COMMUNICATION;
    if (starts(name, "Memcpy") || starts(name, "hipMemcpy") || starts(name, "Memset") || starts(name, "hipMemset") ||
        starts(name, "dma"))
        return MEMORY;
    for (size_t i = 0; i < HU_COUNT(not_compute); i++)
        if (starts(name, not_compute[i]))
            return OTHER;
    if (has(name, "Memcpy") || has(name, "Memset") || has(name, "dma") || has(name, "Sync") ||
        (starts(name, "cuda") && has(name, "LaunchKernel")))
        return OTHER;
    return COMPUTATION;
}

/* The start of the last ProfilerStep#N, when there are at least two names. */
static double find_last_step(const work *w)
{
    const hu_ask *ask = w->ask;
    uint32_t      first_name = HU_NONE;
    bool          two = false;
    int64_t       best = -1;
    double        last = INFINITY;

    for (uint32_t i = 0; i < ask->s.n; i++) {
        int64_t number;
        double  ts, dur;

        if (!(ask->names[ask->s.name[i]] & HU_NAME_STEP) || ask->s.kind[i] == HU_KIND_SPAN)
            continue;
        two |= first_name != HU_NONE && first_name != ask->s.name[i];
        first_name = ask->s.name[i];
        number = hu_names_step_number(hu_ask_name(ask, i));
        if (ask->s.kind[i] == HU_KIND_GPU_USER || number < best)
            continue;
        read_times(w, i, &ts, &dur);
        last = number > best || ts < last ? ts : last;
        best = number;
    }
    return two ? last : INFINITY;
}

static bool is_device_row(const hu_ask *ask, uint32_t i, int64_t stream)
{
    return (stream >= 0 && ask->s.correlation[i] != 0) || ask->s.kind[i] == HU_KIND_SYNC;
}

/* Which rows the filter of steps leaves. */
static bool filter(work *w)
{
    const hu_ask *ask = w->ask;
    hu_map        kept; /* correlations of host rows that stay */

    w->kept = hu_arena_calloc(ask->scratch, ask->s.n + 1, 1);
    if (!w->kept || !hu_map_init(&kept, ask->scratch, 1024))
        return false;
    w->last_step = find_last_step(w);
    for (uint32_t i = 0; i < ask->s.n; i++) {
        double ts, dur;

        if (ask->s.kind[i] == HU_KIND_SPAN || is_device_row(ask, i, stream_of(ask, i)))
            continue;
        read_times(w, i, &ts, &dur);
        w->kept[i] = isinf(w->last_step) || ts < w->last_step;
        if (w->kept[i] && ask->s.correlation[i]) {
            uint32_t *place = hu_map_put(&kept, ask->s.correlation[i]);

            if (!place)
                return false;
            *place = 1;
        }
    }
    for (uint32_t i = 0; i < ask->s.n; i++)
        if (ask->s.kind[i] != HU_KIND_SPAN && is_device_row(ask, i, stream_of(ask, i)))
            w->kept[i] = isinf(w->last_step) ||
                         (ask->s.correlation[i] && hu_map_get(&kept, ask->s.correlation[i]) != HU_MAP_NONE);
    return true;
}

/* Counts a row that stays, and lists it if it is on a stream. */
static bool add_row(work *w, uint32_t i, int64_t stream, row_list *list)
{
    const hu_ask *ask = w->ask;
    row           r = {.slice = i, .stream = stream};

    w->out->rows++;
    read_times(w, i, &r.ts, &r.dur);
    w->out->negative_rows += r.dur < 0;
    if (stream == -1)
        return true;
    w->out->sync_rows += ask->s.kind[i] == HU_KIND_SYNC;
    w->out->operator_rows += ask->s.kind[i] == HU_KIND_CPU_OP;
    r.type = type_of(hu_ask_name(ask, i));
    return hu_vec_push(ask->scratch, list, r);
}

/* In the order of the file; but the filter of steps puts device rows before all others. */
static bool load(work *w)
{
    const hu_ask *ask = w->ask;
    row_list      list = {0};
    int           passes;

    w->out->is_rounded = has_fraction(ask);
    if (!filter(w))
        return false;
    passes = isinf(w->last_step) ? 1 : 2;
    for (int pass = 0; pass < passes; pass++)
        for (uint32_t i = 0; i < ask->s.n; i++) {
            const int64_t stream = stream_of(ask, i);

            if (ask->s.kind[i] == HU_KIND_SPAN || (passes == 2 && is_device_row(ask, i, stream) == (pass == 1)))
                continue;
            if (!w->kept[i])
                w->out->dropped_rows++;
            else if (!add_row(w, i, stream, &list))
                return false;
        }
    w->at = list.at;
    w->n = list.n;
    w->out->gpu_rows = (int64_t)list.n;
    w->keys = hu_arena_alloc(ask->scratch, (2 * list.n + 1) * sizeof *w->keys);
    w->order = hu_arena_alloc(ask->scratch, (2 * list.n + 1) * sizeof *w->order);
    return w->keys && w->order;
}

/* Rows of one kind that HTA has merged.  One that ends before it begins makes a group of negative length. */
typedef struct {
    double ts, end;
} group;

typedef struct {
    group *at;
    size_t n;
} groups;

/* merge_kernel_intervals() of rows that come in the given order. */
static bool merge(const work *w, unsigned types, const uint32_t *order, groups *out)
{
    uint32_t *rows = hu_arena_alloc(w->ask->scratch, (w->n + 1) * sizeof *rows);
    size_t    n = 0;

    *out = (groups){hu_arena_alloc(w->ask->scratch, (w->n + 1) * sizeof *out->at), 0};
    if (!rows || !out->at)
        return false;
    for (size_t i = 0; i < w->n; i++) {
        if (!(w->at[order[i]].type & types))
            continue;
        w->keys[n] = w->at[order[i]].ts;
        rows[n++] = order[i];
    }
    hu_hta_order(w->keys, n, w->order);
    for (size_t i = 0; i < n; i++) {
        const row   *r = &w->at[rows[w->order[i]]];
        const double end = r->ts + r->dur;

        if (out->n == 0 || r->ts > out->at[out->n - 1].end)
            out->at[out->n++] = (group){r->ts, end};
        else
            out->at[out->n - 1].end = fmax(out->at[out->n - 1].end, end);
    }
    return true;
}

static double length_of(const groups *g)
{
    double sum = 0;

    for (size_t i = 0; i < g->n; i++)
        sum += g->at[i].end - g->at[i].ts;
    return sum;
}

/* A change of what runs, at one time: plus a kind's bit where a group starts, minus it where one ends. */
typedef struct {
    double time;
    int    status;
} change;

typedef struct {
    change *at;
    size_t  n;
} changes;

/* Adds the starts, then the ends, behind what is there. */
static void add_groups(changes *c, const groups *g, int bit)
{
    for (size_t i = 0; i < g->n; i++)
        c->at[c->n++] = (change){g->at[i].ts, bit};
    for (size_t i = 0; i < g->n; i++)
        c->at[c->n++] = (change){g->at[i].end, -bit};
}

static bool sort_changes(const work *w, changes *c)
{
    change *sorted = hu_arena_alloc(w->ask->scratch, (c->n + 1) * sizeof *sorted);

    if (!sorted)
        return false;
    for (size_t i = 0; i < c->n; i++)
        w->keys[i] = c->at[i].time;
    hu_hta_order(w->keys, c->n, w->order);
    for (size_t i = 0; i < c->n; i++)
        sorted[i] = c->at[w->order[i]];
    for (size_t i = 0; i < c->n; i++)
        c->at[i] = sorted[i];
    return true;
}

/* _get_gpu_kernel_type_time(): what runs is the sum of the changes, read as bits, whatever their order made of it. */
static bool measure_types(work *w, const groups set[3], changes *c)
{
    /* clang-format off */
    static const char *const names[HU_HTA_TYPES] = {
        NULL, "COMPUTATION", "COMMUNICATION", "COMPUTATION overlapping COMMUNICATION", "MEMORY",
        "COMPUTATION overlapping MEMORY",
        "COMMUNICATION overlapping MEMORY", "COMPUTATION overlapping COMMUNICATION overlapping MEMORY"};
    static const int bits[3] = {COMPUTATION, COMMUNICATION, MEMORY};
    hu_hta *o = w->out;
    double  sum[HU_HTA_TYPES] = {0};
    int     running = 0;

    c->n = 0;
    for (int i = 0; i < 3; i++) {
        add_groups(c, &set[i], bits[i]);
        if (!sort_changes(w, c))
            return false;
    }
    /* clang-format on */
    for (size_t i = 0; i + 1 < c->n; i++) {
        running += c->at[i].status;
        if (running > 0)
            sum[running & (HU_HTA_TYPES - 1)] += trunc(c->at[i + 1].time - c->at[i].time);
    }
    for (int i = 1; i < HU_HTA_TYPES; i++)
        if (sum[i] != 0)
            o->types[o->n_types++] = (hu_hta_type){names[i], sum[i]};
    for (size_t i = 1; i < o->n_types; i++) /* by sum, largest first */
        for (size_t k = i; k > 0 && o->types[k - 1].sum_us < o->types[k].sum_us; k--) {
            const hu_hta_type t = o->types[k];

            o->types[k] = o->types[k - 1];
            o->types[k - 1] = t;
        }
    return true;
}

/* get_comm_comp_overlap(): NaN without communication. */
static bool measure_overlap(work *w, const groups set[3], changes *c)
{
    enum { COMM = 1, COMP = 2 };
    double overlap = 0;
    int    running = 0;

    c->n = 0;
    add_groups(c, &set[1], COMM);
    add_groups(c, &set[0], COMP);
    if (!sort_changes(w, c))
        return false;
    for (size_t i = 0; i + 1 < c->n; i++) {
        running += c->at[i].status;
        if (running == COMM + COMP)
            overlap += c->at[i + 1].time - c->at[i].time;
    }
    w->out->overlap_pct = set[1].n ? 100 * overlap / length_of(&set[1]) : (double)NAN;
    return true;
}

/* get_temporal_breakdown(): sorts all rows, and then again those that compute. */
static bool measure_time(work *w)
{
    static const unsigned one[3] = {COMPUTATION, COMMUNICATION, MEMORY};
    hu_hta               *o = w->out;
    groups                set[3], all, compute;
    changes               c = {hu_arena_alloc(w->ask->scratch, (2 * w->n + 1) * sizeof(change)), 0};
    uint32_t             *in_file = hu_arena_alloc(w->ask->scratch, (w->n + 1) * sizeof *in_file);
    uint32_t             *in_time = hu_arena_alloc(w->ask->scratch, (w->n + 1) * sizeof *in_time);

    if (!c.at || !in_file || !in_time)
        return false;
    for (uint32_t i = 0; i < w->n; i++) {
        in_file[i] = i;
        w->keys[i] = w->at[i].ts;
    }
    hu_hta_order(w->keys, w->n, in_time);
    if (!merge(w, ~0U, in_file, &all) || !merge(w, COMPUTATION, in_time, &compute))
        return false;
    for (int i = 0; i < 3; i++)
        if (!merge(w, one[i], in_file, &set[i]))
            return false;
    if (w->n) {
        double last = -INFINITY;

        for (size_t i = 0; i < w->n; i++)
            last = fmax(last, w->at[i].ts + w->at[i].dur);
        o->kernel_us = last - w->at[in_time[0]].ts;
    }
    o->idle_us = o->kernel_us - length_of(&all);
    o->compute_us = length_of(&compute);
    o->non_compute_us = o->kernel_us - o->compute_us - o->idle_us;
    return measure_types(w, set, &c) && measure_overlap(w, set, &c);
}

static const char *type_name(uint8_t type)
{
    if (type == COMPUTATION)
        return "COMPUTATION";
    if (type == COMMUNICATION)
        return "COMMUNICATION";
    return type == MEMORY ? "MEMORY" : "OTHER";
}

static int by_name(const void *left, const void *right)
{
    return hu_str_compare(((const hu_hta_kernel *)left)->name, ((const hu_hta_kernel *)right)->name);
}

static bool measure_kernels(work *w)
{
    HU_VEC(hu_hta_kernel) list = {0};
    HU_VEC(double) squares = {0};
    hu_map rows;

    if (!hu_map_init(&rows, w->ask->scratch, 256))
        return false;
    for (size_t i = 0; i < w->n; i++) {
        const row     *r = &w->at[i];
        uint32_t      *place = hu_map_put(&rows, w->ask->s.name[r->slice]);
        hu_hta_kernel *k;
        double         off;

        if (!place)
            return false;
        if (*place == HU_NONE) {
            const hu_hta_kernel fresh = {
                .name = hu_ask_name(w->ask, r->slice), .type = type_name(r->type), .max_us = r->dur, .min_us = r->dur};

            if (!hu_vec_push(w->ask->arena, &list, fresh) || !hu_vec_push(w->ask->scratch, &squares, 0))
                return false;
            *place = (uint32_t)list.n - 1;
        }
        k = &list.at[*place];
        k->count++;
        k->sum_us += r->dur;
        k->max_us = fmax(k->max_us, r->dur);
        k->min_us = fmin(k->min_us, r->dur);
        off = r->dur - k->mean_us;
        k->mean_us += off / (double)k->count;
        squares.at[*place] += off * (r->dur - k->mean_us);
    }
    for (size_t i = 0; i < list.n; i++) {
        list.at[i].mean_us = list.at[i].sum_us / (double)list.at[i].count;
        list.at[i].std_us = list.at[i].count > 1 ? sqrt(squares.at[i] / (double)(list.at[i].count - 1)) : 0;
    }
    if (list.n)
        qsort(list.at, list.n, sizeof *list.at, by_name);
    w->out->kernels = list.at;
    w->out->n_kernels = list.n;
    return true;
}

/* The launch of a device row, as HTA's join on correlation finds it; HU_NONE. */
static uint32_t launch_of(const work *w, const row *r)
{
    const uint32_t launch = hu_kind_in(w->ask->s.kind[r->slice], HU_KINDS_DEVICE)
                                ? hu_trace_launch_of(w->ask->trace, r->slice)
                                : HU_NONE;

    return launch != HU_NONE && w->kept[launch] ? launch : HU_NONE;
}

/* Streams by their number, each with the rows that are on it. */
typedef struct {
    int64_t  stream;
    uint32_t place;
} stream_place;

static int by_stream(const void *left, const void *right)
{
    const stream_place *a = left, *b = right;

    if (a->stream != b->stream)
        return a->stream < b->stream ? -1 : 1;
    return (a->place > b->place) - (a->place < b->place);
}

static stream_place *list_streams(const work *w)
{
    stream_place *list = hu_arena_alloc(w->ask->scratch, (w->n + 1) * sizeof *list);

    for (uint32_t i = 0; list && i < w->n; i++)
        list[i] = (stream_place){w->at[i].stream, i};
    if (list && w->n)
        qsort(list, w->n, sizeof *list, by_stream);
    return list;
}

enum { CONSECUTIVE_US = 30 };

static void add_gap(const work *w, const row *r, double end, hu_hta_idle *s)
{
    const uint32_t launch = launch_of(w, r);
    const double   gap = r->ts - end;
    hu_hta_wait    wait = HU_HTA_OTHER;
    double         ts = 0, dur;

    if (launch != HU_NONE)
        read_times(w, launch, &ts, &dur);
    if (launch != HU_NONE && ts > end)
        wait = HU_HTA_HOST_WAIT;
    else if (gap < CONSECUTIVE_US)
        wait = HU_HTA_KERNEL_WAIT;
    s->idle_us[wait] += gap;
    s->gaps[wait]++;
}

/* _analyze_idle_time_for_stream(): sync records stay out. */
static bool measure_idle(work *w)
{
    const stream_place *list = list_streams(w);
    uint32_t           *rows = hu_arena_alloc(w->ask->scratch, (w->n + 1) * sizeof *rows);
    HU_VEC(hu_hta_idle) idle = {0};

    if (!list || !rows)
        return false;
    for (size_t from = 0, to; from < w->n; from = to) {
        size_t n = 0;

        for (to = from; to < w->n && list[to].stream == list[from].stream; to++) {
            if (!hu_kind_in(w->ask->s.kind[w->at[list[to].place].slice], HU_KINDS_DEVICE))
                continue;
            w->keys[n] = w->at[list[to].place].ts;
            rows[n++] = list[to].place;
        }
        if (n == 0)
            continue;
        if (!hu_vec_push(w->ask->arena, &idle, (hu_hta_idle){.stream = list[from].stream}))
            return false;
        hu_hta_order(w->keys, n, w->order);
        for (size_t i = 1; i < n; i++) {
            const row *before = &w->at[rows[w->order[i - 1]]];

            add_gap(w, &w->at[rows[w->order[i]]], before->ts + before->dur, &idle.at[idle.n - 1]);
        }
    }
    w->out->idle = idle.at;
    w->out->n_idle = idle.n;
    return true;
}

static int by_double(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

static double quantile(const double *v, size_t n, double q)
{
    const double position = q * (double)(n - 1), below = floor(position);
    const size_t i = (size_t)below;

    return i + 1 < n ? v[i] + (position - below) * (v[i + 1] - v[i]) : v[n - 1];
}

/* Sorts the values. */
static hu_hta_describe describe(double *v, size_t n)
{
    hu_hta_describe d = {(int64_t)n, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    double          sum = 0, squares = 0;

    if (n == 0)
        return d;
    qsort(v, n, sizeof *v, by_double);
    for (size_t i = 0; i < n; i++)
        sum += v[i];
    d.mean = sum / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += (v[i] - d.mean) * (v[i] - d.mean);
    d.std = n > 1 ? sqrt(squares / (double)(n - 1)) : (double)NAN;
    d.min = v[0];
    d.q25 = quantile(v, n, 0.25);
    d.q50 = quantile(v, n, 0.5);
    d.q75 = quantile(v, n, 0.75);
    d.max = v[n - 1];
    return d;
}

static bool is_any(hu_str name, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (hu_str_equal(name, hu_str_of(list[i])))
            return true;
    return false;
}

static bool is_queueing(hu_str call)
{
    static const char *const calls[] = {
        "cudaLaunchKernel", "cudaLaunchKernelExC", "cuLaunchKernel",  "cuLaunchKernelEx",
        "cudaMemcpyAsync",  "cudaMemsetAsync",     "hipLaunchKernel", "hipExtModuleLaunchKernel",
        "hipMemcpyAsync",   "hipMemcpyWithStream", "hipMemsetAsync",  "runFunction - job_prep_and_submit_for_execution"};

    return is_any(call, calls, HU_COUNT(calls));
}

typedef struct {
    double   ts;
    int64_t  stream;
    uint32_t launch; /* HU_NONE where the work starts */
} queue_change;

static int by_launch(const void *left, const void *right)
{
    const queue_change *a = left, *b = right;

    return (a->launch > b->launch) - (a->launch < b->launch);
}

enum { QUEUE_FULL = 1024 };

/* The launches in the order of the file, then the starts; by time, as one table of all streams. */
static bool list_queue(const work *w, queue_change **out, size_t *n_out)
{
    queue_change *q = hu_arena_alloc(w->ask->scratch, (2 * w->n + 1) * sizeof *q);
    queue_change *sorted = hu_arena_alloc(w->ask->scratch, (2 * w->n + 1) * sizeof *sorted);
    size_t        n = 0;

    if (!q || !sorted)
        return false;
    for (size_t i = 0; i < w->n; i++) {
        const uint32_t launch = launch_of(w, &w->at[i]);
        double         ts, dur;

        if (launch == HU_NONE || !is_queueing(hu_ask_name(w->ask, launch)))
            continue;
        read_times(w, launch, &ts, &dur);
        q[n] = (queue_change){ts, w->at[i].stream, launch};
        sorted[n++] = (queue_change){w->at[i].ts, w->at[i].stream, HU_NONE};
    }
    if (n)
        qsort(q, n, sizeof *q, by_launch);
    for (size_t i = 0; i < n; i++)
        q[n + i] = sorted[i];
    for (size_t i = 0; i < 2 * n; i++)
        w->keys[i] = q[i].ts;
    hu_hta_order(w->keys, 2 * n, w->order);
    for (size_t i = 0; i < 2 * n; i++)
        sorted[i] = q[w->order[i]];
    *out = sorted;
    *n_out = 2 * n;
    return true;
}

/* The changes of one stream, whose times are in keys and whose changes are in length. */
static hu_hta_queue describe_queue(const work *w, int64_t stream, double *length, size_t n)
{
    hu_hta_queue out = {.stream = stream};
    double       now = 0;

    for (size_t i = 0; i < n; i++) {
        now += length[i];
        length[i] = now;
        if (now >= QUEUE_FULL && i + 1 < n)
            out.full_us += w->keys[i + 1] - w->keys[i];
    }
    out.length = describe(length, n);
    return out;
}

static bool measure_queues(work *w)
{
    const stream_place *list = list_streams(w);
    double             *length = hu_arena_alloc(w->ask->scratch, (2 * w->n + 1) * sizeof *length);
    queue_change       *q;
    size_t              n;
    HU_VEC(hu_hta_queue) queues = {0};

    if (!list || !length || !list_queue(w, &q, &n))
        return false;
    for (size_t i = 0; i < w->n; i++) {
        size_t m = 0;

        if (i > 0 && list[i].stream == list[i - 1].stream)
            continue;
        for (size_t k = 0; k < n; k++) {
            if (q[k].stream != list[i].stream)
                continue;
            w->keys[m] = q[k].ts;
            length[m++] = q[k].launch == HU_NONE ? -1 : 1;
        }
        if (m && !hu_vec_push(w->ask->arena, &queues, describe_queue(w, list[i].stream, length, m)))
            return false;
    }
    w->out->queues = queues.at;
    w->out->n_queues = queues.n;
    return true;
}

static const char *const copy_names[HU_HTA_COPIES] = {"Memcpy DtoD", "Memcpy DtoH", "Memcpy HtoD", "Memcpy Unknown",
                                                      "Memset"};

enum { COPY_UNKNOWN = 3 };

/* get_memory_kernel_type() */
static int copy_class(hu_str name)
{
    for (int i = 0; i < HU_HTA_COPIES; i++)
        if (starts(name, copy_names[i]))
            return i;
    return COPY_UNKNOWN;
}

typedef struct {
    double ts, gbps;
    int    copy;
} rate_change;

static bool measure_bandwidth(work *w)
{
    rate_change *rates = hu_arena_alloc(w->ask->scratch, (2 * w->n + 1) * sizeof *rates);
    double      *v = hu_arena_alloc(w->ask->scratch, (2 * w->n + 1) * sizeof *v);
    size_t       n = 0;

    if (!rates || !v)
        return false;
    for (int is_end = 0; is_end < 2; is_end++)
        for (size_t i = 0; i < w->n; i++) {
            const row *r = &w->at[i];
            double     gbps, dur = r->dur == 0 ? 1 : r->dur;

            if (r->type != MEMORY || w->ask->s.detail[r->slice] == HU_NONE ||
                !hu_kind_in(w->ask->s.kind[r->slice], HU_KINDS_COPY))
                continue;
            gbps = hu_trace_copy_detail(w->ask->trace, w->ask->s.detail[r->slice])->gbps;
            if (isnan(gbps))
                continue;
            w->keys[n] = r->ts + (is_end ? dur : 0);
            rates[n] = (rate_change){w->keys[n], is_end ? -gbps : gbps, copy_class(hu_ask_name(w->ask, r->slice))};
            n++;
        }
    hu_hta_order(w->keys, n, w->order);
    for (int c = 0; c < HU_HTA_COPIES; c++) {
        size_t m = 0, seen = 0;
        double now = 0;

        for (size_t i = 0; i < n; i++) {
            if (rates[w->order[i]].copy != c)
                continue;
            seen++;
            now += rates[w->order[i]].gbps;
            if (now > 0)
                v[m++] = now;
        }
        if (seen)
            w->out->copies[w->out->n_copies++] = (hu_hta_bandwidth){copy_names[c], describe(v, m)};
    }
    return true;
}

enum { LONG_CALL_US = 50, LONG_DELAY_US = 100 };

static void measure_launches(work *w)
{
    static const char *const calls[] = {"cudaLaunchKernel", "cudaLaunchKernelExC", "cudaMemcpyAsync", "cudaMemsetAsync",
                                        "runFunction - job_prep_and_submit_for_execution"};
    hu_hta                  *o = w->out;

    for (size_t i = 0; i < w->n; i++) {
        const row     *r = &w->at[i];
        const uint32_t launch = launch_of(w, r);
        double         ts, dur, delay;

        if (launch == HU_NONE || !is_any(hu_ask_name(w->ask, launch), calls, HU_COUNT(calls)))
            continue;
        read_times(w, launch, &ts, &dur);
        delay = fmax(0, r->ts - ts - dur);
        o->launches++;
        o->cpu_us += dur;
        o->gpu_us += r->dur;
        o->delay_us += delay;
        o->short_kernels += r->dur < dur;
        o->runtime_outliers += dur > LONG_CALL_US;
        o->delay_outliers += delay > LONG_DELAY_US;
    }
}

int hu_hta_measure(const hu_ask *ask, hu_hta *out, hu_error *err)
{
    work w = {.ask = ask, .out = out};

    *out = (hu_hta){0};
    if (!load(&w) || !measure_time(&w) || !measure_kernels(&w) || !measure_idle(&w) || !measure_queues(&w) ||
        !measure_bandwidth(&w))
        return hu_fail_memory(err);
    measure_launches(&w);
    return 0;
}
