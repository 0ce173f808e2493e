/* SPDX-License-Identifier: Apache-2.0
 * scenario.c - runs the replay of a finding's edit once more, and keeps the instants of one step.
 *
 * A step of the replay is laid over the measured one by the end of the step before it, so that their ends compare.  What
 * is drawn are the graph's own pieces: an operator that launches twice is three, because each can wait for something else.
 */
#include "timeline/scenario.h"

#include <stdlib.h>

static int by_length(const void *left, const void *right)
{
    const int64_t *a = left, *b = right;

    return a[0] != b[0] ? (a[0] > b[0]) - (a[0] < b[0]) : (a[1] > b[1]) - (a[1] < b[1]);
}

/* The step of median length, by its index; SIZE_MAX when there is no memory. */
static size_t typical_step(const hu_graph *g, hu_arena *arena)
{
    const size_t n = g->n_marks - 1;
    int64_t(*steps)[2] = hu_arena_calloc(arena, n + 1, sizeof *steps);

    if (!steps)
        return SIZE_MAX;
    for (size_t i = 0; i < n; i++) {
        steps[i][0] = g->mark[i + 1].end_ns - g->mark[i].end_ns;
        steps[i][1] = (int64_t)i;
    }
    qsort(steps, n, sizeof *steps, by_length);
    return (size_t)steps[(n - 1) / 2][1];
}

/* One replay, and the step that is taken out of it. */
typedef struct {
    const hu_graph    *g;
    hu_replay_instants at;
    size_t             step;
    int64_t            from_ns, to_ns; /* of the step on the host, in the replay */
    int64_t            shift_ns;       /* what makes a time of the trace of one of the replay */
    hu_scenario_track *tracks;         /* lanes, then streams */
} cut;

/* When the host passed a mark in the replay. */
static int64_t host_mark(const cut *c, size_t mark)
{
    const uint32_t node = c->g->mark[mark].mark;

    return node < c->g->n_nodes ? c->at.node_begin[node] : INT64_MAX;
}

static bool takes_node(const cut *c, size_t i)
{
    return c->at.node_begin[i] >= c->from_ns && c->at.node_begin[i] < c->to_ns && c->at.node_end[i] > c->at.node_begin[i];
}

static bool takes_op(const cut *c, size_t i)
{
    return c->g->op[i].step == (int)c->step && c->at.op_end[i] > c->at.op_start[i];
}

static bool make_room(const cut *c, hu_arena *arena)
{
    const hu_graph *g = c->g;

    for (size_t i = 0; i < g->n_nodes; i++)
        c->tracks[g->node[i].lane].n += takes_node(c, i);
    for (size_t i = 0; i < g->n_ops; i++)
        c->tracks[g->n_lanes + g->op[i].stream].n += takes_op(c, i);
    for (size_t k = 0; k < (size_t)g->n_lanes + g->n_streams; k++) {
        hu_scenario_track *t = &c->tracks[k];

        t->track = HU_NONE;
        t->start_ns = hu_arena_alloc(arena, (t->n + 1) * sizeof *t->start_ns);
        t->dur_ns = hu_arena_alloc(arena, (t->n + 1) * sizeof *t->dur_ns);
        t->slice = hu_arena_alloc(arena, (t->n + 1) * sizeof *t->slice);
        t->class = hu_arena_alloc(arena, t->n + 1);
        if (!t->start_ns || !t->dur_ns || !t->slice || !t->class)
            return false;
        t->n = 0;
    }
    return true;
}

static void put(const cut *c, size_t track, uint32_t slice, uint8_t class, int64_t start_ns, int64_t end_ns)
{
    hu_scenario_track *t = &c->tracks[track];

    if (slice != HU_NONE)
        t->track = c->g->ask->s.track[slice];
    t->start_ns[t->n] = start_ns + c->shift_ns;
    t->dur_ns[t->n] = end_ns - start_ns;
    t->slice[t->n] = slice;
    t->class[t->n++] = class;
}

static int build_one(const cut *c, hu_arena *arena, hu_error *err)
{
    const hu_graph *g = c->g;

    if (!make_room(c, arena))
        return hu_fail_memory(err);
    for (size_t i = 0; i < g->n_nodes; i++)
        if (takes_node(c, i))
            put(c, g->node[i].lane, g->node[i].slice, g->node[i].class, c->at.node_begin[i], c->at.node_end[i]);
    for (size_t i = 0; i < g->n_ops; i++)
        if (takes_op(c, i))
            put(c, g->n_lanes + g->op[i].stream, g->op[i].slice, g->op[i].class, c->at.op_start[i], c->at.op_end[i]);
    return 0;
}

/* Is what it saves perhaps only waiting for other ranks?  Collectives of the host do not tell, and then it may still go. */
static bool is_in_doubt(const hu_graph *g, const hu_finding *f)
{
    if (f->rule != HU_RULE_EXPOSED_COMM && f->rule != HU_RULE_POOR_OVERLAP)
        return false;
    for (size_t i = 0; i < g->n_ops; i++)
        if (g->op[i].class == HU_CLASS_COMM)
            return false;
    return true;
}

int hu_scenarios_build(hu_simulation *s, const hu_findings *findings, hu_arena *arena, hu_scenario *out, hu_error *err)
{
    const hu_graph *g = &s->graph;
    const size_t    step = g->n_marks > 1 ? typical_step(g, arena) : 0, n_tracks = (size_t)g->n_lanes + g->n_streams;
    int64_t        *ends = hu_arena_alloc(arena, (g->n_marks + 1) * sizeof *ends);
    int             n = 0, rc;

    if (!ends || step == SIZE_MAX)
        return hu_fail_memory(err);
    for (size_t i = 0; i < findings->n && n < HU_SCENARIOS && g->n_marks > 1 && !g->is_whole; i++) {
        const hu_finding *f = &findings->at[i];
        hu_scenario      *x = &out[n];
        hu_costs         *costs = hu_pricer_costs(s->pricer);
        cut               c = {.g = g, .step = step};

        if (f->edit.kind == HU_EDIT_KINDS || !(f->gain_pct > 0) || is_in_doubt(g, f))
            continue;
        hu_edit_apply(hu_pricer_facts(s->pricer), &f->edit, costs);
        hu_replay_run(hu_pricer_replay(s->pricer), costs, ends);
        c.at = hu_replay_get(hu_pricer_replay(s->pricer));
        c.from_ns = host_mark(&c, step);
        c.to_ns = host_mark(&c, step + 1);
        c.shift_ns = g->mark[step].end_ns - ends[step];
        c.tracks = hu_arena_calloc(arena, n_tracks + 1, sizeof *c.tracks);
        if (!c.tracks)
            return hu_fail_memory(err);
        if ((rc = build_one(&c, arena, err)) < 0)
            return rc;
        *x = (hu_scenario){.rule = f->rule,
                           .start_ns = g->mark[step].end_ns,
                           .measured_end_ns = g->mark[step + 1].end_ns,
                           .simulated_end_ns = ends[step + 1] + c.shift_ns,
                           .tracks = c.tracks,
                           .n_tracks = n_tracks};
        n++;
    }
    return n;
}
