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

static const hu_column columns[] = {
    {"device_self_ns", "dev self", HU_CELL_NS, 9, hu_has_device, device_self},
    {"device_self_pct", "%", HU_CELL_PERCENT, 5, hu_has_device, device_self_pct},
    {"device_total_ns", "dev total", HU_CELL_NS, 9, hu_has_device, device_total},
    {"device_mean_ns", NULL, HU_CELL_NS, 0, NULL, device_mean},
    {"host_self_ns", "host self", HU_CELL_NS, 9, NULL, host_self},
    {"host_self_pct", "%", HU_CELL_PERCENT, 5, hu_has_no_device, host_self_pct},
    {"host_total_ns", "host total", HU_CELL_NS, 10, hu_has_no_device, host_total},
    {"host_mean_ns", NULL, HU_CELL_NS, 0, NULL, host_mean},
    {"calls", "calls", HU_CELL_COUNT, 6, NULL, calls},
    {"calls_per_step", NULL, HU_CELL_NUMBER, 0, NULL, calls_per_step},
    {"host_self_bytes", "memory", HU_CELL_BYTES, 8, has_host_memory_only, host_bytes, true},
    {"device_self_bytes", "dev mem", HU_CELL_BYTES, 8, has_device_memory, device_bytes, true},
    {"kind", NULL, HU_CELL_TEXT, 0, NULL, kind},
    {"shapes", NULL, HU_CELL_TEXT, 0, NULL, shapes},
    {"stack", NULL, HU_CELL_TEXT, 0, NULL, stack},
    {"module", NULL, HU_CELL_TEXT, 0, NULL, module},
    {NULL, "shapes", HU_CELL_TEXT, 20, by_shapes, any_group},
    {NULL, "name", HU_CELL_TEXT, 20, by_place, name},
    {NULL, "in", HU_CELL_TEXT, 0, by_place, any_group},
    {"name", "name", HU_CELL_TEXT, 0, by_no_place, name},
};

const hu_table hu_table_operators = {"operators", "Operators",       "no operators were recorded",
                                     columns,     HU_COUNT(columns), rows};

static const hu_table *const tables[] = {&hu_table_operators};

/* clang-format off */
const hu_view hu_view_operators = {
    .word = "ops", .key = "operators", .is_list = true, .tables = tables, .n_tables = HU_COUNT(tables),
    .about = "operators; --group-by shapes, stack or module tells them apart",
};
/* clang-format on */
