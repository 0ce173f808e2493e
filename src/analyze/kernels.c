/* SPDX-License-Identifier: Apache-2.0
 * kernels.c - one pass over device slices; sums of integers, so that the order of the file cannot matter.
 *
 * ROCm writes grid and block on the launching call instead of the kernel; they are taken from there.
 *
 *     SM efficiency = min(blocks / multiprocessors, 1)            over time: min(Σ of what runs at once, 1)
 *     waves         = blocks / (multiprocessors * blocks that fit on one)
 *     tail          = waves / ⌈waves⌉: the share of the last wave's slots, and of all before it, that have work
 *
 * Occupancy is the recorder's estimate.  Kineto writes 0 for kernels that opt in to more shared memory than blocks get by
 * default, which are the best matrix products; for those, and where nothing was recorded, the same formula is applied
 * here: min(blocks that fit, blocks for each multiprocessor) * threads / threads that a multiprocessor holds.
 *
 * Source of the first and of tensor-core eligibility: torch-tb-profiler ("Est. SM Efficiency", "Tensor Cores Eligible").
 */
#include "analyze/kernels.h"

#include <math.h>
#include <stdlib.h>

#include "analyze/join.h"
#include "analyze/kernel_short.h"
#include "analyze/occupancy.h"

typedef struct {
    const hu_ask     *ask;
    const hu_device **device;      /* by track; NULL unknown */
    uint32_t         *row_of_name; /* by string id; HU_NONE: none yet */
    hu_kernel_reader  reader;
    uint8_t          *eligible; /* by string id of an operator: 0 not asked yet, 1 no, 2 yes */
    HU_VEC(hu_kernel) list;
} work;

static void read_geometry(const hu_ask *ask, uint32_t i, hu_geometry *g, uint16_t *registers)
{
    const hu_kernel_detail *k = ask->s.detail[i] != HU_NONE ? hu_trace_kernel_detail(ask->trace, ask->s.detail[i]) : NULL;
    uint32_t                launch;

    *g = (hu_geometry){0};
    *registers = k ? k->registers : 0;
    if (k && (k->grid[0] || k->block[0])) {
        memcpy(g->grid, k->grid, sizeof g->grid);
        memcpy(g->block, k->block, sizeof g->block);
        g->shared_bytes = k->shared_bytes;
        return;
    }
    launch = hu_trace_launch_of(ask->trace, i);
    if (launch != HU_NONE && ask->s.detail[launch] != HU_NONE) {
        const hu_call_detail *c = hu_trace_call_detail(ask->trace, ask->s.detail[launch]);

        if (c->geometry)
            *g = *hu_trace_geometry(ask->trace, c->geometry);
    }
}

static const hu_device *device_of(const work *w, uint32_t slice)
{
    return w->device[w->ask->s.track[slice]];
}

/* `recorded`: estimated achieved occupancy in percent, NaN or 0 when the recorder did not know. */
static void add_fill(hu_kernel *row, const hu_device *device, const hu_geometry *g, uint16_t registers, double recorded,
                     double dur)
{
    const double blocks = (double)g->grid[0] * g->grid[1] * g->grid[2];
    const int    threads = g->block[0] * g->block[1] * g->block[2];
    int          fit = 0;

    if (device && device->sm_count > 0 && blocks > 0) {
        row->sm_sum += dur * fmin(blocks / device->sm_count, 1);
        row->sm_ns += dur;
        fit = registers ? hu_occupancy_blocks(device, threads, registers, g->shared_bytes) : 0;
        if (!(recorded > 0) && fit > 0 && device->max_threads_per_sm > 0)
            recorded = 100 * fmin(fit, blocks / device->sm_count) * threads / device->max_threads_per_sm;
    }
    if (recorded > 0) {
        row->occupancy_sum += recorded * dur;
        row->occupancy_ns += dur;
    }
    if (fit > 0) {
        const double waves = blocks / ((double)device->sm_count * fit);

        row->waves_sum += dur * waves;
        row->tail_sum += dur * waves / ceil(waves);
        row->waves_ns += dur;
    }
}

static bool is_eligible(work *w, uint32_t slice)
{
    for (uint32_t at = hu_trace_op_of(w->ask->trace, slice); at != HU_NONE; at = w->ask->s.parent[at]) {
        uint8_t *known = &w->eligible[w->ask->s.name[at]];

        if (w->ask->s.kind[at] != HU_KIND_CPU_OP)
            continue;
        if (!*known)
            *known = hu_kernel_name_is_eligible(hu_ask_name(w->ask, at)) ? 2 : 1;
        if (*known == 2)
            return true;
    }
    return false;
}

bool hu_kernel_is_low_precision(const hu_ask *ask, uint32_t slice)
{
    for (uint32_t at = hu_trace_op_of(ask->trace, slice); at != HU_NONE; at = ask->s.parent[at]) {
        const uint32_t row = ask->s.kind[at] == HU_KIND_CPU_OP ? ask->s.detail[at] : HU_NONE;
        const uint8_t  precision = row == HU_NONE ? HU_PRECISION_UNSAID
                                                  : ask->precision[hu_trace_op_detail(ask->trace, row)->types];

        if (precision != HU_PRECISION_UNSAID) /* what is around it may cast (autocast) */
            return precision == HU_PRECISION_LOW;
    }
    return false;
}

static void add(work *w, uint32_t i, hu_kernel *row)
{
    const int64_t dur = w->ask->s.dur_ns[i];
    const double  off = (double)dur - row->mean_ns;
    hu_geometry   g;
    uint16_t      registers;

    read_geometry(w->ask, i, &g, &registers);
    if (row->calls == 0) {
        row->min_ns = row->max_ns = dur;
        memcpy(row->grid, g.grid, sizeof g.grid);
        memcpy(row->block, g.block, sizeof g.block);
        row->registers = registers;
        row->shared_bytes = g.shared_bytes;
    } else if (memcmp(row->grid, g.grid, sizeof g.grid) != 0 || memcmp(row->block, g.block, sizeof g.block) != 0) {
        row->geometry_varies = true;
    }
    row->calls++;
    row->total_ns += dur;
    row->min_ns = dur < row->min_ns ? dur : row->min_ns;
    row->max_ns = dur > row->max_ns ? dur : row->max_ns;
    row->mean_ns += off / (double)row->calls;
    row->squares += off * ((double)dur - row->mean_ns);
    add_fill(row, device_of(w, i), &g, registers,
             w->ask->s.detail[i] != HU_NONE
                 ? (double)hu_trace_kernel_detail(w->ask->trace, w->ask->s.detail[i])->occupancy_pct
                 : (double)NAN,
             (double)dur);
    if (row->is_comm)
        return;
    row->eligible_ns += is_eligible(w, i) ? dur : 0;
    row->plain_ns += row->read.is_plain_fp32 && !hu_kernel_is_low_precision(w->ask, i) ? dur : 0;
}

static hu_kernel *row_of(work *w, uint32_t i)
{
    uint32_t *place = &w->row_of_name[w->ask->s.name[i]];

    if (*place == HU_NONE) {
        hu_kernel k = {.name = hu_ask_name(w->ask, i), .is_comm = w->ask->s.kind[i] == HU_KIND_COLLECTIVE};

        if (!hu_kernel_name_read(&w->reader, k.name, k.is_comm, w->ask->arena, &k.read) ||
            !hu_vec_push(w->ask->arena, &w->list, k))
            return NULL;
        *place = (uint32_t)w->list.n - 1;
    }
    return &w->list.at[*place];
}

enum { MOST_AT_ONCE = 128 };

typedef struct {
    int64_t end_ns;
    double  share; /* of the device's multiprocessors */
} running;

/* Adds the time until `until_ns` in which `n` kernels run, and drops those that have ended by then. */
static size_t advance(hu_kernels *out, running *at, size_t n, int64_t from_ns, int64_t until_ns)
{
    while (n && from_ns < until_ns) {
        int64_t next = until_ns;
        double  share = 0;
        size_t  left = 0;

        for (size_t i = 0; i < n; i++) {
            next = at[i].end_ns < next ? at[i].end_ns : next;
            share += at[i].share;
        }
        if (next > from_ns) {
            out->sm_busy_ns += fmin(share, 1) * (double)(next - from_ns);
            out->sm_known_ns += (double)(next - from_ns);
        }
        for (size_t i = 0; i < n; i++)
            if (at[i].end_ns > next)
                at[left++] = at[i];
        n = left;
        from_ns = next;
    }
    return n;
}

/* How full the multiprocessors are over time; kernels that run at once add up to at most one. */
static void measure_sm(work *w, hu_kernels *out)
{
    running at[MOST_AT_ONCE];
    size_t  n = 0;
    int64_t now = INT64_MIN;

    for (size_t k = 0; k < w->ask->n_work; k++) {
        const uint32_t   i = w->ask->work[k];
        const hu_device *device;
        hu_geometry      g;
        uint16_t         registers;
        double           blocks;

        if (w->ask->s.kind[i] != HU_KIND_KERNEL || !hu_ask_has(w->ask, i))
            continue;
        read_geometry(w->ask, i, &g, &registers);
        device = device_of(w, i);
        blocks = (double)g.grid[0] * g.grid[1] * g.grid[2];
        if (blocks <= 0 || !device || device->sm_count <= 0)
            continue;
        n = advance(out, at, n, now, w->ask->s.start_ns[i]);
        now = w->ask->s.start_ns[i];
        if (n < MOST_AT_ONCE)
            at[n++] = (running){hu_ask_end(w->ask, i), blocks / device->sm_count};
    }
    advance(out, at, n, now, INT64_MAX);
}

static int by_total(const void *left, const void *right)
{
    const hu_kernel *a = left, *b = right;

    if (a->total_ns != b->total_ns)
        return a->total_ns > b->total_ns ? -1 : 1;
    return hu_str_compare(a->name, b->name);
}

static void sum_families(hu_kernels *k)
{
    memset(k->family, 0, sizeof k->family);
    k->total_ns = 0;
    for (hu_kernel_family f = 0; f < HU_FAMILY_COUNT; f++)
        k->family[f].family = f;
    for (size_t i = 0; i < k->n; i++) {
        const hu_kernel       *row = &k->at[i];
        hu_kernel_family_time *f = &k->family[row->read.family];

        k->total_ns += row->total_ns;
        f->kernels++;
        f->calls += row->calls;
        f->total_ns += row->total_ns;
        f->tensor_ns += row->read.tensor == HU_TENSOR_YES ? row->total_ns : 0;
        f->unknown_ns += row->read.tensor == HU_TENSOR_UNKNOWN ? row->total_ns : 0;
        f->eligible_ns += row->eligible_ns;
    }
}

static bool name_short(hu_kernels *k, hu_arena *arena)
{
    hu_str *names = hu_arena_alloc(arena, (k->n + 1) * sizeof *names), *shorts;

    for (size_t i = 0; names && i < k->n; i++)
        names[i] = k->at[i].name;
    shorts = names ? hu_kernel_shorts(names, k->n, arena) : NULL;
    for (size_t i = 0; shorts && i < k->n; i++)
        k->at[i].short_name = shorts[i];
    return shorts != NULL;
}

int hu_kernels_measure(const hu_ask *ask, hu_kernels *out, hu_error *err)
{
    const size_t names = hu_trace_string_count(ask->trace);
    hu_kernels   result = {0};
    work         w = {.ask = ask};

    w.device = hu_arena_alloc(ask->scratch, (ask->n_tracks + 1) * sizeof(*w.device));
    w.row_of_name = hu_arena_alloc(ask->scratch, (names + 1) * sizeof *w.row_of_name);
    w.eligible = hu_arena_calloc(ask->scratch, names + 1, 1);
    if (!w.device || !w.row_of_name || !w.eligible)
        return hu_fail_memory(err);
    for (size_t t = 0; t < ask->n_tracks; t++)
        w.device[t] = hu_trace_device(ask->trace, ask->tracks[t].device);
    memset(w.row_of_name, 0xff, (names + 1) * sizeof *w.row_of_name);
    hu_kernel_reader_init(&w.reader);
    for (size_t k = 0; k < ask->n_work; k++) {
        const uint32_t i = ask->work[k];
        hu_kernel     *row;

        if (!hu_kind_in(ask->s.kind[i], HU_KINDS_COMPUTE | HU_KINDS_COMM) || !hu_ask_has(ask, i))
            continue;
        row = row_of(&w, i);
        if (!row)
            return hu_fail_memory(err);
        add(&w, i, row);
        row->calls_in_steps += ask->counted && hu_select_in(ask->counted, hu_select_time(ask->trace, &ask->s, i));
    }
    measure_sm(&w, &result);
    if (w.list.n)
        qsort(w.list.at, w.list.n, sizeof *w.list.at, by_total);
    result.at = w.list.at;
    result.n = w.list.n;
    if (!name_short(&result, ask->arena))
        return hu_fail_memory(err);
    sum_families(&result);
    *out = result;
    return 0;
}

static void row_key(const void *row, hu_str *a, hu_str *b)
{
    (void)b;
    *a = ((const hu_kernel *)row)->name;
}

/* Chan's formula for the squares of two samples together. */
static void add_moments(hu_kernel *into, const hu_kernel *from)
{
    const double n = (double)into->calls, m = (double)from->calls, off = from->mean_ns - into->mean_ns;

    into->squares += from->squares + off * off * n * m / (n + m);
    into->mean_ns += off * m / (n + m);
}

static void add_row(void *left, const void *right)
{
    hu_kernel       *into = left;
    const hu_kernel *from = right;

    add_moments(into, from);
    into->geometry_varies |= from->geometry_varies || memcmp(into->grid, from->grid, sizeof into->grid) != 0 ||
                             memcmp(into->block, from->block, sizeof into->block) != 0;
    into->calls += from->calls;
    into->calls_in_steps += from->calls_in_steps;
    into->total_ns += from->total_ns;
    into->min_ns = from->min_ns < into->min_ns ? from->min_ns : into->min_ns;
    into->max_ns = from->max_ns > into->max_ns ? from->max_ns : into->max_ns;
    into->eligible_ns += from->eligible_ns;
    into->plain_ns += from->plain_ns;
    into->occupancy_sum += from->occupancy_sum;
    into->occupancy_ns += from->occupancy_ns;
    into->waves_sum += from->waves_sum;
    into->tail_sum += from->tail_sum;
    into->waves_ns += from->waves_ns;
    into->sm_sum += from->sm_sum;
    into->sm_ns += from->sm_ns;
}

bool hu_kernels_merge(hu_kernels *into, const hu_kernels *from, hu_arena *arena)
{
    static const hu_join_rule rule = {sizeof(hu_kernel), row_key, add_row, by_total};

    if (!hu_join_rows(&rule, (void **)&into->at, &into->n, from->at, from->n, arena))
        return false;
    into->sm_busy_ns += from->sm_busy_ns;
    into->sm_known_ns += from->sm_known_ns;
    sum_families(into);
    return name_short(into, arena);
}

static double share(double part, double whole)
{
    return whole > 0 ? part / whole : (double)NAN;
}

double hu_kernel_stddev_ns(const hu_kernel *k)
{
    return k->calls > 1 ? sqrt(k->squares / (double)(k->calls - 1)) : (double)NAN;
}

double hu_kernel_occupancy_pct(const hu_kernel *k)
{
    return share(k->occupancy_sum, k->occupancy_ns);
}

double hu_kernel_waves(const hu_kernel *k)
{
    return share(k->waves_sum, k->waves_ns);
}

double hu_kernel_tail_pct(const hu_kernel *k)
{
    return 100 * share(k->tail_sum, k->waves_ns);
}

double hu_kernel_sm_pct(const hu_kernel *k)
{
    return 100 * share(k->sm_sum, k->sm_ns);
}
