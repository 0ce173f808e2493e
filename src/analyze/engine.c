/* SPDX-License-Identifier: Apache-2.0
 * engine.c - a serving engine runs one batch at a time, and says of each what it holds.
 *
 * vLLM and what builds on it: "execute_model", "gpu_model_runner: forward", "execute_diffusion_..." and
 * "execute_context_1(...)_generation_7(...)", in which a number of tokens may stand behind "execute_" and the numbers
 * behind the two words are those of requests; before that "execute_new_1_cached_7", where cached requests generate, but for
 * parts of long prompts.  SGLang: "step[EXTEND bs=15 toks=15360]", "step[DECODE bs=32]".  TensorRT-LLM, by NVTX:
 * "[Executor] _forward_step 12: 2 ctx reqs, 30 gen reqs", with or without the 12, and with ", 512 ctx tokens" in the middle.
 * The numbers differ from step to step, so that no name recurs.
 */
#include "analyze/engine.h"

#include "base/number.h"

int64_t hu_engine_number(hu_str name, hu_str word, size_t *at)
{
    for (size_t i = *at; i + word.n < name.n; i++) {
        int64_t value = 0;
        size_t  k = i + word.n;

        if (memcmp(name.p + i, word.p, word.n) != 0 || name.p[k] < '0' || name.p[k] > '9')
            continue;
        for (; k < name.n && name.p[k] >= '0' && name.p[k] <= '9' && value < INT64_MAX / 16; k++)
            value = 10 * value + (name.p[k] - '0');
        *at = k;
        return value;
    }
    return -1;
}

static int64_t number_behind(hu_str name, hu_str word)
{
    size_t at = 0;

    return hu_engine_number(name, word, &at);
}

static int64_t number_before(hu_str name, hu_str word)
{
    for (size_t i = 1; i + word.n <= name.n; i++) {
        size_t  first = i;
        int64_t value;

        if (memcmp(name.p + i, word.p, word.n) != 0)
            continue;
        while (first && i - first < 18 && name.p[first - 1] >= '0' && name.p[first - 1] <= '9')
            first--;
        return hu_parse_i64((hu_str){name.p + first, i - first}, &value) ? value : -1;
    }
    return -1;
}

bool hu_engine_reads_forward_step(hu_str name, hu_forward_step *out)
{
    *out = (hu_forward_step){-1, -1, -1};
    if (!hu_str_starts(name, HU_STR("[Executor] _forward_step")))
        return false;
    out->prompts = number_before(name, HU_STR(" ctx reqs"));
    out->prompt_tokens = number_before(name, HU_STR(" ctx tokens"));
    out->sequences = number_before(name, HU_STR(" gen reqs"));
    return true;
}

static hu_engine_phase phase_of(int64_t prefill, int64_t decode)
{
    return prefill > 0 && decode > 0 ? HU_PHASE_MIXED : prefill > 0 ? HU_PHASE_PREFILL : HU_PHASE_DECODE;
}

bool hu_engine_reads(hu_str name, hu_engine_phase *out)
{
    hu_forward_step step;

    const bool    is_new = hu_str_starts(name, HU_STR("execute_new_"));
    const int64_t prefill = number_behind(name, is_new ? HU_STR("execute_new_") : HU_STR("context_"));
    const int64_t decode = number_behind(name, is_new ? HU_STR("_cached_") : HU_STR("generation_"));

    *out = HU_PHASE_NONE;
    if (hu_str_starts(name, HU_STR("step["))) {
        *out = hu_str_starts(name, HU_STR("step[DECODE")) || hu_str_starts(name, HU_STR("step[TARGET_VERIFY"))
                   ? HU_PHASE_DECODE
               : hu_str_starts(name, HU_STR("step[EXTEND")) || hu_str_starts(name, HU_STR("step[SPLIT_PREFILL"))
                   ? HU_PHASE_PREFILL
               : hu_str_starts(name, HU_STR("step[MIXED")) ? HU_PHASE_MIXED
                                                           : HU_PHASE_NONE;
        return true;
    }
    if (hu_str_starts(name, HU_STR("execute_")) && (prefill >= 0 || decode >= 0)) {
        *out = phase_of(prefill, decode);
        return true;
    }
    if (hu_engine_reads_forward_step(name, &step)) {
        *out = step.prompts > 0 || step.sequences > 0 ? phase_of(step.prompts, step.sequences) : HU_PHASE_NONE;
        return true;
    }
    return hu_str_starts(name, HU_STR("execute_model")) || hu_str_starts(name, HU_STR("execute_diffusion_")) ||
           hu_str_equal(name, HU_STR("gpu_model_runner: forward"));
}

typedef HU_VEC(hu_step) step_list;

/* Those of one thread; *covered_ns: how long they take. */
static bool collect(const hu_trace *trace, const hu_track *track, hu_arena *arena, step_list *out, int64_t *covered_ns)
{
    const hu_slices s = hu_trace_slices(trace);
    const uint32_t *order = hu_trace_order(trace) + track->first;
    int64_t         until = INT64_MIN;

    *covered_ns = 0;
    for (uint32_t k = 0; k < track->count; k++) {
        const uint32_t  i = order[k];
        hu_engine_phase phase;

        if (s.kind[i] != HU_KIND_USER || s.start_ns[i] < until || s.dur_ns[i] <= 0 ||
            !hu_engine_reads(hu_trace_text(trace, s.name[i]), &phase))
            continue;
        until = s.start_ns[i] + s.dur_ns[i];
        *covered_ns += s.dur_ns[i];
        if (out->n && s.start_ns[i] - out->at[out->n - 1].end_ns < out->at[out->n - 1].end_ns - out->at[out->n - 1].start_ns)
            out->at[out->n - 1].end_ns = s.start_ns[i];
        if (!hu_vec_push(arena, out,
                         ((hu_step){.name = s.name[i],
                                    .number = (int64_t)out->n,
                                    .start_ns = s.start_ns[i],
                                    .end_ns = until,
                                    .phase = (uint8_t)phase})))
            return false;
    }
    return true;
}

int hu_engine_find(const hu_trace *trace, hu_arena *arena, hu_step **out, size_t *n, hu_error *err)
{
    size_t          n_tracks;
    const hu_track *tracks = hu_trace_tracks(trace, &n_tracks);
    int64_t         most = 0;

    *out = NULL;
    *n = 0;
    for (size_t t = 0; t < n_tracks; t++) {
        step_list list = {0};
        int64_t   covered_ns;

        if (tracks[t].type != HU_TRACK_HOST)
            continue;
        if (!collect(trace, &tracks[t], arena, &list, &covered_ns))
            return hu_fail_memory(err);
        if (covered_ns <= most)
            continue;
        most = covered_ns;
        *out = list.at;
        *n = list.n;
    }
    return 0;
}
