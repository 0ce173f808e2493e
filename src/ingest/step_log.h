/* SPDX-License-Identifier: Apache-2.0
 * step_log.h - reads what training programs print of their steps, and NCCL of its transports (docs/formats/step-log.md). */
#ifndef HU_INGEST_STEP_LOG_H
#define HU_INGEST_STEP_LOG_H

#include <regex.h>

#include "base/input.h"
#include "trace/step_log.h"

/*
 * Is there a line of a step, or one of NCCL's, in this input, which is used up by looking?  It may stand anywhere, so all of
 * a text may be read, unless another reader knows its beginning.  `any_text`: what no other reader knows will do.
 */
bool hu_step_log_is(hu_input *in, bool any_text);

/* The same of its beginning, some hundred KiB: for what may also be another thing, and is not to be read twice. */
bool hu_step_log_begins(hu_input *in);

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

#endif
