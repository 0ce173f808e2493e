/* SPDX-License-Identifier: Apache-2.0
 * report_ras.h - `holdup report` of what NCCL's RAS subsystem answered. */
#ifndef HU_CLI_REPORT_RAS_H
#define HU_CLI_REPORT_RAS_H

#include "cli/shared_options.h"
#include "job/inputs.h"

/* Are all inputs answers of RAS?  Looks at the beginning of the first, and of the others only if that one is. */
bool hu_report_is_ras(const hu_inputs *inputs);

/* Reads them and prints what stands out; `other` is an option that does not fit, or NULL.  Returns an exit status. */
int hu_report_ras(const hu_shared *shared, const hu_inputs *inputs, const char *other, hu_arena *arena);

#endif
