/* SPDX-License-Identifier: Apache-2.0
 * deepspeed_ops.h - the summary of DeepSpeed's comms logger (log_summary). */
#ifndef HU_INGEST_DEEPSPEED_OPS_H
#define HU_INGEST_DEEPSPEED_OPS_H

#include "trace/step_log.h"

/* Where in a table a log is.  Zeroed at the beginning of each file. */
typedef struct {
    enum { HU_OPS_NONE, HU_OPS_SUMMARY, HU_OPS_STRAGGLERS } table;
    hu_str   op;      /* of the rows that follow */
    uint64_t heading; /* the line of it */
    size_t   next;    /* the row of an earlier table that most likely comes */
    uint64_t n_looks; /* at rows of earlier tables, in all */
} hu_ops_reader;

/* Takes a line of a table into *out; a later table of a size replaces an earlier one.  *is_taken: it was one.  False: no
   memory. */
bool hu_ops_line(hu_ops_reader *r, hu_str line, uint64_t number, hu_arena *arena, hu_log_ops *out, bool *is_taken);

#endif
