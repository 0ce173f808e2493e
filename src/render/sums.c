/* SPDX-License-Identifier: Apache-2.0
 * sums.c - one list of cells for all three faces, so that they cannot differ. */
#include "render/sums.h"

#include <math.h>
#include <stdio.h>

#include "base/csv_text.h"
#include "base/number.h"
#include "base/units.h"

enum { MOST_CELLS = 12, CELL_BYTES = HU_NUMBER_BYTES, LEAST_NAME = 24 };

typedef struct {
    const char *heading[MOST_CELLS];
    int         n, n_numbers; /* numbers come first, texts behind them */
    char        texts[MOST_CELLS][CELL_BYTES];
} layout;

static void add(layout *l, const char *heading)
{
    l->heading[l->n++] = heading;
}

static layout layout_of(const hu_sums_report *r)
{
    static const char *const times[] = {"Total Time (ns)", "Avg (ns)", "Med (ns)", "Min (ns)", "Max (ns)", "StdDev (ns)"};
    static const char *const sizes[] = {"Total (MB)", "Avg (MB)", "Med (MB)", "Min (MB)", "Max (MB)", "StdDev (MB)"};
    const char *const       *unit = r->in_bytes ? sizes : times;
    layout                   l = {0};

    if (!r->in_bytes)
        add(&l, "Time (%)");
    add(&l, unit[0]);
    add(&l, r->count);
    for (int i = 1; i < 6; i++)
        add(&l, unit[i]);
    l.n_numbers = l.n;
    if (r->label == HU_SUMS_STYLE_RANGE || r->label == HU_SUMS_CATEGORY_OPERATION)
        add(&l, r->label == HU_SUMS_STYLE_RANGE ? "Style" : "Category");
    add(&l, r->label == HU_SUMS_NAME ? "Name" : r->label >= HU_SUMS_STYLE_RANGE ? "Range" : "Operation");
    return l;
}

/* A sample of one has no deviation; nsys prints 0 there. */
static double deviation(const hu_stats *s)
{
    return isnan(s->stddev) ? 0 : s->stddev;
}

static void fill_numbers(layout *l, const hu_sums_report *r, const hu_sums *sums, const hu_sum *row)
{
    const hu_stats *s = &row->stats;
    const double    unit = r->in_bytes ? 1e6 : 1;
    const double    values[] = {s->mean, s->median, (double)s->min, (double)s->max, deviation(s)};
    int             n = 0;

    if (!r->in_bytes)
        hu_format_fixed(l->texts[n++], sums->total ? 100.0 * (double)s->sum / (double)sums->total : 0, 1);
    if (r->in_bytes)
        hu_format_fixed(l->texts[n++], (double)s->sum / unit, 3);
    else
        n += hu_format_i64(l->texts[n], s->sum) > 0;
    snprintf(l->texts[n++], CELL_BYTES, "%zu", s->n);
    for (size_t i = 0; i < HU_COUNT(values); i++)
        hu_format_fixed(l->texts[n++], values[i] / unit, r->in_bytes ? 3 : i == 2 || i == 3 ? 0 : 1);
}

static hu_str text_of(const layout *l, const hu_sum *row, int column)
{
    return l->n - l->n_numbers == 2 && column == l->n_numbers ? row->group : row->name;
}

static void pad(hu_out *out, size_t used, size_t width)
{
    for (; used < width; used++)
        hu_out_text(out, " ");
}

void hu_sums_write_text(hu_out *out, const hu_sums_report *report, const char *asked, const hu_sums *sums, size_t width)
{
    layout l = layout_of(report);
    size_t wide[MOST_CELLS], used = 0;

    for (int c = 0; c < l.n; c++)
        wide[c] = strlen(l.heading[c]);
    for (size_t i = 0; i < sums->n; i++) {
        fill_numbers(&l, report, sums, &sums->at[i]);
        for (int c = 0; c < l.n; c++) {
            const size_t n = c < l.n_numbers ? strlen(l.texts[c]) : hu_units_width(text_of(&l, &sums->at[i], c));

            wide[c] = n > wide[c] ? n : wide[c];
        }
    }
    for (int c = 0; c + 1 < l.n; c++)
        used += wide[c] + 2;
    if (width)
        wide[l.n - 1] = used + LEAST_NAME > width ? LEAST_NAME : width - used;
    hu_out_printf(out, " ** %s (%s):\n\n", report->title, asked);
    for (int c = 0; c < l.n; c++) {
        pad(out, strlen(l.heading[c]), c < l.n_numbers ? wide[c] : 0);
        hu_out_text(out, l.heading[c]);
        if (c + 1 < l.n)
            pad(out, c < l.n_numbers ? 0 : strlen(l.heading[c]), c < l.n_numbers ? 2 : wide[c] + 2);
    }
    hu_out_text(out, "\n");
    for (size_t i = 0; i < sums->n; i++) {
        fill_numbers(&l, report, sums, &sums->at[i]);
        for (int c = 0; c < l.n_numbers; c++) {
            pad(out, strlen(l.texts[c]), wide[c]);
            hu_out_printf(out, "%s  ", l.texts[c]);
        }
        for (int c = l.n_numbers; c < l.n; c++) {
            const hu_str text = text_of(&l, &sums->at[i], c);

            hu_units_clip(out, text, c + 1 < l.n ? wide[c] : width ? wide[c] : hu_units_width(text));
            if (c + 1 < l.n)
                pad(out, hu_units_width(text), wide[c] + 2);
        }
        hu_out_text(out, "\n");
    }
    hu_out_text(out, "\n");
}

void hu_sums_write_csv(hu_out *out, const hu_sums_report *report, const hu_sums *sums)
{
    layout l = layout_of(report);

    for (int c = 0; c < l.n; c++)
        hu_out_printf(out, "%s%s", c ? "," : "", l.heading[c]);
    hu_out_text(out, "\n");
    for (size_t i = 0; i < sums->n; i++) {
        fill_numbers(&l, report, sums, &sums->at[i]);
        for (int c = 0; c < l.n; c++) {
            hu_out_text(out, c ? "," : "");
            if (c < l.n_numbers)
                hu_out_text(out, l.texts[c]);
            else
                hu_csv_text(out, text_of(&l, &sums->at[i], c));
        }
        hu_out_text(out, "\n");
    }
}

void hu_sums_write_json(hu_json_out *j, const char *key, const hu_sums_report *report, const hu_sums *sums)
{
    layout l = layout_of(report);

    hu_json_open(j, key, '[');
    for (size_t i = 0; i < sums->n; i++) {
        fill_numbers(&l, report, sums, &sums->at[i]);
        hu_json_open(j, NULL, '{');
        for (int c = 0; c < l.n; c++) {
            if (c < l.n_numbers)
                hu_json_digits(j, l.heading[c], l.texts[c]);
            else
                hu_json_str(j, l.heading[c], text_of(&l, &sums->at[i], c));
        }
        hu_json_close(j, '}');
    }
    hu_json_close(j, ']');
}
