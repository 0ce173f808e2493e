/* SPDX-License-Identifier: Apache-2.0
 * smi_topology.h - the matrix of `nvidia-smi topo -m`. */
#ifndef HU_INGEST_SMI_TOPOLOGY_H
#define HU_INGEST_SMI_TOPOLOGY_H

#include "ingest/node_sink.h"

enum { HU_SMI_TOPOLOGY_COLUMNS = 128, HU_SMI_TOPOLOGY_TRIES = 16 };

typedef struct {
    hu_str  names[HU_SMI_TOPOLOGY_COLUMNS]; /* live as long as the log */
    hu_str *links;
    size_t  n, n_gpus, rows;
    size_t  tries; /* headings so far: a file of nothing else costs memory */
} hu_smi_topology;

/* A line of names: GPUs, network cards, and what is no device. */
bool hu_smi_topology_heading(hu_smi_topology *t, hu_node_sink *sink, hu_str line);

/* False: the matrix is at its end, and this line is none of it. */
bool hu_smi_topology_line(hu_smi_topology *t, hu_node_sink *sink, hu_str line);

#endif
