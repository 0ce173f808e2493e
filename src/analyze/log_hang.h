/* SPDX-License-Identifier: Apache-2.0
 * log_hang.h - which ranks waited in a collective until the watchdog ended them, and which did not reach it. */
#ifndef HU_ANALYZE_LOG_HANG_H
#define HU_ANALYZE_LOG_HANG_H

#include "trace/step_log.h"

/* Ascending. */
typedef struct {
    int64_t *at;
    size_t   n;
} hu_log_ranks;

/* Of one group: that whose lines tell who did not come, else the first of which a rank timed out. */
typedef struct {
    const hu_log_timeout *call;      /* that is waited in; the furthest that any rank is */
    hu_log_ranks          waiting;   /* in that call */
    hu_log_ranks          absent;    /* that had not enqueued it */
    hu_log_ranks          earlier;   /* that wait in a call before it */
    hu_log_ranks          different; /* whose call of that number is another operation or size */
    hu_log_ranks          other;  /* that time out in other calls, where the log does not name groups: perhaps of another */
    hu_log_ranks          silent; /* of all ranks of the job, those without a line; only of a group of all */
    const hu_log_timeout *first_absent, *first_earlier, *first_different, *first_other;
} hu_log_hang;

/* out->call is NULL where nothing timed out.  Borrows from `log`.  False: no memory. */
bool hu_log_hang_measure(const hu_step_log *log, hu_arena *arena, hu_log_hang *out);

#endif
