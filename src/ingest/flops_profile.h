/* SPDX-License-Identifier: Apache-2.0
 * flops_profile.h - the text of DeepSpeed's flops profiler: totals, classes by depth, modules. */
#ifndef HU_INGEST_FLOPS_PROFILE_H
#define HU_INGEST_FLOPS_PROFILE_H

#include "trace/step_log.h"

enum { HU_FLOPS_NESTING = 64 };

/* Where in a profile a log is.  Zeroed at the beginning of each file. */
typedef struct {
    enum { HU_FLOPS_NONE, HU_FLOPS_TOTALS, HU_FLOPS_DEPTHS, HU_FLOPS_MODULES } part;
    int32_t depth;                    /* of the classes that follow */
    int32_t module[HU_FLOPS_NESTING]; /* that are open: their places in the list; -1: beyond the limit */
    size_t  n_open;                   /* may be more than fit */
} hu_flops_reader;

/* Takes a line of a profile into *out; a later one replaces an earlier one.  *is_taken: it was of one.  False: no memory. */
bool hu_flops_line(hu_flops_reader *r, hu_str line, uint64_t number, hu_arena *arena, hu_log_flops *out, bool *is_taken);

#endif
