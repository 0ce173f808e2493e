/* SPDX-License-Identifier: Apache-2.0
 * effect.h - what an edit did to the costs of one rank, kept beside its graph: it can be made again when the trace is gone,
 * together with those of other ranks (joint_price.h).
 *
 * An edit by name, or by what a kernel is, needs the trace.  What it came to does not: a list of the nodes and operations
 * that it changed, with the costs that it left them, some 3 to 6 bytes for each.
 */
#ifndef HU_GRAPH_EFFECT_H
#define HU_GRAPH_EFFECT_H

#include "graph/edit.h"

/* As the usual fix leaves it; as if it cost nothing; and with half of what that takes away. */
typedef enum { HU_EFFECT_USUAL, HU_EFFECT_FREE, HU_EFFECT_HALF } hu_effect_flavour;

/*
 * The changes of two sets of costs of `g` against those of the graph itself, as bytes in `arena`; "": nothing is changed.
 * False: no memory.
 */
bool hu_effect_record(const hu_graph *g, const hu_costs *usual, const hu_costs *free, hu_arena *arena, hu_str *out);

/* Makes the changes in *c, each as a share of what is there.  Returns how many nodes and operations it touched. */
size_t hu_effect_apply(const hu_graph *g, hu_str changes, hu_effect_flavour flavour, hu_costs *c);

/* Are these bytes changes of this graph?  True of all that was recorded of it; what came from another process is asked. */
bool hu_effect_is_sound(const hu_graph *g, hu_str changes);

#endif
