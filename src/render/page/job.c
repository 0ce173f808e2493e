/* SPDX-License-Identifier: Apache-2.0
 * job.c - the ranks of a job replayed together: what they would gain, and where its critical path runs. */
#include <math.h>

#include "advise/say.h"
#include "render/page/page.h"

static void write_head(hu_page *p, const char *label, const char *columns)
{
    hu_out_printf(p->out,
                  "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"%s\"><table>\n<thead><tr>%s"
                  "</tr></thead>\n<tbody>\n",
                  label, columns);
}

static void write_prices(hu_page *p, const hu_joint_replay *joint)
{
    write_head(p, "gains over all ranks",
               "<th scope=\"col\" class=\"t\">if</th><th scope=\"col\">a step would take</th><th scope=\"col\">gain %</th>"
               "<th scope=\"col\">from</th><th scope=\"col\">to</th>");
    for (size_t i = 0; i < joint->n_prices; i++) {
        const hu_joint_replay_price *x = &joint->price[i];

        hu_out_text(p->out, "<tr><td class=\"t\">");
        if (x->edit == HU_EDIT_STRAGGLER)
            hu_out_printf(p->out, "rank %lld matched the median of the others",
                          (long long)hu_digest_rank_of(p->r->job->digests, x->digest));
        else
            hu_out_text(p->out, x->edit == HU_EDIT_BALANCE     ? "the work before each collective were balanced"
                                : x->edit == HU_EDIT_HICCUPS   ? "no rank were late to any collective"
                                : x->edit == HU_EDIT_BANDWIDTH ? "links were twice as fast at the same latency"
                                : x->edit == HU_EDIT_LATENCY   ? "collectives had half the latency"
                                : x->edit == HU_EDIT_BUCKET    ? "gradients were reduced in one bucket"
                                                               : "collectives were instant once the last rank arrives");
        hu_out_text(p->out, "</td><td>");
        hu_page_number(p->out, HU_CELL_NS, x->after_ns);
        hu_out_text(p->out, "</td><td>");
        hu_out_fixed(p->out, x->gain_pct, 1);
        hu_out_text(p->out, "</td><td>");
        hu_out_fixed(p->out, x->low_pct, 1);
        hu_out_text(p->out, "</td><td>");
        hu_out_fixed(p->out, x->high_pct, 1);
        hu_out_text(p->out, "</td></tr>\n");
    }
    hu_out_text(p->out, "</tbody></table></div>\n");
}

static void write_path(hu_page *p, const hu_joint_replay *joint)
{
    hu_out_text(p->out, "<h3>The critical path of the job</h3>\n");
    write_head(p, "the critical path of the job",
               "<th scope=\"col\">rank</th><th scope=\"col\" class=\"t\">class of time</th><th scope=\"col\">each step</th>"
               "<th scope=\"col\">%</th>");
    for (size_t i = 0; i < joint->n_pieces; i++) {
        hu_out_printf(p->out, "<tr><td>%lld</td><td class=\"t\">%s</td><td>",
                      (long long)hu_digest_rank_of(p->r->job->digests, joint->piece[i].digest),
                      hu_class_words(joint->piece[i].class));
        hu_page_number(p->out, HU_CELL_NS, joint->piece[i].step_ns);
        hu_out_text(p->out, "</td><td>");
        hu_out_fixed(p->out, 100 * joint->piece[i].share, 1);
        hu_out_text(p->out, "</td></tr>\n");
    }
    hu_out_text(p->out, "</tbody></table></div>\n");
}

void hu_page_job(hu_page *p)
{
    const hu_joint_replay *joint = p->r->job->joint;

    if (!joint)
        return;
    hu_out_text(p->out, "<div id=\"joint\"><h3>Joint replay of all ranks</h3>\n<p>");
    if (!joint->is_replayed) {
        hu_out_text(p->out, "Not replayed: ");
        hu_markup_sentence(p->out, hu_str_of(joint->why_not));
        hu_out_text(p->out, ".</p></div>\n");
        return;
    }
    hu_markup_say(p->out, "%zu%s ranks, joined by %zu collectives, take %s per step as measured and ", joint->ranks,
                  joint->ranks < p->r->job->n ? " of the" : "", joint->meetings, hu_say_time(joint->seen_ns).t);
    hu_markup_say(p->out, "%s as replayed (%s off).</p>\n", hu_say_time(joint->replayed_ns).t,
                  hu_say_pct(100 * fabs(joint->replayed_ns / joint->seen_ns - 1)).t);
    write_prices(p, joint);
    write_path(p, joint);
    hu_out_text(p->out, "</div>\n");
}
