/* SPDX-License-Identifier: Apache-2.0
 * parallel_work.h - what judging process groups and measuring their facts share.  For parallel*.c alone. */
#ifndef HU_ANALYZE_PARALLEL_WORK_H
#define HU_ANALYZE_PARALLEL_WORK_H

#include "analyze/parallelism.h"
#include "analyze/stages.h"

typedef struct {
    const hu_ask      *ask;
    hu_phase_spans     spans;
    hu_traffic         device, traffic; /* as recorded; with what the host says of sends and receives */
    hu_parallel_traits traits;
    hu_pattern        *patterns; /* by group of the traffic */
    hu_stages          pipeline; /* the first one found */
    HU_VEC(hu_parallel_group) list;
    HU_VEC(hu_parallel_reason) reasons;
    int64_t *computed; /* of the facts: ns of compute before each of its intervals */
} hu_parallel_work;

/* Fills w->traits from the names in the trace, its passes and its kernels.  False when there is no memory. */
bool hu_parallel_traits_find(hu_parallel_work *w);

/* The first group of this kind; NULL when there is none. */
hu_parallel_group *hu_parallel_find(hu_parallel_work *w, hu_parallel_kind kind);

/* Calls of the group that may carry gradients: during backward and after it. */
int64_t hu_parallel_calls_of(const hu_parallel_work *w, const hu_parallel_group *g, hu_traffic_kind kind);

/* Gradients or parameters whose optimizer's state is split? */
bool hu_parallel_is_zero(hu_parallel_kind kind);

/* A text that lives with the answer; empty when there is no memory. */
__attribute__((format(printf, 2, 3))) hu_str hu_parallel_text(hu_parallel_work *w, const char *format, ...);

/* Adds a reason to a row of the list.  False when there is no memory. */
bool hu_parallel_say(hu_parallel_work *w, size_t group, const char *text);

/*
 * The summary, its trust and the product of the degrees, from groups in the order of out->at; where degrees do not fit
 * into the ranks of the job, no summary but out->why_not.  False when there is no memory.
 */
bool hu_parallel_scheme_find(hu_parallel_work *w, hu_parallelism *out);

/* Buckets, prefetching, layers and the pipeline's bubble of groups that were judged.  Returns 0 or HU_ENOMEM. */
int hu_parallel_facts_measure(hu_parallel_work *w, hu_parallelism *out, hu_error *err);

#endif
