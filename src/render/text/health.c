/* SPDX-License-Identifier: Apache-2.0
 * health.c - what was read, what was lost, what the capture left out. */
#include "render/text/text.h"

#include <stdio.h>

#include "base/units.h"

enum { HEALTH_INDENT = 15 };

/* "      1,234  words (5.0 ms)", wrapped. */
static void health_line(hu_text_page *p, int64_t n, double ns, const char *label, const char *words)
{
    char text[HU_UNIT_BYTES], line[256];

    hu_units_count(text, n);
    hu_out_text(p->out, "  ");
    hu_text_right(p, text, HEALTH_INDENT - 4);
    hu_out_text(p->out, "  ");
    hu_units_time(text, ns);
    snprintf(line, sizeof line, ns > 0 ? "%s%s (%s)" : "%s%s", label, words, text);
    hu_text_hanging(p, line, HEALTH_INDENT);
}

/* Behind the count and before the words: "5 events lost: torn", "1 event kept: with a negative duration". */
static const char *label_of(hu_reason r, int64_t n)
{
    return hu_reason_is_loss(r) ? n == 1 ? "event lost: " : "events lost: " : n == 1 ? "event kept: " : "events kept: ";
}

void hu_text_health(hu_text_page *p, const hu_digest *d, bool whole)
{
    const hu_health  *h = &d->health;
    const hu_quality *q = &h->quality;
    const int64_t     lost = hu_quality_lost(q);

    hu_text_heading(p, "TRACE HEALTH");
    if (!whole && p->r->job->n > 1) {
        hu_out_text(p->out, "   of ");
        hu_units_clip_file(p->out, hu_str_base_name(d->info.file), p->r->width - 20);
    }
    hu_out_text(p->out, "\n");
    health_line(p, q->events, 0, q->events == 1 ? "event read" : "events read", "");
    if (lost == 0)
        health_line(p, 0, 0, "events lost", "");
    for (hu_reason r = 0; r < HU_REASON_COUNT; r++)
        if (q->count[r])
            health_line(p, q->count[r], (double)q->dur_ns[r], label_of(r, q->count[r]), hu_reason_words(r));
    if (q->is_truncated) {
        char line[sizeof q->truncated_why + 80];

        snprintf(line, sizeof line, "the file is cut at byte %lld%s%s", (long long)q->truncated_at,
                 q->truncated_why[0] ? ": " : "", q->truncated_why);
        hu_text_paragraph(p, line, 2);
    }
    if (q->warned[0]) {
        char line[sizeof q->warned + 24];

        snprintf(line, sizeof line, "the profiler warned: %s", q->warned);
        hu_text_paragraph(p, line, 2);
    }
    if (q->trailing_bytes)
        health_line(p, q->trailing_bytes, 0,
                    q->trailing_bytes == 1 ? "byte after the end of the trace, ignored"
                                           : "bytes after the end of the trace, ignored",
                    "");
    if (q->invalid_utf8)
        health_line(p, q->invalid_utf8, 0, q->invalid_utf8 == 1 ? "name that is not UTF-8" : "names that are not UTF-8", "");
    if (d->outside.n)
        health_line(p, (int64_t)d->outside.n, (double)d->outside.cpu_ns,
                    d->outside.n == 1 ? "process not recorded from inside: " : "processes not recorded from inside: ",
                    "--view outside");
    if (h->unlinked_kernels)
        health_line(p, h->unlinked_kernels, (double)h->unlinked_kernels_ns,
                    h->unlinked_kernels == 1 ? "GPU operation without a launch" : "GPU operations without a launch", "");
    if (h->unlinked_launches)
        health_line(p, h->unlinked_launches, 0,
                    h->unlinked_launches == 1 ? "launch without a GPU operation" : "launches without a GPU operation", "");
    if (h->graph_kernels)
        health_line(p, h->graph_kernels, 0,
                    h->graph_kernels == 1 ? "kernel launched by CUDA graphs" : "kernels launched by CUDA graphs", "");
    if (whole)
        for (hu_kind k = 0; k < HU_KIND_COUNT; k++)
            if (h->kinds[k])
                health_line(p, h->kinds[k], 0, "of kind ", hu_kind_name(k));
    for (hu_missing m = 0; m < HU_MISSING_COUNT; m++) {
        if (h->missing & 1u << m) {
            hu_out_printf(p->out, "  not captured: %s\n", hu_missing_what(m));
            hu_text_paragraph(p, hu_missing_how(h, m), 6);
        }
    }
}
