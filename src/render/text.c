/* SPDX-License-Identifier: Apache-2.0
 * text.c - the report for a terminal of 80 columns: verdict, WHERE, WHAT, health. */
#include <math.h>
#include <stdio.h>

#include "advise/findings.h"
#include "advise/say.h"
#include "advise/stragglers.h"
#include "base/number.h"
#include "render/report.h"
#include "render/units.h"

enum {
    SHORT_WHY = 3,              /* findings in the whole report */
    SHORT_TABLE = 8,            /* rows in the whole report */
    LONG_TABLE = 30,            /* rows of a table that was asked for */
    BAR_CELLS = 24,
    LABEL_WIDTH = 16,
    LEAST_NAME_WIDTH = 10,
};

typedef struct {
    const hu_report *r;
    hu_out          *out;
} page;

static void spaces(page *p, size_t n)
{
    while (n--)
        hu_out_write(p->out, " ", 1);
}

static void style(page *p, const char *code)
{
    if (p->r->color)
        hu_out_printf(p->out, "\033[%sm", code);
}

static void heading(page *p, const char *title)
{
    style(p, "1");
    hu_out_text(p->out, title);
    style(p, "0");
}

/* Words of a paragraph within the width; the cursor stands at `indent` already. */
static void hanging(page *p, const char *text, size_t indent)
{
    size_t column = indent;

    while (*text) {
        size_t n = strcspn(text, " ");
        size_t width = hu_units_width((hu_str){text, n});

        if (column > indent && column + 1 + width > p->r->width) {
            hu_out_text(p->out, "\n");
            spaces(p, indent);
            column = indent;
        } else if (column > indent) {
            hu_out_text(p->out, " ");
            column++;
        }
        hu_units_clip(p->out, (hu_str){text, n}, p->r->width);
        column += width;
        text += n;
        text += strspn(text, " ");
    }
    hu_out_text(p->out, "\n");
}

static void paragraph(page *p, const char *text, size_t indent)
{
    spaces(p, indent);
    hanging(p, text, indent);
}

static hu_str base_name(hu_str path)
{
    const char *slash = memrchr(path.p, '/', path.n);

    return slash ? (hu_str){slash + 1, (size_t)(path.p + path.n - slash) - 1} : path;
}

static void write_right(page *p, const char *text, size_t width)
{
    const size_t have = hu_units_width(hu_str_of(text));

    if (have < width)
        spaces(p, width - have);
    hu_out_text(p->out, text);
}

static void write_left(page *p, hu_str text, size_t width)
{
    const size_t have = hu_units_clip(p->out, text, width);

    spaces(p, width - have);
}

static void cell_text(const hu_column *c, const hu_cell *cell, char *text)
{
    if (isnan(cell->number)) {
        memcpy(text, "–", sizeof "–");
        return;
    }
    switch (c->type) {
    case HU_CELL_NS:
        hu_units_time(text, cell->number);
        break;
    case HU_CELL_COUNT:
        if (hu_units_count(text, (int64_t)cell->number) > (size_t)c->width)
            hu_units_short_count(text, cell->number);
        break;
    case HU_CELL_BYTES:
        hu_units_bytes(text, cell->number);
        break;
    case HU_CELL_PERCENT:
        hu_units_percent(text, cell->number / 100);
        break;
    default:
        hu_units_time(text, NAN);
        if (c->type == HU_CELL_NUMBER)
            hu_format_fixed(text, cell->number, cell->number < 100 ? 2 : 0);
    }
}

static bool is_shown(const page *p, const hu_column *c, const hu_digest *d)
{
    return c->head && (!c->shown || c->shown(d)) && (!c->is_wide || p->r->width >= HU_WIDE_TEXT);
}

static size_t column_width(page *p, const hu_table *t, const hu_digest *d, const hu_column *c)
{
    size_t used = 2;

    if (c->width)
        return (size_t)c->width;
    for (size_t i = 0; i < t->n_columns; i++)
        if (&t->columns[i] != c && is_shown(p, &t->columns[i], d))
            used += (size_t)t->columns[i].width + 1;
    return p->r->width > used + LEAST_NAME_WIDTH ? p->r->width - used : LEAST_NAME_WIDTH;
}

static void table_head(page *p, const hu_table *t, const hu_digest *d)
{
    const char *gap = "  ";

    style(p, "2");
    for (size_t i = 0; i < t->n_columns; i++) {
        const hu_column *c = &t->columns[i];

        if (!is_shown(p, c, d))
            continue;
        hu_out_text(p->out, gap);
        gap = " ";
        if (c->type == HU_CELL_TEXT && c->width == 0)
            hu_out_text(p->out, c->head);
        else if (c->type == HU_CELL_TEXT)
            write_left(p, hu_str_of(c->head), (size_t)c->width);
        else
            write_right(p, c->head, (size_t)c->width);
    }
    style(p, "0");
    hu_out_text(p->out, "\n");
}

static void table_row(page *p, const hu_table *t, const hu_digest *d, size_t row)
{
    const char *gap = "  ";

    for (size_t i = 0; i < t->n_columns; i++) {
        const hu_column *c = &t->columns[i];
        hu_cell          cell = {0};
        char             text[HU_UNIT_BYTES];

        if (!is_shown(p, c, d))
            continue;
        hu_out_text(p->out, gap);
        gap = " ";
        c->get(d, row, &cell);
        if (c->type == HU_CELL_TEXT) {
            const size_t indent = cell.indent < 40 ? (size_t)cell.indent : 40;

            spaces(p, indent);
            if (c->width)
                write_left(p, cell.text, (size_t)c->width);
            else
                (cell.is_plain ? hu_units_clip : hu_units_clip_name)(p->out, cell.text, column_width(p, t, d, c) - indent);
        } else {
            cell_text(c, &cell, text);
            write_right(p, text, (size_t)c->width);
        }
    }
    hu_out_text(p->out, "\n");
}

static void write_table(page *p, const hu_table *t, const hu_digest *d, size_t most)
{
    const size_t     n = t->rows(d), limit = p->r->top ? (size_t)p->r->top : most;
    const uint32_t  *order = hu_columns_order(t, d, p->r->sort, p->r->scratch);

    if (n == 0 || !order) {
        hu_out_printf(p->out, "  %s\n", n ? "out of memory" : t->empty);
            return;
    }
    table_head(p, t, d);
    for (size_t i = 0; i < n && i < limit; i++)
        table_row(p, t, d, order[i]);
    if (n > limit) {
        style(p, "2");
        hu_out_printf(p->out, "  … %zu more (--top %zu shows all)\n", n - limit, n);
        style(p, "0");
    }
}

/* header */

static const char *plural(int64_t n)
{
    return n == 1 ? "" : "s";
}

/* "1,234 samples/s", where the batch size is known. */
static void write_throughput(page *p, double step_ns)
{
    char text[HU_UNIT_BYTES];

    if (!p->r->batch || !(step_ns > 0))
        return;
    hu_units_count(text, (int64_t)((double)p->r->batch * 1e9 / step_ns + 0.5));
    hu_out_printf(p->out, "%s ", text);
    hu_units_clip(p->out, hu_str_of(p->r->unit), 24);
    hu_out_text(p->out, "/s");
}

static void write_header(page *p)
{
    const hu_report *r = p->r;
    const hu_digest *d = r->digests[r->verdict.rank];
    char text[HU_UNIT_BYTES];

    style(p, "1");
    hu_units_clip(p->out, base_name(d->info.file), r->width / 2);
    style(p, "0");
    if (r->n > 1)
        hu_out_printf(p->out, " · slowest of %zu ranks", r->n);
    else if (d->info.rank >= 0 && d->info.world_size > 1)
        hu_out_printf(p->out, " · rank %lld of %lld", (long long)d->info.rank, (long long)d->info.world_size);
    hu_out_text(p->out, " · ");
    hu_units_clip(p->out, d->device.n ? d->device : d->gpu_time.n_slices ? HU_STR("GPU") : HU_STR("no GPU work"), 32);
    hu_out_text(p->out, "\n");
    if (hu_digest_step_count(d)) {
        hu_units_time(text, d->steps.duration.mean);
        hu_out_printf(p->out, "%s per step", text);
        if (!isnan(d->steps.duration.stddev)) {
            hu_units_time(text, d->steps.duration.stddev);
            hu_out_printf(p->out, " (± %s)", text);
        }
        if (r->batch) {
            hu_out_text(p->out, " · ");
            write_throughput(p, d->steps.duration.mean);
        }
        hu_out_printf(p->out, " · %zu step%s", d->steps.n, plural((int64_t)d->steps.n));
        if (d->steps.n_counted < d->steps.n)
            hu_out_printf(p->out, ", %zu counted", d->steps.n_counted);
        hu_out_text(p->out, " · ");
    }
    hu_out_printf(p->out, "confidence: %s\n\n", hu_confidence_name(r->verdict.confidence));
    paragraph(p, r->verdict.text, 0);
    for (size_t i = 0; i < r->verdict.n_reasons; i++) {
        style(p, "2");
        hu_out_text(p->out, "  but: ");
        hu_units_clip(p->out, hu_str_of(r->verdict.reasons[i]), r->width - 7);
        style(p, "0");
        hu_out_text(p->out, "\n");
    }
}

/* WHERE */

static void bar(page *p, const char *label, double ns, double spread_ns, double whole_ns)
{
    char   text[HU_UNIT_BYTES];
    double share = whole_ns > 0 ? ns / whole_ns : 0;
    size_t cells = (size_t)(share * BAR_CELLS + 0.5);

    hu_out_text(p->out, "  ");
    write_left(p, hu_str_of(label), LABEL_WIDTH);
    hu_units_time(text, ns);
    write_right(p, text, 10);
    if (isnan(spread_ns)) {
        spaces(p, 12);
    } else {
        char with_sign[HU_UNIT_BYTES + 8];

        hu_units_time(text, spread_ns);
        memcpy(with_sign, "± ", sizeof "± ");
        memcpy(with_sign + sizeof "± " - 1, text, strlen(text) + 1);
        write_right(p, with_sign, 12);
    }
    hu_units_percent(text, share);
    write_right(p, text, 8);
    hu_out_text(p->out, cells ? " %  " : " %");
    style(p, "36");
    for (size_t i = 0; i < cells && i < BAR_CELLS; i++)
        hu_out_text(p->out, "█");
    style(p, "0");
    hu_out_text(p->out, "\n");
}

static void where_from(page *p, const hu_digest *d)
{
    const hu_steps *s = &d->steps;

    switch (s->source) {
    case HU_STEPS_PROFILER:
        hu_out_printf(p->out, "   mean of %zu ProfilerStep%s\n", s->n_counted, plural((int64_t)s->n_counted));
        break;
    case HU_STEPS_ANNOTATION:
        hu_out_printf(p->out, "   mean of %zu steps, each from one \"", s->n_counted);
        hu_units_clip(p->out, s->what, 24);
        hu_out_text(p->out, "\" to the next\n");
        break;
    case HU_STEPS_STRUCTURE:
        hu_out_printf(p->out, "   mean of %zu steps found by repetition (%d %% alike)\n", s->n_counted,
                      (int)(100 * s->confidence));
        break;
    case HU_STEPS_NONE:
        hu_out_text(p->out, "   the whole capture: no steps were found\n");
        break;
    }
}

static void write_where(page *p, const hu_digest *d)
{
    const hu_step_time *t = hu_digest_step_time(d);
    const hu_step_time *spread = &d->breakdown.spread;
    const double        none = d->steps.n_counted > 1 ? 1 : (double)NAN;

    heading(p, "WHERE");
    where_from(p, d);
    if (!t)
        return;
    if (d->breakdown.has_device) {
        bar(p, "compute", t->compute_ns, spread->compute_ns * none, t->step_ns);
        bar(p, "exposed comm", t->exposed_comm_ns, spread->exposed_comm_ns * none, t->step_ns);
        bar(p, "exposed copies", t->exposed_copy_ns, spread->exposed_copy_ns * none, t->step_ns);
        bar(p, "idle", t->idle_ns, spread->idle_ns * none, t->step_ns);
        hu_out_text(p->out, "\n  with the host, each instant once, the device first\n");
    }
    for (hu_role r = 0; r < HU_ROLE_COUNT; r++)
        if (t->role_ns[r] > 0 || (r == HU_ROLE_DATA_LOADER && !d->breakdown.has_device))
            bar(p, hu_role_label(r), t->role_ns[r], spread->role_ns[r] * none, t->step_ns);
}

/* Which times tell ranks apart: the device's where there is one, else the host's. */
static void rank_columns(const hu_step_time *t, bool device, double out[5])
{
    if (device) {
        out[0] = t->step_ns;
        out[1] = t->compute_ns;
        out[2] = t->exposed_comm_ns;
        out[3] = t->idle_ns;
        out[4] = t->role_ns[HU_ROLE_DATA_LOADER];
    } else {
        out[0] = t->step_ns;
        out[1] = t->role_ns[HU_ROLE_DATA_LOADER];
        out[2] = t->role_ns[HU_ROLE_COMMUNICATION];
        out[3] = t->role_ns[HU_ROLE_CPU_EXEC];
        out[4] = t->role_ns[HU_ROLE_OTHER];
    }
}

/* "55 % of it for rank 0 (host: in operators)" */
static void say_straggler(const page *p, const hu_straggler *s, char *out, size_t room)
{
    const int64_t rank = p->r->digests[s->digest]->info.rank;
    size_t        n = (size_t)snprintf(out, room, "%s of it for rank %lld", hu_say_pct(s->share_pct).t,
                                       (long long)(rank >= 0 ? rank : (int64_t)s->digest));

    if (s->cause < HU_CLASS_COUNT && n < room)
        snprintf(out + n, room - n, " (%s, %s more)", hu_class_words(s->cause), hu_say_time(s->cause_step_ns).t);
}

/* Below the table of ranks: who is waited for, by how much, and how far clocks agree. */
static void write_rendezvous(page *p)
{
    enum { NAMED = 3 };
    const hu_rendezvous *r = p->r->rendezvous;
    char                 line[1024], text[256];
    hu_stragglers        s;
    size_t               n;

    if (!r || r->matched == 0)
        return;
    hu_stragglers_measure(r, p->r->digests, p->r->n, &s);
    n = (size_t)snprintf(line, sizeof line, "%lld collectives met", (long long)r->matched);
    if (r->unmatched)
        n += (size_t)snprintf(line + n, sizeof line - n, " (%lld calls have no partner)", (long long)r->unmatched);
    if (!isnan(r->residual_ns))
        n += (size_t)snprintf(line + n, sizeof line - n, "; their ends agree within %s", hu_say_time(r->residual_ns).t);
    n += (size_t)snprintf(line + n, sizeof line - n, ". A rank waits %s of each step for others",
                          hu_say_time(s.wait_step_ns).t);
    for (size_t i = 0; i < s.n && i < NAMED && n < sizeof line - sizeof text; i++) {
        say_straggler(p, &s.at[i], text, sizeof text);
        n += (size_t)snprintf(line + n, sizeof line - n, "%s%s", i ? ", " : ": ", text);
    }
    snprintf(line + n, sizeof line - n, ".");
    hu_out_text(p->out, "\n");
    paragraph(p, line, 2);
}

static void write_ranks(page *p)
{
    const bool   device = p->r->digests[p->r->verdict.rank]->breakdown.has_device;
    const size_t indent = 2 + 4 + 5 * 10 + 2;

    heading(p, "RANKS");
    hu_out_text(p->out, "   mean step of each\n");
    style(p, "2");
    hu_out_text(p->out, device ? "  rank      step   compute  exp comm      idle    loader  file\n"
                               : "  rank      step    loader      comm  cpu exec     other  file\n");
    style(p, "0");
    for (size_t i = 0; i < p->r->n; i++) {
        const hu_digest    *d = p->r->digests[i];
        const hu_step_time *t = hu_digest_step_time(d);
        double columns[5] = {NAN, NAN, NAN, NAN, NAN};
        char   text[HU_UNIT_BYTES];

        if (d->info.rank >= 0)
            hu_units_count(text, d->info.rank);
        else
            memcpy(text, "–", sizeof "–");
        write_right(p, text, 6);
        if (t)
            rank_columns(t, device, columns);
        for (size_t k = 0; k < HU_COUNT(columns); k++) {
            hu_units_time(text, columns[k]);
            write_right(p, text, 10);
        }
        hu_out_text(p->out, "  ");
        hu_units_clip(p->out, base_name(d->info.file), p->r->width > indent + 8 ? p->r->width - indent : 8);
        hu_out_text(p->out, "\n");
    }
    write_rendezvous(p);
}

/* health */

enum { HEALTH_INDENT = 15 };

/* "      1,234  words (5.0 ms)", wrapped. */
static void health_line(page *p, int64_t n, double ns, const char *label, const char *words)
{
    char text[HU_UNIT_BYTES], line[256];

    hu_units_count(text, n);
    hu_out_text(p->out, "  ");
    write_right(p, text, HEALTH_INDENT - 4);
    hu_out_text(p->out, "  ");
    hu_units_time(text, ns);
    snprintf(line, sizeof line, ns > 0 ? "%s%s (%s)" : "%s%s", label, words, text);
    hanging(p, line, HEALTH_INDENT);
}

static void write_health(page *p, const hu_digest *d, bool whole)
{
    const hu_health  *h = &d->health;
    const hu_quality *q = &h->quality;
    const int64_t     lost = hu_quality_lost(q);

    heading(p, "TRACE HEALTH\n");
    health_line(p, q->events, 0, "events read", "");
    if (lost == 0)
        health_line(p, 0, 0, "lost", "");
    for (hu_reason r = 0; r < HU_REASON_COUNT; r++)
        if (q->count[r])
            health_line(p, q->count[r], (double)q->dur_ns[r], hu_reason_is_loss(r) ? "lost: " : "kept: ",
                        hu_reason_words(r));
    if (q->is_truncated) {
        char line[sizeof q->truncated_why + 80];

        snprintf(line, sizeof line, "the file ends in the middle, at byte %lld%s%s", (long long)q->truncated_at,
                 q->truncated_why[0] ? ": " : "", q->truncated_why);
        paragraph(p, line, 2);
    }
    if (q->trailing_bytes)
        health_line(p, q->trailing_bytes, 0, "bytes behind the end of the trace, ignored", "");
    if (q->invalid_utf8)
        health_line(p, q->invalid_utf8, 0, "names that are not UTF-8", "");
    if (h->unlinked_kernels)
        health_line(p, h->unlinked_kernels, (double)h->unlinked_kernels_ns, "pieces of device work without a launch", "");
    if (h->unlinked_launches)
        health_line(p, h->unlinked_launches, 0, "launches without device work", "");
    if (h->graph_kernels)
        health_line(p, h->graph_kernels, 0, "kernels launched together, by graphs", "");
    if (whole)
        for (hu_kind k = 0; k < HU_KIND_COUNT; k++)
            if (h->kinds[k])
                health_line(p, h->kinds[k], 0, "of kind ", hu_kind_name(k));
    for (hu_missing m = 0; m < HU_MISSING_COUNT; m++) {
        if (h->missing & 1u << m) {
            hu_out_printf(p->out, "  not captured: %s\n", hu_missing_what(m));
            paragraph(p, hu_missing_how(m), 6);
        }
    }
}

static void titled_table(page *p, const char *title, const hu_table *t, const hu_digest *d, size_t most)
{
    heading(p, title);
    hu_out_text(p->out, "\n");
    write_table(p, t, d, most);
}

static void rank_title(page *p, const hu_digest *d)
{
    if (p->r->n == 1)
        return;
    heading(p, "");
    hu_out_text(p->out, "\n");
    style(p, "1");
    if (d->info.rank >= 0)
        hu_out_printf(p->out, "rank %lld · ", (long long)d->info.rank);
    hu_units_clip(p->out, base_name(d->info.file), p->r->width - 16);
    style(p, "0");
    hu_out_text(p->out, "\n");
}

/* "1211 ms → 592 ms   −51 %  [−53 … −49]", or a range where no point can be given. */
static void write_price(page *p, const hu_finding *f)
{
    char from[HU_NUMBER_BYTES], to[HU_NUMBER_BYTES];

    hu_format_fixed(from, f->high_pct, 0);
    hu_format_fixed(to, f->low_pct, 0);
    if (isnan(f->gain_pct)) {
        hu_out_printf(p->out, "at most −%s %%, how much cannot be told", from);
        return;
    }
    hu_out_printf(p->out, "%s → %s   ", hu_say_time(f->before_ns).t, hu_say_time(f->after_ns).t);
    style(p, "1");
    hu_out_printf(p->out, "−%s", hu_say_pct(f->gain_pct).t);
    style(p, "0");
    hu_out_printf(p->out, "  [−%s … −%s]", from, to);
    if (p->r->batch) {
        hu_out_text(p->out, "  ");
        write_throughput(p, f->after_ns);
    }
}

static void write_finding(page *p, size_t number, const hu_finding *f, bool whole)
{
    char line[HU_STATEMENT_BYTES + 16];

    hu_out_printf(p->out, "%5zu  ", number);
    style(p, "1");
    hanging(p, hu_rule_title(f->rule), 7);
    style(p, "0");
    hu_out_text(p->out, "       ");
    write_price(p, f);
    hu_out_printf(p->out, "  (%s confidence)\n", hu_confidence_name(f->confidence));
    paragraph(p, f->statement, 7);
    for (size_t i = 0; whole && i < f->n_evidence; i++) {
        snprintf(line, sizeof line, "· %s", f->evidence[i]);
        paragraph(p, line, 7);
    }
    snprintf(line, sizeof line, "fix: %s", hu_rule_fix(f->rule));
    paragraph(p, line, 7);
    if (whole) {
        snprintf(line, sizeof line, "check: %s", hu_rule_verify(f->rule));
        paragraph(p, line, 7);
    }
}

/* Why the graph is not good enough for a point. */
static void write_doubt(page *p, const hu_findings *f)
{
    for (hu_check_id i = 0; i < HU_CHECK_COUNT; i++) {
        char value[HU_NUMBER_BYTES], line[256];

        if (f->check.grade[i] != HU_GRADE_RED)
            continue;
        hu_format_fixed(value, f->check.value[i], 1);
        snprintf(line, sizeof line, "the replay's own check fails: %s %s %s", value, hu_check_unit(i), hu_check_what(i));
        paragraph(p, line, 8);
    }
}

static void write_why(page *p, const hu_digest *d, size_t most)
{
    const hu_findings *f = d->findings;

    if (!f)
        return;
    heading(p, "WHY");
    if (!f->is_replayed) {
        hu_out_printf(p->out, "     nothing could be replayed: %s\n", f->why_not);
        return;
    }
    if (f->n == 0) {
        hu_out_text(p->out, "     ");
        hanging(p, f->is_trusted ? "nothing that a replay of this trace can price would save 1 % of a step"
                                 : "this trace does not tell what would save time", 8);
    } else {
        hu_out_printf(p->out, "     what each would save, by replaying %zu step%s (replay %s off)\n", f->n_steps,
                      plural((int64_t)f->n_steps), hu_say_pct(100 * fabs(f->replayed_ns / f->seen_ns - 1)).t);
    }
    for (size_t i = 0; i < f->n && i < most; i++)
        write_finding(p, i + 1, &f->at[i], most > SHORT_TABLE);
    if (f->is_trusted && f->n_ladder > 1) {
        char   line[HU_FINDINGS * 24 + 64];
        size_t n = (size_t)snprintf(line, sizeof line, "one after the other: %s", hu_say_time(f->ladder[0].before_ns).t);

        for (size_t i = 0; i < f->n_ladder && n < sizeof line; i++)
            n += (size_t)snprintf(line + n, sizeof line - n, " → %s", hu_say_time(f->ladder[i].after_ns).t);
        paragraph(p, line, 7);
    }
    if (!f->is_trusted)
        write_doubt(p, f);
}

static void write_overview(page *p)
{
    write_header(p);
    hu_out_text(p->out, "\n");
    if (p->r->n > 1) {
        write_ranks(p);
        hu_out_text(p->out, "\n");
    }
    write_where(p, p->r->digests[p->r->verdict.rank]);
    hu_out_text(p->out, "\n");
    write_why(p, p->r->digests[p->r->verdict.rank], p->r->show == HU_SHOW_ALL ? SHORT_WHY : LONG_TABLE);
}

static void write_all(page *p)
{
    const hu_digest *d = p->r->digests[p->r->verdict.rank];

    write_overview(p);
    hu_out_text(p->out, "\n");
    titled_table(p, "WHAT    operators", &hu_table_operators, d, SHORT_TABLE);
    if (d->kernels.n) {
        hu_out_text(p->out, "\n");
        titled_table(p, "        kernels", &hu_table_kernels, d, SHORT_TABLE);
    }
    if (d->copies.n) {
        hu_out_text(p->out, "\n");
        titled_table(p, "        copies", &hu_table_copies, d, SHORT_TABLE);
    }
    hu_out_text(p->out, "\n");
    write_health(p, d, false);
    hu_out_text(p->out, "\nnext  holdup report ");
    hu_units_clip(p->out, hu_str_of(p->r->arguments), p->r->width > 60 ? p->r->width - 40 : 20);
    hu_out_printf(p->out, " --view %s\n      holdup report --view list      names every question\n",
                  d->gpu_time.n_slices ? "idle" : "ops");
}

/* one view */

enum { FACT_WIDTH = 48 };

static void write_facts(page *p, const hu_view *v, const hu_digest *d)
{
    for (size_t i = 0; i < v->n_facts; i++) {
        const hu_column *c = &v->facts[i];
        const hu_column  plain = {.type = c->type, .width = 16};
        hu_cell          cell = {0};
        char             text[HU_UNIT_BYTES];

        if (!c->head)
            continue;
        c->get(d, 0, &cell);
        if (c->type != HU_CELL_TEXT && isnan(cell.number))
            continue;
        hu_out_text(p->out, "  ");
        write_left(p, hu_str_of(c->head), FACT_WIDTH);
        if (c->type == HU_CELL_TEXT) {
            hu_units_clip(p->out, cell.text, p->r->width - FACT_WIDTH - 2);
        } else {
            cell_text(&plain, &cell, text);
            write_right(p, text, 12);
        }
        hu_out_text(p->out, "\n");
    }
}

/* A series as one line of blocks for each column, from 0 to the largest value. */
static void write_series(page *p, const hu_table *t, const hu_digest *d)
{
    static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    const size_t n = t->rows(d), cells = p->r->width > 70 ? 66 : 40;

    for (size_t k = 0; k < t->n_columns; k++) {
        const hu_column *c = &t->columns[k];
        const hu_column  plain = {.type = c->type, .width = 16};
        double           most = 0, at[80] = {0};
        char             text[HU_UNIT_BYTES];

        if (!is_shown(p, c, d))
            continue;
        for (size_t i = 0; i < n; i++) {
            hu_cell cell = {0};

            c->get(d, i, &cell);
            most = cell.number > most ? cell.number : most;
            at[i * cells / n] = cell.number > at[i * cells / n] ? cell.number : at[i * cells / n];
        }
        if (!(most > 0))
            continue;           /* not recorded, or nothing happened */
        cell_text(&plain, &(hu_cell){.number = most}, text);
        hu_out_printf(p->out, "  %s, up to %s\n  │", c->head, text);
        style(p, "36");
        for (size_t i = 0; n && i < cells; i++)
            hu_out_text(p->out, blocks[(size_t)ceil(8 * at[i] / most)]);
        style(p, "0");
        hu_out_text(p->out, "│\n");
    }
}

static void write_one(page *p, const hu_table *t, const hu_digest *d, size_t most)
{
    if (t->is_series && t->rows(d))
        write_series(p, t, d);
    else
        write_table(p, t, d, most);
}

static bool has_rows(const hu_view *v, const hu_digest *d)
{
    for (size_t i = 0; i < v->n_tables; i++)
        if (v->tables[i]->rows(d))
            return true;
    return false;
}

static void write_view(page *p, const hu_digest *d)
{
    const hu_part *part = &p->r->part;
    const hu_view *v = part->view;
    bool           first = true;

    if (v->nothing && (v->has ? !v->has(d) : !has_rows(v, d))) {
        hu_out_printf(p->out, "  %s\n", v->nothing);
        return;
    }
    if (!part->table) {
        write_facts(p, v, d);
        for (size_t i = 0; i < v->n_facts; i++)
            first &= !v->facts[i].head;
    }
    for (size_t i = 0; i < v->n_tables && !part->facts; i++) {
        const hu_table *t = v->tables[i];

        if (part->table ? part->table != t : v->n_tables > 1 && t->rows(d) == 0)
            continue;
        if (!first)
            hu_out_text(p->out, "\n");
        if (!first || (v->n_tables > 1 && !part->table)) {
            heading(p, t->title);
            hu_out_text(p->out, "\n");
        }
        first = false;
        write_one(p, t, d, part->table || v->n_tables == 1 ? LONG_TABLE : SHORT_TABLE);
    }
}

void hu_text_write(const hu_report *report, hu_out *out)
{
    page p = {report, out};

    if (report->show == HU_SHOW_ALL) {
        write_all(&p);
        return;
    }
    if (report->show == HU_SHOW_OVERVIEW) {
        write_overview(&p);
        return;
    }
    if (report->merged && report->show == HU_SHOW_VIEW) {
        write_view(&p, report->merged);
        return;
    }
    for (size_t i = 0; i < report->n; i++) {
        rank_title(&p, report->digests[i]);
        if (report->show == HU_SHOW_HEALTH)
            write_health(&p, report->digests[i], true);
        else
            write_view(&p, report->digests[i]);
    }
}
