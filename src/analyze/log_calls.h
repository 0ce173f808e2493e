/* SPDX-License-Identifier: Apache-2.0
 * log_calls.h - which rank of a communicator is behind the others, or called another collective than they did. */
#ifndef HU_ANALYZE_LOG_CALLS_H
#define HU_ANALYZE_LOG_CALLS_H

#include "trace/log_calls.h"

typedef enum {
    HU_CALLS_ALIKE,
    HU_CALLS_BEHIND, /* it has called fewer than the others when the log ends */
    HU_CALLS_DIFFER, /* its call of that number is another one than theirs */
} hu_calls_cause;

/* Of one communicator: that in which calls differ, else that whose rank behind waits in no other. */
typedef struct {
    hu_calls_cause cause;
    size_t         n_communicators; /* whose calls could be compared */
    size_t         n_unknown;       /* and those whose could not: sends and receives, or nothing says who belongs together */
    int64_t        ranks;           /* of the communicator */
    const hu_log_member **odd;      /* behind, or with another call */
    size_t                n_odd;
    const hu_log_member  *other;   /* one of the others, that is the furthest */
    uint64_t              number;  /* of the call, from 1 on: that `odd` has not called, or that differs */
    uint64_t              least;   /* calls of the others */
    bool                  is_skip; /* the odd one's calls from there on are those of the others one later */
} hu_calls_answer;

/* The call of that number, counted from 0; NULL: it is not kept. */
const hu_log_call *hu_log_call_of(const hu_log_member *m, uint64_t number);

/* Borrows from `calls`.  False: no memory. */
bool hu_log_calls_measure(const hu_log_calls *calls, hu_arena *arena, hu_calls_answer *out);

#endif
