/* SPDX-License-Identifier: Apache-2.0
 * graph_wire.c - the fields of a graph, in the order of their structs.
 *
 * A new field needs a row here, or this file does not compile (base/wire.h).
 */
#include "graph/graph_wire.h"

#include "base/wire.h"
#include "graph/edit.h"

/* clang-format off */
#define NODE(F, T) \
    F(T, I64, start_ns) F(T, I64, seen_ns) F(T, I64, cost_ns) F(T, U32, lane) F(T, U32, slice) F(T, U32, ops) \
    F(T, U32, n_ops) F(T, U32, waits) F(T, U32, n_waits) F(T, U32, after) F(T, U32, merged) \
    F(T, U8, class, HU_CLASS_COUNT) F(T, U8, in, 0) F(T, U8, call, HU_CALL_KINDS)
HU_WIRE_TABLE(hu_node, NODE);

#define OP(F, T) \
    F(T, I64, start_ns) F(T, I64, cost_ns) F(T, I64, frozen_ns) F(T, U32, slice) F(T, U32, node) F(T, U32, stream) \
    F(T, U32, before) F(T, U32, deps) F(T, U32, n_deps) F(T, U32, full) F(T, I32, launch_ns) F(T, I32, gap_ns) \
    F(T, U8, class, HU_CLASS_COUNT) F(T, BOOL, has_launch) F(T, BOOL, in_graph) F(T, I16, step)
/* clang-format on */
HU_WIRE_TABLE(hu_op, OP);

#define LINK(F, T) F(T, U32, from) F(T, I32, weight_ns) F(T, U8, at, HU_AT_NODE_END + 1) F(T, U8, class, HU_CLASS_COUNT)
HU_WIRE_TABLE(hu_link, LINK);

#define MARK(F, T) F(T, U32, mark) F(T, I64, host_end_ns) F(T, I64, end_ns)
HU_WIRE_TABLE(hu_mark, MARK);

HU_WIRE_TABLE(hu_calibration, HU_CALIBRATION_FIELDS);

#define EFFECT(F, T) F(T, U64, cause) F(T, F64, scatter) F(T, STR, changes) F(T, U8, edit, HU_EDIT_KINDS) F(T, BOOL, is_told)
HU_WIRE_TABLE(hu_effect, EFFECT);

/* clang-format off */
#define GRAPH(F, T) \
    F(T, LEFT, ask) F(T, LIST, node, n_nodes, hu_node) F(T, LIST, op, n_ops, hu_op) F(T, LIST, link, n_links, hu_link) \
    F(T, SIZE, n_nodes) F(T, SIZE, n_ops) F(T, SIZE, n_links) F(T, LEFT, merged) F(T, U32, n_lanes) F(T, U32, n_streams) \
    F(T, U32, main_lane) \
    F(T, LIST, mark, n_marks, hu_mark) F(T, SIZE, n_marks) F(T, I64, from_ns) F(T, I64, shrunk_ns) F(T, F64, step_ns) \
    F(T, PART, calibration, hu_calibration) F(T, LIST, effect, n_effects, hu_effect) F(T, SIZE, n_effects) \
    F(T, F64, covered) F(T, BOOL, is_whole) F(T, BOOL, is_first)
/* clang-format on */
HU_WIRE_TABLE(hu_graph, GRAPH);

int hu_graph_pack(const hu_graph *g, hu_arena *arena, hu_str *out, hu_error *err)
{
    hu_arena *scratch = hu_arena_new();
    const int rc = scratch ? hu_wire_pack(&hu_graph_wire, g, arena, scratch, out, err) : hu_fail_memory(err);

    hu_arena_free(scratch);
    return rc;
}

hu_graph *hu_graph_unpack(hu_str bytes, hu_arena *arena, hu_error *err)
{
    hu_graph *g = hu_arena_calloc(arena, 1, sizeof *g);
    const int rc = g ? hu_wire_unpack(&hu_graph_wire, bytes, arena, g, err) : hu_fail_memory(err);

    if (rc < 0)
        return NULL;
    if (!hu_graph_is_sound(g)) {
        hu_fail(err, HU_EFORMAT, NULL, HU_NO_OFFSET, "packed results are corrupt at rows of the graph");
        return NULL;
    }
    return g;
}
