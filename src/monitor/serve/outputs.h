/* SPDX-License-Identifier: Apache-2.0
 * outputs.h - what the monitor writes to files: a page for node_exporter's textfile collector, and a line of JSON for each
 * look of each source.
 *
 * A thread of its own writes, since a disk may be full or hang.  What cannot be written is lost, which is said once; while a
 * disk hangs, what exceeds 4 MB is lost.
 */
#ifndef HU_MONITOR_SERVE_OUTPUTS_H
#define HU_MONITOR_SERVE_OUTPUTS_H

#include "base/error.h"
#include "monitor/serve/exposition.h"

typedef struct hu_outputs hu_outputs;

typedef struct {
    const char   *textfile;    /* folder that gets holdup.prom; NULL: none */
    const char   *jsonl;       /* file that lines are added to; "-" is stdout; NULL: none */
    int64_t       jsonl_bytes; /* it becomes FILE.1 before it grows beyond; 0: never */
    hu_text_names names;
    int64_t       period_ns;
    void (*say)(const char *format, ...); /* from the thread that writes */
} hu_outputs_options;

/* Opens what is asked for, so that what is wrong is said before anything runs.  NULL on failure. */
hu_outputs *hu_outputs_open(const hu_outputs_options *options, hu_error *err);

/* Takes readings from now on.  Returns 0 or an error. */
int hu_outputs_start(hu_outputs *o, hu_keeper *k, hu_error *err);

/* The file of lines was moved away: another one of its name is begun. */
void hu_outputs_reopen(hu_outputs *o);

/* Writes what came and removes holdup.prom, which is true no more.  Does not wait for a disk that hangs.  NULL: fine. */
void hu_outputs_stop(hu_outputs *o);

#endif
