/* SPDX-License-Identifier: Apache-2.0
 * wait_samples.h - in which system call each waiting thread is, by reading /proc now and then.
 *
 * For what no recorder inside can see: static programs, Go, and calls that avoid the C library.  The programs are neither
 * stopped nor touched.
 */
#ifndef HU_RECORD_WAIT_SAMPLES_H
#define HU_RECORD_WAIT_SAMPLES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

typedef struct {
    uint64_t looks;   /* at threads */
    uint64_t rows;    /* written */
    uint32_t denied;  /* processes whose threads must not be looked at */
    int      problem; /* errno of the last one; ENOENT: this kernel does not tell */
} hu_wait_totals;

typedef struct hu_wait_samples hu_wait_samples;

/*
 * For `child` and all that descends from it; `session` is the directory that gets the file.  `wants_paths`: names of files
 * are written, without secrets.  `max_bytes` of the file; 0: no limit.  NULL: see `why`.
 */
hu_wait_samples *hu_wait_samples_start(pid_t child, const char *session, bool wants_paths, uint64_t max_bytes,
                                       hu_error *why);

/* Looks when it is time to; call it often.  Returns in how many ms the next look is due, at least 1. */
int hu_wait_samples_round(hu_wait_samples *s);

/* What was seen so far. */
hu_wait_totals hu_wait_samples_so_far(const hu_wait_samples *s);

/* Closes and frees.  0, or HU_EIO when rows could not be written.  NULL is fine. */
int hu_wait_samples_stop(hu_wait_samples *s);

#endif
