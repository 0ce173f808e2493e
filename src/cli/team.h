/* SPDX-License-Identifier: Apache-2.0
 * team.h - all ranks of a job made ready for questions of the kind "what if". */
#ifndef HU_CLI_TEAM_H
#define HU_CLI_TEAM_H

#include "cli/ranks.h"
#include "graph/joint_price.h"
#include "graph/simulation.h"

typedef struct {
    hu_ranks         ranks;
    hu_simulation  **simulations;       /* of the same */
    hu_joint        *joint;
    hu_joint_pricer *pricer;
} hu_team;

typedef struct {
    hu_limits        limits;
    hu_step_range    steps;
    hu_graph_options graph;
    bool             quiet;
} hu_team_options;

/*
 * From two to HU_JOB_RANKS inputs.  What cannot be read is said on stderr; what could be is in `out` until hu_team_free,
 * also when this fails: returns an exit status, 0 when edits can be priced.
 */
int hu_team_read(const hu_inputs *inputs, const hu_team_options *options, hu_arena *arena, hu_team *out);

void hu_team_free(hu_team *team);

#endif
