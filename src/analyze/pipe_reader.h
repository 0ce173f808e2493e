/* SPDX-License-Identifier: Apache-2.0
 * pipe_reader.h - who waits for room in a pipe, which process of the run reads it, and what that one does meanwhile. */
#ifndef HU_ANALYZE_PIPE_READER_H
#define HU_ANALYZE_PIPE_READER_H

#include "analyze/thread_states.h"

typedef struct {
    uint32_t writer; /* the thread that waits longest in writes to pipes; HU_NONE: none does */
    int64_t  waits, waited_ns;
    hu_str   call, caller; /* of the writer, by time; caller "" not known */
    uint32_t reader;       /* whose reads end when these waits do, a thread of another process; HU_NONE: not known */
    int64_t  matched;      /* waits that end so */
    bool     computes;     /* what the reader does most while the writer waits; false: */
    unsigned class;        /* it waits in calls of this hu_host_class; HU_HOST_CLASS_COUNT: in none that was recorded */
    int64_t doing_ns;      /* of waited_ns */
    hu_str  doing, doing_caller; /* the call, and who calls it; or the function, where half of the samples are in one; "" */
} hu_pipe_reader;

/* In a window of the run.  Texts are borrowed.  False: no memory. */
bool hu_pipe_reader_find(const hu_ask *ask, hu_interval window, hu_pipe_reader *out);

#endif
