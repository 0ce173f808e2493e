/* SPDX-License-Identifier: Apache-2.0
 * simulation.c - from a trace to a graph that has been replayed and checked once. */
#include "graph/simulation.h"

#include "analyze/peaks.h"

enum { MOST_JOBS = 16 }; /* that one question asks at a time, and so threads that help */

static double find_tensor_factor(const hu_trace *trace)
{
    const hu_device *d = hu_trace_main_device(trace);
    const hu_peaks  *p = d ? hu_peaks_find(hu_trace_text(trace, d->name), d->sm_count, d->memory_bytes) : NULL;

    return p && p->vector_fp32 > 0 ? (p->bf16 > 0 ? p->bf16 : p->fp16) / p->vector_fp32 : 0;
}

/* What the stage before worked with goes: it would lie beside all that is priced.  False: no memory. */
static bool renew_scratch(hu_simulation *s)
{
    const bool lacked = s->scratch && hu_arena_lacked(s->scratch);

    hu_arena_free(s->scratch);
    s->scratch = s->ask.scratch = hu_arena_new();
    return s->scratch && !lacked;
}

static int prepare(hu_simulation *s, const hu_ground *ground, const hu_graph_options *options, hu_error *err)
{
    const hu_graph_options usual = {0};
    int64_t               *ends;
    int                    rc;

    s->ask = ground->ask;
    s->ask.arena = s->arena;
    s->steps = ground->steps;
    if (s->steps.is_cut)
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET,
                       "the file may be cut before the GPU operations of %s are "
                       "complete",
                       hu_steps_cut_words(&s->steps));
    if (s->steps.is_backlog)
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET,
                       "the GPU still ran what was launched before these steps, and nothing of their own was recorded");
    s->ask.steps = &s->steps;
    if (!renew_scratch(s))
        return hu_fail_memory(err);
    if ((rc = hu_graph_build(&s->ask, options ? options : &usual, &s->graph, err)) < 0)
        return rc;
    if (!renew_scratch(s))
        return hu_fail_memory(err);
    s->tensor_factor = find_tensor_factor(s->ask.trace);
    s->pricer = hu_pricer_new(&s->graph, s->tensor_factor, s->arena);
    s->pricers = s->pricer ? hu_pricers_new(s->pricer, options ? options->threads : 1, MOST_JOBS) : NULL;
    ends = hu_arena_alloc(s->scratch, s->graph.n_marks * sizeof *ends);
    s->slack_ns = hu_arena_alloc(s->arena, (s->graph.n_ops + 1) * sizeof *s->slack_ns);
    if (!s->pricers || !ends || !s->slack_ns)
        return hu_fail_memory(err);
    if (!(hu_pricer_step_ns(s->pricer) > 0))
        return hu_fail(
            err, HU_EUSAGE, NULL, HU_NO_OFFSET,
            "its GPU operations have no launches and the host has no work, so no step can be replayed; record the "
            "calls that launch them, too");
    rc = hu_replay_path(hu_pricer_replay(s->pricer), hu_pricer_costs(s->pricer), ends, s->arena, &s->path, err);
    if (rc == 0) /* of that very replay, before there is another one */
        rc = hu_replay_slack(hu_pricer_replay(s->pricer), hu_pricer_costs(s->pricer), ends, s->scratch, s->slack_ns, err);
    if (rc == 0)
        rc = hu_check_measure(s->pricers, &s->path, ends, s->scratch, &s->check, err);
    if (rc == 0 && !renew_scratch(s))
        rc = hu_fail_memory(err);
    return rc == 0 && hu_arena_lacked(s->arena) ? hu_fail_memory(err) : rc;
}

hu_simulation *hu_simulation_new_on(const hu_ground *ground, const hu_graph_options *options, hu_error *err)
{
    hu_arena      *arena = hu_arena_new();
    hu_simulation *s = arena ? hu_arena_calloc(arena, 1, sizeof *s) : NULL;

    if (!s) {
        hu_arena_free(arena);
        hu_fail_memory(err);
        return NULL;
    }
    s->arena = arena;
    if (prepare(s, ground, options, err) == 0)
        return s;
    hu_simulation_free(s);
    return NULL;
}

hu_simulation *hu_simulation_new(const hu_trace *trace, const hu_step_range *range, const hu_graph_options *options,
                                 hu_error *err)
{
    hu_ground     *ground = hu_ground_new(trace, range, err);
    hu_simulation *s = ground ? hu_simulation_new_on(ground, options, err) : NULL;

    if (s)
        s->own_ground = ground;
    else
        hu_ground_free(ground);
    return s;
}

void hu_simulation_free(hu_simulation *s)
{
    if (!s)
        return;
    hu_pricers_free(s->pricers);
    hu_ground_free(s->own_ground);
    hu_arena_free(s->scratch);
    hu_arena_free(s->arena);
}
