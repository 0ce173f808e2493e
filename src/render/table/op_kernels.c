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

static const hu_column columns[] = {
    {"total_ns", "total", HU_CELL_NS, 9, NULL, total},
    {"total_pct", "%", HU_CELL_PERCENT, 5, NULL, pct},
    {"calls", "calls", HU_CELL_COUNT, 6, NULL, calls},
    {"operator", "operator", HU_CELL_TEXT, 24, NULL, op},
    {"source", "called in", HU_CELL_TEXT, 26, has_source, source, .is_wide = true},
    {"name", "device work", HU_CELL_TEXT, 0, NULL, kernel},
};

static const hu_table table = {
    "rows", "Operators and their kernels", "no GPU operations recorded", columns, HU_COUNT(columns), rows};
static const hu_table *const tables[] = {&table};

/* clang-format off */
const hu_view hu_view_op_kernels = {
    .word = "op-kernels", .key = "operator_kernels", .is_list = true, .tables = tables, .n_tables = HU_COUNT(tables),
    .about = "which kernels each operator launches, and from which line",
};
/* clang-format on */
