/* SPDX-License-Identifier: Apache-2.0
 * step_log.c - steps, their parts and NCCL's facts as a log tells them, for programs (docs/formats/step-log.md). */
#include "render/step_log.h"

#include <math.h>

#include "base/json_out.h"
#include "render/log_bench.h"
#include "render/log_calls.h"
#include "render/log_hang.h"
#include "render/log_inspector.h"
#include "render/log_rates.h"
#include "render/log_stall.h"
#include "render/log_tables.h"
#include "render/log_tuning.h"

static void write_stats(hu_json_out *j, const hu_stats *s)
{
    hu_json_int(j, "count", (int64_t)s->n);
    hu_json_ns(j, "median_ns", s->median);
    hu_json_fixed(j, "mean_ns", s->mean, 1);
    hu_json_ns(j, "p10_ns", s->p10);
    hu_json_ns(j, "p90_ns", s->p90);
    hu_json_ns(j, "min_ns", s->n ? (double)s->min : NAN);
    hu_json_ns(j, "max_ns", s->n ? (double)s->max : NAN);
}

/* Times of an unknown unit are null. */
static void write_times(hu_json_out *j, const hu_stats *s, bool has_no_unit)
{
    if (!has_no_unit) {
        write_stats(j, s);
        return;
    }
    hu_json_int(j, "count", (int64_t)s->n);
    hu_json_null(j, "median_ns");
    hu_json_null(j, "mean_ns");
    hu_json_null(j, "p10_ns");
    hu_json_null(j, "p90_ns");
    hu_json_null(j, "min_ns");
    hu_json_null(j, "max_ns");
}

/* As the log prints them. */
static void write_numbers(hu_json_out *j, const hu_stats *s)
{
    hu_json_open(j, "numbers", '{');
    hu_json_fixed(j, "median", s->median / HU_LOG_BARE, 6);
    hu_json_fixed(j, "mean", s->mean / HU_LOG_BARE, 6);
    hu_json_fixed(j, "p10", s->p10 / HU_LOG_BARE, 6);
    hu_json_fixed(j, "p90", s->p90 / HU_LOG_BARE, 6);
    hu_json_fixed(j, "min", (double)s->min / HU_LOG_BARE, 6);
    hu_json_fixed(j, "max", (double)s->max / HU_LOG_BARE, 6);
    hu_json_close(j, '}');
}

static double known(const hu_log_answer *a, double ns)
{
    return a->has_no_unit ? (double)NAN : ns;
}

static void write_step(hu_json_out *j, const hu_log_report *r)
{
    const hu_log_answer *a = r->answer;

    if (r->log->steps.n == 0) {
        hu_json_null(j, "step");
        return;
    }
    hu_json_open(j, "step", '{');
    hu_json_str(j, "unit", hu_str_of(hu_log_unit_key(r->log->unit)));
    if (a->has_no_unit)
        write_numbers(j, &a->step);
    else
        hu_json_null(j, "numbers");
    write_times(j, &a->step, a->has_no_unit);
    hu_json_int(j, "steps", a->n_steps);
    hu_json_int(j, "steps_per_line", a->covers);
    hu_json_str(j, "time_is_of", hu_str_of(hu_log_interval_key(r->log->interval)));
    hu_json_int(j, "lines_of_other_ranks", (int64_t)r->log->n_twins);
    hu_json_int(j, "begin_anew", (int64_t)r->log->n_anew);
    if (r->log->n_anew)
        hu_json_str(j, "anew_are", hu_str_of(hu_log_anew_key(r->log->anew)));
    else
        hu_json_null(j, "anew_are");
    hu_json_bool(j, "is_sum_of_parts", r->log->is_from_parts);
    hu_json_bool(j, "is_by_progress_bar", r->log->is_from_bars);
    hu_json_ns(j, "total_ns", known(a, a->total_ns));
    hu_json_ns(j, "warmup_ns", a->has_warmup && !a->has_no_unit ? (double)a->warmup_ns : NAN);
    hu_json_int(j, "slow", (int64_t)a->n_slow);
    hu_json_ns(j, "slow_excess_ns", known(a, a->slow_ns));
    hu_json_int(j, "slow_every", a->slow_period);
    hu_json_int(j, "restarts", (int64_t)a->n_runs - 1);
    hu_json_int(j, "repeated_steps", a->n_repeated);
    hu_json_ns(j, "repeated_ns", known(a, a->repeated_ns));
    if (a->has_change) {
        hu_json_open(j, "change", '{');
        hu_json_int(j, "iteration", a->change_at);
        hu_json_ns(j, "before_ns", known(a, a->before_ns));
        hu_json_ns(j, "after_ns", known(a, a->after_ns));
        hu_json_close(j, '}');
    } else {
        hu_json_null(j, "change");
    }
    hu_json_bool(j, "batch_varies", a->batch_varies);
    hu_json_fixed(j, "batch", a->batch, 3);
    hu_json_fixed(j, "samples_per_s", a->samples, 3);
    hu_json_fixed(j, "tokens_per_s", a->tokens, 3);
    hu_json_fixed(j, "tflops_per_gpu", a->tflops, 3);
    hu_json_close(j, '}');
}

static void write_parts(hu_json_out *j, const hu_log_answer *a)
{
    hu_json_open(j, "parts", '[');
    for (size_t i = 0; i < a->parts.n; i++) {
        const hu_log_share *p = &a->parts.at[i];

        hu_json_open(j, NULL, '{');
        hu_json_str(j, "name", p->name);
        hu_json_str(j, "role", hu_str_of(hu_log_role_word(p->role)));
        if (p->inside)
            hu_json_str(j, "inside", hu_str_of(p->inside));
        else
            hu_json_null(j, "inside");
        write_stats(j, &p->stats);
        hu_json_fixed(j, "share", p->share, 6);
        hu_json_ns(j, "spread_ns", p->spread.n ? p->spread.median : NAN);
        hu_json_ns(j, "most_spread_ns", p->spread.n ? (double)p->spread.max : NAN);
        if (p->slowest >= 0)
            hu_json_int(j, "slowest_rank", p->slowest);
        else
            hu_json_null(j, "slowest_rank");
        hu_json_fixed(j, "slowest_share", p->slowest >= 0 ? p->slowest_share : NAN, 6);
        hu_json_close(j, '}');
    }
    hu_json_close(j, ']');
    hu_json_ns(j, "rest_ns", a->rest_ns);
}

static void write_words(hu_json_out *j, const char *key, const hu_log_list *list)
{
    hu_json_open(j, key, '[');
    for (size_t i = 0; i < list->n; i++) {
        hu_json_open(j, NULL, '{');
        hu_json_str(j, "text", list->at[i].text);
        hu_json_int(j, "count", (int64_t)list->at[i].n);
        hu_json_int(j, "line", (int64_t)list->at[i].line);
        hu_json_close(j, '}');
    }
    hu_json_close(j, ']');
}

static void write_nccl(hu_json_out *j, const hu_log_nccl *nccl)
{
    if (nccl->n_lines == 0) {
        hu_json_null(j, "nccl");
        return;
    }
    hu_json_open(j, "nccl", '{');
    hu_json_str(j, "version", nccl->version);
    hu_json_int(j, "ranks", nccl->ranks);
    hu_json_open(j, "channels", '{');
    hu_json_int(j, "p2p", (int64_t)nccl->n_p2p);
    hu_json_int(j, "shm", (int64_t)nccl->n_shm);
    hu_json_int(j, "ib_gpudirect", (int64_t)nccl->n_ib_direct);
    hu_json_int(j, "ib", (int64_t)nccl->n_ib);
    hu_json_int(j, "socket", (int64_t)nccl->n_socket);
    hu_json_int(j, "other", (int64_t)nccl->n_other);
    hu_json_close(j, '}');
    hu_json_str(j, "ib_devices", nccl->ib_devices);
    write_words(j, "hosts", &nccl->hosts);
    write_words(j, "settings", &nccl->settings);
    write_words(j, "warnings", &nccl->warnings);
    hu_json_close(j, '}');
}

void hu_log_json(const hu_log_report *r, hu_out *out)
{
    hu_json_out  j = {.out = out, .is_empty = true};
    hu_log_hint *hints = hu_arena_calloc(r->scratch, HU_LOG_HINTS, sizeof *hints);
    const size_t n = hints ? hu_log_hints(r, hints) : 0;

    hu_json_open(&j, NULL, '{');
    hu_json_str(&j, "kind", HU_STR("step_log"));
    hu_json_str(&j, "writer", r->log->writer);
    hu_json_int(&j, "lines", (int64_t)r->log->n_lines);
    hu_json_int(&j, "rising_lines", (int64_t)r->log->n_rising);
    write_step(&j, r);
    write_parts(&j, r->answer);
    write_nccl(&j, &r->log->nccl);
    hu_rates_json(r, &j);
    hu_hang_json(r, &j);
    hu_calls_json(r, &j);
    hu_stall_json(r, &j);
    hu_bench_json(r, &j);
    hu_tables_json(r, &j);
    hu_inspector_json(r, &j);
    hu_tuning_json(r, &j);
    hu_json_open(&j, "hints", '[');
    for (size_t i = 0; i < n; i++) {
        hu_json_open(&j, NULL, '{');
        hu_json_str(&j, "id", hu_str_of(hints[i].id));
        hu_json_ns(&j, "most_saved_ns_per_step", hints[i].most_saved);
        hu_json_str(&j, "words", hu_str_of(hints[i].words));
        hu_json_close(&j, '}');
    }
    hu_json_close(&j, ']');
    hu_json_str(&j, "cannot_tell", hu_str_of(hu_log_cannot_tell(r)));
    hu_json_close(&j, '}');
    hu_out_text(out, "\n");
}
