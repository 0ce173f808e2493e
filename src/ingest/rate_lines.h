/* SPDX-License-Identifier: Apache-2.0
 * rate_lines.h - lines that tell throughput and no time. */
#ifndef HU_INGEST_RATE_LINES_H
#define HU_INGEST_RATE_LINES_H

#include "trace/step_log.h"

/* Begins as {.step = -1}. */
typedef struct {
    int64_t step;   /* of the record that indented lines belong to; -1 none */
    bool    is_new; /* no rate of it was told so far */
} hu_rates_reader;

/* A line that is none of a step with a time.  False: no memory. */
bool hu_rate_line(hu_rates_reader *r, hu_str line, uint64_t number, hu_arena *arena, hu_log_rates *out);

#endif
