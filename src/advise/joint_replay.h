/* SPDX-License-Identifier: Apache-2.0
 * joint_replay.h - the ranks of a job replayed together, and what it would gain if they were alike or met at no cost. */
#ifndef HU_ADVISE_JOINT_REPLAY_H
#define HU_ADVISE_JOINT_REPLAY_H

#include "across/late_ranks.h"
#include "advise/joint_causes.h"

/* An edit between ranks; bandwidth is doubled, latency halved, all buckets of a step become one. */
typedef struct {
    hu_edit_kind edit;     /* hu_edit_is_joint, or HU_EDIT_BUCKET */
    size_t       digest;   /* of HU_EDIT_STRAGGLER: which rank */
    double       after_ns; /* mean simulated step */
    double       gain_pct, low_pct, high_pct;
    double       most_pct; /* that can be gained */
} hu_joint_replay_price;

/* A large collective within one machine that is far slower than the machine's links, nobody waiting. */
typedef struct {
    const hu_transfer    *what;            /* NULL: there is none */
    double                gbps, peak_gbps; /* bus bandwidth, and what the links have per direction */
    const char           *link;            /* "NVLink 4" */
    hu_joint_replay_price price;           /* of links and latency as they should be */
} hu_slow_link;

/* A piece of the job's critical path. */
typedef struct {
    size_t digest; /* the rank that it runs through */
    hu_class class;
    double step_ns; /* per step */
    double share;   /* of the path */
} hu_joint_replay_piece;

enum { HU_JOINT_REPLAY_RANKS = 32 }; /* that are replayed together: their graphs are all in memory at once */

enum {
    HU_JOINT_REPLAY_STRAGGLERS = 3,
    HU_JOINT_REPLAY_PRICES = HU_JOINT_REPLAY_STRAGGLERS + 6,
    HU_JOINT_REPLAY_PIECES = 12,
    HU_JOINT_REPLAY_PARKED = 4
};

typedef struct {
    bool                  is_replayed; /* false: `why_not`; all but `parked` is empty then */
    char                  why_not[200];
    size_t                ranks;                /* that were replayed */
    size_t                meetings, messages;   /* collectives, and messages, in which they wait for each other */
    double                seen_ns, replayed_ns; /* mean step over ranks, measured and replayed */
    bool                  is_trusted;           /* the two agree, and some edit helps: prices may be given */
    char                  why_no_price[64];     /* where it is replayed, but not trusted */
    bool                  has_same_steps;       /* the windows of all ranks have as many steps */
    double                joined_share;         /* of the time in communication, what joins ranks; NaN: there is none */
    double                unjoined_step_ns;     /* of the rest, per step, mean over ranks */
    hu_joint_replay_price price[HU_JOINT_REPLAY_PRICES]; /* by gain, the largest first */
    size_t                n_prices;
    hu_slow_link          slow_link;
    hu_joint_causes       causes;                        /* that ranks share, and what they cost the job */
    double                worst_pct;                     /* hu_joint_pricer_worst_pct */
    hu_joint_replay_piece piece[HU_JOINT_REPLAY_PIECES]; /* the largest */
    size_t                n_pieces;
    hu_parked             parked[HU_JOINT_REPLAY_PARKED]; /* `waits` and `missing` are digests */
    size_t                n_parked;
} hu_joint_replay;

/*
 * Makes rows of the graphs that are not NULL, all windows on one clock that begins with the first of them; out[0..n) and
 * digest_of[0..n), which says whose rows they are, unless it is NULL.  Returns how many.
 */
size_t hu_joint_replay_list(const hu_graph *const *graphs, hu_digest *const *digests, size_t n, const hu_rendezvous *r,
                            hu_joint_rank *out, size_t *digest_of);

/*
 * `graphs[0..n)` belong to the digests; NULL where a rank could not be replayed, or is one of too many.  The result is
 * plain.  Returns 0 or HU_ENOMEM.
 */
int hu_joint_replay_measure(const hu_graph *const *graphs, hu_digest *const *digests, size_t n, const hu_rendezvous *r,
                            const hu_late_ranks *late, int threads, hu_joint_replay *out, hu_error *err);

/* What instant collectives would gain, in percent: the communication on the job's critical path; 0 where none is priced. */
double hu_joint_replay_network_pct(const hu_joint_replay *job);

#endif
