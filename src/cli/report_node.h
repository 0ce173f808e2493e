/* SPDX-License-Identifier: Apache-2.0
 * report_node.h - `holdup report` of what a monitor sampled, without a trace. */
#ifndef HU_CLI_REPORT_NODE_H
#define HU_CLI_REPORT_NODE_H

#include "cli/shared_options.h"
#include "job/inputs.h"

/* Reads all as one log and prints what it says; `other` is an option that does not fit, or NULL.  Returns an exit status. */
int hu_report_node(const hu_shared *shared, const hu_inputs *inputs, const char *other, hu_arena *arena);

/* What an error of the driver is called; NULL where it has no name. */
const char *hu_report_xid_words(int64_t code);

#endif
