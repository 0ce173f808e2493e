/* SPDX-License-Identifier: Apache-2.0
 * roster.h - which ranks of a job were read: who is missing, who is there twice, whose capture has another length. */
#ifndef HU_ACROSS_ROSTER_H
#define HU_ACROSS_ROSTER_H

#include "analyze/digest.h"

enum { HU_ROSTER_NAMED = 16 };

typedef struct {
    int64_t world_size;               /* -1 unknown */
    int64_t nodes;                    /* on how many machines those that were read ran */
    int64_t missing[HU_ROSTER_NAMED]; /* the first of them */
    size_t  n_missing;                /* ranks below the world's size that no trace is of */
    int64_t twice[HU_ROSTER_NAMED];
    size_t  n_twice;     /* ranks that several traces say they are */
    bool    mixes_runs;  /* or no ranks are known and tools or GPUs differ: several runs, that wait for nobody */
    size_t  usual_steps; /* that most ranks have */
    int64_t odd[HU_ROSTER_NAMED];
    size_t  n_odd; /* ranks with another number of steps */
} hu_roster;

/* Over digests sorted by rank.  Nothing is odd about one rank alone. */
void hu_roster_measure(hu_digest *const *digests, size_t n, hu_roster *out);

/*
 * The rank that a file's name tells: "rank7.json", "node_1_rank_9.pt.trace.json.gz", "host_worker3.123.pt.trace.json"; of
 * one of several files also a number at its end that is below their number, `files`.  -1 when it tells none.
 */
int64_t hu_roster_rank_of_name(hu_str path, size_t files);

/*
 * What a file's name says of its node: "node_1" of "node_1_rank_9.pt.trace.json.gz", "node3" of "node3.rank7.json".
 * A part of `path`; empty when it says nothing.
 */
hu_str hu_roster_node_of_name(hu_str path);

#endif
