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

static const hu_column facts[] = {
    {"computation_time_ns", "computation_time", HU_CELL_NS, 0, NULL, computation},
    {"exposed_comm_time_ns", "exposed_comm_time", HU_CELL_NS, 0, NULL, exposed_comm},
    {"exposed_memcpy_time_ns", "exposed_memcpy_time", HU_CELL_NS, 0, NULL, exposed_memcpy},
    {"busy_time_ns", "busy_time", HU_CELL_NS, 0, NULL, busy},
    {"idle_time_ns", "idle_time", HU_CELL_NS, 0, NULL, idle},
    {"total_time_ns", "total_time", HU_CELL_NS, 0, NULL, total},
    {"total_comm_time_ns", "total_comm_time", HU_CELL_NS, 0, NULL, comm},
    {"total_memcpy_time_ns", "total_memcpy_time", HU_CELL_NS, 0, NULL, memcpy_time},
    {"left_out", "defect: device work without a launch, left out", HU_CELL_COUNT, 0, NULL, left_out},
    {"left_out_ns", "its time", HU_CELL_NS, 0, NULL, left_out_ns},
};

/* clang-format off */
const hu_view hu_view_tracelens = {
    .word = "tracelens", .key = "tracelens", .facts = facts, .n_facts = HU_COUNT(facts),
    .about = "the GPU timeline as TraceLens prints it",
};
/* clang-format on */
