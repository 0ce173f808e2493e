/* SPDX-License-Identifier: Apache-2.0
 * report_results.h - `holdup report` and `holdup diff` of results of benchmarks and of sampled memory. */
#ifndef HU_CLI_REPORT_RESULTS_H
#define HU_CLI_REPORT_RESULTS_H

#include "cli/diff_run.h"
#include "cli/shared_options.h"

/* `other`: an option that was given and does not fit; NULL: none.  Returns an exit status. */
int hu_report_results(const hu_shared *shared, const hu_inputs *inputs, const char *other, hu_arena *arena);

/* Two files, of which one at least is of such results.  Returns an exit status. */
int hu_diff_results(const hu_shared *shared, char **paths, const hu_diff_run run[2], hu_arena *arena);

#endif
