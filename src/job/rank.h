/* SPDX-License-Identifier: Apache-2.0
 * rank.h - all that is known of one rank. */
#ifndef HU_JOB_RANK_H
#define HU_JOB_RANK_H

#include "advise/findings.h"
#include "ingest/node_tracks.h"
#include "timeline/timeline.h"

/* What nobody asked for is NULL or empty.  Owned by its job, which frees all of it. */
typedef struct {
    const char *input; /* as it was named */
    size_t      file;  /* its number among the inputs */
    hu_error    error; /* why there is no digest */
    hu_node_fit node;  /* how a monitor's log fits it */

    hu_digest   *digest;   /* every answer about it */
    hu_findings *findings; /* what replays say of it */
    hu_graph    *graph;    /* to be replayed with the others'; gone when the job is filled */
    hu_timeline  timeline; /* without bytes where it is not drawn */
    hu_trace    *trace;    /* where it is kept */

    hu_arena *graph_arena, *timeline_arena;
    bool      is_drawn; /* chosen for the page */
} hu_rank;

void hu_rank_free(hu_rank *rank);

#endif
