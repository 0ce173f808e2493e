/* SPDX-License-Identifier: Apache-2.0
 * pipeline_scenarios.c - many replays of the same steps.
 *
 * Steps do not depend on each other, so they are dealt out to threads; there the graph of a step stays in the cache for
 * all scenarios.  A replay is one sweep over the operations, and so is laying out their costs.
 */
#include "graph/pipeline_scenarios.h"

#include "base/thread.h"

hu_operation_kind hu_pipeline_type(hu_operation_kind kind)
{
    hu_operation_kind first = 0;

    while (strcmp(hu_operation_type(first), hu_operation_type(kind)) != 0)
        first++;
    return first;
}

size_t hu_pipeline_scenario_add(hu_pipeline_scenarios *s, hu_pipeline_scenario scenario)
{
    return hu_vec_push(s->arena, &s->all, scenario) ? s->all.n - 1 : SIZE_MAX;
}

/* out[i] = yes[i] where `test` holds, else no[i]. */
/* clang-format off */
#define CHOOSE(test)                      \
    for (uint32_t i = 0; i < s->n; i++)   \
        out[i] = (test) ? yes[i] : no[i]
/* clang-format on */

static void choose(const hu_pipeline *p, const hu_pipeline_scenario *c, const hu_pipeline_step *s, const double *yes,
                   const double *no, double *out)
{
    uint8_t types[HU_OPERATION_COUNT];

    for (hu_operation_kind k = 0; k < HU_OPERATION_COUNT; k++)
        types[k] = (uint8_t)hu_pipeline_type(k);
    switch (c->by) {
    case HU_SELECT_NONE:
        memcpy(out, no, s->n * sizeof *out);
        break;
    case HU_SELECT_ALL:
        memcpy(out, yes, s->n * sizeof *out);
        break;
    case HU_SELECT_DP:
        CHOOSE(p->workers[s->worker[i]].dp == c->id);
        break;
    case HU_SELECT_STAGE:
        CHOOSE(p->workers[s->worker[i]].stage == c->id);
        break;
    case HU_SELECT_WORKER:
        CHOOSE(s->worker[i] == c->id);
        break;
    case HU_SELECT_WORKERS:
        CHOOSE(c->set[s->worker[i]]);
        break;
    case HU_SELECT_TYPE:
        CHOOSE(types[s->kind[i]] == c->id);
        break;
    case HU_SELECT_LAUNCH_TYPE:
        CHOOSE((s->is_first[i] ? (uint32_t)HU_PIPELINE_FIRST_TYPE : types[s->kind[i]]) == c->id);
        break;
    }
}

/* A job of the threads: all new scenarios of one step. */
static void replay_step(void *context, size_t k)
{
    hu_pipeline_scenarios  *all = context;
    const hu_pipeline_step *s = &all->p->steps[all->kept[k]];
    double                 *cost = s->scratch, *end = cost + s->n, *ideal = end + s->n, *none = ideal + s->n;

    for (uint32_t i = 0; i < s->n; i++) {
        ideal[i] = s->is_frozen[i] ? s->cost_ns[i] : all->ideal_ns[s->kind[i]];
        none[i] = 0;
    }
    for (size_t j = all->n_done; j < all->all.n; j++) {
        const hu_pipeline_scenario *c = &all->all.at[j];
        const double               *costs = cost, *delays = NULL;

        switch (c->mode) {
        case HU_SCENARIO_ALONE:
            choose(all->p, c, s, s->cost_ns, ideal, cost);
            break;
        case HU_SCENARIO_FIXED:
            choose(all->p, c, s, ideal, s->cost_ns, cost);
            break;
        case HU_SCENARIO_DELAYED:
            choose(all->p, c, s, s->delay_ns, none, cost);
            delays = cost;
            costs = s->cost_ns;
            break;
        case HU_SCENARIO_LEVELLED:
            for (uint32_t i = 0; i < s->n; i++)
                cost[i] = hu_pipeline_level_ns(all->lengths, s, i);
            break;
        case HU_SCENARIO_BALANCED:
            for (uint32_t i = 0; i < s->n; i++)
                cost[i] = s->cost_ns[i] * all->factor[all->p->workers[s->worker[i]].stage * HU_OPERATION_COUNT + s->kind[i]];
            break;
        }
        all->step_ns[j * all->n_steps + k] = hu_pipeline_replay(s, costs, delays, end);
    }
}

bool hu_pipeline_scenarios_replay(hu_pipeline_scenarios *s, int threads)
{
    double *grown;
    size_t  n, bytes;

    if (!hu_mul_size(s->all.n, s->n_steps, &n) || !hu_mul_size(n, sizeof *grown, &bytes))
        return false;
    grown = hu_arena_grow(s->arena, s->step_ns, bytes);
    if (!grown)
        return false;
    s->step_ns = grown;
    hu_thread_each(s->n_steps, threads, replay_step, s);
    s->n_done = s->all.n;
    return true;
}

double hu_pipeline_scenario_mean(const hu_pipeline_scenarios *s, size_t scenario)
{
    double sum = 0;

    for (size_t k = 0; k < s->n_steps; k++)
        sum += s->step_ns[scenario * s->n_steps + k];
    return sum / (double)s->n_steps;
}
