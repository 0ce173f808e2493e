/* SPDX-License-Identifier: Apache-2.0
 * profile.h - what profilers leave that sum stacks: functions by their own share and with what they call.  Nothing in it
 * says when anything ran, so it is no trace. */
#ifndef HU_TRACE_PROFILE_H
#define HU_TRACE_PROFILE_H

#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

typedef enum {
    HU_PROFILE_COUNT, /* samples, or whatever `measure` names */
    HU_PROFILE_TIME,  /* ns */
    HU_PROFILE_BYTES,
} hu_profile_unit;

/* What a sum is of, as far as the file tells. */
typedef enum {
    HU_PROFILE_UNSAID,
    HU_PROFILE_CPU,     /* time on processors */
    HU_PROFILE_WALL,    /* time that passed, waits included */
    HU_PROFILE_WAITING, /* time that threads were blocked */
    HU_PROFILE_BUSY,    /* threads that looked busy, or all: py-spy does not say which */
    HU_PROFILE_MEMORY,
    HU_PROFILE_EVENTS, /* how often something happened */
} hu_profile_clock;

typedef struct {
    hu_str name;
    double self, total; /* total: of stacks that it is in, each once however often it recurs */
} hu_profile_function;

/* Texts live in the arena that it was read into. */
typedef struct {
    const char      *format;         /* "speedscope", "collapsed stacks", "pprof" */
    hu_str           tool;           /* that wrote it; "" it does not say */
    hu_str           measure, other; /* what is summed, and what else is in the file and left out; "" nothing says */
    hu_profile_unit  unit;
    hu_profile_clock clock;
    double           whole;
    double           sample_ns, duration_ns; /* 0 unknown */
    int64_t          n_stacks;               /* samples, or stacks that were summed already */
    int64_t          n_threads;              /* whose times are added up; 0 unknown */
    int64_t          n_malformed, n_bare;    /* lines, or samples, that were passed over; without any function */
    HU_VEC(hu_profile_function) functions;   /* by their own share, the largest first */
} hu_profile_sums;

#endif
