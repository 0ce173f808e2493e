/* SPDX-License-Identifier: Apache-2.0
 * strip.c - every rank of a job side by side, the one that costs the others most first; each leads to its row. */
#include <math.h>
#include <stdlib.h>

#include "render/page/page.h"

enum { MOST = 64, MOST_WITH_NUMBERS = 16, BAR_HEIGHT = 40 };

typedef struct {
    size_t rank;
    double ns;
} length;

/* Longest first; NaN last. */
static int by_length(const void *left, const void *right)
{
    const length *a = left, *b = right;
    const double  x = isnan(a->ns) ? -1 : a->ns, y = isnan(b->ns) ? -1 : b->ns;

    return x != y ? (x < y) - (x > y) : (a->rank > b->rank) - (a->rank < b->rank);
}

/* What the others wait for it in a step. */
static double caused_ns(const hu_job *job, size_t i)
{
    const int64_t steps = hu_digest_step_count(job->digests[i]);

    return job->rendezvous ? (double)job->rendezvous->at[i].caused_ns / (double)(steps > 0 ? steps : 1) : 0;
}

static double step_ns(const hu_job *job, size_t i)
{
    const hu_step_time *t = hu_digest_step_time(job->digests[i]);

    return t ? t->step_ns : (double)NAN;
}

/* By waiting, where there is any that a rank is to blame for; else by length of step.  Says which. */
static const char *measure(const hu_job *job, length *out)
{
    double most = 0;

    for (size_t i = 0; i < job->n; i++) {
        out[i] = (length){i, caused_ns(job, i)};
        most = fmax(most, out[i].ns);
    }
    if (most > 0)
        return "what the others wait for it in a step";
    for (size_t i = 0; i < job->n; i++)
        out[i].ns = step_ns(job, i);
    return "mean step";
}

static void write_rank(hu_page *p, const length *x, double most)
{
    const double  height = most > 0 && x->ns > 0 ? fmax(1, BAR_HEIGHT * x->ns / most) : 1;
    const int64_t rank = hu_digest_rank_of(p->r->job->digests, x->rank);

    hu_out_printf(p->out, "<li><a href=\"#ranks\" data-to=\"/ranks?row=%zu\">", x->rank);
    hu_out_printf(p->out, "<svg viewBox=\"0 0 10 %d\" preserveAspectRatio=\"none\" aria-hidden=\"true\"><title>rank %lld: ",
                  BAR_HEIGHT, (long long)rank);
    hu_page_number(p->out, HU_CELL_NS, x->ns);
    hu_out_printf(p->out, "</title><rect class=\"c-rest\" width=\"10\" height=\"%d\"/><rect width=\"10\" y=\"", BAR_HEIGHT);
    hu_out_fixed(p->out, BAR_HEIGHT - height, 1);
    hu_out_text(p->out, "\" height=\"");
    hu_out_fixed(p->out, height, 1);
    hu_out_printf(p->out, "\"/></svg><span>%lld <small>", (long long)rank);
    hu_page_number(p->out, HU_CELL_NS, x->ns);
    hu_out_text(p->out, "</small></span></a></li>\n");
}

void hu_page_strip(hu_page *p)
{
    const hu_job *job = p->r->job;
    length       *list = job->n > 1 ? hu_arena_calloc(p->r->scratch, job->n, sizeof *list) : NULL;
    const char   *what;

    if (!list) /* of one rank; or no memory, and then the table of ranks has it all */
        return;
    what = measure(job, list);
    qsort(list, job->n, sizeof *list, by_length);
    hu_out_printf(p->out, "<h3 id=\"strip-head\">Ranks, worst first <span class=\"note\">%s</span></h3>\n", what);
    hu_out_printf(p->out, "<ol class=\"strip%s\" aria-labelledby=\"strip-head\">\n",
                  job->n > MOST_WITH_NUMBERS ? " dense" : "");
    for (size_t i = 0; i < job->n && i < MOST; i++)
        write_rank(p, &list[i], list[0].ns);
    hu_out_text(p->out, "</ol>\n");
    if (job->n > MOST)
        hu_out_printf(p->out, "<p class=\"note\">the worst %d of %zu; <a href=\"#ranks\">all</a></p>\n", MOST, job->n);
}
