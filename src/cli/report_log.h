/* SPDX-License-Identifier: Apache-2.0
 * report_log.h - `holdup report` of a log of a training run. */
#ifndef HU_CLI_REPORT_LOG_H
#define HU_CLI_REPORT_LOG_H

#include "cli/shared_options.h"
#include "job/inputs.h"

/* Is each of these inputs such a log?  `pattern`: of --pattern, or NULL; with it any text is one. */
bool hu_report_is_log(const hu_inputs *inputs, const char *pattern);

/*
 * Reads all as logs of one run, in their order, and prints the answer.  `other`: an option that it has no use for; NULL:
 * none.  Returns an exit status.
 */
int hu_report_log(const hu_shared *shared, const hu_inputs *inputs, const char *pattern, const char *other, hu_arena *arena);

#endif
