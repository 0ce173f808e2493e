/* SPDX-License-Identifier: Apache-2.0
 * node_zones.h - energy of processors and memory (RAPL) in a monitor's log, as holdup_host_energy_joules_total tells it. */
#ifndef HU_INGEST_NODE_ZONES_H
#define HU_INGEST_NODE_ZONES_H

#include "ingest/node_tracks.h"

/* Adds a value of a zone of a node.  Texts are copied.  False: no memory. */
bool hu_node_zones_take(hu_node_log *log, hu_str host, hu_str zone, int64_t ns, double joules);

/* When all files were read: sorts. */
void hu_node_zones_end(hu_node_log *log);

/*
 * Adds the zones of the trace's own node as counter tracks (base/rapl.h), from Unix time from_ns to to_ns, where the trace
 * has none itself.
 */
hu_node_fit hu_node_zones_add(const hu_node_log *log, int64_t from_ns, int64_t to_ns, hu_builder *b);

#endif
