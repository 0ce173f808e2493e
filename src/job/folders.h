/* SPDX-License-Identifier: Apache-2.0
 * folders.h - where the traces are, of a directory that holds none itself. */
#ifndef HU_JOB_FOLDERS_H
#define HU_JOB_FOLDERS_H

#include "job/glance.h"

enum { HU_FOLDERS_NAMED = 4 };

/* Directories below one that hold traces. */
typedef struct {
    const char *at[HU_FOLDERS_NAMED];
    size_t      n; /* of all */
} hu_folders;

/* Texts live in `arena`.  Returns 0 or HU_ENOMEM. */
int hu_folders_find(const char *path, hu_glances *glances, hu_arena *arena, hu_folders *out, hu_error *err);

/* The error that names them, or, without any, files that are read only when they are named. */
int hu_folders_fail(const char *path, const hu_folders *folders, const hu_glances *glances, hu_arena *arena, hu_error *err);

#endif
