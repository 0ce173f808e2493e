/* SPDX-License-Identifier: Apache-2.0
 * report_kernels.h - `holdup report` of what Nsight Compute wrote: counters of single kernels, which are no timeline. */
#ifndef HU_CLI_REPORT_KERNELS_H
#define HU_CLI_REPORT_KERNELS_H

#include "cli/shared_options.h"
#include "job/inputs.h"

/* Reads them and prints the answer.  Returns an exit status. */
int hu_report_kernels(const hu_inputs *inputs, const hu_shared *options, hu_arena *arena);

#endif
