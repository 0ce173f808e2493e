/* SPDX-License-Identifier: Apache-2.0
 * pftrace_work.h - a session that becomes files of packets: what its writers share (to_pftrace.c, pf_about.c). */
#ifndef HU_RECORD_PFTRACE_WORK_H
#define HU_RECORD_PFTRACE_WORK_H

#include "record/perf_packets.h"
#include "record/pf.h"
#include "record/pf_gpu_counters.h"
#include "record/processes.h"
#include "record/to_pftrace.h"
#include "record/waits.h"

typedef struct {
    const hu_pftrace_options *o;
    hu_process_list          *list;
    hu_arena                 *arena;
    hu_pftrace_result        *out;
    hu_pf                     p;
    hu_pf_sequence            about;   /* the sequence of what belongs to no thread */
    uint32_t                 *members; /* of the file at hand */
    size_t                    n_members;
    hu_perf_files             perf; /* samples and states of threads; n_files 0: there are none */
    hu_waits                  waits;
    hu_gpus_seen              gpus;     /* sampled beside the job; n 0: none */
    const hu_process_image   *program;  /* that tools run; NULL: there are none */
    int64_t                   tools_ns; /* their CPU time */
    const char               *states;   /* where states of threads are from */
    hu_symbols               *symbols;
    uint8_t                  *has_arrow; /* by process: its parent's fork or exec was drawn */
    uint8_t                  *is_member;
    uint64_t                  lost, lost_texts, overwritten, cut_bytes;
    size_t                    threads;
    hu_str                    gpu_lines; /* of the file at hand */
    hu_str                    rapl_lines;
    char                      command[4096];
    size_t                    command_n;
} hu_pftrace_work;

#endif
