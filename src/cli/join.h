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

/*
 * The same for a command that is nothing alone: `what`, for the error, needs several processes, and a script between
 * launcher and program does not matter.  Returns 0, HU_EUSAGE or HU_ENOMEM.
 */
int hu_crew_need(const char *what, hu_arena *arena, hu_crew **out, hu_error *err);

/* Before there is a crew, an error of all processes alike: said by the one that the launcher calls 0.  Returns the exit
   status. */
int hu_crew_fail_once(const hu_error *err);

/* An error of all processes alike, such as a wrong option: said once.  Returns the exit status. */
int hu_crew_fail(hu_crew *crew, const hu_error *err);

#endif
