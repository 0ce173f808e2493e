/* SPDX-License-Identifier: Apache-2.0
 * tracelens.c - TraceLens's timeline, with --compat tracelens. */
#include "render/table/cells.h"

HU_FACT(total, d->tracelens->total_ns)
HU_FACT(computation, d->tracelens->computation_ns)
HU_FACT(exposed_comm, d->tracelens->exposed_comm_ns)
HU_FACT(exposed_memcpy, d->tracelens->exposed_memcpy_ns)
HU_FACT(busy, d->tracelens->busy_ns)
HU_FACT(idle, d->tracelens->idle_ns)
HU_FACT(comm, d->tracelens->comm_ns)
HU_FACT(memcpy_time, d->tracelens->memcpy_ns)
HU_FACT(left_out, d->tracelens->left_out)
HU_FACT(left_out_ns, d->tracelens->left_out_ns)

/* clang-format off */
static const hu_column facts[] = {
    {"computation_time_ns", "computation_time", HU_CELL_NS, 0, NULL, computation, .source = "TraceLens: computation_time",
     .help = "Time in which kernels other than communication, or memsets, run."},
    {"exposed_comm_time_ns", "exposed_comm_time", HU_CELL_NS, 0, NULL, exposed_comm,
     .source = "TraceLens: exposed_comm_time",
     .help = "Communication while no kernel computes."},
    {"exposed_memcpy_time_ns", "exposed_memcpy_time", HU_CELL_NS, 0, NULL, exposed_memcpy,
     .source = "TraceLens: exposed_memcpy_time",
     .help = "Copies that neither compute nor communication hides."},
    {"busy_time_ns", "busy_time", HU_CELL_NS, 0, NULL, busy, .source = "TraceLens: busy_time",
     .help = "Time in which any of it runs."},
    {"idle_time_ns", "idle_time", HU_CELL_NS, 0, NULL, idle, .source = "TraceLens: idle_time",
     .help = "Time in which none of it runs."},
    {"total_time_ns", "total_time", HU_CELL_NS, 0, NULL, total, .source = "TraceLens: total_time",
     .help = "Time from the first start to the last end."},
    {"total_comm_time_ns", "total_comm_time", HU_CELL_NS, 0, NULL, comm, .source = "TraceLens: total_comm_time",
     .help = "Time in which communication runs."},
    {"total_memcpy_time_ns", "total_memcpy_time", HU_CELL_NS, 0, NULL, memcpy_time,
     .source = "TraceLens: total_memcpy_time",
     .help = "Time in which copies run."},
    {"left_out", "defect: no launch, left out", HU_CELL_COUNT, 0, NULL, left_out,
     .help = "GPU operations without a launch, which TraceLens leaves out."},
    {"left_out_ns", "its time", HU_CELL_NS, 0, NULL, left_out_ns,
     .help = "Sum of the durations of left_out."},
};

const hu_view hu_view_tracelens = {
    .word = "tracelens", .key = "tracelens", .facts = facts, .n_facts = HU_COUNT(facts),
    .about = "the GPU timeline as TraceLens prints it",
};
/* clang-format on */
