/* SPDX-License-Identifier: Apache-2.0
 * smi_pmon.h - lines of `nvidia-smi pmon`: a process on a GPU, how busy it keeps it, and its memory. */
#ifndef HU_INGEST_SMI_PMON_H
#define HU_INGEST_SMI_PMON_H

#include "ingest/node_sink.h"

enum { HU_SMI_PMON_COLUMNS = 24 };

typedef struct {
    uint8_t columns[HU_SMI_PMON_COLUMNS]; /* what each holds; 0 nothing that is known */
    size_t  n;
    size_t  last; /* process, which the next line's is mostly behind */
} hu_smi_pmon;

/* Is this line its heading? */
bool hu_smi_pmon_heading(hu_smi_pmon *p, hu_str line);

/* Adds a line; one of a GPU without a process adds nothing.  False: it is none. */
bool hu_smi_pmon_line(hu_smi_pmon *p, hu_node_sink *sink, hu_str line);

#endif
