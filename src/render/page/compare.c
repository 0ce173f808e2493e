/* SPDX-License-Identifier: Apache-2.0
 * compare.c - several traces side by side: what each run says of itself; the script compares any two of their ranks. */
#include "advise/say_memory.h"
#include "render/page/page.h"

bool hu_page_has_compare(const hu_page *p)
{
    return p->r->job->n > 1 && !hu_is_memory_only(p->d);
}

void hu_page_compare_link(hu_page *p)
{
    if (!hu_page_has_compare(p) || p->r->job->runs.n == 0)
        return;
    hu_out_printf(p->out, "<p class=\"note\">These are %zu separate runs, each with its own verdict: ", p->r->job->runs.n);
    hu_page_open_link(p, "compare", "/compare", NULL);
    hu_out_text(p->out, "compare them</a></p>\n");
}

void hu_page_compare(hu_page *p)
{
    const hu_runs *runs = &p->r->job->runs;

    for (size_t i = 0; i < runs->n; i++) {
        hu_out_text(p->out, "<h3>");
        hu_markup_text(p->out, runs->at[i].name);
        hu_out_printf(p->out, "</h3>\n<p>%zu rank%s. ", runs->at[i].n, hu_plural((int64_t)runs->at[i].n));
        hu_markup_sentence(p->out, hu_str_of(runs->at[i].verdict.text));
        hu_out_text(p->out, "</p>\n");
    }
    hu_out_text(p->out, "<p class=\"note needs-script\">Times, operators and kernels of two traces side by side need "
                        "JavaScript, which is switched off.</p>\n");
}
