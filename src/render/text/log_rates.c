/* SPDX-License-Identifier: Apache-2.0
 * log_rates.c - throughput, for people. */
#include "render/log_rates.h"

#include <math.h>

enum { LABEL = 8, LINE_BYTES = 400 };

static void write_wrapped(const hu_log_report *r, hu_out *out, const char *label, const char *words)
{
    hu_out_printf(out, "%-*s", LABEL, label);
    hu_units_wrap(out, hu_str_of(words), LABEL, LABEL, r->width);
    hu_out_text(out, "\n");
}

static hu_said say(double value)
{
    hu_said said;

    hu_units_number(said.t, value);
    return said;
}

static void write_main(const hu_log_report *r, hu_out *out)
{
    const hu_rates_answer *a = &r->answer->rates;
    const hu_log_answer   *t = a->times;
    const char            *of = r->log->rates.is_serving ? " generated" : a->is_of_gpu ? " for each GPU" : "";
    char                   line[LINE_BYTES];
    size_t                 n;

    if (t->has_change)
        n = (size_t)snprintf(line, sizeof line, "%s %s%s, typically, and from step %lld on %s",
                             say(hu_log_rate_of(t->before_ns)).t, hu_rates_unit(a), of, (long long)t->change_at,
                             say(hu_log_rate_of(t->after_ns)).t);
    else
        n = (size_t)snprintf(line, sizeof line, "%s %s%s, typically", say(hu_log_rate_of(t->step.median)).t,
                             hu_rates_unit(a), of);
    if (t->step.n >= 10)
        snprintf(line + n, sizeof line - n, " (10 %% of the lines tell less than %s, 10 %% more than %s)",
                 say(hu_log_rate_of(t->step.p90)).t, say(hu_log_rate_of(t->step.p10)).t);
    write_wrapped(r, out, "RATE", line);
    if (r->log->rates.is_rolling)
        write_wrapped(r, out, "", "each is a running mean over many steps, so a slow step hardly shows in it");
    if (t->has_warmup) {
        snprintf(line, sizeof line, "the first line (%s) is taken for warm-up and left out",
                 say(hu_log_rate_of((double)t->warmup_ns)).t);
        write_wrapped(r, out, "", line);
    }
}

/* "2.50 steps/s: 400 ms for a step on average" */
static void write_steps(const hu_log_report *r, hu_out *out, bool is_first)
{
    const hu_rates_answer *a = &r->answer->rates;
    const bool             is_whole = r->log->rates.steps_per_s > 0;
    char                   line[LINE_BYTES];
    size_t                 n;

    if (!isfinite(a->steps_per_s))
        return;
    if (a->times && a->kind == HU_LOG_RATE_STEPS) {
        snprintf(line, sizeof line, "%s for a step on average", hu_say_time(1e9 / a->steps_per_s).t);
        write_wrapped(r, out, "", line);
        return;
    }
    n = (size_t)snprintf(line, sizeof line, "%s steps/s%s: %s for a step on average", say(a->steps_per_s).t,
                         is_whole ? " over the whole run, evaluations and checkpoints included" : "",
                         hu_say_time(1e9 / a->steps_per_s).t);
    if (is_whole && isfinite(a->samples_per_s))
        snprintf(line + n, sizeof line - n, "; %s samples/s", say(a->samples_per_s).t);
    write_wrapped(r, out, is_first ? "RATE" : "", line);
}

void hu_rates_text(const hu_log_report *r, hu_out *out)
{
    const hu_rates_answer *a = &r->answer->rates;

    if (!hu_rates_are_shown(r))
        return;
    if (a->times)
        write_main(r, out);
    write_steps(r, out, !a->times);
    if (!r->log->rates.is_serving)
        write_wrapped(r, out, "", "the log prints no time of a step, so slow ones between its lines do not show");
}
