/* SPDX-License-Identifier: Apache-2.0
 * results.c - benchmarks with their spread, or the peak of memory and the function it lies in, for people. */
#include "render/results.h"

#include <math.h>

#include "advise/say.h"

enum { LABEL = 8, ROWS = 20, LINE_BYTES = 600, NAME = 60, COLUMN = 9, RANGE = 22 };

static const double WIDE = 0.1; /* of the median, between the quartiles */

static void write_wrapped(hu_out *out, size_t width, const char *label, const char *words)
{
    hu_out_printf(out, "%-*s", LABEL, label);
    hu_units_wrap(out, hu_str_of(words), LABEL, LABEL, width);
    hu_out_text(out, "\n");
}

static double spread_of(const hu_result *r)
{
    return (r->q3 - r->q1) / r->median;
}

/* In a column of its own, whose texts may hold a micro sign. */
static void write_right(hu_out *out, const char *text)
{
    hu_out_printf(out, "%*s%s", (int)(LABEL + COLUMN - hu_units_width(hu_str_of(text))), "", text);
}

static void write_row(const hu_result *r, hu_out *out)
{
    char range[2 * HU_UNIT_BYTES + 8] = "";

    if (isfinite(r->q1) && isfinite(r->q3) && r->rounds != 1)
        snprintf(range, sizeof range, "%s to %s", hu_results_say(r->kind, r->q1).t, hu_results_say(r->kind, r->q3).t);
    write_right(out, hu_results_say(r->kind, r->median).t);
    hu_out_printf(out, "  %s%*s  ", range, (int)(RANGE - hu_units_width(hu_str_of(range))), "");
    hu_units_clip(out, r->name, NAME);
    if (r->rounds >= 0)
        hu_out_printf(out, ", %s round%s", hu_say_count(r->rounds).t, hu_plural(r->rounds));
    if (r->outliers > 0)
        hu_out_printf(out, ", %s outlier%s", hu_say_count(r->outliers).t, hu_plural(r->outliers));
    hu_out_text(out, "\n");
}

static void write_rows(const hu_results *f, size_t most, size_t width, hu_out *out)
{
    size_t wide = 0, known = 0;
    char   line[LINE_BYTES];

    hu_out_printf(out, "%*s  %-*s  %s\n", LABEL + COLUMN, "median", RANGE, "middle half", "benchmark");
    for (size_t i = 0; i < f->rows.n && i < most; i++)
        write_row(&f->rows.at[i], out);
    if (f->rows.n > most)
        hu_out_printf(out, "%*s%zu more (--top)\n", LABEL, "", f->rows.n - most);
    for (size_t i = 0; i < f->rows.n; i++) {
        known += hu_results_has_spread(&f->rows.at[i]);
        wide += hu_results_has_spread(&f->rows.at[i]) && spread_of(&f->rows.at[i]) > WIDE;
    }
    if (known == 0)
        write_wrapped(
            out, width, "WHY",
            "The file has no spread of any of them, of five rounds at least, so nothing tells a change from noise: run each "
            "several times.");
    else if (wide) {
        snprintf(line, sizeof line,
                 "%zu of %zu spread over more than a tenth of their median: of those, only larger changes can be seen.",
                 wide, known);
        write_wrapped(out, width, "WHY", line);
    }
    write_wrapped(out, width, known && !wide ? "WHY" : "but",
                  "Cannot tell from results what takes the time. Record what they time: holdup run -- COMMAND, or "
                  "torch.profiler; compare two files with holdup diff.");
}

static void write_memory(const hu_results *f, size_t most, size_t width, hu_out *out)
{
    const hu_memory_curve *m = &f->memory;
    const hu_memory_call  *call = hu_results_call_at_peak(m);
    char                   line[LINE_BYTES];
    size_t                 n;

    n = (size_t)snprintf(line, sizeof line, "%s of host memory at most%s, %s after the first of %s samples",
                         hu_results_say(HU_RESULT_BYTES, m->peak).t, m->n_children ? " in the first process alone" : "",
                         hu_say_time((double)(m->peak_ns - m->first_ns)).t, hu_say_count(m->n_samples).t);
    if (call)
        snprintf(line + n, sizeof line - n, ", in %.*s", HU_FMT(call->name));
    else if (m->calls.n)
        snprintf(line + n, sizeof line - n, ", in none of the functions that were watched");
    write_wrapped(out, width, "PEAK", line);
    snprintf(line, sizeof line, "%s at first, %s at last, over %s", hu_results_say(HU_RESULT_BYTES, m->first).t,
             hu_results_say(HU_RESULT_BYTES, m->last).t, hu_say_time((double)(m->last_ns - m->first_ns)).t);
    write_wrapped(out, width, "", line);
    if (m->n_children) {
        snprintf(line, sizeof line, "%s process%s that it started: %s at most in one of them", hu_say_count(m->n_children).t,
                 m->n_children == 1 ? "" : "es", hu_results_say(HU_RESULT_BYTES, m->child_peak).t);
        write_wrapped(out, width, "", line);
    }
    if (m->calls.n)
        hu_out_printf(out, "%*s%9s  %9s  %9s  %s\n", LABEL, "", "before", "after", "time", "function");
    for (size_t i = 0; i < m->calls.n && i < most; i++) {
        const hu_memory_call *c = &m->calls.at[i];

        hu_out_printf(out, "%*s%9s  %9s  %9s  ", LABEL, "", hu_results_say(HU_RESULT_BYTES, c->from).t,
                      hu_results_say(HU_RESULT_BYTES, c->to).t, hu_say_time((double)(c->to_ns - c->from_ns)).t);
        hu_units_clip(out, c->name, NAME);
        hu_out_text(out, "\n");
    }
    if (m->calls.n > most)
        hu_out_printf(out, "%*s%zu more (--top)\n", LABEL, "", m->calls.n - most);
    write_wrapped(out, width, "WHY",
                  "Cannot tell from samples which lines hold the memory: watch more functions (@profile), or of the GPU's "
                  "memory take torch.cuda.memory._record_memory_history().");
}

static void write_title(const hu_results *f, hu_out *out)
{
    hu_out_printf(out, "%.*s", HU_FMT(f->tool));
    if (f->rows.n || f->n_failed)
        hu_out_printf(out, " \xc2\xb7 %s benchmark%s", hu_say_count((int64_t)f->rows.n).t, hu_plural((int64_t)f->rows.n));
    if (f->n_failed)
        hu_out_printf(out, ", %s without a result", hu_say_count(f->n_failed).t);
    if (f->about.n || f->memory.command.n) {
        hu_out_text(out, " \xc2\xb7 ");
        hu_units_clip(out, f->about.n ? f->about : f->memory.command, NAME);
    }
    hu_out_text(out, "\n");
}

void hu_results_text(const hu_results *files, size_t n, size_t top, size_t width, hu_out *out)
{
    const size_t most = top ? top : ROWS;

    for (size_t i = 0; i < n; i++) {
        if (i)
            hu_out_text(out, "\n");
        write_title(&files[i], out);
        if (files[i].memory.n_samples)
            write_memory(&files[i], most, width, out);
        else if (files[i].rows.n)
            write_rows(&files[i], most, width, out);
    }
}
