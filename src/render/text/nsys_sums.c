/* SPDX-License-Identifier: Apache-2.0
 * nsys_sums.c - where time went and to what, as far as sums tell, for people. */
#include "render/nsys_sums.h"

#include <math.h>
#include <stdlib.h>

#include "advise/say.h"
#include "base/short_name.h"

enum { LABEL = 8, ROWS = 5, LEAST_NAME = 24, FAMILIES = 4, LINE_BYTES = 512 };

static void write_wrapped(const hu_nsys_report *r, hu_out *out, const char *label, hu_str words)
{
    hu_out_printf(out, "%-*s", LABEL, label);
    hu_units_wrap(out, words, LABEL, LABEL, r->width);
    hu_out_text(out, "\n");
}

/* "compute 7.4 s (91 %)" */
static size_t say_part(char *text, size_t n, const char *name, const hu_nsys_part *part, double whole)
{
    if (n >= LINE_BYTES || part->count == 0)
        return n;
    return n + (size_t)snprintf(text + n, LINE_BYTES - n, "%s%s %s (%s)", n ? ", " : "", name, hu_say_time(part->ns).t,
                                hu_say_pct(whole > 0 ? 100 * part->ns / whole : 0).t);
}

static void write_where(const hu_nsys_report *r, hu_out *out)
{
    const hu_nsys_answer *a = r->answer;
    const double          gpu = a->compute.ns + a->comm.ns + a->memcpys.ns + a->memsets.ns;
    char                  parts[LINE_BYTES] = "", line[2 * LINE_BYTES];
    size_t                n;

    n = say_part(parts, 0, "compute", &a->compute, gpu);
    n = say_part(parts, n, "communication", &a->comm, gpu);
    n = say_part(parts, n, "copies", &a->memcpys, gpu);
    say_part(parts, n, "memsets", &a->memsets, gpu);
    if (a->kernels.n || a->copies.n)
        snprintf(line, sizeof line, "GPU: %s of work%s: %s%s%s", hu_say_time(gpu).t,
                 a->lacks_graphs ? " outside of CUDA graphs, whose work is unknown" : "", parts,
                 !a->kernels.is_known   ? "; kernels: not in these tables"
                 : a->kernels.is_absent ? "; no kernels"
                                        : "",
                 !a->copies.is_known   ? "; copies: not in these tables"
                 : a->copies.is_absent ? "; no copies"
                                       : "");
    else
        snprintf(line, sizeof line, "GPU: %s",
                 a->kernels.is_known && a->copies.is_known && !a->lacks_graphs ? "no work"
                 : a->lacks_graphs ? "unknown: its work ran in CUDA graphs, which are in no table"
                                   : "unknown, no table of it");
    write_wrapped(r, out, "WHERE", hu_str_of(line));
    if (a->calls.n) {
        n = say_part(parts, 0, "waits", &a->waits, a->calls.total);
        n = say_part(parts, n, "launches", &a->launches, a->calls.total);
        n = say_part(parts, n, "launches of graphs", &a->graphs, a->calls.total);
        n = say_part(parts, n, "asynchronous copies", &a->async_copies, a->calls.total);
        n = say_part(parts, n, "memory", &a->memory, a->calls.total);
        say_part(parts, n, "others", &a->rest, a->calls.total);
        snprintf(line, sizeof line, "host: %s in calls of CUDA, all threads added up: %s", hu_say_time(a->calls.total).t,
                 parts);
        write_wrapped(r, out, "", hu_str_of(line));
    }
    if (a->mpi.n) {
        snprintf(line, sizeof line, "host: %s in MPI, all threads added up", hu_say_time(a->mpi.total).t);
        write_wrapped(r, out, "", hu_str_of(line));
    }
}

static int by_time(const void *a, const void *b)
{
    const hu_nsys_part *x = *(const hu_nsys_part *const *)a, *y = *(const hu_nsys_part *const *)b;

    return x->ns < y->ns ? 1 : x->ns > y->ns ? -1 : x < y ? -1 : x > y;
}

/* "matrix product 91 %, elementwise 7.0 %" */
static void write_families(const hu_nsys_report *r, hu_out *out)
{
    const hu_nsys_part *order[HU_FAMILY_COUNT];
    char                line[LINE_BYTES] = "";
    size_t              n = 0;

    for (size_t i = 0; i < HU_FAMILY_COUNT; i++)
        order[i] = &r->answer->families[i];
    qsort(order, HU_FAMILY_COUNT, sizeof *order, by_time);
    for (size_t i = 0; i < FAMILIES && order[i]->count && n < sizeof line; i++)
        n += (size_t)snprintf(
            line + n, sizeof line - n, "%s%s %s",
            i ? ", " : "by kind: ", hu_kernel_family_words((hu_kernel_family)(order[i] - r->answer->families)),
            hu_say_pct(r->answer->kernels.total > 0 ? 100 * order[i]->ns / r->answer->kernels.total : 0).t);
    if (n)
        write_wrapped(r, out, "", hu_str_of(line));
}

/* Counts and rates behind the name's numbers: "293 × 15.4 ms", with a sign of a product */
static void write_row(const hu_nsys_report *r, const hu_nsys_list *list, const hu_nsys_row *row, hu_out *out)
{
    const double bytes = list == &r->answer->copies ? hu_nsys_sums_bytes(r->answer, row) : (double)NAN;
    char         amount[3 * HU_UNIT_BYTES], size[HU_UNIT_BYTES], rate[HU_UNIT_BYTES];
    size_t       used;

    snprintf(amount, sizeof amount, "%s \xc3\x97 %s", hu_say_count(row->count).t,
             isnan(row->mean) ? "?" : hu_say_time(row->mean).t);
    hu_out_printf(out, "%*s%6s  %9s  ", LABEL, "", hu_say_pct(list->total > 0 ? 100 * row->total / list->total : 0).t,
                  hu_say_time(row->total).t);
    used = hu_units_width(hu_str_of(amount));
    hu_out_printf(out, "%*s%s  ", used < 18 ? (int)(18 - used) : 0, "", amount);
    used = LABEL + 6 + 2 + 9 + 2 + (used < 18 ? 18 : used) + 2;
    used = r->width > used + LEAST_NAME ? r->width - used : LEAST_NAME;
    if (row->name.n)
        hu_short_name_clip(out, row->name, used);
    else
        hu_out_text(out, "(no name)");
    hu_out_text(out, "\n");
    if (isnan(bytes))
        return;
    hu_units_bytes(size, bytes);
    hu_units_bytes(rate, row->total > 0 ? bytes * 1e9 / row->total : 0);
    hu_out_printf(out, "%*s%s at %s/s\n", LABEL + 6 + 2 + 9 + 2, "", size, rate);
}

static void write_list(const hu_nsys_report *r, const hu_nsys_list *list, const char *title, hu_out *out)
{
    const size_t most = r->top ? r->top : ROWS, n = list->n < most ? list->n : most;

    if (list->n == 0)
        return;
    hu_out_printf(out, "%*s%s, %s\n", LABEL, "", title, hu_say_time(list->total).t);
    if (list == &r->answer->kernels)
        write_families(r, out);
    for (size_t i = 0; i < n; i++)
        write_row(r, list, list->at[i], out);
    if (n < list->n)
        hu_out_printf(out, "%*s%zu more (--top)\n", LABEL, "", list->n - n);
}

static void write_why(const hu_nsys_report *r, hu_arena *scratch, hu_out *out)
{
    char         hints[HU_NSYS_HINTS][HU_NSYS_HINT_BYTES];
    const size_t n = hu_nsys_hints(r->answer, hints);
    const hu_str doubts = hu_nsys_doubts(r, scratch);

    write_wrapped(r, out, "WHY", hu_str_of(hu_nsys_why_not));
    for (size_t i = 0; i < n; i++)
        write_wrapped(r, out, i ? "" : "hints", hu_str_of(hints[i]));
    if (doubts.n)
        write_wrapped(r, out, "but", doubts);
}

void hu_nsys_text(const hu_nsys_report *r, hu_arena *scratch, hu_out *out)
{
    const hu_nsys_answer *a = r->answer;
    size_t                tables = 0;

    for (size_t i = 0; i < r->sums->tables.n; i++)
        tables += r->sums->tables.at[i].rows.n > 0;
    hu_out_printf(out, "nsys stats \xc2\xb7 %zu table%s of sums, no timeline\n\n", tables, hu_plural((int64_t)tables));
    write_where(r, out);
    hu_out_printf(out, "\n%-*s%s\n", LABEL, "WHAT", "sums of durations: work at the same time counts more than once");
    write_list(r, &a->kernels, "kernels", out);
    write_list(r, &a->copies, "copies and memsets", out);
    write_list(r, &a->calls, "calls of CUDA", out);
    write_list(r, &a->ranges, "ranges (NVTX), which may lie inside of each other", out);
    write_list(r, &a->mpi, "MPI", out);
    write_list(r, &a->os_calls, "calls of the C library, of all threads", out);
    hu_out_text(out, "\n");
    write_why(r, scratch, out);
    hu_out_printf(out, "\n%-*s", LABEL, "next");
    hu_nsys_next(r->sums, out);
    if (r->sums->sqlite.n)
        hu_out_printf(out, "\n%-*s(the export that nsys stats read)", LABEL, "");
    hu_out_text(out, "\n");
}
