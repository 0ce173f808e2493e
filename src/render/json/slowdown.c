/* SPDX-License-Identifier: Apache-2.0
 * slowdown.c - the answer of `holdup stragglers` for programs. */
#include "render/slowdown.h"

#include <math.h>

#include "base/number.h"
#include "base/json_out.h"

enum { DIGITS = 9, SENTENCE = 2048 };

typedef enum { WORKERS, STAGES, DP_RANKS, TYPES } list;

static const char *const suspect_words[] = {
    [HU_BLAME_WORKER] = "worker",   [HU_BLAME_WORKERS] = "workers", [HU_BLAME_STAGE] = "stage",
    [HU_BLAME_DP_RANK] = "dp_rank", [HU_BLAME_LENGTHS] = "lengths", [HU_BLAME_TYPE] = "type",
};

static void write_pct(hu_json_out *j, const char *key, double share)
{
    hu_json_fixed(j, key, 100 * share, 6);
}

static void write_worker(hu_json_out *j, const hu_slowdown *s, uint32_t worker)
{
    const hu_pipeline_worker *w = &s->pipeline->workers[worker];

    if (w->rank >= 0)
        hu_json_int(j, "rank", w->rank);
    else
        hu_json_null(j, "rank");
    hu_json_int(j, "dp_rank", w->dp);
    hu_json_int(j, "stage", w->stage);
}

/* Which part it is. */
static void write_who(hu_json_out *j, const hu_slowdown *s, list which, const hu_slowdown_part *x)
{
    switch (which) {
    case WORKERS:
        write_worker(j, s, x->id);
        break;
    case STAGES:
        hu_json_int(j, "stage", x->id);
        break;
    case DP_RANKS:
        hu_json_int(j, "dp_rank", x->id);
        break;
    case TYPES:
        hu_json_str(j, "type", hu_str_of(x->name));
        break;
    }
}

static void write_parts(hu_json_out *j, const hu_slowdown *s, const char *key, list which, const hu_slowdown_parts *parts)
{
    hu_json_open(j, key, '[');
    for (size_t i = 0; i < parts->n; i++) {
        const hu_slowdown_part *x = &parts->at[i];

        hu_json_open(j, NULL, '{');
        write_who(j, s, which, x);
        hu_json_fixed(j, "slowdown", x->slowdown, DIGITS);
        hu_json_ns(j, "alone_ns", x->alone_ns);
        hu_json_ns(j, "fixed_ns", x->fixed_ns);
        write_pct(j, "explained_pct", x->explained);
        if (which != WORKERS)
            hu_json_fixed(j, "launch_slowdown", x->launch_slowdown, DIGITS);
        hu_json_close(j, '}');
    }
    hu_json_close(j, ']');
}

static void write_suspects(hu_json_out *j, const hu_slowdown *s)
{
    static const list lists[] = {
        [HU_BLAME_WORKER] = WORKERS, [HU_BLAME_STAGE] = STAGES, [HU_BLAME_DP_RANK] = DP_RANKS, [HU_BLAME_TYPE] = TYPES};
    hu_suspect   suspects[HU_SUSPECTS];
    const size_t n = hu_slowdown_suspects(s, suspects);

    hu_json_open(j, "suspects", '[');
    for (size_t i = 0; i < n; i++) {
        hu_json_open(j, NULL, '{');
        hu_json_str(j, "what", hu_str_of(suspect_words[suspects[i].blame]));
        if (suspects[i].part)
            write_who(j, s, lists[suspects[i].blame], suspects[i].part);
        if (suspects[i].blame == HU_BLAME_WORKERS) {
            hu_json_open(j, "workers", '[');
            for (size_t k = 0; k < suspects[i].count; k++) {
                hu_json_open(j, NULL, '{');
                write_worker(j, s, s->workers.at[k].id);
                hu_json_close(j, '}');
            }
            hu_json_close(j, ']');
        }
        hu_json_ns(j, "fixed_ns", suspects[i].fixed_ns);
        write_pct(j, "explained_pct", suspects[i].explained);
        hu_json_close(j, '}');
    }
    hu_json_close(j, ']');
}

static void write_job(hu_json_out *j, const hu_slowdown *s)
{
    const hu_pipeline   *p = s->pipeline;
    const hu_operations *t = p->table;
    size_t               unpaired = 0;

    for (size_t k = 0; k < p->n_steps; k++)
        unpaired += p->steps[k].unpaired;
    hu_json_open(j, "job", '{');
    hu_json_int(j, "workers", (int64_t)p->n_workers);
    hu_json_int(j, "dp_ranks", p->n_dp_seen);
    hu_json_int(j, "stages", p->n_stages);
    hu_json_int(j, "model_chunks", p->n_model_chunks);
    hu_json_bool(j, "exchanges_gradients", p->has_dp);
    hu_json_bool(j, "overlaps_gradients", p->overlaps_grads);
    hu_json_int(j, "rows", (int64_t)t->n);
    hu_json_int(j, "unknown_rows", (int64_t)t->unknown_rows);
    hu_json_bool(j, "is_cut", t->is_cut);
    hu_json_int(j, "steps", (int64_t)s->n_steps);
    hu_json_int(j, "unpaired_transfers", (int64_t)unpaired);
    hu_json_open(j, "steps_left_out", '[');
    for (size_t k = 0; k < p->n_steps; k++) {
        if (!p->steps[k].left_out)
            continue;
        hu_json_open(j, NULL, '{');
        hu_json_int(j, "step", p->steps[k].step);
        hu_json_str(j, "why", hu_str_of(p->steps[k].left_out));
        hu_json_close(j, '}');
    }
    hu_json_close(j, ']');
    hu_json_close(j, '}');
}

static void write_shares(hu_json_out *j, const hu_slowdown *s)
{
    hu_json_open(j, "slowest_workers", '{');
    hu_json_int(j, "count", (int64_t)s->worker_share_n);
    hu_json_ns(j, "alone_ns", s->worst_workers_alone_ns);
    hu_json_ns(j, "fixed_ns", s->worst_workers_fixed_ns);
    write_pct(j, "explained_pct", s->worker_share);
    hu_json_close(j, '}');
    hu_json_open(j, "last_stage", '{');
    hu_json_int(j, "stage", s->pipeline->n_stages - 1);
    hu_json_ns(j, "alone_ns", s->last_stage_alone_ns);
    hu_json_ns(j, "fixed_ns", s->last_stage_fixed_ns);
    write_pct(j, "explained_pct", s->last_stage_share);
    hu_json_close(j, '}');
    hu_json_open(j, "lengths", '{');
    hu_json_fixed(j, "correlation", s->correlation, 6);
    write_pct(j, "variation_pct", s->variation);
    hu_json_ns(j, "fixed_ns", s->levelled_ns);
    write_pct(j, "explained_pct", s->levelled_explained);
    hu_json_close(j, '}');
    hu_json_open(j, "stage_balance", '{');
    hu_json_ns(j, "fixed_ns", s->balanced_ns);
    write_pct(j, "explained_pct", s->balanced_explained);
    hu_json_close(j, '}');
    hu_json_open(j, "ideal_operation_ns", '{');
    for (hu_operation_kind k = 0; k < HU_OPERATION_COUNT; k++)
        if (!isnan(s->kind_ideal_ns[k]))
            hu_json_ns(j, hu_operation_name(k), s->kind_ideal_ns[k]);
    hu_json_close(j, '}');
}

static double step_of(const hu_slowdown *s, size_t scenario, size_t k)
{
    return s->step_ns[scenario * s->n_steps + k];
}

/* Slowdown of one step by each part of a list: {"0": 1.97, ...}, the largest first as a mean over the steps. */
static void write_parts_of_step(hu_json_out *j, const hu_slowdown *s, const char *key, const hu_slowdown_parts *parts,
                                size_t k)
{
    hu_json_open(j, key, '{');
    for (size_t i = 0; i < parts->n; i++) {
        const hu_slowdown_part *x = &parts->at[i];
        char                    number[HU_NUMBER_BYTES];

        hu_format_u64(number, x->id);
        hu_json_fixed(j, x->name ? x->name : number, step_of(s, x->scenario, k) / step_of(s, s->ideal_scenario, k), DIGITS);
    }
    hu_json_close(j, '}');
}

static void write_steps(hu_json_out *j, const hu_slowdown_report *r)
{
    const hu_slowdown *s = r->slowdown;

    hu_json_open(j, "steps", '[');
    for (size_t k = 0; k < s->n_steps; k++) {
        const hu_pipeline_step *step = &s->pipeline->steps[s->kept[k]];
        const double            original = step_of(s, s->original_scenario, k), ideal = step_of(s, s->ideal_scenario, k);

        hu_json_open(j, NULL, '{');
        hu_json_int(j, "step", step->step);
        hu_json_ns(j, "measured_ns", step->measured_ns);
        hu_json_ns(j, "original_ns", original);
        hu_json_ns(j, "ideal_ns", ideal);
        hu_json_fixed(j, "slowdown", original / ideal, DIGITS);
        hu_json_fixed(j, "launch_slowdown", step->measured_ns / original, DIGITS);
        if (r->has_steps) {
            write_parts_of_step(j, s, "stages", &s->stages, k);
            write_parts_of_step(j, s, "dp_ranks", &s->dp_ranks, k);
            write_parts_of_step(j, s, "types", &s->types, k);
        }
        hu_json_close(j, '}');
    }
    hu_json_close(j, ']');
}

void hu_slowdown_json(const hu_slowdown_report *r, hu_out *out)
{
    const hu_slowdown *s = r->slowdown;
    hu_json_out        j = {.out = out, .is_empty = true};
    char               line[SENTENCE];

    hu_slowdown_sentence(s, line, sizeof line);
    hu_json_open(&j, NULL, '{');
    hu_json_int(&j, "schema_version", 1);
    hu_json_str(&j, "summary", hu_str_of(line));
    write_job(&j, s);
    hu_json_open(&j, "step", '{');
    hu_json_ns(&j, "measured_ns", s->measured_ns);
    hu_json_ns(&j, "original_ns", s->original_ns);
    hu_json_ns(&j, "ideal_ns", s->ideal_ns);
    hu_json_ns(&j, "replayed_ns", s->replayed_ns);
    write_pct(&j, "replay_error_pct", s->replay_error);
    hu_json_close(&j, '}');
    hu_json_fixed(&j, "slowdown", s->slowdown, DIGITS);
    hu_json_fixed(&j, "launch_slowdown", s->launch_slowdown, DIGITS);
    write_suspects(&j, s);
    write_parts(&j, s, "workers", WORKERS, &s->workers);
    write_parts(&j, s, "stages", STAGES, &s->stages);
    write_parts(&j, s, "dp_ranks", DP_RANKS, &s->dp_ranks);
    write_parts(&j, s, "types", TYPES, &s->types);
    hu_json_open(&j, "launch_types", '[');
    for (size_t i = 0; i < s->launch_types.n; i++) {
        hu_json_open(&j, NULL, '{');
        hu_json_str(&j, "type", hu_str_of(s->launch_types.at[i].name));
        hu_json_fixed(&j, "launch_slowdown", s->launch_types.at[i].launch_slowdown, DIGITS);
        hu_json_close(&j, '}');
    }
    hu_json_close(&j, ']');
    write_shares(&j, s);
    write_steps(&j, r);
    hu_json_close(&j, '}');
}
