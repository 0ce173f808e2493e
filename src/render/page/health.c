/* SPDX-License-Identifier: Apache-2.0
 * health.c - how far the trace can be trusted: what was read, what was lost, what the capture left out. */
#include "render/page/page.h"

void hu_page_unread(hu_out *out, const hu_unread_list *unread, const hu_unread_list *partial, size_t n_read)
{
    char line[2][HU_UNREAD_TEXT];

    hu_unread_say(unread, n_read, line[0], sizeof line[0]);
    hu_unread_say_partial(partial, n_read, line[1], sizeof line[1]);
    for (size_t i = 0; i < HU_COUNT(line); i++) {
        if (!line[i][0])
            continue;
        hu_out_text(out, "<p class=\"error unread\">");
        hu_markup_text(out, hu_str_of(line[i]));
        hu_out_text(out, "</p>\n");
    }
}

void hu_page_health(hu_page *p)
{
    const hu_health  *h = &p->d->health;
    const hu_quality *q = &h->quality;
    hu_out           *out = p->out;

    hu_out_printf(out, "<ul class=\"health\">\n<li>%lld events read, %lld lost</li>\n", (long long)q->events,
                  (long long)hu_quality_lost(q));
    for (hu_reason r = 0; r < HU_REASON_COUNT; r++)
        if (q->count[r])
            hu_out_printf(out, "<li>%lld event%s %s: %s</li>\n", (long long)q->count[r], hu_plural(q->count[r]),
                          hu_reason_is_loss(r) ? "lost" : "kept", hu_reason_words(r));
    if (q->is_truncated)
        hu_out_printf(out, "<li>the file is cut at byte %lld</li>\n", (long long)q->truncated_at);
    if (q->warned[0]) {
        hu_out_text(out, "<li>the profiler warned: ");
        hu_markup_text(out, hu_str_of(q->warned));
        hu_out_text(out, "</li>\n");
    }
    if (h->unlinked_kernels)
        hu_out_printf(out, "<li>GPU operations without a launch: %lld</li>\n", (long long)h->unlinked_kernels);
    if (h->unlinked_launches)
        hu_out_printf(out, "<li>launches without a GPU operation: %lld</li>\n", (long long)h->unlinked_launches);
    for (hu_missing m = 0; m < HU_MISSING_COUNT; m++)
        if (h->missing & 1u << m)
            hu_out_printf(out, "<li>not captured: %s – <code>%s</code></li>\n", hu_missing_what(m), hu_missing_how(h, m));
    hu_out_text(out, "</ul>\n");
}
