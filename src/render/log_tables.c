/* SPDX-License-Identifier: Apache-2.0
 * log_tables.c - the sentences about DeepSpeed's tables. */
#include "render/log_tables.h"

#include <math.h>

#include "advise/say.h"

static const double LEAST_SHARE = 0.05;

static void hint_ops(const hu_op_answer *a, hu_log_hint *out, size_t *n)
{
    if (a->is_impossible)
        return;
    if (a->waits && a->wait_ns >= LEAST_SHARE * a->ns)
        HU_LOG_SAY(
            hu_log_hint_add(out, n, "waits_in_collectives", NAN),
            "Ranks wait for each other, by the comms logger's times: %.*s of %.*s takes %s on average (%s calls), "
            "and so few bytes need microseconds. Such "
            "calls are %s of the time in collectives. Look for the rank that comes late: its input, its host, its GPU's "
            "clocks; or for work that ranks share unevenly.",
            (int)(a->waits->op.n < 60 ? a->waits->op.n : 60), a->waits->op.p, (int)a->waits->size.n, a->waits->size.p,
            hu_say_time(a->waits->avg_ns).t, hu_say_count(a->waits->count).t, hu_say_pct(100 * a->wait_ns / a->ns).t);
    if (a->straggler_ns >= LEAST_SHARE * (a->straggler_ns + a->least_ns))
        HU_LOG_SAY(
            hu_log_hint_add(out, n, "stragglers", NAN),
            "%s of %s in collectives (%s) is what rank 0 took longer than the fastest rank in the same calls: it waited for "
            "ranks that came late.",
            hu_say_time(a->straggler_ns).t, hu_say_time(a->straggler_ns + a->least_ns).t,
            hu_say_pct(100 * a->straggler_ns / (a->straggler_ns + a->least_ns)).t);
}

/* Backward computes twice as much as forward. */
static void hint_flops(const hu_log_flops *f, hu_log_hint *out, size_t *n)
{
    if (f->fwd_ns > f->bwd_ns && f->bwd_ns > 0)
        HU_LOG_SAY(
            hu_log_hint_add(out, n, "forward_waits", NAN),
            "The forward pass takes %s and the backward pass, which computes twice as much, %s: most of the forward pass is "
            "not computing. It launches many small kernels or waits for data or other ranks (the profiler's hooks slow it, "
            "too).",
            hu_say_time(f->fwd_ns).t, hu_say_time(f->bwd_ns).t);
}

/* A timer that some ranks end later than others. */
static void hint_spread(const hu_log_report *r, hu_log_hint *out, size_t *n)
{
    const hu_log_answer *a = r->answer;
    const hu_log_share  *worst = NULL;
    char                 rank[160] = "";
    hu_log_hint         *hint;

    for (size_t i = 0; i < a->parts.n; i++) {
        const hu_log_share *p = &a->parts.at[i];

        if (p->role != HU_LOG_ONCE && p->spread.n && (!worst || p->spread.median > worst->spread.median))
            worst = p;
    }
    if (!worst || worst->spread.median < LEAST_SHARE * (a->step.n ? a->step.median : worst->stats.median))
        return;
    if (worst->slowest >= 0)
        snprintf(rank, sizeof rank, "; rank %lld is the slowest in %s of the lines", (long long)worst->slowest,
                 hu_say_pct(100 * worst->slowest_share).t);
    hint = hu_log_hint_add(out, n, "ranks_differ", NAN);
    hint->most_saved = worst->spread.median;
    HU_LOG_SAY(
        hint,
        "%.*s takes %s longer on the slowest rank than on the fastest (median)%s: as ranks wait for each other, a step "
        "would be that much shorter at most if all were as fast.",
        (int)(worst->name.n < 80 ? worst->name.n : 80), worst->name.p, hu_say_time(worst->spread.median).t, rank);
}

void hu_tables_hints(const hu_log_report *r, hu_log_hint *out, size_t *n)
{
    hint_spread(r, out, n);
    hint_ops(&r->answer->ops, out, n);
    hint_flops(&r->log->flops, out, n);
}
