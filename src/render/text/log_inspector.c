/* SPDX-License-Identifier: Apache-2.0
 * log_inspector.c - calls of collectives by size, and the ranks that come last, for people. */
#include "advise/say.h"
#include "render/log_inspector.h"

enum { LABEL = 8, ROWS = 8, LINE_BYTES = 600, NAME = 16 };

static void write_wrapped(const hu_log_report *r, hu_out *out, const char *label, const char *words)
{
    hu_out_printf(out, "%-*s", LABEL, label);
    hu_units_wrap(out, hu_str_of(words), LABEL, LABEL, r->width);
    hu_out_text(out, "\n");
}

static hu_said say_gbps(double gbps)
{
    hu_said s;

    if (isnan(gbps))
        snprintf(s.t, sizeof s.t, "\xe2\x80\x93");
    else
        hu_format_fixed(s.t, gbps, gbps >= 99.95 ? 0 : gbps >= 9.995 ? 1 : 2);
    return s;
}

static void write_title(const hu_log_report *r, hu_out *out)
{
    const hu_log_inspector    *log = &r->log->inspector;
    const hu_inspector_answer *a = &r->answer->inspector;
    char                       line[LINE_BYTES];
    size_t                     n;

    n = (size_t)snprintf(
        line, sizeof line, "%s record%s of NCCL's Inspector: %s process%s, %s communicator%s, job of %s rank%s",
        hu_say_count((int64_t)log->calls.n).t, hu_plural((int64_t)log->calls.n), hu_say_count((int64_t)log->processes.n).t,
        log->processes.n == 1 ? "" : "es", hu_say_count((int64_t)log->comms.n).t, hu_plural((int64_t)log->comms.n),
        hu_say_count(a->world).t, hu_plural(a->world));
    if (a->ns > 0 && a->compared)
        n += (size_t)snprintf(line + n, sizeof line - n, "; %s of the time in collectives is waiting for the last rank",
                              hu_say_pct(100 * a->wait_ns / a->ns).t);
    else if (a->ns > 0)
        n += (size_t)snprintf(line + n, sizeof line - n,
                              "; of each call one rank alone is told, so cannot tell what is waiting");
    if (log->n_cpu)
        n += (size_t)snprintf(line + n, sizeof line - n, "; of %s the CPU took the time", hu_say_count(log->n_cpu).t);
    if (log->n_torn)
        n += (size_t)snprintf(line + n, sizeof line - n, "; %s torn and left out", hu_say_count(log->n_torn).t);
    if (log->n_more)
        snprintf(line + n, sizeof line - n, "; %s beyond the limit of events", hu_say_count(log->n_more).t);
    write_wrapped(r, out, "CALLS", line);
}

/* One operation and size. */
static void write_size(const hu_inspector_size *s, hu_out *out)
{
    size_t n;

    hu_out_printf(out, "%*s", LABEL, "");
    n = hu_units_clip(out, s->op->op, NAME);
    hu_out_printf(out, "%*s%15s  %5lld  %7s  %9s  %9s  %8s", (int)(NAME - n), "", hu_say_count(s->bytes).t,
                  (long long)s->ranks, hu_say_count(s->count).t, hu_say_time(s->median_ns).t,
                  isnan(s->least_ns) ? "\xe2\x80\x93" : hu_say_time(s->least_ns).t,
                  say_gbps(isnan(s->best_bus) ? s->bus : s->best_bus).t);
    if (s->last >= 0)
        hu_out_printf(out, "  rank %lld (%s)", (long long)s->last, hu_say_pct(100 * s->last_share).t);
    hu_out_text(out, "\n");
}

static void write_sizes(const hu_log_report *r, hu_out *out)
{
    const hu_inspector_answer *a = &r->answer->inspector;
    const size_t               most = r->top ? r->top : ROWS;

    hu_out_printf(out, "%*s%-*s%15s  %5s  %7s  %9s  %9s  %8s  %s\n", LABEL, "", NAME, "operation", "bytes", "ranks", "calls",
                  "time", "last rank", "bus GB/s", "comes last");
    for (size_t i = 0; i < a->sizes.n && i < most; i++)
        write_size(&a->sizes.at[i], out);
    if (a->sizes.n > most)
        hu_out_printf(out, "%*s%zu more (--top)\n", LABEL, "", a->sizes.n - most);
}

static void write_ranks(const hu_log_report *r, hu_out *out)
{
    const hu_inspector_answer *a = &r->answer->inspector;
    const size_t               most = r->top ? r->top : ROWS;

    if (a->compared == 0 || a->ranks.n == 0)
        return;
    hu_out_printf(out, "\n%-*s%5s  %7s  %10s  %10s  %s\n", LABEL, "RANKS", "rank", "calls", "waited for", "waits",
                  "last in");
    for (size_t i = 0; i < a->ranks.n && i < most; i++) {
        const hu_inspector_rank *k = &a->ranks.at[i];

        hu_out_printf(out, "%*s%5lld  %7s  %10s  %10s  %s\n", LABEL, "", (long long)k->rank, hu_say_count(k->calls).t,
                      hu_say_time(k->held_ns).t, hu_say_time(k->wait_ns).t,
                      hu_say_pct(100 * (double)k->n_last / (double)k->calls).t);
    }
    if (a->ranks.n > most)
        hu_out_printf(out, "%*s%zu more (--top)\n", LABEL, "", a->ranks.n - most);
}

void hu_inspector_text(const hu_log_report *r, hu_out *out)
{
    if (r->log->inspector.n_files == 0)
        return;
    write_title(r, out);
    if (r->answer->inspector.sizes.n)
        write_sizes(r, out);
    write_ranks(r, out);
    if (r->log->steps.n || r->log->benches.n)
        hu_out_text(out, "\n");
}
