/* SPDX-License-Identifier: Apache-2.0
 * crew.h - the processes of one `mpirun -n N holdup ...`, perhaps on many machines, that make one report together.
 *
 * Process 0 says what is done, and is the only one that prints.  Each run that is read is announced to the others by
 * hu_crew_call, which they await in hu_crew_await; hu_crew_leave sends them home.  A crew of NULL is a process alone.
 */
#ifndef HU_JOB_CREW_H
#define HU_JOB_CREW_H

#include "base/arena.h"
#include "base/error.h"
#include "job/mpi_module.h"

typedef struct hu_crew {
    const hu_mpi_module *mpi;
    int                  rank, size, threads;
    bool                 is_over; /* process 0 has sent this one home */
    /* Says what is wrong and ends all processes: what others wait for will never come. */
    void (*give_up)(const struct hu_crew *crew, const hu_error *err) __attribute__((noreturn));
} hu_crew;

/* Ends it: nobody waits for anybody any more.  Returns `status`, or 0 for all but process 0. */
int hu_crew_leave(hu_crew *crew, int status);

int  hu_crew_rank(const hu_crew *crew);
int  hu_crew_size(const hu_crew *crew);
bool hu_crew_is_first(const hu_crew *crew); /* does it print? */
int  hu_crew_threads(const hu_crew *crew);  /* that this process may start */

/* The same for process 0, when all others wait for it: their processors of this machine are its own from now on. */
int hu_crew_threads_alone(const hu_crew *crew);

/* Process 0: there is a run to read.  The others: false when there is none any more. */
void hu_crew_call(hu_crew *crew);
bool hu_crew_await(hu_crew *crew);

/* The bytes live in `arena`.  Returns 0 or HU_ENOMEM. */
void hu_crew_send(hu_crew *crew, int to, hu_str bytes);
int  hu_crew_receive(hu_crew *crew, int from, hu_arena *arena, hu_str *out, hu_error *err);

#endif
