/* SPDX-License-Identifier: Apache-2.0
 * job.h - reads the files of a run, each into a digest, on all processors. */
#ifndef HU_JOB_JOB_H
#define HU_JOB_JOB_H

#include "advise/compare.h"
#include "job/inputs.h"
#include "job/crew.h"
#include "timeline/timeline.h"

typedef struct {
    hu_crew          *crew; /* that reads together what hu_spread_inputs gave it; NULL: this process alone */
    hu_limits         limits;
    hu_digest_options digest;  /* its threads are chosen here */
    bool              replays; /* find what holds each rank up */
    bool              quiet;
    bool              draws;        /* encode timelines, for the page */
    bool              draws_all;    /* of every rank and every slice, however many there are */
    int64_t           pixels;       /* that show a timeline, hu_timeline_options; 0: no slice is too small */
    bool              keeps_traces; /* hu_ranks.traces is filled; else a trace is gone when it has been measured */
} hu_ranks_options;

typedef struct {
    hu_digest   **digests;    /* by rank, then by file */
    hu_findings **findings;   /* of the same; NULL where nobody asked */
    hu_timeline  *timelines;  /* of the same, without bytes where none was encoded */
    hu_rendezvous rendezvous; /* of several ranks */
    hu_job        job;        /* the same, replayed together where replays were asked for */
    hu_arena    **arenas;     /* of the timelines */
    hu_trace    **traces;     /* of the same; NULL where none was kept */
    size_t        n;

    hu_unread_list unread;  /* inputs that are none of them, and why */
    hu_unread_list partial; /* of the ranks: files that were cut or damaged, and how */
} hu_ranks;

enum { HU_RANKS_SENT = -1 }; /* this process has read its share; process 0 has the results */

/*
 * What cannot be read is said on stderr, and is in out->unread.  Returns 0, or an exit status when nothing could be read,
 * or HU_RANKS_SENT.  The lists live in `arena`; hu_ranks_free frees what is in them.
 */
int hu_ranks_read(const hu_inputs *inputs, const hu_ranks_options *options, hu_arena *arena, hu_ranks *out);

void hu_ranks_free(hu_ranks *ranks);

#endif
