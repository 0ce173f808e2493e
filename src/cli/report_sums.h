/* SPDX-License-Identifier: Apache-2.0
 * report_sums.h - `holdup report` of files without a timeline: what `nsys stats` printed, execution traces. */
#ifndef HU_CLI_REPORT_SUMS_H
#define HU_CLI_REPORT_SUMS_H

#include "cli/shared_options.h"
#include "job/inputs.h"

/* Are all of these inputs of one such kind? */
bool hu_report_is_sums(const hu_inputs *inputs);

/*
 * Reads all of them together and prints the answer.  `other`: an option that it has no use for; NULL: none.  Returns
 * an exit status.
 */
int hu_report_sums(const hu_shared *shared, const hu_inputs *inputs, const char *other, hu_arena *arena);

#endif
