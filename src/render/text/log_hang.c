/* SPDX-License-Identifier: Apache-2.0
 * log_hang.c - each rank that timed out, or told how far it is, on a line. */
#include "render/flight.h"
#include "render/log_hang.h"

enum { LABEL = 8, ROWS = 8 };

static void write_one(const hu_log_report *r, const hu_log_timeout *t, hu_out *out)
{
    hu_out *line = hu_out_open_memory(r->scratch);
    hu_str  words = HU_STR("");

    if (line) {
        hu_out_printf(line, "rank %lld  ", (long long)t->rank);
        if (t->timed_out) {
            hu_out_str(line, t->operation.n ? t->operation : HU_STR("a call"));
            if (t->sequence >= 0)
                hu_out_printf(line, " #%lld", (long long)t->sequence);
        } else {
            hu_out_text(line, "no timeout");
        }
        if (t->group.n) {
            hu_out_text(line, " of ");
            hu_flight_say_group(line, t->group, t->about);
        }
        if (t->elements[0] >= 0)
            hu_out_printf(line, ", %s elements", hu_say_count(t->elements[0]).t);
        if (t->waited_ms >= 0)
            hu_out_printf(line, ", waited %s", hu_say_time((double)t->waited_ms * 1e6).t);
        if (t->enqueued >= 0)
            hu_out_printf(line, "; last enqueued #%lld", (long long)t->enqueued);
        if (t->completed >= 0)
            hu_out_printf(line, ", last completed #%lld", (long long)t->completed);
        hu_out_printf(line, " (line %llu)", (unsigned long long)t->line);
        if (hu_out_take(line, &words, NULL) < 0)
            words = HU_STR("");
    }
    hu_units_wrap(out, words, LABEL, LABEL + 2, r->width);
    hu_out_text(out, "\n");
}

void hu_hang_text(const hu_log_report *r, hu_out *out)
{
    const hu_log_timeouts *list = &r->log->timeouts;
    const size_t           most = r->top ? r->top : ROWS;

    for (size_t i = 0; i < list->n && i < most; i++) {
        hu_out_printf(out, "%-*s", LABEL, i ? "" : "TIMEOUT");
        write_one(r, &list->at[i], out);
    }
    if (list->n > most)
        hu_out_printf(out, "%*s%zu more (--top)\n", LABEL, "", list->n - most);
}
