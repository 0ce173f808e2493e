/* SPDX-License-Identifier: Apache-2.0
 * log_rates.c - throughput, for programs (docs/formats/step-log.md). */
#include "render/log_rates.h"

#include <math.h>

static void write_rate(hu_json_out *j, const char *key, double ns)
{
    hu_json_fixed(j, key, isfinite(ns) && ns > 0 ? hu_log_rate_of(ns) : (double)NAN, 4);
}

void hu_rates_json(const hu_log_report *r, hu_json_out *j)
{
    static const char *const kinds[] = {"tokens", "samples", "steps"};
    const hu_rates_answer   *a = &r->answer->rates;
    const hu_log_answer     *t = a->times;

    if (!t && !isfinite(a->steps_per_s)) {
        hu_json_null(j, "rates");
        return;
    }
    hu_json_open(j, "rates", '{');
    hu_json_str(j, "unit", hu_str_of(t ? kinds[a->kind] : "steps"));
    hu_json_str(j, "of", hu_str_of(r->log->rates.is_serving ? "server" : a->is_of_gpu ? "gpu" : "job"));
    hu_json_bool(j, "is_running_mean", r->log->rates.is_rolling);
    hu_json_int(j, "count", t ? (int64_t)t->step.n : 0);
    write_rate(j, "median_per_s", t ? t->step.median : (double)NAN);
    write_rate(j, "p10_per_s", t ? t->step.p90 : (double)NAN);
    write_rate(j, "p90_per_s", t ? t->step.p10 : (double)NAN);
    write_rate(j, "min_per_s", t ? (double)t->step.max : (double)NAN);
    write_rate(j, "max_per_s", t ? (double)t->step.min : (double)NAN);
    write_rate(j, "warmup_per_s", t && t->has_warmup ? (double)t->warmup_ns : (double)NAN);
    if (t && t->has_change) {
        hu_json_open(j, "change", '{');
        hu_json_int(j, "iteration", t->change_at);
        write_rate(j, "before_per_s", t->before_ns);
        write_rate(j, "after_per_s", t->after_ns);
        hu_json_close(j, '}');
    } else {
        hu_json_null(j, "change");
    }
    hu_json_int(j, "low", t ? (int64_t)t->n_slow : 0);
    hu_json_fixed(j, "steps_per_s", a->steps_per_s, 6);
    hu_json_fixed(j, "samples_per_s", a->samples_per_s, 4);
    hu_json_bool(j, "is_of_whole_run", r->log->rates.steps_per_s > 0);
    hu_json_fixed(j, "running", a->running, 1);
    hu_json_fixed(j, "waiting", a->waiting, 1);
    hu_json_fixed(j, "cache_share", a->cache, 4);
    hu_json_close(j, '}');
}
