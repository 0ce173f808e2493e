/* SPDX-License-Identifier: Apache-2.0
 * log_rising.h - times that are longer from each line to the next: do steps grow, or is it the time since the start? */
#ifndef HU_INGEST_LOG_RISING_H
#define HU_INGEST_LOG_RISING_H

#include "trace/step_log.h"

/* Are the times of the steps from `first` on, those of a file, since the start of the run, and of no step? */
bool hu_log_is_rising(const hu_step_log *log, size_t first);

#endif
