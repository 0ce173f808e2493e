/* SPDX-License-Identifier: Apache-2.0
 * check_rules.h - `holdup check --rules nsys`: the rules of `nsys analyze`, one after the other. */
#ifndef HU_CLI_CHECK_RULES_H
#define HU_CLI_CHECK_RULES_H

#include "cli/command.h"

/* HU_EUSAGE where `names`, separated by commas, has one that is neither "nsys" (all of them) nor a rule. */
int hu_check_rules_parse(const char *names, hu_error *err);

/* Reads the inputs and writes what the rules found.  Returns an exit status: HU_EXIT_BREACHED when one found something. */
int hu_check_rules_run(const char *names, const hu_shared *shared, const hu_inputs *inputs, hu_arena *arena);

#endif
