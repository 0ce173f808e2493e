/* SPDX-License-Identifier: Apache-2.0
 * trace_file.h - chooses where a process writes its trace, checks that the file is complete, and moves it.
 *
 * PyTorch refuses folders outside of KINETO_ONDEMAND_TRACE_DIR (/tmp), and the process may have another root directory.
 * So it writes to a folder that it accepts, and the file is taken from there when it is whole.
 */
#ifndef HU_CLI_TRACE_FILE_H
#define HU_CLI_TRACE_FILE_H

#include "record/kineto.h"
#include "record/torch_process.h"

typedef struct {
    int     root;                         /* directory of the process; -1: ours */
    char    asked[HU_KINETO_PATH_BYTES];  /* what the request names, as the process sees it */
    char    made[HU_KINETO_PATH_BYTES];   /* what the process calls it then */
    int64_t bytes, changed_ms, looked_at; /* size at the last look, when it changed, size whose reading began */
} hu_trace_file;

typedef enum {
    HU_TRACE_FILE_NONE,
    HU_TRACE_FILE_GROWS, /* or ends in the middle */
    HU_TRACE_FILE_STILL, /* JSON to its last bracket, of a size that stays: it is to be read */
    HU_TRACE_FILE_EMPTY, /* whole, and nothing was recorded */
    HU_TRACE_FILE_WHOLE,
} hu_trace_file_state;

/* Chooses the file, in `folder` (absolute) where the process accepts that.  HU_EIO with why it can write nowhere. */
int hu_trace_file_plan(const hu_torch_process *p, const char *folder, hu_trace_file *out, hu_error *err);

/* Looks at it, which takes no time: NONE, GROWS or STILL. */
hu_trace_file_state hu_trace_file_look(hu_trace_file *f, int64_t now_ms);

/* Reads one that is still, which takes as long as reading a trace: WHOLE, if our importer has no loss; EMPTY or GROWS. */
hu_trace_file_state hu_trace_file_read(const hu_trace_file *f);

/* Is a step marked in it?  For a file that is whole. */
bool hu_trace_file_has_steps(const hu_trace_file *f);

/* Moves it to `path`, which must not exist.  0 or HU_EIO. */
int hu_trace_file_take(const hu_trace_file *f, const char *path, hu_error *err);

/* Removes what is there, as far as it is. */
void hu_trace_file_remove(const hu_trace_file *f);

/* The process did not take the folder and wrote elsewhere since: true with the name of that file. */
bool hu_trace_file_was_refused(const hu_trace_file *f, const hu_torch_process *p, int64_t since_ms, char *out, size_t room);

void hu_trace_file_close(hu_trace_file *f);

#endif
