/* SPDX-License-Identifier: Apache-2.0
 * log_timeouts.h - what the watchdog of PyTorch's ProcessGroupNCCL says of a rank when a collective takes too long. */
#ifndef HU_TRACE_LOG_TIMEOUTS_H
#define HU_TRACE_LOG_TIMEOUTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

/* -1 is what a line does not say.  Without a timeout of its own (`timed_out`) a rank only tells how far it is. */
typedef struct {
    int64_t  rank;                  /* of the job, where the line says that; else of its group */
    hu_str   group, about;          /* "0", "default_pg"; "" not said */
    hu_str   operation;             /* "all_reduce"; "" not said */
    int64_t  sequence;              /* of the call that timed out, counted in its group */
    int64_t  elements[2];           /* of inputs and of outputs */
    int64_t  timeout_ms, waited_ms; /* as it was set, and as long as it took */
    int64_t  enqueued, completed;   /* the last of that group */
    uint64_t line;                  /* from 1 on, of the first that tells of it */
    bool     timed_out;
    bool     is_of_job; /* the rank */
} hu_log_timeout;

typedef HU_VEC(hu_log_timeout) hu_log_timeouts;

#endif
