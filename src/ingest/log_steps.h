/* SPDX-License-Identifier: Apache-2.0
 * log_steps.h - steps as lines tell them, one behind the other: which is that of another rank, and which of another run? */
#ifndef HU_INGEST_LOG_STEPS_H
#define HU_INGEST_LOG_STEPS_H

#include "ingest/step_lines.h"
#include "trace/step_log.h"

typedef struct {
    size_t      first;     /* steps before this file */
    uint64_t    n_twins;   /* and what the log had of these */
    bool        has_falls; /* likewise */
    size_t      first_of_run;
    hu_log_step leader; /* the last of the rank that a prefix names first; covers is 0 without */
} hu_steps_reader;

/* At the beginning of a file. */
hu_steps_reader hu_log_steps_begin(hu_step_log *log);

/*
 * Adds `step`, whose line and at_ns (Unix time that the log printed last, as it printed it; 0 none) are filled, unless
 * another rank told it: then the slower one counts.  False: no memory.
 */
bool hu_log_steps_add(hu_steps_reader *r, hu_log_step step, hu_line_kind kind, hu_arena *arena, hu_step_log *log);

/* Drops those of this file, and what their ranks told. */
void hu_log_steps_drop(hu_steps_reader *r, hu_step_log *log);

/*
 * At the end of a file: where it covers the same steps as the files before, it is of another rank, and of each step the
 * slowest counts.  True: it was.
 */
bool hu_log_steps_join(const hu_steps_reader *r, hu_step_log *log);

#endif
