/* SPDX-License-Identifier: Apache-2.0
 * schedstat.h - how long each thread ran and waited for a CPU, by reading /proc now and then.
 *
 * For machines that refuse perf_event_open.  Sums are the scheduler's own; when inside of an interval a thread waited
 * is not known.
 */
#ifndef HU_RECORD_SCHEDSTAT_H
#define HU_RECORD_SCHEDSTAT_H

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

#define HU_SCHEDSTAT_MAGIC 0x3144454843535548ull /* "HUSCHED1" */

/* The file `schedstat` is a head, then rows: one for a thread whenever its numbers changed. */
typedef struct {
    uint64_t magic;
    uint32_t version, row_bytes;
    uint32_t child, unused;
    int64_t  started_ns; /* CLOCK_MONOTONIC */
} hu_schedstat_head;

typedef struct {
    int64_t  time_ns; /* CLOCK_MONOTONIC, when it was read */
    uint32_t pid, tid;
    uint64_t run_ns, delay_ns; /* on a CPU, and waiting for one, since the thread began; of 'X' delay_ns is when it was
                                  last looked at */
    uint16_t cpu;
    uint8_t  state;    /* the letter of /proc/PID/stat: R S D T Z; 'X': it is gone */
    char     name[13]; /* comm, cut */
} hu_schedstat_row;

_Static_assert(sizeof(hu_schedstat_row) == 48, "rows stay aligned");

typedef struct hu_schedstat hu_schedstat;

/* `hz`: how often at most; 0: 20.  It reads less often when that would cost more than 1 % of a CPU.  NULL: see `why`. */
hu_schedstat *hu_schedstat_start(unsigned hz, pid_t child, const char *session, hu_error *why);

/* Reads when it is time to; call it often. */
void hu_schedstat_round(hu_schedstat *s);

/* Reads a process that has ended and was not waited for yet: the kernel still has its sums. */
void hu_schedstat_ended(hu_schedstat *s, pid_t pid);

/* Reads a last time; closes and frees.  0, or HU_EIO when rows could not be written.  NULL is fine. */
int hu_schedstat_stop(hu_schedstat *s);

#endif
