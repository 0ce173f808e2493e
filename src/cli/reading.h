/* SPDX-License-Identifier: Apache-2.0
 * reading.h - what commands do alike when they read traces: a bar on stderr, and a line for each input that is unread. */
#ifndef HU_CLI_READING_H
#define HU_CLI_READING_H

#include "job/job.h"
#include "job/together.h"
#include "job/traces.h"

enum { HU_READ_SENT = -1 }; /* this process has read its share; process 0 has the results */

/* hu_job_read.  Returns 0, HU_READ_SENT, or an exit status when nothing could be read. */
int hu_read_job(const hu_inputs *inputs, hu_job_options how, bool quiet, hu_arena *arena, hu_job *out);

/* hu_traces_read; `quiet` leaves out the bar alone.  Returns 0, or an exit status when nothing could be read. */
int hu_read_traces(const hu_inputs *inputs, hu_limits limits, bool quiet, hu_arena *arena, hu_traces *out);

/* hu_together_read.  Returns 0, or an exit status. */
int hu_read_together(const hu_inputs *inputs, hu_together_options how, bool quiet, hu_arena *arena, hu_together *out);

#endif
