/* SPDX-License-Identifier: Apache-2.0
 * perf_file.h - the files perf.CPU of a session: a head, then the kernel's records as they came out of its ring.
 *
 * All records of a file were written by one CPU; they are in the order of time but for a few that interrupts swapped.
 * Their layout is the one of perf_event_open(2) for HU_PERF_SAMPLE_TYPE with sample_id_all; times are CLOCK_MONOTONIC.
 * Two types are our own, behind all of the kernel's.
 */
#ifndef HU_RECORD_PERF_FILE_H
#define HU_RECORD_PERF_FILE_H

#include <linux/perf_event.h>
#include <stdint.h>

#define HU_PERF_MAGIC 0x3146524550505548ull /* "HUPPERF1" */
/* Where the recorder asks for them, and the rest of a sample is where it does not. */
#define HU_PERF_STACK_TYPE  (PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER)
#define HU_PERF_SAMPLE_TYPE (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_CALLCHAIN)

enum {
    HU_PERF_VERSION = 1,
    HU_PERF_CPUS_MAX = 8192,
    HU_PERF_RECORD_CUT = 0x4855,    /* hu_perf_cut: we could not write */
    HU_PERF_STACK_BYTES = 256,      /* of the stack, copied with each sample */
    HU_PERF_REGS = 1 << 6 | 1 << 7, /* rbp and rsp of x86-64, in this order */
};

typedef struct {
    uint64_t magic;
    uint32_t version, bytes; /* of this head */
    uint32_t cpu, n_cpus;
    uint64_t sample_type;
    uint64_t period_ns;  /* of CPU time between two samples; 0: no samples, switches alone */
    int64_t  started_ns; /* CLOCK_MONOTONIC */
    uint32_t child;      /* pid of the command */
    uint32_t user_only;  /* 1: time inside the kernel has no samples */
    uint32_t ring_bytes, unused;
} hu_perf_head;

typedef struct {
    struct perf_event_header header;
    uint64_t                 records; /* that were dropped here: no space, or the session's limit */
    int64_t                  time_ns;
} hu_perf_cut;

/* What ends every record but a sample. */
typedef struct {
    uint32_t pid, tid;
    int64_t  time_ns;
    uint32_t cpu, unused;
} hu_perf_trailer;

_Static_assert(sizeof(hu_perf_head) == 64, "records stay aligned to 8");
_Static_assert(sizeof(hu_perf_trailer) == 24, "as the kernel writes it");

#endif
