/* SPDX-License-Identifier: Apache-2.0
 * hta.c - HolisticTraceAnalysis from its loading rules on: what it keeps, how it rounds, what it takes for device work.
 *
 * Rows.       Complete events but the span of the capture.  When any time has a fraction of a microsecond, starts are
 *             rounded up and ends down, in double precision as pandas does it.
 * Device.     A row is device work when its `stream` argument is not -1, which sync records and Triton operators may have.
 * Last step.  With two or more ProfilerStep#N, host rows from the start of the last one on go, and device rows whose launch
 *             is not among the rows that stay.
 * Types.      By regular expressions on names: see type_of.
 */
#include "analyze/hta.h"

#include <math.h>
#include <stdlib.h>

#include "base/map.h"

enum { COMPUTATION = 1, COMMUNICATION = 2, MEMORY = 4, OTHER = 8 };

typedef struct {
    double   ts, dur;
    int64_t  stream;
    uint32_t slice;
    uint8_t  type;
    bool     is_kept;
} row;

typedef struct {
    const hu_ask *ask;
    row          *at;               /* by ts, then slice: device rows that are kept */
    size_t        n;
    uint8_t      *kept;             /* by slice */
    hu_hta       *out;
    double        last_step;        /* start of the last step; infinity without a filter */
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
    static const char *const not_compute[] = {"nccl", "Stream Wait Event", "runFunction", "hip", "job_exe", "packet",
                                              "pe_exe", "cpum_exe_subgraph", "hccl", "collective_subgraph_execution"};

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
    hu_map        kept;             /* correlations of host rows that stay */

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

static int by_ts(const void *left, const void *right)
{
    const row *a = left, *b = right;

    if (a->ts != b->ts)
        return a->ts < b->ts ? -1 : 1;
    return (a->slice > b->slice) - (a->slice < b->slice);
}

static bool load(work *w)
{
    const hu_ask *ask = w->ask;
    HU_VEC(row) list = {0};

    w->out->is_rounded = has_fraction(ask);
    if (!filter(w))
        return false;
    for (uint32_t i = 0; i < ask->s.n; i++) {
        row r = {.slice = i, .stream = stream_of(ask, i), .is_kept = true};

        if (ask->s.kind[i] == HU_KIND_SPAN)
            continue;
        if (!w->kept[i]) {
            w->out->dropped_rows++;
            continue;
        }
        w->out->rows++;
        read_times(w, i, &r.ts, &r.dur);
        w->out->negative_rows += r.dur < 0;
        if (r.stream == -1)
            continue;
        w->out->sync_rows += ask->s.kind[i] == HU_KIND_SYNC;
        w->out->operator_rows += ask->s.kind[i] == HU_KIND_CPU_OP;
        r.type = type_of(hu_ask_name(ask, i));
        if (!hu_vec_push(ask->scratch, &list, r))
            return false;
    }
    if (list.n)
        qsort(list.at, list.n, sizeof *list.at, by_ts);
    w->at = list.at;
    w->n = list.n;
    w->out->gpu_rows = (int64_t)list.n;
    return true;
}

/* In nanoseconds since the first row: intervals are integers. */
static bool unite(const work *w, unsigned types, hu_intervals *out)
{
    *out = (hu_intervals){0};
    for (size_t i = 0; i < w->n; i++) {
        const double start = w->at[i].ts - w->at[0].ts;

        if (w->at[i].type & types &&
            !hu_intervals_add(w->ask->scratch, out, llround(start * 1000), llround((start + w->at[i].dur) * 1000)))
            return false;
    }
    return hu_intervals_unite(w->ask->scratch, out);
}

/* The length of HTA's merged groups: a row that ends before it begins makes a group of negative length. */
static double merged_length(const work *w, unsigned types)
{
    double sum = 0, start = 0, end = 0;
    bool   any = false;

    for (size_t i = 0; i < w->n; i++) {
        const double ts = w->at[i].ts - w->at[0].ts, until = ts + w->at[i].dur;

        if (!(w->at[i].type & types))
            continue;
        if (!any || ts > end) {
            sum += any ? end - start : 0;
            start = ts;
            end = until;
            any = true;
        } else {
            end = fmax(end, until);
        }
    }
    return sum + (any ? end - start : 0);
}

static bool measure_time(work *w)
{
    static const char *const names[HU_HTA_TYPES] = {
        NULL, "COMPUTATION", "COMMUNICATION", "COMPUTATION overlapping COMMUNICATION", "MEMORY",
        "COMPUTATION overlapping MEMORY",
        "COMMUNICATION overlapping MEMORY", "COMPUTATION overlapping COMMUNICATION overlapping MEMORY"};
    hu_hta      *o = w->out;
    hu_intervals set[3], both;
    int64_t      pair[3], triple, only[HU_HTA_TYPES] = {0}, length[3];

    if (!unite(w, COMPUTATION, &set[0]) || !unite(w, COMMUNICATION, &set[1]) || !unite(w, MEMORY, &set[2]) ||
        !hu_intervals_intersect(w->ask->scratch, &set[0], &set[1], &both))
        return false;
    if (w->n) {
        double last = w->at[0].ts;

        for (size_t i = 0; i < w->n; i++)
            last = fmax(last, w->at[i].ts + w->at[i].dur);
        o->kernel_us = last - w->at[0].ts;
    }
    o->idle_us = o->kernel_us - merged_length(w, COMPUTATION | COMMUNICATION | MEMORY | OTHER);
    o->compute_us = merged_length(w, COMPUTATION);
    o->non_compute_us = o->kernel_us - o->compute_us - o->idle_us;
    for (int i = 0; i < 3; i++)
        length[i] = hu_intervals_length(&set[i]);
    pair[0] = hu_intervals_length(&both);                           /* 0 and 1 */
    pair[1] = hu_intervals_common(&set[0], &set[2]);
    pair[2] = hu_intervals_common(&set[1], &set[2]);
    triple = hu_intervals_common(&both, &set[2]);
    o->overlap_pct = length[1] ? 100 * (double)pair[0] / (double)length[1] : (double)NAN;
    only[7] = triple;
    only[3] = pair[0] - triple;
    only[5] = pair[1] - triple;
    only[6] = pair[2] - triple;
    only[1] = length[0] - only[3] - only[5] - triple;
    only[2] = length[1] - only[3] - only[6] - triple;
    only[4] = length[2] - only[5] - only[6] - triple;
    for (int i = 1; i < HU_HTA_TYPES; i++)
        if (only[i])
            o->types[o->n_types++] = (hu_hta_type){names[i], (double)only[i] / 1000};
    for (size_t i = 1; i < o->n_types; i++)         /* by sum, largest first */
        for (size_t k = i; k > 0 && o->types[k - 1].sum_us < o->types[k].sum_us; k--) {
            const hu_hta_type t = o->types[k];

            o->types[k] = o->types[k - 1];
            o->types[k - 1] = t;
        }
    return true;
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
            const hu_hta_kernel fresh = {.name = hu_ask_name(w->ask, r->slice), .type = type_name(r->type), .max_us = r->dur,
                                         .min_us = r->dur};

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

static bool measure_idle(work *w)
{
    const stream_place *list = list_streams(w);
    HU_VEC(hu_hta_idle) idle = {0};
    double end = 0;

    if (!list)
        return false;
    for (size_t k = 0; k < w->n; k++) {
        const row     *r = &w->at[list[k].place];
        const uint32_t launch = launch_of(w, r);
        hu_hta_wait    wait = HU_HTA_OTHER;
        double         gap, ts = 0, dur;
        hu_hta_idle   *s;

        if (!hu_kind_in(w->ask->s.kind[r->slice], HU_KINDS_DEVICE))
            continue;
        if (idle.n == 0 || idle.at[idle.n - 1].stream != r->stream) {
            if (!hu_vec_push(w->ask->arena, &idle, (hu_hta_idle){.stream = r->stream}))
                return false;
            end = r->ts + r->dur;
            continue;
        }
        s = &idle.at[idle.n - 1];
        gap = r->ts - end;
        if (launch != HU_NONE)
            read_times(w, launch, &ts, &dur);
        if (launch != HU_NONE && ts > end)
            wait = HU_HTA_HOST_WAIT;
        else if (gap < CONSECUTIVE_US)
            wait = HU_HTA_KERNEL_WAIT;
        s->idle_us[wait] += gap;
        s->gaps[wait]++;
        end = r->ts + r->dur;
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
        "cudaLaunchKernel", "cudaLaunchKernelExC", "cuLaunchKernel", "cuLaunchKernelEx", "cudaMemcpyAsync",
        "cudaMemsetAsync",
        "hipLaunchKernel", "hipExtModuleLaunchKernel", "hipMemcpyAsync", "hipMemcpyWithStream", "hipMemsetAsync",
        "runFunction - job_prep_and_submit_for_execution"};

    return is_any(call, calls, HU_COUNT(calls));
}

typedef struct {
    double  ts;
    int     change;
} queue_change;

static int by_change(const void *left, const void *right)
{
    const queue_change *a = left, *b = right;

    if (a->ts != b->ts)
        return a->ts < b->ts ? -1 : 1;
    return b->change - a->change;
}

enum { QUEUE_FULL = 1024 };

static bool add_queue(work *w, queue_change *q, size_t n, int64_t stream, hu_hta_queue *out)
{
    double *length = hu_arena_alloc(w->ask->scratch, (n + 1) * sizeof *length);
    int     now = 0, together = 0;

    if (!length)
        return false;
    *out = (hu_hta_queue){.stream = stream};
    qsort(q, n, sizeof *q, by_change);
    for (size_t i = 0; i < n; i++) {
        now += q[i].change;
        length[i] = now;
        if (i > 0 && q[i].ts != q[i - 1].ts)
            together = 0;
        together += q[i].change > 0;
        out->ties += q[i].change < 0 ? together : 0;
        if (now >= QUEUE_FULL && i + 1 < n)
            out->full_us += q[i + 1].ts - q[i].ts;
    }
    out->length = describe(length, n);
    return true;
}

static bool measure_queues(work *w)
{
    const stream_place *list = list_streams(w);
    queue_change       *q = hu_arena_alloc(w->ask->scratch, (2 * w->n + 1) * sizeof *q);
    HU_VEC(hu_hta_queue) queues = {0};

    if (!list || !q)
        return false;
    for (size_t from = 0, to; from < w->n; from = to) {
        size_t n = 0;

        for (to = from; to < w->n && list[to].stream == list[from].stream; to++) {
            const row     *r = &w->at[list[to].place];
            const uint32_t launch = launch_of(w, r);
            double         ts, dur;

            if (launch == HU_NONE || !is_queueing(hu_ask_name(w->ask, launch)))
                continue;
            read_times(w, launch, &ts, &dur);
            q[n++] = (queue_change){ts, 1};
            q[n++] = (queue_change){r->ts, -1};
        }
        if (n == 0)
            continue;
        if (!hu_vec_reserve(w->ask->arena, &queues, 1) || !add_queue(w, q, n, list[from].stream, &queues.at[queues.n]))
            return false;
        queues.n++;
    }
    w->out->queues = queues.at;
    w->out->n_queues = queues.n;
    return true;
}

typedef struct {
    double ts, change;
} rate_change;

static int by_rate_time(const void *left, const void *right)
{
    const rate_change *a = left, *b = right;

    if (a->ts != b->ts)
        return a->ts < b->ts ? -1 : 1;
    return (a->change < b->change) - (a->change > b->change);
}

static bool measure_bandwidth(work *w)
{
    static const char *const names[HU_HTA_COPIES] = {"Memcpy DtoD", "Memcpy DtoH", "Memcpy HtoD", "Memcpy Unknown",
                                                     "Memset"};
    rate_change *rates = hu_arena_alloc(w->ask->scratch, (2 * w->n + 1) * sizeof *rates);
    double      *v = hu_arena_alloc(w->ask->scratch, (2 * w->n + 1) * sizeof *v);

    if (!rates || !v)
        return false;
    for (size_t c = 0; c < HU_HTA_COPIES; c++) {
        size_t n = 0, m = 0;
        double now = 0, lost = 0;

        for (size_t i = 0; i < w->n; i++) {
            const row   *r = &w->at[i];
            const hu_str name = hu_ask_name(w->ask, r->slice);
            const bool   is_known = starts(name, names[0]) || starts(name, names[1]) || starts(name, names[2]) ||
                                    starts(name, names[4]);
            double       gbps;

            if (r->type != MEMORY || !(starts(name, names[c]) || (c == 3 && !is_known)) ||
                w->ask->s.detail[r->slice] == HU_NONE ||
                !hu_kind_in(w->ask->s.kind[r->slice], HU_KINDS_COPY))
                continue;
            gbps = hu_trace_copy_detail(w->ask->trace, w->ask->s.detail[r->slice])->gbps;
            if (isnan(gbps))
                continue;
            rates[n++] = (rate_change){r->ts, gbps};
            rates[n++] = (rate_change){r->ts + (r->dur == 0 ? 1 : r->dur), -gbps};
        }
        if (n)
            qsort(rates, n, sizeof *rates, by_rate_time);
        for (size_t i = 0; i < n; i++) {
            /* as pandas' cumsum: Kahan's sum, so that what comes and goes leaves nothing */
            const double change = rates[i].change - lost, sum = now + change;

            lost = sum - now - change;
            now = sum;
            if (now > 0)
                v[m++] = now;
        }
        if (n)
            w->out->copies[w->out->n_copies++] = (hu_hta_bandwidth){names[c], describe(v, m)};
    }
    return true;
}

enum { LONG_CALL_US = 50, LONG_DELAY_US = 100 };

static void measure_launches(work *w)
{
    static const char *const calls[] = {"cudaLaunchKernel", "cudaLaunchKernelExC", "cudaMemcpyAsync", "cudaMemsetAsync",
                                        "runFunction - job_prep_and_submit_for_execution"};
    hu_hta *o = w->out;

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
