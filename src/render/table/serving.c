/* SPDX-License-Identifier: Apache-2.0
 * serving.c - passes of a serving engine: prefill, decode, mixed. */
#include "render/table/cells.h"

HU_ROWS(rows, serving)

HU_TEXT(phase, serving, hu_str_of(hu_engine_phase_word(r->phase)))
HU_NUMBER(passes, serving, r->passes)
HU_NUMBER(mean, serving, hu_mean(r->period_ns, (double)r->passes))
HU_NUMBER(prompts, serving, hu_said_mean(&r->prompts))
HU_NUMBER(prompt_tokens, serving, hu_said_mean(&r->prompt_tokens))
HU_NUMBER(sequences, serving, hu_said_mean(&r->sequences))
HU_NUMBER(tokens, serving, hu_said_mean(&r->tokens))
HU_NUMBER(context, serving, hu_said_mean(&r->context_tokens))
HU_NUMBER(rate, serving, r->tokens.sum ? hu_serving_tokens_per_s(r) : HU_ABSENT)
HU_NUMBER(gap, serving, hu_mean((double)r->gap_ns, (double)r->gaps))
HU_NUMBER(gap_pct, serving, hu_serving_gap_pct(r))
HU_NUMBER(host_gap, serving, hu_mean((double)r->host_gap_ns, (double)r->gaps))
HU_NUMBER(pauses, serving, r->pauses)
HU_NUMBER(launches, serving, hu_mean((double)r->launches, (double)r->passes))
HU_NUMBER(graph_pct, serving, hu_serving_graph_pct(r))
HU_NUMBER(graph_passes, serving, r->graph_passes)

/* clang-format off */
static const hu_column columns[] = {
    {"phase", "phase", HU_CELL_TEXT, 8, NULL, phase, .values = "prefill|decode|mixed|other",
     .help = "What the passes do: compute prompts, generate tokens, or both; other where their names do not say."},
    {"passes", "passes", HU_CELL_COUNT, 6, NULL, passes, .values = "0..",
     .help = "Counted passes."},
    {"mean_ns", "mean", HU_CELL_NS, 8, NULL, mean, .values = "0..|null",
     .help = "Mean period: from the end of the pass before to its own."},
    {"prompts", "prompts", HU_CELL_NUMBER, 7, NULL, prompts, .is_wide = true, .values = "0..|null", .unit = "requests",
     .help = "Requests in a pass whose prompt is computed, as the name says; null where it does not."},
    {"prompt_tokens", "prompt tk", HU_CELL_NUMBER, 9, NULL, prompt_tokens, .values = "0..|null", .unit = "tokens",
     .help = "Tokens of prompts in a pass."},
    {"sequences", "seqs", HU_CELL_NUMBER, 6, NULL, sequences, .values = "0..|null", .unit = "requests",
     .help = "Requests in a pass that generate tokens; of names that only tell new requests from cached ones, the cached, "
             "among which may be parts of long prompts."},
    {"tokens", "tokens", HU_CELL_NUMBER, 6, NULL, tokens, .is_wide = true, .values = "0..|null", .unit = "tokens",
     .help = "Tokens that these compute in a pass."},
    {"context_tokens", "context tk", HU_CELL_NUMBER, 10, NULL, context, .is_wide = true, .values = "0..|null",
     .unit = "tokens",
     .help = "Tokens in the KV cache over all of them, which attention reads in a pass."},
    {"tokens_per_s", "tokens/s", HU_CELL_NUMBER, 8, NULL, rate, .values = "0..|null", .unit = "tokens/s",
     .help = "tokens over the period, while passes of this phase run; null unless every name says it."},
    {"gap_ns", "GPU gap", HU_CELL_NS, 8, hu_has_device, gap, .values = "0..|null",
     .help = "Time without GPU operations from the last one of the pass before to the first of this one; not behind "
             "pauses."},
    {"gap_pct", "gap%", HU_CELL_PERCENT, 5, hu_has_device, gap_pct, .values = "0..100|null",
     .help = "gap_ns as a share of the period: by that a pass is shorter at most, where the engine prepares it while the "
             "GPU works."},
    {"host_gap_ns", NULL, HU_CELL_NS, 0, NULL, host_gap, .values = "0..|null",
     .help = "From the end of the annotation of the pass before to the beginning of its own."},
    {"pauses", NULL, HU_CELL_COUNT, 0, NULL, pauses, .values = "0..",
     .help = "Passes before which both host and GPU rest for longer than the pass before took: there was no request."},
    {"launches", "launches", HU_CELL_NUMBER, 8, hu_has_device, launches, .is_wide = true, .values = "0..|null",
     .unit = "calls",
     .help = "Calls in a pass that launch kernels."},
    {"graph_pct", "graph%", HU_CELL_PERCENT, 6, hu_has_device, graph_pct, .values = "0..100|null",
     .help = "Share of kernel time in kernels that a CUDA or HIP graph launched."},
    {"graph_passes", NULL, HU_CELL_COUNT, 0, NULL, graph_passes, .values = "0..",
     .help = "Passes with a graph launch."},
};

const hu_table hu_table_serving = {
    .key = "classes", .title = "Passes of the serving engine", .columns = columns, .n_columns = HU_COUNT(columns),
    .rows = rows,
    .empty = "no passes of a serving engine",
    .about = "Counted passes of a serving engine by what they do; numbers of requests and tokens are means of a pass.",
};
/* clang-format on */

static const hu_table *const tables[] = {&hu_table_serving};

const hu_view hu_view_serving = {
    .word = "serving",
    .is_alone = true,
    .is_list = true,
    .key = "serving",
    .tables = tables,
    .n_tables = HU_COUNT(tables),
    .about = "passes of a serving engine: tokens, GPU gaps, graph replays",
};
