/* SPDX-License-Identifier: Apache-2.0
 * runs.h - the separate runs that traces are of, where they are not all ranks of one job. */
#ifndef HU_JOB_RUNS_H
#define HU_JOB_RUNS_H

#include "advise/verdict.h"
#include "job/rank.h"

enum { HU_RUNS_MOST = 64 };

typedef struct {
    hu_str     name;  /* what tells it from the others: its folder, or its file */
    size_t    *ranks; /* indexes of the job's ranks, ascending */
    size_t     n;
    hu_verdict verdict; /* of these ranks alone; its `rank` is an index of the job's ranks, too */
} hu_run;

typedef struct {
    hu_run *at; /* in the order in which they were named */
    size_t  n;  /* 0: one run, or nobody can tell */
} hu_runs;

/*
 * Of runs that a job mixes (hu_roster), each folder is one, and a rank that a folder has twice opens the next.  So it is
 * where processes that know of no others, and never communicate, have no number or one that is there twice.  Lives in
 * `arena`.  Returns 0 or HU_ENOMEM.
 */
int hu_runs_measure(const hu_rank *ranks, size_t n, bool mixes_runs, hu_arena *arena, hu_runs *out, hu_error *err);

#endif
