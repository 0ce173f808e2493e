/* SPDX-License-Identifier: Apache-2.0
 * top.h - `holdup top`: nodes, GPUs, jobs, ranks and processes as they are now. */
#ifndef HU_TOP_TOP_H
#define HU_TOP_TOP_H

#include "base/error.h"
#include "monitor/source.h"
#include "top/view.h"

typedef enum { HU_TOP_SCREEN, HU_TOP_PLAIN, HU_TOP_JSON } hu_top_mode;

typedef struct {
    hu_top_mode              mode;
    bool                     once, has_color, is_demo;
    int                      width; /* of plain tables */
    int64_t                  interval_ns;
    char *const             *address; /* of other nodes; none: this one */
    size_t                   n_addresses;
    const hu_source_options *how; /* of this node's samplers */
    const char              *sort, *filter;
    hu_top_page              page;
    void (*say)(const char *format, ...) __attribute__((format(printf, 1, 2)));
} hu_top_options;

/* Is there a column of that key? */
bool hu_top_has_column(const char *key);

/* Until the user ends it, or after one look.  0, or an error in *err. */
int hu_top_run(const hu_top_options *o, hu_error *err);

#endif
