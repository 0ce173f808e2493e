/* SPDX-License-Identifier: Apache-2.0
 * log_tables.c - DeepSpeed's collectives and its flops profile, for people. */
#include <math.h>

#include "advise/say.h"
#include "render/log_tables.h"

enum { LABEL = 8, ROWS = 8, LINE_BYTES = 600 };

static void write_wrapped(const hu_log_report *r, hu_out *out, const char *label, const char *words)
{
    hu_out_printf(out, "%-*s", LABEL, label);
    hu_units_wrap(out, hu_str_of(words), LABEL, LABEL, r->width);
    hu_out_text(out, "\n");
}

static hu_said say_number(double value)
{
    hu_said s;

    hu_units_number(s.t, value);
    return s;
}

/* collectives */

static void write_op(const hu_op_sum *s, hu_out *out)
{
    hu_out_printf(out, "%*s%6s  %9s  ", LABEL, "", hu_say_pct(100 * s->share).t, hu_say_time(s->ns).t);
    hu_units_clip(out, s->op, 28);
    hu_out_printf(out, ", %s call%s\n", hu_say_count(s->count).t, hu_plural(s->count));
    if (s->largest->bus_gbps > 0)
        hu_out_printf(out, "%*slargest %.*s: %s on average, %s GB/s\n", LABEL + 19, "", (int)s->largest->size.n,
                      s->largest->size.p, hu_say_time(s->largest->avg_ns).t, say_number(s->largest->bus_gbps / 8).t);
}

static void write_ops(const hu_log_report *r, hu_out *out)
{
    const hu_op_answer *a = &r->answer->ops;
    const size_t        most = r->top ? r->top : ROWS;
    char                line[LINE_BYTES];

    if (a->at.n == 0)
        return;
    hu_out_text(out, "\n");
    snprintf(line, sizeof line, "%s in collectives by DeepSpeed's comms logger, waiting included (average times count)",
             hu_say_time(a->ns).t);
    write_wrapped(r, out, "COMM", line);
    for (size_t i = 0; i < a->at.n && i < most; i++)
        write_op(&a->at.at[i], out);
    if (a->at.n > most)
        hu_out_printf(out, "%*s%zu more (--top)\n", LABEL, "", a->at.n - most);
    if (a->is_impossible)
        write_wrapped(
            r, out, "",
            "that is far more than all steps took, which cannot be: the logger's clock failed or calls overlapped; only "
            "counts and sizes are of use");
    if (a->n_negative) {
        snprintf(line, sizeof line, "the printed totals of %zu size%s are below zero, so totals are not used", a->n_negative,
                 hu_plural((int64_t)a->n_negative));
        write_wrapped(r, out, "", line);
    }
}

/* flops */

static size_t say_phase(char *line, size_t n, const char *name, double ns, double iteration)
{
    if (!(ns > 0) || n >= LINE_BYTES)
        return n;
    return n + (size_t)snprintf(line + n, LINE_BYTES - n, "%s%s %s (%s)", n ? ", " : "", name, hu_say_time(ns).t,
                                hu_say_pct(100 * ns / iteration).t);
}

static void write_iteration(const hu_log_report *r, const hu_log_flops *f, hu_out *out)
{
    char   line[LINE_BYTES] = "", words[2 * LINE_BYTES];
    size_t n;

    n = say_phase(line, 0, "forward", f->fwd_ns, f->iter_ns);
    n = say_phase(line, n, "backward", f->bwd_ns, f->iter_ns);
    say_phase(line, n, "optimizer step", f->step_ns, f->iter_ns);
    if (f->step >= 0)
        snprintf(words, sizeof words, "%s, step %lld, by DeepSpeed's flops profiler: %s", hu_say_time(f->iter_ns).t,
                 (long long)f->step, line);
    else
        snprintf(words, sizeof words, "%s an iteration, by DeepSpeed's flops profiler: %s", hu_say_time(f->iter_ns).t, line);
    write_wrapped(r, out, "FLOPS", words);
    if (f->iter_rate > 0) {
        snprintf(line, sizeof line, "%s TFLOP/s for each GPU over the iteration", say_number(f->iter_rate / 1e12).t);
        if (f->train_rate > 0)
            snprintf(line + strlen(line), sizeof line - strlen(line), ", %s while it computes forward and backward",
                     say_number(f->train_rate / 1e12).t);
        write_wrapped(r, out, "", line);
    }
}

static void write_kinds(const hu_log_report *r, hu_out *out)
{
    const hu_flops_answer *a = &r->answer->flops;
    const size_t           most = r->top ? r->top : ROWS;

    if (a->kinds.n == 0)
        return;
    write_wrapped(r, out, "", "forward pass by classes of modules, each without those in it:");
    for (size_t i = 0; i < a->kinds.n && i < most; i++) {
        const hu_flops_kind *k = &a->kinds.at[i];

        hu_out_printf(out, "%*s%6s  %9s  ", LABEL, "", isnan(k->share) ? "" : hu_say_pct(100 * k->share).t,
                      hu_say_time(k->ns).t);
        hu_units_clip(out, k->kind, 40);
        hu_out_printf(out, ", %s", hu_say_count(k->n).t);
        if (k->macs > 0 && k->ns > 0)
            hu_out_printf(out, ", %s TFLOP/s", say_number(2 * k->macs / k->ns / 1e3).t);
        hu_out_text(out, "\n");
    }
    if (a->kinds.n > most)
        hu_out_printf(out, "%*s%zu more (--top)\n", LABEL, "", a->kinds.n - most);
    if (a->root_is_wrong)
        write_wrapped(r, out, "",
                      "the profile's time of the whole model is longer than its iteration, so that one is left out, and its "
                      "percentages are wrong");
}

static void write_flops(const hu_log_report *r, hu_out *out)
{
    const hu_log_flops *f = &r->log->flops;

    if (!(f->iter_ns > 0))
        return;
    hu_out_text(out, "\n");
    write_iteration(r, f, out);
    write_kinds(r, out);
}

void hu_tables_text(const hu_log_report *r, hu_out *out)
{
    write_ops(r, out);
    write_flops(r, out);
}
