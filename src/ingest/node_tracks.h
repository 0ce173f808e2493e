/* SPDX-License-Identifier: Apache-2.0
 * node_tracks.h - what a monitor sampled as counter tracks of a trace of the same time.
 *
 * Which GPU a rank worked on is taken from the log's job information, or there is only one; else the node's GPUs are told of
 * without saying which is whose.
 */
#ifndef HU_INGEST_NODE_TRACKS_H
#define HU_INGEST_NODE_TRACKS_H

#include "ingest/node_log.h"
#include "trace/builder.h"

/* How a log fits a trace. */
typedef enum {
    HU_NODE_NONE,     /* there is no log */
    HU_NODE_ADDED,    /* its samples are counter tracks now */
    HU_NODE_OWN,      /* the trace holds samples of its own, which stay */
    HU_NODE_NO_CLOCK, /* the trace does not say when it was taken */
    HU_NODE_NO_TIMES, /* the log does not say when it was taken */
    HU_NODE_APART,    /* no sample lies in its time */
    HU_NODE_WHICH,    /* the log is of several nodes, and the trace does not say which is its own */
} hu_node_fit;

/* Adds what belongs to the trace of a rank (-1: not known) that is read and not frozen. */
hu_node_fit hu_node_tracks_add(const hu_node_log *log, int64_t rank, hu_builder *b);

#endif
