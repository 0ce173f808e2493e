/* SPDX-License-Identifier: Apache-2.0
 * step_log.h - reads what training programs print of their steps, and NCCL of its transports (docs/formats/step-log.md). */
#ifndef HU_INGEST_STEP_LOG_H
#define HU_INGEST_STEP_LOG_H

#include <regex.h>

#include "base/input.h"
#include "trace/step_log.h"

/* What the user says of lines. */
typedef struct {
    const regex_t *pattern; /* finds those of steps: groups are number, time and, if there, unit; NULL: known forms */
    double         unit_s;  /* seconds of a time that says no unit; 0: not said */
} hu_log_how;

/*
 * Adds an open input to *out; texts live in `arena`.  `how` may be NULL.  Returns 0, HU_ENOMEM, HU_EEMPTY, HU_ELIMIT or
 * HU_EIO.
 */
int hu_step_log_read(hu_input *in, const hu_log_how *how, hu_arena *arena, hu_step_log *out, hu_error *err);

/* The same of a file. */
int hu_step_log_read_path(const char *path, const hu_log_how *how, const hu_limits *limits, hu_arena *arena,
                          hu_step_log *out, hu_error *err);

/* Do lines tell what a log is read for?  Reads until one does, or the beginning alone, some hundred KiB (`is_brief`). */
bool hu_step_log_tells(hu_input *in, bool is_brief);

#endif
