/* SPDX-License-Identifier: Apache-2.0
 * say_serving.c - two questions to each phase: does the GPU wait between passes, and are kernels launched one by one. */
#include "advise/say_serving.h"

#include <stdio.h>

#include "advise/say.h"

static const double  LEAST_GAP_PCT = 5;   /* of a pass, that is worth a sentence */
static const double  FEW_GRAPHS_PCT = 50; /* of kernel time: less comes out of graphs than beside them */
static const int64_t FEWEST_PASSES = 3;   /* that a sentence may be about */
static const double  MANY_LAUNCHES = 100; /* calls in a pass: each takes microseconds of a host that has none to spare */

typedef struct {
    char t[2 * HU_UNIT_BYTES + 48];
} rates;

/*
 * ", from 6,400 to 8,000 tokens/s while such passes run": what hiding the gap saves at most; "" where no tokens are
 * named.
 */
static rates say_rates(const hu_serving_class *c)
{
    const double now = hu_serving_tokens_per_s(c), gap = hu_serving_gap_pct(c) / 100;
    rates        said = {""};

    if (now > 0 && gap > 0 && gap < 1)
        snprintf(said.t, sizeof said.t, ", from %s to %s tokens/s while such passes run",
                 hu_say_count((int64_t)(now + 0.5)).t, hu_say_count((int64_t)(now / (1 - gap) + 0.5)).t);
    return said;
}

size_t hu_say_serving(const hu_serving_class *c, char out[HU_SERVING_WORDS][HU_SERVING_ROOM])
{
    const char  *word = hu_engine_phase_word(c->phase);
    const double gap_pct = hu_serving_gap_pct(c), graph_pct = hu_serving_graph_pct(c);
    const double launches = c->passes ? (double)c->launches / (double)c->passes : 0;
    size_t       n = 0;

    if (c->gaps >= FEWEST_PASSES && gap_pct >= LEAST_GAP_PCT)
        snprintf(out[n++], HU_SERVING_ROOM,
                 "%s: the GPU rests for %s before each pass (%s of it), for what the host does between passes: read tokens, "
                 "schedule, build inputs. Done while the GPU works, a pass is at most that much shorter%s (vLLM: "
                 "--async-scheduling; SGLang: the overlap schedule, unless --disable-overlap-schedule).",
                 word, hu_say_time((double)c->gap_ns / (double)c->gaps).t, hu_say_pct(gap_pct).t, say_rates(c).t);
    if (c->phase == HU_PHASE_DECODE && c->kernel_ns && graph_pct < FEW_GRAPHS_PCT && launches >= MANY_LAUNCHES)
        snprintf(
            out[n++], HU_SERVING_ROOM,
            "%s: %s of kernel time comes out of graphs, and a pass takes %s launches. Capture graphs for its batch sizes "
            "(vLLM: without --enforce-eager, --cuda-graph-sizes; SGLang: without --disable-cuda-graph, "
            "--cuda-graph-max-bs); `holdup whatif` with an edit of launches prices it.",
            word, hu_say_pct(graph_pct).t, hu_say_count((int64_t)(launches + 0.5)).t);
    return n;
}
