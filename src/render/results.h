/* SPDX-License-Identifier: Apache-2.0
 * results.h - results of benchmarks and memory over time: what is there, and what got slower beyond its own spread. */
#ifndef HU_RENDER_RESULTS_H
#define HU_RENDER_RESULTS_H

#include "advise/say.h"
#include "base/json_out.h"
#include "trace/results.h"

/* By hu_result_kind, as JSON has them. */
extern const char *const hu_result_units[];

/* "1.10 ms", "12.5 MB", "0.25" */
hu_said hu_results_say(hu_result_kind kind, double value);

/* Quartiles of one round are that round; of a few, chance lays them apart. */
bool hu_results_has_spread(const hu_result *r);

/* The innermost call at the peak; NULL: none. */
const hu_memory_call *hu_results_call_at_peak(const hu_memory_curve *m);

/* As many digits as tell the number from any other; null of NaN. */
void hu_results_put(hu_json_out *j, const char *key, double value);

/* `top`: rows of each list, 0: 20. */
void hu_results_text(const hu_results *files, size_t n, size_t top, size_t width, hu_out *out);
void hu_results_json(const hu_results *files, size_t n, hu_out *out);

/* Two files of benchmarks.  False: no memory. */
bool hu_results_diff_text(const hu_results *a, const hu_results *b, hu_arena *scratch, size_t width, hu_out *out);
bool hu_results_diff_json(const hu_results *a, const hu_results *b, hu_arena *scratch, hu_out *out);

#endif
