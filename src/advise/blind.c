/* SPDX-License-Identifier: Apache-2.0
 * blind.c - that no fix was found says something only where the graph shows what the step waits for.
 */
#include "advise/blind.h"

#include <stdio.h>

#include "advise/say.h"

static const double MOST_UNLAUNCHED = 0.5; /* of the GPU operations of the window */
static const double MOST_IDLE = 0.10;      /* of the step; as the verdict's limit for naming a share */

bool hu_blind_to_launches(const hu_graph *g)
{
    size_t n = 0;

    for (size_t i = 0; i < g->n_ops; i++)
        n += !g->op[i].has_launch && !g->op[i].in_graph;
    return (double)n > MOST_UNLAUNCHED * (double)g->n_ops;
}

hu_blind hu_blind_of(const hu_digest *d, const hu_graph *g)
{
    const hu_step_time *t = hu_digest_step_time(d);
    const int64_t       unlaunched = g->calibration.unlaunched;
    hu_blind            said = {""};

    if (d->health.missing & 1u << HU_MISSING_DEVICE)
        snprintf(said.t, sizeof said.t, "no GPU operation was recorded");
    else if (g->n_ops && (double)unlaunched > MOST_UNLAUNCHED * (double)g->n_ops)
        snprintf(said.t, sizeof said.t, "%s of %s GPU operations have no launch in the replayed time",
                 hu_say_count(unlaunched).t, hu_say_count((int64_t)g->n_ops).t);
    else if (t && d->breakdown.has_device && t->idle_ns >= MOST_IDLE * t->step_ns)
        snprintf(said.t, sizeof said.t, "what the GPU waits for was not recorded");
    return said;
}
