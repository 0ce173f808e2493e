/* SPDX-License-Identifier: Apache-2.0
 * log_unit.h - of times that a log prints without a unit: which it is, where the rest of the log tells. */
#ifndef HU_INGEST_LOG_UNIT_H
#define HU_INGEST_LOG_UNIT_H

#include "trace/step_log.h"

/*
 * The steps from `first` on are those of a file.  Where the unit is found, or `given_s` (seconds; 0: not given) says it, all
 * bare times become nanoseconds.  Of times with a unit and others that none makes like them the rarer ones are dropped.
 * Sets unit and unit_s.  False: no memory.
 */
bool hu_log_unit_find(hu_step_log *log, size_t first, double given_s, hu_arena *arena);

/* Seconds from a step to the next, or from a line to the next, by times of day; NaN: there are none, or they are too coarse.
 * `room` is for as many numbers as there are steps. */
double hu_log_seconds_by_clock(const hu_step_log *log, size_t first, bool of_lines, int64_t *room);

#endif
