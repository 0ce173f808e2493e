/* SPDX-License-Identifier: Apache-2.0
 * schedstat_read.h - the rows of `schedstat` as states of threads. */
#ifndef HU_RECORD_SCHEDSTAT_READ_H
#define HU_RECORD_SCHEDSTAT_READ_H

#include "record/perf_read.h"

/* Fills threads and changes of `out`, which is prepared.  0 also when there is no such file; HU_ENOMEM. */
int hu_schedstat_read(const char *session, hu_perf_files *out, hu_error *err);

#endif
