/* SPDX-License-Identifier: Apache-2.0
 * ncu.h - reports of Nsight Compute: .ncu-rep, what `ncu --csv` prints (raw or details), and its details page as text. */
#ifndef HU_INGEST_NCU_H
#define HU_INGEST_NCU_H

#include "base/error.h"
#include "base/input.h"
#include "trace/counters.h"

/* Is that the beginning of one of them? */
bool hu_ncu_is_report(hu_str head);

/*
 * Adds the launches of an open input to *out; texts live in `arena`.  Returns 0 or a negative code; what is cut keeps the
 * launches before the cut and sets out->is_cut.
 */
int hu_ncu_read(hu_input *in, hu_arena *arena, hu_counters *out, hu_error *err);

/* --- for the readers of each form --- */

/* Where a metric of that name goes in a hu_counted: offset of a double; -1: nowhere. */
int hu_ncu_place(hu_str metric);

/* The same for a label of the details page, below the title of its section. */
int hu_ncu_label_place(hu_str title, hu_str label);

/* Stores at `place`, if it is one, a value in its base unit. */
void hu_ncu_store(hu_counted *k, int place, double value);

/* The same of text: "431.84" and "usecond".  Stores nothing where the number or the unit is none that we know. */
void hu_ncu_store_text(hu_counted *k, int place, hu_str number, hu_str unit);

/* "(16, 16, 1)" */
bool hu_ncu_triple(hu_str text, uint64_t out[3]);

/* A launch without values at the end of *out; NULL when there is no memory or no room by `limits`. */
hu_counted *hu_ncu_add(hu_counters *out, hu_arena *arena, const hu_limits *limits, hu_error *err);

int hu_ncu_read_binary(hu_str file, const hu_input *in, hu_arena *arena, hu_counters *out, hu_error *err);
int hu_ncu_read_csv(hu_str file, const hu_input *in, hu_arena *arena, hu_counters *out, hu_error *err);
int hu_ncu_read_text(hu_str file, const hu_input *in, hu_arena *arena, hu_counters *out, hu_error *err);

#endif
