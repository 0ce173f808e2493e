/* SPDX-License-Identifier: Apache-2.0
 * roofline.c - gives each kernel to the operator that launched it, and each operator its model.
 *
 *     least time = max(FLOPs / peak of the unit and type, bytes / bandwidth of the memory)
 *     bound      = compute when the first is larger, else bandwidth
 *     MFU        = Σ model FLOPs / peak / time        HFU: the same with what is executed, recomputed parts too
 *
 * Only the innermost operator around a launch counts, so that aten::linear and the aten::addmm in it are not both counted.
 * Products of fp32 are held against the TF32 peak when their kernel's name says tensor cores, else against fp32.  MFU is
 * taken over products, convolutions and attention, over the steps that count, each FLOP against the peak of its own type;
 * where a job computes in one type this is the usual definition (PaLM, appendix B).  Kernels without an operator, or
 * whose operator has no model, are unknown, and listed: coverage says how much that is.
 */
#include "analyze/roofline.h"

#include <math.h>
#include <stdlib.h>

#include "analyze/join.h"
#include "analyze/kernel_name.h"
#include "base/map.h"

enum { IS_MATRIX = 1u << HU_WORK_GEMM | 1u << HU_WORK_CONV | 1u << HU_WORK_ATTENTION };

/* One set of arguments of an operator, measured once. */
typedef struct {
    hu_work  work;
    bool     is_known;
    uint32_t row;
} measured;

typedef struct {
    const hu_ask    *ask;
    hu_roofline     *out;
    const hu_peaks **peaks;        /* by track */
    hu_map           by_arguments; /* name, dims, types and values -> measured */
    HU_VEC(measured) measured;
    hu_map by_shape; /* name, dims and types -> row */
    HU_VEC(hu_roofline_op) list;
    hu_map unknown_rows;
    HU_VEC(hu_roofline_unknown) unknown;
    uint8_t         *seen;   /* by slice: this call of an operator was counted */
    const uint8_t   *again;  /* by slice: recomputes */
    uint8_t         *tensor; /* by string id: 1 + hu_tensor_use, 0 not asked */
    hu_kernel_reader reader;
} work;

static bool find_peaks(work *w)
{
    const hu_ask *ask = w->ask;

    w->peaks = hu_arena_calloc(ask->scratch, ask->n_tracks + 1, sizeof *w->peaks);
    if (!w->peaks)
        return false;
    for (size_t t = 0; t < ask->n_tracks; t++) {
        const hu_device *d = hu_trace_device(ask->trace, ask->tracks[t].device);

        if (!d || ask->tracks[t].type != HU_TRACK_STREAM)
            continue;
        w->peaks[t] = hu_peaks_find(hu_trace_text(ask->trace, d->name), d->sm_count, d->memory_bytes);
        if (w->peaks[t] && !w->out->device.n && ask->tracks[t].count) {
            w->out->device = hu_str_of(w->peaks[t]->name);
            w->out->source = hu_str_of(w->peaks[t]->source);
            w->out->gbps = w->peaks[t]->gbps;
        }
    }
    return true;
}

/* The innermost operator of the framework around a piece of work. */
static uint32_t operator_of(const hu_ask *ask, uint32_t piece)
{
    uint32_t at = hu_trace_op_of(ask->trace, piece);

    while (at != HU_NONE && ask->s.kind[at] != HU_KIND_CPU_OP)
        at = ask->s.parent[at];
    return at;
}

static hu_str signature_of(const hu_ask *ask, const hu_op_detail *d)
{
    const hu_str dims = hu_trace_text(ask->trace, d->dims), types = hu_trace_text(ask->trace, d->types);
    char        *text = hu_arena_alloc(ask->arena, dims.n + types.n + 2);

    if (!text)
        return (hu_str){0};
    memcpy(text, dims.p, dims.n);
    text[dims.n] = ' ';
    memcpy(text + dims.n + 1, types.p, types.n);
    return (hu_str){text, dims.n + types.n + 1};
}

static bool put_row(work *w, uint32_t op, const hu_op_detail *d, measured *m)
{
    const hu_ask *ask = w->ask;
    uint32_t     *place = hu_map_put(&w->by_shape, hu_hash_u64((uint64_t)ask->s.name[op] << 32 | d->dims) ^ d->types);

    if (!place)
        return false;
    if (*place == HU_NONE) {
        const hu_roofline_op row = {.op = hu_ask_name(ask, op),
                                    .shapes = hu_trace_text(ask->trace, d->dims),
                                    .types = hu_trace_text(ask->trace, d->types),
                                    .signature = signature_of(ask, d),
                                    .kind = m->work.kind,
                                    .dtype = m->work.dtype,
                                    .peak = HU_STR("")};

        if (!row.signature.p || !hu_vec_push(ask->arena, &w->list, row))
            return false;
        *place = (uint32_t)w->list.n - 1;
    }
    m->row = *place;
    return true;
}

/*
 * The types of tensors in lists are not recorded, but the kernels that work on them carry theirs as template arguments:
 * "CatArrayBatchedCopy<…OpaqueType<4u>…>", "multi_tensor_apply_kernel<…, FusedAdamMathFunctor<float, …>…>".
 */
static hu_work_hint hint_of(hu_str op, hu_str kernel)
{
    static const struct {
        const char *part;
        hu_dtype    dtype;
        int         bytes;
        /* clang-format off */
    } types[] = {
        {"OpaqueType<1u>", HU_DTYPE_UNKNOWN, 1}, {"OpaqueType<2u>", HU_DTYPE_UNKNOWN, 2},
        {"OpaqueType<4u>", HU_DTYPE_UNKNOWN, 4}, {"OpaqueType<8u>", HU_DTYPE_UNKNOWN, 8},
        {"c10::BFloat16", HU_DTYPE_BF16, 2},     {"c10::Half", HU_DTYPE_FP16, 2},
        {"<double", HU_DTYPE_FP64, 8},           {"<float", HU_DTYPE_FP32, 4},
        {"<long", HU_DTYPE_INT64, 8},            {"<int,", HU_DTYPE_INT32, 4},
    };
    /* clang-format on */
    hu_work_hint hint = {.is_in_place = hu_str_ends(op, HU_STR("_"))};

    for (size_t i = 0; i < HU_COUNT(types); i++) {
        if (!hu_str_has(kernel, hu_str_of(types[i].part)))
            continue;
        hint.list_dtype = types[i].dtype;
        hint.list_bytes = types[i].bytes;
        break;
    }
    return hint;
}

/* `piece` is one of the kernels that it launched. */
static measured *measure_op(work *w, uint32_t op, uint32_t piece)
{
    const hu_ask       *ask = w->ask;
    const hu_op_detail *d = ask->s.detail[op] != HU_NONE ? hu_trace_op_detail(ask->trace, ask->s.detail[op]) : NULL;
    const hu_op_model  *model;
    hu_str              name = hu_ask_name(ask, op);
    uint32_t           *place;
    measured            m = {0};
    hu_args             args;

    if (!d || !d->dims)
        return NULL;
    place = hu_map_put(&w->by_arguments, hu_hash_u64(hu_hash_u64((uint64_t)ask->s.name[op] << 32 | d->dims) ^ d->types) ^
                                             hu_hash_u64(d->concrete));
    if (!place)
        return NULL;
    if (*place != HU_NONE)
        return &w->measured.at[*place];
    model = hu_flops_find(name);
    m.is_known = model &&
                 hu_args_parse(hu_trace_text(ask->trace, d->dims), hu_trace_text(ask->trace, d->types),
                               hu_trace_text(ask->trace, d->concrete), &args) &&
                 hu_flops_measure(model, &args, hint_of(name, hu_ask_name(ask, piece)), &m.work);
    if ((m.is_known && !put_row(w, op, d, &m)) || !hu_vec_push(ask->scratch, &w->measured, m))
        return NULL;
    *place = (uint32_t)w->measured.n - 1;
    return &w->measured.at[*place];
}

static bool uses_tensor_cores(work *w, uint32_t piece)
{
    uint8_t       *known = &w->tensor[w->ask->s.name[piece]];
    hu_kernel_name k;

    if (!*known)
        *known = hu_kernel_name_read(&w->reader, hu_ask_name(w->ask, piece), false, w->ask->scratch, &k)
                     ? (uint8_t)(1 + k.tensor)
                     : 1 + HU_TENSOR_UNKNOWN;
    return *known == 1 + HU_TENSOR_YES;
}

static void add_peak(work *w, hu_roofline_op *row, const hu_work *k, const hu_peaks *p, uint32_t piece, bool in_window,
                     bool is_again)
{
    const hu_dtype dtype = k->on_matrix_unit && k->dtype == HU_DTYPE_FP32 && uses_tensor_cores(w, piece) ? HU_DTYPE_TF32
                                                                                                         : k->dtype;
    const char    *what = "";
    const double   peak = p ? hu_peaks_tflops(p, k->on_matrix_unit, dtype, &what) : 0;
    double         compute_ns = 0, memory_ns = p && p->gbps > 0 ? k->bytes / p->gbps : (double)NAN;

    if (peak > 0 && !isnan(k->flops))
        compute_ns = k->flops / peak / 1e3;
    row->dtype = dtype;
    row->peak = hu_str_of(what);
    row->peak_tflops = peak;
    if (isnan(memory_ns) || (!isnan(k->flops) && k->flops > 0 && !(peak > 0))) {
        row->roofline_ns = (double)NAN;
    } else {
        row->roofline_ns += fmax(compute_ns, memory_ns);
        if (!isnan(k->flops))
            row->bound = compute_ns >= memory_ns ? HU_BOUND_COMPUTE : HU_BOUND_BANDWIDTH;
    }
    if (in_window && peak > 0 && IS_MATRIX >> k->kind & 1u) {
        w->out->executed_peak_ns += k->flops / peak / 1e3;
        w->out->model_peak_ns += is_again ? 0 : k->model_flops / peak / 1e3;
        w->out->window_model_flops += is_again ? 0 : k->model_flops;
    }
}

static void add_call(work *w, const measured *m, uint32_t op, uint32_t piece)
{
    const hu_ask   *ask = w->ask;
    hu_roofline_op *row = &w->list.at[m->row];
    const hu_work  *k = &m->work;
    const bool      in_window = !ask->counted || ask->counted->n == 0 ||
                           hu_select_in(ask->counted, hu_select_time(ask->trace, &ask->s, piece));

    row->calls++;
    row->flops += k->flops;
    row->bytes += k->bytes;
    if (!isnan(k->flops)) {
        w->out->flops += k->flops;
        w->out->matrix_flops += IS_MATRIX >> k->kind & 1u ? k->flops : 0;
    }
    add_peak(w, row, k, w->peaks[ask->s.track[piece]], piece, in_window, w->again[op] != 0);
}

static bool add_unknown(work *w, uint32_t op, uint32_t piece)
{
    const hu_ask  *ask = w->ask;
    const uint32_t name = ask->s.name[op != HU_NONE ? op : piece];
    uint32_t      *place = hu_map_put(&w->unknown_rows, (uint64_t)(op != HU_NONE) << 32 | name);

    if (!place)
        return false;
    if (*place == HU_NONE) {
        if (!hu_vec_push(ask->arena, &w->unknown,
                         ((hu_roofline_unknown){.name = hu_trace_text(ask->trace, name), .is_kernel = op == HU_NONE})))
            return false;
        *place = (uint32_t)w->unknown.n - 1;
    }
    w->unknown.at[*place].kernels++;
    w->unknown.at[*place].kernel_ns += ask->s.dur_ns[piece];
    return true;
}

static bool add_piece(work *w, uint32_t piece)
{
    const hu_ask   *ask = w->ask;
    const uint32_t  op = operator_of(ask, piece);
    const measured *m = op != HU_NONE ? measure_op(w, op, piece) : NULL;
    hu_roofline_op *row;

    w->out->kernel_ns += ask->s.dur_ns[piece];
    if (!m || !m->is_known)
        return add_unknown(w, op, piece);
    row = &w->list.at[m->row];
    row->kernels++;
    row->kernel_ns += ask->s.dur_ns[piece];
    w->out->matrix_ns += IS_MATRIX >> m->work.kind & 1u ? ask->s.dur_ns[piece] : 0;
    if (isnan(m->work.flops))
        w->out->bytes_only_ns += ask->s.dur_ns[piece];
    else
        w->out->modelled_ns += ask->s.dur_ns[piece];
    if (!w->seen[op]) {
        w->seen[op] = 1;
        add_call(w, m, op, piece);
    }
    return true;
}

static int by_time(const void *left, const void *right)
{
    const hu_roofline_op *a = left, *b = right;
    int                   c;

    if (a->kernel_ns != b->kernel_ns)
        return a->kernel_ns > b->kernel_ns ? -1 : 1;
    c = hu_str_compare(a->op, b->op);
    return c ? c : hu_str_compare(a->signature, b->signature);
}

static int by_unknown_time(const void *left, const void *right)
{
    const hu_roofline_unknown *a = left, *b = right;

    if (a->kernel_ns != b->kernel_ns)
        return a->kernel_ns > b->kernel_ns ? -1 : 1;
    return hu_str_compare(a->name, b->name);
}

static double window_of(const hu_ask *ask)
{
    double ns = 0;

    for (size_t i = 0; ask->steps && ask->steps->source != HU_STEPS_NONE && i < ask->steps->n; i++)
        if (hu_step_counts(&ask->steps->at[i]))
            ns += (double)(ask->steps->at[i].period.end_ns - ask->steps->at[i].period.start_ns);
    if (ns > 0 || ask->busy.n == 0)
        return ns;
    return (double)(ask->busy.at[ask->busy.n - 1].end_ns - ask->busy.at[0].start_ns);
}

static void sum_up(hu_roofline *r)
{
    r->roofline_ns = 0;
    r->roofline_kernel_ns = 0;
    for (size_t i = 0; i < r->n; i++) {
        if (isnan(r->at[i].roofline_ns))
            continue;
        r->roofline_ns += r->at[i].roofline_ns;
        r->roofline_kernel_ns += r->at[i].kernel_ns;
    }
}

int hu_roofline_measure(const hu_ask *ask, hu_roofline *out, hu_error *err)
{
    const size_t names = hu_trace_string_count(ask->trace);
    hu_roofline  result = {.device = HU_STR(""), .source = HU_STR(""), .window_ns = window_of(ask)};
    work         w = {.ask = ask, .out = &result};

    w.seen = hu_arena_calloc(ask->scratch, ask->s.n + 1, 1);
    w.tensor = hu_arena_calloc(ask->scratch, names + 1, 1);
    w.again = ask->recompute;
    if (!w.seen || !w.tensor || !w.again || !find_peaks(&w) || !hu_map_init(&w.by_arguments, ask->scratch, 256) ||
        !hu_map_init(&w.by_shape, ask->scratch, 256) || !hu_map_init(&w.unknown_rows, ask->scratch, 64))
        return hu_fail_memory(err);
    hu_kernel_reader_init(&w.reader);
    for (size_t k = 0; k < ask->n_work; k++)
        if (ask->s.kind[ask->work[k]] == HU_KIND_KERNEL && hu_ask_has(ask, ask->work[k]) && !add_piece(&w, ask->work[k]))
            return hu_fail_memory(err);
    if (w.list.n)
        qsort(w.list.at, w.list.n, sizeof *w.list.at, by_time);
    if (w.unknown.n)
        qsort(w.unknown.at, w.unknown.n, sizeof *w.unknown.at, by_unknown_time);
    result.at = w.list.at;
    result.n = w.list.n;
    result.unknown = w.unknown.at;
    result.n_unknown = w.unknown.n;
    sum_up(&result);
    *out = result;
    return 0;
}

static void op_key(const void *row, hu_str *a, hu_str *b)
{
    *a = ((const hu_roofline_op *)row)->op;
    *b = ((const hu_roofline_op *)row)->signature;
}

static void add_op(void *left, const void *right)
{
    hu_roofline_op       *into = left;
    const hu_roofline_op *from = right;

    into->calls += from->calls;
    into->kernels += from->kernels;
    into->kernel_ns += from->kernel_ns;
    into->flops += from->flops;
    into->bytes += from->bytes;
    into->roofline_ns += from->roofline_ns;
}

static void unknown_key(const void *row, hu_str *a, hu_str *b)
{
    *a = ((const hu_roofline_unknown *)row)->name;
    *b = ((const hu_roofline_unknown *)row)->is_kernel ? HU_STR("kernel") : HU_STR("");
}

static void add_unknown_row(void *left, const void *right)
{
    ((hu_roofline_unknown *)left)->kernels += ((const hu_roofline_unknown *)right)->kernels;
    ((hu_roofline_unknown *)left)->kernel_ns += ((const hu_roofline_unknown *)right)->kernel_ns;
}

bool hu_roofline_merge(hu_roofline *into, const hu_roofline *from, hu_arena *arena)
{
    static const hu_join_rule ops = {sizeof(hu_roofline_op), op_key, add_op, by_time};
    static const hu_join_rule unknown = {sizeof(hu_roofline_unknown), unknown_key, add_unknown_row, by_unknown_time};

    if (!hu_join_rows(&ops, (void **)&into->at, &into->n, from->at, from->n, arena) ||
        !hu_join_rows(&unknown, (void **)&into->unknown, &into->n_unknown, from->unknown, from->n_unknown, arena))
        return false;
    if (!into->device.n) {
        into->device = from->device;
        into->source = from->source;
        into->gbps = from->gbps;
    }
    into->kernel_ns += from->kernel_ns;
    into->modelled_ns += from->modelled_ns;
    into->bytes_only_ns += from->bytes_only_ns;
    into->matrix_ns += from->matrix_ns;
    into->flops += from->flops;
    into->matrix_flops += from->matrix_flops;
    into->window_ns += from->window_ns;
    into->model_peak_ns += from->model_peak_ns;
    into->executed_peak_ns += from->executed_peak_ns;
    into->window_model_flops += from->window_model_flops;
    sum_up(into);
    return true;
}

double hu_roofline_mfu_pct(const hu_roofline *r)
{
    return r->window_ns > 0 && r->model_peak_ns > 0 ? 100 * r->model_peak_ns / r->window_ns : (double)NAN;
}

double hu_roofline_hfu_pct(const hu_roofline *r)
{
    return r->window_ns > 0 && r->executed_peak_ns > 0 ? 100 * r->executed_peak_ns / r->window_ns : (double)NAN;
}

const char *hu_bound_name(hu_bound bound)
{
    static const char *const names[] = {"unknown", "compute", "bandwidth"};

    return names[bound];
}
