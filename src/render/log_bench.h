/* SPDX-License-Identifier: Apache-2.0
 * log_bench.h - what tests of collectives tell, in words, as text and as JSON. */
#ifndef HU_RENDER_LOG_BENCH_H
#define HU_RENDER_LOG_BENCH_H

#include "base/json_out.h"
#include "render/step_log.h"

enum { HU_BENCH_WORDS = 400 };

/* "all_reduce_perf: 235 GB/s bus bandwidth from 512 MiB on; half of it at 16 MiB; latency 34.6 us." */
void hu_bench_sentence(const hu_bench_answer *a, char out[HU_BENCH_WORDS]);

/* "78 % of what NVLink 3 carries (300 GB/s)", or why there is nothing to compare with. */
void hu_bench_peak_words(const hu_bench_answer *a, char out[HU_BENCH_WORDS]);

/* Adds to what a log hints at; *n is how many there are. */
void hu_bench_hints(const hu_log_answer *a, hu_log_hint *out, size_t *n);

void hu_bench_text(const hu_log_report *r, hu_out *out);
void hu_bench_json(const hu_log_report *r, hu_json_out *j);

#endif
