/* SPDX-License-Identifier: Apache-2.0
 * log_hang.c - timeouts of collectives, for programs (docs/formats/step-log.md). */
#include "render/log_hang.h"

/* null: not said. */
static void write_number(hu_json_out *j, const char *key, int64_t value)
{
    if (value < 0)
        hu_json_null(j, key);
    else
        hu_json_int(j, key, value);
}

static void write_ranks(hu_json_out *j, const char *key, const hu_log_ranks *ranks)
{
    hu_json_open(j, key, '[');
    for (size_t i = 0; i < ranks->n; i++)
        hu_json_int(j, NULL, ranks->at[i]);
    hu_json_close(j, ']');
}

static void write_call(hu_json_out *j, const hu_log_timeout *t)
{
    hu_json_str(j, "group", t->group.p ? t->group : HU_STR(""));
    hu_json_str(j, "group_description", t->about.p ? t->about : HU_STR(""));
    hu_json_str(j, "operation", t->operation.p ? t->operation : HU_STR(""));
    write_number(j, "sequence", t->sequence);
}

static void write_hang(hu_json_out *j, const hu_log_hang *h)
{
    if (!h->call) {
        hu_json_null(j, "hang");
        return;
    }
    hu_json_open(j, "hang", '{');
    write_call(j, h->call);
    write_ranks(j, "waiting", &h->waiting);
    write_ranks(j, "never_entered", &h->absent);
    write_ranks(j, "in_earlier_call", &h->earlier);
    write_ranks(j, "in_different_call", &h->different);
    write_ranks(j, "in_other_calls", &h->other);
    write_ranks(j, "without_a_line", &h->silent);
    hu_json_close(j, '}');
}

void hu_hang_json(const hu_log_report *r, hu_json_out *j)
{
    hu_json_open(j, "timeouts", '[');
    for (size_t i = 0; i < r->log->timeouts.n; i++) {
        const hu_log_timeout *t = &r->log->timeouts.at[i];

        hu_json_open(j, NULL, '{');
        hu_json_int(j, "rank", t->rank);
        hu_json_bool(j, "timed_out", t->timed_out);
        write_call(j, t);
        write_number(j, "elements_in", t->elements[0]);
        write_number(j, "elements_out", t->elements[1]);
        write_number(j, "timeout_ms", t->timeout_ms);
        write_number(j, "waited_ms", t->waited_ms);
        write_number(j, "last_enqueued", t->enqueued);
        write_number(j, "last_completed", t->completed);
        hu_json_int(j, "line", (int64_t)t->line);
        hu_json_close(j, '}');
    }
    hu_json_close(j, ']');
    write_hang(j, &r->answer->hang);
}
