/* SPDX-License-Identifier: Apache-2.0
 * node_prom.h - what an exporter answers to a scrape (`curl :9400/metrics`), once or several times in one file. */
#ifndef HU_INGEST_NODE_PROM_H
#define HU_INGEST_NODE_PROM_H

#include "ingest/node_series.h"

enum { HU_NODE_PROM_KEY = 512 };

typedef struct {
    hu_series *series;
    int64_t    ns;                      /* of this scrape, if a line between scrapes says it; 0: not known */
    char       first[HU_NODE_PROM_KEY]; /* the series that a scrape begins with */
    size_t     n_first;
    bool       has_begun; /* this scrape has values */
} hu_node_prom;

/* "# HELP DCGM_FI_…", or a value of such a series. */
bool hu_node_prom_heading(hu_str line);

/* A line that is a time and nothing else: of the scrape behind it. */
bool hu_node_prom_time(hu_node_prom *p, hu_str line);

/* False: the line is neither a value nor a comment nor a time. */
bool hu_node_prom_line(hu_node_prom *p, hu_str line);

#endif
