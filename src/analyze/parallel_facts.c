/* SPDX-License-Identifier: Apache-2.0
 * parallel_facts.c - what groups that were judged say of the model and of its schedule: buckets, layers, bubble. */
#include <math.h>

#include "analyze/parallel_work.h"

typedef hu_parallel_work work;

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

static void measure_groups(const work *w, hu_parallelism *out)
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
                            hu_parallel_calls_of(w, g, HU_TRAFFIC_REDUCE_SCATTER) ? HU_TRAFFIC_REDUCE_SCATTER
                            : hu_parallel_calls_of(w, g, HU_TRAFFIC_ALL_REDUCE)   ? HU_TRAFFIC_ALL_REDUCE
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

    if (!hu_parallel_find(w, HU_PARALLEL_PP))
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

int hu_parallel_facts_measure(hu_parallel_work *w, hu_parallelism *out, hu_error *err)
{
    if (!sum_compute(w))
        return hu_fail_memory(err);
    measure_groups(w, out);
    return measure_pipeline(w, out, err);
}
