/* SPDX-License-Identifier: Apache-2.0
 * log_tables.c - sums over sizes and classes.
 *
 * The comms logger waits for each call, so its time has the wait for the last rank in it.  A message of SMALL bytes takes
 * some ten microseconds on any link between GPUs; where it takes a hundred times that, ranks wait for each other and not for
 * bytes.
 */
#include "analyze/log_tables.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_KINDS = 512 };

static const double  SMALL = 65536, LONG_NS = 1e6;
static const int64_t LEAST_CALLS = 10; /* the first of each size makes connections */

static int by_time(const void *a, const void *b)
{
    const hu_op_sum *x = a, *y = b;

    return (x->ns < y->ns) - (x->ns > y->ns);
}

static double time_of(const hu_log_op *op)
{
    return op->avg_ns > 0 ? op->avg_ns * (double)op->count : 0;
}

static hu_op_sum *sum_of(hu_op_answer *out, hu_str op, hu_arena *arena)
{
    for (size_t i = 0; i < out->at.n; i++)
        if (hu_str_equal(out->at.at[i].op, op))
            return &out->at.at[i];
    return hu_vec_push(arena, &out->at, (hu_op_sum){.op = op}) ? &out->at.at[out->at.n - 1] : NULL;
}

static void add_stragglers(const hu_log_op *op, hu_op_answer *out)
{
    if (!isfinite(op->straggler_ns) || !isfinite(op->least_ns))
        return;
    out->straggler_ns = (isnan(out->straggler_ns) ? 0 : out->straggler_ns) + op->straggler_ns * (double)op->count;
    out->least_ns += op->least_ns * (double)op->count;
}

bool hu_log_ops_measure(const hu_log_ops *ops, hu_arena *arena, hu_op_answer *out)
{
    *out = (hu_op_answer){.straggler_ns = (double)NAN};
    for (size_t i = 0; i < ops->n; i++) {
        const hu_log_op *op = &ops->at[i];
        const double     ns = time_of(op);
        hu_op_sum       *sum = sum_of(out, op->op, arena);

        if (!sum)
            return false;
        sum->count += op->count;
        sum->ns += ns;
        out->ns += ns;
        out->n_negative += op->total_ns < 0;
        if (!sum->most || ns > time_of(sum->most))
            sum->most = op;
        if (!sum->largest || op->bytes > sum->largest->bytes)
            sum->largest = op;
        if (op->bytes <= SMALL && op->avg_ns >= LONG_NS && op->count >= LEAST_CALLS) {
            out->wait_ns += ns;
            if (!out->waits || ns > time_of(out->waits))
                out->waits = op;
        }
        add_stragglers(op, out);
    }
    for (size_t i = 0; i < out->at.n; i++)
        out->at.at[i].share = out->ns > 0 ? out->at.at[i].ns / out->ns : 0;
    if (out->at.n)
        qsort(out->at.at, out->at.n, sizeof *out->at.at, by_time);
    return true;
}

static int by_own_time(const void *a, const void *b)
{
    const hu_flops_kind *x = a, *y = b;

    return (x->ns < y->ns) - (x->ns > y->ns);
}

static hu_flops_kind *kind_of(hu_flops_answer *out, hu_str kind, hu_arena *arena, bool *has_memory)
{
    *has_memory = true;
    for (size_t i = 0; i < out->kinds.n; i++)
        if (hu_str_equal(out->kinds.at[i].kind, kind))
            return &out->kinds.at[i];
    if (out->kinds.n == MOST_KINDS)
        return NULL;
    *has_memory = hu_vec_push(arena, &out->kinds, (hu_flops_kind){.kind = kind});
    return *has_memory ? &out->kinds.at[out->kinds.n - 1] : NULL;
}

bool hu_log_flops_measure(const hu_log_flops *flops, hu_arena *arena, hu_flops_answer *out)
{
    bool has_memory;

    *out = (hu_flops_answer){.inside_ns = 0};
    if (flops->modules.n)
        out->root_is_wrong = flops->modules.at[0].ns > flops->iter_ns;
    for (size_t i = 0; i < flops->modules.n; i++) {
        const hu_log_module *m = &flops->modules.at[i];
        const double         own = m->ns - m->inner_ns;
        hu_flops_kind       *kind = i || !out->root_is_wrong ? kind_of(out, m->kind, arena, &has_memory) : NULL;

        if (!kind && (i || !out->root_is_wrong) && !has_memory)
            return false;
        if (!kind || isnan(m->ns))
            continue;
        kind->n++;
        kind->ns += fmax(own, 0);
        out->inside_ns += fmax(own, 0);
        if (!(m->inner_ns > 0) && m->macs > 0)
            kind->macs += m->macs;
    }
    for (size_t i = 0; i < out->kinds.n; i++)
        out->kinds.at[i].share = flops->fwd_ns > 0 ? out->kinds.at[i].ns / flops->fwd_ns : (double)NAN;
    if (out->kinds.n)
        qsort(out->kinds.at, out->kinds.n, sizeof *out->kinds.at, by_own_time);
    return true;
}
