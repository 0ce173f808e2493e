/* SPDX-License-Identifier: Apache-2.0
 * log_ranks.h - times of steps by the rank whose line or file it is: the slowest counts, and who that is should be told. */
#ifndef HU_INGEST_LOG_RANKS_H
#define HU_INGEST_LOG_RANKS_H

#include "trace/step_log.h"

/* A line of a rank that its prefix names.  False: no memory. */
bool hu_log_ranks_add(hu_step_log *log, int64_t rank, int64_t ns, hu_arena *arena);

/* The steps from `first` on are those of a file, whose lines name no rank.  False: no memory. */
bool hu_log_ranks_file(hu_step_log *log, size_t first, hu_str path, hu_arena *arena);

#endif
