/* SPDX-License-Identifier: Apache-2.0
 * sheet_rules.c - the rules of `nsys analyze`, with its thresholds, of any trace.
 *
 * Copies and fills that make the host wait, calls that wait for the GPU, and times in which a GPU does little.  Times of a
 * GPU run from the start of its first to the end of its last operation in a process; what the profiler itself did counts as
 * work. */
#include <stdlib.h>

#include "analyze/sheet_parts.h"
#include "base/interval.h"

static const int64_t LEAST_GAP_NS = 500000000, SMALL_COPY_BYTES = 64000;
enum { CHUNKS = 30, MOST_IN_USE_PCT = 50 };

/* calls and copies */

static hu_str call_name(const hu_trace *t, const hu_slices *s, uint32_t work)
{
    const uint32_t call = hu_trace_launch_of(t, work);

    return call == HU_NONE ? HU_STR("") : hu_trace_text(t, s->name[call]);
}

static bool is_pageable_async(const hu_trace *t, const hu_slices *s, uint32_t i)
{
    hu_str from, to;

    hu_sheet_memory(hu_trace_text(t, s->name[i]), &from, &to);
    return (hu_str_equal(from, HU_STR("Pageable")) || hu_str_equal(to, HU_STR("Pageable"))) &&
           hu_str_has(call_name(t, s, i), HU_STR("Async"));
}

/* "cudaMemcpy", "cuMemsetD32_v2", "hipMemcpyWithStream" */
static bool is_sync(hu_str call)
{
    return (hu_str_has(call, HU_STR("Memcpy")) || hu_str_has(call, HU_STR("Memset"))) &&
           !hu_str_has(call, HU_STR("Async")) && !hu_str_has(call, HU_STR("Graph"));
}

/* What only the profiler can change; dlopen() and the like are recorded as overhead, too, and are the program's. */
static bool is_own_overhead(hu_str name)
{
    return hu_str_starts(name, HU_STR("CUDA profiling")) || hu_str_has_lower(name, HU_STR("buffer flush"));
}

static bool is_sync_copy(const hu_trace *t, const hu_slices *s, uint32_t i)
{
    const hu_str          name = hu_trace_text(t, s->name[i]);
    const hu_copy_detail *d = s->detail[i] == HU_NONE ? NULL : hu_trace_copy_detail(t, s->detail[i]);

    if (!is_sync(call_name(t, s, i)) || hu_str_has(name, HU_STR("DtoD")))
        return false;
    return !(hu_str_has(name, HU_STR("HtoD")) && d && d->bytes >= 0 && d->bytes <= SMALL_COPY_BYTES);
}

static bool is_sync_fill(const hu_trace *t, const hu_slices *s, uint32_t i)
{
    hu_str kind, none;

    hu_sheet_memory(hu_trace_text(t, s->name[i]), &kind, &none);
    return is_sync(call_name(t, s, i)) && (hu_str_equal(kind, HU_STR("Pinned")) || hu_str_starts(kind, HU_STR("Managed")));
}

static bool is_wait(const hu_trace *t, const hu_slices *s, uint32_t i)
{
    static const hu_str ends[] = {{"DeviceSynchronize", 17}, {"StreamSynchronize", 17}, {"CtxSynchronize", 14}};
    const hu_str        name = hu_trace_text(t, s->name[i]);

    for (size_t k = 0; k < HU_COUNT(ends); k++)
        if (hu_str_ends(name, ends[k]))
            return true;
    return false;
}

/* Rows sorted by duration carry it in place of their start. */
static int longest_first(const void *a, const void *b)
{
    const hu_sheet_slice *x = a, *y = b;

    if (x->start_ns != y->start_ns)
        return x->start_ns > y->start_ns ? -1 : 1;
    if (x->trace != y->trace)
        return x->trace < y->trace ? -1 : 1;
    return x->slice < y->slice ? -1 : x->slice > y->slice;
}

static bool take_longest(hu_sheet *sheet, unsigned kinds, bool (*takes)(const hu_trace *, const hu_slices *, uint32_t))
{
    hu_sheet_slice *rows;

    if (!hu_sheet_slices(sheet, kinds, takes))
        return false;
    rows = sheet->rows;
    for (size_t i = 0; i < sheet->n; i++)
        rows[i].start_ns = hu_trace_slices(sheet->traces[rows[i].trace]).dur_ns[rows[i].slice];
    if (sheet->n)
        qsort(rows, sheet->n, sizeof *rows, longest_first);
    return true;
}

static bool measure_pageable(hu_sheet *sheet)
{
    return take_longest(sheet, HU_BIT(MEMCPY), is_pageable_async);
}

static bool measure_sync_copies(hu_sheet *sheet)
{
    return take_longest(sheet, HU_BIT(MEMCPY), is_sync_copy);
}

static bool measure_sync_fills(hu_sheet *sheet)
{
    return take_longest(sheet, HU_BIT(MEMSET), is_sync_fill);
}

static bool measure_waits(hu_sheet *sheet)
{
    return take_longest(sheet, HU_KINDS_CALL, is_wait);
}

static void fill_copy(const hu_sheet *sheet, size_t row, hu_cell *cells)
{
    const hu_sheet_slice *at = &((const hu_sheet_slice *)sheet->rows)[row];
    const hu_trace       *t = sheet->traces[at->trace];
    const hu_slices       s = hu_trace_slices(t);
    size_t                n;
    const hu_track       *track = &hu_trace_tracks(t, &n)[s.track[at->slice]];
    const hu_copy_detail *d = s.detail[at->slice] == HU_NONE ? NULL : hu_trace_copy_detail(t, s.detail[at->slice]);
    hu_str                from, to;
    int                   c = 0;

    hu_sheet_memory(hu_trace_text(t, s.name[at->slice]), &from, &to);
    cells[c++] = hu_cell_int(s.dur_ns[at->slice]);
    cells[c++] = hu_cell_int(s.start_ns[at->slice]);
    cells[c++] = hu_cell_text(from);
    if (s.kind[at->slice] == HU_KIND_MEMCPY)
        cells[c++] = hu_cell_text(to);
    if (d && d->bytes >= 0)
        cells[c] = hu_cell_real((double)d->bytes / 1e6, 3);
    c++;
    cells[c++] = hu_sheet_pid(t, track);
    cells[c++] = hu_cell_unless(track->device, -1);
    cells[c++] = hu_cell_unless(track->stream, -1);
    cells[c++] = hu_cell_text(call_name(t, &s, at->slice));
}

static void fill_wait(const hu_sheet *sheet, size_t row, hu_cell *cells)
{
    const hu_sheet_slice *at = &((const hu_sheet_slice *)sheet->rows)[row];
    const hu_trace       *t = sheet->traces[at->trace];
    const hu_slices       s = hu_trace_slices(t);
    size_t                n;
    const hu_track       *track = &hu_trace_tracks(t, &n)[s.track[at->slice]];

    cells[0] = hu_cell_int(s.dur_ns[at->slice]);
    cells[1] = hu_cell_int(s.start_ns[at->slice]);
    cells[2] = hu_sheet_pid(t, track);
    cells[3] = hu_sheet_tid(t, track);
    cells[4] = hu_cell_text(hu_trace_text(t, s.name[at->slice]));
}

/* times of a GPU */

/* A device of a process: its operations, and what the profiler did in the process. */
typedef struct {
    uint32_t        trace;
    const hu_track *track;
    int64_t         first_ns, last_ns;
    HU_VEC(hu_interval) busy;
} gpu;

/* A stretch of a GPU's time. */
typedef struct {
    const hu_trace *t;
    const hu_track *track;
    int64_t         start_ns, dur_ns;
    double          in_use_pct;
} stretch;

typedef HU_VEC(gpu) gpus;
typedef HU_VEC(stretch) stretches;

static bool add_busy(hu_arena *arena, gpu *g, int64_t start_ns, int64_t end_ns)
{
    return hu_vec_push(arena, &g->busy, ((hu_interval){start_ns, end_ns}));
}

static bool same_process(const hu_track *a, const hu_track *b)
{
    return a->pid == b->pid && a->pid_is_text == b->pid_is_text;
}

static bool take_work(gpus *found, hu_arena *arena, uint32_t trace, const hu_track *track, int64_t start_ns, int64_t end_ns)
{
    gpu *g = NULL;

    for (size_t i = 0; !g && i < found->n; i++)
        if (found->at[i].trace == trace && same_process(found->at[i].track, track) &&
            found->at[i].track->device == track->device)
            g = &found->at[i];
    if (!g) {
        if (!hu_vec_push(arena, found, ((gpu){.trace = trace, .track = track, .first_ns = start_ns, .last_ns = end_ns})))
            return false;
        g = &found->at[found->n - 1];
    }
    g->first_ns = start_ns < g->first_ns ? start_ns : g->first_ns;
    g->last_ns = end_ns > g->last_ns ? end_ns : g->last_ns;
    return add_busy(arena, g, start_ns, end_ns);
}

static bool find_gpus(const hu_sheet *sheet, gpus *found)
{
    for (uint32_t k = 0; k < sheet->n_traces; k++) {
        const hu_slices s = hu_trace_slices(sheet->traces[k]);
        size_t          n;
        const hu_track *tracks = hu_trace_tracks(sheet->traces[k], &n);

        for (uint32_t i = 0; i < s.n; i++)
            if (hu_kind_in(s.kind[i], HU_KINDS_DEVICE) &&
                !take_work(found, sheet->arena, k, &tracks[s.track[i]], s.start_ns[i], s.start_ns[i] + s.dur_ns[i]))
                return false;
        for (uint32_t i = 0; i < s.n; i++)
            for (size_t g = 0; s.kind[i] == HU_KIND_OVERHEAD && g < found->n; g++)
                if (found->at[g].trace == k && is_own_overhead(hu_trace_text(sheet->traces[k], s.name[i])) &&
                    same_process(found->at[g].track, &tracks[s.track[i]]) &&
                    !add_busy(sheet->arena, &found->at[g], s.start_ns[i], s.start_ns[i] + s.dur_ns[i]))
                    return false;
    }
    return true;
}

static int by_start(const void *a, const void *b)
{
    const hu_interval *x = a, *y = b;

    return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

static int longest_stretch(const void *a, const void *b)
{
    const stretch *x = a, *y = b;

    if (x->dur_ns != y->dur_ns)
        return x->dur_ns > y->dur_ns ? -1 : 1;
    return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

static int least_in_use(const void *a, const void *b)
{
    const stretch *x = a, *y = b;

    if (x->in_use_pct != y->in_use_pct)
        return x->in_use_pct < y->in_use_pct ? -1 : 1;
    return longest_stretch(a, b);
}

static bool finish(hu_sheet *sheet, stretches *found, int (*order)(const void *, const void *))
{
    if (found->n)
        qsort(found->at, found->n, sizeof *found->at, order);
    sheet->rows = found->at;
    sheet->n = found->n;
    return true;
}

static bool measure_gaps(hu_sheet *sheet)
{
    gpus      all = {0};
    stretches found = {0};

    if (!find_gpus(sheet, &all))
        return false;
    for (size_t g = 0; g < all.n; g++) {
        gpu    *at = &all.at[g];
        int64_t until = at->first_ns;

        qsort(at->busy.at, at->busy.n, sizeof *at->busy.at, by_start);
        for (size_t i = 0; i < at->busy.n; i++) {
            const hu_interval *b = &at->busy.at[i];
            const int64_t      start = b->start_ns < at->last_ns ? b->start_ns : at->last_ns;

            if (start - until >= LEAST_GAP_NS &&
                !hu_vec_push(sheet->arena, &found,
                             ((stretch){sheet->traces[at->trace], at->track, until, start - until, 0})))
                return false;
            until = b->end_ns > until ? b->end_ns : until;
        }
    }
    return finish(sheet, &found, longest_stretch);
}

/* What of [start, end) is busy, counted as often as operations overlap. */
static int64_t busy_in(const gpu *g, int64_t start_ns, int64_t end_ns)
{
    int64_t sum = 0;

    for (size_t i = 0; i < g->busy.n; i++) {
        const int64_t from = g->busy.at[i].start_ns > start_ns ? g->busy.at[i].start_ns : start_ns;
        const int64_t to = g->busy.at[i].end_ns < end_ns ? g->busy.at[i].end_ns : end_ns;

        sum += to > from ? to - from : 0;
    }
    return sum;
}

/* Neighbours of low use are one stretch with the mean of both. */
static bool measure_use(hu_sheet *sheet)
{
    gpus      all = {0};
    stretches found = {0};

    if (!find_gpus(sheet, &all))
        return false;
    for (size_t g = 0; g < all.n; g++) {
        const gpu    *at = &all.at[g];
        const int64_t chunk = (at->last_ns - at->first_ns + CHUNKS - 1) / CHUNKS;
        bool          is_open = false; /* the chunk before was low, too */

        for (int64_t start = at->first_ns; chunk > 0 && start < at->last_ns; start += chunk) {
            const int64_t end = start + chunk < at->last_ns ? start + chunk : at->last_ns;
            const double  pct = 100.0 * (double)busy_in(at, start, end) / (double)(end - start);
            stretch      *last = is_open ? &found.at[found.n - 1] : NULL;

            if (pct >= MOST_IN_USE_PCT) {
                is_open = false;
                continue;
            }
            if (last) {
                last->in_use_pct = (last->in_use_pct * (double)last->dur_ns + pct * (double)(end - start)) /
                                   (double)(last->dur_ns + end - start);
                last->dur_ns += end - start;
            } else if (!hu_vec_push(sheet->arena, &found,
                                    ((stretch){sheet->traces[at->trace], at->track, start, end - start, pct}))) {
                return false;
            }
            is_open = true;
        }
    }
    return finish(sheet, &found, least_in_use);
}

static void fill_stretch(const hu_sheet *sheet, size_t row, bool with_use, hu_cell *cells)
{
    const stretch *at = &((const stretch *)sheet->rows)[row];
    int            c = 0;

    cells[c++] = hu_cell_int((int64_t)row + 1);
    if (with_use)
        cells[c++] = hu_cell_real(at->in_use_pct, 1);
    cells[c++] = hu_cell_int(at->dur_ns);
    cells[c++] = hu_cell_int(at->start_ns);
    cells[c++] = hu_sheet_pid(at->t, at->track);
    cells[c++] = hu_cell_unless(at->track->device, -1);
}

static void fill_gap(const hu_sheet *sheet, size_t row, hu_cell *cells)
{
    fill_stretch(sheet, row, false, cells);
}

static void fill_use(const hu_sheet *sheet, size_t row, hu_cell *cells)
{
    fill_stretch(sheet, row, true, cells);
}

static const char *const copy_columns[] = {"Duration (ns)", "Start (ns)", "Src Kind",  "Dst Kind", "Bytes (MB)",
                                           "PID",           "Device ID",  "Stream ID", "API Name", NULL};
static const char *const fill_columns[] = {"Duration (ns)", "Start (ns)", "Memory Kind", "Bytes (MB)", "PID",
                                           "Device ID",     "Stream ID",  "API Name",    NULL};
static const char *const wait_columns[] = {"Duration (ns)", "Start (ns)", "PID", "TID", "API Name", NULL};
static const char *const gap_columns[] = {"Row#", "Duration (ns)", "Start (ns)", "PID", "Device ID", NULL};
static const char *const use_columns[] = {"Row#", "In-Use (%)", "Duration (ns)", "Start (ns)", "PID", "Device ID", NULL};

const hu_sheet_report hu_sheet_rules[] = {
    {"cuda_memcpy_async", "CUDA Async Memcpy with Pageable Memory", copy_columns, measure_pageable, fill_copy,
     "asynchronous copies from or to pageable memory: the driver stages them, and the call returns when that is done",
     "no asynchronous copy uses pageable memory",
     "pin the host memory: DataLoader(pin_memory=True), tensor.pin_memory(), cudaHostAlloc()"},
    {"cuda_memcpy_sync", "CUDA Synchronous Memcpy", copy_columns, measure_sync_copies, fill_copy,
     "copies by calls that return when the copy is done; the host waits", "no synchronous copy between host and device",
     "use cudaMemcpyAsync() with pinned memory, or tensor.to(device, non_blocking=True)"},
    {"cuda_memset_sync", "CUDA Synchronous Memset", fill_columns, measure_sync_fills, fill_copy,
     "fills of pinned or managed memory by calls that return when the fill is done", "no synchronous fill",
     "use cudaMemsetAsync()"},
    {"cuda_api_sync", "CUDA Synchronization APIs", wait_columns, measure_waits, fill_wait,
     "calls that block the host until all work of a stream or of the device is done", "no call waits for a stream or device",
     "leave out .item(), .cpu() and print() of tensors in the loop; wait for an event with cudaEventSynchronize()"},
    {"gpu_gaps", "GPU Gaps", gap_columns, measure_gaps, fill_gap, "times of at least 500 ms in which a GPU did nothing",
     "no GPU is idle for 500 ms or more between its first and its last operation",
     "holdup report FILE --view idle says what the host did in them"},
    {"gpu_time_util", "GPU Time Utilization", use_columns, measure_use, fill_use,
     "parts (of 30 equal ones) of a GPU's time in which it was in use for less than 50 %; neighbours are one row",
     "each GPU is in use for 50 % or more in all 30 parts of its time",
     "holdup report FILE says what the host did meanwhile, and what a fix would gain"},
};
const size_t hu_sheet_n_rules = HU_COUNT(hu_sheet_rules);
