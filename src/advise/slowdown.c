/* SPDX-License-Identifier: Apache-2.0
 * slowdown.c - what if all workers were alike, and what if only some were?
 *
 * Method and formulas: "Understanding Stragglers in Large Model Training Using What-if Analysis" (OSDI 2025,
 * arXiv 2505.05713).  With T a replayed step without launch delays, mean over the steps:
 *
 *     ideal duration of a kind     mean over all workers, stages and steps; of transfers the median
 *     S   = T(as it was) / T(all ideal)                                 how much slower the job is
 *     S_x = T(all ideal but x) / T(all ideal)                           x: a dp rank, a stage, a type of operation
 *     S_w = min(S_dp, S_stage)                                          of a worker: what both its places allow
 *     M   = (T - T(x ideal)) / (T - T(all ideal))                       what fixing x alone would win
 *     M_W : x = the 3 % of the workers with the largest S_w             M_S : x = the last stage
 *
 * S_x may be below 1: a part that is faster than the mean.  The M of parts do not add up.
 */
#include "advise/slowdown.h"

#include <math.h>
#include <stdlib.h>

#include "graph/pipeline_scenarios.h"

enum { WORST_PCT = 3 }; /* of all workers, for M_W */

typedef struct {
    const hu_pipeline    *p;
    hu_slowdown          *out;
    hu_arena             *arena;
    hu_pipeline_scenarios scenarios;
    int                   threads;
} work;

static size_t add(work *w, hu_scenario_mode mode, hu_selector by, uint32_t id, const bool *set)
{
    return hu_pipeline_scenario_add(&w->scenarios, (hu_pipeline_scenario){mode, by, id, set});
}

static bool replay(work *w)
{
    return hu_pipeline_scenarios_replay(&w->scenarios, w->threads);
}

static double mean_of(const work *w, size_t scenario)
{
    return hu_pipeline_scenario_mean(&w->scenarios, scenario);
}

static double explained(const hu_slowdown *s, double fixed_ns)
{
    return s->original_ns > s->ideal_ns ? (s->original_ns - fixed_ns) / (s->original_ns - s->ideal_ns) : (double)NAN;
}

static int by_slowdown(const void *a, const void *b)
{
    const hu_slowdown_part *x = a, *y = b;

    if (x->slowdown != y->slowdown)
        return x->slowdown < y->slowdown ? 1 : -1;
    if (x->rank != y->rank)
        return (x->rank > y->rank) - (x->rank < y->rank);
    return (x->id > y->id) - (x->id < y->id);
}

static int by_launch_slowdown(const void *a, const void *b)
{
    const hu_slowdown_part *x = a, *y = b;

    if (x->launch_slowdown != y->launch_slowdown)
        return x->launch_slowdown < y->launch_slowdown ? 1 : -1;
    return (x->id > y->id) - (x->id < y->id);
}

static int by_double(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The mean, or of transfers the median, over all workers and steps.  False when there is no memory. */
static bool find_ideals(work *w)
{
    size_t    n[HU_OPERATION_COUNT] = {0}, most = 0;
    double    sum[HU_OPERATION_COUNT] = {0};
    double   *values;
    hu_arena *scratch;

    for (size_t k = 0; k < w->out->n_steps; k++) {
        const hu_pipeline_step *s = &w->p->steps[w->out->kept[k]];

        for (uint32_t i = 0; i < s->n; i++) {
            if (s->is_frozen[i])
                continue;
            n[s->kind[i]]++;
            sum[s->kind[i]] += s->cost_ns[i];
        }
    }
    for (hu_operation_kind kind = 0; kind < HU_OPERATION_COUNT; kind++) {
        w->out->kind_ideal_ns[kind] = n[kind] ? sum[kind] / (double)n[kind] : (double)NAN;
        if (hu_operation_is_transfer(kind) && n[kind] > most)
            most = n[kind];
    }
    scratch = hu_arena_new();
    values = scratch ? hu_arena_calloc(scratch, most + 1, sizeof *values) : NULL;
    for (hu_operation_kind kind = 0; values && kind < HU_OPERATION_COUNT; kind++) {
        size_t m = 0;

        if (!hu_operation_is_transfer(kind) || !n[kind])
            continue;
        for (size_t k = 0; k < w->out->n_steps; k++) {
            const hu_pipeline_step *s = &w->p->steps[w->out->kept[k]];

            for (uint32_t i = 0; i < s->n; i++)
                if (s->kind[i] == kind && !s->is_frozen[i])
                    values[m++] = s->cost_ns[i];
        }
        qsort(values, m, sizeof *values, by_double);
        w->out->kind_ideal_ns[kind] = m % 2 ? values[m / 2] : (values[m / 2 - 1] + values[m / 2]) / 2;
    }
    hu_arena_free(scratch);
    return values != NULL;
}

static bool find_kept(work *w)
{
    size_t *kept = hu_arena_calloc(w->arena, w->p->n_kept, sizeof *kept);

    w->out->n_steps = 0;
    for (size_t k = 0; kept && k < w->p->n_steps; k++)
        if (!w->p->steps[k].left_out)
            kept[w->out->n_steps++] = k;
    w->out->kept = kept;
    return kept != NULL;
}

/* Makes a list of parts and asks for each alone; of launch types for its delays alone. */
static hu_slowdown_part *ask(work *w, hu_selector by, const uint32_t *ids, size_t n)
{
    hu_slowdown_part *parts = hu_arena_calloc(w->arena, n + 1, sizeof *parts);

    for (size_t i = 0; parts && i < n; i++) {
        parts[i] = (hu_slowdown_part){.id = ids[i],
                                      .rank = -1,
                                      .alone_ns = NAN,
                                      .fixed_ns = NAN,
                                      .delayed_ns = NAN,
                                      .slowdown = NAN,
                                      .explained = NAN,
                                      .launch_slowdown = NAN};
        parts[i].scenario = add(w, by == HU_SELECT_LAUNCH_TYPE ? HU_SCENARIO_DELAYED : HU_SCENARIO_ALONE, by, ids[i], NULL);
        if (parts[i].scenario == SIZE_MAX)
            return NULL;
    }
    return parts;
}

static void answer(const work *w, hu_selector by, hu_slowdown_part *parts, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        hu_slowdown_part *x = &parts[i];
        const double      step_ns = mean_of(w, x->scenario);

        if (by == HU_SELECT_TYPE || by == HU_SELECT_LAUNCH_TYPE)
            x->name = x->id == HU_PIPELINE_FIRST_TYPE ? "first-op" : hu_operation_type((hu_operation_kind)x->id);
        if (by == HU_SELECT_LAUNCH_TYPE) {
            x->delayed_ns = step_ns;
            x->launch_slowdown = step_ns / w->out->original_ns;
        } else {
            x->alone_ns = step_ns;
            x->slowdown = step_ns / w->out->ideal_ns;
        }
    }
    qsort(parts, n, sizeof *parts, by == HU_SELECT_LAUNCH_TYPE ? by_launch_slowdown : by_slowdown);
}

/* The first parts of a list: what if they were fixed, and what their launch delays do. */
static bool ask_more(work *w, hu_selector by, const hu_slowdown_part *parts, size_t n)
{
    for (size_t i = 0; i < n && i < HU_SLOWDOWN_EXACT; i++)
        if (add(w, HU_SCENARIO_FIXED, by, parts[i].id, NULL) == SIZE_MAX ||
            add(w, HU_SCENARIO_DELAYED, by, parts[i].id, NULL) == SIZE_MAX)
            return false;
    return true;
}

/* Takes those answers, which begin at scenario *next. */
static void answer_more(const work *w, hu_slowdown_part *parts, size_t n, size_t *next)
{
    for (size_t i = 0; i < n && i < HU_SLOWDOWN_EXACT; i++) {
        parts[i].fixed_ns = mean_of(w, (*next)++);
        parts[i].explained = explained(w->out, parts[i].fixed_ns);
        parts[i].delayed_ns = mean_of(w, (*next)++);
        parts[i].launch_slowdown = parts[i].delayed_ns / w->out->original_ns;
    }
}

typedef struct {
    uint32_t *id;
    size_t    n;
} id_list;

/* Which dp ranks, stages or types occur. */
static bool find_ids(const work *w, hu_selector by, id_list *out)
{
    enum { MOST = HU_OPERATIONS_DP };
    bool              seen[MOST] = {false};
    hu_operation_kind types[HU_OPERATION_COUNT];

    for (hu_operation_kind k = 0; k < HU_OPERATION_COUNT; k++)
        types[k] = hu_pipeline_type(k);
    for (size_t i = 0; i < w->p->n_workers && (by == HU_SELECT_DP || by == HU_SELECT_STAGE); i++)
        seen[by == HU_SELECT_DP ? w->p->workers[i].dp : w->p->workers[i].stage] = true;
    for (size_t k = 0; k < w->out->n_steps && (by == HU_SELECT_TYPE || by == HU_SELECT_LAUNCH_TYPE); k++) {
        const hu_pipeline_step *s = &w->p->steps[w->out->kept[k]];

        for (uint32_t i = 0; i < s->n; i++) {
            const bool is_first = by == HU_SELECT_LAUNCH_TYPE && s->is_first[i];

            seen[is_first ? (uint32_t)HU_PIPELINE_FIRST_TYPE : types[s->kind[i]]] = true;
        }
    }
    out->id = hu_arena_calloc(w->arena, MOST, sizeof *out->id);
    out->n = 0;
    for (uint32_t i = 0; out->id && i < MOST; i++)
        if (seen[i])
            out->id[out->n++] = i;
    return out->id != NULL;
}

/* S_w of all workers by what their dp ranks and stages allow. */
static hu_slowdown_part *guess_workers(const work *w, hu_arena *scratch)
{
    const hu_pipeline *p = w->p;
    hu_slowdown_part  *parts = hu_arena_calloc(w->arena, p->n_workers, sizeof *parts);
    double            *of_dp = hu_arena_calloc(scratch, HU_OPERATIONS_DP, sizeof *of_dp);
    double            *of_stage = hu_arena_calloc(scratch, HU_OPERATIONS_STAGES, sizeof *of_stage);

    if (!parts || !of_dp || !of_stage)
        return NULL;
    for (size_t i = 0; i < w->out->dp_ranks.n; i++)
        of_dp[w->out->dp_ranks.at[i].id] = w->out->dp_ranks.at[i].slowdown;
    for (size_t i = 0; i < w->out->stages.n; i++)
        of_stage[w->out->stages.at[i].id] = w->out->stages.at[i].slowdown;
    for (uint32_t i = 0; i < p->n_workers; i++) {
        const double a = of_dp[p->workers[i].dp], b = of_stage[p->workers[i].stage];

        parts[i] = (hu_slowdown_part){.id = i,
                                      .rank = p->workers[i].rank,
                                      .alone_ns = NAN,
                                      .fixed_ns = NAN,
                                      .delayed_ns = NAN,
                                      .explained = NAN,
                                      .launch_slowdown = NAN,
                                      .slowdown = a < b ? a : b,
                                      .scenario = SIZE_MAX};
    }
    qsort(parts, p->n_workers, sizeof *parts, by_slowdown);
    return parts;
}

/* Asks for the first `n` workers of the list together; the set of them lives in `scratch`.  False without memory. */
static bool ask_together(work *w, const hu_slowdown_part *parts, size_t n, hu_arena *scratch, hu_scenario_mode m)
{
    bool *set = hu_arena_calloc(scratch, w->p->n_workers, sizeof *set);

    for (size_t i = 0; set && i < n; i++)
        set[parts[i].id] = true;
    return set && add(w, m, HU_SELECT_WORKERS, 0, set) != SIZE_MAX;
}

/* 2, 4, 8 ... workers: fewer than a stage has, and than a quarter of all. */
static bool ask_ladder(work *w, const hu_slowdown_part *parts, hu_arena *scratch)
{
    hu_slowdown *s = w->out;

    s->n_ladder = 0;
    for (size_t n = 2; s->n_ladder < HU_SLOWDOWN_LADDER && n < w->p->n_dp_seen && n <= w->p->n_workers / 4; n *= 2) {
        if (!ask_together(w, parts, n, scratch, HU_SCENARIO_FIXED))
            return false;
        s->ladder[s->n_ladder++].count = n;
    }
    return true;
}

/* The workers: the first ones by replay, some of them together, and the slowest 3 % together. */
static bool measure_workers(work *w)
{
    hu_arena         *scratch = hu_arena_new();
    hu_slowdown      *s = w->out;
    hu_slowdown_part *parts = scratch ? guess_workers(w, scratch) : NULL;
    const size_t      n = w->p->n_workers, exact = n < HU_SLOWDOWN_WORKERS ? n : HU_SLOWDOWN_WORKERS;
    const size_t      n_worst = (n * WORST_PCT + 99) / 100, first = w->scenarios.all.n;
    bool              good = parts && ask_together(w, parts, n_worst, scratch, HU_SCENARIO_ALONE) &&
                ask_together(w, parts, n_worst, scratch, HU_SCENARIO_FIXED) && ask_ladder(w, parts, scratch);

    for (size_t i = 0; good && i < exact; i++) {
        parts[i].scenario = add(w, HU_SCENARIO_ALONE, HU_SELECT_WORKER, parts[i].id, NULL);
        good = parts[i].scenario != SIZE_MAX && add(w, HU_SCENARIO_FIXED, HU_SELECT_WORKER, parts[i].id, NULL) != SIZE_MAX;
    }
    good = good && replay(w);
    hu_arena_free(scratch);
    if (!good)
        return false;
    s->worst_workers_alone_ns = mean_of(w, first);
    s->worst_workers_fixed_ns = mean_of(w, first + 1);
    s->worker_share = explained(s, s->worst_workers_fixed_ns);
    s->worker_share_n = n_worst;
    for (size_t i = 0; i < s->n_ladder; i++) {
        s->ladder[i].fixed_ns = mean_of(w, first + 2 + i);
        s->ladder[i].explained = explained(s, s->ladder[i].fixed_ns);
    }
    for (size_t i = 0; i < exact; i++) {
        parts[i].alone_ns = mean_of(w, parts[i].scenario);
        parts[i].fixed_ns = mean_of(w, parts[i].scenario + 1);
        parts[i].explained = explained(s, parts[i].fixed_ns);
    }
    s->workers = (hu_slowdown_parts){parts, n};
    return true;
}

/* All but the workers, which need to know these. */
static bool measure_parts(work *w)
{
    hu_slowdown *s = w->out;
    struct {
        hu_selector        by;
        hu_slowdown_parts *out;
        hu_slowdown_part  *parts;
        id_list            ids;
    } lists[] = {{.by = HU_SELECT_DP, .out = &s->dp_ranks},
                 {.by = HU_SELECT_STAGE, .out = &s->stages},
                 {.by = HU_SELECT_TYPE, .out = &s->types},
                 {.by = HU_SELECT_LAUNCH_TYPE, .out = &s->launch_types}};
    const uint32_t last = w->p->n_stages - 1;
    const size_t   original = add(w, HU_SCENARIO_ALONE, HU_SELECT_ALL, 0, NULL);
    const size_t   ideal = add(w, HU_SCENARIO_ALONE, HU_SELECT_NONE, 0, NULL);
    const size_t   replayed = add(w, HU_SCENARIO_DELAYED, HU_SELECT_ALL, 0, NULL);
    const size_t   last_alone = add(w, HU_SCENARIO_ALONE, HU_SELECT_STAGE, last, NULL);
    const size_t   last_fixed = add(w, HU_SCENARIO_FIXED, HU_SELECT_STAGE, last, NULL);
    size_t         next;
    bool           good = original != SIZE_MAX && ideal != SIZE_MAX && replayed != SIZE_MAX && last_alone != SIZE_MAX &&
                last_fixed != SIZE_MAX;

    for (size_t i = 0; good && i < HU_COUNT(lists); i++)
        good = find_ids(w, lists[i].by, &lists[i].ids) &&
               (lists[i].parts = ask(w, lists[i].by, lists[i].ids.id, lists[i].ids.n)) != NULL;
    if (!good || !replay(w))
        return false;
    s->original_scenario = original;
    s->ideal_scenario = ideal;
    s->original_ns = mean_of(w, original);
    s->ideal_ns = mean_of(w, ideal);
    s->replayed_ns = mean_of(w, replayed);
    s->slowdown = s->original_ns / s->ideal_ns;
    s->launch_slowdown = s->measured_ns / s->original_ns;
    for (size_t k = 0; k < s->n_steps; k++)
        s->replay_error += fabs(w->scenarios.step_ns[replayed * s->n_steps + k] / w->p->steps[s->kept[k]].measured_ns - 1);
    s->replay_error /= (double)s->n_steps;
    s->last_stage_alone_ns = mean_of(w, last_alone);
    s->last_stage_fixed_ns = mean_of(w, last_fixed);
    s->last_stage_share = explained(s, s->last_stage_fixed_ns);
    next = w->scenarios.all.n;
    for (size_t i = 0; good && i < HU_COUNT(lists); i++) {
        answer(w, lists[i].by, lists[i].parts, lists[i].ids.n);
        good = lists[i].by == HU_SELECT_LAUNCH_TYPE || ask_more(w, lists[i].by, lists[i].parts, lists[i].ids.n);
    }
    if (!good || !replay(w))
        return false;
    for (size_t i = 0; i < HU_COUNT(lists); i++) {
        if (lists[i].by != HU_SELECT_LAUNCH_TYPE)
            answer_more(w, lists[i].parts, lists[i].ids.n, &next);
        *lists[i].out = (hu_slowdown_parts){lists[i].parts, lists[i].ids.n};
    }
    return true;
}

/* For each stage and direction: the mean over all stages / its own mean; 1 for what is no pass.  NULL without memory. */
static double *find_factors(const work *w, hu_arena *arena)
{
    const size_t n = (size_t)w->p->n_stages * HU_OPERATION_COUNT;
    double      *sum = hu_arena_calloc(arena, n, sizeof *sum), *count = hu_arena_calloc(arena, n, sizeof *count);

    if (!sum || !count)
        return NULL;
    for (size_t k = 0; k < w->out->n_steps; k++) {
        const hu_pipeline_step *s = &w->p->steps[w->out->kept[k]];

        for (uint32_t i = 0; i < s->n; i++) {
            const size_t at = (size_t)w->p->workers[s->worker[i]].stage * HU_OPERATION_COUNT + s->kind[i];

            sum[at] += s->cost_ns[i];
            count[at]++;
        }
    }
    for (size_t i = 0; i < n; i++) {
        const hu_operation_kind kind = (hu_operation_kind)(i % HU_OPERATION_COUNT);
        const bool              is_pass = kind == HU_OPERATION_FORWARD || kind == HU_OPERATION_BACKWARD;

        sum[i] = is_pass && sum[i] > 0 ? w->out->kind_ideal_ns[kind] * count[i] / sum[i] : 1;
    }
    return sum;
}

static bool measure_balance(work *w)
{
    hu_arena *arena = hu_arena_new();
    bool      good = arena && (w->scenarios.factor = find_factors(w, arena)) != NULL;

    if (good) {
        const size_t balanced = add(w, HU_SCENARIO_BALANCED, HU_SELECT_ALL, 0, NULL);

        good = balanced != SIZE_MAX && replay(w);
        w->scenarios.factor = NULL;
        if (good) {
            w->out->balanced_ns = mean_of(w, balanced);
            w->out->balanced_explained = explained(w->out, w->out->balanced_ns);
        }
    }
    hu_arena_free(arena);
    return good;
}

static bool measure_lengths(work *w)
{
    hu_slowdown        *s = w->out;
    hu_arena           *arena = hu_arena_new();
    hu_pipeline_lengths lengths;
    bool                good = arena && hu_pipeline_lengths_measure(w->p, s->kept, s->n_steps, arena, &lengths);

    if (good && lengths.n > 2) {
        const size_t levelled = add(w, HU_SCENARIO_LEVELLED, HU_SELECT_ALL, 0, NULL);

        w->scenarios.lengths = &lengths;
        good = levelled != SIZE_MAX && replay(w);
        w->scenarios.lengths = NULL;
        s->correlation = lengths.correlation;
        s->variation = lengths.deviation_ns / s->kind_ideal_ns[HU_OPERATION_FORWARD];
        if (good) {
            s->levelled_ns = mean_of(w, levelled);
            s->levelled_explained = explained(s, s->levelled_ns);
        }
    }
    hu_arena_free(arena);
    return good;
}

int hu_slowdown_measure(const hu_pipeline *p, int threads, hu_arena *arena, hu_slowdown *out, hu_error *err)
{
    work w = {.p = p, .out = out, .arena = arena, .threads = threads};

    *out = (hu_slowdown){.pipeline = p, .correlation = NAN, .variation = NAN, .levelled_ns = NAN, .levelled_explained = NAN};
    if (!find_kept(&w) || !find_ideals(&w))
        return hu_fail_memory(err);
    for (size_t k = 0; k < out->n_steps; k++)
        out->measured_ns += p->steps[out->kept[k]].measured_ns / (double)out->n_steps;
    w.scenarios = (hu_pipeline_scenarios){
        .p = p, .arena = arena, .ideal_ns = out->kind_ideal_ns, .kept = out->kept, .n_steps = out->n_steps};
    if (!measure_parts(&w) || !measure_workers(&w) || !measure_lengths(&w) || !measure_balance(&w))
        return hu_fail_memory(err);
    out->step_ns = w.scenarios.step_ns;
    return 0;
}
