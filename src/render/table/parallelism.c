/* SPDX-License-Identifier: Apache-2.0
 * parallelism.c - how the job is spread over its ranks, why we think so, and what each phase of a step costs. */
#include "render/table/cells.h"

#define SAID rank->digest->parallelism

HU_PLAIN_TEXT_OF(kind, SAID.at, hu_str_of(hu_parallel_kind_key(r->kind)))
HU_PLAIN_TEXT_OF(words, SAID.at, r->words)
HU_PLAIN_TEXT_OF(trust, SAID.at, hu_str_of(hu_trust_name(r->trust)))
HU_PLAIN_TEXT_OF(pattern, SAID.at, r->pattern)
HU_PLAIN_TEXT_OF(group, SAID.at, r->group)
HU_PLAIN_TEXT_OF(ranks, SAID.at, r->ranks)
HU_NUMBER_OF(size, SAID.at, r->size > 0 ? (double)r->size : HU_ABSENT)
HU_NUMBER_OF(calls, SAID.at, r->calls)
HU_NUMBER_OF(bytes, SAID.at, r->bytes)
HU_NUMBER_OF(total, SAID.at, r->ns)
HU_NUMBER_OF(is_main, SAID.at, r->is_main)
HU_ROWS(group_rows, parallelism)

static const hu_column group_columns[] = {
    {"group_size", "ranks", HU_CELL_COUNT, 5, NULL, size, false},
    {"calls", "calls", HU_CELL_COUNT, 6, NULL, calls, false},
    {"bytes", "bytes", HU_CELL_BYTES, 8, NULL, bytes, false},
    {"total_ns", "time", HU_CELL_NS, 9, NULL, total, true},
    {"confidence", "trust", HU_CELL_TEXT, 6, NULL, trust, false},
    {"words", "is", HU_CELL_TEXT, 18, NULL, words, false},
    {"kind", NULL, HU_CELL_TEXT, 0, NULL, kind, false},
    {"group", NULL, HU_CELL_TEXT, 0, NULL, group, false},
    {"group_ranks", NULL, HU_CELL_TEXT, 0, NULL, ranks, false},
    {"in_summary", NULL, HU_CELL_BOOL, 0, NULL, is_main, false},
    {"pattern", "seen in a step", HU_CELL_TEXT, 0, NULL, pattern, false},
};

static const hu_table groups = {"groups",      "What each process group is for", "no communication was recorded",
                                group_columns, HU_COUNT(group_columns),          group_rows};

HU_PLAIN_TEXT_OF(reason_kind, SAID.reasons, hu_str_of(hu_parallel_kind_key(SAID.at[r->group].kind)))
HU_PLAIN_TEXT_OF(reason_text, SAID.reasons, r->text)
HU_NUMBER_OF(reason_group, SAID.reasons, r->group)

static size_t reason_rows(const hu_rank *rank)
{
    return SAID.n_reasons;
}

static const hu_column reason_columns[] = {
    {"group_row", NULL, HU_CELL_COUNT, 0, NULL, reason_group, false},
    {"kind", "kind", HU_CELL_TEXT, 13, NULL, reason_kind, false},
    {"text", "because", HU_CELL_TEXT, 0, NULL, reason_text, false},
};

static const hu_table reasons = {"evidence", "Why", "no evidence", reason_columns, HU_COUNT(reason_columns), reason_rows};

HU_FACT_TEXT(summary, SAID.summary)
HU_FACT_TEXT(why_not, SAID.why_not)
HU_FACT_TEXT(summary_trust, hu_str_of(SAID.summary.n ? hu_trust_name(SAID.trust) : "low"))
HU_FACT(training, SAID.is_training)
HU_FACT(product, SAID.summary.n &&SAID.product > 0 ? (double)SAID.product : HU_ABSENT)
HU_FACT(parameters, SAID.parameter_bytes)
HU_FACT(gradients, SAID.gradient_bytes)
HU_FACT_TEXT(dtype, SAID.gradient_dtype)
HU_FACT(buckets, SAID.buckets)
HU_FACT(first_bucket, SAID.first_bucket)
HU_FACT(largest_bucket, SAID.largest_bucket)
HU_FACT(during, SAID.during_backward_pct)
HU_FACT_TEXT(order, SAID.order)
HU_FACT(units, SAID.units)
HU_FACT(prefetch_forward, SAID.prefetch_forward_pct)
HU_FACT(prefetch_backward, SAID.prefetch_backward_pct)
HU_FACT(layers, SAID.layers)
HU_FACT(expert_layers, SAID.expert_layers)
HU_FACT(passes, SAID.passes)
HU_FACT(stages, SAID.stages > 0 ? (double)SAID.stages : HU_ABSENT)
HU_FACT_TEXT(stage, SAID.stage)
HU_FACT(microbatches, SAID.microbatches > 0 ? (double)SAID.microbatches : HU_ABSENT)
HU_FACT(bubble, SAID.bubble_pct)
HU_FACT(ideal_bubble, SAID.ideal_bubble_pct)

static const hu_column facts[] = {
    {"summary", "parallelism", HU_CELL_TEXT, 0, NULL, summary, false},
    {"why_not", NULL, HU_CELL_TEXT, 0, NULL, why_not, false},
    {"confidence", "confidence", HU_CELL_TEXT, 0, NULL, summary_trust, false},
    {"is_training", NULL, HU_CELL_BOOL, 0, NULL, training, false},
    {"degrees_product", "ranks that it explains", HU_CELL_COUNT, 0, NULL, product, false},
    {"forward_passes", "forward passes of a step", HU_CELL_NUMBER, 0, NULL, passes, false},
    {"parameter_bytes", "parameters as they travel", HU_CELL_BYTES, 0, NULL, parameters, false},
    {"gradient_bytes", "gradients reduced in a step", HU_CELL_BYTES, 0, NULL, gradients, false},
    {"gradient_dtype", NULL, HU_CELL_TEXT, 0, NULL, dtype, false},
    {"buckets", "buckets of gradients", HU_CELL_NUMBER, 0, NULL, buckets, false},
    {"first_bucket_bytes", "the first bucket", HU_CELL_BYTES, 0, NULL, first_bucket, false},
    {"largest_bucket_bytes", "the largest bucket", HU_CELL_BYTES, 0, NULL, largest_bucket, false},
    {"buckets_during_backward_pct", "buckets started during backward, %", HU_CELL_PERCENT, 0, NULL, during, false},
    {"bucket_order", NULL, HU_CELL_TEXT, 0, NULL, order, false},
    {"units", "units gathered in a forward pass", HU_CELL_NUMBER, 0, NULL, units, false},
    {"prefetch_forward_pct", "forward gathers computed over, %", HU_CELL_PERCENT, 0, NULL, prefetch_forward, false},
    {"prefetch_backward_pct", "backward gathers computed over, %", HU_CELL_PERCENT, 0, NULL, prefetch_backward, false},
    {"tensor_parallel_layers", "layers that are split", HU_CELL_COUNT, 0, NULL, layers, false},
    {"expert_layers", "layers of experts", HU_CELL_COUNT, 0, NULL, expert_layers, false},
    {"pipeline_stages", "stages of the pipeline", HU_CELL_COUNT, 0, NULL, stages, false},
    {"pipeline_stage", NULL, HU_CELL_TEXT, 0, NULL, stage, false},
    {"microbatches", "micro-batches of a step, times chunks", HU_CELL_COUNT, 0, NULL, microbatches, false},
    {"bubble_pct", "bubble, % of forward and backward", HU_CELL_PERCENT, 0, NULL, bubble, false},
    {"ideal_bubble_pct", "ideal bubble, %", HU_CELL_PERCENT, 0, NULL, ideal_bubble, false},
};

static const hu_table *const tables[] = {&groups, &reasons};

static bool has(const hu_rank *rank)
{
    return rank->digest->parallelism.n > 0;
}

/* clang-format off */
const hu_view hu_view_parallelism = {
    .word = "parallelism", .key = "parallelism", .facts = facts, .n_facts = HU_COUNT(facts), .tables = tables,
    .n_tables = HU_COUNT(tables), .has = has, .nothing = "no communication between ranks was recorded",
    .about = "how the job is parallelised (DDP, FSDP, TP, PP, EP), with evidence",
};
/* clang-format on */

/* Phases: values of one step where steps are known, else of the capture. */

static double each(const hu_rank *rank, int64_t sum)
{
    const hu_digest *d = rank->digest;
    const int64_t    n = hu_digest_step_count(d);

    return n > 0 ? (double)sum / (double)n : (double)sum;
}

static bool on_device(const hu_rank *rank)
{
    return !rank->digest->phases.on_host;
}

/* Kinds of communication that there are; where all are, bytes do not fit beside them. */
static bool has_kind(const hu_rank *rank, int kind)
{
    const hu_digest *d = rank->digest;

    for (size_t i = 0; i < d->phases.n; i++)
        if (d->phases.at[i].comm_ns[kind])
            return true;
    return false;
}

static bool has_gather(const hu_rank *rank)
{
    return has_kind(rank, HU_PHASE_GATHER);
}

static bool has_scatter(const hu_rank *rank)
{
    return has_kind(rank, HU_PHASE_SCATTER);
}

static bool has_reduce(const hu_rank *rank)
{
    return has_kind(rank, HU_PHASE_REDUCE);
}

static bool has_else(const hu_rank *rank)
{
    return has_kind(rank, HU_PHASE_ELSE);
}

static bool has_room(const hu_rank *rank)
{
    return !(has_gather(rank) && has_scatter(rank) && has_reduce(rank) && has_else(rank));
}

HU_PLAIN_TEXT_OF(phase, d->phases.at, hu_str_of(hu_phase_name(r->phase)))
HU_NUMBER(host, phases, each(rank, r->host_ns))
HU_NUMBER(compute, phases, d->phases.on_host ? HU_ABSENT : each(rank, r->compute_ns))
HU_NUMBER(gather, phases, each(rank, r->comm_ns[HU_PHASE_GATHER]))
HU_NUMBER(scatter, phases, each(rank, r->comm_ns[HU_PHASE_SCATTER]))
HU_NUMBER(reduce, phases, each(rank, r->comm_ns[HU_PHASE_REDUCE]))
HU_NUMBER(otherwise, phases, each(rank, r->comm_ns[HU_PHASE_ELSE]))
HU_NUMBER(exposed, phases, d->phases.on_host ? HU_ABSENT : each(rank, r->exposed_ns))
HU_NUMBER(phase_calls, phases, each(rank, r->calls))
HU_NUMBER(phase_bytes, phases, each(rank, r->bytes))
HU_ROWS(phase_rows, phases)

static const hu_column phase_columns[] = {
    {"phase", "phase", HU_CELL_TEXT, 13, NULL, phase, false},
    {"host_ns", "host", HU_CELL_NS, 8, NULL, host, false},
    {"compute_ns", "compute", HU_CELL_NS, 8, on_device, compute, false},
    {"all_gather_ns", "gather", HU_CELL_NS, 8, has_gather, gather, false},
    {"reduce_scatter_ns", "scatter", HU_CELL_NS, 8, has_scatter, scatter, false},
    {"all_reduce_ns", "reduce", HU_CELL_NS, 8, has_reduce, reduce, false},
    {"other_comm_ns", "others", HU_CELL_NS, 8, has_else, otherwise, false},
    {"exposed_comm_ns", "exposed", HU_CELL_NS, 8, on_device, exposed, false},
    {"comm_calls", "calls", HU_CELL_NUMBER, 8, NULL, phase_calls, true},
    {"comm_bytes", "bytes", HU_CELL_BYTES, 8, has_room, phase_bytes, false},
};

static const hu_table phase_table = {"phases",
                                     "Phases of a step; communication by kind",
                                     "forward, backward and optimizer not identified",
                                     phase_columns,
                                     HU_COUNT(phase_columns),
                                     phase_rows};

static const hu_table *const phase_tables[] = {&phase_table};

/* clang-format off */
const hu_view hu_view_phases = {
    .word = "phases", .key = "phases", .tables = phase_tables, .n_tables = HU_COUNT(phase_tables), .is_list = true,
    .nothing = "forward, backward and optimizer not identified",
    .about = "forward, backward, optimizer: time, compute, communication by kind",
};
/* clang-format on */
