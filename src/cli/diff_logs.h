/* SPDX-License-Identifier: Apache-2.0
 * diff_logs.h - `holdup diff` of files that are no traces: logs and samples of monitors are compared, others refused. */
#ifndef HU_CLI_DIFF_LOGS_H
#define HU_CLI_DIFF_LOGS_H

#include "base/arena.h"
#include "cli/diff_run.h"
#include "cli/shared_options.h"

/* Returns an exit status; negative: they are traces, directories, snapshots or what their reader will refuse. */
int hu_diff_logs(const hu_shared *shared, char **paths, const hu_diff_run run[2], hu_arena *arena);

#endif
