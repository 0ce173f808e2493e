/* SPDX-License-Identifier: Apache-2.0
 * execution.c - operators of execution traces by calls, for people. */
#include "render/execution.h"

#include "advise/say.h"

enum { LABEL = 8, INDENT = 2, ROWS = 10, FILES = 8, NAME = 30, LINE_BYTES = 512, LEAST_FORM = 16, LEAST_NAME = 12 };

const char *hu_execution_why_not(const hu_execution_answer *answer)
{
    return answer->has_durations
               ? "Cannot tell from an execution trace: it says what ran, on what and who called it, and not when. A "
                 "converter laid the durations into the file; without their starts nothing says what waited."
               : "Cannot tell from an execution trace: it says what ran, on what and who called it, and not when or for how "
                 "long.";
}

const char hu_execution_next[] =
    "record the same steps with torch.profiler, pass both: holdup report trace.pt.trace.json et.json";

static void write_wrapped(const hu_execution_report *r, hu_out *out, const char *label, const char *words)
{
    hu_out_printf(out, "%-*s", LABEL, label);
    hu_units_wrap(out, hu_str_of(words), LABEL, LABEL, r->width);
    hu_out_text(out, "\n");
}

static void write_file(const hu_execution_report *r, const hu_execution_file *f, const char *label, hu_out *out)
{
    char line[2 * LINE_BYTES], pid[HU_NUMBER_BYTES + 16] = "", rank[HU_NUMBER_BYTES + 24] = "";

    if (f->of->rank >= 0)
        snprintf(rank, sizeof rank, "rank %lld by its name, ", (long long)f->of->rank);
    if (f->of->pid >= 0)
        snprintf(pid, sizeof pid, ", process %lld", (long long)f->of->pid);
    snprintf(line, sizeof line,
             "%.200s: %s%s, schema %.*s%s: %s operator%s on %s thread%s, up to %s deep; %s called by no other%s",
             f->of->file, rank, f->of->writer, f->of->schema.n > 40 ? 40 : (int)f->of->schema.n, f->of->schema.p, pid,
             hu_say_count(f->operators).t, hu_plural(f->operators), hu_say_count(f->threads).t, hu_plural(f->threads),
             hu_say_count(f->depth).t, hu_say_count(f->outermost).t, f->of->is_cut ? "; the file is cut" : "");
    write_wrapped(r, out, label, line);
}

/* Columns of numbers, and the blanks between all. */
static size_t beside_name(const hu_execution_report *r)
{
    return INDENT + 9 + 2 + 9 + 2 + 6 + 2 + 2 + (r->answer->has_durations ? 11 : 0);
}

/* Names have what durations leave them. */
static size_t name_width(const hu_execution_report *r)
{
    const size_t others = beside_name(r) + LEAST_FORM;

    return r->width >= others + NAME ? NAME : r->width > others + LEAST_NAME ? r->width - others : LEAST_NAME;
}

static void write_row(const hu_execution_report *r, const hu_execution_row *row, hu_out *out)
{
    const bool   has_durations = r->answer->has_durations;
    const size_t name = name_width(r), used = beside_name(r) + name;
    size_t       written;

    hu_out_printf(out, "%*s%9s  %9s  %6s  ", INDENT, "", hu_say_count(row->calls).t, hu_say_count(row->outermost).t,
                  row->with_shapes ? hu_say_count(row->forms).t : "-");
    if (has_durations)
        hu_out_printf(out, "%*s%s  ", 9 - (int)hu_units_width(hu_str_of(hu_say_time((double)row->dur_ns).t)), "",
                      hu_say_time((double)row->dur_ns).t);
    written = hu_units_clip(out, row->name, name);
    if (row->with_shapes) {
        hu_out_printf(out, "%*s", (int)(name - written) + 2, "");
        hu_units_clip(out, row->shapes, r->width > used + LEAST_FORM ? r->width - used : LEAST_FORM);
    }
    hu_out_text(out, "\n");
}

static void write_rows(const hu_execution_report *r, hu_out *out)
{
    const hu_execution_answer *a = r->answer;
    const size_t               most = r->top ? r->top : ROWS, n = a->n_rows < most ? a->n_rows : most;

    hu_out_printf(out, "%*s%9s  %9s  %6s  %s%-*s  %s\n", INDENT, "", "calls", "outermost", "shapes",
                  a->has_durations ? "     time  " : "", (int)name_width(r), "operator", "most often on");
    for (size_t i = 0; i < n; i++)
        write_row(r, &a->rows[i], out);
    if (n < a->n_rows)
        hu_out_printf(out, "%*s%zu more (--top)\n", LABEL, "", a->n_rows - n);
}

void hu_execution_text(const hu_execution_report *r, hu_out *out)
{
    const hu_execution_answer *a = r->answer;
    char                       line[LINE_BYTES];

    hu_out_printf(out, "execution trace%s \xc2\xb7 %zu file%s, %s\n\n", hu_plural((int64_t)a->n_files), a->n_files,
                  hu_plural((int64_t)a->n_files), a->has_durations ? "durations and no starts" : "no times");
    for (size_t i = 0; i < a->n_files && i < FILES; i++)
        write_file(r, &a->files[i], i ? "" : "FILES", out);
    if (a->n_files > FILES)
        hu_out_printf(out, "%*s%zu more\n", LABEL, "", a->n_files - FILES);
    snprintf(line, sizeof line, "%s call%s of %s operator%s, %s with shapes of inputs; %s range%s that the program marked",
             hu_say_count(a->operators).t, hu_plural(a->operators), hu_say_count((int64_t)a->n_rows).t,
             hu_plural((int64_t)a->n_rows), hu_say_count(a->with_shapes).t, hu_say_count(a->ranges).t, hu_plural(a->ranges));
    hu_out_text(out, "\n");
    write_wrapped(r, out, "WHAT", line);
    write_rows(r, out);
    hu_out_text(out, "\n");
    write_wrapped(r, out, "WHY", hu_execution_why_not(a));
    if (a->malformed) {
        snprintf(line, sizeof line, "%s node%s without a name or a number %s left out.", hu_say_count(a->malformed).t,
                 hu_plural(a->malformed), a->malformed == 1 ? "is" : "are");
        write_wrapped(r, out, "but", line);
    }
    write_wrapped(r, out, "next", hu_execution_next);
}
