/* SPDX-License-Identifier: Apache-2.0
 * phase_table.h - what each phase of a training step costs: host, compute, and communication by kind. */
#ifndef HU_ANALYZE_PHASE_TABLE_H
#define HU_ANALYZE_PHASE_TABLE_H

#include "analyze/traffic.h"

enum { HU_PHASE_GATHER, HU_PHASE_SCATTER, HU_PHASE_REDUCE, HU_PHASE_ELSE, HU_PHASE_TRAFFIC_COUNT };

/* Sums over the steps that count, or over the capture where there are none.  Device work counts for the phase that
   launched it.  Times are unions within the phase. */
typedef struct {
    hu_phase phase;
    int64_t  host_ns; /* the host is in it */
    int64_t  compute_ns;
    int64_t  comm_ns[HU_PHASE_TRAFFIC_COUNT]; /* all-gather, reduce-scatter, all-reduce, all others */
    int64_t  exposed_ns;                      /* of all of them, what no computation of any phase hides */
    int64_t  calls, bytes;                    /* bytes of those that say */
} hu_phase_row;

typedef struct {
    hu_phase_row *at; /* in the order of hu_phase; none without marks */
    size_t        n;
    unsigned      sources; /* HU_PHASE_BY_* */
    bool          on_host; /* no device took part: nothing is computed or exposed */
} hu_phase_table;

/* Rows live in the arena of `ask`.  Returns 0 or HU_ENOMEM. */
int hu_phase_table_measure(const hu_ask *ask, const hu_phase_spans *spans, const hu_traffic *traffic, hu_phase_table *out,
                           hu_error *err);

/* Adds the rows of another rank.  False when there is no memory. */
bool hu_phase_table_merge(hu_phase_table *into, const hu_phase_table *from, hu_arena *arena);

#endif
