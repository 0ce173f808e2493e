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

/* clang-format off */
static const hu_column columns[] = {
    {"device_total_ns", "device", HU_CELL_NS, 9, hu_has_device, device,
     .help = "Time of the GPU operations launched in it, however deep."},
    {"host_total_ns", "host", HU_CELL_NS, 9, NULL, host,
     .help = "Host time, children included."},
    {"host_self_ns", "self", HU_CELL_NS, 9, NULL, host_self,
     .help = "Host time without its children."},
    {"calls", "calls", HU_CELL_COUNT, 7, NULL, calls,
     .help = "Slices with this path."},
    {"depth", NULL, HU_CELL_COUNT, 0, NULL, depth,
     .help = "Number of nodes around it."},
    {"parent", NULL, HU_CELL_COUNT, 0, NULL, parent,
     .help = "Row number of the node around it, from 0; null for a root; --sort does not move these rows."},
    {"name", NULL, HU_CELL_TEXT, 0, NULL, name,
     .help = "Operator or annotation; ProfilerStep* stands for all steps, and so does the word of numbered ones."},
    {NULL, "operator", HU_CELL_TEXT, 0, NULL, indented,
     .help = "Operator or annotation, indented by its depth."},
};

static const hu_table table = {
    .key = "nodes", .title = "Call tree", .columns = columns, .n_columns = HU_COUNT(columns), .rows = rows,
    .is_ordered = true, .empty = "no operators were recorded",
    .about = "Operators and annotations by the path of names that leads to them, over all threads.",
};
/* clang-format on */
static const hu_table *const tables[] = {&table};

HU_FACT(hidden, d->tree.hidden)

/* clang-format off */
static const hu_column facts[] = {
    {"hidden", "paths too small to list", HU_CELL_COUNT, 0, NULL, hidden,
     .help = "Paths that cost too little to be listed."},
};

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

/* clang-format off */
static const hu_column sequence_columns[] = {
    {"count", "count", HU_CELL_COUNT, 6, NULL, count, .source = "HTA: get_frequent_cuda_kernel_sequences",
     .help = "Occurrences of the sequence."},
    {"length", "length", HU_CELL_COUNT, 6, NULL, length,
     .help = "Kernels in one occurrence."},
    {"device_ns", "device", HU_CELL_NS, 9, NULL, sequence_device,
     .help = "Time of the kernels of all occurrences."},
    {"host_ns", "host", HU_CELL_NS, 9, NULL, sequence_host,
     .help = "Host time of the operators."},
    {"operator", "operator", HU_CELL_TEXT, 18, NULL, op,
     .help = "Operator that launches them."},
    {"kernels", "kernels", HU_CELL_TEXT, 0, NULL, kernels,
     .help = "Labels of the kernels in order, joined by arrows."},
};

static const hu_table sequences = {
    .key = "sequences", .title = "Repeated kernel sequences",
    .columns = sequence_columns, .n_columns = HU_COUNT(sequence_columns), .rows = sequence_rows,
    .empty = "no operator launches three or more kernels",
    .about = "Sequences of 3 to 64 kernels that an operator launches in the same order again.",
};
/* clang-format on */
static const hu_table *const sequence_tables[] = {&sequences};

/* clang-format off */
const hu_view hu_view_sequences = {
    .word = "sequences", .key = "kernel_sequences", .is_list = true, .tables = sequence_tables,
    .n_tables = HU_COUNT(sequence_tables),
    .about = "kernel sequences that an operator launches repeatedly",
};
/* clang-format on */
