/* SPDX-License-Identifier: Apache-2.0
 * log_inspector.c - the sentences about calls of NCCL's Inspector. */
#include "render/log_inspector.h"

#include <math.h>

#include "advise/say.h"

static const double  LEAST_SHARE = 0.05, MOSTLY = 0.5;
static const int64_t LEAST_CALLS = 10;

static void hint_waits(const hu_log_report *r, hu_log_hint *out, size_t *n)
{
    const hu_inspector_answer  *a = &r->answer->inspector;
    const hu_inspector_rank    *last = a->ranks.n ? &a->ranks.at[0] : NULL;
    const hu_inspector_process *p = last ? &r->log->inspector.processes.at[last->process] : NULL;

    if (a->compared < LEAST_CALLS || a->wait_ns < LEAST_SHARE * a->ns)
        return;
    if (last && (double)last->n_last >= MOSTLY * (double)last->calls)
        HU_LOG_SAY(
            hu_log_hint_add(out, n, "late_rank", NAN),
            "Rank %lld (%.*s, process %lld) comes last in %s of its %s collectives, and each other rank waits %s for it on "
            "average. Waiting is %s of the time in collectives. Look at that rank: its input, its host, its GPU's clocks, "
            "or more work than the others have.",
            (long long)last->rank, (int)(p->host.n < 64 ? p->host.n : 64), p->host.p, (long long)p->pid,
            hu_say_pct(100 * (double)last->n_last / (double)last->calls).t, hu_say_count(last->calls).t,
            hu_say_time(last->held_ns / (double)last->n_last).t, hu_say_pct(100 * a->wait_ns / a->ns).t);
    else
        HU_LOG_SAY(
            hu_log_hint_add(out, n, "ranks_wait", NAN),
            "Ranks wait for each other in %s of the time in collectives, and no rank is always the last: look for work that "
            "ranks share unevenly from step to step, for pauses of hosts, and for input that comes late.",
            hu_say_pct(100 * a->wait_ns / a->ns).t);
}

static void hint_lost(const hu_log_report *r, hu_log_hint *out, size_t *n)
{
    const hu_log_inspector *log = &r->log->inspector;

    if (log->n_dropped)
        HU_LOG_SAY(
            hu_log_hint_add(out, n, "calls_dropped", NAN),
            "The Inspector dropped %s calls that are in no file: write more often (NCCL_INSPECTOR_DUMP_THREAD_INTERVAL_"
            "MICROSECONDS) or keep more (NCCL_INSPECTOR_DUMP_COLL_RING_SIZE).",
            hu_say_count(log->n_dropped).t);
}

void hu_inspector_hints(const hu_log_report *r, hu_log_hint *out, size_t *n)
{
    hint_waits(r, out, n);
    hint_lost(r, out, n);
}
