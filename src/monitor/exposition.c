/* SPDX-License-Identifier: Apache-2.0
 * exposition.c - gathers rows by metric, sorts the series of each and writes them.
 *
 * Formats: prometheus/docs exposition_formats.md, OpenMetrics 1.0.  A label without a value is left out, which is the same
 * series to both.  The second of two rows with the same labels is left out: it would make the whole scrape fail.
 */
#include "monitor/exposition.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"

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

static void put_bytes(hu_text *t, const char *bytes, size_t n)
{
    if (!t->text)
        return;
    if (t->n + n + 1 > t->room) {
        const size_t room = (t->n + n + 1) * 2;
        char        *text = realloc(t->text, room);

        if (!text) {
            free(t->text);
            t->text = NULL;
            return;
        }
        t->text = text;
        t->room = room;
    }
    memcpy(t->text + t->n, bytes, n);
    t->n += n;
    t->text[t->n] = '\0';
}

static void put_word(hu_text *t, const char *word)
{
    put_bytes(t, word, strlen(word));
}

/* A label's value, or (without quotes) a help: what would end it or the line is escaped. */
static void put_escaped(hu_text *t, const char *value, bool quotes)
{
    while (*value) {
        const size_t n = strcspn(value, quotes ? "\\\n\"" : "\\\n");

        put_bytes(t, value, n);
        value += n;
        if (!*value)
            break;
        put_word(t, *value == '\n' ? "\\n" : *value == '\\' ? "\\\\" : "\\\"");
        value++;
    }
}

static void put_number(hu_text *t, double value)
{
    char number[HU_NUMBER_BYTES];

    if (value >= -9e15 && value <= 9e15 && value == (double)(int64_t)value)
        hu_format_i64(number, (int64_t)value);
    else
        hu_format_f64(number, value, false);
    put_word(t, number);
}

static void put_series(hu_text *t, const hu_reading *r)
{
    const char *separator = "{";

    put_word(t, hu_metric_rows[r->metric].name);
    for (size_t i = 0; i < r->n; i++) {
        size_t      n;
        const char *key = hu_metric_label(r->metric, i, &n);

        if (!r->label[i][0])
            continue;
        put_word(t, separator);
        put_bytes(t, key, n);
        put_word(t, "=\"");
        put_escaped(t, r->label[i], true);
        put_word(t, "\"");
        separator = ",";
    }
    put_word(t, separator[0] == ',' ? "} " : " ");
    put_number(t, r->value);
    put_word(t, "\n");
}

static void put_family(hu_text *t, hu_metric m, hu_text_format format)
{
    static const char *const types[] = {
        [HU_METRIC_GAUGE] = "gauge", [HU_METRIC_COUNTER] = "counter", [HU_METRIC_INFO] = "info"};
    const hu_metric_row *row = &hu_metric_rows[m];
    const bool           is_open = format == HU_TEXT_OPENMETRICS;
    size_t               n = strlen(row->name);

    /* OpenMetrics knows these by the name without its suffix */
    if (is_open && row->type == HU_METRIC_COUNTER)
        n -= strlen("_total");
    if (is_open && row->type == HU_METRIC_INFO)
        n -= strlen("_info");
    put_word(t, "# HELP ");
    put_bytes(t, row->name, n);
    put_word(t, " ");
    put_escaped(t, row->help, is_open);
    put_word(t, "\n# TYPE ");
    put_bytes(t, row->name, n);
    put_word(t, " ");
    put_word(t, !is_open && row->type == HU_METRIC_INFO ? "gauge" : types[row->type]);
    put_word(t, "\n");
    if (is_open && row->unit[0]) {
        put_word(t, "# UNIT ");
        put_bytes(t, row->name, n);
        put_word(t, " ");
        put_word(t, row->unit);
        put_word(t, "\n");
    }
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static void gather(gathered *g, const hu_readings *r)
{
    size_t at = 0;

    for (;;) {
        if (g->n == g->room) {
            const size_t room = g->room ? 2 * g->room : 1024;
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
        g->n++;
    }
}

static int compare(const void *a, const void *b)
{
    const hu_reading *x = a, *y = b;

    if (x->metric != y->metric)
        return x->metric < y->metric ? -1 : 1;
    for (size_t i = 0; i < x->n; i++) {
        const int by = strverscmp(x->label[i], y->label[i]);

        if (by)
            return by;
    }
    return 0;
}

typedef struct {
    hu_text       *text;
    hu_text_format format;
    bool           has_failed;
} writing;

static void write_all(void *context, const hu_held *held, size_t n)
{
    writing *w = context;
    gathered g = {0};

    for (size_t i = 0; i < n; i++)
        gather(&g, held[i].readings);
    if (g.n)
        qsort(g.at, g.n, sizeof *g.at, compare);
    for (size_t i = 0; i < g.n; i++) {
        if (i > 0 && compare(&g.at[i - 1], &g.at[i]) == 0)
            continue;
        if (i == 0 || g.at[i].metric != g.at[i - 1].metric)
            put_family(w->text, g.at[i].metric, w->format);
        put_series(w->text, &g.at[i]);
    }
    if (w->format == HU_TEXT_OPENMETRICS)
        put_word(w->text, "# EOF\n");
    w->has_failed = g.has_failed || !w->text->text;
    free(g.at);
}

hu_text *hu_text_new(hu_keeper *k, hu_text_format format)
{
    hu_text *t = calloc(1, sizeof *t);
    writing  w = {.text = t, .format = format};

    if (!t)
        return NULL;
    t->holders = 1;
    t->room = 16 << 10;
    t->text = malloc(t->room);
    t->version = hu_keeper_version(k);
    hu_keeper_read(k, write_all, &w);
    if (!w.has_failed)
        return t;
    hu_text_drop(t);
    return NULL;
}

void hu_text_drop(hu_text *t)
{
    if (!t || atomic_fetch_sub(&t->holders, 1) != 1)
        return;
    free(t->text);
    free(t);
}
