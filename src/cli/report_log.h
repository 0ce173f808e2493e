/* SPDX-License-Identifier: Apache-2.0
 * report_log.h - `holdup report` of a log of a training run. */
#ifndef HU_CLI_REPORT_LOG_H
#define HU_CLI_REPORT_LOG_H

#include <regex.h>

#include "cli/shared_options.h"
#include "ingest/step_log.h"
#include "job/inputs.h"

/* What --pattern says; regfree when it is not needed any more.  Returns 0 or HU_EUSAGE. */
int hu_log_pattern_compile(const char *pattern, regex_t *out, hu_error *err);

/*
 * Reads all as logs of one run, in their order, and prints the answer.  `other`: an option that it has no use for; NULL:
 * none.  Returns an exit status.
 */
int hu_report_log(const hu_shared *shared, const hu_inputs *inputs, const hu_log_how *how, const char *other,
                  hu_arena *arena);

#endif
