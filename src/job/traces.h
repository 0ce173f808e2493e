/* SPDX-License-Identifier: Apache-2.0
 * traces.h - all inputs as frozen traces, for commands that look at events and not at ranks. */
#ifndef HU_JOB_TRACES_H
#define HU_JOB_TRACES_H

#include "base/input.h"
#include "job/inputs.h"
#include "trace/trace.h"

typedef struct {
    hu_trace     **at; /* in the order in which they were named */
    size_t         n;
    hu_unread_list unread;  /* inputs that are none of them, and why */
    hu_unread_list partial; /* of the traces: files that were cut or damaged, and how */
} hu_traces;

/*
 * Reads on all processors.  What cannot be read is in out->unread, and no error while something can.  Returns 0, or the
 * first error.  The lists live in `arena`, the traces until hu_traces_free.
 */
int hu_traces_read(const hu_inputs *inputs, hu_limits limits, hu_progress *progress, hu_arena *arena, hu_traces *out,
                   hu_error *err);

void hu_traces_free(hu_traces *traces);

#endif
