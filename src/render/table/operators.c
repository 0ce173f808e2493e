/* SPDX-License-Identifier: Apache-2.0
 * operators.c - torch's key_averages(), by name, shapes, Python stack or nn.Module. */
#include "render/table/cells.h"

static bool has_memory(const hu_rank *rank)
{
    return rank->digest->operators.has_memory;
}

static bool has_host_memory_only(const hu_rank *rank)
{
    return rank->digest->operators.has_memory && !hu_has_device(rank);
}

static bool has_device_memory(const hu_rank *rank)
{
    return rank->digest->operators.has_memory && hu_has_device(rank);
}

static bool by_shapes(const hu_rank *rank)
{
    return rank->digest->operators.grouping == HU_GROUP_SHAPES;
}

/* Stacks and modules are long, so they get the last column. */
static bool by_place(const hu_rank *rank)
{
    return rank->digest->operators.grouping == HU_GROUP_STACK || rank->digest->operators.grouping == HU_GROUP_MODULE;
}

static bool by_no_place(const hu_rank *rank)
{
    return !by_place(rank);
}

static hu_str group(const hu_rank *rank, size_t row, hu_grouping grouping)
{
    return rank->digest->operators.grouping == grouping ? rank->digest->operators.at[row].group : HU_STR("");
}

HU_TEXT(name, operators, r->name)
HU_PLAIN_TEXT_OF(any_group, d->operators.at, r->group)
HU_TEXT(shapes, operators, group(rank, row, HU_GROUP_SHAPES))
HU_TEXT(stack, operators, group(rank, row, HU_GROUP_STACK))
HU_TEXT(module, operators, group(rank, row, HU_GROUP_MODULE))
HU_TEXT(kind, operators, hu_str_of(hu_kind_name(r->kind)))
HU_NUMBER(calls, operators, r->calls)
HU_NUMBER(calls_per_step, operators, hu_per_step(d, r->calls_in_steps))
HU_NUMBER(host_self, operators, r->host_self_ns)
HU_NUMBER(host_self_pct, operators, hu_share_pct((double)r->host_self_ns, (double)d->operators.host_self_sum_ns))
HU_NUMBER(host_total, operators, r->host_total_ns)
HU_NUMBER(host_mean, operators, hu_mean((double)r->host_total_ns, (double)r->calls))
HU_NUMBER(device_self, operators, r->device_self_ns)
HU_NUMBER(device_self_pct, operators, hu_share_pct((double)r->device_self_ns, (double)d->operators.device_self_sum_ns))
HU_NUMBER(device_total, operators, r->device_total_ns)
HU_NUMBER(device_mean, operators, hu_mean((double)r->device_total_ns, (double)r->calls))
HU_NUMBER(host_bytes, operators, has_memory(rank) ? (double)r->host_bytes : HU_ABSENT)
HU_NUMBER(device_bytes, operators, has_memory(rank) ? (double)r->device_bytes : HU_ABSENT)
HU_ROWS(rows, operators)

/* clang-format off */
static const hu_column columns[] = {
    {"device_self_ns", "dev self", HU_CELL_NS, 9, hu_has_device, device_self, .values = "0..",
     .source = "torch.profiler: self_device_time_total",
     .help = "Time of the GPU operations that it launched itself."},
    {"device_self_pct", "%", HU_CELL_PERCENT, 5, hu_has_device, device_self_pct, .values = "0..100|null",
     .help = "device_self_ns as a share of the sum over all rows; null without GPU operations."},
    {"device_total_ns", "dev total", HU_CELL_NS, 9, hu_has_device, device_total, .values = "0..",
     .source = "torch.profiler: device_time_total",
     .help = "Time of the GPU operations launched in it, however deep; those of a call inside of another of this row "
             "count once."},
    {"device_mean_ns", NULL, HU_CELL_NS, 0, NULL, device_mean, .values = "0..",
     .help = "device_total_ns per call."},
    {"host_self_ns", "host self", HU_CELL_NS, 9, NULL, host_self, .values = "0..",
     .source = "torch.profiler: self_cpu_time_total",
     .help = "Host time without the operators, annotations and calls inside."},
    {"host_self_pct", "%", HU_CELL_PERCENT, 5, hu_has_no_device, host_self_pct, .values = "0..100|null",
     .help = "host_self_ns as a share of the sum over all rows."},
    {"host_total_ns", "host total", HU_CELL_NS, 10, hu_has_no_device, host_total, .values = "0..",
     .source = "torch.profiler: cpu_time_total",
     .help = "Host time as a sum of durations: nested calls of one name count again."},
    {"host_mean_ns", NULL, HU_CELL_NS, 0, NULL, host_mean, .values = "0..",
     .help = "host_total_ns per call."},
    {"calls", "calls", HU_CELL_COUNT, 6, NULL, calls, .values = "1..",
     .help = "Number of calls."},
    {"calls_per_step", NULL, HU_CELL_NUMBER, 0, NULL, calls_per_step, .values = "0..|null", .unit = "per step",
     .help = "Calls inside the counted steps over their number; null without steps."},
    {"host_self_bytes", "memory", HU_CELL_BYTES, 8, has_host_memory_only, host_bytes, .is_wide = true,
     .source = "torch.profiler: self_cpu_memory_usage",
     .help = "CPU memory that it allocated minus what it freed itself; null when allocations were not captured."},
    {"device_self_bytes", "dev mem", HU_CELL_BYTES, 8, has_device_memory, device_bytes, .is_wide = true,
     .source = "torch.profiler: self_device_memory_usage",
     .help = "Device memory that it allocated minus what it freed itself; null when allocations were not captured."},
    {"kind", NULL, HU_CELL_TEXT, 0, NULL, kind, .values = "cpu_op|python_function|user_annotation|runtime|driver",
     .help = "Kind of its first call."},
    {"shapes", NULL, HU_CELL_TEXT, 0, NULL, shapes,
     .help = "Input shapes as recorded; empty unless --group-by shapes."},
    {"stack", NULL, HU_CELL_TEXT, 0, NULL, stack,
     .help = "Python frames around it, innermost first; empty unless --group-by stack."},
    {"module", NULL, HU_CELL_TEXT, 0, NULL, module,
     .help = "nn.Modules around it, outermost first; empty unless --group-by module."},
    {NULL, "shapes", HU_CELL_TEXT, 20, by_shapes, any_group,
     .help = "Input shapes, with --group-by shapes."},
    {NULL, "name", HU_CELL_TEXT, 20, by_place, name,
     .help = "Name of the operator, with --group-by stack or module."},
    {NULL, "in", HU_CELL_TEXT, 0, by_place, any_group,
     .help = "Python stack or nn.Modules around it, with --group-by stack or module."},
    {"name", "name", HU_CELL_TEXT, 0, by_no_place, name,
     .help = "Name; ProfilerStep* stands for all steps together, and so does the word of numbered ones."},
};

const hu_table hu_table_operators = {
    .key = "operators", .title = "Operators", .columns = columns, .n_columns = HU_COUNT(columns), .rows = rows,
    .empty = "no operators were recorded",
    .about = "Operators, annotations and runtime calls, summed by name, or by name and shapes, stack or module with "
             "--group-by.",
};
/* clang-format on */

static const hu_table *const tables[] = {&hu_table_operators};

/* clang-format off */
const hu_view hu_view_operators = {
    .word = "ops", .key = "operators", .is_list = true, .tables = tables, .n_tables = HU_COUNT(tables),
    .about = "operators; --group-by shapes, stack or module tells them apart",
};
/* clang-format on */
