/* SPDX-License-Identifier: Apache-2.0
 * smi_query.h - text of `nvidia-smi -q`, line by line. */
#ifndef HU_INGEST_SMI_QUERY_H
#define HU_INGEST_SMI_QUERY_H

#include "ingest/node_sink.h"

enum { HU_SMI_QUERY_DEPTH = 8, HU_SMI_QUERY_TEXT = 64 };

typedef struct {
    hu_node_row row;
    int64_t     ns;     /* of this look */
    int64_t     number; /* of the GPU in it, -1: none yet */
    char        driver[HU_SMI_QUERY_TEXT], uuid[HU_SMI_QUERY_TEXT], name[HU_SMI_QUERY_TEXT], bus[HU_SMI_QUERY_TEXT];
    char        stack[HU_SMI_QUERY_DEPTH][HU_SMI_QUERY_TEXT]; /* headings above the line, by depth */
    size_t      lengths[HU_SMI_QUERY_DEPTH];
} hu_smi_query;

/* "==============NVSMI LOG==============": a look begins. */
bool hu_smi_query_heading(hu_str line);

/* Puts down the GPU of the last look. */
void hu_smi_query_begin(hu_smi_query *q);
void hu_smi_query_line(hu_smi_query *q, hu_node_sink *sink, hu_str line);
void hu_smi_query_end(hu_smi_query *q, hu_node_sink *sink);

#endif
