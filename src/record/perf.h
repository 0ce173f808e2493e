/* SPDX-License-Identifier: Apache-2.0
 * perf.h - CPU samples and context switches of a command and of all that descends from it, by perf_event_open. */
#ifndef HU_RECORD_PERF_H
#define HU_RECORD_PERF_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

enum { HU_PERF_DEFAULT_HZ = 99, HU_PERF_MOST_HZ = 10000 };

typedef struct {
    unsigned hz;     /* samples per second of CPU time of a thread; 0: context switches alone */
    uint64_t memory; /* for all rings together, 0: 64 MiB; of one CPU 64 to 2048 pages.  Less where the system allows less */
    uint64_t max_bytes; /* of all files together; 0: no limit.  What comes later is counted as lost */
} hu_perf_options;

typedef struct {
    uint64_t bytes; /* written */
    uint64_t records;
    uint64_t lost; /* rings that were full */
    uint64_t cut;  /* records that could not be written: disk, or max_bytes */
    unsigned n_cpus, pages;
    bool     is_user_only;
    bool     is_refused; /* no samples: /proc is read instead (schedstat.h).  Then timers inside of the
                                           programs may sample (hu_control.sample_hz) */
} hu_perf_totals;

typedef struct hu_perf hu_perf;

/*
 * Opens one event on each online CPU for `child`, which waits before its exec: counting begins there, and threads,
 * forks and their execs inherit it.  `session` is the directory that gets the files.
 *
 * Where the system refuses, `why` has a code and says in one line what is off, why and what to do; what is returned then
 * reads /proc instead.  NULL when that cannot be done either, and nothing is left behind.
 */
hu_perf *hu_perf_start(const hu_perf_options *options, pid_t child, const char *session, hu_error *why);

/*
 * Moves what the kernel wrote into the files, and returns in how many ms to call it again: 20, or less where a ring was a
 * quarter full.  A ring of 64 pages holds 8,000 records, two for each switch; one of 2048 pages 260,000.  While nothing is
 * recorded, only processes, names and mappings are kept: a run may be armed for days.
 */
int hu_perf_round(hu_perf *perf, bool is_recording);

/* A child has ended, and was not waited for yet. */
void hu_perf_ended(hu_perf *perf, pid_t pid);

/* So far; after the last round before hu_perf_stop: of the whole run. */
hu_perf_totals hu_perf_so_far(const hu_perf *perf);

/* The last round; closes and frees.  0, or HU_EIO when records could not be written.  NULL is fine. */
int hu_perf_stop(hu_perf *perf);

#endif
