/* SPDX-License-Identifier: Apache-2.0
 * job.h - the ranks of a job replayed together, and what it would gain if they were alike or met at no cost. */
#ifndef HU_ADVISE_JOB_H
#define HU_ADVISE_JOB_H

#include "advise/stragglers.h"
#include "graph/joint.h"

/* id, key, what it means */
#define HU_JOB_EDITS(E)                                                             \
    E(STRAGGLER, "straggler", "as fast as the median of the others")                \
    E(BALANCE, "balance", "the work before each collective is shared out evenly")   \
    E(HICCUPS, "hiccups", "no rank is late to any collective: all take the median")  \
    E(NETWORK, "network", "collectives take no time once all have come")

typedef enum {
#define E(id, key, words) HU_JOB_##id,
    HU_JOB_EDITS(E)
#undef E
    HU_JOB_EDIT_COUNT
} hu_job_edit;

typedef struct {
    hu_job_edit edit;
    size_t      digest;                 /* of HU_JOB_STRAGGLER: which rank                                     */
    double      after_ns;               /* mean simulated step                                                 */
    double      gain_pct, low_pct, high_pct;
} hu_job_price;

/* A piece of the job's critical path. */
typedef struct {
    size_t   digest;                    /* the rank that it runs through                                       */
    hu_class class;
    double   step_ns;                   /* per step                                                            */
    double   share;                     /* of the path                                                         */
} hu_job_piece;

enum { HU_JOB_STRAGGLERS = 3, HU_JOB_PRICES = HU_JOB_STRAGGLERS + 3, HU_JOB_PIECES = 12, HU_JOB_PARKED = 4 };

typedef struct {
    bool         is_replayed;           /* false: `why_not`; all but `parked` is empty then                    */
    char         why_not[200];
    size_t       ranks;                 /* that were replayed                                                  */
    size_t       meetings;              /* collectives in which they wait for each other                       */
    double       seen_ns, replayed_ns;  /* mean step over ranks, measured and replayed                         */
    bool         is_trusted;            /* the two agree                                                       */
    hu_job_price price[HU_JOB_PRICES];  /* by gain, the largest first                                          */
    size_t       n_prices;
    hu_job_piece piece[HU_JOB_PIECES];  /* the largest                                                         */
    size_t       n_pieces;
    hu_parked    parked[HU_JOB_PARKED]; /* `waits` and `missing` are digests                                   */
    size_t       n_parked;
} hu_job;

/*
 * `graphs[0..n)` belong to the digests; NULL where a rank could not be replayed, or is one of too many.  The result is
 * plain.  Returns 0 or HU_ENOMEM.
 */
int hu_job_measure(const hu_graph *const *graphs, hu_digest *const *digests, size_t n, const hu_rendezvous *r, hu_job *out,
                   hu_error *err);

const char *hu_job_edit_key(hu_job_edit e);
const char *hu_job_edit_words(hu_job_edit e);

#endif
