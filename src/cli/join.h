/* SPDX-License-Identifier: Apache-2.0
 * join.h - the processes of one `mpirun -n N holdup ...` find each other. */
#ifndef HU_CLI_JOIN_H
#define HU_CLI_JOIN_H

#include "job/crew.h"

/*
 * Joins the others when a launcher started several of us (HOLDUP_MPI=0 never, =1 even below a script of the job); *out is
 * NULL for a process alone.  False: there is nothing to do for this process, and nothing to say.
 */
bool hu_crew_join(int argc, char **argv, hu_arena *arena, hu_crew **out);

/* An error of all processes alike, such as a wrong option: said once.  Returns the exit status. */
int hu_crew_fail(hu_crew *crew, const hu_error *err);

#endif
