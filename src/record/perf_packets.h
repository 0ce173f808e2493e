/* SPDX-License-Identifier: Apache-2.0
 * perf_packets.h - states of threads and CPU samples as packets of a Perfetto trace. */
#ifndef HU_RECORD_PERF_PACKETS_H
#define HU_RECORD_PERF_PACKETS_H

#include "base/out.h"
#include "base/protobuf_out.h"
#include "record/perf_read.h"
#include "record/symbols.h"

typedef struct {
    uint32_t        sequence;         /* trusted_packet_sequence_id: nobody else's */
    uint32_t        clock;            /* builtin clock of the times; 0: 3, MONOTONIC, which the file's snapshots map */
    int64_t         shift_ns;         /* is added to all times */
    int64_t         first_ns, end_ns; /* what is written, CLOCK_MONOTONIC; end 0: all */
    const uint32_t *pids;             /* of which processes; NULL: of all */
    size_t          n_pids;
    const uint32_t *own; /* threads of ours in those processes: left out */
    size_t          n_own;
} hu_perf_packets_options;

/*
 * Appends whole packets to `out`: names of processes and threads, changes of state, samples with their call chains, and
 * how many records the kernel lost.  `w` is working memory: what is in it is forgotten.  `symbols` may be NULL: then
 * functions are [module]+offset.  0 or HU_ENOMEM.
 */
int hu_perf_packets_write(const hu_perf_files *files, hu_symbols *symbols, const hu_perf_packets_options *options, hu_pbw *w,
                          hu_out *out, hu_error *err);

#endif
