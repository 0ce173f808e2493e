/* SPDX-License-Identifier: Apache-2.0
 * node_csv.h - CSV of `nvidia-smi --query-gpu`, `amd-smi metric` and `rocm-smi` (docs/formats/node-log.md). */
#ifndef HU_INGEST_NODE_CSV_H
#define HU_INGEST_NODE_CSV_H

#include "ingest/node_sink.h"

enum { HU_NODE_CSV_COLUMNS = 512 };

typedef struct {
    uint16_t columns[HU_NODE_CSV_COLUMNS]; /* what each holds; 0: nothing of interest */
    size_t   n;
    int64_t  last_ns, least_ns, sum_ns; /* of rows that name no GPU: the time, the least gap and the sum of gaps */
    size_t   n_gaps;
} hu_node_csv;

/* Is this a heading, with a quantity that is known, and a time or what tells GPUs apart?  False leaves `csv` as it is. */
bool hu_node_csv_heading(hu_node_csv *csv, hu_str line);

/* False: the line is no sample. */
bool hu_node_csv_line(hu_node_csv *csv, hu_node_sink *sink, hu_str line);

/* Do rows that name no GPU come in groups, as those of several GPUs do? */
bool hu_node_csv_is_of_several(const hu_node_csv *csv);

#endif
