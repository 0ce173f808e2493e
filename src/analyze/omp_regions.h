/* SPDX-License-Identifier: Apache-2.0
 * omp_regions.h - parallel regions as OpenMP itself told of them: who worked how long between two barriers. */
#ifndef HU_ANALYZE_OMP_REGIONS_H
#define HU_ANALYZE_OMP_REGIONS_H

#include "analyze/ask.h"

/* A thread of a team in one phase. */
typedef struct {
    uint32_t track; /* of the thread */
    int64_t  end_ns;
    int64_t  work_ns;  /* without waits for locks, tasks or a CPU */
    int64_t  ready_ns; /* that it waited for a CPU */
} hu_omp_member;

/* All threads of a team, from one barrier to the next. */
typedef struct {
    int64_t  start_ns, end_ns;    /* from the first that begins to the last that arrives */
    int64_t  work_ns, longest_ns; /* of all, and of the one with most */
    int64_t  saved_ns;            /* that it would be shorter if all had equal work */
    uint32_t longest;             /* the track of the one with most */
    uint32_t first, n;            /* its threads: rows of `members` */
    uint32_t site;
} hu_omp_phase;

/* Phases that end at one place of the program: in a region's last barrier, or one inside of it. */
typedef struct {
    uint32_t caller, place, line, worksharing; /* string ids, as hu_omp_detail */
    int64_t  phases, threads;                  /* threads: of the largest team */
    int64_t  wall_ns, work_ns, longest_ns, saved_ns;
} hu_omp_site;

typedef struct {
    hu_omp_phase  *phases; /* of outermost regions, by region */
    size_t         n_phases;
    hu_omp_member *members;
    hu_omp_site   *sites;
    size_t         n_sites;
    int64_t        regions, region_ns; /* outermost ones that the main thread started */
    int64_t        short_regions;      /* that were only added up */
    int64_t        short_ns;           /* of them, on the thread that started them */
    int64_t        unknown;            /* regions in which not all threads were recorded alike: nothing is said of them */
} hu_omp_regions;

/*
 * `main`: the track of the main thread.  All is 0 where OpenMP told nothing.  Everything lives in `arena`.  False: no
 * memory.
 *
 * With equal work each of n threads works for the mean, or the work divided by the CPUs where these are fewer; what the
 * last one to arrive waited for a CPU stays.  Whether a thread that also waited for locks wanted its CPU in these waits is
 * not known: the reading that saves less counts.  Regions inside of others are what a thread does in those.
 */
bool hu_omp_regions_measure(const hu_ask *ask, uint32_t main, hu_arena *arena, hu_omp_regions *out);

#endif
