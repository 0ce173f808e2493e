/* SPDX-License-Identifier: Apache-2.0
 * inputs.h - what the user named, as a list of files. */
#ifndef HU_JOB_INPUTS_H
#define HU_JOB_INPUTS_H

#include "base/arena.h"
#include "base/error.h"
#include "base/unread.h"
#include "job/glance.h"

enum { HU_LEFT_NAMED = 8 };

/* Files of a directory that a report does not read. */
typedef struct {
    const char *at[HU_LEFT_NAMED]; /* the first of them */
    size_t      n, n_traces;       /* all; those of them that are traces, in directories below, perhaps of another run */
} hu_left;

typedef struct {
    const char **at; /* lives in the arena */
    size_t       n;
    uint64_t     bytes;  /* on disk, that this process reads; 0 when one is not a file */
    const int   *reader; /* process that reads each (job/spread.h); NULL: this one reads all */

    const char *same;   /* the first that is a file before it, which is read once (job/same.h); NULL: none */
    size_t      n_same; /* all of them */

    hu_unread_list unread; /* what was named and holds no file to read; also in the arena */
    hu_left        left;   /* of directories, where it was asked what lies beside the traces */

    hu_glances *glances; /* what was seen of files of this command, these and others; hu_inputs_expand begins it */
} hu_inputs;

/*
 * Directories are replaced by the regular files in them that are named like traces, by name, but for JSON that is none
 * (job/stray.h); of one without any, by those of the only directory in it that has some, or by what else there is of a run
 * (job/sorted.h); a directory without that either is in out->unread.  Returns 0, or an error that names the path when there
 * is nothing at all to read.
 */
int hu_inputs_expand(char **paths, int n, const hu_limits *limits, hu_arena *arena, hu_inputs *out, hu_error *err);

/* Is it named like a trace? */
bool hu_inputs_is_trace(const char *path);

#endif
