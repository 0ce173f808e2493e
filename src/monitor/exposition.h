/* SPDX-License-Identifier: Apache-2.0
 * exposition.h - readings as the text that Prometheus scrapes: text format 0.0.4 and OpenMetrics 1.0. */
#ifndef HU_MONITOR_EXPOSITION_H
#define HU_MONITOR_EXPOSITION_H

#include "monitor/keeper.h"

typedef enum { HU_TEXT_PROMETHEUS, HU_TEXT_OPENMETRICS, HU_TEXT_FORMATS } hu_text_format;

/* What Content-Type says of it. */
const char *hu_text_type(hu_text_format format);

/* A text that several readers hold; the last one frees it. */
typedef struct {
    _Atomic unsigned holders;
    size_t           n, room;
    char            *text; /* with a NUL behind it */
    uint64_t         version;
} hu_text;

/*
 * All that holds now.  Families are in the order of metrics.h, series sorted by their labels: the same readings are the same
 * text.  NULL: no memory.  The caller holds it.
 */
hu_text *hu_text_new(hu_keeper *k, hu_text_format format);
void     hu_text_drop(hu_text *t); /* NULL is fine */

#endif
