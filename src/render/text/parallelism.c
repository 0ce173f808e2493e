/* SPDX-License-Identifier: Apache-2.0
 * parallelism.c - how the job is spread over its ranks, in two or three lines below where the time goes. */
#include "render/text/text.h"

#include <math.h>
#include <stdio.h>

#include "advise/say.h"
#include "base/number.h"
#include "base/units.h"

static size_t add(char *line, size_t n, size_t room, const char *before, double value, int decimals, const char *after)
{
    char number[HU_NUMBER_BYTES];

    if (isnan(value) || n >= room)
        return n;
    hu_format_fixed(number, value, decimals);
    return n + (size_t)snprintf(line + n, room - n, "%s%s%s%s", n ? ", " : "", before, number, after);
}

static size_t add_text(char *line, size_t n, size_t room, const char *before, const char *text)
{
    return n >= room ? n : n + (size_t)snprintf(line + n, room - n, "%s%s%s", n ? ", " : "", before, text);
}

static const char *how_much(double pct)
{
    return pct >= 50 ? "yes" : pct >= 10 ? "partly" : "no";
}

static bool is_whole(double value)
{
    return value == floor(value);
}

/* "24 units, 1.1 GB of parameters, prefetch forward yes, backward partly" */
static void write_facts(hu_text_page *p, const hu_parallelism *s)
{
    char   line[512], bytes[HU_UNIT_BYTES];
    size_t n = 0;

    line[0] = '\0';
    n = add(line, n, sizeof line, "", s->units, is_whole(s->units) ? 0 : 1, s->units == 1 ? " unit" : " units");
    if (!isnan(s->parameter_bytes)) {
        hu_units_bytes(bytes, s->parameter_bytes);
        n = add_text(line, n, sizeof line, "parameters ", bytes);
    }
    if (!isnan(s->prefetch_forward_pct))
        n = add_text(line, n, sizeof line, "prefetch in forward ", how_much(s->prefetch_forward_pct));
    if (!isnan(s->prefetch_backward_pct))
        n = add_text(line, n, sizeof line, isnan(s->prefetch_forward_pct) ? "prefetch in backward " : "in backward ",
                     how_much(s->prefetch_backward_pct));
    if (isnan(s->units))
        n = add(line, n, sizeof line, "", s->buckets, is_whole(s->buckets) ? 0 : 1,
                s->buckets == 1 ? " bucket" : " buckets");
    if (!isnan(s->gradient_bytes)) {
        hu_units_bytes(bytes, s->gradient_bytes);
        n = add_text(line, n, sizeof line, "gradients ", bytes);
    }
    n = add(line, n, sizeof line, "", s->layers, 0, s->layers == 1 ? " split layer" : " split layers");
    n = add(line, n, sizeof line, "", s->expert_layers, 0,
            s->expert_layers == 1 ? " layer of experts" : " layers of experts");
    if (s->microbatches > 0)
        n = add(line, n, sizeof line, "", (double)s->microbatches, 0, " micro-batches");
    n = add(line, n, sizeof line, "bubble ", s->bubble_pct, 0, " %");
    n = add(line, n, sizeof line, "ideal ", s->ideal_bubble_pct, 0, " %");
    if (n == 0)
        return;
    hu_text_spaces(p, 15);
    hu_text_hanging(p, line, 15);
}

/* What the ranks of a job say together; of one rank, or of files that are no job, what it says itself. */
void hu_text_parallelism(hu_text_page *p, const hu_digest *d)
{
    const hu_parallelism *s = &d->parallelism;
    const hu_agreement   *a = &p->r->job->agreement;
    const hu_parallelism *said = p->r->job->n > 1 && a->said ? a->said : s;
    const bool            differ = p->r->job->n > 1 && a->differ > 0;
    char                  line[700];

    if (!said->summary.n && !(p->r->job->n > 1 && a->why_not[0]))
        return;
    if (said->summary.n)
        snprintf(line, sizeof line, "%.*s (confidence: %s)", (int)said->summary.n, said->summary.p,
                 hu_trust_name(differ ? HU_TRUST_LOW : said->trust));
    else
        snprintf(line, sizeof line, "%s", a->why_not);
    hu_text_heading(p, "PARALLELISM");
    hu_text_spaces(p, 4);
    hu_text_hanging(p, line, 15);
    if (said->summary.n)
        write_facts(p, said);
    hu_out_text(p->out, "\n");
}
