/* SPDX-License-Identifier: Apache-2.0
 * log_interval.h - "step 200 … time 50.1 s" after step 100: is that the time of one step, or of a hundred? */
#ifndef HU_INGEST_LOG_INTERVAL_H
#define HU_INGEST_LOG_INTERVAL_H

#include "trace/step_log.h"

/*
 * The steps from `first` on are those of a file, in ns.  Where times of day agree with the time of all steps since the line
 * before, each becomes the mean of these.  Sets interval.  False: no memory.
 */
bool hu_log_interval_find(hu_step_log *log, size_t first, hu_arena *arena);

/* Sets clock_s, where times of day tell it.  False: no memory. */
bool hu_log_clock_find(hu_step_log *log, size_t first, hu_arena *arena);

#endif
