/* SPDX-License-Identifier: Apache-2.0
 * results.c - benchmarks with their spread, the peak of memory and the function it lies in, and two files compared.
 *
 * A benchmark changed beyond its own spread where the middle halves of its rounds, from q1 to q3, do not touch.  Where a
 * file tells no quartiles nothing tells a change from noise, and that is said.
 */
#include "render/results.h"

#include <math.h>
#include <stdlib.h>

#include "advise/say.h"

enum { LABEL = 8, ROWS = 20, LINE_BYTES = 600, NAME = 60, COLUMN = 9, RANGE = 22, LEAST_ROUNDS = 5 };

static const double WIDE = 0.1; /* of the median, between the quartiles */

/* "1.10 ms", "12.5 MB", "0.25" */
static hu_said say_value(hu_result_kind kind, double value)
{
    hu_said s;

    if (isnan(value))
        snprintf(s.t, sizeof s.t, "\xe2\x80\x93");
    else if (kind == HU_RESULT_TIME)
        s = hu_say_time(value);
    else if (kind == HU_RESULT_BYTES)
        hu_units_bytes(s.t, value);
    else
        hu_units_number(s.t, value);
    return s;
}

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

/* Quartiles of one round are that round; of a few, chance lays them apart. */
static bool has_spread(const hu_result *r)
{
    return isfinite(r->q1) && isfinite(r->q3) && (r->rounds < 0 || r->rounds >= LEAST_ROUNDS);
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
        snprintf(range, sizeof range, "%s to %s", say_value(r->kind, r->q1).t, say_value(r->kind, r->q3).t);
    write_right(out, say_value(r->kind, r->median).t);
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
        known += has_spread(&f->rows.at[i]);
        wide += has_spread(&f->rows.at[i]) && spread_of(&f->rows.at[i]) > WIDE;
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

/* The innermost call at the peak; NULL: none. */
static const hu_memory_call *call_at_peak(const hu_memory_curve *m)
{
    const hu_memory_call *found = NULL;

    for (size_t i = 0; i < m->calls.n; i++) {
        const hu_memory_call *c = &m->calls.at[i];

        if (c->from_ns <= m->peak_ns && m->peak_ns <= c->to_ns &&
            (!found || c->depth > found->depth || (c->depth == found->depth && c->from_ns > found->from_ns)))
            found = c;
    }
    return found;
}

static void write_memory(const hu_results *f, size_t most, size_t width, hu_out *out)
{
    const hu_memory_curve *m = &f->memory;
    const hu_memory_call  *call = call_at_peak(m);
    char                   line[LINE_BYTES];
    size_t                 n;

    n = (size_t)snprintf(line, sizeof line, "%s of host memory at most%s, %s after the first of %s samples",
                         say_value(HU_RESULT_BYTES, m->peak).t, m->n_children ? " in the first process alone" : "",
                         hu_say_time((double)(m->peak_ns - m->first_ns)).t, hu_say_count(m->n_samples).t);
    if (call)
        snprintf(line + n, sizeof line - n, ", in %.*s", HU_FMT(call->name));
    else if (m->calls.n)
        snprintf(line + n, sizeof line - n, ", in none of the functions that were watched");
    write_wrapped(out, width, "PEAK", line);
    snprintf(line, sizeof line, "%s at first, %s at last, over %s", say_value(HU_RESULT_BYTES, m->first).t,
             say_value(HU_RESULT_BYTES, m->last).t, hu_say_time((double)(m->last_ns - m->first_ns)).t);
    write_wrapped(out, width, "", line);
    if (m->n_children) {
        snprintf(line, sizeof line, "%s process%s that it started: %s at most in one of them", hu_say_count(m->n_children).t,
                 m->n_children == 1 ? "" : "es", say_value(HU_RESULT_BYTES, m->child_peak).t);
        write_wrapped(out, width, "", line);
    }
    if (m->calls.n)
        hu_out_printf(out, "%*s%9s  %9s  %9s  %s\n", LABEL, "", "before", "after", "time", "function");
    for (size_t i = 0; i < m->calls.n && i < most; i++) {
        const hu_memory_call *c = &m->calls.at[i];

        hu_out_printf(out, "%*s%9s  %9s  %9s  ", LABEL, "", say_value(HU_RESULT_BYTES, c->from).t,
                      say_value(HU_RESULT_BYTES, c->to).t, hu_say_time((double)(c->to_ns - c->from_ns)).t);
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

/* JSON */

static void put_value(hu_json_out *j, const char *key, double value)
{
    char number[HU_NUMBER_BYTES];

    if (isfinite(value)) {
        hu_format_shortest(number, value);
        hu_json_digits(j, key, number);
    } else {
        hu_json_null(j, key);
    }
}

static void put_count(hu_json_out *j, const char *key, int64_t n)
{
    if (n < 0)
        hu_json_null(j, key);
    else
        hu_json_int(j, key, n);
}

static const char *const kinds[] = {"time_ns", "bytes", "number"};

static void put_row(hu_json_out *j, const hu_result *r)
{
    hu_json_open(j, NULL, '{');
    hu_json_str(j, "name", r->name);
    hu_json_str(j, "unit", hu_str_of(kinds[r->kind]));
    put_value(j, "median", r->median);
    put_value(j, "q1", r->q1);
    put_value(j, "q3", r->q3);
    put_value(j, "min", r->least);
    put_value(j, "max", r->most);
    put_count(j, "rounds", r->rounds);
    put_count(j, "outliers", r->outliers);
    hu_json_close(j, '}');
}

static void put_memory(hu_json_out *j, const hu_memory_curve *m)
{
    const hu_memory_call *call = call_at_peak(m);

    if (m->n_samples == 0) {
        hu_json_null(j, "memory");
        return;
    }
    hu_json_open(j, "memory", '{');
    hu_json_str(j, "command", m->command);
    hu_json_int(j, "samples", m->n_samples);
    hu_json_fixed(j, "seconds", (double)(m->last_ns - m->first_ns) / 1e9, 4);
    hu_json_fixed(j, "first_bytes", m->first, 0);
    hu_json_fixed(j, "last_bytes", m->last, 0);
    hu_json_fixed(j, "peak_bytes", m->peak, 0);
    hu_json_fixed(j, "peak_after_s", (double)(m->peak_ns - m->first_ns) / 1e9, 4);
    hu_json_str(j, "peak_in", call ? call->name : HU_STR(""));
    hu_json_int(j, "children", m->n_children);
    hu_json_fixed(j, "child_peak_bytes", m->n_children ? m->child_peak : (double)NAN, 0);
    hu_json_open(j, "calls", '[');
    for (size_t i = 0; i < m->calls.n; i++) {
        hu_json_open(j, NULL, '{');
        hu_json_str(j, "function", m->calls.at[i].name);
        hu_json_int(j, "depth", m->calls.at[i].depth);
        hu_json_fixed(j, "before_bytes", m->calls.at[i].from, 0);
        hu_json_fixed(j, "after_bytes", m->calls.at[i].to, 0);
        hu_json_fixed(j, "seconds", (double)(m->calls.at[i].to_ns - m->calls.at[i].from_ns) / 1e9, 4);
        hu_json_close(j, '}');
    }
    hu_json_close(j, ']');
    hu_json_close(j, '}');
}

void hu_results_json(const hu_results *files, size_t n, hu_out *out)
{
    hu_json_out j = {.out = out, .is_empty = true};

    hu_json_open(&j, NULL, '{');
    hu_json_str(&j, "kind", HU_STR("results"));
    hu_json_open(&j, "files", '[');
    for (size_t i = 0; i < n; i++) {
        hu_json_open(&j, NULL, '{');
        hu_json_str(&j, "file", files[i].file);
        hu_json_str(&j, "tool", files[i].tool);
        hu_json_str(&j, "about", files[i].about);
        hu_json_int(&j, "without_result", files[i].n_failed);
        hu_json_int(&j, "lines_left_out", files[i].n_bad);
        hu_json_open(&j, "benchmarks", '[');
        for (size_t k = 0; k < files[i].rows.n; k++)
            put_row(&j, &files[i].rows.at[k]);
        hu_json_close(&j, ']');
        put_memory(&j, &files[i].memory);
        hu_json_close(&j, '}');
    }
    hu_json_close(&j, ']');
    hu_json_close(&j, '}');
    hu_out_text(out, "\n");
}

/* two files */

typedef enum { SLOWER, FASTER, WITHIN, UNKNOWN, VERDICTS } verdict;

typedef struct {
    const hu_result *a, *b;
    double           ratio; /* of the medians; NaN */
    verdict          says;
} pair;

typedef struct {
    pair  *at;
    size_t n, by[VERDICTS], only_a, only_b;
} comparison;

static verdict judge(const hu_result *a, const hu_result *b)
{
    if (!has_spread(a) || !has_spread(b) || a->kind == HU_RESULT_NUMBER)
        return UNKNOWN;
    return b->q1 > a->q3 ? SLOWER : b->q3 < a->q1 ? FASTER : WITHIN;
}

static int by_name(const void *x, const void *y)
{
    return hu_str_compare((*(const hu_result *const *)x)->name, (*(const hu_result *const *)y)->name);
}

/* By what is said, then the largest change first. */
static int by_change(const void *x, const void *y)
{
    const pair  *a = x, *b = y;
    const double p = isfinite(a->ratio) && a->ratio > 0 ? fabs(log(a->ratio)) : 0,
                 q = isfinite(b->ratio) && b->ratio > 0 ? fabs(log(b->ratio)) : 0;

    if (a->says != b->says)
        return a->says < b->says ? -1 : 1;
    return p != q ? (p < q ? 1 : -1) : hu_str_compare(a->a->name, b->a->name);
}

static const hu_result **sorted(const hu_results *f, hu_arena *scratch)
{
    const hu_result **list = hu_arena_calloc(scratch, f->rows.n + 1, sizeof *list);

    for (size_t i = 0; list && i < f->rows.n; i++)
        list[i] = &f->rows.at[i];
    if (list)
        qsort(list, f->rows.n, sizeof *list, by_name);
    return list;
}

static bool compare(const hu_results *a, const hu_results *b, hu_arena *scratch, comparison *out)
{
    const hu_result **x = sorted(a, scratch), **y = sorted(b, scratch);
    size_t            k = 0;

    *out = (comparison){.at = hu_arena_calloc(scratch, a->rows.n + 1, sizeof *out->at)};
    if (!x || !y || !out->at)
        return false;
    for (size_t i = 0; i < a->rows.n; i++) {
        int order = 1;

        while (k < b->rows.n && (order = hu_str_compare(y[k]->name, x[i]->name)) < 0) {
            out->only_b++;
            k++;
        }
        if (k == b->rows.n || order != 0 || y[k]->kind != x[i]->kind) {
            out->only_a++;
            continue;
        }
        out->at[out->n] = (pair){x[i], y[k], y[k]->median / x[i]->median, judge(x[i], y[k])};
        out->by[out->at[out->n++].says]++;
        k++;
    }
    out->only_b += b->rows.n - k;
    qsort(out->at, out->n, sizeof *out->at, by_change);
    return true;
}

static void write_pair(const pair *p, hu_out *out)
{
    const hu_said b = say_value(p->b->kind, p->b->median);
    char          change[HU_UNIT_BYTES] = "";

    if (isfinite(p->ratio))
        snprintf(change, sizeof change, "%+.1f %%", 100 * (p->ratio - 1));
    write_right(out, say_value(p->a->kind, p->a->median).t);
    hu_out_printf(out, "%*s", (int)(COLUMN + 2 - hu_units_width(hu_str_of(b.t))), "");
    hu_out_printf(out, "%s  %9s  ", b.t, change);
    hu_units_clip(out, p->a->name, NAME);
    hu_out_text(out, "\n");
}

bool hu_results_diff_text(const hu_results *a, const hu_results *b, hu_arena *scratch, size_t width, hu_out *out)
{
    static const char *const labels[VERDICTS] = {"SLOWER", "FASTER", "SAME", "CHANGED"};
    comparison               c;
    char                     line[LINE_BYTES];

    if (!compare(a, b, scratch, &c))
        return false;
    snprintf(
        line, sizeof line,
        "Of %zu benchmark%s in both files, %zu got slower (or larger) beyond their own spread and %zu faster; %zu stayed "
        "within it, and of %zu nothing tells a change from noise.",
        c.n, hu_plural((int64_t)c.n), c.by[SLOWER], c.by[FASTER], c.by[WITHIN], c.by[UNKNOWN]);
    hu_units_wrap(out, hu_str_of(line), 0, 0, width);
    hu_out_text(out, "\n");
    for (verdict v = 0; v < VERDICTS; v++) {
        size_t shown = 0;

        if (c.by[v] == 0 || v == WITHIN)
            continue;
        hu_out_printf(out, "\n%-*s%9s  %9s  %9s\n", LABEL, labels[v], "A", "B", "change");
        for (size_t i = 0; i < c.n && shown < ROWS; i++)
            if (c.at[i].says == v) {
                write_pair(&c.at[i], out);
                shown++;
            }
        if (shown < c.by[v])
            hu_out_printf(out, "%*s%zu more (--json)\n", LABEL, "", c.by[v] - shown);
    }
    if (c.only_a || c.only_b)
        hu_out_printf(out, "\n%zu only in A, %zu only in B\n", c.only_a, c.only_b);
    return true;
}

bool hu_results_diff_json(const hu_results *a, const hu_results *b, hu_arena *scratch, hu_out *out)
{
    static const char *const words[VERDICTS] = {"slower", "faster", "within_spread", "no_spread"};
    hu_json_out              j = {.out = out, .is_empty = true};
    comparison               c;

    if (!compare(a, b, scratch, &c))
        return false;
    hu_json_open(&j, NULL, '{');
    hu_json_str(&j, "kind", HU_STR("results_diff"));
    hu_json_str(&j, "a", a->file);
    hu_json_str(&j, "b", b->file);
    hu_json_int(&j, "only_in_a", (int64_t)c.only_a);
    hu_json_int(&j, "only_in_b", (int64_t)c.only_b);
    hu_json_open(&j, "benchmarks", '[');
    for (size_t i = 0; i < c.n; i++) {
        hu_json_open(&j, NULL, '{');
        hu_json_str(&j, "name", c.at[i].a->name);
        hu_json_str(&j, "unit", hu_str_of(kinds[c.at[i].a->kind]));
        hu_json_str(&j, "verdict", hu_str_of(words[c.at[i].says]));
        put_value(&j, "a", c.at[i].a->median);
        put_value(&j, "b", c.at[i].b->median);
        put_value(&j, "ratio", c.at[i].ratio);
        hu_json_close(&j, '}');
    }
    hu_json_close(&j, ']');
    hu_json_close(&j, '}');
    hu_out_text(out, "\n");
    return true;
}
