/* SPDX-License-Identifier: Apache-2.0
 * gates_device.c - what nominates the diagnoses of GPU operations: copies, kernels that could be faster, clocks.
 */
#include "advise/gates.h"
#include "advise/say_thread.h"
#include "advise/throttled.h"
#include "analyze/matrix_units.h"

static const double MOST_UNLINKED = 0.1; /* of the GPU operations; beyond, what operators launched says too little */
static const double LEAST_BOTH = 0.01, LEAST_RECOMPUTE = 0.01, LEAST_FUSED = 0.01;
static const double WORTH_PINNING = 0.05;  /* of the time of copies to the device, from pageable memory */
static const double POOR_SHARE = 0.4;      /* of the roofline, below which a product is called inefficient */
static const double MOST_SLOWER = 0.5;     /* of the time compared: a lower clock slows all kernels, or nearly */
static const double LEAST_DESCRIBED = 0.5; /* of the kernels compared: of the rest nobody knows whether they did the same */

enum { TENSOR_MULTIPLE = 8 };

typedef struct {
    char t[HU_UNIT_BYTES + 16];
} part_words;

/* "61.1 ms of it", "all of it", "none of it" */
static part_words part_of_it(int64_t part_ns, int64_t whole_ns)
{
    part_words said;

    if (part_ns >= whole_ns || part_ns <= 0)
        snprintf(said.t, sizeof said.t, "%s of it", part_ns > 0 ? "all" : "none");
    else
        snprintf(said.t, sizeof said.t, "%s of it", hu_say_time((double)part_ns).t);
    return said;
}

/* One kind of copy, as it was recorded: "Memcpy HtoD (Pageable -> Device): 10.5 ms in the whole capture; ..." */
static void show_copy(hu_hint *h, const hu_copy *copy)
{
    hu_hint_show(h, "%.*s: %s; %s is exposed; %s of %s call%s block%s the host", HU_FMT(copy->name),
                 hu_say_in_all(hu_as_sum(copy->running_ns)).t, part_of_it(copy->exposed_ns, copy->running_ns).t,
                 hu_say_count(copy->blocking).t, hu_say_count(copy->calls).t, hu_plural(copy->calls),
                 copy->blocking == 1 ? "s" : "");
}

/* Pinned memory is the usual fix, but no help to what is pinned already. */
static const char FIX_PINNED[] =
    "start them earlier: tensor.to(device, non_blocking=True) for the next batch, on a separate stream, while kernels "
    "run; or copy less: smaller dtypes, inputs decoded on the GPU";

/* Offloading moves the same bytes out and in again. */
static bool is_copied_back(const hu_copies *copies)
{
    int64_t out = 0;

    for (size_t i = 0; i < copies->n; i++)
        out += hu_str_equal(copies->at[i].direction, HU_STR("DtoH")) ? copies->at[i].running_ns : 0;
    return 2 * out > copies->htod_ns;
}

bool hu_gate_copy(const hu_scene *c, hu_hint *h)
{
    enum { NAMED = 2 };
    const hu_copies *copies = &c->d->copies;
    const hu_copy   *worst = NULL;
    int64_t          pageable = 0;
    bool             is_known = true, is_staged; /* every name says which memory it is; enough of it is pageable */
    char             memory[96] = "";
    size_t           named = 1;

    for (size_t i = 0; i < copies->n; i++) {
        const hu_copy *copy = &copies->at[i];

        if (!hu_str_equal(copy->direction, HU_STR("HtoD")))
            continue;
        pageable += copy->is_pageable ? copy->running_ns : 0;
        is_known = is_known && copy->from.n;
        worst = !worst || copy->total_ns > worst->total_ns ? copy : worst;
    }
    if (!worst || !hu_is_share_of_all(hu_as_sum(copies->htod_ns), HU_LEAST_SHARE, hu_as_sum(c->d->gpu_time.span_ns)))
        return false;
    is_staged = (double)pageable >= WORTH_PINNING * (double)copies->htod_ns;
    if (is_staged)
        snprintf(memory, sizeof memory, " %.24s of it is from pageable memory, which is staged and blocks the host.",
                 pageable < copies->htod_ns ? hu_say_time((double)pageable).t : "All");
    else if (is_known)
        snprintf(memory, sizeof memory, " %s of it is from pinned memory.", pageable ? "Nearly all" : "All");
    h->fix = !is_staged && is_known ? FIX_PINNED : NULL;
    if (is_copied_back(copies)) {
        h->is_suspected = true;
        hu_hint_show(
            h, "about as much is copied back: what a step itself makes (offloaded weights) cannot be copied a step ahead");
    }
    hu_hint_say(h, "Host-to-device copies take %s; %s is exposed (no kernel runs).%s",
                hu_say_in_all(hu_as_sum(copies->htod_ns)).t, part_of_it(copies->htod_exposed_ns, copies->htod_ns).t, memory);
    show_copy(h, worst);
    for (size_t i = 0; i < copies->n && named < NAMED; i++)
        if (&copies->at[i] != worst && hu_str_equal(copies->at[i].direction, HU_STR("HtoD"))) {
            show_copy(h, &copies->at[i]);
            named++;
        }
    return true;
}

bool hu_gate_contention(const hu_scene *c, hu_hint *h)
{
    const hu_ns_in_all both = hu_as_sum(c->d->gpu_time.overlapped_comm_ns), all = hu_as_sum(c->d->gpu_time.span_ns);

    if (both.ns <= 0 || !hu_is_share_of_all(both, LEAST_BOTH, all))
        return false;
    hu_hint_say(h, "Kernels overlap communication for %s. The same kernels are faster without communication.",
                hu_say_in_all(both).t);
    return true;
}

bool hu_gate_recompute(const hu_scene *c, hu_hint *h)
{
    const hu_overheads *o = &c->d->overheads;
    const double        work = c->d->gpu_time.n_slices ? (double)o->recompute_device_ns : (double)o->recompute_host_ns;
    const double        all = c->d->gpu_time.n_slices ? (double)o->device_ns : (double)o->span_ns;

    if (all <= 0 || work < LEAST_RECOMPUTE * all)
        return false;
    hu_hint_say(
        h,
        "%s of the work in the whole capture is forward recomputed in backward: activation checkpointing trades time for "
        "memory.",
        hu_say_pct(hu_amount_pct(work, all)).t);
    if (!hu_pricer_is_backlogged(c->s->pricer) &&
        (double)c->d->health.unlinked_kernels > MOST_UNLINKED * (double)c->d->gpu_time.n_slices) {
        h->is_partial = true;
        hu_hint_show(h, "GPU operations that were launched before the capture may recompute too: they are not in the price");
    }
    return true;
}

/* What a job may ask of its device, in training and where nothing is trained; NULL: the rule's own fix. */
static const char *fix_of_units(hu_matrix_units units, bool is_inference)
{
    switch (units) {
    case HU_MATRIX_FP16:
        return is_inference
                   ? "model.half(), or torch.autocast(\"cuda\", dtype=torch.float16); this GPU has neither TF32 nor "
                     "bf16 tensor cores"
                   : "torch.autocast(\"cuda\", dtype=torch.float16) with torch.amp.GradScaler(\"cuda\"); this GPU "
                     "has neither TF32 nor bf16 tensor cores";
    case HU_MATRIX_BF16:
        return is_inference ? "model.to(torch.bfloat16), or torch.autocast(\"cuda\", dtype=torch.bfloat16)"
                            : "torch.autocast(\"cuda\", dtype=torch.bfloat16)";
    case HU_MATRIX_UNKNOWN:
        return is_inference ? "if this GPU has tensor cores: torch.autocast with bfloat16 (NVIDIA Ampere or later, AMD "
                              "Instinct MI100 or later) or float16 (Volta, Turing)"
                            : "if this GPU has tensor cores: torch.autocast with bfloat16 (NVIDIA Ampere or later, AMD "
                              "Instinct MI100 or later), or with float16 and GradScaler (Volta, Turing)";
    default:
        return NULL;
    }
}

bool hu_gate_tensor(const hu_scene *c, hu_hint *h)
{
    enum { LABEL = 64 }; /* a line has room for so much of a name */
    hu_str                label;
    const hu_matrix_units units = hu_matrix_units_of_trace(c->s->ask.trace);
    const double          all = (double)c->d->kernels.total_ns;
    double                without = 0;
    const hu_kernel      *worst = NULL;

    for (size_t i = 0; i < c->d->kernels.n; i++) {
        const hu_kernel *k = &c->d->kernels.at[i];

        without += (double)k->plain_ns;
        worst = worst || !k->plain_ns ? worst : k;
    }
    if (!worst || without < HU_LEAST_SHARE * all || units == HU_MATRIX_NONE)
        return false;
    hu_hint_say(h, "Matmuls without tensor cores take %s of kernel time in the whole capture.",
                hu_say_pct(hu_amount_pct(without, all)).t);
    label = hu_str_cut(worst->read.label, LABEL);
    hu_hint_show(h, "longest: %.*s%s, %s; %lld call%s", HU_FMT(label), label.n < worst->read.label.n ? "…" : "",
                 hu_say_in_all(hu_as_sum(worst->total_ns)).t, (long long)worst->calls, hu_plural(worst->calls));
    hu_hint_show(h,
                 c->s->tensor_factor > 0 ? "tensor cores are %d times as fast as this GPU's vector units (data sheet)"
                                         : "the speed-up of tensor cores on this GPU is unknown; %d times is assumed",
                 c->s->tensor_factor > 0 ? (int)(c->s->tensor_factor + 0.5) : HU_USUAL_TENSOR_FACTOR);
    if (units == HU_MATRIX_UNKNOWN)
        hu_hint_show(h, "the trace does not say which GPU this is, so it may have no tensor cores");
    h->is_suspected = units == HU_MATRIX_UNKNOWN;
    h->fix = fix_of_units(units, hu_scene_is_inference(c));
    return true;
}

bool hu_gate_fuse(const hu_scene *c, hu_hint *h)
{
    const hu_kernel_family_time *f = &c->d->kernels.family[HU_FAMILY_ELEMENTWISE];

    if ((double)f->total_ns < LEAST_FUSED * (double)c->d->kernels.total_ns)
        return false;
    hu_hint_say(
        h,
        "%lld elementwise kernels take %s of kernel time in the whole capture. Chains of them read and write the same "
        "tensors again; one fused kernel would do it once.",
        (long long)f->calls, hu_say_pct(100 * (double)f->total_ns / (double)c->d->kernels.total_ns).t);
    if (c->d->gpu_time.span_ns > 0)
        hu_hint_show(h,
                     "they run for %s of the GPU span; what is gained beyond that is launches that the host need not make",
                     hu_say_pct(100 * (double)f->total_ns / (double)c->d->gpu_time.span_ns).t);
    h->fix = hu_scene_is_inference(c) ? "model = torch.compile(model)" : NULL;
    return true;
}

static bool is_odd(int64_t size)
{
    return size > TENSOR_MULTIPLE && size % TENSOR_MULTIPLE;
}

/*
 * Of one argument, the sizes that tensor cores see: rows and columns of a matrix, the columns of a batch of them, the
 * channels of an image.  Not the number of matrices, of images, or of their pixels; and of `is_last` argument, a
 * convolution's weights, the channels that it makes.
 */
static bool is_unaligned(hu_work_kind kind, const int64_t *size, size_t n, bool is_last)
{
    if (kind == HU_WORK_GEMM && n >= 2)
        return is_odd(size[n - 1]) || (n == 2 && is_odd(size[0]));
    if (kind == HU_WORK_CONV && n >= 3)
        return is_odd(size[1]) || (is_last && is_odd(size[0]));
    return false; /* of attention, lengths of sequences, which its kernels mask */
}

/* Has a product in half precision a size that is not a multiple of 8?  `shapes` is "[[64, 1001], [1001, 512]]". */
static bool has_odd_dimension(hu_work_kind kind, hu_str shapes)
{
    enum { SIZES = 8, IMAGE = 3 };
    int64_t size[2][SIZES] = {0}; /* of this argument, of the last one that could be weights */
    size_t  n = 0, n_last = 0;
    bool    is_number = false;

    for (size_t i = 0; i < shapes.n; i++) {
        const char ch = shapes.p[i];

        if (ch >= '0' && ch <= '9' && n < SIZES) {
            size[0][n] = size[0][n] < 1000000000 ? size[0][n] * 10 + (ch - '0') : size[0][n];
            is_number = true;
            continue;
        }
        n += is_number;
        is_number = false;
        if (ch == ']' && is_unaligned(kind, size[0], n, false))
            return true;
        if (ch == ']' && n >= IMAGE) {
            memcpy(size[1], size[0], sizeof size[1]);
            n_last = n;
        }
        if (ch == ']')
            n = 0;
        if (n < SIZES)
            size[0][n] = 0;
    }
    return is_unaligned(kind, size[1], n_last, true);
}

bool hu_roofline_op_is_odd(const hu_roofline_op *op)
{
    return (op->dtype == HU_DTYPE_BF16 || op->dtype == HU_DTYPE_FP16) && op->flops > 0 &&
           has_odd_dimension(op->kind, op->shapes) && op->roofline_ns < POOR_SHARE * (double)op->kernel_ns;
}

bool hu_gate_odd(const hu_scene *c, hu_hint *h)
{
    const hu_roofline    *r = &c->d->roofline;
    const hu_roofline_op *worst = NULL;
    double                time = 0;

    for (size_t i = 0; i < r->n; i++) {
        const hu_roofline_op *op = &r->at[i];

        if (!hu_roofline_op_is_odd(op))
            continue;
        time += (double)op->kernel_ns;
        worst = worst ? worst : op;
    }
    if (!worst || time < 0.05 * (double)r->kernel_ns)
        return false;
    hu_hint_say(h, "Matmuls with a dimension that is not a multiple of 8 take %s of kernel time in the whole capture.",
                hu_say_pct(hu_amount_pct(time, (double)r->kernel_ns)).t);
    hu_hint_show(h, "%.*s %.*s", HU_FMT(worst->op), HU_FMT(worst->shapes));
    h->is_suspected = true;
    h->factor = 1 + 0.5 * time / (double)r->kernel_ns;
    h->glob = HU_STR("*");
    return true;
}

/*
 * The same kernels, the last third of the window's steps against the first.  Of kernels whose shapes nobody knows others may
 * have come later; where the driver tells that it lowered the clock meanwhile, that is known to be a cause.
 */
bool hu_gate_throttling(const hu_scene *c, hu_hint *h)
{
    const hu_drift     *drift = hu_edit_drift(hu_pricer_facts(c->s->pricer));
    const hu_gpu_clock *sampled = hu_throttled_worst(c->d);

    if (!(drift->ratio >= HU_DRIFT_LEAST) || drift->slower < MOST_SLOWER ||
        (!sampled && (double)drift->described < LEAST_DESCRIBED * (double)drift->kernels))
        return false;
    hu_hint_say(h, "Kernels take %s longer in the last steps than the same kernels%s in the first steps. %s",
                hu_say_pct(100 * (drift->ratio - 1)).t,
                drift->described == drift->kernels       ? ", with the same grid and shapes,"
                : 2 * drift->described >= drift->kernels ? ", most of them with the same grid and shapes,"
                                                         : "",
                sampled ? "The driver lowered the GPU clock meanwhile."
                        : "The GPU clock may be throttled for power or temperature.");
    hu_hint_show(h, "%zu kernels compared: the last third of the steps against the first third", drift->kernels);
    if (drift->described < drift->kernels)
        hu_hint_show(h, "grid and shapes of %zu of them are in the trace; for the rest, what is known is the same",
                     drift->described);
    if (sampled)
        hu_throttled_show(sampled, h);
    h->is_suspected = !sampled || !sampled->is_ours; /* the driver says it, and of this GPU */
    return true;
}
