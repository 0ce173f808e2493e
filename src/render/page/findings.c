/* SPDX-License-Identifier: Apache-2.0
 * findings.c - one card for each finding: what, what it would save, how sure that is, evidence, fix, how to verify;
 * then what passed, and what this trace cannot tell.
 */
#include <math.h>

#include "advise/say.h"
#include "render/page/page.h"

enum { BAR_WIDTH = 1000 };

static void write_x(hu_out *out, const char *attribute, double pct)
{
    hu_out_printf(out, " %s=\"", attribute);
    hu_out_fixed(out, fmin(fmax(pct, 0), 100) * BAR_WIDTH / 100, 1);
    hu_out_text(out, "\"");
}

/* The step now, and what would be left of it, with the interval as a whisker. */
static void write_range(hu_page *p, const hu_finding *f)
{
    const double after = isnan(f->gain_pct) ? 100 - f->high_pct : 100 - f->gain_pct;

    hu_out_printf(p->out,
                  "<svg class=\"range\" viewBox=\"0 0 %d 40\" preserveAspectRatio=\"none\" role=\"img\" "
                  "aria-label=\"the step after the fix as a share of the step now\"><rect class=\"before\" y=\"4\" "
                  "height=\"32\" width=\"%d\"/><rect class=\"after\" y=\"4\" height=\"32\"",
                  BAR_WIDTH, BAR_WIDTH);
    write_x(p->out, "width", after);
    hu_out_text(p->out, "/><rect class=\"whisker\" y=\"18\" height=\"4\"");
    write_x(p->out, "x", 100 - f->high_pct);
    write_x(p->out, "width", f->high_pct - f->low_pct);
    hu_out_text(p->out, "/></svg>\n");
}

void hu_page_badge(hu_page *p, hu_confidence c)
{
    static const char *const words[] = {
        [HU_CONFIDENCE_LOW] = "low: too little was recorded, a self-check failed, or the gain may be nothing",
        [HU_CONFIDENCE_MEDIUM] =
            "medium: the gain also depends on what the fix leaves over, or on what the trace does not show",
        [HU_CONFIDENCE_HIGH] = "high: the fix takes this time out outright, and all self-checks of the replay are green",
    };

    hu_out_printf(p->out, "<span class=\"badge %s\" tabindex=\"0\" title=\"%s\">confidence: %s</span>",
                  hu_confidence_name(c), words[c], hu_confidence_name(c));
}

static void write_saving(hu_page *p, const hu_finding *f)
{
    hu_out_text(p->out, "<p class=\"saving\"><strong>");
    if (isnan(f->gain_pct))
        hu_markup_say(p->out, "at most %s %%</strong>; the amount is unknown from this trace",
                      hu_say_change(f->high_pct, 0).t);
    else
        hu_markup_say(p->out, "%s %%</strong> of %s: %s → %s, likely %s to %s %%", hu_say_saving(f->gain_pct).t,
                      hu_verdict_whole(p->rank->digest), hu_say_time(f->before_ns).t, hu_say_time(f->after_ns).t,
                      hu_say_change(f->low_pct, 0).t, hu_say_change(f->high_pct, 0).t);
    if (p->r->batch && !isnan(f->after_ns) && f->after_ns > 0) {
        hu_out_text(p->out, "; ");
        hu_out_fixed(p->out, (double)p->r->batch * 1e9 / f->after_ns, 0);
        hu_out_text(p->out, " ");
        hu_markup_text(p->out, hu_str_of(p->r->unit));
        hu_out_text(p->out, "/s");
    }
    hu_out_text(p->out, " ");
    hu_page_badge(p, f->confidence);
    hu_out_text(p->out, "</p>\n");
}

static void write_card(hu_page *p, const hu_finding *f, size_t index)
{
    const char *key = hu_rule_key(f->rule);

    hu_out_printf(p->out, "<article class=\"finding\" id=\"finding-%s\" data-finding=\"%s\">\n<h4>%zu. ", key, key,
                  index + 1);
    hu_markup_text(p->out, hu_str_of(hu_rule_title(f->rule)));
    hu_out_text(p->out, "</h4>\n");
    write_saving(p, f);
    write_range(p, f);
    hu_out_text(p->out, "<p>");
    hu_markup_sentence(p->out, hu_str_of(f->statement));
    hu_out_text(p->out, "</p>\n");
    if (f->n_evidence)
        hu_out_text(p->out, "<ul class=\"evidence\">");
    for (size_t k = 0; k < f->n_evidence; k++) {
        hu_out_text(p->out, "<li>");
        hu_markup_sentence(p->out, hu_str_of(f->evidence[k]));
        hu_out_text(p->out, "</li>");
    }
    if (f->n_evidence)
        hu_out_text(p->out, "</ul>\n");
    hu_out_text(p->out, "<h5>How to fix it</h5>\n<pre class=\"fix\">");
    hu_markup_text(p->out, hu_str_of(hu_finding_fix(f)));
    hu_out_text(p->out, "</pre>\n<h5>How to verify the fix</h5>\n<p>");
    hu_markup_sentence(p->out, hu_str_of(hu_rule_verify(f->rule)));
    hu_out_printf(p->out, "</p>\n<p class=\"note\">in other tools: <code>%s</code></p>\n</article>\n", key);
}

/* What is left of the step when the findings are made good one after the other. */
static void write_ladder(hu_page *p, const hu_findings *f)
{
    if (f->n_ladder < 2)
        return;
    hu_out_text(p->out,
                "<h3>Fixes applied in order</h3>\n<p class=\"note\">Savings do not add up: each fix exposes the next "
                "limit.</p>\n<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"fixes applied in "
                "order\"><table><thead><tr><th scope=\"col\" class=\"t\">after fixing</th><th scope=\"col\">step "
                "before</th><th scope=\"col\">step after</th></tr></thead><tbody>\n");
    for (size_t i = 0; i < f->n_ladder; i++) {
        hu_out_text(p->out, "<tr><td class=\"t\">");
        hu_markup_text(p->out, hu_str_of(hu_rule_title(f->ladder[i].rule)));
        hu_markup_say(p->out, "</td><td>%s</td><td>%s</td></tr>\n", hu_say_time(f->ladder[i].before_ns).t,
                      hu_say_time(f->ladder[i].after_ns).t);
    }
    hu_out_text(p->out, "</tbody></table></div>\n");
}

static void write_passed(hu_page *p, const hu_findings *f)
{
    hu_out_printf(p->out, "<details class=\"passed\"><summary>Checks passed (%zu)</summary>\n<ul>", f->n_passed);
    for (size_t i = 0; i < f->n_passed; i++) {
        hu_out_text(p->out, "<li>not the case: ");
        hu_markup_text(p->out, hu_str_of(hu_rule_title(f->passed[i])));
        hu_out_printf(p->out, " <code>%s</code></li>", hu_rule_key(f->passed[i]));
    }
    hu_out_text(p->out, "</ul></details>\n");
}

/* Of the self-check the worst of all tests. */
static void write_grade(hu_page *p, hu_grade grade)
{
    static const char *const classes[] = {"high", "medium", "low", "medium"};

    hu_out_printf(p->out, "<span class=\"badge %s\" tabindex=\"0\" title=\"" HU_GRADE_HELP "\">self-check: %s</span>",
                  classes[grade], hu_grade_name(grade));
}

static void write_not_measured(hu_page *p, const hu_findings *f)
{
    size_t n = 0;

    for (hu_missing m = 0; m < HU_MISSING_COUNT; m++)
        n += p->d->health.missing >> m & 1u;
    hu_out_printf(p->out, "<details class=\"unmeasured\"%s><summary>Not measured (%zu)</summary>\n<ul>", n ? " open" : "",
                  n);
    for (hu_missing m = 0; m < HU_MISSING_COUNT; m++)
        if (p->d->health.missing & 1u << m)
            hu_out_printf(p->out, "<li>%s: <code>%s</code></li>", hu_missing_what(m), hu_missing_how(&p->d->health, m));
    if (p->r->job->n == 1)
        hu_out_text(p->out, "<li>which rank waits for which: pass the traces of all ranks, or their directory</li>");
    hu_out_text(p->out, "</ul></details>\n");
    if (f && f->is_replayed) {
        hu_out_text(p->out, "<p class=\"note\">These gains come from a replay that takes ");
        hu_page_quantity(p->out, "", HU_CELL_NS, f->replayed_ns);
        hu_out_text(p->out, " for a step measured at ");
        hu_page_quantity(p->out, "", HU_CELL_NS, f->seen_ns);
        hu_out_text(p->out, "; ");
        write_grade(p, f->check.worst);
        hu_out_text(p->out, "</p>\n");
    }
}

void hu_page_findings(hu_page *p)
{
    const hu_findings *f = p->rank->findings;
    const bool         is_replayed = f && f->is_replayed;

    hu_out_text(p->out, "<section id=\"findings\" class=\"view\" aria-labelledby=\"findings-head\">\n"
                        "<h2 id=\"findings-head\">Why, and what a fix would save</h2>\n");
    hu_page_scope(p, HU_PAGE_EVIDENCE);
    if (!is_replayed) {
        hu_out_text(p->out, "<p>This trace could not be replayed, so no gain is known");
        if (f && f->why_not[0]) {
            hu_out_text(p->out, ": ");
            hu_markup_sentence(p->out, hu_str_of(f->why_not));
        }
        hu_out_text(p->out, ".</p>\n");
    } else if (f->n == 0) {
        hu_out_text(p->out, "<p>");
        hu_markup_sentence(p->out, hu_str_of(hu_findings_none(f).t));
        hu_out_text(p->out, ".</p>\n");
    }
    if (is_replayed && f->n)
        hu_out_text(p->out, "<h3>What saves most for sure comes first</h3>\n");
    for (size_t i = 0; is_replayed && i < f->n; i++)
        write_card(p, &f->at[i], i);
    if (is_replayed) {
        write_ladder(p, f);
        write_passed(p, f);
    }
    write_not_measured(p, f);
    hu_out_text(p->out, "</section>\n");
}
