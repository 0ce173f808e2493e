/* SPDX-License-Identifier: Apache-2.0
 * step_log.c - steps, their parts and NCCL's facts as a log tells them, for people. */
#include "render/step_log.h"

#include <math.h>

#include "advise/say.h"
#include "render/log_bench.h"
#include "render/log_calls.h"
#include "render/log_hang.h"
#include "render/log_inspector.h"
#include "render/log_rates.h"
#include "render/log_tables.h"
#include "render/log_tuning.h"

enum { LABEL = 8, ROWS = 8, LINE_BYTES = 512 };

static void write_wrapped(const hu_log_report *r, hu_out *out, const char *label, const char *words)
{
    hu_out_printf(out, "%-*s", LABEL, label);
    hu_units_wrap(out, hu_str_of(words), LABEL, LABEL, r->width);
    hu_out_text(out, "\n");
}

static void write_title(const hu_log_report *r, hu_out *out)
{
    const hu_step_log *log = r->log;

    hu_out_printf(out, "log%s%.*s \xc2\xb7 ", log->writer.n ? " of " : "", HU_FMT(log->writer));
    if (log->steps.n)
        hu_out_printf(out, "%s %s%s, no timeline\n\n", hu_say_count((int64_t)log->steps.n).t,
                      r->answer->covers > 1 ? "means of steps" : "step",
                      r->answer->covers > 1 ? "" : hu_plural((int64_t)log->steps.n));
    else
        hu_out_text(out, "no times of steps\n\n");
}

/* "584 ms, typically (median; 10 % are below 580 ms, 10 % above 590 ms)" */
static void write_step(const hu_log_report *r, hu_out *out)
{
    const hu_log_answer *a = r->answer;
    char                 line[LINE_BYTES];
    size_t               n;

    if (a->step.n == 0) {
        if (r->log->n_rising)
            write_wrapped(r, out, "STEP",
                          "Cannot tell: the time rises from each line to the next, as the time since the start does, or as "
                          "steps do that grow. --pattern takes it for that of a step.");
        return;
    }
    if (a->has_change) /* a median over both levels is that of neither */
        n = (size_t)snprintf(line, sizeof line, "%s, typically, and from step %lld on %s",
                             hu_log_say_time(a, a->before_ns).t, (long long)a->change_at, hu_log_say_time(a, a->after_ns).t);
    else if (a->has_growth)
        n = (size_t)snprintf(line, sizeof line, "from %s to %s, in a straight line", hu_log_say_time(a, a->first_ns).t,
                             hu_log_say_time(a, a->last_ns).t);
    else
        n = (size_t)snprintf(line, sizeof line, "%s, typically", hu_log_say_time(a, a->step.median).t);
    if (a->step.n >= 10)
        n += (size_t)snprintf(line + n, sizeof line - n, " (10 %% take less than %s, 10 %% more than %s)",
                              hu_log_say_time(a, a->step.p10).t, hu_log_say_time(a, a->step.p90).t);
    if (r->log->is_from_parts)
        n += (size_t)snprintf(line + n, sizeof line - n,
                              ": the sum of forward, backward and step, as the log has no time of "
                              "whole steps");
    write_wrapped(r, out, "STEP", line);
    if (r->log->is_from_bars)
        write_wrapped(
            r, out, "",
            "by a progress bar's elapsed time (whole seconds), or the mean that it prints at its end, in which evaluation "
            "and saving may be; the rate between is a running mean, and no single step's");
    if (hu_log_unit_words(r->log))
        write_wrapped(r, out, "", hu_log_unit_words(r->log));
    if (a->covers > 1) {
        snprintf(line, sizeof line, "each line is the mean of %s steps%s", hu_say_count(a->covers).t,
                 r->log->interval == HU_LOG_INTERVAL_LINE ? ": by the times of day it has the time of all of them" : "");
        write_wrapped(r, out, "", line);
    }
    if (r->log->interval == HU_LOG_INTERVAL_UNKNOWN)
        write_wrapped(r, out, "",
                      "lines are several steps apart, and nothing tells whether a time is that of one step or of all since "
                      "the line before: it is taken for that of one");
    if (hu_log_anew_words(r->log, line, sizeof line))
        write_wrapped(r, out, "", line);
    if (r->log->n_twins && !(r->log->n_anew && r->log->anew == HU_LOG_ANEW_RANKS))
        write_wrapped(r, out, "",
                      r->log->ranks.n || r->log->has_rank_files
                          ? "several ranks print a step: the slowest counts"
                          : "several lines tell the same step, and none of them whose it is (ranks, or micro-steps): the "
                            "slowest counts");
    if (a->has_warmup) {
        snprintf(line, sizeof line, "the first line (%s) is taken for warm-up and left out",
                 hu_log_say_time(a, (double)a->warmup_ns).t);
        write_wrapped(r, out, "", line);
    }
}

static void write_rates(const hu_log_report *r, hu_out *out)
{
    const hu_log_answer *a = r->answer;
    char                 line[LINE_BYTES] = "", number[HU_UNIT_BYTES];
    size_t               n = 0;
    const struct {
        double      value;
        const char *words;
    } rates[] = {{a->samples, "samples/s"}, {a->tokens, "tokens/s"}, {a->tflops, "TFLOP/s for each GPU"}};

    for (size_t i = 0; i < HU_COUNT(rates); i++)
        if (isfinite(rates[i].value)) {
            hu_units_number(number, rates[i].value);
            n += (size_t)snprintf(line + n, sizeof line - n, "%s%s %s", n ? ", " : "", number, rates[i].words);
        }
    if (n)
        write_wrapped(r, out, "", line);
    if (a->batch_varies)
        write_wrapped(r, out, "", "the batch size changes, so steps are not compared with earlier ones");
}

static void write_part(const hu_log_share *p, hu_out *out)
{
    hu_out_printf(out, "%*s%6s  %9s  ", LABEL, "", isnan(p->share) ? "" : hu_say_pct(100 * p->share).t,
                  hu_say_time(p->stats.median).t);
    hu_units_clip(out, p->name, 40);
    if (p->role == HU_LOG_COMM || p->role == HU_LOG_DATA)
        hu_out_printf(out, " (%s)", hu_log_role_word(p->role));
    if (p->inside)
        hu_out_printf(out, ", in %s", p->inside);
    if (p->spread.n)
        hu_out_printf(out, "; ranks differ by %s", hu_say_time(p->spread.median).t);
    hu_out_text(out, "\n");
}

static void write_parts(const hu_log_report *r, hu_out *out)
{
    const hu_log_answer *a = r->answer;
    const size_t         most = r->top ? r->top : ROWS;
    size_t               shown = 0, n = 0;

    for (size_t i = 0; i < a->parts.n; i++)
        n += a->parts.at[i].role != HU_LOG_ONCE;
    if (n == 0)
        return;
    hu_out_printf(out, "\n%-*s%s\n", LABEL, "WHERE",
                  a->has_no_unit ? "medians of the log's own timers"
                                 : "medians of the log's own timers, as shares of a step");
    for (size_t i = 0; i < a->parts.n && shown < most; i++)
        if (a->parts.at[i].role != HU_LOG_ONCE) {
            write_part(&a->parts.at[i], out);
            shown++;
        }
    if (shown < n)
        hu_out_printf(out, "%*s%zu more (--top)\n", LABEL, "", n - shown);
    if (isfinite(a->rest_ns))
        hu_out_printf(out, "%*s%6s  %9s  %s\n", LABEL, "", hu_say_pct(100 * a->rest_ns / a->step.median).t,
                      hu_say_time(a->rest_ns).t, "in none of them");
    else if (a->step.n && !a->has_no_unit && !r->log->is_from_parts)
        hu_out_printf(out, "%*s%s\n", LABEL, "", "some lie inside of others: they are more than a step");
}

static void write_once(const hu_log_report *r, hu_out *out)
{
    const hu_log_answer *a = r->answer;
    const char          *label = "once";

    for (size_t i = 0; i < a->parts.n; i++)
        if (a->parts.at[i].role == HU_LOG_ONCE) {
            char line[LINE_BYTES];

            snprintf(line, sizeof line, "%.*s %s", HU_FMT(a->parts.at[i].name),
                     hu_say_time((double)a->parts.at[i].stats.sum).t);
            write_wrapped(r, out, label, line);
            label = "";
        }
}

static size_t say_transport(char *line, size_t n, const char *name, uint64_t count)
{
    if (count == 0 || n >= LINE_BYTES)
        return n;
    return n + (size_t)snprintf(line + n, LINE_BYTES - n, "%s%s %s", n ? ", " : "", name, hu_say_count((int64_t)count).t);
}

static void write_nccl(const hu_log_report *r, hu_out *out)
{
    const hu_log_nccl *nccl = &r->log->nccl;
    char               line[LINE_BYTES] = "";
    size_t             n = 0;

    if (nccl->n_lines == 0)
        return;
    n = (size_t)snprintf(line, sizeof line, "%.*s", HU_FMT(nccl->version.n ? nccl->version : HU_STR("version not said")));
    if (nccl->ranks)
        n += (size_t)snprintf(line + n, sizeof line - n, ", %s ranks", hu_say_count(nccl->ranks).t);
    if (nccl->hosts.n)
        n += (size_t)snprintf(line + n, sizeof line - n, ", %zu host%s", nccl->hosts.n, hu_plural((int64_t)nccl->hosts.n));
    if (r->log->steps.n)
        hu_out_text(out, "\n");
    write_wrapped(r, out, "NCCL", line);
    n = say_transport(line, 0, "P2P", nccl->n_p2p);
    n = say_transport(line, n, "SHM", nccl->n_shm);
    n = say_transport(line, n, "IB with GPUDirect", nccl->n_ib_direct);
    n = say_transport(line, n, "IB", nccl->n_ib);
    n = say_transport(line, n, "sockets", nccl->n_socket);
    n = say_transport(line, n, "others", nccl->n_other);
    if (n) {
        char words[LINE_BYTES + 32];

        snprintf(words, sizeof words, "channels by transport: %s", line);
        write_wrapped(r, out, "", words);
    }
    for (size_t i = 0; i < nccl->settings.n && i < (r->top ? r->top : ROWS); i++)
        write_wrapped(r, out, "", nccl->settings.at[i].text.p);
    hu_calls_text(r, out);
}

void hu_log_text(const hu_log_report *r, hu_out *out)
{
    const bool has_tables = r->log->benches.n || r->log->bus_prints.n || r->log->ops.n || r->log->flops.iter_ns > 0 ||
                            r->log->inspector.n_files || hu_tuning_is_there(&r->log->tuning);
    hu_log_hint *hints = hu_arena_calloc(r->scratch, HU_LOG_HINTS, sizeof *hints);
    const size_t n = hints ? hu_log_hints(r, hints) : 0;

    hu_bench_text(r, out);
    hu_inspector_text(r, out);
    hu_tuning_text(r, out);
    if (r->log->steps.n || !has_tables)
        write_title(r, out);
    write_step(r, out);
    write_rates(r, out);
    hu_rates_text(r, out);
    if (r->log->timeouts.n && r->log->steps.n)
        hu_out_text(out, "\n");
    hu_hang_text(r, out);
    write_parts(r, out);
    write_once(r, out);
    hu_tables_text(r, out);
    write_nccl(r, out);
    if ((n && r->is_beside) ||
        (!r->is_beside && (r->log->steps.n || r->log->nccl.n_lines || r->log->timeouts.n || r->log->benches.n == 0)))
        hu_out_text(out, "\n");
    for (size_t i = 0; i < n; i++)
        write_wrapped(r, out, i ? "" : "WHY", hints[i].words);
    if (!r->is_beside)
        write_wrapped(r, out, n ? "but" : "WHY", hu_log_cannot_tell(r));
}
