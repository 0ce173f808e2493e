/* SPDX-License-Identifier: Apache-2.0
 * end_lines.h - lines that say why a job ended: of the driver, Slurm, torchrun and the kernel (docs/formats/step-log.md). */
#ifndef HU_INGEST_END_LINES_H
#define HU_INGEST_END_LINES_H

#include "trace/step_log.h"

/* Starts zeroed, for each file. */
typedef struct {
    unsigned   left; /* lines in which torchrun describes the rank that failed first */
    hu_log_end root;
} hu_end_reader;

/* Adds what line `number` says to *out, in the arena.  False: no memory. */
bool hu_end_line(hu_end_reader *r, hu_str line, uint64_t number, hu_arena *arena, hu_log_ends *out);

#endif
