/* SPDX-License-Identifier: Apache-2.0
 * scale.c - the answer of `holdup scale` as one offline page: the sentence, the chart, and what is lost by cause. */
#include <math.h>
#include <stdio.h>

#include "render/page/markup.h"
#include "render/page/page.h"
#include "render/scale.h"

enum { SENTENCE = 1024 };

static void write_head(const hu_scale_report *r, hu_out *out)
{
    char line[SENTENCE];

    hu_scale_sentence(r, line, sizeof line);
    hu_out_text(out, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta http-equiv=\""
                     "Content-Security-Policy\" content=\"default-src 'none'; style-src '");
    hu_out_text(out, hu_page_style_hash);
    hu_out_text(out,
                "'; base-uri 'none'; form-action 'none'\">\n<meta name=\"referrer\" content=\"no-referrer\">\n"
                "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                "<meta name=\"generator\" content=\"holdup " HU_VERSION "\">\n<title>scaling · holdup</title>\n<style>");
    hu_out_text(out, hu_page_style);
    hu_out_text(out, "</style>\n</head>\n<body>\n<header id=\"top\"><p class=\"brand\">holdup</p>"
                     "<h1>Where scaling efficiency is lost</h1>"
                     "</header>\n<main>\n<p class=\"verdict\">");
    hu_markup_text(out, hu_str_of(line));
    hu_out_text(out, "</p>\n");
    hu_page_unread(out, &r->unread, &r->partial, r->n_read);
}

static void open_table(hu_out *out, const char *title)
{
    hu_out_printf(out,
                  "<h2>%s</h2>\n<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"%s\"><table>\n<thead>"
                  "<tr>",
                  title, title);
}

static void write_cell(hu_out *out, double value, int decimals, const char *unit)
{
    hu_out_text(out, "<td>");
    if (isnan(value)) {
        hu_out_text(out, "–");
    } else {
        hu_out_fixed(out, value, decimals);
        hu_out_text(out, unit);
    }
    hu_out_text(out, "</td>");
}

static void write_runs(const hu_scale_report *r, hu_out *out)
{
    const hu_scaling *s = r->scaling;

    open_table(out, "Runs");
    hu_out_text(out, "<th scope=\"col\" class=\"t\">run</th><th scope=\"col\">count</th><th scope=\"col\">nodes</th>"
                     "<th scope=\"col\">step</th><th scope=\"col\">speed-up</th><th scope=\"col\">efficiency</th>"
                     "<th scope=\"col\">serial (Karp–Flatt)</th><th scope=\"col\">load balance</th>"
                     "<th scope=\"col\">serialisation</th><th scope=\"col\">transfer</th></tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < s->n; i++) {
        const hu_scaling_run *run = &s->run[i];
        const hu_scaling_row *row = &s->row[i];

        hu_out_text(out, "<tr><td class=\"t\">");
        hu_markup_text(out, r->runs[run->id].name);
        hu_out_text(out, "</td>");
        write_cell(out, (double)run->gpus, 0, "");
        write_cell(out, (double)run->nodes, 0, "");
        hu_out_text(out, "<td>");
        hu_page_number(out, HU_CELL_NS, run->step_ns);
        hu_out_text(out, "</td>");
        write_cell(out, row->speedup, 2, "×");
        write_cell(out, row->efficiency_pct, 1, " %");
        write_cell(out, 100 * row->karp_flatt, 1, " %");
        write_cell(out, row->load_balance_pct, 1, " %");
        write_cell(out, row->serialisation_pct, 1, " %");
        write_cell(out, row->transfer_pct, 1, " %");
        hu_out_text(out, "</tr>\n");
    }
    hu_out_text(out, "</tbody></table></div>\n");
}

/* Where each run's step goes. */
static void write_steps(const hu_scale_report *r, hu_out *out)
{
    static const char *const classes[HU_LOSS_COUNT] = {"c-compute", "c-set", "c-comm", "c-copy", "c-data", "c-op", "c-idle"};
    const hu_scaling        *s = r->scaling;
    hu_page                  p = {.out = out};

    hu_out_text(out, "<h2>Where a step goes</h2>\n<div class=\"columns\">\n");
    for (size_t i = 0; i < s->n; i++) {
        hu_page_share shares[HU_LOSS_COUNT];
        char          title[64];

        for (hu_loss c = 0; c < HU_LOSS_COUNT; c++)
            shares[c] = (hu_page_share){classes[c], hu_loss_words(c), s->run[i].class_ns[c]};
        snprintf(title, sizeof title, "%lld %s%s", (long long)s->run[i].gpus, s->run[i].has_device ? "GPU" : "process",
                 s->run[i].gpus == 1    ? ""
                 : s->run[i].has_device ? "s"
                                        : "es");
        hu_page_shares(&p, title, shares, HU_LOSS_COUNT, s->run[i].step_ns);
    }
    hu_out_text(out, "</div>\n");
}

static void write_losses(const hu_scale_report *r, hu_out *out)
{
    const hu_scaling *s = r->scaling;

    open_table(out, "Efficiency points lost");
    hu_out_text(out, "<th scope=\"col\">count</th><th scope=\"col\">lost</th>");
    for (hu_loss c = 0; c < HU_LOSS_COUNT; c++)
        hu_out_printf(out, "<th scope=\"col\">%s</th>", hu_loss_words(c));
    hu_out_text(out, "<th scope=\"col\" class=\"t\">waited for</th></tr></thead>\n<tbody>\n");
    for (size_t i = 1; i < s->n; i++) {
        hu_out_text(out, "<tr>");
        write_cell(out, (double)s->run[i].gpus, 0, "");
        write_cell(out, 100 - s->row[i].efficiency_pct, 1, "");
        for (hu_loss c = 0; c < HU_LOSS_COUNT; c++)
            write_cell(out, s->row[i].loss_pct[c], 1, "");
        hu_out_text(out, "<td class=\"t\">");
        hu_markup_text(out, hu_str_of(r->runs[s->run[i].id].waited_for));
        hu_out_text(out, "</td></tr>\n");
    }
    hu_out_text(out, "</tbody></table></div>\n<p class=\"note\">They add up to the total; below 0 is a gain. ");
    hu_out_text(out, s->mode == HU_SCALING_STRONG ? "Strong scaling: the batch is divided"
                                                  : "Weak scaling: each device keeps its batch");
    hu_out_text(out, s->mode_is_guessed ? ", inferred from compute time per step.</p>\n" : ".</p>\n");
}

void hu_scale_html(const hu_scale_report *r, hu_out *out)
{
    const hu_scaling *s = r->scaling;

    write_head(r, out);
    hu_out_text(out, "<figure>");
    hu_scale_chart(r, out);
    hu_out_text(out, "<figcaption>Speed-up; the dashed line is linear scaling.</figcaption></figure>\n");
    write_losses(r, out);
    write_steps(r, out);
    write_runs(r, out);
    if (!isnan(s->next_speedup)) {
        hu_out_printf(out, "<p>%lld would reach ", 2 * (long long)s->run[s->n - 1].gpus);
        hu_out_fixed(out, s->next_speedup, 2);
        hu_out_text(out, "× [");
        hu_out_fixed(out, s->next_low, 2);
        hu_out_text(out, " … ");
        hu_out_fixed(out, s->next_high, 2);
        hu_out_text(out, "] if the losses keep growing at this rate.</p>\n");
    }
    hu_out_text(out, "</main>\n</body>\n</html>\n");
}
