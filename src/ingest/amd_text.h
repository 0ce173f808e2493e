/* SPDX-License-Identifier: Apache-2.0
 * amd_text.h - what `amd-smi metric` prints without --json, line by line. */
#ifndef HU_INGEST_AMD_TEXT_H
#define HU_INGEST_AMD_TEXT_H

#include "ingest/node_sink.h"

enum { HU_AMD_NAME = 96 };

typedef struct {
    hu_node_row row;
    bool        is_open;
    char        outer[HU_AMD_NAME]; /* "gfx_0", whose members follow */
    size_t      outer_n, outer_depth;
} hu_amd_text;

/* "GPU: 0": what a GPU says begins. */
bool hu_amd_text_heading(hu_str line);

/* Does it, by the line behind?  Logs have such lines, too. */
bool hu_amd_text_follows(hu_str line);

void hu_amd_text_line(hu_amd_text *t, hu_node_sink *sink, hu_str line);

/* Puts down the last GPU. */
void hu_amd_text_end(hu_amd_text *t, hu_node_sink *sink);

#endif
