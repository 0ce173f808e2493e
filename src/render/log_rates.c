/* SPDX-License-Identifier: Apache-2.0
 * log_rates.c - the sentences: where throughput fell, which lines are low, and what limits a server. */
#include "render/log_rates.h"

#include <math.h>

static const double FULL = 0.9; /* of a KV cache */

bool hu_rates_are_shown(const hu_log_report *r)
{
    return r->log->steps.n == 0 && (r->answer->rates.times || isfinite(r->answer->rates.steps_per_s));
}

const char *hu_rates_unit(const hu_rates_answer *a)
{
    static const char *const units[] = {"tokens/s", "samples/s", "steps/s"};

    return units[a->kind];
}

static hu_said say_rate(double ns)
{
    hu_said said;

    hu_units_number(said.t, hu_log_rate_of(ns));
    return said;
}

static void hint_change(const hu_rates_answer *a, hu_log_hint *out, size_t *n)
{
    const hu_log_answer *t = a->times;
    const double         change = t->has_change ? t->before_ns / t->after_ns - 1 : 0;

    if (change < 0)
        HU_LOG_SAY(
            hu_log_hint_add(out, n, "slower_since", NAN),
            "From step %lld on, the log tells %s %s instead of %s, %s less: look at what changed then (clocks, a node, "
            "sequence lengths, the file system).",
            (long long)t->change_at, say_rate(t->after_ns).t, hu_rates_unit(a), say_rate(t->before_ns).t,
            hu_say_pct(-100 * change).t);
    else if (change > 0)
        HU_LOG_SAY(hu_log_hint_add(out, n, "faster_since", NAN),
                   "From step %lld on, the log tells %s %s instead of %s, %s more.", (long long)t->change_at,
                   say_rate(t->after_ns).t, hu_rates_unit(a), say_rate(t->before_ns).t, hu_say_pct(100 * change).t);
    if (t->has_growth)
        HU_LOG_SAY(hu_log_hint_add(out, n, t->growth_ns > 0 ? "grows" : "shrinks", NAN),
                   "Throughput %s steadily, from %s to %s %s%s.", t->growth_ns > 0 ? "falls" : "rises",
                   say_rate(t->first_ns).t, say_rate(t->last_ns).t, hu_rates_unit(a),
                   t->growth_ns > 0 ? ": look at what is kept or grows from step to step (lists, caches, sequence lengths)"
                                    : "");
}

static void hint_low(const hu_rates_answer *a, hu_log_hint *out, size_t *n)
{
    const hu_log_answer *t = a->times;
    char                 when[96] = "";

    if (t->n_slow == 0)
        return;
    if (t->slow_period)
        snprintf(when, sizeof when, ", every %lld steps, as checkpoints and evaluations are", (long long)t->slow_period);
    HU_LOG_SAY(
        hu_log_hint_add(out, n, "slow_steps", NAN),
        "%zu of %zu lines tell%s less than two thirds of the typical rate%s; the least, at step %lld (line %llu), is %s %s.",
        t->n_slow, t->step.n, t->n_slow == 1 ? "s" : "", when, (long long)t->slowest->iteration,
        (unsigned long long)t->slowest->line, say_rate((double)t->slowest->ns).t, hu_rates_unit(a));
}

/* What its rate depends on. */
static void hint_server(const hu_rates_answer *a, hu_log_hint *out, size_t *n)
{
    if (isnan(a->waiting) || isnan(a->cache) || isnan(a->running))
        return;
    if (a->waiting < 1)
        HU_LOG_SAY(
            hu_log_hint_add(out, n, "server_has_room", NAN),
            "Typically %.0f requests run and none waits: the rate is that of the requests that come, not what the server "
            "can do. Send more at once to know that.",
            a->running);
    else if (a->cache >= FULL)
        HU_LOG_SAY(
            hu_log_hint_add(out, n, "kv_cache_full", NAN),
            "Typically %.0f requests run and %.0f wait, and the KV cache is %s full: it limits how many run at once. Give "
            "it more memory (vLLM: --gpu-memory-utilization, SGLang: --mem-fraction-static), FP8 keys and values, more "
            "GPUs for a replica, or shorter contexts.",
            a->running, a->waiting, hu_say_pct(100 * a->cache).t);
    else
        HU_LOG_SAY(
            hu_log_hint_add(out, n, "batch_limit", NAN),
            "Typically %.0f requests run and %.0f wait, while the KV cache is only %s full: a limit on requests or tokens "
            "holds them back (vLLM: --max-num-seqs, --max-num-batched-tokens, SGLang: --max-running-requests), or prefill "
            "does.",
            a->running, a->waiting, hu_say_pct(100 * a->cache).t);
}

void hu_rates_hints(const hu_log_report *r, hu_log_hint *out, size_t *n)
{
    const hu_rates_answer *a = &r->answer->rates;

    if (!hu_rates_are_shown(r))
        return;
    if (r->log->rates.is_serving) {
        hint_server(a, out, n);
    } else if (a->times) {
        hint_change(a, out, n);
        hint_low(a, out, n);
    }
}
