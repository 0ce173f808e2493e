/* SPDX-License-Identifier: Apache-2.0
 * node_text.h - text of monitors, line by line: CSV, dmon, `nvidia-smi -q`, `topo -m`, scrapes; also several in a file. */
#ifndef HU_INGEST_NODE_TEXT_H
#define HU_INGEST_NODE_TEXT_H

#include "ingest/node_sink.h"

/* Does it begin like one of them, behind comments, a prompt or a time? */
bool hu_node_text_probe(hu_str head);

/* Adds a file, and counts lines that are no samples.  Returns 0, HU_ENOMEM, HU_ELIMIT or HU_EIO. */
int hu_node_text_read(hu_node_sink *sink, hu_input *in, hu_error *err);

#endif
