/* SPDX-License-Identifier: Apache-2.0
 * exposition.h - readings as the text that Prometheus scrapes: text format 0.0.4 and OpenMetrics 1.0. */
#ifndef HU_MONITOR_SERVE_EXPOSITION_H
#define HU_MONITOR_SERVE_EXPOSITION_H

#include "monitor/keeper.h"
#include "monitor/serve/text.h"

typedef enum { HU_TEXT_PROMETHEUS, HU_TEXT_OPENMETRICS, HU_TEXT_FORMATS } hu_text_format;

/* How families are called: as metrics.h has them, as dcgm-exporter has them, or each GPU family under both names. */
typedef enum { HU_NAMES_OWN, HU_NAMES_BOTH, HU_NAMES_DCGM } hu_text_names;

typedef struct {
    hu_text_format format;
    hu_text_names  names;
    bool           is_guest; /* a part of another exporter's page, which has its own process_* */
} hu_text_how;

/* What Content-Type says of it. */
const char *hu_text_type(hu_text_format format);

/*
 * All that holds now.  Families are in the order of metrics.h, series sorted by their labels: the same readings are the same
 * text.  NULL: no memory.  The caller holds it.
 */
hu_text *hu_text_new(hu_keeper *k, const hu_text_how *how);

/* The same of readings at hand; for tests. */
hu_text *hu_text_of(const hu_held *held, size_t n, const hu_text_how *how);

#endif
