/* SPDX-License-Identifier: Apache-2.0
 * samples.h - CPU samples of a rank with their call chains, for a browser that adds them up. */
#ifndef HU_TIMELINE_SAMPLES_H
#define HU_TIMELINE_SAMPLES_H

#include "timeline/put.h"

enum { HU_SAMPLES_MOST = 200000, HU_SAMPLES_STACKS = 200000 };

/*
 * Writes the member "cpu_samples" of `head`, and to *out the columns that it speaks of, as samples.c describes them; times
 * since origin_ns.  Of more than HU_SAMPLES_MOST samples every second, third ... is there, and stands for as many.  Of a
 * trace without samples nothing is written.  Returns 0 or HU_ENOMEM.
 */
int hu_samples_encode(const hu_trace *trace, int64_t origin_ns, hu_arena *arena, hu_json_out *head, hu_str *out,
                      hu_error *err);

/* The columns `caller` and `function` of all chains of the trace, and the member "functions" of `head`. */
void hu_samples_put_stacks(hu_put *w, hu_json_out *head);

#endif
