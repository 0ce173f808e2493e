/* SPDX-License-Identifier: Apache-2.0
 * nsys_stats.h - tables of sums as `nsys stats` prints them: columns, bars, CSV or TSV (docs/formats/nsys-stats.md). */
#ifndef HU_INGEST_NSYS_STATS_H
#define HU_INGEST_NSYS_STATS_H

#include "base/input.h"
#include "trace/nsys_sums.h"

/* Is there a table of sums in this beginning of a file?  What the profiled program printed may stand before it. */
bool hu_nsys_stats_probe(hu_str head);

/* The same, and no other format comes before it. */
bool hu_nsys_stats_is(hu_str head);

/* Adds the tables of an open input to *out; texts live in `arena`.  Returns 0, HU_ENOMEM, HU_EEMPTY, HU_ELIMIT or HU_EIO. */
int hu_nsys_stats_read(hu_input *in, hu_arena *arena, hu_nsys_sums *out, hu_error *err);

#endif
