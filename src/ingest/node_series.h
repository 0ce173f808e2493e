/* SPDX-License-Identifier: Apache-2.0
 * node_series.h - series of Prometheus about GPUs, ours and dcgm-exporter's: what each is, however it was written down. */
#ifndef HU_INGEST_NODE_SERIES_H
#define HU_INGEST_NODE_SERIES_H

#include "ingest/node_sink.h"

enum { HU_SERIES_RISES = 1024 };

/* Labels that matter, of either exporter. */
typedef struct {
    hu_str gpu, uuid, gi, host, instance, model, bus, driver, rank, reason, xid, zone, type;
} hu_series_labels;

/* A counter whose rise says that something happened. */
typedef struct {
    uint32_t gpu;
    int64_t  which; /* the number of an XID, or below 0 another */
    double   count;
} hu_series_rise;

typedef struct {
    hu_node_sink  *sink;
    hu_series_rise rises[HU_SERIES_RISES];
    size_t         n_rises;
    double         violation_s; /* one unit of the time of violations, in seconds; 0 not known */
} hu_series;

/* Does a name, or text that begins with one, belong to an exporter that is known? */
bool hu_series_is_known(hu_str name);

/* The text behind # HELP, which says the unit of violations. */
void hu_series_take_help(hu_series *s, hu_str text);

/* Where the label of this name belongs; NULL: it does not matter. */
hu_str *hu_series_label(hu_series_labels *l, hu_str name);

/* The GPU as a whole that a series is about; HU_NONE: it is about something else.  `host`: where no label names one. */
uint32_t hu_series_gpu(hu_series *s, hu_str name, const hu_series_labels *l, hu_str host);

/* A value of it. */
void hu_series_take(hu_series *s, uint32_t gpu, hu_str name, const hu_series_labels *l, int64_t ns, double value);

/* Of a node's processors.  False: it is no such series. */
bool hu_series_take_zone(hu_series *s, hu_str name, const hu_series_labels *l, hu_str host, int64_t ns, double joules);

#endif
