/* SPDX-License-Identifier: Apache-2.0
 * shared_options.h - options that mean the same in every command, described once; a command's row says which it has. */
#ifndef HU_CLI_SHARED_OPTIONS_H
#define HU_CLI_SHARED_OPTIONS_H

#include "analyze/steps.h"
#include "base/limits.h"
#include "cli/options.h"

enum {
    HU_SHARED_STEPS = 1 << 0,
    HU_SHARED_TOP = 1 << 1,
    HU_SHARED_JSON = 1 << 2,
    HU_SHARED_CSV = 1 << 3,
    HU_SHARED_OUTPUT = 1 << 4,
    HU_SHARED_COLOR = 1 << 5,
    HU_SHARED_QUIET = 1 << 6,
    HU_SHARED_STRICT = 1 << 7,
    HU_SHARED_LIMIT = 1 << 8,
    HU_SHARED_CPUS = 1 << 9,
    HU_SHARED_THREADS = 1 << 10,
    HU_SHARED_COUNT = 11,

    HU_SHARED_READING = HU_SHARED_LIMIT | HU_SHARED_THREADS, /* of every command that reads traces */
};

enum { HU_COLOR_AUTO, HU_COLOR_ALWAYS, HU_COLOR_NEVER };

/* Their fields: the options struct of every command begins with them. */
typedef struct {
    bool          json, csv, quiet, strict, help;
    int           color;   /* HU_COLOR_* */
    int64_t       top;     /* 0: the command's own default */
    int64_t       threads; /* 0: as many as there are processors for */
    const char   *output;
    hu_step_range steps;
    hu_limits     limits; /* the defaults, where nobody changed them */
} hu_shared;

/* The rows of the bits in `which`, and --help, into `out`; returns how many: at most HU_SHARED_COUNT + 1. */
size_t hu_shared_rows(uint32_t which, hu_option *out);

#endif
