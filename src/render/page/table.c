/* SPDX-License-Identifier: Apache-2.0
 * table.c - tables and bars of the page as plain markup, for those who read it without its script. */
#include <math.h>

#include "base/number.h"
#include "render/page/page.h"
#include "base/units.h"

enum { NAME_BYTES = 160, BAR_WIDTH = 1000, BAR_HEIGHT = 28 };

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

static bool is_shown(const hu_column *c, const hu_rank *rank)
{
    return c->head && (!c->shown || c->shown(rank));
}

static void write_name(hu_out *out, hu_str text)
{
    hu_markup_text(out, (hu_str){text.p, text.n < NAME_BYTES ? text.n : NAME_BYTES});
    if (text.n > NAME_BYTES)
        hu_out_text(out, "…");
}

static void write_row(hu_page *p, const hu_table *t, size_t row)
{
    hu_out_text(p->out, "<tr>");
    for (size_t k = 0; k < t->n_columns; k++) {
        const hu_column *c = &t->columns[k];
        hu_cell          cell = {0};

        if (!is_shown(c, p->rank))
            continue;
        c->get(p->rank, row, &cell);
        hu_out_text(p->out, c->type == HU_CELL_TEXT ? "<td class=\"t\">" : "<td>");
        if (c->type == HU_CELL_TEXT)
            write_name(p->out, cell.text);
        else
            hu_page_number(p->out, c->type, cell.is_whole ? (double)cell.whole : cell.number);
        hu_out_text(p->out, "</td>");
    }
    hu_out_text(p->out, "</tr>\n");
}

int hu_page_table(hu_page *p, const hu_table *t, const char *word, size_t most, hu_error *err)
{
    const size_t    n = t->rows(p->rank);
    const uint32_t *order = hu_columns_order(t, p->rank, n, p->r->sort, p->r->scratch);

    if (!order)
        return hu_fail_memory(err);
    hu_out_printf(p->out, "<h3>%s</h3>\n", t->title);
    if (n == 0) {
        hu_out_printf(p->out, "<p class=\"note\">%s</p>\n", t->empty);
        return 0;
    }
    hu_out_printf(p->out, "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"%s\"><table>\n<thead><tr>",
                  t->title);
    for (size_t k = 0; k < t->n_columns; k++)
        if (is_shown(&t->columns[k], p->rank))
            hu_out_printf(p->out, "<th scope=\"col\"%s>%s</th>", t->columns[k].type == HU_CELL_TEXT ? " class=\"t\"" : "",
                          t->columns[k].head);
    hu_out_text(p->out, "</tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < n && i < most; i++)
        write_row(p, t, order[i]);
    hu_out_text(p->out, "</tbody></table></div>\n");
    if (n > most)
        hu_out_printf(p->out, "<p class=\"note\">%zu more row%s: <code>holdup report --csv --view %s</code></p>\n", n - most,
                      hu_plural((int64_t)(n - most)), word);
    return 0;
}

static void write_pieces(hu_page *p, const hu_page_share *shares, size_t n, double whole_ns)
{
    double x = 0;

    for (size_t i = 0; i < n; i++) {
        const double width = BAR_WIDTH * shares[i].ns / whole_ns;

        if (width <= 0)
            continue;
        hu_out_printf(p->out, "<rect class=\"%s\" y=\"0\" height=\"%d\" x=\"", shares[i].class, BAR_HEIGHT);
        hu_out_fixed(p->out, x, 2);
        hu_out_text(p->out, "\" width=\"");
        hu_out_fixed(p->out, width, 2);
        hu_out_printf(p->out, "\"><title>%s</title></rect>", shares[i].label);
        x += width;
    }
}

void hu_page_shares(hu_page *p, const char *title, const hu_page_share *shares, size_t n, double whole_ns)
{
    hu_out_printf(p->out, "<figure class=\"shares\"><figcaption>%s</figcaption>\n", title);
    hu_out_printf(p->out,
                  "<svg class=\"bar\" viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\" role=\"img\" "
                  "aria-label=\"%s; the numbers are in the table below\">",
                  BAR_WIDTH, BAR_HEIGHT, title);
    if (whole_ns > 0)
        write_pieces(p, shares, n, whole_ns);
    hu_out_text(p->out, "</svg>\n<table class=\"key\">\n");
    for (size_t i = 0; i < n; i++) {
        if (!(shares[i].ns > 0))
            continue;
        hu_out_printf(p->out,
                      "<tr><td><svg class=\"swatch\" viewBox=\"0 0 12 12\" aria-hidden=\"true\"><rect "
                      "class=\"%s\" width=\"12\" height=\"12\"/></svg></td><th scope=\"row\">%s</th><td>",
                      shares[i].class, shares[i].label);
        hu_page_number(p->out, HU_CELL_NS, shares[i].ns);
        hu_out_text(p->out, "</td><td>");
        hu_out_fixed(p->out, whole_ns > 0 ? 100 * shares[i].ns / whole_ns : 0, 1);
        hu_out_text(p->out, " %</td></tr>\n");
    }
    hu_out_text(p->out, "</table></figure>\n");
}
