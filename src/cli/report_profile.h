/* SPDX-License-Identifier: Apache-2.0
 * report_profile.h - `holdup report` of profiles that sum stacks. */
#ifndef HU_CLI_REPORT_PROFILE_H
#define HU_CLI_REPORT_PROFILE_H

#include "cli/shared_options.h"
#include "job/inputs.h"

/*
 * Reads each and prints one answer after the other.  `other`: an option that it has no use for; NULL: none.  Returns an exit
 * status.
 */
int hu_report_profile(const hu_shared *shared, const hu_inputs *inputs, const char *other, hu_arena *arena);

#endif
