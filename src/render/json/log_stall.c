/* SPDX-License-Identifier: Apache-2.0
 * log_stall.c - who waited in vain, for programs (docs/formats/step-log.md). */
#include "render/log_stall.h"

/* null: not said. */
static void write_number(hu_json_out *j, const char *key, int64_t value)
{
    if (value < 0)
        hu_json_null(j, key);
    else
        hu_json_int(j, key, value);
}

void hu_stall_json(const hu_log_report *r, hu_json_out *j)
{
    static const char *const kinds[HU_LOG_STALL_KINDS] = {
        [HU_LOG_STALL_WATCHDOG] = "watchdog", [HU_LOG_STALL_MISMATCH] = "mismatch",    [HU_LOG_STALL_BARRIER] = "barrier",
        [HU_LOG_STALL_GLOO] = "gloo",         [HU_LOG_STALL_ID] = "communicator",      [HU_LOG_STALL_CONNECT] = "connect",
        [HU_LOG_STALL_JOIN] = "join",         [HU_LOG_STALL_RENDEZVOUS] = "rendezvous"};

    hu_json_open(j, "stalls", '[');
    for (size_t i = 0; i < r->log->stalls.n; i++) {
        const hu_log_stall *s = &r->log->stalls.at[i];

        hu_json_open(j, NULL, '{');
        hu_json_str(j, "kind", hu_str_of(kinds[s->kind]));
        hu_json_str(j, "about", s->about);
        hu_json_open(j, "ranks", '[');
        for (size_t k = 0; k < s->ranks.n; k++)
            hu_json_int(j, NULL, s->ranks.at[k]);
        hu_json_close(j, ']');
        write_number(j, "waited_ms", s->waited_ms);
        write_number(j, "joined", s->joined);
        write_number(j, "expected", s->expected);
        hu_json_bool(j, "is_over", s->is_over);
        hu_json_int(j, "count", (int64_t)s->n);
        hu_json_int(j, "line", (int64_t)s->line);
        hu_json_close(j, '}');
    }
    hu_json_close(j, ']');
}
