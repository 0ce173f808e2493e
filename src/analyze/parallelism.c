/* SPDX-License-Identifier: Apache-2.0
 * parallelism.c - judges each process group by itself (parallel_rules.c, stages.c), then all of them together.
 *
 * Together: a group that all-reduces the shards of another group's reduce-scatter makes both HSDP; a group that gathers
 * in forward and reduce-scatters in backward while another one reduces the gradients splits sequences (CP), not parameters;
 * the pair that all-reduces once a step beside a pipeline holds the tied embeddings of its ends.
 */
#include "analyze/parallelism.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyze/parallel_work.h"
#include "base/number.h"

enum { MOST_GROUPS = 64 }; /* of a rank; the rest is left out, and said so */

typedef hu_parallel_work work;

const char *hu_parallel_kind_key(hu_parallel_kind kind)
{
    static const char *const keys[] = {
#define K(id, key, words, counts) key,
        HU_PARALLEL_KINDS(K)
#undef K
    };

    return keys[kind];
}

static const char *words_of(hu_parallel_kind kind)
{
    static const char *const words[] = {
#define K(id, key, words, counts) words,
        HU_PARALLEL_KINDS(K)
#undef K
    };

    return words[kind];
}

const char *hu_trust_name(hu_trust trust)
{
    static const char *const names[] = {"low", "medium", "high"};

    return names[trust];
}

/* Texts of our own live with the answer. */
hu_str hu_parallel_text(hu_parallel_work *w, const char *format, ...)
{
    char    line[512];
    va_list list;

    va_start(list, format);
    vsnprintf(line, sizeof line, format, list);
    va_end(list);
    return hu_arena_copy(w->ask->arena, hu_str_of(line));
}

bool hu_parallel_say(hu_parallel_work *w, size_t group, const char *text)
{
    const hu_str kept = hu_arena_copy(w->ask->arena, hu_str_of(text));

    return kept.p && hu_vec_push(w->ask->arena, &w->reasons, ((hu_parallel_reason){group, kept}));
}

/* One group after the other */

/* "forward 24 all-gather; backward 23 all-gather, 24 reduce-scatter; after 1 all-reduce", each for one step. */
static hu_str describe_pattern(work *w, const hu_pattern *p, bool (*wanted)(hu_traffic_kind))
{
    static const char *const slots[HU_SLOT_COUNT] = {"forward", "backward", "optimizer", "after it", "elsewhere"};
    char                     line[400];
    size_t                   n = 0;

    line[0] = '\0';
    for (size_t s = 0; s < HU_SLOT_COUNT; s++) {
        bool any = false;

        for (size_t k = 0; k < HU_TRAFFIC_COUNT; k++) {
            if (!p->n[s][k] || !wanted((hu_traffic_kind)k) || n > sizeof line - 80)
                continue;
            n += (size_t)snprintf(line + n, sizeof line - n, "%s%s %s",
                                  any ? ","
                                  : n ? "; "
                                      : "",
                                  any ? "" : slots[s], hu_parallel_per(p->n[s][k], w->traits.steps).t);
            n += (size_t)snprintf(line + n, sizeof line - n, " %s", hu_traffic_kind_name((hu_traffic_kind)k));
            any = true;
        }
    }
    return hu_parallel_text(w, "%s", line);
}

static bool is_reduction(hu_traffic_kind k)
{
    return k == HU_TRAFFIC_ALL_GATHER || k == HU_TRAFFIC_REDUCE_SCATTER || k == HU_TRAFFIC_ALL_REDUCE ||
           k == HU_TRAFFIC_REDUCE || k == HU_TRAFFIC_BROADCAST;
}

static bool is_all_to_all(hu_traffic_kind k)
{
    return k == HU_TRAFFIC_ALL_TO_ALL;
}

static int64_t count_of(const hu_pattern *p, bool (*wanted)(hu_traffic_kind))
{
    int64_t n = 0;

    for (size_t s = 0; s < HU_SLOT_COUNT; s++)
        for (size_t k = 0; k < HU_TRAFFIC_COUNT; k++)
            n += wanted((hu_traffic_kind)k) ? p->n[s][k] : 0;
    return n;
}

static bool add_group(work *w, size_t source, const hu_judgement *j, bool (*wanted)(hu_traffic_kind))
{
    const hu_traffic_group *g = &w->traffic.groups[source];
    const hu_pattern       *p = &w->patterns[source];
    const bool              has_words = g->description.n && !hu_str_equal(g->description, HU_STR("undefined"));
    hu_parallel_group       row = {.kind = j->kind,
                                   .trust = j->trust,
                                   .ranks = g->ranks,
                                   .size = g->size,
                                   .source = source,
                                   .words = hu_str_of(j->words ? j->words : words_of(j->kind)),
                                   .group = has_words ? g->description : g->name};

    row.pattern = describe_pattern(w, p, wanted);
    row.is_main = j->kind != HU_PARALLEL_UNKNOWN && !j->is_minor;
    for (size_t i = g->first; i < g->first + g->n; i++) {
        const hu_traffic_call *c = &w->traffic.at[i];

        if (!wanted(c->kind))
            continue;
        row.calls++;
        row.ns += c->dur_ns;
        if (c->bytes > 0 && __builtin_add_overflow(row.bytes, c->bytes, &row.bytes))
            row.bytes = INT64_MAX;
    }
    if (!row.pattern.p || !hu_vec_push(w->ask->arena, &w->list, row))
        return false;
    for (size_t i = 0; i < j->n_reasons; i++)
        if (!hu_parallel_say(w, w->list.n - 1, j->reasons[i]))
            return false;
    return true;
}

static bool judge_group(work *w, size_t source)
{
    const hu_traffic_group *g = &w->traffic.groups[source];
    const hu_pattern       *p = &w->patterns[source];
    hu_judgement            j;

    if (g->size == 1 || (g->size < 0 && hu_trace_get_info(w->ask->trace)->world_size == 1))
        return true; /* alone */
    if (count_of(p, is_reduction)) {
        hu_parallel_judge_reductions(p, g, &w->traits, &j);
        if (hu_parallel_is_zero(j.kind) && g->size < 0 && hu_trace_get_info(w->ask->trace)->world_size < 0) {
            j.trust = HU_TRUST_LOW;
            hu_judgement_say(&j, "how many ranks there are is not recorded: one alone shards nothing");
        }
        if (!add_group(w, source, &j, is_reduction))
            return false;
    }
    if (count_of(p, is_all_to_all)) {
        hu_parallel_judge_all_to_all(p, g, &w->traits, &j);
        if (!add_group(w, source, &j, is_all_to_all))
            return false;
    }
    if (count_of(p, hu_traffic_is_exchange)) {
        hu_stages found;

        hu_stages_judge(w->traffic.at + g->first, g->n, g, hu_trace_get_info(w->ask->trace)->rank, &w->traits, &found);
        if (found.judgement.kind == HU_PARALLEL_PP && (w->pipeline.judgement.kind != HU_PARALLEL_PP))
            w->pipeline = found;
        if (!add_group(w, source, &found.judgement, hu_traffic_is_exchange))
            return false;
    }
    return true;
}

/* All of them together */

hu_parallel_group *hu_parallel_find(hu_parallel_work *w, hu_parallel_kind kind)
{
    for (size_t i = 0; i < w->list.n; i++)
        if (w->list.at[i].kind == kind)
            return &w->list.at[i];
    return NULL;
}

int64_t hu_parallel_calls_of(const hu_parallel_work *w, const hu_parallel_group *g, hu_traffic_kind kind)
{
    const hu_pattern *p = &w->patterns[g->source];

    return p->n[HU_SLOT_BACKWARD][kind] + p->n[HU_SLOT_AFTER][kind];
}

static int64_t gradients_of(const work *w, const hu_parallel_group *g, hu_traffic_kind kind)
{
    const hu_pattern *p = &w->patterns[g->source];

    return p->bytes[HU_SLOT_BACKWARD][kind] + p->bytes[HU_SLOT_AFTER][kind];
}

/* Does the second group reduce the shards that the first one made?  By bytes, or where they are unknown by calls. */
static bool reduces_shards(const work *w, const hu_parallel_group *sharded, const hu_parallel_group *reduced)
{
    const double whole = (double)gradients_of(w, sharded, HU_TRAFFIC_REDUCE_SCATTER);
    const double shard = (double)gradients_of(w, reduced, HU_TRAFFIC_ALL_REDUCE);

    if (whole > 0 && shard > 0 && sharded->size > 1)
        return shard * (double)sharded->size > 0.7 * whole && shard * (double)sharded->size < 1.4 * whole;
    return hu_parallel_calls_of(w, sharded, HU_TRAFFIC_REDUCE_SCATTER) ==
           hu_parallel_calls_of(w, reduced, HU_TRAFFIC_ALL_REDUCE);
}

static bool join_hsdp(work *w)
{
    hu_parallel_group *sharded = hu_parallel_find(w, HU_PARALLEL_FULL_SHARD),
                      *reduced = hu_parallel_find(w, HU_PARALLEL_DDP);

    sharded = sharded ? sharded : hu_parallel_find(w, HU_PARALLEL_GRAD_OP);
    if (!sharded || !reduced || sharded->source == reduced->source || !reduces_shards(w, sharded, reduced))
        return true;
    sharded->words = sharded->kind == HU_PARALLEL_GRAD_OP ? HU_STR("HSDP, SHARD_GRAD_OP") : HU_STR("HSDP");
    sharded->kind = HU_PARALLEL_HSDP;
    reduced->kind = HU_PARALLEL_HSDP_REPLICAS;
    reduced->words = hu_str_of(words_of(HU_PARALLEL_HSDP_REPLICAS));
    sharded->trust = sharded->trust > HU_TRUST_MEDIUM || w->traits.names_fsdp ? HU_TRUST_HIGH : HU_TRUST_MEDIUM;
    reduced->trust = sharded->trust;
    return hu_parallel_say(w, (size_t)(reduced - w->list.at), "it all-reduces the shards of the other group");
}

/* Gathers and reduce-scatters beside a group that reduces gradients are of keys and values. */
static bool find_context(work *w)
{
    hu_parallel_group *gathers = hu_parallel_find(w, HU_PARALLEL_GRAD_OP);
    bool               reduced = false, same = false;

    for (size_t i = 0; gathers && i < w->list.n; i++) {
        const bool reduces = w->list.at[i].source != gathers->source &&
                             (w->list.at[i].kind == HU_PARALLEL_DDP || w->list.at[i].kind == HU_PARALLEL_FULL_SHARD ||
                              w->list.at[i].kind == HU_PARALLEL_ZERO_1 || w->list.at[i].kind == HU_PARALLEL_ZERO_2);

        reduced |= reduces;
        same |= reduces && gathers->ranks.n && hu_str_equal(gathers->ranks, w->list.at[i].ranks);
    }
    if (reduced && same && hu_parallel_name_speaks(&w->traffic.groups[gathers->source], HU_PARALLEL_CP) <= 0) {
        gathers->kind = HU_PARALLEL_UNKNOWN;
        gathers->words = hu_str_of(words_of(HU_PARALLEL_UNKNOWN));
        gathers->is_main = false;
        return hu_parallel_say(w, (size_t)(gathers - w->list.at),
                               "not decided: parameters, or keys and values, of the same ranks");
    }
    if (!reduced || hu_parallel_name_speaks(&w->traffic.groups[gathers->source], HU_PARALLEL_CP) < 0)
        return true;
    gathers->kind = HU_PARALLEL_CP;
    gathers->words = HU_STR("CP by all-gathers");
    gathers->trust = hu_parallel_name_speaks(&w->traffic.groups[gathers->source], HU_PARALLEL_CP) > 0 ? HU_TRUST_HIGH
                                                                                                      : HU_TRUST_MEDIUM;
    return hu_parallel_say(w, (size_t)(gathers - w->list.at), "another group reduces gradients: these are keys and values");
}

/* One all-reduce a step of the first and the last stage, beside the gradients of the rest. */
static bool find_tied(work *w)
{
    size_t             n = 0;
    hu_parallel_group *small = NULL;

    for (size_t i = 0; i < w->list.n; i++) {
        hu_parallel_group *g = &w->list.at[i];

        if (g->kind != HU_PARALLEL_DDP)
            continue;
        n++;
        if (g->size == 2 && (double)g->calls <= w->traits.steps && (!small || g->bytes < small->bytes))
            small = g;
    }
    if (!small || !hu_parallel_find(w, HU_PARALLEL_PP) ||
        (n < 2 && hu_parallel_name_speaks(&w->traffic.groups[small->source], HU_PARALLEL_TIED) <= 0))
        return true;
    small->kind = HU_PARALLEL_TIED;
    small->words = hu_str_of(words_of(HU_PARALLEL_TIED));
    small->is_main = false;
    return hu_parallel_say(w, (size_t)(small - w->list.at), "one all-reduce of two ranks per step, next to a pipeline");
}

/* Of several groups of one kind the largest speaks; experts have data parallel groups of their own. */
static void keep_largest(work *w)
{
    for (size_t i = 0; i < w->list.n; i++)
        for (size_t k = 0; k < w->list.n && w->list.at[i].is_main; k++) {
            const hu_parallel_group *a = &w->list.at[i], *b = &w->list.at[k];

            if (i != k && b->is_main && a->kind == b->kind && (b->bytes > a->bytes || (b->bytes == a->bytes && k < i)))
                w->list.at[i].is_main = false;
        }
}

/* A stream's only group is taken for all ranks. */
static bool guess_size(work *w)
{
    const int64_t world = hu_trace_get_info(w->ask->trace)->world_size;
    size_t        mains = 0, only = 0;

    for (size_t i = 0; i < w->list.n; i++) {
        mains += w->list.at[i].is_main;
        only = w->list.at[i].is_main ? i : only;
    }
    if (mains != 1 || w->list.at[only].size > 0 || world < 2)
        return true;
    w->list.at[only].size = world;
    return hu_parallel_say(w, only, "size not recorded: the only group is assumed to be all ranks");
}

/* Summary */

static int by_place(const void *left, const void *right)
{
    const hu_parallel_group *a = left, *b = right;

    if (a->is_main != b->is_main)
        return a->is_main ? -1 : 1;
    if (a->kind != b->kind)
        return a->kind == HU_PARALLEL_UNKNOWN ? 1 : b->kind == HU_PARALLEL_UNKNOWN ? -1 : a->kind < b->kind ? -1 : 1;
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    return (a->id > b->id) - (a->id < b->id);
}

/* Reasons follow their groups. */
static bool sort_groups(work *w)
{
    size_t *now = hu_arena_alloc(w->ask->scratch, (w->list.n + 1) * sizeof *now);

    if (!now)
        return false;
    for (size_t i = 0; i < w->list.n; i++)
        w->list.at[i].id = i;
    if (w->list.n)
        qsort(w->list.at, w->list.n, sizeof *w->list.at, by_place);
    for (size_t i = 0; i < w->list.n; i++)
        now[w->list.at[i].id] = i;
    for (size_t i = 0; i < w->reasons.n; i++)
        w->reasons.at[i].group = now[w->reasons.at[i].group];
    return true;
}

static hu_str why_nothing(const work *w)
{
    bool   alone = w->traffic.n > 0;
    size_t orphans = 0;

    for (size_t i = 0; i < w->traffic.n_groups; i++)
        alone &= w->traffic.groups[i].n == 0 || w->traffic.groups[i].size == 1;
    for (size_t i = 0; i < w->traffic.n; i++)
        orphans += w->traffic.at[i].is_orphan;
    if (w->traffic.n == 0)
        return HU_STR("no communication was recorded: inconclusive");
    if (alone)
        return HU_STR("its process groups have one rank");
    if (2 * orphans > w->traffic.n)
        return HU_STR("not decided: most collectives were launched before the capture began");
    if (!w->traits.is_training)
        return w->traits.has_host ? HU_STR("no backward pass was recorded")
                                  : HU_STR("the host was not recorded: forward and backward cannot be separated");
    return HU_STR("the calls match no known pattern");
}

static bool judge_all(work *w)
{
    const size_t n = w->traffic.n_groups < MOST_GROUPS ? w->traffic.n_groups : MOST_GROUPS;

    w->patterns = hu_arena_calloc(w->ask->scratch, n + 1, sizeof *w->patterns);
    if (!w->patterns)
        return false;
    for (size_t i = 0; i < n; i++)
        if (!hu_pattern_count(&w->traffic, &w->traffic.groups[i], w->ask->scratch, &w->patterns[i]) || !judge_group(w, i))
            return false;
    if (!join_hsdp(w) || !find_context(w) || !find_tied(w))
        return false;
    keep_largest(w);
    return guess_size(w) && sort_groups(w);
}

hu_parallelism hu_parallelism_unknown(void)
{
    return (hu_parallelism){.parameter_bytes = (double)NAN,
                            .gradient_bytes = (double)NAN,
                            .buckets = (double)NAN,
                            .first_bucket = (double)NAN,
                            .largest_bucket = (double)NAN,
                            .during_backward_pct = (double)NAN,
                            .units = (double)NAN,
                            .prefetch_forward_pct = (double)NAN,
                            .prefetch_backward_pct = (double)NAN,
                            .layers = (double)NAN,
                            .expert_layers = (double)NAN,
                            .passes = (double)NAN,
                            .bubble_pct = (double)NAN,
                            .ideal_bubble_pct = (double)NAN,
                            .gradient_dtype = HU_STR(""),
                            .order = HU_STR(""),
                            .stage = HU_STR(""),
                            .summary = HU_STR(""),
                            .why_not = HU_STR("no communication was recorded: inconclusive"),
                            .stages = -1,
                            .microbatches = -1,
                            .product = -1,
                            .world_size = -1};
}

int hu_parallelism_measure(const hu_ask *ask, hu_phase_table *phases, hu_parallelism *out, hu_error *err)
{
    work w = {.ask = ask};
    int  rc;

    *out = hu_parallelism_unknown();
    out->why_not = HU_STR("");
    out->world_size = hu_trace_get_info(ask->trace)->world_size;
    if ((rc = hu_phase_spans_find(ask, &w.spans, err)) < 0 || (rc = hu_traffic_list(ask, &w.spans, &w.device, err)) < 0 ||
        (rc = hu_phase_table_measure(ask, &w.spans, &w.device, phases, err)) < 0 ||
        (rc = hu_traffic_by_peers(ask, &w.device, &w.traffic, err)) < 0)
        return rc;
    if (!hu_parallel_traits_find(&w) || !judge_all(&w))
        return hu_fail_memory(err);
    out->is_training = w.traits.is_training;
    if (w.traits.passes > 0)
        out->passes = w.traits.passes / w.traits.steps;
    out->at = w.list.at;
    out->n = w.list.n;
    if ((rc = hu_parallel_facts_measure(&w, out, err)) < 0)
        return rc;
    if (!hu_parallel_scheme_find(&w, out))
        return hu_fail_memory(err);
    if (!out->summary.n && !out->why_not.n)
        out->why_not = why_nothing(&w);
    out->reasons = w.reasons.at;
    out->n_reasons = w.reasons.n;
    return 0;
}
