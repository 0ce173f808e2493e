/* SPDX-License-Identifier: Apache-2.0
 * rocprof_set.h - what rocprofv3 writes of one process are several files of one name: 908_results.json, or
 * 908_kernel_trace.csv and 908_hip_api_trace.csv beside it. */
#ifndef HU_INGEST_ROCPROF_SET_H
#define HU_INGEST_ROCPROF_SET_H

#include "base/str.h"

/* What a file of such a name holds; the order is that of what they tell, best first. */
typedef enum {
    HU_ROCPROF_NONE,
    HU_ROCPROF_DATABASE, /* *_results.db */
    HU_ROCPROF_JSON,     /* *_results.json */
    HU_ROCPROF_TABLE,    /* *_kernel_trace.csv and others */
    HU_ROCPROF_PERFETTO, /* *_results.pftrace */
} hu_rocprof_file;

/* By the name alone.  *prefix: what the files of the process have in common, with their folder. */
hu_rocprof_file hu_rocprof_set_file(hu_str path, hu_str *prefix);

/* Endings of tables that make a trace, in the order of reading; NULL ends the list. */
extern const char *const hu_rocprof_tables[];

/* Which of them a path ends in; *prefix as above, *packed is what stands behind: "", ".gz", ".zst".  False: none. */
bool hu_rocprof_set_table(hu_str path, hu_str *prefix, size_t *table, hu_str *packed);

#endif
