/* SPDX-License-Identifier: Apache-2.0
 * spread.h - the files of a run over the processes of a crew: who reads which. */
#ifndef HU_JOB_SPREAD_H
#define HU_JOB_SPREAD_H

#include "job/crew.h"
#include "job/inputs.h"

/*
 * hu_inputs_expand for a crew, on all of its processes together: the same list on each, in the order in which a process
 * that sees all files would have it, and who reads each.  A file that only some machines have is read there.  Returns 0
 * or an error that names the path; hu_crew_fail says it once.  `beside`: process 0 also reads what lies in directories
 * beside the traces (job/sorted.h), which a process alone leaves to its command.
 */
int hu_spread_inputs(hu_crew *crew, char **paths, int n, bool beside, const hu_limits *limits, hu_arena *arena,
                     hu_inputs *out, hu_error *err);

#endif
