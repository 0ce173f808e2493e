/* SPDX-License-Identifier: Apache-2.0
 * columns.h - the storage of a trace, private to this folder: the builder fills it, the index links it, trace.c reads it. */
#ifndef HU_TRACE_COLUMNS_H
#define HU_TRACE_COLUMNS_H

#include "base/error.h"
#include "base/intern.h"
#include "base/map.h"
#include "trace/trace.h"

struct hu_trace {
    hu_arena     *arena;
    hu_intern     strings;
    hu_map        aliases; /* hu_alias and name -> string id; 0: it has several */
    hu_trace_info info;
    hu_quality    quality;

    size_t    n, cap; /* of all slice columns */
    int64_t  *start_ns, *dur_ns;
    uint32_t *track, *name, *correlation, *external, *parent, *detail;
    uint8_t  *kind;

    HU_VEC(hu_track) tracks;
    HU_VEC(hu_op_detail) ops;
    HU_VEC(hu_op_extra) op_extras;
    HU_VEC(hu_kernel_detail) kernels;
    HU_VEC(hu_copy_detail) copies;
    HU_VEC(hu_call_detail) calls;
    HU_VEC(hu_geometry) geometries;
    HU_VEC(hu_sync_detail) syncs;
    HU_VEC(hu_python_detail) pythons;
    HU_VEC(hu_os_detail) os_calls;
    HU_VEC(hu_omp_detail) omps;
    HU_VEC(hu_wait_detail) waits;
    HU_VEC(hu_wakeup) wakes;
    HU_VEC(hu_mpi_detail) mpi_calls;
    HU_VEC(hu_collective_detail) collectives;
    HU_VEC(hu_memory_event) memory;
    HU_VEC(hu_managed_event) managed;
    HU_VEC(hu_memory_segment) segments;
    HU_VEC(hu_memory_block) blocks;
    HU_VEC(hu_memory_action) memory_actions;
    HU_VEC(hu_memory_mark) memory_marks;
    HU_VEC(hu_sample) samples;
    HU_VEC(hu_cpu_stack) cpu_stacks;
    HU_VEC(hu_cpu_sample) cpu_samples;
    HU_VEC(hu_stretch) stretches;
    HU_VEC(hu_flow) flows, launches;
    HU_VEC(hu_device) devices;
    HU_VEC(hu_metadata) metadata;

    uint32_t *order; /* n */
    uint32_t *work;  /* device slices by (parent, start) */
    size_t    n_work;
    hu_map    after; /* host slice -> 1 + what is innermost when it ends, where that is not its parent; 0 nothing */
    size_t    n_after;
    hu_map    forward; /* backward operator -> forward operator */
};

/* Puts the states of threads in order, and gives each thread its life.  Called once, by the index. */
void hu_stretches_settle(hu_trace *trace);

/* Links everything; called once, by the builder.  Returns 0 or HU_ENOMEM. */
int hu_index_build(hu_trace *trace, hu_error *err);

#endif
