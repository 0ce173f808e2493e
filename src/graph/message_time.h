/* SPDX-License-Identifier: Apache-2.0
 * message_time.h - how much of a call of MPI can be communication, and is not waiting for another rank. */
#ifndef HU_GRAPH_MESSAGE_TIME_H
#define HU_GRAPH_MESSAGE_TIME_H

#include "graph/graph.h"

/*
 * *of_node, in `arena`: ns that the bytes of each node's call of MPI can take; its whole time where its bytes are not
 * recorded, or where it is no call of MPI.  NULL: there is no such call.  False: no memory.
 */
bool hu_message_time_find(const hu_graph *g, hu_arena *arena, int64_t **of_node);

#endif
