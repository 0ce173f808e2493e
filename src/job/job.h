/* SPDX-License-Identifier: Apache-2.0
 * job.h - all ranks of a job, filled once; whoever prices, draws or judges takes it and measures nothing again. */
#ifndef HU_JOB_JOB_H
#define HU_JOB_JOB_H

#include "across/roster.h"
#include "advise/joint_replay.h"
#include "advise/late_causes.h"
#include "advise/verdict.h"
#include "base/input.h"
#include "job/crew.h"
#include "job/executions.h"
#include "job/inputs.h"
#include "job/rank.h"
#include "job/runs.h"

typedef struct hu_beside hu_beside; /* job/beside.h */

typedef struct {
    hu_rank *ranks; /* those that were read, by rank, then by name of file; behind them those that were not, as named */
    size_t   n;     /* that were read; 0: nothing else is filled but `unread` */

    hu_digest   **digests;  /* of ranks[0..n), as across/ asks for them */
    hu_findings **findings; /* of the same; NULL where nobody asked */

    hu_roster              roster;     /* who is missing, or there twice */
    hu_agreement           agreement;  /* what they say of the job's parallelism */
    const hu_rendezvous   *rendezvous; /* where they meet, and their clocks; NULL: one rank alone */
    hu_stragglers          stragglers; /* for whom the others wait, and why; empty for one rank alone */
    const hu_joint_replay *joint;      /* all of them replayed together; NULL: one rank alone, or nobody asked */
    hu_verdict             verdict;
    hu_runs                runs; /* that are no job of one another; none: all are ranks of one */

    hu_rank *snapshots; /* of memory, beside the ranks, where they are kept; as named */
    size_t   n_snapshots;

    hu_execution_fit *executions; /* execution traces of these ranks, and what they brought; in the order of their names */
    size_t            n_executions;

    hu_unread_list unread;  /* inputs that are no rank, and why */
    hu_unread_list partial; /* of the ranks: files that were cut or damaged, and how */
} hu_job;

typedef struct {
    hu_crew           *crew; /* that reads together what hu_spread_inputs gave it; NULL: this process alone */
    hu_limits          limits;
    hu_progress       *progress;     /* of the reading; or NULL */
    hu_digest_options  digest;       /* its threads are chosen here */
    const hu_node_log *node;         /* what a monitor sampled meanwhile; NULL: nothing */
    bool               replays;      /* find what holds each rank up, and price it */
    bool               draws;        /* encode timelines, for the page */
    bool               draws_all;    /* of every rank and every slice, however many there are */
    int64_t            pixels;       /* that show a timeline, hu_timeline_options; 0: no slice is too small */
    hu_beside         *beside;       /* is held against the ranks, before the verdict; NULL: nothing was given beside them */
    bool               finds_beside; /* of a crew: `beside` is empty, and is read from files that turn out to be no ranks */
    bool               keeps_snapshots; /* of memory, beside traces; else they are unread */
    bool               keeps_traces;    /* hu_rank.trace is filled; else a trace is gone when it has been measured */
} hu_job_options;

enum { HU_JOB_SENT = 1 }; /* this process has read its share; process 0 has the results */

/*
 * Reads all inputs, each on one processor or, of few, on several.  What cannot be read is in out->unread, and no error.
 * Returns 0, HU_JOB_SENT, or HU_ENOMEM; a crew ends when one of it fails.  Lists live in `arena`, ranks until hu_job_free.
 */
int hu_job_read(const hu_inputs *inputs, const hu_job_options *options, hu_arena *arena, hu_job *out, hu_error *err);

void hu_job_free(hu_job *job);

/* The rank that the verdict speaks of: the one with the longest steps. */
static inline const hu_rank *hu_job_shown(const hu_job *job)
{
    return &job->ranks[job->verdict.rank];
}

#endif
