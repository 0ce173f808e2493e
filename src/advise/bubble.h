/* SPDX-License-Identifier: Apache-2.0
 * bubble.h - the finding "pipeline-bubble": a stage that has nothing to do while others fill and drain the pipeline. */
#ifndef HU_ADVISE_BUBBLE_H
#define HU_ADVISE_BUBBLE_H

#include "across/messages.h"
#include "advise/findings.h"

/*
 * From what a rank's sends and receives told of its pipeline (analyze/parallelism.h); false when there is none, or its
 * bubble is not worth a word.  No replay prices it, because what comes from other stages is not in the trace: the gain is
 * that of twice as many micro-batches, by the formula (p - 1) / (m + p - 1).
 */
bool hu_bubble_find(const hu_digest *d, double step_ns, hu_finding *out);

/*
 * The same from the messages of all ranks, which show the stages and how often each passes something on; step_ns: the mean
 * step.  False too where the messages are no chain of stages that all send equally often.
 */
bool hu_bubble_find_job(const hu_messages *m, hu_digest *const *digests, size_t n, double step_ns, hu_finding *out);

/*
 * By how much a step of these stages is longer than what one of them computes, at least: (p - 1) / m of it, until the last
 * micro-batch has come through, whatever becomes faster elsewhere.  0: no chain of stages, or its bubble is not seen.
 */
double hu_bubble_drain(const hu_messages *m, hu_digest *const *digests, size_t n);

#endif
