/* SPDX-License-Identifier: Apache-2.0
 * smi_dmon.h - columns of `nvidia-smi dmon` and `dcgmi dmon` (docs/formats/node-log.md). */
#ifndef HU_INGEST_SMI_DMON_H
#define HU_INGEST_SMI_DMON_H

#include "ingest/node_sink.h"

enum { HU_SMI_DMON_COLUMNS = 128 };

typedef struct {
    uint8_t columns[HU_SMI_DMON_COLUMNS]; /* 1 + the name of each; 0: nothing of interest */
    size_t  n;
    bool    is_dcgmi;
} hu_smi_dmon;

/* "# gpu    pwr  gtemp …", "#Date       Time        gpu …", "#Entity   GPUTL …".  False leaves `d` as it is. */
bool hu_smi_dmon_heading(hu_smi_dmon *d, hu_str line);

/* False: the line is no sample. */
bool hu_smi_dmon_line(const hu_smi_dmon *d, hu_node_sink *sink, hu_str line);

#endif
