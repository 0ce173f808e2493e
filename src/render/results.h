/* SPDX-License-Identifier: Apache-2.0
 * results.h - results of benchmarks and memory over time: what is there, and what got slower beyond its own spread. */
#ifndef HU_RENDER_RESULTS_H
#define HU_RENDER_RESULTS_H

#include "base/json_out.h"
#include "trace/results.h"

/* `top`: rows of each list, 0: 20. */
void hu_results_text(const hu_results *files, size_t n, size_t top, size_t width, hu_out *out);
void hu_results_json(const hu_results *files, size_t n, hu_out *out);

/* Two files of benchmarks.  False: no memory. */
bool hu_results_diff_text(const hu_results *a, const hu_results *b, hu_arena *scratch, size_t width, hu_out *out);
bool hu_results_diff_json(const hu_results *a, const hu_results *b, hu_arena *scratch, hu_out *out);

#endif
