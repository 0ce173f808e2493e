/* SPDX-License-Identifier: Apache-2.0
 * operation_rows.h - operations of a training job as comma- or tab-separated text. */
#ifndef HU_INGEST_OPERATION_ROWS_H
#define HU_INGEST_OPERATION_ROWS_H

#include "base/input.h"
#include "trace/operations.h"

/*
 * Adds what `in` holds to a table that began as all zeros; rows live in `arena`, the input stays the caller's.  The first
 * line names the columns, in any order:
 *
 *     dp_rank  stage  step  optype  start_ts  duration (or end_ts)     must be there
 *     rank  seq_id  mc  gmc  mb_id                                     may be, and may be empty or -1
 *
 * `power`: times are in 10^(power-9) seconds: 9 for seconds, 6 ms, 3 us, 0 ns.  Other columns are passed over.  A row
 * that cannot be understood is an error that names its line, unless it is the last one and has no end: that is what a
 * copy that was cut looks like, and everything before it is kept.
 * Returns 0, HU_ENOMEM, HU_EFORMAT, HU_ELIMIT or HU_EEMPTY; hu_operations_sort is for the caller, behind the last file.
 */
int hu_operation_rows_read(hu_input *in, int power, hu_arena *arena, hu_operations *out, hu_error *err);

#endif
