/* SPDX-License-Identifier: Apache-2.0
 * ground.c - names, unions, steps and phases do not depend on who asks: a digest and a graph beside it share them. */
#include "analyze/ground.h"

#include "analyze/main_thread.h"

hu_ground *hu_ground_new(const hu_trace *trace, const hu_step_range *range, hu_error *err)
{
    hu_arena  *arena = hu_arena_new(), *scratch = hu_arena_new();
    hu_ground *g = arena ? hu_arena_calloc(arena, 1, sizeof *g) : NULL;
    int        rc = g && scratch ? 0 : hu_fail_memory(err);

    if (rc == 0)
        rc = hu_ask_prepare(trace, arena, arena, &g->ask, err);
    if (rc == 0)
        rc = hu_steps_measure(trace, g->ask.names, range, arena, scratch, &g->steps, err);
    if (rc == 0)
        g->ask.main_track = hu_main_thread_find(trace, g->ask.names, g->steps.what, scratch);
    if (rc == 0 && hu_arena_lacked(scratch)) /* then no thread was found */
        rc = hu_fail_memory(err);
    if (rc == 0) {
        g->ask.steps = &g->steps;
        rc = hu_phase_spans_find(&g->ask, &g->phases, err);
    }
    hu_arena_free(scratch);
    if (rc < 0) {
        hu_arena_free(arena);
        return NULL;
    }
    g->arena = arena;
    g->ask.arena = g->ask.scratch = NULL;
    g->ask.phases = &g->phases;
    return g;
}

void hu_ground_free(hu_ground *g)
{
    if (g)
        hu_arena_free(g->arena);
}
