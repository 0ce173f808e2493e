/* SPDX-License-Identifier: Apache-2.0
 * profile_parts.h - what the readers of such profiles share: they name functions and add stacks. */
#ifndef HU_INGEST_PROFILE_PARTS_H
#define HU_INGEST_PROFILE_PARTS_H

#include "base/input.h"
#include "base/intern.h"
#include "trace/profile.h"

typedef struct {
    hu_profile_sums *out;
    hu_arena        *arena;
    hu_intern        names;      /* a function is the id of its name */
    int64_t          n_frames;   /* all that were added, which is the work */
    HU_VEC(int64_t) seen;        /* by function: the last stack that it was in */
    HU_VEC(uint32_t) stack;      /* for the readers, outermost function first */
    uint32_t         self_frame; /* stands for what is on top of the stack below it (pyinstrument); 0 none */
    const hu_limits *limits;
    const char      *file;
} profile_sums;

/* Its file behind it in brackets, "" none.  UINT32_MAX: no memory. */
uint32_t profile_function(profile_sums *s, hu_str name, hu_str file);

/* Adds s->stack.  Returns 0, HU_ENOMEM, HU_ELIMIT, or HU_EFORMAT of a weight below 0, which a difference of two has. */
int profile_add(profile_sums *s, double weight, hu_error *err);

int profile_read_folded(profile_sums *s, hu_str text, hu_error *err);
int profile_read_speedscope(profile_sums *s, hu_str text, hu_error *err);
int profile_read_pprof(profile_sums *s, hu_str message, hu_error *err);

#endif
