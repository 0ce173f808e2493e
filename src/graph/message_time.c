/* SPDX-License-Identifier: Apache-2.0
 * message_time.c - one rank's trace says how long it was in a call of MPI, not for how long it waited there for others.  But
 * eight bytes never take a millisecond: what a call takes beyond the time of its bytes is waiting (analyze/mpi_calls.h).
 */
#include "graph/message_time.h"

#include "analyze/mpi_calls.h"

/* Bytes of the one message that MPI_Wait waits for, where it is known; -1. */
static int64_t bytes_of_wait(const hu_ask *ask, uint32_t slice)
{
    const uint32_t row = ask->s.detail[slice];

    if (ask->s.kind[slice] != HU_KIND_MPI || row == HU_NONE || !hu_str_equal(hu_ask_name(ask, slice), HU_STR("MPI_Wait")) ||
        hu_trace_mpi_detail(ask->trace, row)->peer < 0)
        return -1;
    return hu_trace_mpi_detail(ask->trace, row)->bytes;
}

static int64_t most_ns(const hu_ask *ask, const hu_node *n)
{
    hu_mpi_call call;
    int64_t     most;

    if (n->class != HU_CLASS_HOST_COMM || n->slice == HU_NONE)
        return n->cost_ns;
    most = hu_mpi_calls_describe(ask->trace, &ask->s, n->slice, &call)
               ? hu_mpi_calls_most_ns(call.kind, call.bytes)
               : hu_mpi_calls_most_ns(HU_COMM_EXCHANGE, bytes_of_wait(ask, n->slice));
    return most < n->cost_ns ? most : n->cost_ns;
}

bool hu_message_time_find(const hu_graph *g, hu_arena *arena, int64_t **of_node)
{
    size_t first = 0;

    *of_node = NULL;
    while (first < g->n_nodes && (g->node[first].class != HU_CLASS_HOST_COMM || g->node[first].slice == HU_NONE ||
                                  g->ask->s.kind[g->node[first].slice] != HU_KIND_MPI))
        first++;
    if (first == g->n_nodes)
        return true;
    *of_node = hu_arena_alloc(arena, (g->n_nodes + 1) * sizeof **of_node);
    if (!*of_node)
        return false;
    for (size_t i = 0; i < g->n_nodes; i++)
        (*of_node)[i] = most_ns(g->ask, &g->node[i]);
    return true;
}
