/* SPDX-License-Identifier: Apache-2.0
 * results.h - results of benchmarks, and memory_profiler's samples (docs/formats/results.md). */
#ifndef HU_INGEST_RESULTS_H
#define HU_INGEST_RESULTS_H

#include "base/input.h"
#include "trace/results.h"

/* Does it begin like one? */
bool hu_results_probe(hu_str head);

/* Returns 0 or an error that names the place. */
int hu_results_read(hu_input *in, hu_arena *arena, hu_results *out, hu_error *err);

/* The same of a file, whose name the results have. */
int hu_results_read_path(const char *path, const hu_limits *limits, hu_arena *arena, hu_results *out, hu_error *err);

/* The part of it that memory_profiler's mprof writes. */
bool hu_mprof_probe(hu_str head);
int  hu_mprof_read(hu_input *in, hu_arena *arena, hu_results *out, hu_error *err);

#endif
