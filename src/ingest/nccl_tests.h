/* SPDX-License-Identifier: Apache-2.0
 * nccl_tests.h - lines of nccl-tests and rccl-tests, also between lines of NCCL's (docs/formats/nccl-tests.md). */
#ifndef HU_INGEST_NCCL_TESTS_H
#define HU_INGEST_NCCL_TESTS_H

#include "trace/step_log.h"

enum { HU_TESTS_COLUMNS = 24 };

/* Where in a table a log is.  Zeroed at the beginning of each file. */
typedef struct {
    hu_log_bench *open;                      /* the table that lines belong to; NULL: none */
    uint8_t       columns[HU_TESTS_COLUMNS]; /* what the numbers of a row mean */
    size_t        n_columns;                 /* 0: no heading yet */
    bool          has_root;
    bool          has_row; /* `row` waits for numbers, which NCCL's lines may tear apart */
    hu_bench_row  row;
    size_t        n_values;
    HU_VEC(hu_str) hosts; /* of the list of devices */
} hu_tests_reader;

/*
 * Takes what is of a test in a line into the last of *out.  *rest is what other readers may look at: all of it, what NCCL
 * printed behind an unfinished row, or nothing.  False: no memory.
 */
bool hu_tests_line(hu_tests_reader *r, hu_str line, uint64_t number, hu_arena *arena, hu_log_benches *out, hu_str *rest);

/* "busbw: 40.4933  Gbps", as all_reduce_bench.py prints it for each rank: bits per second.  False: it is none. */
bool hu_tests_print(hu_str line, int64_t *bits);

/* At the end of a file: what waits is torn. */
void hu_tests_end(hu_tests_reader *r);

#endif
