/* SPDX-License-Identifier: Apache-2.0
 * node_log.h - what a monitor sampled of GPUs while a job ran: a log of `holdup monitor --jsonl`, or what Prometheus answers
 * to a query over a range of time, about its series or dcgm-exporter's (docs/formats/node-log.md).
 *
 * It becomes counter tracks of a trace of the same time, by the wall clock.  Which GPU a rank worked on is taken from the
 * log's job information, or there is only one; else the node's GPUs are told of without saying which is whose.
 */
#ifndef HU_INGEST_NODE_LOG_H
#define HU_INGEST_NODE_LOG_H

#include "base/gpu_counters.h"
#include "base/input.h"
#include "trace/builder.h"

enum { HU_NODE_SEVERAL = -2 }; /* ranks of one GPU */

typedef struct {
    hu_str  uuid, host, name, bus, driver; /* "" not known */
    int64_t number;                        /* of the driver's tools */
    int64_t rank;                          /* whose it is; -1 not known, or HU_NODE_SEVERAL */
    double  most_sm_mhz, most_memory_mhz, limit_watts;
    bool    is_mig;
} hu_node_gpu;

typedef struct {
    int64_t  ns; /* Unix time */
    double   value;
    uint32_t gpu, quantity; /* hu_gpu_quantity, in its unit */
} hu_node_sample;

/* Energy of processors or memory of a node (node_zones.h). */
typedef struct {
    hu_str name, host;
} hu_node_zone;

typedef struct {
    int64_t  ns; /* Unix time */
    double   joules;
    uint32_t zone;
} hu_node_zone_sample;

/* All files together.  Lists live in the arena. */
typedef struct {
    hu_arena *arena;
    HU_VEC(hu_node_gpu) gpus;
    HU_VEC(hu_node_sample) samples; /* by GPU, quantity and time, when hu_node_log_end was called */
    HU_VEC(hu_node_zone) zones;
    HU_VEC(hu_node_zone_sample) zone_samples; /* by zone and time, likewise */
    int64_t first_ns, last_ns;                /* of the samples */
    int64_t period_ns;                        /* between samples of one quantity, mostly; 0 not known */
    int64_t bad_lines, bad_offset;            /* lines that are no samples, as a full disk leaves; where the first begins */
} hu_node_log;

/* "node7" and "node7.cluster.local" are one. */
bool hu_node_is_same_host(hu_str a, hu_str b);

/* Does it hold any sample? */
static inline bool hu_node_log_has_any(const hu_node_log *log)
{
    return log->samples.n || log->zone_samples.n;
}

/* Does it begin like one? */
bool hu_node_log_probe(hu_str head);

/*
 * Adds a file.  A log whose last line is not whole, since it is still written, gives the others.  Returns 0, or an error
 * that names the file and the place.
 */
int hu_node_log_read(hu_node_log *log, hu_input *in, hu_error *err);

/* The same for a path. */
int hu_node_log_read_path(hu_node_log *log, const char *path, const hu_limits *limits, hu_error *err);

/* When all files were read: sorts.  False: no memory. */
bool hu_node_log_end(hu_node_log *log);

/* How a log fits a trace. */
typedef enum {
    HU_NODE_NONE,     /* there is no log */
    HU_NODE_ADDED,    /* its samples are counter tracks now */
    HU_NODE_OWN,      /* the trace holds samples of its own, which stay */
    HU_NODE_NO_CLOCK, /* the trace does not say when it was taken */
    HU_NODE_APART,    /* no sample lies in its time */
    HU_NODE_WHICH,    /* the log is of several nodes, and the trace does not say which is its own */
} hu_node_fit;

/* Adds what belongs to the trace of a rank (-1: not known) that is read and not frozen. */
hu_node_fit hu_node_log_add(const hu_node_log *log, int64_t rank, hu_builder *b);

#endif
