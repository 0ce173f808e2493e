/* SPDX-License-Identifier: Apache-2.0
 * table.c - tables and bars of the page as plain markup, for those who read it without its script. */
#include <math.h>
#include <string.h>

#include "base/number.h"
#include "render/page/page.h"
#include "render/table/plain.h"
#include "base/units.h"

enum { NAME_BYTES = 160, BAR_WIDTH = 1000, BAR_HEIGHT = 28, SHORT_COLUMNS = 4 };

void hu_page_number(hu_out *out, hu_cell_type type, double number)
{
    char text[HU_UNIT_BYTES];

    if (isnan(number)) {
        hu_out_text(out, "–");
        return;
    }
    switch (type) {
    case HU_CELL_NS:
        hu_units_time(text, number);
        break;
    case HU_CELL_ID:
        hu_format_i64(text, (int64_t)number);
        break;
    case HU_CELL_BYTES:
        hu_units_bytes(text, number);
        break;
    case HU_CELL_COUNT:
        hu_units_count(text, (int64_t)number);
        break;
    case HU_CELL_BOOL:
        snprintf(text, sizeof text, "%s", number != 0 ? "yes" : "no");
        break;
    case HU_CELL_PERCENT:
        hu_format_fixed(text, number, 1);
        break;
    default:
        hu_units_number(text, number);
    }
    hu_out_text(out, text);
}

void hu_page_quantity(hu_out *out, const char *before, hu_cell_type type, double number)
{
    hu_out_printf(out, "<n-u>%s", before);
    hu_page_number(out, type, number);
    hu_out_text(out, "</n-u>");
}

void hu_page_open_link(hu_page *p, const char *section, const char *to, const char *more)
{
    hu_out_printf(p->out, "<a href=\"#%s\"", section);
    if (to)
        hu_out_printf(p->out, " data-to=\"%s%sr=%zu\"", to, strchr(to, '?') ? "&amp;" : "?", p->r->job->verdict.rank);
    hu_out_printf(p->out, "%s>", more ? more : "");
}

static bool is_shown(const hu_column *c, const hu_rank *rank)
{
    return c->head && (!c->shown || c->shown(rank));
}

/* Which columns are drawn, in their order: names stand last in a text, where they take what is left, and first here. */
typedef struct {
    const hu_table *table;
    const char     *section; /* that names lead to; NULL: nowhere */
    size_t          column[64], n;
} layout;

/* What a row is called; "note" of a step is no name. */
static bool is_name(const hu_column *c)
{
    static const char *const keys[] = {"name", "words", "title"};

    for (size_t i = 0; c->key && i < HU_COUNT(keys); i++)
        if (strcmp(c->key, keys[i]) == 0)
            return true;
    return false;
}

static void lay_out(const hu_rank *rank, size_t most, layout *l)
{
    const hu_table *t = l->table;
    size_t          name = t->n_columns;

    for (size_t k = 0; k < t->n_columns && name == t->n_columns; k++)
        if (is_name(&t->columns[k]) && is_shown(&t->columns[k], rank))
            name = k;
    if (name < t->n_columns)
        l->column[l->n++] = name;
    for (size_t k = 0; k < t->n_columns && l->n < most; k++)
        if (k != name && is_shown(&t->columns[k], rank))
            l->column[l->n++] = k;
}

static void write_name(hu_out *out, hu_str text)
{
    hu_markup_text(out, (hu_str){text.p, text.n < NAME_BYTES ? text.n : NAME_BYTES});
    if (text.n > NAME_BYTES)
        hu_out_text(out, "…");
}

/* The end of a tag and what stands in its element: a name with a short form is behind that. */
static void write_short(hu_out *out, const hu_cell *cell)
{
    if (cell->brief.n) {
        hu_out_text(out, " title=\"");
        write_name(out, cell->text);
        hu_out_text(out, "\"");
    }
    hu_out_text(out, ">");
    write_name(out, cell->brief.n ? cell->brief : cell->text);
}

/* Row `at` of the table that the script draws. */
static void write_link(hu_page *p, const char *section, size_t at, const hu_cell *cell)
{
    hu_out_printf(p->out, "<td class=\"t\"><a href=\"#%s\" data-to=\"/%s?r=%zu&amp;row=%zu\"", section, section,
                  p->r->job->verdict.rank, at);
    write_short(p->out, cell);
    hu_out_text(p->out, "</a></td>");
}

static void write_text_cell(hu_page *p, const hu_column *c, hu_cell *cell)
{
    cell->text = hu_plain_value(c, cell->text);
    hu_out_text(p->out, "<td class=\"t\"");
    write_short(p->out, cell);
    hu_out_text(p->out, "</td>");
}

static void write_row(hu_page *p, const layout *l, size_t row, size_t at)
{
    hu_out_text(p->out, "<tr>");
    for (size_t k = 0; k < l->n; k++) {
        const hu_column *c = &l->table->columns[l->column[k]];
        hu_cell          cell = {0};

        c->get(p->rank, row, &cell);
        if (c->type == HU_CELL_TEXT && k == 0 && l->section)
            write_link(p, l->section, at, &cell);
        else if (c->type == HU_CELL_TEXT)
            write_text_cell(p, c, &cell);
        else {
            hu_out_text(p->out, "<td>");
            hu_page_number(p->out, c->type, cell.is_whole ? (double)cell.whole : cell.number);
            hu_out_text(p->out, "</td>");
        }
    }
    hu_out_text(p->out, "</tr>\n");
}

static int write_table(hu_page *p, const layout *l, const char *word, size_t most, hu_error *err)
{
    const hu_table *t = l->table;
    const size_t    n = t->rows(p->rank);
    hu_part         part;
    const bool      is_known = hu_views_find(hu_str_of(word), &part);
    hu_plain        help;
    const uint32_t *order = hu_columns_order(t, p->rank, n, p->r->sort, p->r->scratch);

    if (!order)
        return hu_fail_memory(err);
    hu_out_printf(p->out, "<h3>%s", t->title);
    if (l->section && p->r->job->n > 1) {
        hu_page_of_rank(p, " <span class=\"note\">");
        hu_out_text(p->out, "</span>");
    }
    hu_out_text(p->out, "</h3>\n");
    if (n == 0) {
        hu_out_printf(p->out, "<p class=\"note\">%s</p>\n", t->empty);
        return 0;
    }
    hu_out_printf(p->out, "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"%s\"><table>\n<thead><tr>",
                  t->title);
    for (size_t k = 0; k < l->n; k++) {
        const hu_column *c = &t->columns[l->column[k]];

        hu_out_printf(p->out, "<th scope=\"col\"%s", c->type == HU_CELL_TEXT ? " class=\"t\"" : "");
        if (l->section && is_known) { /* the script draws the other tables again, with buttons that say it */
            hu_out_text(p->out, " title=\"");
            hu_markup_text(p->out, hu_plain_help(&help, part.view, t, c));
            hu_out_text(p->out, "\"");
        }
        hu_out_printf(p->out, ">%s</th>", c->head);
    }
    hu_out_text(p->out, "</tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < n && i < most; i++)
        write_row(p, l, order[i], i);
    hu_out_text(p->out, "</tbody></table></div>\n");
    if (n > most && l->section) {
        hu_out_text(p->out, "<p class=\"note\">");
        hu_page_open_link(p, l->section, NULL, NULL);
        hu_out_printf(p->out, "all %zu</a></p>\n", n);
    } else if (n > most)
        hu_out_printf(p->out, "<p class=\"note\">%zu more row%s: <code>holdup report --csv --view %s</code></p>\n", n - most,
                      hu_plural((int64_t)(n - most)), word);
    return 0;
}

int hu_page_table(hu_page *p, const hu_table *t, const char *word, size_t most, hu_error *err)
{
    layout l = {.table = t};

    lay_out(p->rank, HU_COUNT(l.column), &l);
    return write_table(p, &l, word, most, err);
}

int hu_page_short_table(hu_page *p, const hu_table *t, const char *word, const char *section, size_t most, hu_error *err)
{
    layout l = {.table = t, .section = section};

    lay_out(p->rank, SHORT_COLUMNS, &l);
    return write_table(p, &l, word, most, err);
}

/* Pieces of a bar on a page without sections lead nowhere. */
static void open_place(hu_page *p, const hu_page_share *x, const char *more)
{
    if (x->section)
        hu_page_open_link(p, x->section, x->to, more);
}

static const char *close_place(const hu_page_share *x)
{
    return x->section ? "</a>" : "";
}

static void write_pieces(hu_page *p, const hu_page_share *shares, size_t n, double whole_ns)
{
    double x = 0;

    for (size_t i = 0; i < n; i++) {
        const double width = BAR_WIDTH * shares[i].ns / whole_ns;

        if (width <= 0)
            continue;
        open_place(p, &shares[i], " tabindex=\"-1\"");
        hu_out_printf(p->out, "<rect class=\"%s\" height=\"%d\" x=\"", shares[i].class, BAR_HEIGHT);
        hu_out_fixed(p->out, x, 2);
        hu_out_text(p->out, "\" width=\"");
        hu_out_fixed(p->out, width, 2);
        hu_out_printf(p->out, "\"><title>%s</title></rect>%s", shares[i].label, close_place(&shares[i]));
        x += width;
    }
}

void hu_page_shares(hu_page *p, const char *title, const hu_page_share *shares, size_t n, double whole_ns)
{
    hu_out_printf(p->out, "<figure class=\"shares\"><figcaption>%s</figcaption>\n", title);
    hu_out_printf(p->out, "<svg class=\"bar\" viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\" aria-hidden=\"true\">",
                  BAR_WIDTH, BAR_HEIGHT);
    if (whole_ns > 0)
        write_pieces(p, shares, n, whole_ns);
    hu_out_text(p->out, "</svg>\n<table class=\"key\">\n");
    for (size_t i = 0; i < n; i++) {
        if (!(shares[i].ns > 0))
            continue;
        hu_out_printf(p->out,
                      "<tr><td><svg class=\"swatch\" aria-hidden=\"true\"><rect class=\"%s\"/></svg></td><th scope=\"row\">",
                      shares[i].class);
        open_place(p, &shares[i], NULL);
        hu_out_printf(p->out, "%s%s</th><td>", shares[i].label, close_place(&shares[i]));
        hu_page_number(p->out, HU_CELL_NS, shares[i].ns);
        hu_out_text(p->out, "</td><td>");
        hu_out_fixed(p->out, whole_ns > 0 ? 100 * shares[i].ns / whole_ns : 0, 1);
        hu_out_text(p->out, " %</td></tr>\n");
    }
    hu_out_text(p->out, "</table></figure>\n");
}
