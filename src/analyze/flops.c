/* SPDX-License-Identifier: Apache-2.0
 * flops.c - one table of operators; each row names a formula and where in the arguments its inputs are.
 *
 *     product [M,K] x [K,N]      2MNK                                 MK + KN + MN elements (and the addend)
 *     convolution                2 . output . C_in/groups . window    input + weight + output
 *     attention                  2 . B . H . Nq . Nk . (Dqk + Dv)     Q + K + V + O
 *     norm, softmax              a few per element                    input + output (+ per-channel values)
 *     elementwise, reduction     1 per element                        inputs as they are before broadcasting + output
 *
 * Sources: the convention of torch.utils.flop_counter (2MNK, an addend does not count, convolution and attention by
 * their products); operator signatures from PyTorch's native_functions.yaml, flash-attention's and vLLM's bindings.
 *
 * Traps: a 0-dimensional tensor and a scalar both have dims [], only the type tells them apart; weights of transposed
 * convolutions are [C_in, C_out/groups, ...]; `out=` tensors come last and must not be counted as inputs, so formulas
 * take arguments by position; the types of tensors in lists are not recorded.
 */
#include "analyze/flops.h"

#include <math.h>

enum {
    NONE = -1,
    SPATIAL_MAX = 1 << 24, /* of strides, windows and paddings, so that sums of products fit */
};

struct hu_op_model {
    hu_str       name;
    hu_work_kind kind;
    bool (*measure)(const hu_op_model *, const hu_args *, hu_work_hint, hu_work *);
    int8_t p[7]; /* positions of arguments and small numbers: see each formula */
};

static const hu_arg *tensor(const hu_args *a, int i)
{
    return i >= 0 && hu_arg_is_tensor(a, (size_t)i) ? &a->at[i] : NULL;
}

/* A tensor of at least one dimension whose dims are all known. */
static const hu_arg *shaped(const hu_args *a, int i, int least, int most)
{
    const hu_arg *t = tensor(a, i);

    return t && t->rank >= least && t->rank <= most && t->rank <= HU_DIM_MAX && hu_dtype_bytes(t->dtype) ? t : NULL;
}

static bool put(hu_work *out, int64_t flops, int64_t bytes)
{
    if (flops < 0 || bytes < 0)
        return false;
    out->flops = out->model_flops = (double)flops;
    out->bytes = (double)bytes;
    return true;
}

static void on_matrix(hu_work *out, hu_dtype dtype)
{
    out->on_matrix_unit = true;
    out->dtype = dtype;
}

/* Vector units compute half types in fp32. */
static void on_vector(hu_work *out, hu_dtype dtype)
{
    out->dtype = dtype == HU_DTYPE_FP64 || dtype == HU_DTYPE_C128 ? HU_DTYPE_FP64
                 : hu_dtype_is_float(dtype)                       ? HU_DTYPE_FP32
                                                                  : dtype;
}

static int64_t optional_bytes(const hu_args *a, int i)
{
    const hu_arg *t = tensor(a, i);

    return t ? hu_arg_bytes(t) : 0;
}

static int64_t sized(int64_t elements, hu_dtype dtype)
{
    return hu_times(elements, hu_dtype_bytes(dtype));
}

/* torch's ScalarType numbers, as out_dtype is recorded. */
static hu_dtype scalar_type(const hu_args *a, int i, hu_dtype otherwise)
{
    static const hu_dtype types[] = {
        HU_DTYPE_INT8,  HU_DTYPE_INT8, HU_DTYPE_INT16, HU_DTYPE_INT32,
        HU_DTYPE_INT64, HU_DTYPE_FP16, HU_DTYPE_FP32,  HU_DTYPE_FP64,
    };
    int64_t number;

    if (i < 0 || !hu_arg_int(a, (size_t)i, &number))
        return otherwise;
    if (number >= 0 && number < (int64_t)HU_COUNT(types))
        return types[number];
    return number == 15 ? HU_DTYPE_BF16 : otherwise;
}

/* ---- products of matrices ------------------------------------------------------------------------------------- */

static bool put_product(hu_work *out, int64_t batch, int64_t m, int64_t n, int64_t k, int64_t in_bytes, int64_t out_bytes,
                        hu_dtype dtype)
{
    on_matrix(out, dtype);
    return put(out, hu_times(2, hu_times(batch, hu_times(m, hu_times(n, k)))), hu_plus(in_bytes, out_bytes));
}

/* p: a, b, addend, position of out_dtype */
static bool measure_mm(const hu_op_model *o, const hu_args *a, hu_work_hint hint, hu_work *out)
{
    const hu_arg *x = shaped(a, o->p[0], 2, 2), *y = shaped(a, o->p[1], 2, 2);
    int64_t       bytes;

    (void)hint;
    if (!x || !y || x->dim[1] != y->dim[0])
        return false;
    bytes = hu_plus(hu_plus(hu_arg_bytes(x), hu_arg_bytes(y)), optional_bytes(a, o->p[2]));
    return put_product(out, 1, x->dim[0], y->dim[1], x->dim[1], bytes,
                       sized(hu_times(x->dim[0], y->dim[1]), scalar_type(a, o->p[3], x->dtype)), x->dtype);
}

/* p: a, b, addend, position of out_dtype */
static bool measure_bmm(const hu_op_model *o, const hu_args *a, hu_work_hint hint, hu_work *out)
{
    const hu_arg *x = shaped(a, o->p[0], 3, 3), *y = shaped(a, o->p[1], 3, 3);
    int64_t       bytes;

    (void)hint;
    if (!x || !y || x->dim[0] != y->dim[0] || x->dim[2] != y->dim[1])
        return false;
    bytes = hu_plus(hu_plus(hu_arg_bytes(x), hu_arg_bytes(y)), optional_bytes(a, o->p[2]));
    return put_product(out, x->dim[0], x->dim[1], y->dim[2], x->dim[2], bytes,
                       sized(hu_times(x->dim[0], hu_times(x->dim[1], y->dim[2])), scalar_type(a, o->p[3], x->dtype)),
                       x->dtype);
}

/* p: matrix, vector, addend.  Also two vectors. */
static bool measure_mv(const hu_op_model *o, const hu_args *a, hu_work_hint hint, hu_work *out)
{
    const hu_arg *x = shaped(a, o->p[0], 1, 2), *y = shaped(a, o->p[1], 1, 1);
    const int64_t rows = x && x->rank == 2 ? x->dim[0] : 1;

    (void)hint;
    if (!x || !y || x->dim[x->rank - 1] != y->dim[0])
        return false;
    on_vector(out, x->dtype); /* no library uses matrix units for it */
    return put(
        out, hu_times(2, x->elements),
        hu_plus(hu_plus(hu_plus(hu_arg_bytes(x), hu_arg_bytes(y)), optional_bytes(a, o->p[2])), sized(rows, x->dtype)));
}

/* x[..., K] with weight [N, K].  p: x, weight, bias */
static bool measure_linear(const hu_op_model *o, const hu_args *a, hu_work_hint hint, hu_work *out)
{
    const hu_arg *x = shaped(a, o->p[0], 1, HU_DIM_MAX), *w = shaped(a, o->p[1], 2, 2);
    int64_t       rows = 1;

    (void)hint;
    if (!x || !w || x->dim[x->rank - 1] != w->dim[1])
        return false;
    for (int i = 0; i + 1 < x->rank; i++)
        rows = hu_times(rows, x->dim[i]);
    return put_product(out, 1, rows, w->dim[0], w->dim[1],
                       hu_plus(hu_plus(hu_arg_bytes(x), hu_arg_bytes(w)), optional_bytes(a, o->p[2])),
                       sized(hu_times(rows, w->dim[0]), x->dtype), x->dtype);
}

/* Any ranks, batches broadcast.  p: a, b */
static bool measure_matmul(const hu_op_model *o, const hu_args *a, hu_work_hint hint, hu_work *out)
{
    const hu_arg *x = shaped(a, o->p[0], 1, HU_DIM_MAX), *y = shaped(a, o->p[1], 1, HU_DIM_MAX);
    int64_t       batch = 1, m, n, k;
    int           xb, yb;

    (void)hint;
    if (!x || !y)
        return false;
    m = x->rank > 1 ? x->dim[x->rank - 2] : 1;
    k = x->dim[x->rank - 1];
    n = y->rank > 1 ? y->dim[y->rank - 1] : 1;
    if (k != y->dim[y->rank > 1 ? y->rank - 2 : 0])
        return false;
    xb = x->rank > 2 ? x->rank - 2 : 0;
    yb = y->rank > 2 ? y->rank - 2 : 0;
    for (int i = 1; i <= xb || i <= yb; i++) {
        const int64_t dx = i <= xb ? x->dim[xb - i] : 1, dy = i <= yb ? y->dim[yb - i] : 1;

        if (dx != dy && dx != 1 && dy != 1)
            return false;
        batch = hu_times(batch, dx > dy ? dx : dy);
    }
    return put_product(out, batch, m, n, k, hu_plus(hu_arg_bytes(x), hu_arg_bytes(y)),
                       sized(hu_times(batch, hu_times(m, n)), x->dtype), x->dtype);
}

/*
 * Groups along rows ([M,K] x [G,K,N]), along K ([M,K] x [K,N] -> [G,M,N]) or plain batches.  Every row belongs to one
 * group, so the sum over groups needs no offsets.  All experts' weights count as read.  p: a, b, offsets, out_dtype
 */
static bool measure_grouped(const hu_op_model *o, const hu_args *a, hu_work_hint hint, hu_work *out)
{
    const hu_arg  *x = shaped(a, o->p[0], 2, 3), *y = shaped(a, o->p[1], 2, 3), *offsets = tensor(a, o->p[2]);
    int64_t        m, n, k, results;
    const hu_dtype plain = !x ? HU_DTYPE_UNKNOWN : hu_dtype_bytes(x->dtype) == 1 ? HU_DTYPE_BF16 : x->dtype;
    const hu_dtype type = scalar_type(a, o->p[3], plain);

    (void)hint;
    if (!x || !y)
        return false;
    m = x->dim[x->rank - 2];
    k = x->dim[x->rank - 1];
    n = y->dim[y->rank - 1];
    if (k != y->dim[y->rank - 2])
        return false;
    if (x->rank == 3 && y->rank == 3) {
        if (x->dim[0] != y->dim[0])
            return false;
        m = hu_times(m, x->dim[0]);
        results = hu_times(m, n);
    } else if (x->rank == 2 && y->rank == 3) {
        results = hu_times(m, n);
    } else if (x->rank == 3) { /* the columns of y are divided among the groups */
        results = hu_times(m, n);
    } else {
        if (!offsets)
            return false;
        results = hu_times(offsets->elements, hu_times(m, n));
    }
    return put_product(out, 1, m, n, k, hu_plus(hu_arg_bytes(x), hu_arg_bytes(y)), sized(results, type), x->dtype);
}

/* ---- convolutions ---------------------------------------------------------------------------------------------- */

typedef struct {
    const hu_arg *input, *weight;
    int64_t       out_elements, out_channels;
    int64_t       flops; /* of one pass */
} convolution;

/* Per spatial dimension; a list of one value stands for all. */
static bool spatial(const hu_args *a, int i, int dims, int64_t otherwise, int64_t *out)
{
    int n = i < 0 ? 0 : hu_arg_ints(a, (size_t)i, out, HU_DIM_MAX);

    if (n < 0 || (n > 1 && n != dims))
        return false;
    for (int k = n; k < dims; k++)
        out[k] = n == 1 ? out[0] : otherwise;
    for (int k = 0; k < dims; k++)
        if (out[k] < 0 || out[k] > SPATIAL_MAX)
            return false;
    return true;
}

static bool read_convolution(const hu_args *a, int x, int w, int stride, int padding, int dilation, int groups,
                             bool transposed, int output_padding, convolution *c)
{
    int64_t s[HU_DIM_MAX], p[HU_DIM_MAX], d[HU_DIM_MAX], more[HU_DIM_MAX], g = 1, window = 1, batch;
    int     dims, first;

    c->input = shaped(a, x, 2, HU_DIM_MAX);
    c->weight = shaped(a, w, 3, HU_DIM_MAX);
    if (!c->input || !c->weight)
        return false;
    dims = c->weight->rank - 2;
    first = c->input->rank - dims; /* without a batch: one less */
    if (first < 1 || first > 2 || !spatial(a, stride, dims, 1, s) || !spatial(a, padding, dims, 0, p) ||
        !spatial(a, dilation, dims, 1, d) || !spatial(a, transposed ? output_padding : NONE, dims, 0, more) ||
        (groups >= 0 && !hu_arg_int(a, (size_t)groups, &g)) || g < 1)
        return false;
    batch = first == 2 ? c->input->dim[0] : 1;
    c->out_channels = transposed ? hu_times(c->weight->dim[1], g) : c->weight->dim[0];
    c->out_elements = hu_times(batch, c->out_channels);
    for (int i = 0; i < dims; i++) {
        const int64_t in = c->input->dim[first + i], k = c->weight->dim[2 + i];
        int64_t       reach, size;

        window = hu_times(window, k);
        if (k < 1 || k > SPATIAL_MAX || in < 0 || in > INT32_MAX || s[i] < 1)
            return false;
        reach = d[i] * (k - 1);
        size = transposed ? (in - 1) * s[i] - 2 * p[i] + reach + more[i] + 1
                          : (in + 2 * p[i] - reach - 1 < 0 ? -1 : (in + 2 * p[i] - reach - 1) / s[i] + 1);
        c->out_elements = hu_times(c->out_elements, size);
    }
    c->flops = transposed ? hu_times(2, hu_times(c->input->elements, hu_times(c->weight->dim[1], window)))
                          : hu_times(2, hu_times(c->out_elements, hu_times(c->weight->dim[1], window)));
    return c->flops >= 0;
}

/* p: input, weight, stride, padding, dilation, groups, output_padding of a transposed one or NONE */
static bool measure_conv(const hu_op_model *o, const hu_args *a, hu_work_hint hint, hu_work *out)
{
    convolution c;

    (void)hint;
    if (!read_convolution(a, o->p[0], o->p[1], o->p[2], o->p[3], o->p[4], o->p[5], o->p[6] > 0, o->p[6], &c))
        return false;
    on_matrix(out, c.input->dtype);
    return put(out, c.flops,
               hu_plus(hu_plus(hu_arg_bytes(c.input), hu_arg_bytes(c.weight)), sized(c.out_elements, c.input->dtype)));
}

/* (input, weight, bias, stride, padding, dilation, transposed, output_padding, groups) */
static bool measure_convolution(const hu_op_model *o, const hu_args *a, hu_work_hint hint, hu_work *out)
{
    convolution c;

    (void)o, (void)hint;
    if (!read_convolution(a, 0, 1, 3, 4, 5, 8, hu_arg_is_true(a, 6), 7, &c))
        return false;
    on_matrix(out, c.input->dtype);
    return put(out, c.flops,
               hu_plus(hu_plus(hu_arg_bytes(c.input), hu_arg_bytes(c.weight)),
                       hu_plus(optional_bytes(a, 2), sized(c.out_elements, c.input->dtype))));
}

/* (grad, input, weight, bias sizes, stride, padding, dilation, transposed, output_padding, groups, output_mask): the
   gradients of input and weight cost one pass each; the incoming gradient is read once. */
static bool measure_convolution_backward(const hu_op_model *o, const hu_args *a, hu_work_hint hint, hu_work *out)
{
    const hu_arg *grad = shaped(a, 0, 2, HU_DIM_MAX);
    convolution   c;
    int64_t       mask[3], bytes;

    (void)o, (void)hint;
    if (!grad || !read_convolution(a, 1, 2, 4, 5, 6, 9, hu_arg_is_true(a, 7), 8, &c) || hu_arg_ints(a, 10, mask, 3) != 3 ||
        c.out_elements != grad->elements)
        return false;
    on_matrix(out, c.input->dtype);
    bytes = hu_arg_bytes(grad);
    if (mask[0] || mask[1])
        bytes = hu_plus(bytes, hu_plus(hu_arg_bytes(c.input), hu_arg_bytes(c.weight))); /* one read, one written */
    if (mask[0] && mask[1])
        bytes = hu_plus(bytes, hu_plus(hu_arg_bytes(c.input), hu_arg_bytes(c.weight)));
    if (mask[2])
        bytes = hu_plus(bytes, sized(c.out_channels, grad->dtype));
    return put(out, hu_times(c.flops, (mask[0] != 0) + (mask[1] != 0)), bytes);
}

/* ---- attention ------------------------------------------------------------------------------------------------- */

typedef struct {
    int64_t       batch, heads, nq, nk, dqk, dv;
    const hu_arg *q, *k, *v;
} attention;

/*
 * Layouts: B H N D, or B N H D, or T H D where T holds all sequences of a batch one after another.  Of the last only
 * batches of equal lengths are known, which is when the greatest length times the number of sequences fills T.
 */
static bool read_attention(const hu_args *a, int q, char layout, int lengths_q, int longest_q, attention *t)
{
    const int hq = layout == 'h' ? 1 : 2, nq = layout == 'h' ? 2 : 1;

    t->q = shaped(a, q, 3, 4);
    t->k = shaped(a, q + 1, 3, 4);
    t->v = shaped(a, q + 2, 3, 4);
    if (!t->q || !t->k || !t->v || t->q->rank != t->k->rank || t->q->rank != t->v->rank || t->q->dtype != t->k->dtype)
        return false;
    t->dqk = t->q->dim[t->q->rank - 1];
    t->dv = t->v->dim[t->v->rank - 1];
    if (t->dqk != t->k->dim[t->k->rank - 1])
        return false;
    if (t->q->rank == 4) {
        if (tensor(a, lengths_q)) /* a mask of lengths within a padded batch */
            return false;
        t->batch = t->q->dim[0];
        t->heads = t->q->dim[hq];
        t->nq = t->q->dim[nq];
        t->nk = t->k->dim[nq];
        return t->k->dim[0] == t->batch;
    } else {
        const hu_arg *cq = tensor(a, lengths_q), *ck = tensor(a, lengths_q + 1);
        int64_t       mq, mk;

        if (!cq || !ck || cq->elements < 2 || ck->elements != cq->elements || longest_q < 0 ||
            !hu_arg_int(a, (size_t)longest_q, &mq) || !hu_arg_int(a, (size_t)longest_q + 1, &mk))
            return false;
        t->batch = cq->elements - 1;
        t->heads = t->q->dim[1];
        t->nq = mq;
        t->nk = mk;
        return hu_times(t->batch, mq) == t->q->dim[0] && hu_times(t->batch, mk) == t->k->dim[0];
    }
}

/* 2 . B . H . Nq . Nk, what one of the products costs per unit of depth. */
static int64_t pairs(const attention *t)
{
    return hu_times(2, hu_times(hu_times(t->batch, t->heads), hu_times(t->nq, t->nk)));
}

/* "True", or one of the two numbers of masks that are causal. */
static bool is_causal(const hu_args *a, int i)
{
    return hu_arg_is_true(a, (size_t)i) || (i < (int)a->n && hu_str_equal(a->at[i].concrete, HU_STR("2")));
}

/* A causal mask hides half of a square; what it hides of a rectangle depends on where it is anchored: not subtracted. */
static void mask(hu_work *out, const attention *t, bool causal)
{
    if (!causal || t->nq != t->nk || t->nq <= 1)
        return;
    out->flops /= 2;
    out->model_flops /= 2;
    out->masked_flops = out->model_flops;
}

/* p: query, layout, causal flag, first of two length tensors, first of two greatest lengths */
static bool measure_attention(const hu_op_model *o, const hu_args *a, hu_work_hint hint, hu_work *out)
{
    attention t;
    int64_t   results;

    (void)hint;
    if (!read_attention(a, o->p[0], (char)o->p[1], o->p[3], o->p[4], &t))
        return false;
    on_matrix(out, t.q->dtype);
    results = hu_times(hu_times(t.batch, t.heads), hu_times(t.nq, t.dv));
    if (!put(out, hu_times(pairs(&t), hu_plus(t.dqk, t.dv)),
             hu_plus(hu_plus(hu_arg_bytes(t.q), hu_arg_bytes(t.k)), hu_plus(hu_arg_bytes(t.v), sized(results, t.q->dtype)))))
        return false;
    mask(out, &t, is_causal(a, o->p[2]));
    return true;
}

/*
 * The products of a backward pass: scores again (2 Dqk, executed but not the model's), dV and dP (2 Dv each), dQ and dK
 * (2 Dqk each).  Reads Q, K, V, O and dO, writes dQ, dK and dV.  p as above
 */
static bool measure_attention_backward(const hu_op_model *o, const hu_args *a, hu_work_hint hint, hu_work *out)
{
    attention t;
    int64_t   results, model, again, bytes;

    (void)hint;
    if (!read_attention(a, o->p[0], (char)o->p[1], o->p[3], o->p[4], &t))
        return false;
    on_matrix(out, t.q->dtype);
    results = hu_times(hu_times(t.batch, t.heads), hu_times(t.nq, t.dv));
    model = hu_times(pairs(&t), hu_times(2, hu_plus(t.dqk, t.dv)));
    again = hu_times(pairs(&t), t.dqk);
    bytes = hu_plus(hu_plus(hu_arg_bytes(t.q), hu_arg_bytes(t.k)), hu_plus(hu_arg_bytes(t.v), sized(results, t.q->dtype)));
    bytes = hu_times(2, bytes);
    if (!put(out, hu_plus(model, again), bytes))
        return false;
    out->model_flops = (double)model;
    mask(out, &t, is_causal(a, o->p[2]));
    return true;
}

/* ---- norms and softmax ----------------------------------------------------------------------------------------- */

/*
 * Bytes: tensors read, each argument in the mask p[0..1] (a bit per position), and results: as many of the input's size
 * as p[3], and `p[5]` values of 4 bytes per row (or per channel).  p: mask low, mask high, input, results, FLOPs per
 * element, values per row, kind of row ('r': all but the listed last dimensions, 'c': channel, 'b': channel, in training
 * only, else FLOPs are half; 'g': none)
 */
static bool measure_norm(const hu_op_model *o, const hu_args *a, hu_work_hint hint, hu_work *out)
{
    const unsigned masked = (unsigned)(uint8_t)o->p[0] | (unsigned)(uint8_t)o->p[1] << 8;
    const hu_arg  *x = shaped(a, o->p[2], 1, HU_DIM_MAX);
    const bool     is_idle = o->p[6] == 'b' && !hu_arg_is_true(a, 5);
    int64_t        bytes, rows = 0;

    (void)hint;
    if (!x)
        return false;
    bytes = hu_times(o->p[3], hu_arg_bytes(x));
    for (int i = 0; i < 16; i++)
        if (masked >> i & 1)
            bytes = hu_plus(bytes, optional_bytes(a, i));
    if (o->p[6] == 'c' || (o->p[6] == 'b' && !is_idle)) {
        rows = x->rank > 1 ? x->dim[1] : -1;
    } else if (o->p[6] == 'r') {
        int64_t   inner[HU_DIM_MAX];
        const int n = hu_arg_ints(a, (size_t)o->p[2] + 1, inner, HU_DIM_MAX);

        rows = n > 0 && n <= x->rank ? 1 : 0;
        for (int i = 0; n > 0 && i + n < x->rank; i++)
            rows = hu_times(rows, x->dim[i]);
    }
    on_vector(out, x->dtype);
    return put(out, hu_times(is_idle ? o->p[4] / 2 : o->p[4], x->elements),
               hu_plus(bytes, hu_times(hu_times(rows, o->p[5]), 4)));
}

/* p: first tensor read, tensors read, FLOPs per element, position of half_to_float */
static bool measure_softmax(const hu_op_model *o, const hu_args *a, hu_work_hint hint, hu_work *out)
{
    const hu_arg *x = tensor(a, o->p[0]);
    int64_t       bytes;

    (void)hint;
    if (!x)
        return false;
    bytes = sized(x->elements, o->p[3] >= 0 && hu_arg_is_true(a, (size_t)o->p[3]) ? HU_DTYPE_FP32 : x->dtype);
    for (int i = 0; i < o->p[1]; i++) {
        const hu_arg *in = tensor(a, o->p[0] + i);

        bytes = in ? hu_plus(bytes, hu_arg_bytes(in)) : -1;
    }
    on_vector(out, x->dtype);
    return hu_dtype_bytes(x->dtype) && put(out, hu_times(o->p[2], x->elements), bytes);
}

/* ---- elementwise ----------------------------------------------------------------------------------------------- */

/* Floats before integers, then by size; a tensor without dimensions never widens one that has some. */
static hu_dtype promote(const hu_arg *const *in, int n)
{
    const hu_arg *best = NULL;

    for (int i = 0; i < n; i++) {
        const hu_arg *x = in[i];
        int           gain;

        if (!best) {
            best = x;
            continue;
        }
        gain = hu_dtype_is_float(x->dtype) - hu_dtype_is_float(best->dtype);
        if (gain == 0)
            gain = (x->rank > 0) - (best->rank > 0);
        if (gain == 0)
            gain = hu_dtype_bytes(x->dtype) - hu_dtype_bytes(best->dtype);
        if (gain > 0)
            best = x;
    }
    if (n > 1 && best) { /* fp16 with bf16 is fp32 */
        for (int i = 0; i < n; i++)
            if (in[i]->rank == best->rank && in[i]->dtype != best->dtype && hu_dtype_is_float(in[i]->dtype) &&
                hu_dtype_bytes(in[i]->dtype) == 2 && hu_dtype_bytes(best->dtype) == 2)
                return HU_DTYPE_FP32;
    }
    return best ? best->dtype : HU_DTYPE_UNKNOWN;
}

/* The elements of the broadcast shape; -1 when shapes do not fit. */
static int64_t broadcast(const hu_arg *const *in, int n)
{
    int64_t elements = 1;
    int     rank = 0;

    for (int i = 0; i < n; i++) {
        if (in[i]->rank > HU_DIM_MAX)
            return n == 1 ? in[i]->elements : -1;
        rank = in[i]->rank > rank ? in[i]->rank : rank;
    }
    for (int d = 1; d <= rank; d++) {
        int64_t size = 1;

        for (int i = 0; i < n; i++) {
            const int64_t own = d <= in[i]->rank ? in[i]->dim[in[i]->rank - d] : 1;

            if (own != 1 && size != 1 && own != size)
                return -1;
            size = own != 1 ? own : size;
        }
        elements = hu_times(elements, size);
    }
    return elements;
}

/* p: number of arguments that may be tensors, FLOPs per element, 'b': the result is bool, 'f': floating point even for
   integers, first of them */
static bool measure_elementwise(const hu_op_model *o, const hu_args *a, hu_work_hint hint, hu_work *out)
{
    const hu_arg *in[4];
    int           n = 0;
    int64_t       results, bytes = 0;
    hu_dtype      type;

    for (int i = o->p[3]; i < o->p[3] + o->p[0] && n < 4; i++) {
        const hu_arg *x = tensor(a, i);

        if (x)
            in[n++] = x;
        else if (i < (int)a->n && a->at[i].is_list)
            return false;
    }
    if (n == 0)
        return false;
    results = broadcast(in, n);
    type = promote(in, n);
    if (hu_str_equal(o->name, HU_STR("where")) && n > 1) /* the condition is no value */
        type = promote(in + 1, n - 1);
    if (hint.is_in_place)
        type = in[0]->dtype;
    else if (o->p[2] == 'f' && !hu_dtype_is_float(type))
        type = HU_DTYPE_FP32;
    for (int i = 0; i < n; i++)
        bytes = hu_plus(bytes, hu_dtype_bytes(in[i]->dtype) ? hu_arg_bytes(in[i]) : -1);
    on_vector(out, type);
    type = o->p[2] == 'b' && !hint.is_in_place ? HU_DTYPE_BOOL : type;
    return hu_dtype_bytes(type) && put(out, hu_times(o->p[1], results), hu_plus(bytes, sized(results, type)));
}

/* (input, probability, train): the result and a mask of one byte per element. */
static bool measure_dropout(const hu_op_model *o, const hu_args *a, hu_work_hint hint, hu_work *out)
{
    const hu_arg *x = tensor(a, 0);

    (void)o, (void)hint;
    if (!x || hu_arg_bytes(x) < 0)
        return false;
    on_vector(out, x->dtype);
    return put(out, hu_times(2, x->elements), hu_plus(hu_times(2, hu_arg_bytes(x)), x->elements));
}

/* (destination, source): the one is written, the other read before it is broadcast. */
static bool measure_copy(const hu_op_model *o, const hu_args *a, hu_work_hint hint, hu_work *out)
{
    const hu_arg *to = tensor(a, 0), *from = tensor(a, 1);

    (void)o, (void)hint;
    if (!to || !from || hu_arg_bytes(to) < 0 || hu_arg_bytes(from) < 0)
        return false;
    on_vector(out, to->dtype);
    return put(out, 0, hu_plus(hu_arg_bytes(to), hu_arg_bytes(from)));
}

/* p: tensor, times it is read or written */
static bool measure_touch(const hu_op_model *o, const hu_args *a, hu_work_hint hint, hu_work *out)
{
    const hu_arg *x = tensor(a, o->p[0]);

    (void)hint;
    if (!x || hu_arg_bytes(x) < 0)
        return false;
    on_vector(out, x->dtype);
    return put(out, 0, hu_times(o->p[1], hu_arg_bytes(x)));
}

/* ---- lists ----------------------------------------------------------------------------------------------------- */

/* What one element of a list has, when the kernel's name tells. */
static int64_t list_bytes(const hu_arg *a, hu_work_hint hint)
{
    return hint.list_bytes ? hu_times(a->elements, hint.list_bytes) : -1;
}

static bool measure_cat(const hu_op_model *o, const hu_args *a, hu_work_hint hint, hu_work *out)
{
    (void)o;
    if (a->n < 1 || !a->at[0].is_list)
        return false;
    on_vector(out, hint.list_dtype);
    return put(out, 0, hu_times(2, list_bytes(&a->at[0], hint)));
}

/* p: lists read (from the first argument on), times the first is written, FLOPs per element */
static bool measure_foreach(const hu_op_model *o, const hu_args *a, hu_work_hint hint, hu_work *out)
{
    int64_t bytes;

    if (a->n < 1 || !a->at[0].is_list)
        return false;
    bytes = hu_times(o->p[1], list_bytes(&a->at[0], hint));
    for (int i = 0; i < o->p[0]; i++)
        if (i < (int)a->n && a->at[i].is_list)
            bytes = hu_plus(bytes, list_bytes(&a->at[i], hint));
    on_vector(out, hint.list_dtype);
    return put(out, hu_times(o->p[2], a->at[0].elements), bytes);
}

/* (parameters, gradients, first, second moments, ...): four are read, three written; about twelve FLOPs each. */
static bool measure_adam(const hu_op_model *o, const hu_args *a, hu_work_hint hint, hu_work *out)
{
    int64_t bytes = 0;

    (void)o;
    for (int i = 0; i < 4; i++) {
        if (i >= (int)a->n || !a->at[i].is_list || a->at[i].elements != a->at[0].elements)
            return false;
        bytes = hu_plus(bytes, hu_times(i == 1 ? 1 : 2, list_bytes(&a->at[i], hint)));
    }
    on_vector(out, hint.list_dtype);
    return put(out, hu_times(12, a->at[0].elements), bytes);
}

/* ---- reductions ------------------------------------------------------------------------------------------------ */

/* Elements of x once the listed dimensions are gone: from a list or one number at `where`; -1 when nothing is said. */
static int64_t reduced(const hu_args *a, const hu_arg *x, int where)
{
    int64_t  dims[HU_DIM_MAX], left = 1;
    unsigned gone = 0;
    int      n = hu_arg_ints(a, (size_t)where, dims, HU_DIM_MAX);

    if (x->rank > HU_DIM_MAX)
        return -1;
    if (n < 0) /* one number is a dimension only when keepdim follows, else a type or a flag */
        n = (int)a->n > where + 1 && hu_arg_int(a, (size_t)where, &dims[0]) ? 1 : 0;
    if (n == 0)
        return 1;
    for (int i = 0; i < n; i++) {
        const int64_t d = dims[i] < 0 ? dims[i] + x->rank : dims[i];

        if (d < 0 || d >= x->rank)
            return -1;
        gone |= 1u << d;
    }
    for (int i = 0; i < x->rank; i++)
        if (!(gone >> i & 1))
            left = hu_times(left, x->dim[i]);
    return left;
}

/* p: position of dims, result ('s' as the input, 'a' wide enough to add up, 'b' bool, 'i' indices, 'p' value and
   index), FLOPs per element */
static bool measure_reduction(const hu_op_model *o, const hu_args *a, hu_work_hint hint, hu_work *out)
{
    const hu_arg *x = tensor(a, 0), *second = tensor(a, 1);
    int64_t       results;
    hu_dtype      type;

    (void)hint;
    if (!x || second || hu_arg_bytes(x) < 0) /* max(a, b) is elementwise */
        return false;
    results = reduced(a, x, o->p[0]);
    type = o->p[1] == 'b' ? HU_DTYPE_BOOL : o->p[1] == 'i' ? HU_DTYPE_INT64 : x->dtype;
    if (o->p[1] == 'a')
        type = scalar_type(a, o->p[0] + 2, hu_dtype_is_float(type) ? type : HU_DTYPE_INT64);
    on_vector(out, x->dtype);
    results = sized(results, type);
    if (o->p[1] == 'p' && results >= 0 && reduced(a, x, o->p[0]) > 1)
        results = hu_plus(results, hu_times(reduced(a, x, o->p[0]), 8));
    return put(out, hu_times(o->p[2], x->elements), hu_plus(hu_arg_bytes(x), results));
}

/* max and min are reductions of one tensor and elementwise of two. */
static bool measure_extremum(const hu_op_model *o, const hu_args *a, hu_work_hint hint, hu_work *out)
{
    const hu_op_model two = {.name = o->name, .kind = o->kind, .p = {2, 1}};

    return tensor(a, 1) ? measure_elementwise(&two, a, hint, out) : measure_reduction(o, a, hint, out);
}

/* ---- tables of rows -------------------------------------------------------------------------------------------- */

static bool put_rows(hu_work *out, const hu_arg *index, int64_t read, int64_t written, hu_dtype dtype)
{
    on_vector(out, dtype);
    return put(out, 0, hu_plus(hu_arg_bytes(index), hu_plus(sized(read, dtype), sized(written, dtype))));
}

/* (table [rows, width], indices): no more of the table is read than there is. */
static bool measure_embedding(const hu_op_model *o, const hu_args *a, hu_work_hint hint, hu_work *out)
{
    const hu_arg *table = shaped(a, 0, 2, 2), *index = tensor(a, 1);
    int64_t       results;

    (void)o, (void)hint;
    if (!table || !index || hu_arg_bytes(index) < 0)
        return false;
    results = hu_times(index->elements, table->dim[1]);
    return put_rows(out, index, results < table->elements ? results : table->elements, results, table->dtype);
}

/* (gradient, indices, rows of the table): all of the table's gradient is written. */
static bool measure_embedding_backward(const hu_op_model *o, const hu_args *a, hu_work_hint hint, hu_work *out)
{
    const hu_arg *grad = shaped(a, 0, 1, HU_DIM_MAX), *index = tensor(a, 1);
    int64_t       rows;

    (void)o, (void)hint;
    if (!grad || !index || hu_arg_bytes(index) < 0 || !hu_arg_int(a, 2, &rows))
        return false;
    return put_rows(out, index, grad->elements, hu_times(rows, grad->dim[grad->rank - 1]), grad->dtype);
}

/* (self, dim, indices): whole slices */
static bool measure_index_select(const hu_op_model *o, const hu_args *a, hu_work_hint hint, hu_work *out)
{
    const hu_arg *x = shaped(a, 0, 1, HU_DIM_MAX), *index = tensor(a, 2);
    int64_t       dim, results;

    (void)o, (void)hint;
    if (!x || !index || hu_arg_bytes(index) < 0 || !hu_arg_int(a, 1, &dim))
        return false;
    dim += dim < 0 ? x->rank : 0;
    if (dim < 0 || dim >= x->rank || x->dim[dim] < 1)
        return false;
    results = hu_times(x->elements / x->dim[dim], index->elements);
    return put_rows(out, index, results < x->elements ? results : x->elements, results, x->dtype);
}

/* (self, dim, indices): one element for each index */
static bool measure_gather(const hu_op_model *o, const hu_args *a, hu_work_hint hint, hu_work *out)
{
    const hu_arg *x = tensor(a, 0), *index = tensor(a, 2);

    (void)o, (void)hint;
    if (!x || !index || !hu_dtype_bytes(x->dtype) || hu_arg_bytes(index) < 0)
        return false;
    return put_rows(out, index, index->elements < x->elements ? index->elements : x->elements, index->elements, x->dtype);
}

/* ---- generated ------------------------------------------------------------------------------------------------- */

/* Every tensor among the arguments is read or written once; what is computed, nobody recorded. */
static bool measure_generated(const hu_op_model *o, const hu_args *a, hu_work_hint hint, hu_work *out)
{
    int64_t bytes = 0;
    int     n = 0;

    (void)o, (void)hint;
    for (size_t i = 0; i < a->n; i++) {
        if (a->at[i].is_list)
            return false;
        if (!a->at[i].is_tensor)
            continue;
        bytes = hu_plus(bytes, hu_arg_bytes(&a->at[i]));
        n++;
    }
    if (n == 0 || !put(out, 0, bytes))
        return false;
    out->flops = out->model_flops = (double)NAN;
    return true;
}

/* ---- the table ------------------------------------------------------------------------------------------------- */

/* clang-format off */
#define ROW(name, kind, formula, ...) {HU_STR(name), HU_WORK_##kind, formula, {__VA_ARGS__}}
#define UNARY(name) ROW(name, ELEMENTWISE, measure_elementwise, 1, 1)
/* clang-format on */
#define UNARY_FLOAT(name) ROW(name, ELEMENTWISE, measure_elementwise, 1, 1, 'f')
#define BINARY(name)      ROW(name, ELEMENTWISE, measure_elementwise, 2, 1)
#define COMPARE(name)     ROW(name, ELEMENTWISE, measure_elementwise, 2, 1, 'b')
#define BACKWARD(name)    ROW(name, ELEMENTWISE, measure_elementwise, 2, 1)

/* Operators of PyTorch without their "aten::", in any order. */
/* clang-format off */
static const hu_op_model aten[] = {
    ROW("mm", GEMM, measure_mm, 0, 1, NONE, NONE),
    ROW("addmm", GEMM, measure_mm, 1, 2, 0, NONE),
    ROW("_addmm_activation", GEMM, measure_mm, 1, 2, 0, NONE),
    ROW("_scaled_mm", GEMM, measure_mm, 0, 1, 4, 6),
    ROW("_int_mm", GEMM, measure_mm, 0, 1, NONE, NONE),
    ROW("bmm", GEMM, measure_bmm, 0, 1, NONE, NONE),
    ROW("baddbmm", GEMM, measure_bmm, 1, 2, 0, NONE),
    ROW("mv", GEMM, measure_mv, 0, 1, NONE),
    ROW("addmv", GEMM, measure_mv, 1, 2, 0),
    ROW("dot", GEMM, measure_mv, 0, 1, NONE),
    ROW("matmul", GEMM, measure_matmul, 0, 1),
    ROW("linear", GEMM, measure_linear, 0, 1, 2),
    ROW("_grouped_mm", GEMM, measure_grouped, 0, 1, 2, 4),
    ROW("_scaled_grouped_mm", GEMM, measure_grouped, 0, 1, 4, 7),

    ROW("convolution", CONV, measure_convolution, 0),
    ROW("_convolution", CONV, measure_convolution, 0),
    ROW("convolution_overrideable", CONV, measure_convolution, 0),
    ROW("convolution_backward", CONV, measure_convolution_backward, 0),
    ROW("conv1d", CONV, measure_conv, 0, 1, 3, 4, 5, 6, NONE),
    ROW("conv2d", CONV, measure_conv, 0, 1, 3, 4, 5, 6, NONE),
    ROW("conv3d", CONV, measure_conv, 0, 1, 3, 4, 5, 6, NONE),
    ROW("cudnn_convolution", CONV, measure_conv, 0, 1, 3, 2, 4, 5, NONE),
    ROW("cudnn_convolution_relu", CONV, measure_conv, 0, 1, 3, 4, 5, 6, NONE),
    ROW("cudnn_convolution_transpose", CONV, measure_conv, 0, 1, 4, 2, 5, 6, 3),
    ROW("miopen_convolution", CONV, measure_conv, 0, 1, 4, 3, 5, 6, NONE),
    ROW("miopen_depthwise_convolution", CONV, measure_conv, 0, 1, 4, 3, 5, 6, NONE),
    ROW("miopen_convolution_transpose", CONV, measure_conv, 0, 1, 5, 3, 6, 7, 4),
    ROW("_slow_conv2d_forward", CONV, measure_conv, 0, 1, 4, 5, NONE, NONE, NONE),

    /* query, layout, causal, lengths, greatest lengths */
    ROW("scaled_dot_product_attention", ATTENTION, measure_attention, 0, 'h', 5, NONE, NONE),
    ROW("_scaled_dot_product_flash_attention", ATTENTION, measure_attention, 0, 'h', 4, NONE, NONE),
    ROW("_scaled_dot_product_efficient_attention", ATTENTION, measure_attention, 0, 'h', 6, NONE, NONE),
    ROW("_scaled_dot_product_cudnn_attention", ATTENTION, measure_attention, 0, 'h', 6, NONE, NONE),
    ROW("_flash_attention_forward", ATTENTION, measure_attention, 0, 'n', 8, 3, 5),
    ROW("_efficient_attention_forward", ATTENTION, measure_attention, 0, 'n', 9, 4, 6),
    ROW("_cudnn_attention_forward", ATTENTION, measure_attention, 0, 'h', 10, 4, 6),
    ROW("_scaled_dot_product_flash_attention_backward", ATTENTION, measure_attention_backward, 1, 'h', 11, NONE, NONE),
    ROW("_scaled_dot_product_efficient_attention_backward", ATTENTION, measure_attention_backward, 1, 'h', 11, NONE, NONE),
    ROW("_scaled_dot_product_cudnn_attention_backward", ATTENTION, measure_attention_backward, 1, 'h', 14, NONE, NONE),
    ROW("_flash_attention_backward", ATTENTION, measure_attention_backward, 1, 'n', 11, 6, 8),
    ROW("_efficient_attention_backward", ATTENTION, measure_attention_backward, 1, 'n', 14, 6, 8),

    /* arguments read, input, results of its size, FLOPs per element, statistics per row, kind of row */
    ROW("native_layer_norm", NORM, measure_norm, 0x0d, 0, 0, 1, 8, 2, 'r'),
    ROW("layer_norm", NORM, measure_norm, 0x0d, 0, 0, 1, 8, 2, 'r'),
    ROW("native_layer_norm_backward", NORM, measure_norm, 0x7b, 0, 1, 1, 11, 0, 'g'),
    ROW("_fused_rms_norm", NORM, measure_norm, 0x05, 0, 0, 1, 4, 1, 'r'),
    ROW("rms_norm", NORM, measure_norm, 0x05, 0, 0, 1, 4, 1, 'r'),
    ROW("_fused_rms_norm_backward", NORM, measure_norm, 0x1b, 0, 1, 1, 8, 0, 'g'),
    ROW("native_batch_norm", NORM, measure_norm, 0x1f, 0, 0, 1, 8, 2, 'b'),
    ROW("cudnn_batch_norm", NORM, measure_norm, 0x1f, 0, 0, 1, 8, 2, 'b'),
    ROW("miopen_batch_norm", NORM, measure_norm, 0x1f, 0, 0, 1, 8, 2, 'b'),
    ROW("batch_norm", NORM, measure_norm, 0x1f, 0, 0, 1, 8, 2, 'b'),
    ROW("native_batch_norm_backward", NORM, measure_norm, 0x7f, 0, 1, 1, 11, 2, 'c'),
    ROW("cudnn_batch_norm_backward", NORM, measure_norm, 0x7f, 0, 0, 1, 11, 2, 'c'),
    ROW("miopen_batch_norm_backward", NORM, measure_norm, 0x7f, 0, 0, 1, 11, 2, 'c'),
    ROW("native_group_norm", NORM, measure_norm, 0x07, 0, 0, 1, 8, 0, 'g'),
    ROW("native_group_norm_backward", NORM, measure_norm, 0x1f, 0, 1, 1, 11, 0, 'g'),

    ROW("_softmax", SOFTMAX, measure_softmax, 0, 1, 5, 2),
    ROW("_log_softmax", SOFTMAX, measure_softmax, 0, 1, 5, 2),
    ROW("_safe_softmax", SOFTMAX, measure_softmax, 0, 1, 5, NONE),
    ROW("softmax", SOFTMAX, measure_softmax, 0, 1, 5, NONE),
    ROW("log_softmax", SOFTMAX, measure_softmax, 0, 1, 5, NONE),
    ROW("_softmax_backward_data", SOFTMAX, measure_softmax, 0, 2, 4, NONE),
    ROW("_log_softmax_backward_data", SOFTMAX, measure_softmax, 0, 2, 4, NONE),

    BINARY("add"), BINARY("sub"), BINARY("rsub"), BINARY("mul"), BINARY("maximum"), BINARY("minimum"), BINARY("fmod"),
    BINARY("remainder"), BINARY("bitwise_and"), BINARY("bitwise_or"), BINARY("bitwise_xor"), BINARY("floor_divide"),
    BINARY("lerp"), BINARY("masked_fill"), ROW("div", ELEMENTWISE, measure_elementwise, 2, 1, 'f'),
    ROW("true_divide", ELEMENTWISE, measure_elementwise, 2, 1, 'f'), BINARY("pow"), BINARY("atan2"), BINARY("copysign"),
    COMPARE("eq"), COMPARE("ne"), COMPARE("lt"), COMPARE("le"), COMPARE("gt"), COMPARE("ge"), COMPARE("logical_and"),
    COMPARE("logical_or"), COMPARE("logical_xor"), ROW("logical_not", ELEMENTWISE, measure_elementwise, 1, 1, 'b'),
    ROW("isnan", ELEMENTWISE, measure_elementwise, 1, 1, 'b'), ROW("isinf", ELEMENTWISE, measure_elementwise, 1, 1, 'b'),
    ROW("isfinite", ELEMENTWISE, measure_elementwise, 1, 1, 'b'),
    ROW("addcmul", ELEMENTWISE, measure_elementwise, 3, 3), ROW("addcdiv", ELEMENTWISE, measure_elementwise, 3, 3),
    ROW("where", ELEMENTWISE, measure_elementwise, 3, 1),
    UNARY("relu"), UNARY("gelu"), UNARY("silu"), UNARY("neg"), UNARY("abs"), UNARY("clamp"), UNARY("clamp_min"),
    UNARY("clamp_max"), UNARY("hardtanh"), UNARY("leaky_relu"), UNARY("elu"), UNARY("mish"), UNARY("hardswish"),
    UNARY("hardsigmoid"), UNARY("softplus"), UNARY("threshold"), UNARY("floor"), UNARY("ceil"), UNARY("round"),
    UNARY("trunc"), UNARY("sign"), UNARY("square"), UNARY("bitwise_not"), UNARY("triu"), UNARY("tril"),
    UNARY_FLOAT("sigmoid"), UNARY_FLOAT("tanh"), UNARY_FLOAT("exp"), UNARY_FLOAT("exp2"), UNARY_FLOAT("expm1"),
    UNARY_FLOAT("log"), UNARY_FLOAT("log2"), UNARY_FLOAT("log1p"), UNARY_FLOAT("sqrt"), UNARY_FLOAT("rsqrt"),
    UNARY_FLOAT("reciprocal"), UNARY_FLOAT("sin"), UNARY_FLOAT("cos"), UNARY_FLOAT("erf"),
    BACKWARD("threshold_backward"), BACKWARD("gelu_backward"), BACKWARD("silu_backward"), BACKWARD("sigmoid_backward"),
    BACKWARD("tanh_backward"), BACKWARD("leaky_relu_backward"), BACKWARD("hardtanh_backward"), BACKWARD("elu_backward"),
    BACKWARD("native_dropout_backward"), ROW("native_dropout", ELEMENTWISE, measure_dropout, 0),
    ROW("cumsum", ELEMENTWISE, measure_elementwise, 1, 1), ROW("cumprod", ELEMENTWISE, measure_elementwise, 1, 1),

    ROW("copy_", COPY, measure_copy, 0),
    ROW("fill_", COPY, measure_touch, 0, 1), ROW("zero_", COPY, measure_touch, 0, 1),
    ROW("normal_", COPY, measure_touch, 0, 1),
    ROW("uniform_", COPY, measure_touch, 0, 1), ROW("clone", COPY, measure_touch, 0, 2),
    ROW("contiguous", COPY, measure_touch, 0, 2),
    ROW("nll_loss_backward", COPY, measure_touch, 1, 1),    /* mostly zeros are written */

    ROW("flip", COPY, measure_touch, 0, 2), ROW("roll", COPY, measure_touch, 0, 2), ROW("cat", COPY, measure_cat, 0),
    ROW("stack", COPY, measure_cat, 0),

    ROW("sum", REDUCTION, measure_reduction, 1, 'a', 1), ROW("mean", REDUCTION, measure_reduction, 1, 'a', 1),
    ROW("prod", REDUCTION, measure_reduction, 1, 'a', 1), ROW("amax", REDUCTION, measure_reduction, 1, 's', 1),
    ROW("amin", REDUCTION, measure_reduction, 1, 's', 1), ROW("argmax", REDUCTION, measure_reduction, 1, 'i', 1),
    ROW("argmin", REDUCTION, measure_reduction, 1, 'i', 1), ROW("any", REDUCTION, measure_reduction, 1, 'b', 1),
    ROW("all", REDUCTION, measure_reduction, 1, 'b', 1), ROW("max", REDUCTION, measure_extremum, 1, 'p', 1),
    ROW("min", REDUCTION, measure_extremum, 1, 'p', 1), ROW("norm", REDUCTION, measure_reduction, 2, 's', 2),
    ROW("linalg_vector_norm", REDUCTION, measure_reduction, 2, 's', 2), ROW("var", REDUCTION, measure_reduction, 1, 's', 4),
    ROW("std", REDUCTION, measure_reduction, 1, 's', 4), ROW("logsumexp", REDUCTION, measure_reduction, 1, 's', 3),

    ROW("embedding", EMBEDDING, measure_embedding, 0), ROW("index_select", EMBEDDING, measure_index_select, 0),
    ROW("gather", EMBEDDING, measure_gather, 0), ROW("embedding_dense_backward", EMBEDDING, measure_embedding_backward, 0),

    ROW("_fused_adam", OPTIMIZER, measure_adam, 0), ROW("_fused_adamw", OPTIMIZER, measure_adam, 0),
    /* lists read, times the first is written, FLOPs per element */
    ROW("_foreach_add", OPTIMIZER, measure_foreach, 2, 1, 1), ROW("_foreach_sub", OPTIMIZER, measure_foreach, 2, 1, 1),
    ROW("_foreach_mul", OPTIMIZER, measure_foreach, 2, 1, 1), ROW("_foreach_div", OPTIMIZER, measure_foreach, 2, 1, 1),
    ROW("_foreach_lerp", OPTIMIZER, measure_foreach, 2, 1, 3), ROW("_foreach_addcmul", OPTIMIZER, measure_foreach, 3, 1, 3),
    ROW("_foreach_addcdiv", OPTIMIZER, measure_foreach, 3, 1, 3), ROW("_foreach_sqrt", OPTIMIZER, measure_foreach, 1, 1, 1),
    ROW("_foreach_neg", OPTIMIZER, measure_foreach, 1, 1, 1), ROW("_foreach_zero", OPTIMIZER, measure_foreach, 0, 1, 0),
    ROW("_foreach_norm", OPTIMIZER, measure_foreach, 1, 0, 2),
    ROW("_foreach_reciprocal", OPTIMIZER, measure_foreach, 1, 1, 1),
};
/* clang-format on */

/* Operators of other libraries, by their full names. */
static const hu_op_model others[] = {
    ROW("flash_attn::_flash_attn_forward", ATTENTION, measure_attention, 0, 'n', 5, NONE, NONE),
    ROW("flash_attn::_flash_attn_backward", ATTENTION, measure_attention_backward, 1, 'n', 11, NONE, NONE),
    ROW("flash_attn::_flash_attn_varlen_forward", ATTENTION, measure_attention, 0, 'n', 9, 3, 5),
    ROW("flash_attn::_flash_attn_varlen_backward", ATTENTION, measure_attention_backward, 1, 'n', 15, 9, 11),
    ROW("vllm::rocm_unquantized_gemm", GEMM, measure_linear, 0, 1, 2),
    ROW("_C::rms_norm", NORM, measure_norm, 0x06, 0, 1, 1, 4, 0, 'g'),
    ROW("_C::fused_add_rms_norm", NORM, measure_norm, 0x07, 0, 0, 2, 5, 0, 'g'),
};

static const hu_op_model generated = ROW("triton", GENERATED, measure_generated, 0);

static const hu_op_model *find(const hu_op_model *list, size_t n, hu_str name)
{
    for (size_t i = 0; i < n; i++)
        if (hu_str_equal(list[i].name, name))
            return &list[i];
    return NULL;
}

const hu_op_model *hu_flops_find(hu_str op)
{
    const hu_str       prefix = HU_STR("aten::");
    const hu_op_model *model;
    hu_str             name;

    if (hu_str_starts(op, HU_STR("triton_")))
        return &generated;
    if (!hu_str_starts(op, prefix))
        return find(others, HU_COUNT(others), op);
    name = (hu_str){op.p + prefix.n, op.n - prefix.n};
    model = find(aten, HU_COUNT(aten), name);
    if (!model && name.n > 1 && name.p[name.n - 1] == '_')
        model = find(aten, HU_COUNT(aten), (hu_str){name.p, name.n - 1});
    return model;
}

bool hu_flops_measure(const hu_op_model *model, const hu_args *args, hu_work_hint hint, hu_work *out)
{
    *out = (hu_work){.kind = model->kind};
    return !args->is_cut && model->measure(model, args, hint, out);
}

const char *hu_work_kind_name(hu_work_kind kind)
{
    static const char *const names[] = {
#define W(id, name) name,
        HU_WORKS(W)
#undef W
    };

    return names[kind];
}
