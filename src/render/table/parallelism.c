/* SPDX-License-Identifier: Apache-2.0
 * parallelism.c - how the job is spread over its ranks, why we think so, and what each phase of a step costs. */
#include "render/table/cells.h"
#include "render/table/terms.h"

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

/* clang-format off */
#define KIND(id, key, words, counts) "|" key
#define KINDS                        &(HU_PARALLEL_KINDS(KIND))[1] /* all of them, divided by | */

static const hu_column group_columns[] = {
    {"group_size", "ranks", HU_CELL_COUNT, 5, NULL, size,
     .help = "Ranks in the group; null when unknown."},
    {"calls", "calls", HU_CELL_COUNT, 6, NULL, calls, .values = "any",
     .help = "Calls of this group and kind inside the counted steps."},
    {"bytes", "bytes", HU_CELL_BYTES, 8, NULL, bytes, .values = "any",
     .help = "Bytes of these calls, where they record a size."},
    {"total_ns", "time", HU_CELL_NS, 9, NULL, total, .is_wide = true, .values = "any",
     .help = "Sum of the durations of these calls."},
    {"confidence", "sure", HU_CELL_TEXT, 6, NULL, trust, .values = "low|medium|high",
     .help = "How sure the kind is."},
    {"words", "kind", HU_CELL_TEXT, 18, NULL, words,
     .help = "The kind in words, more precise where the trace tells more."},
    {"kind", NULL, HU_CELL_TEXT, 0, NULL, kind, .values = KINDS,
     .help = "Stable name of the kind of parallelism."},
    {"group", NULL, HU_CELL_TEXT, 0, NULL, group,
     .help = "Description or name of the process group; empty when not recorded."},
    {"group_ranks", NULL, HU_CELL_TEXT, 0, NULL, ranks,
     .help = "Members of the group, as recorded; empty when not recorded."},
    {"in_summary", NULL, HU_CELL_BOOL, 0, NULL, is_main,
     .help = "Whether the group is part of the summary."},
    {"pattern", "seen in a step", HU_CELL_TEXT, 0, NULL, pattern,
     .help = "Calls and tensors that it moves in a step, by phase."},
};

static const hu_table groups = {
    .key = "groups", .title = "What each process group is for",
    .columns = group_columns, .n_columns = HU_COUNT(group_columns), .rows = group_rows, .is_ordered = true,
    .empty = "no communication was recorded",
    .about = "Process groups by the kind of parallelism that their communication shows.",
};
/* clang-format on */

HU_PLAIN_TEXT_OF(reason_kind, SAID.reasons, hu_str_of(hu_parallel_kind_key(SAID.at[r->group].kind)))
HU_PLAIN_TEXT_OF(reason_text, SAID.reasons, r->text)
HU_NUMBER_OF(reason_group, SAID.reasons, r->group)

static size_t reason_rows(const hu_rank *rank)
{
    return SAID.n_reasons;
}

/* clang-format off */
static const hu_column reason_columns[] = {
    {"group_row", NULL, HU_CELL_COUNT, 0, NULL, reason_group, .values = "0..",
     .help = "Row number of the group in the table groups, from 0; --sort does not move the rows of that table."},
    {"kind", "kind", HU_CELL_TEXT, 13, NULL, reason_kind, .values = KINDS, .terms = hu_terms_parallel_kinds,
     .help = "Stable name of the kind of parallelism."},
    {"text", "because", HU_CELL_TEXT, 0, NULL, reason_text,
     .help = "One reason, in words."},
};

static const hu_table reasons = {
    .key = "evidence", .title = "Why",
    .columns = reason_columns, .n_columns = HU_COUNT(reason_columns), .rows = reason_rows,
    .empty = "no evidence",
    .about = "Reasons for the kind of each group, one per row.",
};
/* clang-format on */

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

/* clang-format off */
static const hu_column facts[] = {
    {"summary", "parallelism", HU_CELL_TEXT, 0, NULL, summary,
     .help = "Degrees of parallelism, for example \"TP 2 × PP 2 × DDP 2\"; empty when nothing was recognised."},
    {"why_not", NULL, HU_CELL_TEXT, 0, NULL, why_not,
     .help = "Why nothing was recognised; empty otherwise."},
    {"confidence", "confidence", HU_CELL_TEXT, 0, NULL, summary_trust, .values = "low|medium|high",
     .help = "Confidence of the least sure part of the summary; low without one."},
    {"is_training", NULL, HU_CELL_BOOL, 0, NULL, training,
     .help = "Whether a backward pass was seen."},
    {"degrees_product", "ranks explained", HU_CELL_COUNT, 0, NULL, product,
     .help = "Ranks that the summary explains; null when the size of a group is unknown."},
    {"forward_passes", "forward passes per step", HU_CELL_NUMBER, 0, NULL, passes, .unit = "per step",
     .help = "Forward passes per step, more than one with micro-batches; null when unknown."},
    {"parameter_bytes", "parameters, as communicated", HU_CELL_BYTES, 0, NULL, parameters,
     .help = "Parameters gathered or reduced once, in the type that they travel in; null when unknown."},
    {"gradient_bytes", "gradients reduced per step", HU_CELL_BYTES, 0, NULL, gradients,
     .help = "Gradients reduced per step, as the communication library is given them; null when unknown."},
    {"gradient_dtype", NULL, HU_CELL_TEXT, 0, NULL, dtype,
     .help = "Type of the reduced gradients, as recorded; empty when unknown."},
    {"buckets", "gradient buckets per step", HU_CELL_NUMBER, 0, NULL, buckets, .unit = "per step",
     .help = "Reductions of gradients per step; null when unknown."},
    {"first_bucket_bytes", "first bucket", HU_CELL_BYTES, 0, NULL, first_bucket,
     .help = "Size of the first gradient bucket; null when unknown."},
    {"largest_bucket_bytes", "largest bucket", HU_CELL_BYTES, 0, NULL, largest_bucket,
     .help = "Size of the largest gradient bucket; null when unknown."},
    {"buckets_during_backward_pct", "buckets started during backward, %", HU_CELL_PERCENT, 0, NULL, during,
     .help = "Share of the buckets that start while backward still runs; null when unknown."},
    {"bucket_order", NULL, HU_CELL_TEXT, 0, NULL, order, .values = "|reverse|mixed",
     .help = "reverse when buckets go from the last layer to the first, else mixed; empty when unknown."},
    {"units", "FSDP units per forward pass", HU_CELL_NUMBER, 0, NULL, units, .unit = "per forward pass",
     .help = "All-gathers of one forward pass: the FSDP units; null when unknown."},
    {"prefetch_forward_pct", "forward all-gathers hidden, %", HU_CELL_PERCENT, 0, NULL, prefetch_forward,
     .help = "Share of forward all-gather time, the first of each pass left out, hidden by compute; null when "
             "unknown."},
    {"prefetch_backward_pct", "backward all-gathers hidden, %", HU_CELL_PERCENT, 0, NULL, prefetch_backward,
     .help = "Share of backward all-gather time, the first of each pass left out, hidden by compute; null when "
             "unknown."},
    {"tensor_parallel_layers", "tensor-parallel layers", HU_CELL_COUNT, 0, NULL, layers,
     .help = "Layers that tensor parallelism splits; null when unknown."},
    {"expert_layers", "expert layers", HU_CELL_COUNT, 0, NULL, expert_layers,
     .help = "Mixture-of-experts layers; null when unknown."},
    {"pipeline_stages", "pipeline stages", HU_CELL_COUNT, 0, NULL, stages,
     .help = "Stages of the pipeline; null when unknown."},
    {"pipeline_stage", NULL, HU_CELL_TEXT, 0, NULL, stage, .values = "|first|middle|last",
     .help = "Whether this rank is the first, a middle or the last stage; empty when unknown."},
    {"microbatches", "micro-batches per step, times chunks", HU_CELL_COUNT, 0, NULL, microbatches,
     .help = "Micro-batches per step, times the chunks of a rank with interleaved stages; null when unknown."},
    {"bubble_pct", "pipeline bubble, % of forward and backward", HU_CELL_PERCENT, 0, NULL, bubble,
     .help = "Share of forward and backward in which this rank neither computes nor communicates, except with its "
             "pipeline neighbours; null when unknown."},
    {"ideal_bubble_pct", "ideal bubble, %", HU_CELL_PERCENT, 0, NULL, ideal_bubble, .source = "GPipe (Huang et al. 2019)",
     .help = "(p - 1) / (m + p - 1) for p stages and m micro-batches; null when unknown."},
};
/* clang-format on */

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

/* clang-format off */
static const hu_column phase_columns[] = {
    {"phase", "phase", HU_CELL_TEXT, 13, NULL, phase,
     .values = "forward|backward|optimizer|data|preprocessing|transfer|checkpoint|other",
     .help = "Phase of the step."},
    {"host_ns", "host", HU_CELL_NS, 8, NULL, host,
     .help = "Time in which the host is in the phase."},
    {"compute_ns", "compute", HU_CELL_NS, 8, on_device, compute,
     .help = "Time in which its kernels compute; null without a device."},
    {"all_gather_ns", "gather", HU_CELL_NS, 8, has_gather, gather,
     .help = "Time in which its all-gathers run."},
    {"reduce_scatter_ns", "scatter", HU_CELL_NS, 8, has_scatter, scatter,
     .help = "Time in which its reduce-scatters run."},
    {"all_reduce_ns", "reduce", HU_CELL_NS, 8, has_reduce, reduce,
     .help = "Time in which its all-reduces run."},
    {"other_comm_ns", "others", HU_CELL_NS, 8, has_else, otherwise,
     .help = "Time in which its other communication runs."},
    {"exposed_comm_ns", "exposed", HU_CELL_NS, 8, on_device, exposed,
     .help = "Time in which any of its communication runs and no kernel computes; null without a device."},
    {"comm_calls", "calls", HU_CELL_NUMBER, 8, NULL, phase_calls, .is_wide = true, .unit = "per step",
     .help = "Communication calls."},
    {"comm_bytes", "bytes", HU_CELL_BYTES, 8, has_room, phase_bytes,
     .help = "Bytes of these calls, where they record a size."},
};

static const hu_table phase_table = {
    .key = "phases", .title = "Phases of a step; communication by kind",
    .columns = phase_columns, .n_columns = HU_COUNT(phase_columns), .rows = phase_rows,
    .empty = "forward, backward and optimizer not identified",
    .about = "Means per counted step, or sums over the capture without steps; GPU operations belong to the phase that "
             "launched them.",
};
/* clang-format on */

static const hu_table *const phase_tables[] = {&phase_table};

/* clang-format off */
const hu_view hu_view_phases = {
    .word = "phases", .key = "phases", .tables = phase_tables, .n_tables = HU_COUNT(phase_tables), .is_list = true,
    .nothing = "forward, backward and optimizer not identified",
    .about = "forward, backward, optimizer: time, compute, communication by kind",
};
/* clang-format on */
