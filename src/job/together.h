/* SPDX-License-Identifier: Apache-2.0
 * together.h - all ranks of a job made ready for questions of the kind "what if". */
#ifndef HU_JOB_TOGETHER_H
#define HU_JOB_TOGETHER_H

#include "job/job.h"
#include "graph/joint_pricers.h"
#include "graph/simulation.h"

typedef struct {
    hu_job            job;
    hu_simulation   **simulations; /* of the same */
    hu_joint         *joint;
    hu_joint_pricer  *pricer;
    hu_joint_pricers *pricers; /* that one alone */
} hu_together;

typedef struct {
    hu_limits        limits;
    hu_step_range    steps;
    hu_graph_options graph;
    hu_progress     *progress; /* or NULL */
} hu_together_options;

/*
 * From two to HU_JOINT_REPLAY_RANKS inputs.  What could be read, and what not, is in out->job until hu_together_free, also
 * when this fails.  Returns 0 when edits can be priced, or an error.
 */
int hu_together_read(const hu_inputs *inputs, const hu_together_options *options, hu_arena *arena, hu_together *out,
                     hu_error *err);

void hu_together_free(hu_together *all);

#endif
