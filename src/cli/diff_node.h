/* SPDX-License-Identifier: Apache-2.0
 * diff_node.h - `holdup diff` of what monitors sampled of two runs. */
#ifndef HU_CLI_DIFF_NODE_H
#define HU_CLI_DIFF_NODE_H

#include "base/arena.h"
#include "cli/diff_run.h"
#include "cli/shared_options.h"

/* Is a run such a file, or a directory of them alone? */
bool hu_is_node_run(const hu_inputs *run);

/* Returns 0 or an error. */
int hu_diff_node(const hu_shared *shared, char **paths, const hu_diff_run of[2], hu_arena *arena, hu_error *err);

#endif
