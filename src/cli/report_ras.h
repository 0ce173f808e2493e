/* SPDX-License-Identifier: Apache-2.0
 * report_ras.h - `holdup report` of what NCCL's RAS subsystem answered. */
#ifndef HU_CLI_REPORT_RAS_H
#define HU_CLI_REPORT_RAS_H

#include "cli/shared_options.h"
#include "job/sorted.h"

/* Reads them and prints what stands out; `other` is an option that does not fit, or NULL.  Returns an exit status. */
int hu_report_ras(const hu_shared *shared, const hu_inputs *inputs, const char *other, hu_arena *arena);

/* The same of answers and Flight Recorder dumps of one job, without a trace. */
int hu_report_hang(const hu_shared *shared, const hu_sorted_inputs *inputs, const char *other, hu_arena *arena);

#endif
