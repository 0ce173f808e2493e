/* SPDX-License-Identifier: Apache-2.0
 * flight.h - why a job hangs: which rank is missing in which collective, by the Flight Recorder dumps of its ranks. */
#ifndef HU_ACROSS_FLIGHT_H
#define HU_ACROSS_FLIGHT_H

#include "base/error.h"
#include "trace/flight.h"

/* What keeps the job: id, word in JSON. */
#define HU_FLIGHT_CAUSES(C)                                                                                     \
    C(NOTHING, "nothing")             /* every recorded call has ended */                                       \
    C(MISSING, "missing-rank")        /* ranks never entered the collective that others wait in */              \
    C(NO_DUMP, "no-dump")             /* all who could be asked wait for ranks without a dump, or have ended */ \
    C(OPERATION, "other-operation")   /* the same number, another operation */                                  \
    C(SIZES, "other-sizes")           /* the same operation, another number of elements */                      \
    C(TYPES, "other-types")           /* the same sizes, another type of elements */                            \
    C(ORDER, "waits-elsewhere")       /* who is missing waits in another call; is_cycle: each for the other */  \
    C(NOT_STARTED, "not-started")     /* all called it, but not every device has begun it */                    \
    C(ALL_ENTERED, "all-entered")     /* all are in it and it does not end */                                   \
    C(POINT_TO_POINT, "send-receive") /* only sends or receives wait */                                         \
    C(STALE, "other-run")             /* a dump is older than the run of the others */                          \
    C(MOMENTS, "other-moment")        /* dumps were written before others went on */                            \
    C(YOUNG, "may-run")               /* nobody has waited for longer than the job pauses anyway */             \
    C(EMPTY, "no-calls")              /* no dump holds a call */                                                \
    C(LOST, "lost-beginning")         /* rings no longer hold the number in question */

typedef enum {
#define C(id, word) HU_FLIGHT_##id,
    HU_FLIGHT_CAUSES(C)
#undef C
        HU_FLIGHT_CAUSE_COUNT
} hu_flight_cause;

typedef enum {
    HU_FLIGHT_WAITS,     /* entered, not ended */
    HU_FLIGHT_DONE,      /* entered, ended */
    HU_FLIGHT_ABSENT,    /* never entered it, by its dump */
    HU_FLIGHT_ELSEWHERE, /* the same, and it waits in another one */
    HU_FLIGHT_UNSEEN,    /* no dump */
    HU_FLIGHT_FORGOTTEN, /* its ring begins behind it */
    HU_FLIGHT_EARLIER,   /* its dump was written before the others went on, so it says nothing of this call */
    HU_FLIGHT_ROLE_COUNT,
} hu_flight_role;

/* A member of the group in question. */
typedef struct {
    int64_t                rank;
    hu_flight_role         role;
    bool                   is_culprit;
    const hu_flight_dump  *dump;  /* NULL: none */
    const hu_flight_entry *entry; /* its call with the number in question; NULL: none */
    const hu_flight_entry *last;  /* else what it called last, of any group; ELSEWHERE: what it waits in; NULL: nothing */
} hu_flight_place;

typedef enum { HU_FLIGHT_SURE, HU_FLIGHT_LIKELY, HU_FLIGHT_GUESS } hu_flight_trust;

typedef struct {
    hu_flight_cause        cause;
    hu_flight_trust        trust;
    hu_str                 group, about;
    bool                   knows_members; /* false: taken from who used the group, because the dumps do not say */
    const hu_flight_entry *expected;      /* what the others called; NULL: nothing hangs */
    const hu_flight_entry *skipped;       /* the culprit's call is what follows this one elsewhere; NULL: not known */
    hu_flight_place       *places;        /* by rank */
    size_t                 n_places, n_culprits;
    bool                   is_cycle;     /* ORDER: they wait for each other */
    bool                   has_majority; /* false: as many ranks called one thing as the other, so nobody is to blame */
    int64_t                waiting_rank; /* POINT_TO_POINT with a culprit: who is in `expected` */
    int64_t                last_rank;    /* who entered it last; -1 unknown */
    int64_t                late_ns;      /* behind the one before */
    int64_t                waited_ns;    /* in `expected` when the dumps were written, at most; -1: not known */
    int64_t                pause_ns;     /* the longest between two calls of a rank; where waited_ns is set */
    const int64_t         *unseen;       /* ranks of the job without a dump */
    size_t                 n_unseen, n_groups;
} hu_flight_answer;

/* `dumps` by rank, each rank once; the answer lives in `arena` and points into them.  0, HU_ENOMEM or HU_ELIMIT. */
int hu_flight_measure(hu_flight_dump *dumps, size_t n, hu_arena *arena, hu_flight_answer *out, hu_error *err);

const char *hu_flight_cause_word(hu_flight_cause cause);

#endif
