/* SPDX-License-Identifier: Apache-2.0
 * log_blocks.h - numbers of steps that begin anew in one file: are these ranks, one behind the other, or later steps? */
#ifndef HU_INGEST_LOG_BLOCKS_H
#define HU_INGEST_LOG_BLOCKS_H

#include "trace/step_log.h"

/*
 * The steps from `first` on are those of a file, in which no line names an epoch.  Blocks that were written at the same time
 * are ranks': of each step the slowest is kept.  Sets anew and n_anew.  True: they were ranks.
 */
bool hu_log_blocks_join(hu_step_log *log, size_t first);

#endif
