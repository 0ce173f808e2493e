/* SPDX-License-Identifier: Apache-2.0
 * period.h - does the work of a trace repeat, and where does each repetition begin? */
#ifndef HU_ANALYZE_PERIOD_H
#define HU_ANALYZE_PERIOD_H

#include "base/arena.h"
#include "base/error.h"
#include "trace/trace.h"

typedef struct {
    int64_t *starts_ns;  /* of the repetitions; the last one is the end of the one before it */
    size_t   n_starts;   /* 0: nothing repeats */
    uint32_t anchor;     /* string id of the work that begins each repetition */
    double   confidence; /* share of positions at which the sequence equals itself one period later */
} hu_period;

/* Times are host times where launches are known.  Lists live in `arena`.  Returns 0 or HU_ENOMEM. */
int hu_period_measure(const hu_trace *trace, hu_arena *arena, hu_period *out, hu_error *err);

#endif
