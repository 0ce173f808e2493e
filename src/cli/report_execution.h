/* SPDX-License-Identifier: Apache-2.0
 * report_execution.h - `holdup report` of execution traces alone. */
#ifndef HU_CLI_REPORT_EXECUTION_H
#define HU_CLI_REPORT_EXECUTION_H

#include "cli/shared_options.h"
#include "job/inputs.h"

/*
 * Reads all of them, as the ranks of one job, and prints the answer.  `other`: an option that it has no use for; NULL: none.
 * Returns an exit status.
 */
int hu_report_executions(const hu_shared *shared, const hu_inputs *inputs, const char *other, hu_arena *arena);

#endif
