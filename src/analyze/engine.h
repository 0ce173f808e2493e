/* SPDX-License-Identifier: Apache-2.0
 * engine.h - the steps that serving engines name themselves. */
#ifndef HU_ANALYZE_ENGINE_H
#define HU_ANALYZE_ENGINE_H

#include "analyze/steps.h"

/* What a name says: "step[DECODE bs=32]", "execute_32_context_0(...)_generation_32(...)".  False: no step of an engine. */
bool hu_engine_reads(hu_str name, hu_engine_phase *out);

/* "[Executor] _forward_step 12: 2 ctx reqs, 512 ctx tokens, 30 gen reqs" of TensorRT-LLM; -1: it does not say.  False: it is
 * none. */
typedef struct {
    int64_t prompts, prompt_tokens, sequences;
} hu_forward_step;

bool hu_engine_reads_forward_step(hu_str name, hu_forward_step *out);

/* The number behind a word, from *at on; *at is behind it then.  -1: there is none. */
int64_t hu_engine_number(hu_str name, hu_str word, size_t *at);

/*
 * The outermost such annotations of the thread that spends most time in them, in order: start_ns, end_ns, name, number and
 * phase of each; a step ends where the next begins, unless the engine had nothing to do for longer than the step.  *n is 0
 * without.  The list lives in `arena`.  Returns 0 or HU_ENOMEM.
 */
int hu_engine_find(const hu_trace *trace, hu_arena *arena, hu_step **out, size_t *n, hu_error *err);

#endif
