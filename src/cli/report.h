/* SPDX-License-Identifier: Apache-2.0
 * report.h - the report of `holdup report`, for a command that has made the traces itself. */
#ifndef HU_CLI_REPORT_H
#define HU_CLI_REPORT_H

#include <stdbool.h>
#include <stddef.h>

/* Writes it to stderr: stdout is another's.  is_whole: all of it, not its overview alone.  Returns an exit status. */
int hu_report_paths(char **paths, size_t n, bool is_whole);

#endif
