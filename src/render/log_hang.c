/* SPDX-License-Identifier: Apache-2.0
 * log_hang.c - the sentence, in the words of Flight Recorder dumps (flight.c). */
#include "render/log_hang.h"

#include <stdio.h>

#include "render/flight.h"

static void say_call(hu_out *out, const hu_log_timeout *t)
{
    hu_out_str(out, t->operation.n ? t->operation : HU_STR("a call"));
    if (t->sequence >= 0)
        hu_out_printf(out, " #%lld", (long long)t->sequence);
}

static void say_group(hu_out *out, const hu_log_timeout *t)
{
    if (t->group.n == 0)
        hu_out_text(out, "a group that the log does not name");
    else
        hu_flight_say_group(out, t->group, t->about);
}

static const char *verb(const hu_log_ranks *ranks, const char *one, const char *many)
{
    return ranks->n == 1 ? one : many;
}

static void say_size(hu_out *out, const hu_log_timeout *t)
{
    if (t->elements[0] >= 0)
        hu_out_printf(out, " of %s elements", hu_say_count(t->elements[0]).t);
}

static void say_state(hu_out *out, const hu_log_timeout *t, bool is_one)
{
    if (is_one)
        hu_out_text(out, "; its last call");
    else
        hu_out_printf(out, "; the last call of rank %lld", (long long)t->rank);
    hu_out_printf(out, " was #%lld", (long long)t->enqueued);
    if (t->completed >= t->enqueued)
        hu_out_text(out, ", which ended");
    else if (t->completed >= 0)
        hu_out_printf(out, ", and the last that ended #%lld", (long long)t->completed);
}

static void say_waiting(const hu_log_hang *h, hu_out *out)
{
    hu_flight_say_ranks(out, h->waiting.at, h->waiting.n, true);
    hu_out_text(out, " waited in ");
    say_call(out, h->call);
    hu_out_text(out, " of ");
    say_group(out, h->call);
    if (h->call->waited_ms >= 0)
        hu_out_printf(out, " until the watchdog ended %s after %s", h->waiting.n == 1 ? "it" : "them",
                      hu_say_time((double)h->call->waited_ms * 1e6).t);
}

static void say_absent(const hu_log_hang *h, hu_out *out)
{
    hu_flight_say_ranks(out, h->absent.at, h->absent.n, true);
    hu_out_text(out, " never entered ");
    say_call(out, h->call);
    hu_out_text(out, " of ");
    say_group(out, h->call);
    hu_out_text(out, ", in which ");
    hu_flight_say_ranks(out, h->waiting.at, h->waiting.n, false);
    hu_out_text(out, verb(&h->waiting, " waits", " wait"));
    say_state(out, h->first_absent, h->absent.n == 1);
}

static void say_different(const hu_log_hang *h, hu_out *out)
{
    const bool is_operation = !hu_str_equal(h->first_different->operation, h->call->operation);

    if (is_operation)
        hu_out_printf(out, "In collective #%lld of ", (long long)h->call->sequence);
    else {
        hu_out_text(out, "In ");
        say_call(out, h->call);
        hu_out_text(out, " of ");
    }
    say_group(out, h->call);
    hu_out_printf(out, ", rank %lld called ", (long long)h->first_different->rank);
    hu_out_str(out, h->first_different->operation);
    say_size(out, h->first_different);
    hu_out_printf(out, " where rank %lld called ", (long long)h->call->rank);
    hu_out_str(out, h->call->operation);
    say_size(out, h->call);
    if (h->different.n > 1) {
        hu_out_text(out, "; in all, ");
        hu_flight_say_ranks(out, h->different.at, h->different.n, false);
        hu_out_printf(out, " differ from rank %lld", (long long)h->call->rank);
    }
}

static void say_earlier(const hu_log_hang *h, hu_out *out)
{
    hu_flight_say_ranks(out, h->earlier.at, h->earlier.n, true);
    hu_out_text(out, verb(&h->earlier, " waits in an earlier call (", " wait in earlier calls (the first in "));
    say_call(out, h->first_earlier);
    hu_out_text(out, ") than ");
    hu_flight_say_ranks(out, h->waiting.at, h->waiting.n, false);
    hu_out_text(out, " (");
    say_call(out, h->call);
    hu_out_text(out, ") of ");
    say_group(out, h->call);
}

static void say_silent(const hu_log_hang *h, hu_out *out)
{
    hu_out_text(out, "; of ");
    hu_flight_say_ranks(out, h->silent.at, h->silent.n, false);
    hu_out_printf(out, " there is no line of a timeout: %s not reached it, may be dead, or %s log is not here",
                  h->silent.n == 1 ? "it has" : "they have", h->silent.n == 1 ? "its" : "their");
}

static void say_other(const hu_log_hang *h, hu_out *out)
{
    hu_out_text(out, "; ");
    hu_flight_say_ranks(out, h->other.at, h->other.n, false);
    hu_out_text(out, verb(&h->other, " timed out in another call (", " timed out in other calls (the first in "));
    say_call(out, h->first_other);
    hu_out_text(out, "), which may be of another group");
}

static void say(const hu_log_hang *h, hu_out *out)
{
    const bool is_told = h->absent.n || h->different.n || h->earlier.n;

    if (h->different.n)
        say_different(h, out);
    else if (h->absent.n)
        say_absent(h, out);
    else if (h->earlier.n)
        say_earlier(h, out);
    else
        say_waiting(h, out);
    if (h->other.n)
        say_other(h, out);
    if (h->silent.n)
        say_silent(h, out);
    else if (!is_told && !h->other.n)
        hu_out_text(out, "; no line tells which rank did not reach it: give the logs of all ranks, or dumps of the Flight "
                         "Recorder (TORCH_FR_BUFFER_SIZE)");
    hu_out_text(out, ".");
}

void hu_hang_sentence(const hu_log_report *r, hu_log_hint *hint)
{
    hu_out *text = hu_out_open_memory(r->scratch);

    if (text)
        say(&r->answer->hang, text);
    hu_log_hint_take(text, hint->words, sizeof hint->words);
}
