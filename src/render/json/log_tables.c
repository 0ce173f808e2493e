/* SPDX-License-Identifier: Apache-2.0
 * log_tables.c - DeepSpeed's collectives and its flops profile, for programs (docs/formats/step-log.md). */
#include <math.h>

#include "render/log_tables.h"

static void write_op(hu_json_out *j, const hu_log_op *op)
{
    hu_json_open(j, NULL, '{');
    hu_json_str(j, "op", op->op);
    hu_json_str(j, "size", op->size);
    hu_json_fixed(j, "bytes", op->bytes, 0);
    hu_json_int(j, "count", op->count);
    hu_json_ns(j, "printed_total_ns", op->total_ns);
    hu_json_ns(j, "average_ns", op->avg_ns);
    hu_json_fixed(j, "alg_gbit_per_s", op->alg_gbps, 3);
    hu_json_fixed(j, "bus_gbit_per_s", op->bus_gbps, 3);
    hu_json_ns(j, "fastest_rank_ns", op->least_ns);
    hu_json_ns(j, "straggler_ns", op->straggler_ns);
    hu_json_int(j, "line", (int64_t)op->line);
    hu_json_close(j, '}');
}

static void write_comm(const hu_log_report *r, hu_json_out *j)
{
    const hu_op_answer *a = &r->answer->ops;

    if (a->at.n == 0) {
        hu_json_null(j, "comm");
        return;
    }
    hu_json_open(j, "comm", '{');
    hu_json_ns(j, "time_ns", a->ns);
    hu_json_bool(j, "is_impossible", a->is_impossible);
    hu_json_int(j, "negative_totals", (int64_t)a->n_negative);
    hu_json_ns(j, "small_waits_ns", a->wait_ns);
    hu_json_ns(j, "straggler_ns", a->straggler_ns);
    hu_json_open(j, "operations", '[');
    for (size_t i = 0; i < a->at.n; i++) {
        hu_json_open(j, NULL, '{');
        hu_json_str(j, "op", a->at.at[i].op);
        hu_json_int(j, "count", a->at.at[i].count);
        hu_json_ns(j, "time_ns", a->at.at[i].ns);
        hu_json_fixed(j, "share", a->at.at[i].share, 6);
        hu_json_close(j, '}');
    }
    hu_json_close(j, ']');
    hu_json_open(j, "sizes", '[');
    for (size_t i = 0; i < r->log->ops.n; i++)
        write_op(j, &r->log->ops.at[i]);
    hu_json_close(j, ']');
    hu_json_close(j, '}');
}

static void write_modules(hu_json_out *j, const char *key, const hu_log_module *modules, size_t n)
{
    hu_json_open(j, key, '[');
    for (size_t i = 0; i < n; i++) {
        const hu_log_module *m = &modules[i];

        hu_json_open(j, NULL, '{');
        hu_json_int(j, "depth", m->depth);
        hu_json_str(j, "name", m->name);
        hu_json_str(j, "class", m->kind);
        hu_json_fixed(j, "params", m->params, 0);
        hu_json_fixed(j, "macs", m->macs, 0);
        hu_json_ns(j, "forward_ns", m->ns);
        hu_json_fixed(j, "flop_per_s", m->flops, 0);
        hu_json_close(j, '}');
    }
    hu_json_close(j, ']');
}

static void write_kinds(hu_json_out *j, const hu_flops_answer *a)
{
    hu_json_open(j, "classes", '[');
    for (size_t i = 0; i < a->kinds.n; i++) {
        hu_json_open(j, NULL, '{');
        hu_json_str(j, "class", a->kinds.at[i].kind);
        hu_json_int(j, "count", a->kinds.at[i].n);
        hu_json_ns(j, "own_ns", a->kinds.at[i].ns);
        hu_json_fixed(j, "share", a->kinds.at[i].share, 6);
        hu_json_fixed(j, "macs", a->kinds.at[i].macs, 0);
        hu_json_close(j, '}');
    }
    hu_json_close(j, ']');
}

static void write_count(hu_json_out *j, const char *key, int64_t value)
{
    if (value < 0)
        hu_json_null(j, key);
    else
        hu_json_int(j, key, value);
}

static void write_flops(const hu_log_report *r, hu_json_out *j)
{
    const hu_log_flops *f = &r->log->flops;

    if (!f->is_there) {
        hu_json_null(j, "flops");
        return;
    }
    hu_json_open(j, "flops", '{');
    write_count(j, "step", f->step);
    write_count(j, "world_size", f->world);
    write_count(j, "data_parallel", f->data_parallel);
    write_count(j, "model_parallel", f->model_parallel);
    hu_json_fixed(j, "batch_per_gpu", f->batch, 3);
    hu_json_fixed(j, "params_per_gpu", f->params, 0);
    hu_json_fixed(j, "params_of_model", f->model_params, 0);
    hu_json_fixed(j, "forward_macs_per_gpu", f->fwd_macs, 0);
    hu_json_fixed(j, "forward_flop_per_gpu", f->fwd_flops, 0);
    hu_json_ns(j, "forward_ns", f->fwd_ns);
    hu_json_ns(j, "backward_ns", f->bwd_ns);
    hu_json_ns(j, "step_ns", f->step_ns);
    hu_json_ns(j, "iteration_ns", f->iter_ns);
    hu_json_fixed(j, "forward_flop_per_s", f->fwd_rate, 0);
    hu_json_fixed(j, "forward_backward_flop_per_s", f->train_rate, 0);
    hu_json_fixed(j, "iteration_flop_per_s", f->iter_rate, 0);
    hu_json_fixed(j, "samples_per_s", f->samples, 3);
    hu_json_bool(j, "root_is_wrong", r->answer->flops.root_is_wrong);
    hu_json_ns(j, "in_modules_ns", r->answer->flops.inside_ns);
    write_kinds(j, &r->answer->flops);
    write_modules(j, "by_depth", f->by_depth.at, f->by_depth.n);
    write_modules(j, "modules", f->modules.at, f->modules.n);
    hu_json_int(j, "modules_left_out", (int64_t)f->n_more);
    hu_json_close(j, '}');
}

void hu_tables_json(const hu_log_report *r, hu_json_out *j)
{
    write_comm(r, j);
    write_flops(r, j);
}
