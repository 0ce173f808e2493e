/* SPDX-License-Identifier: Apache-2.0
 * edit_wakes.c - waits for what another thread does (wakes.c), as if nobody had to wait. */
#include <math.h>

#include "graph/edit_host.h"

size_t hu_edit_wakes(const hu_edit_facts *f, hu_class class, const hu_edit *e, hu_costs *c)
{
    const hu_graph *g = f->g;
    size_t          n = 0;

    for (size_t i = 0; f->lane_before && i < g->n_nodes && isinf(e->factor); i++) {
        const uint32_t before = f->lane_before[i];

        if (g->node[i].after == HU_NONE || before == HU_NONE || g->node[before].class != class)
            continue;
        c->node_flags[i] |= HU_EDIT_NO_AFTER;
        n++;
    }
    return n;
}
