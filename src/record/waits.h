/* SPDX-License-Identifier: Apache-2.0
 * waits.h - the waits of threads that no recorder inside told of: from where a thread was found waiting (wait_samples.h) and
 * from when to when it did not run (perf_read.h). */
#ifndef HU_RECORD_WAITS_H
#define HU_RECORD_WAITS_H

#include "record/perf_read.h"

typedef enum {
    HU_WAIT_UNKNOWN,  /* nobody looked */
    HU_WAIT_SAMPLED,  /* a look fell into it */
    HU_WAIT_INFERRED, /* none did, but all looks at waits of this length of this thread found the same call */
    HU_WAIT_COVERED,  /* the recorder inside has it */
} hu_wait_source;

/* A stretch of time in which a thread did not run. */
typedef struct {
    int64_t  start_ns, end_ns; /* CLOCK_MONOTONIC */
    uint32_t seen;             /* index of hu_waits.seen; UINT32_MAX: none */
    uint8_t  source;           /* hu_wait_source */
} hu_wait;

/* The waits of one thread, in the order of time. */
typedef struct {
    uint32_t pid, tid;
    size_t   first, n; /* of hu_waits.at */
} hu_wait_thread;

/* What was found. */
typedef struct {
    int64_t  first_ns, last_ns, from_ns, to_ns; /* as in hu_wait_row */
    uint64_t object;
    uint32_t pid, tid, text;
    uint16_t call;
    uint8_t class;
} hu_wait_seen;

typedef struct {
    hu_arena *arena;
    HU_VEC(hu_wait_seen) seen; /* by thread and time */
    HU_VEC(hu_wait) at;
    HU_VEC(hu_wait_thread) threads; /* by pid, tid, first wait: those that were found waiting */
    HU_VEC(hu_str) texts;           /* by number */
    HU_VEC(uint32_t) go;            /* processes that run Go's scheduler */
    uint64_t malformed;             /* rows that are none */
    bool     is_exact;              /* waits are as the scheduler told; else only as long as they were looked at */
} hu_waits;

/* Reads the file `waits` and finds the stretches in `files`.  0 also when there is no such file; HU_ENOMEM. */
int hu_waits_read(const char *session, const hu_perf_files *files, hu_arena *arena, hu_waits *out, hu_error *err);

/* The threads of this number, which was used again where they are several; *n of them. */
const hu_wait_thread *hu_waits_of(const hu_waits *w, uint32_t pid, uint32_t tid, size_t *n);

/* Ranges lie on the tracks of these threads: what is only estimated of their waits might cross them, and goes. */
void hu_waits_trim(hu_waits *w, const hu_wait_thread *threads, size_t n);

/* A call was recorded inside of the program: the waits in it are not told a second time.  CLOCK_MONOTONIC. */
void hu_waits_cover(hu_waits *w, const hu_wait_thread *threads, size_t n, int64_t start_ns, int64_t end_ns);

/* After all recorded calls were passed in: infers the waits into which no look fell. */
void hu_waits_infer(hu_waits *w);

#endif
