/* SPDX-License-Identifier: Apache-2.0
 * trace_work.h - reads and moves a file that seems whole, in a thread: large ones take seconds, and who asks waits 90 ms. */
#ifndef HU_CLI_TRACE_WORK_H
#define HU_CLI_TRACE_WORK_H

#include "cli/trace_file.h"

typedef struct hu_trace_work hu_trace_work;

typedef struct {
    hu_trace_file_state state; /* GROWS: it ends in the middle, look again when it has grown */
    bool                has_steps;
    char                path[HU_KINETO_PATH_BYTES]; /* WHOLE: where it is now */
    hu_error            err;                        /* WHOLE: code is not 0 where it could not be moved to `path` */
} hu_trace_result;

/* Begins: the file is read and, if it is whole, moved into `folder` under a name of host and pid.  `f` is copied, and its
 * root stays open meanwhile.  NULL: no memory. */
hu_trace_work *hu_trace_work_start(const hu_trace_file *f, const char *folder, const char *host, pid_t pid);

bool hu_trace_work_is_done(const hu_trace_work *w);

/* Waits for its end, and gives it back. */
void hu_trace_work_end(hu_trace_work *w, hu_trace_result *out);

#endif
