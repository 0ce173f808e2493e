/* SPDX-License-Identifier: Apache-2.0
 * below.h - every file in a directory and in those below it. */
#ifndef HU_JOB_BELOW_H
#define HU_JOB_BELOW_H

#include "base/arena.h"
#include "base/error.h"

typedef struct {
    const char *path;
    uint64_t    bytes;
    int         depth; /* 0: in the directory itself */
} hu_file_below;

typedef struct {
    HU_VEC(hu_file_below) files; /* by name, those of a directory before those below it */
    size_t n_folders_left;       /* directories that were not entered: too deep, too many files, or not readable */
} hu_below;

/*
 * Regular files and links to such.  Nothing that begins with a dot, and no links to directories, which may lead in a circle.
 * Lists live in `arena`.  Returns 0 or HU_ENOMEM; what is no directory holds nothing.
 */
int hu_below_find(const char *folder, hu_arena *arena, hu_below *out, hu_error *err);

#endif
