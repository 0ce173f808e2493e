/* SPDX-License-Identifier: Apache-2.0
 * graph_wire.h - a graph as bytes and back, so that another process can replay it with those of other ranks. */
#ifndef HU_GRAPH_GRAPH_WIRE_H
#define HU_GRAPH_GRAPH_WIRE_H

#include "graph/graph.h"

/* All but `ask`.  *out lives in `arena`.  Returns 0 or HU_ENOMEM. */
int hu_graph_pack(const hu_graph *g, hu_arena *arena, hu_str *out, hu_error *err);

/* As hu_graph_copy would have made it, in `arena`.  NULL, and HU_ENOMEM or HU_EFORMAT in *err, on failure. */
hu_graph *hu_graph_unpack(hu_str bytes, hu_arena *arena, hu_error *err);

/* The rows of hu_calibration, which findings hold too (base/wire.h). */
/* clang-format off */
#define HU_CALIBRATION_FIELDS(F, T) \
    F(T, I64S, launch_ns) F(T, I64, gap_ns) F(T, I64, most_gap_ns) F(T, BOOL, is_gap_seen) F(T, I64, event_ns) \
    F(T, I64S, call_ns) F(T, I64, queue) F(T, I64, ops) F(T, I64, local) F(T, I64, inferred) F(T, I64, frozen) \
    F(T, I64, unlaunched) F(T, I64, event_links) F(T, I64, wait_links) F(T, I64, loader_waits) \
    F(T, BOOL, has_loader_thread) F(T, I64, loader_threads) F(T, BOOL, loaders_wait)
/* clang-format on */

#endif
