/* SPDX-License-Identifier: Apache-2.0
 * omp_team.h - threads of OpenMP, which wait for each other in calls that nobody records. */
#ifndef HU_ANALYZE_OMP_TEAM_H
#define HU_ANALYZE_OMP_TEAM_H

#include "analyze/ask.h"

typedef struct {
    int64_t  threads;              /* the main one among them; 0: no team is known */
    int64_t  region_ns;            /* that any of them works, and the main one not for itself */
    int64_t  work_ns, busy_ns;     /* sums over the threads, there: they run, and they run, call or want a CPU */
    int64_t  alone_ns;             /* of all three: the main thread works for the team when no other does, by its samples */
    int64_t  longest_ns;           /* work of the one with most */
    uint32_t longest;              /* its track */
    uint32_t function;             /* string id: most of the team's samples are in it; 0 none */
    int64_t  samples, in_function; /* of the team's work */
    bool     is_chained;           /* call chains say which of the main thread's samples are the team's */
} hu_omp_team;

/*
 * The team of a process by its main thread's track, told by CPU samples with a library of OpenMP or what a compiler makes of
 * a parallel region in their chain.  Needs the switches of the scheduler.  False: no memory.
 */
bool hu_omp_team_measure(const hu_ask *ask, uint32_t main, hu_interval window, hu_omp_team *out);

#endif
