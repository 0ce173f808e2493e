/* SPDX-License-Identifier: Apache-2.0
 * exposition.c - gathers rows by metric, sorts the series of each and writes them.
 *
 * Formats: prometheus/docs exposition_formats.md, OpenMetrics 1.0.  A label without a value is left out, which is the same
 * series to both.  The second of two rows with the same labels is left out: it would make the whole scrape fail.
 */
#include "monitor/serve/exposition.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "monitor/serve/dcgm_names.h"

typedef struct {
    hu_reading *at;
    size_t      n, room;
    bool        has_failed;
} gathered;

const char *hu_text_type(hu_text_format format)
{
    return format == HU_TEXT_OPENMETRICS ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                                         : "text/plain; version=0.0.4; charset=utf-8";
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

/* One line; `suffix` and the last label are those of a histogram's, and NULL of others. */
static void put_line(hu_text *t, const hu_reading *r, const char *suffix, const char *limit, double value)
{
    const char *separator = "{";

    hu_text_word(t, hu_metric_rows[r->metric].name);
    if (suffix)
        hu_text_word(t, suffix);
    for (size_t i = 0; i < r->n; i++) {
        size_t      n;
        const char *key = hu_metric_label(r->metric, i, &n);

        hu_text_label(t, &separator, key, n, r->label[i]);
    }
    if (limit)
        hu_text_label(t, &separator, "le", 2, limit);
    hu_text_value(t, separator, value);
}

/* Buckets are added up in the text: each holds all that is not above its limit. */
static void put_histogram(hu_text *t, const hu_reading *r, hu_text_format format)
{
    size_t        n;
    const double *limits = hu_metric_limits(r->metric, &n);
    uint64_t      sum = 0;

    for (size_t i = 0; i < r->n_counts; i++) {
        char limit[32] = "+Inf";

        sum += hu_reading_count(r, i);
        if (i < n) /* OpenMetrics writes whole limits with a point, as clients of Prometheus do */
            snprintf(limit, sizeof limit, format == HU_TEXT_OPENMETRICS && limits[i] == floor(limits[i]) ? "%g.0" : "%g",
                     limits[i]);
        put_line(t, r, "_bucket", limit, (double)sum);
    }
    put_line(t, r, "_sum", NULL, r->value);
    put_line(t, r, "_count", NULL, (double)sum);
}

static void put_series(hu_text *t, const hu_reading *r, hu_text_format format)
{
    if (r->n_counts)
        put_histogram(t, r, format);
    else
        put_line(t, r, NULL, NULL, r->value);
}

static void put_about(hu_text *t, const char *what, const char *name, size_t n)
{
    hu_text_word(t, what);
    hu_text_bytes(t, name, n);
    hu_text_word(t, " ");
}

static void put_family(hu_text *t, hu_metric m, hu_text_format format)
{
    static const char *const types[] = {[HU_METRIC_GAUGE] = "gauge",
                                        [HU_METRIC_COUNTER] = "counter",
                                        [HU_METRIC_INFO] = "info",
                                        [HU_METRIC_HISTOGRAM] = "histogram"};
    const hu_metric_row     *row = &hu_metric_rows[m];
    const bool               is_open = format == HU_TEXT_OPENMETRICS;
    size_t                   n = strlen(row->name);

    /* OpenMetrics knows these by the name without its suffix */
    if (is_open && row->type == HU_METRIC_COUNTER)
        n -= strlen("_total");
    if (is_open && row->type == HU_METRIC_INFO)
        n -= strlen("_info");
    put_about(t, "# HELP ", row->name, n);
    hu_text_escaped(t, row->help, is_open);
    put_about(t, "\n# TYPE ", row->name, n);
    hu_text_word(t, !is_open && row->type == HU_METRIC_INFO ? "gauge" : types[row->type]);
    if (is_open && row->unit[0]) {
        put_about(t, "\n# UNIT ", row->name, n);
        hu_text_word(t, row->unit);
    }
    hu_text_word(t, "\n");
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* What neither format can say, or what is not this page's to say. */
static bool is_left_out(const hu_reading *r, const hu_text_how *how)
{
    const hu_metric_row *row = &hu_metric_rows[r->metric];

    return (row->type == HU_METRIC_COUNTER && r->value < 0) || (row->type == HU_METRIC_HISTOGRAM && r->value < 0) ||
           (how->is_guest && hu_str_starts(hu_str_of(row->name), HU_STR("process_")));
}

static void gather(gathered *g, const hu_readings *r, const hu_text_how *how)
{
    size_t at = 0;

    for (;;) {
        if (g->n == g->room) {
            const size_t room = g->room ? 2 * g->room : 256;
            hu_reading  *more = realloc(g->at, room * sizeof *more);

            if (!more) {
                g->has_failed = true;
                return;
            }
            g->at = more;
            g->room = room;
        }
        if (!hu_readings_next(r, &at, &g->at[g->n]))
            return;
        if (!is_left_out(&g->at[g->n], how))
            g->n++;
    }
}

/* Numbers in labels in their order: GPU 2 comes before GPU 10. */
static int compare_labels(const hu_reading *x, const hu_reading *y)
{
    if (x->metric != y->metric)
        return x->metric < y->metric ? -1 : 1;
    for (size_t i = 0; i < x->n; i++) {
        const int by = strverscmp(x->label[i], y->label[i]);

        if (by)
            return by;
    }
    return 0;
}

static int compare(const void *a, const void *b)
{
    const hu_reading *x = a, *y = b;
    const int         by = compare_labels(x, y);

    return by ? by : (x->value > y->value) - (x->value < y->value);
}

static void drop_twins(gathered *g)
{
    size_t n = 0;

    for (size_t i = 0; i < g->n; i++)
        if (n == 0 || compare_labels(&g->at[n - 1], &g->at[i]) != 0)
            g->at[n++] = g->at[i];
    g->n = n;
}

hu_text *hu_text_of(const hu_held *held, size_t n, const hu_text_how *how)
{
    hu_text  *t = hu_text_empty();
    gathered  g = {.has_failed = !t};
    hu_metric family = HU_METRIC_COUNT;

    for (size_t i = 0; i < n && !g.has_failed; i++)
        gather(&g, held[i].readings, how);
    if (g.n)
        qsort(g.at, g.n, sizeof *g.at, compare);
    drop_twins(&g);
    for (size_t i = 0; i < g.n && !g.has_failed; i++) {
        if (how->names == HU_NAMES_DCGM && hu_dcgm_has(g.at, g.n, i))
            continue;
        if (g.at[i].metric != family)
            put_family(t, g.at[i].metric, how->format);
        family = g.at[i].metric;
        put_series(t, &g.at[i], how->format);
    }
    if (!g.has_failed && how->names != HU_NAMES_OWN)
        hu_dcgm_write(t, g.at, g.n, how->format == HU_TEXT_OPENMETRICS);
    if (!g.has_failed && how->format == HU_TEXT_OPENMETRICS)
        hu_text_word(t, "# EOF\n");
    free(g.at);
    if (!g.has_failed && t->text)
        return t;
    hu_text_drop(t);
    return NULL;
}

typedef struct {
    const hu_text_how *how;
    hu_text           *text;
} writing;

static void write_all(void *context, const hu_held *held, size_t n)
{
    writing *w = context;

    w->text = hu_text_of(held, n, w->how);
}

hu_text *hu_text_new(hu_keeper *k, const hu_text_how *how)
{
    const uint64_t version = hu_keeper_version(k); /* before: what changes meanwhile makes another text */
    writing        w = {.how = how};

    hu_keeper_read(k, write_all, &w);
    if (w.text)
        w.text->version = version;
    return w.text;
}
