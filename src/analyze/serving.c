/* SPDX-License-Identifier: Apache-2.0
 * serving.c - one row for each phase of a serving engine's passes.
 *
 * The GPU's gap before a pass is what its host work costs: schedule the next batch, read the tokens of the last, build the
 * inputs.  Engines can do that while the GPU works (vLLM: asynchronous scheduling, SGLang: overlap schedule).  An engine
 * without requests is idle too: what lies behind a pause longer than the pass before is no cost of anything.
 *
 * Names, as vLLM, SGLang and TensorRT-LLM write them:
 *
 *     step[DECODE bs=32]   step[EXTEND bs=15 toks=15360]   step[MIXED bs=8]
 *     step[MIXED bs=8 c=2 g=6 c_sq=512 ... g_sk=4096 ...]
 *     [Executor] _forward_step 12: 2 ctx reqs, 512 ctx tokens, 30 gen reqs
 *     execute_context_2(1024)_generation_30(30)
 *     execute_1054_context_2(sq1024sk1024sqsq524288sqsk524288)_generation_30(sq30sk55086sqsq30sqsk55086)
 *     execute_new_2_cached_30
 */
#include "analyze/serving.h"

#include <math.h>

#include "analyze/engine.h"

/* What stands in parentheses right behind a number of requests: "(1024)", or "(sq1024sk2048...)"; context: of "sk". */
static int64_t tokens_at(hu_str name, size_t at, int64_t *context)
{
    const hu_str rest = {name.p + at, name.n - at};
    size_t       from = 0;
    int64_t      tokens;

    if (hu_str_starts(rest, HU_STR("(sq"))) {
        tokens = hu_engine_number(rest, HU_STR("(sq"), &from);
        *context = hu_engine_number(rest, HU_STR("sk"), &from);
        return tokens;
    }
    return hu_str_starts(rest, HU_STR("(")) ? hu_engine_number(rest, HU_STR("("), &from) : -1;
}

static hu_batch read_step(hu_str name)
{
    size_t        bs = 0, toks = 0, c = 0, g = 0, c_sq = 0, g_sq = 0, g_sk = 0;
    const int64_t context = hu_engine_number(name, HU_STR(" g_sk="), &g_sk);
    const int64_t requests = hu_engine_number(name, HU_STR(" bs="), &bs),
                  tokens = hu_engine_number(name, HU_STR(" toks="), &toks);

    if (hu_str_starts(name, HU_STR("step[EXTEND")))
        return (hu_batch){requests, tokens, 0, 0, -1};
    if (hu_str_starts(name, HU_STR("step[DECODE"))) /* a token for each request */
        return (hu_batch){0, 0, requests, requests, context};
    if (hu_str_starts(name, HU_STR("step[MIXED")))
        return (hu_batch){hu_engine_number(name, HU_STR(" c="), &c), hu_engine_number(name, HU_STR(" c_sq="), &c_sq),
                          hu_engine_number(name, HU_STR(" g="), &g), hu_engine_number(name, HU_STR(" g_sq="), &g_sq),
                          context};
    return (hu_batch){-1, -1, -1, -1, -1};
}

/* Reads the names of hu_engine_reads. */
static hu_batch read_batch(hu_str name)
{
    hu_batch        b = {-1, -1, -1, -1, -1};
    size_t          at = 0, unused = 0;
    int64_t         prompt_context = -1;
    hu_forward_step step;

    if (hu_engine_reads_forward_step(name, &step)) /* with speculation, more than a token for each request that generates */
        return (hu_batch){step.prompts, step.prompts == 0 ? 0 : step.prompt_tokens, step.sequences,
                          step.sequences == 0 ? 0 : -1, -1};
    if (hu_str_starts(name, HU_STR("step[")))
        return read_step(name);
    if (hu_str_starts(name, HU_STR("execute_new_"))) {
        b.prompts = hu_engine_number(name, HU_STR("execute_new_"), &at);
        b.sequences = hu_engine_number(name, HU_STR("_cached_"), &unused);
        return b;
    }
    b.prompts = hu_engine_number(name, HU_STR("context_"), &at);
    if (b.prompts >= 0)
        b.prompt_tokens = tokens_at(name, at, &prompt_context);
    b.sequences = hu_engine_number(name, HU_STR("generation_"), &at);
    if (b.sequences >= 0)
        b.tokens = tokens_at(name, at, &b.context_tokens);
    return b;
}

const char *hu_engine_phase_word(uint8_t phase)
{
    static const char *const words[HU_ENGINE_PHASES] = {"other", "prefill", "decode", "mixed"};

    return words[phase < HU_ENGINE_PHASES ? phase : 0];
}

double hu_said_mean(const hu_said_sum *s)
{
    return s->passes ? (double)s->sum / (double)s->passes : (double)NAN;
}

double hu_serving_tokens_per_s(const hu_serving_class *c)
{
    return c->tokens.passes == c->passes && c->period_ns > 0 ? (double)c->tokens.sum * 1e9 / c->period_ns : (double)NAN;
}

double hu_serving_gap_pct(const hu_serving_class *c)
{
    return c->gap_period_ns > 0 ? 100 * (double)c->gap_ns / c->gap_period_ns : (double)NAN;
}

double hu_serving_graph_pct(const hu_serving_class *c)
{
    return c->kernel_ns ? 100 * (double)c->graph_kernel_ns / (double)c->kernel_ns : (double)NAN;
}

typedef struct {
    const hu_ask    *ask;
    hu_serving_class by[HU_ENGINE_PHASES];
    bool            *has_graph; /* by step */
} work;

static void add_said(hu_said_sum *s, int64_t value)
{
    if (value < 0)
        return;
    s->sum += value;
    s->passes++;
}

static int64_t length_of(hu_interval i)
{
    return i.end_ns - i.start_ns;
}

static void add_gap(hu_serving_class *c, const hu_step *before, const hu_step *s)
{
    const int64_t host_ns = s->host_start_ns - before->host_end_ns;
    const int64_t gap_ns = s->work.start_ns - before->work.end_ns;

    if (host_ns > before->host_end_ns - before->host_start_ns && gap_ns > length_of(before->work)) {
        c->pauses++;
        return;
    }
    if (!length_of(before->work) || !length_of(s->work))
        return;
    c->gaps++;
    if (gap_ns > 0) /* no longer than the pass: what comes before lies in the pass before */
        c->gap_ns += gap_ns < length_of(s->period) ? gap_ns : length_of(s->period);
    c->gap_period_ns += (double)length_of(s->period);
    c->host_gap_ns += host_ns > 0 ? host_ns : 0;
}

static void add_passes(work *w)
{
    const hu_steps *steps = w->ask->steps;

    for (size_t i = 0; i < steps->n; i++) {
        const hu_step    *s = &steps->at[i];
        hu_serving_class *c = &w->by[s->phase < HU_ENGINE_PHASES ? s->phase : 0];
        const hu_batch    b = read_batch(hu_trace_text(w->ask->trace, s->name));

        if (!hu_step_counts(s))
            continue;
        c->passes++;
        c->period_ns += (double)length_of(s->period);
        add_said(&c->prompts, b.prompts);
        add_said(&c->prompt_tokens, b.prompt_tokens);
        add_said(&c->sequences, b.sequences);
        add_said(&c->tokens, b.tokens);
        add_said(&c->context_tokens, b.context_tokens);
        if (i)
            add_gap(c, s - 1, s);
        c->graph_passes += w->has_graph[i];
    }
}

/* The step in whose annotation a time lies; steps->n: none. */
static size_t step_at(const hu_steps *steps, int64_t time_ns)
{
    size_t low = 0, high = steps->n;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (steps->at[middle].host_start_ns <= time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low && time_ns < steps->at[low - 1].host_end_ns ? low - 1 : steps->n;
}

static void add_kernels(work *w)
{
    const hu_ask *ask = w->ask;

    for (size_t k = 0; k < ask->n_work; k++) {
        const uint32_t    i = ask->work[k];
        const uint32_t    call = hu_trace_launch_of(ask->trace, i);
        const size_t      at = step_at(ask->steps, hu_select_time(ask->trace, &ask->s, i));
        hu_serving_class *c;
        bool              is_graph;
        size_t            n = 0;

        if (!hu_kind_in(ask->s.kind[i], HU_KINDS_COMPUTE | HU_KINDS_COMM) || at == ask->steps->n ||
            !hu_step_counts(&ask->steps->at[at]))
            continue;
        c = &w->by[ask->steps->at[at].phase < HU_ENGINE_PHASES ? ask->steps->at[at].phase : 0];
        is_graph = call != HU_NONE && hu_str_has(hu_ask_name(ask, call), HU_STR("GraphLaunch"));
        c->kernels++;
        c->kernel_ns += ask->s.dur_ns[i];
        if (call != HU_NONE && hu_trace_work_of(ask->trace, call, &n)[0] == i)
            c->launches++;
        if (!is_graph)
            continue;
        c->graph_kernels++;
        c->graph_kernel_ns += ask->s.dur_ns[i];
        w->has_graph[at] = true;
    }
}

int hu_serving_measure(const hu_ask *ask, hu_serving *out, hu_error *err)
{
    work w = {.ask = ask};

    *out = (hu_serving){0};
    if (!ask->steps || !ask->steps->is_engine)
        return 0;
    w.has_graph = hu_arena_calloc(ask->scratch, ask->steps->n + 1, sizeof *w.has_graph);
    out->at = hu_arena_calloc(ask->arena, HU_ENGINE_PHASES, sizeof *out->at);
    if (!w.has_graph || !out->at)
        return hu_fail_memory(err);
    add_kernels(&w);
    add_passes(&w);
    for (int p = 0; p < HU_ENGINE_PHASES; p++) {
        w.by[p].phase = (uint8_t)p;
        if (w.by[p].passes)
            out->at[out->n++] = w.by[p];
    }
    return 0;
}
