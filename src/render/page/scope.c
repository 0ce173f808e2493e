/* SPDX-License-Identifier: Apache-2.0
 * scope.c - of whom a section speaks, where there are several ranks: the whole job, or one of them.  The script says it
 * again when another rank is chosen. */
#include "advise/say_memory.h"
#include "render/page/page.h"

/* "rank 3 on node0", as the page's selector calls it. */
void hu_page_rank_name(hu_page *p)
{
    hu_out_printf(p->out, "rank %lld", (long long)hu_digest_rank_of(p->r->job->digests, p->r->job->verdict.rank));
    if (p->d->info.host.n == 0)
        return;
    hu_out_text(p->out, " on ");
    hu_markup_text(p->out, p->d->info.host);
}

const char *hu_page_why_shown(const hu_page *p)
{
    return hu_is_memory_only(p->d)               ? ""
           : p->d->steps.source == HU_STEPS_NONE ? ", which took longest"
                                                 : ", which has the longest steps";
}

void hu_page_of_rank(hu_page *p, const char *before)
{
    if (p->r->job->n > 1)
        hu_out_printf(p->out, "%srank %lld", before,
                      (long long)hu_digest_rank_of(p->r->job->digests, p->r->job->verdict.rank));
}

void hu_page_scope(hu_page *p, hu_page_whom whom)
{
    static const char *const words[] = {[HU_PAGE_OF_RANK] = "",
                                        [HU_PAGE_OF_JOB] = "whole job",
                                        [HU_PAGE_VERDICT] = "whole job: the verdict. Numbers: ",
                                        [HU_PAGE_EVIDENCE] = "whole job; evidence: "};

    if (p->r->job->n < 2)
        return;
    hu_out_printf(p->out, "<p class=\"scope\">%s", words[whom]);
    if (whom != HU_PAGE_OF_JOB)
        hu_page_rank_name(p);
    if (whom == HU_PAGE_VERDICT || whom == HU_PAGE_EVIDENCE)
        hu_out_text(p->out, hu_page_why_shown(p));
    hu_out_text(p->out, "</p>\n");
}
