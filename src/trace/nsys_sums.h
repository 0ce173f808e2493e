/* SPDX-License-Identifier: Apache-2.0
 * nsys_sums.h - what `nsys stats` printed: tables of sums by name.  They have no times, so they are no trace. */
#ifndef HU_TRACE_NSYS_SUMS_H
#define HU_TRACE_NSYS_SUMS_H

#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

typedef enum {
    HU_NSYS_KERNELS,
    HU_NSYS_COPIES,     /* and fills, by time */
    HU_NSYS_COPY_SIZES, /* the same, by bytes */
    HU_NSYS_CALLS,      /* of CUDA */
    HU_NSYS_OS_CALLS,
    HU_NSYS_RANGES, /* of NVTX */
    HU_NSYS_MPI,
    HU_NSYS_MIXED, /* several of these, told apart by hu_nsys_row.group */
    HU_NSYS_OTHER,
    HU_NSYS_KINDS
} hu_nsys_kind;

/* Times in ns, sizes in bytes; NaN where the table does not have the column. */
typedef struct {
    hu_str  name, group; /* group: "PushPop", "CUDA_KERNEL" …; "" where the table has none */
    double  total, mean, median, least, most;
    double  pct; /* of the total of all rows, as printed */
    int64_t count;
    bool    is_comm; /* a kernel that communicates, by its name */
} hu_nsys_row;

typedef struct {
    hu_nsys_kind kind;
    hu_str       key;       /* "cuda_gpu_kern_sum", as it is called today; "" where only the columns tell the kind */
    bool         is_bytes;  /* sizes, where others are times */
    bool         is_absent; /* nsys said that the report has nothing of it */
    HU_VEC(hu_nsys_row) rows;
} hu_nsys_table;

/* Of all files, in the arena that they were read into. */
typedef struct {
    HU_VEC(hu_nsys_table) tables;
    hu_str   sqlite, report; /* the export and the .nsys-rep that nsys named; "" it named none */
    uint64_t n_clipped;      /* names that end in "…" */
    bool     is_cut;         /* a table ends in the middle of a row, or says by dots that rows are left out */
} hu_nsys_sums;

#endif
