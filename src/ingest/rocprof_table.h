/* SPDX-License-Identifier: Apache-2.0
 * rocprof_table.h - one table of rocprof, rocprofv2 or rocprofv3 as CSV: headings mean columns, of whatever version. */
#ifndef HU_INGEST_ROCPROF_TABLE_H
#define HU_INGEST_ROCPROF_TABLE_H

#include "base/arena.h"
#include "base/str.h"

typedef enum {
    ROCPROF_OTHER,
    ROCPROF_START,
    ROCPROF_END,
    ROCPROF_KERNEL,
    ROCPROF_FUNCTION,
    ROCPROF_DOMAIN,
    ROCPROF_DIRECTION,
    ROCPROF_OPERATION,
    ROCPROF_AGENT,  /* "Agent 4", "GPU 0", "4" */
    ROCPROF_NUMBER, /* of the GPU, of rocprof and rocprofv2 */
    ROCPROF_QUEUE,
    ROCPROF_STREAM,
    ROCPROF_PROCESS,
    ROCPROF_THREAD,
    ROCPROF_DISPATCH,
    ROCPROF_CORRELATION,
    ROCPROF_FROM,
    ROCPROF_TO,
    ROCPROF_BYTES,
    ROCPROF_ADDRESS,
    ROCPROF_GRID_X,
    ROCPROF_GRID_Y,
    ROCPROF_GRID_Z,
    ROCPROF_GROUP_X,
    ROCPROF_GROUP_Y,
    ROCPROF_GROUP_Z,
    ROCPROF_SHARED,
    ROCPROF_VECTOR,
    ROCPROF_ACCUMULATION,
    ROCPROF_COUNTER,
    ROCPROF_NODE, /* the following are of agents */
    ROCPROF_LOGICAL,
    ROCPROF_TYPE,
    ROCPROF_UNITS,
    ROCPROF_WAVE,
    ROCPROF_WAVES,
    ROCPROF_NAME,
    ROCPROF_PRODUCT,
    ROCPROF_COLUMNS
} rocprof_column;

enum { ROCPROF_MOST_CELLS = 256 };

typedef enum {
    ROCPROF_NO_TABLE,
    ROCPROF_KERNELS,
    ROCPROF_COUNTERS, /* of kernels, a row for each counter */
    ROCPROF_COPIES,
    ROCPROF_CALLS,
    ROCPROF_ALLOCATIONS,
    ROCPROF_AGENTS
} rocprof_kind;

typedef struct {
    rocprof_kind kind;
    uint32_t     n;                      /* columns */
    int16_t      place[ROCPROF_COLUMNS]; /* cell of a column; -1: the table does not have it */
} rocprof_heading;

typedef struct {
    uint32_t n;
    hu_str   at[ROCPROF_MOST_CELLS];
} rocprof_cells;

typedef enum { ROCPROF_ROW, ROCPROF_CUT_ROW, ROCPROF_NO_MORE, ROCPROF_NO_MEMORY } rocprof_taken;

/* Cuts the heading off *text.  False: it is that of no table which says when something ran, or of no agents. */
bool rocprof_heading_take(hu_str *text, rocprof_heading *out);

/*
 * Cuts a row off *text.  A cell with doubled quotes is a copy in `arena`.  CUT_ROW: the text ends in the middle of it.
 */
rocprof_taken rocprof_row_take(hu_str *text, hu_arena *arena, rocprof_cells *out);

/* "" where the table does not have the column. */
hu_str  rocprof_text(const rocprof_heading *h, const rocprof_cells *c, rocprof_column column);
int64_t rocprof_int(const rocprof_heading *h, const rocprof_cells *c, rocprof_column column, int64_t absent);

#endif
