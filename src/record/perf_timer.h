/* SPDX-License-Identifier: Apache-2.0
 * perf_timer.h - the samples that timers inside of the programs wrote into their rings (inject/timer.c). */
#ifndef HU_RECORD_PERF_TIMER_H
#define HU_RECORD_PERF_TIMER_H

#include "record/perf_stacks.h"

/* Adds the samples of all rings of a session to `out`.  0 also when there are none; HU_ENOMEM. */
int hu_perf_timer_read(const char *session, hu_perf_stacks *stacks, hu_perf_spaces *spaces, hu_perf_files *out,
                       hu_error *err);

#endif
