/* SPDX-License-Identifier: Apache-2.0
 * op_kernels.c - from operators to their kernels, and to the lines that called them. */
#include "render/table/cells.h"

static bool has_source(const hu_rank *rank)
{
    const hu_digest *d = rank->digest;

    for (size_t i = 0; i < d->op_kernels.n; i++)
        if (d->op_kernels.at[i].source.n)
            return true;
    return false;
}

HU_NUMBER(total, op_kernels, r->total_ns)
HU_NUMBER(pct, op_kernels, hu_share_pct((double)r->total_ns, (double)(d->kernels.total_ns + d->copies.total_ns)))
HU_NUMBER(calls, op_kernels, r->calls)
HU_TEXT(op, op_kernels, r->op)
HU_TEXT(kernel, op_kernels, r->kernel)
HU_PLAIN_TEXT_OF(source, d->op_kernels.at, r->source)
HU_ROWS(rows, op_kernels)

/* clang-format off */
static const hu_column columns[] = {
    {"total_ns", "total", HU_CELL_NS, 9, NULL, total, .values = "0..",
     .help = "Sum of the durations of these GPU operations."},
    {"total_pct", "%", HU_CELL_PERCENT, 5, NULL, pct,
     .help = "total_ns as a share of the time of all kernels and copies."},
    {"calls", "calls", HU_CELL_COUNT, 6, NULL, calls, .values = "1..",
     .help = "Number of GPU operations."},
    {"operator", "operator", HU_CELL_TEXT, 24, NULL, op,
     .help = "Innermost operator or annotation around the launch; empty when unknown."},
    {"source", "called from", HU_CELL_TEXT, 26, has_source, source, .is_wide = true,
     .help = "Innermost Python line around it that is not PyTorch's own; empty without stacks."},
    {"name", "GPU operation", HU_CELL_TEXT, 0, NULL, kernel,
     .help = "Name of the kernel, copy or memset."},
};

static const hu_table table = {
    .key = "rows", .title = "Operators and their kernels", .columns = columns, .n_columns = HU_COUNT(columns), .rows = rows,
    .empty = "no GPU operations recorded",
    .about = "GPU operations by the operator and source line that launched them.",
};
/* clang-format on */
static const hu_table *const tables[] = {&table};

/* clang-format off */
const hu_view hu_view_op_kernels = {
    .word = "op-kernels", .key = "operator_kernels", .is_list = true, .tables = tables, .n_tables = HU_COUNT(tables),
    .about = "which kernels each operator launches, and from which line",
};
/* clang-format on */
