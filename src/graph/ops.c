/* SPDX-License-Identifier: Apache-2.0
 * ops.c - the device's work of the window, behind the nodes that launched it and in the order of its streams. */
#include "analyze/steady.h"
#include "graph/build.h"

enum { LONG_GAP_NS = 20000 }; /* inside of a graph: longer than the device needs from one kernel to the next */

static hu_class class_of(hu_kind kind)
{
    return kind == HU_KIND_KERNEL ? HU_CLASS_COMPUTE : kind == HU_KIND_COLLECTIVE ? HU_CLASS_COMM : HU_CLASS_COPY;
}

/* The node of the outermost call around a launch. */
static uint32_t node_of_launch(const hu_building *b, uint32_t launch)
{
    const hu_slices *s = &b->ask->s;

    for (uint32_t at = launch; at != HU_NONE && hu_kind_in(s->kind[at], HU_KINDS_CALL); at = s->parent[at]) {
        if (b->node_of_call[at])
            return b->node_of_call[at] - 1;
    }
    return HU_NONE;
}

/* The last node that began before a time; nodes are sorted by start. */
static uint32_t node_before(const hu_building *b, int64_t time_ns)
{
    uint32_t low = 0, high = (uint32_t)b->nodes.n;

    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;

        if (b->nodes.at[middle].start_ns <= time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? low - 1 : 0;
}

typedef struct {
    int64_t ns;
    int16_t step;
} launched;

/* The step of the window in which a launch lies; -1 before it.  Most launches are asked for in the order of time, so the
   search goes on where the one before it ended. */
static int16_t step_of(const hu_building *b, int64_t launched_ns, launched *last)
{
    int16_t step = launched_ns >= last->ns ? last->step : -1;

    for (size_t i = (size_t)(step + 1); i + 1 < b->g->n_marks && i < INT16_MAX && b->g->mark[i].host_end_ns <= launched_ns;
         i++)
        step = (int16_t)i;
    *last = (launched){launched_ns, step};
    return step;
}

static bool collect(hu_building *b)
{
    const hu_ask *ask = b->ask;

    for (size_t k = 0; k < ask->n_work; k++) {
        const uint32_t i = ask->work[k], launch = hu_trace_launch_of(ask->trace, i);
        const int64_t  end = hu_ask_end(ask, i);
        hu_op          op = {.start_ns = ask->s.start_ns[i],
                             .cost_ns = ask->s.dur_ns[i],
                             .slice = i,
                             .before = HU_NONE,
                             .full = HU_NONE,
                             .deps = HU_NONE,
                             .class = (uint8_t)class_of(ask->s.kind[i]),
                             .step = -1};

        if (op.start_ns >= b->to_ns && launch == HU_NONE && !hu_backlog_has(&b->backlog, i))
            continue;
        if (end <= b->from_ns)
            continue;
        if (launch != HU_NONE && ask->s.start_ns[launch] >= b->to_ns)
            continue;
        op.node = launch == HU_NONE ? HU_NONE : node_of_launch(b, launch);
        op.has_launch = op.node != HU_NONE;
        if (!op.has_launch) {
            b->g->calibration.unlaunched += !hu_backlog_has(&b->backlog, i);
            if (op.start_ns < b->from_ns) {
                op.cost_ns = end - b->from_ns;
                op.start_ns = b->from_ns;
            }
            op.node = node_before(b, op.start_ns);
        }
        if (!hu_vec_push(ask->scratch, &b->ops, op))
            return false;
    }
    return true;
}

/*
 * When work was launched, as far as its step goes.  What stands at the head of its stream without a launch was launched
 * before the window; of other such work, and where no steps are known, the place in its stream tells.
 */
static int64_t launched_at(const hu_building *b, const hu_op *op)
{
    const uint32_t launch = hu_trace_launch_of(b->ask->trace, op->slice);

    if (op->has_launch || b->g->is_whole)
        return b->nodes.at[op->node].start_ns;
    if (launch != HU_NONE)
        return b->ask->s.start_ns[launch];
    return hu_backlog_has(&b->backlog, op->slice) ? INT64_MIN : b->nodes.at[op->node].start_ns;
}

/*
 * What was queued on any stream before anything in the window was launched stands before all of that, in the order of time:
 * one stream's work may wait for another's, and links point forward.
 */
static void place_head(hu_building *b)
{
    uint32_t first = HU_NONE;

    for (size_t i = 0; i < b->ops.n; i++)
        if (b->ops.at[i].has_launch && b->ops.at[i].node < first)
            first = b->ops.at[i].node;
    for (size_t i = 0; i < b->ops.n; i++)
        if (hu_backlog_has(&b->backlog, b->ops.at[i].slice) && b->ops.at[i].node > first)
            b->ops.at[i].node = first;
}

/*
 * Streams are queues: what runs before work that a node launched was enqueued before it, even when its own launch lies
 * before the capture or was lost.  Operations are sorted by start here.
 */
static bool place_unlaunched(hu_building *b)
{
    const hu_slices *s = &b->ask->s;
    uint32_t        *next = hu_arena_alloc(b->ask->scratch, (b->ask->n_tracks + 1) * sizeof *next);
    launched         last = {INT64_MIN, -1};

    if (!next)
        return false;
    memset(next, 0xff, b->ask->n_tracks * sizeof *next);
    for (size_t i = b->ops.n; i-- > 0;) {
        hu_op    *op = &b->ops.at[i];
        uint32_t *node = &next[s->track[op->slice]];

        if (!op->has_launch && *node < op->node)
            op->node = *node;
        *node = op->node;
    }
    place_head(b);
    for (size_t i = 0; i < b->ops.n; i++)
        b->ops.at[i].step = step_of(b, launched_at(b, &b->ops.at[i]), &last);
    return true;
}

/* Sorts by node; ask->work is sorted by start, so that the work of one node stays in time order. */
static bool sort_by_node(hu_building *b)
{
    hu_op    *sorted = hu_arena_alloc(b->ask->arena, (b->ops.n + 1) * sizeof *sorted);
    uint32_t *place = hu_arena_calloc(b->ask->scratch, b->nodes.n + 1, sizeof *place);

    if (!sorted || !place)
        return false;
    for (size_t i = 0; i < b->ops.n; i++)
        b->nodes.at[b->ops.at[i].node].n_ops++;
    for (size_t i = 0, at = 0; i < b->nodes.n; i++) {
        place[i] = b->nodes.at[i].ops = (uint32_t)at;
        at += b->nodes.at[i].n_ops;
    }
    for (size_t i = 0; i < b->ops.n; i++)
        sorted[place[b->ops.at[i].node]++] = b->ops.at[i];
    b->ops.at = sorted;
    b->ops.cap = b->ops.n;
    return true;
}

/* Inside of a graph nothing was launched piece by piece: a node follows the one of its launch that ended last before it. */
static bool link_graph(hu_building *b, const hu_node *n)
{
    uint32_t first = HU_NONE, latest = HU_NONE;

    for (uint32_t i = n->ops; i < n->ops + n->n_ops; i++) {
        hu_op  *op = &b->ops.at[i];
        hu_link link = {.from = latest, .at = HU_AT_OP_END, .class = HU_CLASS_GAP};
        int64_t weight;

        if (!op->has_launch)
            continue;
        if (first == HU_NONE) {
            first = latest = i;
            continue;
        }
        op->has_launch = false;
        op->in_graph = true;
        if (hu_build_op_end(b, latest) > op->start_ns) {
            /* a parallel branch: it starts as long after the first as it was seen to */
            link.from = first;
            link.at = HU_AT_OP_START;
        }
        weight = op->start_ns - (link.at == HU_AT_OP_END ? hu_build_op_end(b, link.from) : b->ops.at[link.from].start_ns);
        link.weight_ns = weight > INT32_MAX ? INT32_MAX : (int32_t)weight;
        if (weight > LONG_GAP_NS)
            link.class = HU_CLASS_FROZEN;
        if (!hu_build_link_op(b, i, link))
            return false;
        if (hu_build_op_end(b, i) >= hu_build_op_end(b, latest))
            latest = i;
    }
    return true;
}

/* When each step ended, by the rule of the means; a window shorter than all steps may go by the other end. */
static bool set_ends(hu_building *b)
{
    const hu_step *at = &b->ask->steps->at[b->first_mark];
    const size_t   n = b->g->n_marks - 1;
    hu_step       *steps;
    hu_steady      unused;
    int64_t        marks, ends;

    for (size_t m = 0; m <= n; m++)
        b->g->mark[m].end_ns = b->g->mark[m].host_end_ns;
    if (b->g->is_whole) {
        for (uint32_t i = 0; i < b->ops.n; i++)
            if (hu_build_op_end(b, i) > b->g->mark[n].end_ns)
                b->g->mark[n].end_ns = hu_build_op_end(b, i);
        return true;
    }
    steps = hu_arena_alloc(b->ask->scratch, n * sizeof *steps);
    if (!steps)
        return false;
    memcpy(steps, at, n * sizeof *steps);
    hu_steady_choose(steps, n, &unused);
    b->g->mark[0].end_ns = steps[0].period.start_ns;
    for (size_t i = 0; i < n; i++)
        b->g->mark[i + 1].end_ns = steps[i].period.end_ns;
    marks = b->g->mark[n].host_end_ns - b->g->mark[0].host_end_ns;
    ends = b->g->mark[n].end_ns - b->g->mark[0].end_ns;
    b->g->shrunk_ns = marks > ends ? marks - ends : 0;
    return true;
}

int hu_build_ops(hu_building *b, hu_error *err)
{
    const hu_ask *ask = b->ask;
    uint32_t     *stream_of_track = hu_arena_alloc(ask->scratch, (ask->n_tracks + 1) * sizeof *stream_of_track);
    uint32_t     *last;

    if (!stream_of_track || !hu_backlog_find(ask->trace, ask->names, ask->scratch, &b->backlog) || !collect(b) ||
        !place_unlaunched(b) || !sort_by_node(b))
        return hu_fail_memory(err);
    memset(stream_of_track, 0xff, ask->n_tracks * sizeof *stream_of_track);
    last = hu_arena_alloc(ask->scratch, (ask->n_tracks + 1) * sizeof *last);
    if (!last)
        return hu_fail_memory(err);
    for (uint32_t i = 0; i < b->ops.n; i++) {
        hu_op    *op = &b->ops.at[i];
        uint32_t *stream = &stream_of_track[ask->s.track[op->slice]];

        if (*stream == HU_NONE) {
            *stream = b->g->n_streams++;
            last[*stream] = HU_NONE;
        }
        op->stream = *stream;
        op->before = last[*stream];
        last[*stream] = i;
    }
    for (size_t i = 0; i < b->nodes.n; i++)
        if (b->nodes.at[i].n_ops > 1 && b->nodes.at[i].call != HU_CALL_NONE && !link_graph(b, &b->nodes.at[i]))
            return hu_fail_memory(err);
    return set_ends(b) ? 0 : hu_fail_memory(err);
}
