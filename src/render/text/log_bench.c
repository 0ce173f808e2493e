/* SPDX-License-Identifier: Apache-2.0
 * log_bench.c - a sentence for each test of collectives, and its curve. */
#include <math.h>

#include "advise/say.h"
#include "render/log_bench.h"

enum { LABEL = 8, ROWS = 8, LINE_BYTES = 600 };

static void write_wrapped(const hu_log_report *r, hu_out *out, size_t column, const char *words)
{
    hu_units_wrap(out, hu_str_of(words), column, LABEL, r->width);
    hu_out_text(out, "\n");
}

/* "8 ranks on node7, NVIDIA H100 80GB HBM3, float sum" */
static void write_about(const hu_log_report *r, const hu_bench_answer *a, hu_out *out)
{
    const hu_log_bench *t = a->test;
    const bool          has_op = t->redop.n && !hu_str_equal(t->redop, HU_STR("none"));
    char                line[LINE_BYTES] = "";
    size_t              n = 0;

    if (t->ranks)
        n += (size_t)snprintf(line, sizeof line, "%s rank%s, %s%.*s, ", hu_say_count(t->ranks).t, hu_plural(t->ranks),
                              t->several_devices ? "several GPUs, first " : "", (int)t->device.n, t->device.p);
    n += (size_t)snprintf(line + n, sizeof line - n, "%s%.*s%s%.*s", t->several_hosts ? "several nodes, " : "",
                          (int)t->type.n, t->type.p, has_op ? " " : "", has_op ? (int)t->redop.n : 0, t->redop.p);
    if (n > 1 && t->type.n == 0 && !has_op && line[n - 1] == ' ' && line[n - 2] == ',')
        line[n -= 2] = '\0';
    if (!a->is_checked && t->rows.n)
        n += (size_t)snprintf(line + n, sizeof line - n, "; results were not checked (-c 1)");
    if (t->n_torn)
        snprintf(line + n, sizeof line - n, "; %s rows are torn and left out", hu_say_count(t->n_torn).t);
    hu_out_printf(out, "%*s", LABEL, "");
    write_wrapped(r, out, LABEL, line);
    hu_bench_peak_words(a, line);
    if (line[0]) {
        hu_out_printf(out, "%*s", LABEL, "");
        write_wrapped(r, out, LABEL, line);
    }
}

static void write_row(const hu_bench_row *row, const hu_bench_answer *a, hu_out *out)
{
    const double bus = hu_bandwidth_of(row), ns = fmin(row->ns[HU_BENCH_OUT], row->ns[HU_BENCH_IN]);
    char         number[HU_NUMBER_BYTES];

    hu_format_fixed(number, bus, 2);
    hu_out_printf(out, "%*s%15s  %9s  %9s  %6s\n", LABEL, "", hu_say_count(row->bytes).t,
                  isfinite(ns) ? hu_say_time(ns).t : "\xe2\x80\x93", number,
                  a->best > 0 && bus >= 0 ? hu_say_pct(100 * bus / a->best).t : "");
}

/* Some sizes of many, the largest among them. */
static void write_curve(const hu_log_report *r, const hu_bench_answer *a, hu_out *out)
{
    const size_t n = a->test->rows.n, most = r->top ? r->top : ROWS, step = (n + most - 1) / most;

    if (n == 0)
        return;
    hu_out_printf(out, "%*s%15s  %9s  %9s  %6s\n", LABEL, "", "bytes", "time", "bus GB/s", "of it");
    for (size_t i = (n - 1) % step; i < n; i += step)
        write_row(&a->test->rows.at[i], a, out);
    if (step > 1)
        hu_out_printf(out, "%*severy %zu of %zu sizes (--top)\n", LABEL, "", step, n);
}

/* "40.5 Gbit/s (5.06 GB/s) …": a test that prints neither sizes nor a table. */
static void write_prints(const hu_log_report *r, hu_out *out)
{
    const hu_stats *s = &r->answer->bus;
    char            line[LINE_BYTES], median[HU_UNIT_BYTES], bytes[HU_UNIT_BYTES], least[HU_UNIT_BYTES], most[HU_UNIT_BYTES];

    if (s->n == 0)
        return;
    hu_units_number(median, s->median / 1e9);
    hu_units_number(bytes, s->median / 8e9);
    hu_units_number(least, (double)s->min / 1e9);
    hu_units_number(most, (double)s->max / 1e9);
    snprintf(
        line, sizeof line,
        "%s GB/s bus bandwidth (%s Gbit/s), the median of %s that ranks printed (%s to %s Gbit/s). Cannot tell from which "
        "size on, nor the latency: the test prints no sizes, as nccl-tests does.",
        bytes, median, hu_say_count((int64_t)s->n).t, least, most);
    write_wrapped(r, out, 0, line);
    hu_out_text(out, "\n");
}

void hu_bench_text(const hu_log_report *r, hu_out *out)
{
    write_prints(r, out);
    for (size_t i = 0; i < r->answer->benches.n; i++) {
        const hu_bench_answer *a = &r->answer->benches.at[i];
        char                   words[HU_BENCH_WORDS];

        hu_bench_sentence(a, words);
        write_wrapped(r, out, 0, words);
        write_about(r, a, out);
        write_curve(r, a, out);
        hu_out_text(out, "\n");
    }
}
