/* SPDX-License-Identifier: Apache-2.0
 * html.c - the report as one page: no script, nothing fetched, readable in any browser and printable.
 *
 * Names come from strangers: every text goes through write_text, which escapes what markup is made of.
 */
#include <math.h>

#include "advise/findings.h"
#include "advise/say.h"
#include "base/number.h"
#include "render/markup.h"
#include "render/report.h"
#include "render/units.h"

enum { ROWS = 50 };

static const char head_text[] =
    "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>holdup report</title>\n<style>\n"
    ":root{color-scheme:light dark;--line:#8886;--bar:#3b7dd8;--soft:#8882}\n"
    "body{font:15px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem}\n"
    "h1{font-size:1.4rem}h2{font-size:1.1rem;margin-top:2rem}.verdict{font-size:1.15rem;max-width:48rem}\n"
    ".scroll{overflow-x:auto}table{border-collapse:collapse;font-size:.85rem}th,td{padding:.2rem .6rem;"
    "border-bottom:1px solid var(--line);text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}\n"
    "th:last-child,td:last-child,td.t,th.t{text-align:left}td.t{max-width:36rem;overflow:hidden;text-overflow:ellipsis}\n"
    ".bar{display:inline-block;height:.8em;background:var(--bar);vertical-align:baseline}\n"
    ".note{opacity:.75}tr:hover{background:var(--soft)}\n</style>\n</head>\n<body>\n<main>\n";

static void write_number(hu_out *out, const hu_column *c, double number)
{
    char text[HU_UNIT_BYTES];

    if (isnan(number)) {
        hu_out_text(out, "–");
        return;
    }
    switch (c->type) {
    case HU_CELL_NS:
        hu_units_time(text, number);
        break;
    case HU_CELL_BYTES:
        hu_units_bytes(text, number);
        break;
    case HU_CELL_COUNT:
        hu_units_count(text, (int64_t)number);
        break;
    case HU_CELL_PERCENT:
        hu_format_fixed(text, number, 1);
        break;
    default:
        hu_format_fixed(text, number, 2);
    }
    hu_out_text(out, text);
}

static bool is_shown(const hu_column *c, const hu_digest *d)
{
    return c->head && (!c->shown || c->shown(d));
}

static int write_table(const hu_report *r, const hu_table *t, const char *view, const hu_digest *d, hu_out *out,
                       hu_error *err)
{
    const size_t     n = t->rows(d), most = r->top ? (size_t)r->top : ROWS;
    const uint32_t  *order = hu_columns_order(t, d, r->sort, r->scratch);

    if (!order)
        return hu_fail_memory(err);
    hu_out_printf(out, "<h2>%s</h2>\n", t->title);
    if (n == 0)
        hu_out_printf(out, "<p class=\"note\">%s</p>\n", t->empty);
    else
        hu_out_text(out, "<div class=\"scroll\"><table>\n<thead><tr>");
    for (size_t k = 0; n && k < t->n_columns; k++)
        if (is_shown(&t->columns[k], d))
            hu_out_printf(out, "<th scope=\"col\"%s>%s</th>", t->columns[k].type == HU_CELL_TEXT ? " class=\"t\"" : "",
                          t->columns[k].head);
    if (n)
        hu_out_text(out, "</tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < n && i < most; i++) {
        hu_out_text(out, "<tr>");
        for (size_t k = 0; k < t->n_columns; k++) {
            const hu_column *c = &t->columns[k];
            hu_cell          cell = {0};

            if (!is_shown(c, d))
                continue;
            c->get(d, order[i], &cell);
            hu_out_text(out, c->type == HU_CELL_TEXT ? "<td class=\"t\" title=\"" : "<td>");
            if (c->type == HU_CELL_TEXT) {
                hu_markup_text(out, cell.text);
                hu_out_text(out, "\">");
                hu_markup_text(out, cell.text);
            } else {
                write_number(out, c, cell.number);
            }
            hu_out_text(out, "</td>");
        }
        hu_out_text(out, "</tr>\n");
    }
    if (n)
        hu_out_text(out, "</tbody></table></div>\n");
    if (n > most)
        hu_out_printf(out, "<p class=\"note\">%zu more rows: holdup report --csv --view %s</p>\n", n - most, view);
    return 0;
}

static void write_share(hu_out *out, const char *label, double ns, double whole_ns)
{
    char text[HU_UNIT_BYTES];

    hu_units_time(text, ns);
    hu_out_printf(out, "<tr><th scope=\"row\" class=\"t\">%s</th><td>%s</td><td>", label, text);
    hu_out_fixed(out, whole_ns > 0 ? 100 * ns / whole_ns : 0, 1);
    hu_out_text(out, " %</td><td class=\"t\"><span class=\"bar\" style=\"width:");
    hu_out_fixed(out, whole_ns > 0 ? 20 * ns / whole_ns : 0, 2);
    hu_out_text(out, "rem\"></span></td></tr>\n");
}

static void write_where(const hu_digest *d, hu_out *out)
{
    const hu_step_time *t = d->steps.n_counted ? &d->breakdown.mean : d->breakdown.n ? &d->breakdown.at[0] : NULL;

    if (!t)
        return;
    hu_out_text(out, "<h2>Where the time goes</h2>\n");
    hu_out_printf(out, "<p class=\"note\">%s</p>\n<table>\n",
                  d->steps.source == HU_STEPS_NONE ? "The whole capture: no steps were found."
                                                   : "Mean of the counted steps.");
    if (d->breakdown.has_device) {
        write_share(out, "compute", t->compute_ns, t->step_ns);
        write_share(out, "exposed communication", t->exposed_comm_ns, t->step_ns);
        write_share(out, "exposed copies", t->exposed_copy_ns, t->step_ns);
        write_share(out, "idle", t->idle_ns, t->step_ns);
        hu_out_text(out, "</table>\n<p class=\"note\">With the host: each instant counts once, for the first that applies."
                         "</p>\n<table>\n");
    }
    for (hu_role r = 0; r < HU_ROLE_COUNT; r++)
        write_share(out, hu_role_label(r), t->role_ns[r], t->step_ns);
    hu_out_text(out, "</table>\n");
}

static void write_health(const hu_digest *d, hu_out *out)
{
    const hu_quality *q = &d->health.quality;

    hu_out_text(out, "<h2>Trace health</h2>\n<ul>\n");
    hu_out_printf(out, "<li>%lld events read, %lld lost</li>\n", (long long)q->events, (long long)hu_quality_lost(q));
    for (hu_reason r = 0; r < HU_REASON_COUNT; r++)
        if (q->count[r])
            hu_out_printf(out, "<li>%lld × %s</li>\n", (long long)q->count[r], hu_reason_words(r));
    if (q->is_truncated)
        hu_out_printf(out, "<li>the file ends in the middle, at byte %lld</li>\n", (long long)q->truncated_at);
    if (d->health.unlinked_kernels)
        hu_out_printf(out, "<li>%lld pieces of device work without a launch</li>\n", (long long)d->health.unlinked_kernels);
    if (d->health.unlinked_launches)
        hu_out_printf(out, "<li>%lld launches without device work</li>\n", (long long)d->health.unlinked_launches);
    for (hu_missing m = 0; m < HU_MISSING_COUNT; m++)
        if (d->health.missing & 1u << m)
            hu_out_printf(out, "<li>not captured: %s – <code>%s</code></li>\n", hu_missing_what(m), hu_missing_how(m));
    hu_out_text(out, "</ul>\n");
}

static int write_rank(const hu_report *r, const hu_digest *d, hu_out *out, hu_error *err)
{
    static const struct {
        const hu_table *table;
        const char     *view;
    } tables[] = {
        {&hu_table_steps, "steps"}, {&hu_table_operators, "ops"}, {&hu_table_kernels, "kernels"},
        {&hu_table_copies, "copies"}};
    int rc = 0;

    hu_out_text(out, "<section>\n<h1>");
    if (d->info.rank >= 0)
        hu_out_printf(out, "rank %lld · ", (long long)d->info.rank);
    hu_markup_text(out, d->info.file);
    hu_out_text(out, "</h1>\n<p class=\"note\">");
    hu_markup_text(out, d->device.n ? d->device : HU_STR("no GPU work"));
    hu_out_text(out, "</p>\n");
    write_where(d, out);
    for (size_t i = 0; rc == 0 && i < HU_COUNT(tables); i++)
        if (i < 2 || tables[i].table->rows(d))
            rc = write_table(r, tables[i].table, tables[i].view, d, out, err);
    write_health(d, out);
    hu_out_text(out, "</section>\n");
    return rc;
}

static void write_findings(const hu_findings *f, hu_out *out)
{
    if (!f || !f->is_replayed)
        return;
    hu_out_text(out, "<section>\n<h1>Why</h1>\n");
    if (f->n == 0)
        hu_out_text(out, f->is_trusted
                             ? "<p>Nothing that a replay of this trace can price would save 1&nbsp;% of a step.</p>\n"
                             : "<p>This trace does not tell what would save time.</p>\n");
    for (size_t i = 0; i < f->n; i++) {
        const hu_finding *x = &f->at[i];
        char              high[HU_NUMBER_BYTES], low[HU_NUMBER_BYTES];

        hu_format_fixed(high, x->high_pct, 0);
        hu_format_fixed(low, x->low_pct, 0);
        hu_out_printf(out, "<h2>%zu. ", i + 1);
        hu_markup_text(out, hu_str_of(hu_rule_title(x->rule)));
        hu_out_text(out, "</h2>\n<p><strong>");
        if (isnan(x->gain_pct))
            hu_out_printf(out, "at most −%s&nbsp;%%</strong>, how much cannot be told", high);
        else
            hu_out_printf(out, "%s → %s, −%s</strong> [−%s … −%s]", hu_say_time(x->before_ns).t,
                          hu_say_time(x->after_ns).t, hu_say_pct(x->gain_pct).t, high, low);
        hu_out_printf(out, " (%s confidence)</p>\n<p>", hu_confidence_name(x->confidence));
        hu_markup_text(out, hu_str_of(x->statement));
        hu_out_text(out, "</p>\n<ul>\n");
        for (size_t k = 0; k < x->n_evidence; k++) {
            hu_out_text(out, "<li>");
            hu_markup_text(out, hu_str_of(x->evidence[k]));
            hu_out_text(out, "</li>\n");
        }
        hu_out_text(out, "<li>fix: ");
        hu_markup_text(out, hu_str_of(hu_rule_fix(x->rule)));
        hu_out_text(out, "</li>\n<li>check: ");
        hu_markup_text(out, hu_str_of(hu_rule_verify(x->rule)));
        hu_out_text(out, "</li>\n</ul>\n");
    }
    hu_out_text(out, "</section>\n");
}

int hu_html_write(const hu_report *report, hu_out *out, hu_error *err)
{
    int rc = 0;

    hu_out_text(out, head_text);
    hu_out_text(out, "<header><p class=\"verdict\"><strong>");
    hu_markup_text(out, hu_str_of(report->verdict.text));
    hu_out_printf(out, "</strong></p>\n<p class=\"note\">confidence: %s", hu_confidence_name(report->verdict.confidence));
    for (size_t i = 0; i < report->verdict.n_reasons; i++) {
        hu_out_text(out, "; ");
        hu_markup_text(out, hu_str_of(report->verdict.reasons[i]));
    }
    hu_out_text(out, "</p></header>\n");
    write_findings(report->digests[report->verdict.rank]->findings, out);
    for (size_t i = 0; rc == 0 && i < report->n; i++)
        rc = write_rank(report, report->digests[i], out, err);
    hu_out_text(out, "</main>\n</body>\n</html>\n");
    return rc;
}
