/* SPDX-License-Identifier: Apache-2.0
 * rocm_text.h - what rocm-smi prints without --json, line by line. */
#ifndef HU_INGEST_ROCM_TEXT_H
#define HU_INGEST_ROCM_TEXT_H

#include "ingest/node_sink.h"

enum { HU_ROCM_MOST = 64 }; /* GPUs of a node */

typedef struct {
    hu_node_row rows[HU_ROCM_MOST]; /* by GPU: each section of a look adds to it */
    bool        has[HU_ROCM_MOST];
    bool        is_table; /* its heading was seen */
} hu_rocm_text;

/* "====== ROCm System Management Interface ======": a look begins. */
bool hu_rocm_text_heading(hu_str line);

void hu_rocm_text_begin(hu_rocm_text *t);
void hu_rocm_text_line(hu_rocm_text *t, hu_node_sink *sink, hu_str line);

/* Puts down the GPUs of the look. */
void hu_rocm_text_end(hu_rocm_text *t, hu_node_sink *sink);

#endif
