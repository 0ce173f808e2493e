/* SPDX-License-Identifier: Apache-2.0
 * results.c - what the text, the JSON and the difference of two files have in common. */
#include "render/results.h"

#include <math.h>

enum { LEAST_ROUNDS = 5 };

const char *const hu_result_units[] = {"time_ns", "bytes", "number"};

hu_said hu_results_say(hu_result_kind kind, double value)
{
    hu_said s;

    if (isnan(value))
        snprintf(s.t, sizeof s.t, "\xe2\x80\x93");
    else if (kind == HU_RESULT_TIME)
        s = hu_say_time(value);
    else if (kind == HU_RESULT_BYTES)
        hu_units_bytes(s.t, value);
    else
        hu_units_number(s.t, value);
    return s;
}

bool hu_results_has_spread(const hu_result *r)
{
    return isfinite(r->q1) && isfinite(r->q3) && (r->rounds < 0 || r->rounds >= LEAST_ROUNDS);
}

const hu_memory_call *hu_results_call_at_peak(const hu_memory_curve *m)
{
    const hu_memory_call *found = NULL;

    for (size_t i = 0; i < m->calls.n; i++) {
        const hu_memory_call *c = &m->calls.at[i];

        if (c->from_ns <= m->peak_ns && m->peak_ns <= c->to_ns &&
            (!found || c->depth > found->depth || (c->depth == found->depth && c->from_ns > found->from_ns)))
            found = c;
    }
    return found;
}

void hu_results_put(hu_json_out *j, const char *key, double value)
{
    char number[HU_NUMBER_BYTES];

    if (isfinite(value)) {
        hu_format_shortest(number, value);
        hu_json_digits(j, key, number);
    } else {
        hu_json_null(j, key);
    }
}
