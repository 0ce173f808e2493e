/* SPDX-License-Identifier: Apache-2.0
 * demo_option.h - `holdup monitor --demo[=SCENARIO]`. */
#ifndef HU_CLI_DEMO_OPTION_H
#define HU_CLI_DEMO_OPTION_H

#include "cli/options.h"

/* Fills a const char *: the name of a scenario, or "list". */
int hu_demo_parse(void *field, const char *text, hu_error *err);

/* For completions. */
size_t hu_demo_words(const char **out, size_t room);

/* Prints all scenarios and returns true where that was asked for; an exit status goes to *status. */
bool hu_demo_listed(const char *scenario, int *status);

/* Says on stderr that nothing of it is real. */
void hu_demo_say(const char *scenario);

#endif
