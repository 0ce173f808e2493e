/* SPDX-License-Identifier: Apache-2.0
 * tree.c - the call tree, and the sequences of kernels below operators. */
#include "render/table/cells.h"

HU_TEXT(name, tree, r->name)
HU_NUMBER(depth, tree, r->depth)
HU_NUMBER(parent, tree, r->parent != HU_NONE ? (double)r->parent : HU_ABSENT)
HU_NUMBER(calls, tree, r->calls)
HU_NUMBER(host, tree, r->host_total_ns)
HU_NUMBER(host_self, tree, r->host_self_ns)
HU_NUMBER(device, tree, r->device_total_ns)
HU_ROWS(rows, tree)

/* The name behind one space for each level, for people. */
static void indented(const hu_rank *rank, size_t row, hu_cell *out)
{
    const hu_digest *d = rank->digest;

    out->text = d->tree.at[row].name;
    out->indent = d->tree.at[row].depth;
}

static const hu_column columns[] = {
    {"device_total_ns", "device", HU_CELL_NS, 9, hu_has_device, device},
    {"host_total_ns", "host", HU_CELL_NS, 9, NULL, host},
    {"host_self_ns", "self", HU_CELL_NS, 9, NULL, host_self},
    {"calls", "calls", HU_CELL_COUNT, 7, NULL, calls},
    {"depth", NULL, HU_CELL_COUNT, 0, NULL, depth},
    {"parent", NULL, HU_CELL_COUNT, 0, NULL, parent},
    {"name", NULL, HU_CELL_TEXT, 0, NULL, name},
    {NULL, "operator", HU_CELL_TEXT, 0, NULL, indented},
};

static const hu_table        table = {"nodes", "Call tree", "no operators were recorded", columns, HU_COUNT(columns), rows};
static const hu_table *const tables[] = {&table};

HU_FACT(hidden, d->tree.hidden)

static const hu_column facts[] = {
    {"hidden", "paths too small to list", HU_CELL_COUNT, 0, NULL, hidden},
};

/* clang-format off */
const hu_view hu_view_tree = {
    .word = "tree", .key = "call_tree", .facts = facts, .n_facts = HU_COUNT(facts), .tables = tables,
    .n_tables = HU_COUNT(tables), .nothing = "no operators were recorded",
    .about = "the call tree of operators and annotations, most expensive first",
};
/* clang-format on */

/* sequences */

HU_TEXT(op, sequences, r->op)
HU_PLAIN_TEXT_OF(kernels, d->sequences.at, r->kernels)
HU_NUMBER(length, sequences, r->length)
HU_NUMBER(count, sequences, r->count)
HU_NUMBER(sequence_device, sequences, r->device_ns)
HU_NUMBER(sequence_host, sequences, r->host_ns)
HU_ROWS(sequence_rows, sequences)

static const hu_column sequence_columns[] = {
    {"count", "count", HU_CELL_COUNT, 6, NULL, count},
    {"length", "length", HU_CELL_COUNT, 6, NULL, length},
    {"device_ns", "device", HU_CELL_NS, 9, NULL, sequence_device},
    {"host_ns", "host", HU_CELL_NS, 9, NULL, sequence_host},
    {"operator", "operator", HU_CELL_TEXT, 18, NULL, op},
    {"kernels", "kernels", HU_CELL_TEXT, 0, NULL, kernels},
};

static const hu_table sequences = {
    "sequences",      "Repeated kernel sequences", "no operator launches three or more kernels",
    sequence_columns, HU_COUNT(sequence_columns),  sequence_rows};
static const hu_table *const sequence_tables[] = {&sequences};

/* clang-format off */
const hu_view hu_view_sequences = {
    .word = "sequences", .key = "kernel_sequences", .is_list = true, .tables = sequence_tables,
    .n_tables = HU_COUNT(sequence_tables),
    .about = "kernel sequences that an operator launches repeatedly",
};
/* clang-format on */
