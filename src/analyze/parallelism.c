/* SPDX-License-Identifier: Apache-2.0
 * parallelism.c - judges each process group by itself (parallel_rules.c, pipeline.c), then all of them together.
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

#include "analyze/stages.h"
#include "base/number.h"
#include "base/words.h"

enum { MOST_GROUPS = 64 }; /* of a rank; the rest is left out, and said so */

typedef struct {
    const hu_ask      *ask;
    hu_phase_spans     spans;
    hu_traffic         device, traffic; /* as recorded; with what the host says of sends and receives */
    hu_parallel_traits traits;
    hu_pattern        *patterns; /* by group of the traffic */
    hu_stages          pipeline; /* the first one found */
    HU_VEC(hu_parallel_group) list;
    HU_VEC(hu_parallel_reason) reasons;
    int64_t *computed; /* ns of compute before each of its intervals */
} work;

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

static bool counts_in_product(hu_parallel_kind kind)
{
    static const bool counted[] = {
#define K(id, key, words, counts) counts,
        HU_PARALLEL_KINDS(K)
#undef K
    };

    return counted[kind];
}

const char *hu_trust_name(hu_trust trust)
{
    static const char *const names[] = {"low", "medium", "high"};

    return names[trust];
}

/* Texts of our own live with the answer. */
__attribute__((format(printf, 2, 3))) static hu_str text_of(work *w, const char *format, ...)
{
    char    line[512];
    va_list list;

    va_start(list, format);
    vsnprintf(line, sizeof line, format, list);
    va_end(list);
    return hu_arena_copy(w->ask->arena, hu_str_of(line));
}

static bool say(work *w, size_t group, const char *text)
{
    const hu_str kept = hu_arena_copy(w->ask->arena, hu_str_of(text));

    return kept.p && hu_vec_push(w->ask->arena, &w->reasons, ((hu_parallel_reason){group, kept}));
}

/* What the trace says besides its calls */

static void find_names(work *w)
{
    enum { LONGEST = 400, FSDP = 4, DEEPSPEED = 7, DDP = 8, TENSOR = 12, EMBEDDINGS = 17 };
    /* clang-format off */
    static const char *const words[] = {
        "FSDP::", "FullyShardedDataParallel.", "Module: FullyShardedDataParallel", "torch/distributed/fsdp/_",
        "DeepSpeedEngine", "DeepSpeedZeroOptimizer", "deepspeed/runtime/",
        "DistributedDataParallel",
        "ModelParallelRegion", "SequenceParallelRegion", "LinearWithGradAccumulationAndAsyncCommunication",
        "megatron/core/tensor_parallel/",
        "KJTAllToAll", "PooledEmbeddingsAwaitable", "PooledEmbeddingsAllToAll", "torchrec/", "All2All_Pooled"};
    /* clang-format on */
    hu_words finder;

    hu_words_init(&finder, words, HU_COUNT(words));
    for (uint32_t i = 0; i < hu_trace_string_count(w->ask->trace); i++) {
        const hu_str text = hu_trace_text(w->ask->trace, i);
        const int    at = text.n < 6 || text.n > LONGEST || text.p[0] == '[' ? -1 : hu_words_find(&finder, text);

        w->traits.names_fsdp |= at >= 0 && at < FSDP;
        w->traits.names_deepspeed |= at >= FSDP && at < DEEPSPEED;
        w->traits.names_ddp |= at >= DEEPSPEED && at < DDP;
        w->traits.names_tensor |= at >= DDP && at < TENSOR;
        w->traits.names_embeddings |= at >= TENSOR && at < EMBEDDINGS;
    }
}

static bool is_attention(hu_str kernel)
{
    static const char *const parts[] = {"flash", "fmha", "attention", "attn", "softmax"};

    for (size_t i = 0; i < HU_COUNT(parts); i++)
        if (hu_str_has(kernel, hu_str_of(parts[i])))
            return true;
    return false;
}

static bool has_all_to_all(const hu_traffic *t)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->at[i].kind == HU_TRAFFIC_ALL_TO_ALL)
            return true;
    return false;
}

/* Experts come behind attention; heads are exchanged before it.  Looks at the first all-to-all of each forward pass. */
static bool look_for_attention(work *w)
{
    const hu_ask *ask = w->ask;
    uint8_t      *known = hu_arena_calloc(ask->scratch, hu_trace_string_count(ask->trace) + 1, 1);
    int64_t      *first = hu_arena_alloc(ask->scratch, (w->spans.n + 1) * sizeof *first); /* by span: its attention */
    uint8_t      *seen = hu_arena_calloc(ask->scratch, w->spans.n + 1, 1);
    size_t        behind = 0, before = 0;

    if (!known || !first || !seen)
        return false;
    for (size_t i = 0; i < w->spans.n; i++)
        first[i] = INT64_MAX;
    for (size_t k = 0; k < ask->n_work; k++) {
        const uint32_t i = ask->work[k];
        uint32_t       span;
        int64_t        time_ns;

        if (ask->s.kind[i] != HU_KIND_KERNEL)
            continue;
        if (!known[ask->s.name[i]])
            known[ask->s.name[i]] = is_attention(hu_ask_name(ask, i)) ? 2 : 1;
        if (known[ask->s.name[i]] != 2)
            continue;
        time_ns = hu_select_time(ask->trace, &ask->s, i);
        span = hu_phase_span_before(&w->spans, time_ns);
        if (span != HU_NONE && time_ns < first[span])
            first[span] = time_ns;
    }
    for (size_t i = 0; i < w->traffic.n; i++) {
        const hu_traffic_call *c = &w->traffic.at[i];

        if (c->kind != HU_TRAFFIC_ALL_TO_ALL || c->is_integer || c->slot != HU_SLOT_FORWARD || seen[c->span] ||
            first[c->span] == INT64_MAX)
            continue;
        seen[c->span] = 1;
        if (first[c->span] < c->host_ns)
            before++;
        else
            behind++;
    }
    w->traits.has_attention = before + behind > 0;
    w->traits.attention_first = before > behind;
    return true;
}

static bool find_traits(work *w)
{
    size_t passes = 0;

    w->traits.is_training = w->spans.has_backward;
    for (uint32_t i = 0; i < w->ask->s.n && !w->traits.has_host; i++)
        w->traits.has_host = w->ask->s.kind[i] == HU_KIND_CPU_OP;
    w->traits.steps = w->traffic.steps.n ? (double)w->traffic.steps.n : 1;
    for (size_t i = 0; i < w->spans.n; i++)
        passes += w->spans.at[i].phase == HU_PHASE_FORWARD &&
                  (!w->traffic.steps.n || hu_select_in(&w->traffic.steps, w->spans.at[i].start_ns));
    w->traits.passes = (double)passes;
    if (w->traffic.n)
        find_names(w);
    return !has_all_to_all(&w->traffic) || look_for_attention(w);
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
    return text_of(w, "%s", line);
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
        if (!say(w, w->list.n - 1, j->reasons[i]))
            return false;
    return true;
}

static bool judge_group(work *w, size_t source)
{
    const hu_traffic_group *g = &w->traffic.groups[source];
    const hu_pattern       *p = &w->patterns[source];
    hu_judgement            j;

    if (g->size == 1)
        return true; /* alone */
    if (count_of(p, is_reduction)) {
        hu_parallel_judge_reductions(p, g, &w->traits, &j);
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

static hu_parallel_group *find(work *w, hu_parallel_kind kind)
{
    for (size_t i = 0; i < w->list.n; i++)
        if (w->list.at[i].kind == kind)
            return &w->list.at[i];
    return NULL;
}

static int64_t gradients_of(const work *w, const hu_parallel_group *g, hu_traffic_kind kind)
{
    const hu_pattern *p = &w->patterns[g->source];

    return p->bytes[HU_SLOT_BACKWARD][kind] + p->bytes[HU_SLOT_AFTER][kind];
}

static int64_t calls_of(const work *w, const hu_parallel_group *g, hu_traffic_kind kind)
{
    const hu_pattern *p = &w->patterns[g->source];

    return p->n[HU_SLOT_BACKWARD][kind] + p->n[HU_SLOT_AFTER][kind];
}

/* Does the second group reduce the shards that the first one made?  By bytes, or where they are unknown by calls. */
static bool reduces_shards(const work *w, const hu_parallel_group *sharded, const hu_parallel_group *reduced)
{
    const double whole = (double)gradients_of(w, sharded, HU_TRAFFIC_REDUCE_SCATTER);
    const double shard = (double)gradients_of(w, reduced, HU_TRAFFIC_ALL_REDUCE);

    if (whole > 0 && shard > 0 && sharded->size > 1)
        return shard * (double)sharded->size > 0.7 * whole && shard * (double)sharded->size < 1.4 * whole;
    return calls_of(w, sharded, HU_TRAFFIC_REDUCE_SCATTER) == calls_of(w, reduced, HU_TRAFFIC_ALL_REDUCE);
}

static bool join_hsdp(work *w)
{
    hu_parallel_group *sharded = find(w, HU_PARALLEL_FULL_SHARD), *reduced = find(w, HU_PARALLEL_DDP);

    sharded = sharded ? sharded : find(w, HU_PARALLEL_GRAD_OP);
    if (!sharded || !reduced || sharded->source == reduced->source || !reduces_shards(w, sharded, reduced))
        return true;
    sharded->words = sharded->kind == HU_PARALLEL_GRAD_OP ? HU_STR("HSDP, SHARD_GRAD_OP") : HU_STR("HSDP");
    sharded->kind = HU_PARALLEL_HSDP;
    reduced->kind = HU_PARALLEL_HSDP_REPLICAS;
    reduced->words = hu_str_of(words_of(HU_PARALLEL_HSDP_REPLICAS));
    sharded->trust = sharded->trust > HU_TRUST_MEDIUM || w->traits.names_fsdp ? HU_TRUST_HIGH : HU_TRUST_MEDIUM;
    reduced->trust = sharded->trust;
    return say(w, (size_t)(reduced - w->list.at), "it all-reduces the shards that the other group leaves");
}

/* Gathers and reduce-scatters beside a group that reduces gradients are of keys and values. */
static bool find_context(work *w)
{
    hu_parallel_group *gathers = find(w, HU_PARALLEL_GRAD_OP);
    bool               reduced = false;

    for (size_t i = 0; gathers && i < w->list.n; i++)
        reduced |= w->list.at[i].source != gathers->source &&
                   (w->list.at[i].kind == HU_PARALLEL_DDP || w->list.at[i].kind == HU_PARALLEL_FULL_SHARD ||
                    w->list.at[i].kind == HU_PARALLEL_ZERO_1 || w->list.at[i].kind == HU_PARALLEL_ZERO_2);
    if (!reduced || hu_parallel_name_speaks(&w->traffic.groups[gathers->source], HU_PARALLEL_CP) < 0)
        return true;
    gathers->kind = HU_PARALLEL_CP;
    gathers->words = HU_STR("CP by all-gathers");
    gathers->trust = hu_parallel_name_speaks(&w->traffic.groups[gathers->source], HU_PARALLEL_CP) > 0 ? HU_TRUST_HIGH
                                                                                                      : HU_TRUST_MEDIUM;
    return say(w, (size_t)(gathers - w->list.at), "another group reduces gradients: these are keys and values");
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
    if (!small || !find(w, HU_PARALLEL_PP) ||
        (n < 2 && hu_parallel_name_speaks(&w->traffic.groups[small->source], HU_PARALLEL_TIED) <= 0))
        return true;
    small->kind = HU_PARALLEL_TIED;
    small->words = hu_str_of(words_of(HU_PARALLEL_TIED));
    small->is_main = false;
    return say(w, (size_t)(small - w->list.at), "one all-reduce of two ranks in a step, beside a pipeline");
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
    return say(w, only, "size not recorded: the only group is taken for all ranks");
}

/* Facts */

static double per_step(const work *w, int64_t n)
{
    return (double)n / w->traits.steps;
}

/* Time of computation before `t`. */
static int64_t computed_before(const work *w, int64_t t)
{
    const hu_intervals *c = &w->ask->compute;
    size_t              low = 0, high = c->n;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (c->at[middle].start_ns <= t)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return 0;
    return w->computed[low - 1] + (t < c->at[low - 1].end_ns ? t : c->at[low - 1].end_ns) - c->at[low - 1].start_ns;
}

static bool sum_compute(work *w)
{
    const hu_intervals *c = &w->ask->compute;
    int64_t             sum = 0;

    w->computed = hu_arena_alloc(w->ask->scratch, (c->n + 1) * sizeof *w->computed);
    for (size_t i = 0; w->computed && i < c->n; i++) {
        w->computed[i] = sum;
        sum += c->at[i].end_ns - c->at[i].start_ns;
    }
    return w->computed != NULL;
}

/* Share of the all-gathers' time that is computed over, in percent; the first of each pass has nothing to hide behind. */
static double prefetched(const work *w, const hu_parallel_group *g, hu_slot slot)
{
    const hu_traffic_group *from = &w->traffic.groups[g->source];
    double                  whole = 0, hidden = 0;
    uint32_t                span = HU_NONE;

    for (size_t i = from->first; !w->traffic.on_host && i < from->first + from->n; i++) {
        const hu_traffic_call *c = &w->traffic.at[i];

        if (c->kind != HU_TRAFFIC_ALL_GATHER || c->slot != slot || c->is_integer)
            continue;
        if (c->span != span) {
            span = c->span;
            continue;
        }
        whole += (double)c->dur_ns;
        hidden += (double)(computed_before(w, c->start_ns + c->dur_ns) - computed_before(w, c->start_ns));
    }
    return whole > 0 ? 100 * hidden / whole : (double)NAN;
}

/* The node of the autograd graph that ran last before a time, or -1; *more: others follow within the span. */
static int32_t node_at(const work *w, int64_t time_ns, uint32_t span, bool *more)
{
    size_t low = 0, high = w->spans.n_nodes;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (w->spans.nodes[middle].time_ns <= time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    *more = low < w->spans.n_nodes && span != HU_NONE && w->spans.nodes[low].time_ns < w->spans.at[span].end_ns;
    return low ? w->spans.nodes[low - 1].sequence : -1;
}

/* Buckets: their number, the first and the largest, their order, and whether backward still ran. */
static void measure_buckets(const work *w, const hu_parallel_group *g, hu_traffic_kind kind, hu_parallelism *out)
{
    const hu_traffic_group *from = &w->traffic.groups[g->source];
    int64_t                 n = 0, during = 0, falls = 0, rises = 0, bytes = 0;
    int32_t                 before = -1;
    uint32_t                span = HU_NONE;

    for (size_t i = from->first; i < from->first + from->n; i++) {
        const hu_traffic_call *c = &w->traffic.at[i];
        bool                   more;
        int32_t                node;

        if (c->kind != kind || c->is_integer || (c->bytes >= 0 && c->bytes <= HU_PATTERN_SCALAR_BYTES) ||
            (c->slot != HU_SLOT_BACKWARD && c->slot != HU_SLOT_AFTER))
            continue;
        node = node_at(w, c->host_ns, c->span, &more);
        during += c->slot == HU_SLOT_BACKWARD && more;
        if (c->span == span && before >= 0 && node >= 0) {
            falls += node <= before;
            rises += node > before;
        }
        if (n++ == 0 && c->bytes >= 0)
            out->first_bucket = (double)c->bytes;
        if (c->bytes >= 0 && !(out->largest_bucket >= (double)c->bytes)) {
            out->largest_bucket = (double)c->bytes;
            out->gradient_dtype = c->dtype;
        }
        bytes = c->bytes > 0 && bytes < INT64_MAX - c->bytes ? bytes + c->bytes : bytes;
        span = c->span;
        before = node;
    }
    if (n == 0)
        return;
    out->buckets = per_step(w, n);
    out->gradient_bytes = bytes ? per_step(w, bytes) : (double)NAN;
    out->during_backward_pct = w->spans.n_nodes ? 100 * (double)during / (double)n : (double)NAN;
    if (falls + rises > 0)
        out->order = rises * 10 <= falls + rises ? HU_STR("reverse") : HU_STR("mixed");
}

static void measure_gathers(const work *w, const hu_parallel_group *g, hu_parallelism *out)
{
    const hu_pattern *p = &w->patterns[g->source];
    const double      passes = w->traits.passes > 0 ? w->traits.passes : w->traits.steps;

    out->units = (double)p->n[HU_SLOT_FORWARD][HU_TRAFFIC_ALL_GATHER] / passes;
    if (p->bytes[HU_SLOT_FORWARD][HU_TRAFFIC_ALL_GATHER])
        out->parameter_bytes = (double)p->bytes[HU_SLOT_FORWARD][HU_TRAFFIC_ALL_GATHER] / passes;
    out->prefetch_forward_pct = prefetched(w, g, HU_SLOT_FORWARD);
    out->prefetch_backward_pct = prefetched(w, g, HU_SLOT_BACKWARD);
}

static void measure_layers(const work *w, const hu_parallel_group *g, hu_parallelism *out)
{
    const hu_pattern     *p = &w->patterns[g->source];
    const double          passes = w->traits.passes > 0 ? w->traits.passes : w->traits.steps;
    const hu_traffic_kind kind = g->kind == HU_PARALLEL_TP_SP ? HU_TRAFFIC_REDUCE_SCATTER
                                 : g->kind == HU_PARALLEL_EP  ? HU_TRAFFIC_ALL_TO_ALL
                                                              : HU_TRAFFIC_ALL_REDUCE;
    const int64_t         common = p->common_n[HU_SLOT_FORWARD][kind];
    const int64_t         n = common && g->kind != HU_PARALLEL_EP ? common : p->n[HU_SLOT_FORWARD][kind];
    const double          layers = floor((double)n / passes / 2 + 1e-9);

    if (!w->traits.is_training || layers < 1)
        return;
    if (g->kind == HU_PARALLEL_EP)
        out->expert_layers = layers;
    else
        out->layers = layers;
}

static void measure_facts(work *w, hu_parallelism *out)
{
    for (size_t i = 0; i < w->list.n; i++) {
        const hu_parallel_group *g = &w->list.at[i];
        const hu_pattern        *p = &w->patterns[g->source];

        if (!g->is_main)
            continue;
        switch (g->kind) {
        case HU_PARALLEL_DDP:
            measure_buckets(w, g, HU_TRAFFIC_ALL_REDUCE, out);
            break;
        case HU_PARALLEL_ZERO_1:
        case HU_PARALLEL_ZERO_2:
            measure_buckets(w, g,
                            calls_of(w, g, HU_TRAFFIC_REDUCE_SCATTER) ? HU_TRAFFIC_REDUCE_SCATTER
                            : calls_of(w, g, HU_TRAFFIC_ALL_REDUCE)   ? HU_TRAFFIC_ALL_REDUCE
                                                                      : HU_TRAFFIC_REDUCE,
                            out);
            if (p->bytes[HU_SLOT_OPTIMIZER][HU_TRAFFIC_ALL_GATHER] + p->bytes[HU_SLOT_AFTER][HU_TRAFFIC_ALL_GATHER])
                out->parameter_bytes = per_step(w, p->bytes[HU_SLOT_OPTIMIZER][HU_TRAFFIC_ALL_GATHER] +
                                                       p->bytes[HU_SLOT_AFTER][HU_TRAFFIC_ALL_GATHER]);
            break;
        case HU_PARALLEL_FULL_SHARD:
        case HU_PARALLEL_GRAD_OP:
        case HU_PARALLEL_HSDP:
            measure_buckets(w, g, HU_TRAFFIC_REDUCE_SCATTER, out);
            measure_gathers(w, g, out);
            break;
        case HU_PARALLEL_TP:
        case HU_PARALLEL_TP_SP:
        case HU_PARALLEL_EP:
            measure_layers(w, g, out);
            break;
        default:
            break;
        }
    }
}

static int measure_pipeline(work *w, hu_parallelism *out, hu_error *err)
{
    double share;
    int    rc;

    if (!find(w, HU_PARALLEL_PP))
        return 0;
    out->stages = w->pipeline.stages;
    out->microbatches = w->pipeline.microbatches;
    out->stage = hu_str_of(w->pipeline.stage);
    if ((rc = hu_stages_bubble(w->ask, &w->spans, &w->device, &share, err)) < 0)
        return rc;
    out->bubble_pct = 100 * share;
    if (out->stages > 1 && out->microbatches > 0)
        out->ideal_bubble_pct = 100 * (double)(out->stages - 1) / (double)(out->microbatches + out->stages - 1);
    return 0;
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

static void multiply(hu_parallelism *out)
{
    out->product = 1;
    for (size_t i = 0; i < out->n; i++) {
        const hu_parallel_group *g = &out->at[i];

        if (!g->is_main || !counts_in_product(g->kind))
            continue;
        if (g->size < 1 || out->product < 0 || __builtin_mul_overflow(out->product, g->size, &out->product))
            out->product = -1;
    }
}

static bool is_zero(hu_parallel_kind kind)
{
    return kind == HU_PARALLEL_ZERO_1 || kind == HU_PARALLEL_ZERO_2;
}

/* "FSDP full shard over 8 ranks", "HSDP over 2 × 4 ranks", "TP 2 × PP 2 × DDP 2" */
static bool summarise(work *w, hu_parallelism *out)
{
    const hu_parallel_group *first = out->n ? &out->at[0] : NULL;
    char                     line[256];
    size_t                   n = 0, mains = 0;

    out->trust = HU_TRUST_HIGH;
    while (mains < out->n && out->at[mains].is_main) {
        out->trust = out->at[mains].trust < out->trust ? out->at[mains].trust : out->trust;
        mains++;
    }
    if (mains == 0) {
        out->trust = HU_TRUST_LOW;
        out->summary = HU_STR("");
        return true;
    }
    if (mains == 1) {
        n = (size_t)snprintf(line, sizeof line, "%s%.*s", is_zero(first->kind) ? "consistent with " : "",
                             (int)first->words.n, first->words.p);
        if (first->size > 0)
            snprintf(line + n, sizeof line - n, " over %lld ranks", (long long)first->size);
    }
    for (size_t i = 0; mains > 1 && i < mains && n < sizeof line - 80; i++) {
        n += (size_t)snprintf(line + n, sizeof line - n, "%s%.*s", i ? " × " : "", (int)out->at[i].words.n,
                              out->at[i].words.p);
        if (out->at[i].size > 0)
            n += (size_t)snprintf(line + n, sizeof line - n, " %lld", (long long)out->at[i].size);
    }
    out->summary = text_of(w, "%s", line);
    if (out->product > 0 && out->world_size > 0 && out->product > out->world_size) {
        out->trust = HU_TRUST_LOW;
        return out->summary.p && say(w, 0, "but the degrees multiply to more ranks than the job has");
    }
    return out->summary.p != NULL;
}

static hu_str why_nothing(const work *w)
{
    bool alone = w->traffic.n > 0;

    for (size_t i = 0; i < w->traffic.n_groups; i++)
        alone &= w->traffic.groups[i].n == 0 || w->traffic.groups[i].size == 1;
    if (w->traffic.n == 0)
        return HU_STR("no communication was recorded, which says nothing");
    if (alone)
        return HU_STR("its process groups have one rank");
    if (!w->traits.is_training)
        return w->traits.has_host ? HU_STR("no backward pass was recorded")
                                  : HU_STR("the host was not recorded, so nothing tells forward from backward");
    return HU_STR("the calls fit no known pattern");
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
    return guess_size(w) && sort_groups(w) && sum_compute(w);
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
                            .why_not = HU_STR("no communication was recorded, which says nothing"),
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
    out->world_size = hu_trace_get_info(ask->trace)->world_size;
    if ((rc = hu_phase_spans_find(ask, &w.spans, err)) < 0 || (rc = hu_traffic_list(ask, &w.spans, &w.device, err)) < 0 ||
        (rc = hu_phase_table_measure(ask, &w.spans, &w.device, phases, err)) < 0 ||
        (rc = hu_traffic_by_peers(ask, &w.device, &w.traffic, err)) < 0)
        return rc;
    if (!find_traits(&w) || !judge_all(&w))
        return hu_fail_memory(err);
    out->is_training = w.traits.is_training;
    if (w.traits.passes > 0)
        out->passes = w.traits.passes / w.traits.steps;
    out->at = w.list.at;
    out->n = w.list.n;
    measure_facts(&w, out);
    if ((rc = measure_pipeline(&w, out, err)) < 0)
        return rc;
    multiply(out);
    if (!summarise(&w, out))
        return hu_fail_memory(err);
    out->why_not = out->summary.n ? HU_STR("") : why_nothing(&w);
    out->reasons = w.reasons.at;
    out->n_reasons = w.reasons.n;
    return 0;
}
