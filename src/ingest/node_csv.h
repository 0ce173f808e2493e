/* SPDX-License-Identifier: Apache-2.0
 * node_csv.h - `nvidia-smi --query-gpu=timestamp,… --format=csv -l 1` as samples of a node (docs/formats/node-log.md). */
#ifndef HU_INGEST_NODE_CSV_H
#define HU_INGEST_NODE_CSV_H

#include "ingest/node_log.h"

/* Is its first line a heading with timestamp, and one with a quantity that is known? */
bool hu_node_csv_probe(hu_str head);

/* Adds a file, and counts lines that are no samples.  Returns 0, HU_ENOMEM, HU_ELIMIT or HU_EIO. */
int hu_node_csv_read(hu_node_log *log, hu_input *in, hu_error *err);

#endif
