/* SPDX-License-Identifier: Apache-2.0
 * backlog.h - GPU work that was launched before the capture. */
#ifndef HU_ANALYZE_BACKLOG_H
#define HU_ANALYZE_BACKLOG_H

#include "base/arena.h"
#include "trace/trace.h"

typedef struct {
    const hu_trace *trace;
    hu_slices       s;
    int64_t        *first_launched; /* by track: start of the first work with a launch; INT64_MIN without */
    uint32_t        least;          /* number of a launch call */
    bool            has_launches;
} hu_backlog;

/* `names` are the flags of hu_names_classify; *out lives in `arena` and refers to the trace.  False: no memory. */
bool hu_backlog_find(const hu_trace *trace, const uint8_t *names, hu_arena *arena, hu_backlog *out);

/* Was this GPU work queued before the capture began? */
bool hu_backlog_has(const hu_backlog *b, uint32_t slice);

#endif
