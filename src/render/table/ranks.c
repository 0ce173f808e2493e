/* SPDX-License-Identifier: Apache-2.0
 * ranks.c - the ranks of a job below each other: the mean step of each. */
#include "render/table/cells.h"

#define OF_STEP(name, expression)   HU_OF_RANK(name, out->number = t ? (expression) : HU_ABSENT)
#define ON_DEVICE(name, expression) OF_STEP(name, d->breakdown.has_device ? (expression) : HU_ABSENT)
#define ROLE(name, role)            OF_STEP(name, t->role_ns[role])

HU_OF_RANK(number, out->number = d->info.rank >= 0 ? (double)d->info.rank : (double)row)
HU_OF_RANK(host, out->text = d->info.host)
HU_OF_RANK(file, out->text = hu_str_base_name(d->info.file); out->is_plain = true)
HU_OF_RANK(steps, out->number = (double)hu_digest_step_count(d))
OF_STEP(step, t->step_ns)
ON_DEVICE(compute, t->compute_ns)
ON_DEVICE(exposed_comm, t->exposed_comm_ns)
ON_DEVICE(exposed_copy, t->exposed_copy_ns)
ON_DEVICE(idle, t->idle_ns)
ROLE(loader, HU_ROLE_DATA_LOADER)
ROLE(comm, HU_ROLE_COMMUNICATION)
ROLE(cpu_exec, HU_ROLE_CPU_EXEC)
ROLE(other, HU_ROLE_OTHER)

/* Which times tell ranks apart: the device's where there is one, else the host's. */
static bool on_device(const hu_rank *rank)
{
    return rank->digest->breakdown.has_device;
}

static bool on_host(const hu_rank *rank)
{
    return !on_device(rank);
}

/* clang-format off */
static const hu_column columns[] = {
    {"rank", "rank", HU_CELL_COUNT, 4, NULL, number, .values = "any",
     .help = "Rank in the job; when the trace does not say, the place by file name, from 0."},
    {"steps", NULL, HU_CELL_COUNT, 0, NULL, steps, .values = "0..",
     .help = "Steps that the means are taken over."},
    {"step_ns", "step", HU_CELL_NS, 9, NULL, step,
     .help = "Mean step, or the whole capture without steps; null when nothing was recorded."},
    {"compute_ns", "compute", HU_CELL_NS, 9, on_device, compute,
     .help = "Time per step in which a compute kernel runs; null without a device."},
    {"exposed_comm_ns", "exp comm", HU_CELL_NS, 9, on_device, exposed_comm,
     .help = "Exposed communication per step: communication kernels while no kernel computes; null without a device."},
    {"exposed_copy_ns", "exp copy", HU_CELL_NS, 9, on_device, exposed_copy, .is_wide = true,
     .help = "Exposed copies per step: copies and memsets while neither compute nor communication runs; null "
             "without a device."},
    {"idle_ns", "idle", HU_CELL_NS, 9, on_device, idle,
     .help = "Time per step without GPU operations; null without a device."},
    {"data_loader_ns", "loader", HU_CELL_NS, 9, NULL, loader, .source = "torch-tb-profiler: DataLoader",
     .help = "Time per step given to waits for the data loader, GPU operations and calls first."},
    {"communication_ns", "comm", HU_CELL_NS, 9, on_host, comm, .source = "torch-tb-profiler: Communication",
     .help = "Time per step given to communication, other GPU operations first."},
    {"cpu_exec_ns", "cpu exec", HU_CELL_NS, 9, on_host, cpu_exec, .source = "torch-tb-profiler: CPU Exec",
     .help = "Time per step given to operators, annotations and Python on the host."},
    {"other_ns", "other", HU_CELL_NS, 9, on_host, other, .source = "torch-tb-profiler: Other",
     .help = "Time per step in which nothing was recorded."},
    {"host", NULL, HU_CELL_TEXT, 0, NULL, host,
     .help = "Name of the machine; empty when unknown."},
    {"file", "file", HU_CELL_TEXT, 0, NULL, file,
     .help = "Name of the file, without its folder."},
};

const hu_table hu_table_ranks = {
    .key = "ranks", .title = "Ranks, mean step of each", .columns = columns, .n_columns = HU_COUNT(columns), .is_job = true,
    .empty = "there are none",
    .about = "The ranks of the job, with the mean step of each.",
};

static const hu_table *const tables[] = {&hu_table_ranks};

const hu_view hu_view_ranks = {
    .word = "ranks", .key = "rank_table", .is_list = true, .tables = tables, .n_tables = HU_COUNT(tables),
    .about = "the ranks of a job below each other: the mean step of each",
};
/* clang-format on */
