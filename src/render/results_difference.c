/* SPDX-License-Identifier: Apache-2.0
 * results_difference.c - two files of benchmarks: what got slower beyond its own spread.
 *
 * A benchmark changed beyond its own spread where the middle halves of its rounds, from q1 to q3, do not touch.  Where a
 * file tells no quartiles nothing tells a change from noise, and that is said.
 */
#include "render/results.h"

#include <math.h>
#include <stdlib.h>

enum { LABEL = 8, ROWS = 20, LINE_BYTES = 600, NAME = 60, COLUMN = 9 };

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
    if (!hu_results_has_spread(a) || !hu_results_has_spread(b) || a->kind == HU_RESULT_NUMBER)
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

/* In a column of its own, whose texts may hold a micro sign. */
static void write_right(hu_out *out, const char *text)
{
    hu_out_printf(out, "%*s%s", (int)(LABEL + COLUMN - hu_units_width(hu_str_of(text))), "", text);
}

static void write_pair(const pair *p, hu_out *out)
{
    const hu_said b = hu_results_say(p->b->kind, p->b->median);
    char          change[HU_UNIT_BYTES] = "";

    if (isfinite(p->ratio))
        snprintf(change, sizeof change, "%+.1f %%", 100 * (p->ratio - 1));
    write_right(out, hu_results_say(p->a->kind, p->a->median).t);
    hu_out_printf(out, "%*s", (int)(COLUMN + 2 - hu_units_width(hu_str_of(b.t))), "");
    hu_out_printf(out, "%s  %9s  ", b.t, change);
    hu_units_clip(out, p->a->name, NAME);
    hu_out_text(out, "\n");
}

bool hu_results_diff_text(const hu_results *a, const hu_results *b, hu_arena *scratch, size_t width, hu_out *out)
{
    static const char *const labels[VERDICTS] = {"SLOWER", "FASTER", "SAME", "UNCLEAR"};
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
        hu_json_str(&j, "unit", hu_str_of(hu_result_units[c.at[i].a->kind]));
        hu_json_str(&j, "verdict", hu_str_of(words[c.at[i].says]));
        hu_results_put(&j, "a", c.at[i].a->median);
        hu_results_put(&j, "b", c.at[i].b->median);
        hu_results_put(&j, "ratio", c.at[i].ratio);
        hu_json_close(&j, '}');
    }
    hu_json_close(&j, ']');
    hu_json_close(&j, '}');
    hu_out_text(out, "\n");
    return true;
}
