/* SPDX-License-Identifier: Apache-2.0
 * rank_times.h - Megatron's timers over all ranks: "(min, max) time across ranks (ms):" and what stands below it. */
#ifndef HU_INGEST_RANK_TIMES_H
#define HU_INGEST_RANK_TIMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

enum { HU_RANK_NAME = 96 };

/* Where in a block a log is.  Zeroed at the beginning of each file. */
typedef struct {
    enum { HU_RANKS_NONE, HU_RANKS_VALUES, HU_RANKS_LISTS } block;
    char    name[HU_RANK_NAME], ended[HU_RANK_NAME]; /* of a list of ranks: not at its end; the one before it */
    size_t  n_name, n_ranks, n_others;               /* others: lines in a block that are none of it */
    int64_t least, most;
    int64_t slowest;
} hu_ranks_reader;

typedef struct {
    hu_str  name;        /* in the line, or in the reader until its next line */
    int64_t least, most; /* ns; least: -1 where the log gives the largest alone */
    int64_t slowest;     /* the rank of `most`; -1 not told */
} hu_rank_time;

/*
 * Looks at a line.  *has: it ended a timer, which is in *out; *is_taken: it is one of a block.
 * At the end of a file, an empty line ends what waits.
 */
void hu_ranks_line(hu_ranks_reader *r, hu_str line, hu_rank_time *out, bool *has, bool *is_taken);

#endif
