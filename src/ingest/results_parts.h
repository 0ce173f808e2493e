/* SPDX-License-Identifier: Apache-2.0
 * results_parts.h - what readers of benchmarks' results have in common. */
#ifndef HU_INGEST_RESULTS_PARTS_H
#define HU_INGEST_RESULTS_PARTS_H

#include "base/json_value.h"
#include "ingest/results.h"

/* All of it unknown. */
hu_result hu_result_new(void);

/* NaN: it is none. */
double hu_results_number(const hu_value *v);

/* Sorts the rounds; quartiles are the medians of their halves, without the round in the middle. */
void hu_result_take_rounds(hu_result *r, double *rounds, size_t n);

/* One without a median is counted as failed.  False: no memory. */
bool hu_results_add(hu_results *out, hu_str name, hu_result r, hu_arena *arena);

/* Google Benchmark and hyperfine, which list rounds (results_rounds.c).  False: no memory. */
bool hu_results_take_google(const hu_value *root, hu_arena *arena, hu_results *out);
bool hu_results_take_hyperfine(const hu_value *root, hu_arena *arena, hu_results *out);

/* TorchDynamo's CSV (results_csv.c).  Returns 0 or HU_ENOMEM. */
bool hu_results_probe_dynamo(hu_str head);
int  hu_results_read_dynamo(hu_str text, hu_arena *arena, hu_results *out, hu_error *err);

#endif
