/* SPDX-License-Identifier: Apache-2.0
 * why.c - findings with their prices, and how far to trust them. */
#include "render/text/text.h"

#include <math.h>
#include <stdio.h>

#include "advise/findings.h"
#include "advise/say.h"
#include "base/number.h"
#include "base/units.h"

/* "1211 ms → 592 ms   −51 %  [−53 … −49]", or a range where no point can be given. */
static void write_price(hu_text_page *p, const hu_finding *f)
{
    if (isnan(f->gain_pct)) {
        hu_out_printf(p->out, "at most %s %%, amount unknown", hu_say_change(f->high_pct, 0).t);
        return;
    }
    hu_out_printf(p->out, "%s → %s   ", hu_say_time(f->before_ns).t, hu_say_time(f->after_ns).t);
    hu_text_style(p, "1");
    hu_out_printf(p->out, "%s %%", hu_say_saving(f->gain_pct).t);
    hu_text_style(p, "0");
    hu_out_printf(p->out, "  [%s … %s]", hu_say_change(f->high_pct, 0).t, hu_say_change(f->low_pct, 0).t);
    if (p->r->batch) {
        hu_out_text(p->out, "  ");
        hu_text_throughput(p, f->after_ns);
    }
}

static void write_finding(hu_text_page *p, size_t number, const hu_finding *f, bool whole)
{
    char line[HU_STATEMENT_BYTES + 16];

    hu_out_printf(p->out, "%5zu  ", number);
    hu_text_style(p, "1");
    hu_text_hanging(p, hu_rule_title(f->rule), 7);
    hu_text_style(p, "0");
    hu_out_text(p->out, "       ");
    write_price(p, f);
    hu_out_printf(p->out, "  (%s confidence)\n", hu_confidence_name(f->confidence));
    hu_text_paragraph(p, f->statement, 7);
    for (size_t i = 0; whole && i < f->n_evidence; i++) {
        snprintf(line, sizeof line, "· %s", f->evidence[i]);
        hu_text_paragraph(p, line, 7);
    }
    snprintf(line, sizeof line, "fix: %s", hu_finding_fix(f));
    hu_text_paragraph(p, line, 7);
    if (whole) {
        snprintf(line, sizeof line, "check: %s", hu_rule_verify(f->rule));
        hu_text_paragraph(p, line, 7);
    }
}

/* Why the graph is not good enough for a point. */
static void write_doubt(hu_text_page *p, const hu_findings *f)
{
    for (hu_check_id i = 0; i < HU_CHECK_COUNT; i++) {
        char line[256];

        if (f->check.grade[i] != HU_GRADE_RED)
            continue;
        snprintf(line, sizeof line, "replay check failed: %s", hu_check_say(&f->check, i).t);
        hu_text_paragraph(p, line, 8);
    }
}

void hu_text_why(hu_text_page *p, const hu_findings *f, size_t most)
{
    if (!f)
        return;
    hu_text_heading(p, "WHY");
    if (!f->is_replayed) {
        char line[sizeof f->why_not + 40];

        snprintf(line, sizeof line, "no replay: %s", f->why_not);
        hu_out_text(p->out, "     ");
        hu_text_hanging(p, line, 8);
        return;
    }
    if (f->n == 0) {
        hu_out_text(p->out, "     ");
        hu_text_hanging(p, hu_findings_none(f).t, 8);
    } else {
        char part[96] = "";

        if (f->covered < 1)
            snprintf(part, sizeof part, ", the first %s of the run", hu_say_pct(100 * f->covered).t);
        hu_out_printf(p->out, "     gain of each fix, simulated over %zu step%s%s (replay %s off)\n", f->n_steps,
                      hu_plural((int64_t)f->n_steps), part, hu_say_pct(100 * fabs(f->replayed_ns / f->seen_ns - 1)).t);
    }
    for (size_t i = 0; i < f->n && i < most; i++)
        write_finding(p, i + 1, &f->at[i], most > HU_TEXT_SHORT);
    if (f->is_trusted && f->n_ladder > 1) {
        char   line[HU_FINDINGS * 24 + 64];
        size_t n = (size_t)snprintf(line, sizeof line, "fixes applied in order: %s", hu_say_time(f->ladder[0].before_ns).t);

        for (size_t i = 0; i < f->n_ladder && n < sizeof line; i++)
            n += (size_t)snprintf(line + n, sizeof line - n, " → %s", hu_say_time(f->ladder[i].after_ns).t);
        hu_text_paragraph(p, line, 7);
    }
    if (!f->is_trusted)
        write_doubt(p, f);
}
