/* SPDX-License-Identifier: Apache-2.0
 * train_parts.c - what a training loop does besides forward, backward and one call of a fused optimizer.
 *
 * An optimizer that loops calls elementwise operators in its range itself; foreach and fused ones call one for all tensors.
 *
 * A loader's batch, the begin of a step and the end of an optimizer cut the time of the main thread into units.  A unit with
 * products or convolutions outside of backward, and without nodes of backward, is a forward pass for its own sake when the
 * next thing that happens is another forward pass: gradients are not computed of it any more.  Where operators have sequence
 * numbers, autograd recorded them, and the unit is none.
 */
#include "graph/train_parts.h"

#include <stdlib.h>

#include "base/arena.h"

typedef enum { CUT, CUT_OPTIMIZER, FORWARD, BACKWARD } event_kind;

typedef struct {
    int64_t    time_ns;
    event_kind kind;
} event;

typedef struct {
    int64_t from_ns, to_ns; /* the first operator of forward, the cut */
    bool    has_forward, has_backward, begins_forward, is_behind_optimizer;
} unit;

typedef struct {
    const hu_graph *g;
    hu_arena       *arena;
    const hu_track *main_track;
    uint8_t        *said; /* by string id: bits of what a name says, 0 until it is asked for */
    HU_VEC(event) events;
    HU_VEC(unit) units;
} work;

static bool starts_with_any(hu_str name, const char *const *parts, size_t n)
{
    for (size_t k = 0; k < n; k++)
        if (hu_str_starts_with(name, parts[k]))
            return true;
    return false;
}

enum { SAID = 1, SAYS_BACKWARD = 2, SAYS_OPTIMIZER = 4, SAYS_FORWARD = 8, SAYS_LOOP = 16, SAYS_BEGIN = 32, SAYS_END = 64 };

/* What networks consist of; their elementwise operators occur everywhere. */
static const char *const forward_parts[] = {"aten::mm",
                                            "aten::addmm",
                                            "aten::bmm",
                                            "aten::baddbmm",
                                            "aten::linear",
                                            "aten::convolution",
                                            "aten::conv",
                                            "aten::scaled_dot_product",
                                            "aten::lstm",
                                            "aten::gru",
                                            "Torch-Compiled Region"};

/* What an optimizer that loops calls for each parameter. */
static const char *const loop_parts[] = {"aten::add", "aten::mul",     "aten::lerp",    "aten::sqrt", "aten::addcmul",
                                         "aten::div", "aten::addcdiv", "aten::maximum", "aten::sub",  "aten::copy_"};

static uint8_t say(hu_str name)
{
    uint8_t said = SAID;

    said |= hu_str_starts(name, HU_STR("autograd::engine::")) ? SAYS_BACKWARD : 0;
    said |= hu_str_starts(name, HU_STR("Optimizer.step#")) ? SAYS_OPTIMIZER : 0;
    said |= starts_with_any(name, forward_parts, HU_COUNT(forward_parts)) ? SAYS_FORWARD : 0;
    said |= starts_with_any(name, loop_parts, HU_COUNT(loop_parts)) ? SAYS_LOOP : 0;
    said |= hu_str_has(name, HU_STR("StreamBeginCapture")) ? SAYS_BEGIN : 0;
    said |= hu_str_has(name, HU_STR("StreamEndCapture")) ? SAYS_END : 0;
    return said;
}

/* Few names are many slices: each is read once. */
static bool says(const work *w, uint32_t i, uint8_t what)
{
    uint8_t *said = &w->said[w->g->ask->s.name[i]];

    if (!*said)
        *said = say(hu_ask_name(w->g->ask, i));
    return *said & what;
}

static bool is_node_of_backward(const work *w, uint32_t i)
{
    return w->g->ask->s.kind[i] == HU_KIND_CPU_OP && says(w, i, SAYS_BACKWARD);
}

static bool is_optimizer(const work *w, uint32_t i)
{
    return w->g->ask->s.kind[i] == HU_KIND_USER && says(w, i, SAYS_OPTIMIZER);
}

static bool is_forward(const work *w, uint32_t i)
{
    const hu_ask *ask = w->g->ask;

    if (ask->s.kind[i] != HU_KIND_CPU_OP || !says(w, i, SAYS_FORWARD))
        return false;
    for (uint32_t at = i; at != HU_NONE; at = ask->s.parent[at]) {
        const uint32_t row = ask->s.kind[at] == HU_KIND_CPU_OP ? ask->s.detail[at] : HU_NONE;

        if (is_node_of_backward(w, at) || is_optimizer(w, at) ||
            (row != HU_NONE && hu_trace_op_detail(ask->trace, row)->forward_thread))
            return false;
    }
    return true;
}

static bool is_recorded(const hu_ask *ask, uint32_t i)
{
    const uint32_t row = ask->s.detail[i];

    return row != HU_NONE && hu_trace_op_detail(ask->trace, row)->sequence >= 0;
}

static bool add_event(work *w, int64_t time_ns, event_kind kind)
{
    return hu_vec_push(w->arena, &w->events, ((event){time_ns, kind}));
}

static bool add_events(work *w, uint32_t i)
{
    const hu_ask *ask = w->g->ask;
    const uint8_t flags = ask->names[ask->s.name[i]];

    if (is_node_of_backward(w, i))
        return add_event(w, ask->s.start_ns[i], BACKWARD);
    if (is_optimizer(w, i))
        return add_event(w, hu_ask_end(ask, i), CUT_OPTIMIZER);
    if (flags & (HU_NAME_STEP | HU_NAME_DATA_LOADER))
        return add_event(w, ask->s.start_ns[i], CUT);
    if (!is_forward(w, i))
        return true;
    return add_event(w, ask->s.start_ns[i], FORWARD);
}

/* What is captured into a graph runs nothing, so it is no pass. */
static bool add_main_thread(work *w)
{
    const hu_ask *ask = w->g->ask;
    bool          captures = false;

    for (uint32_t k = 0; k < w->main_track->count; k++) {
        const uint32_t i = ask->order[w->main_track->first + k];

        if (hu_kind_in(ask->s.kind[i], HU_KINDS_CALL)) {
            captures = (captures || says(w, i, SAYS_BEGIN)) && !says(w, i, SAYS_END);
        } else if (hu_kind_in(ask->s.kind[i], HU_KINDS_HOST) && !(captures && ask->s.kind[i] == HU_KIND_CPU_OP) &&
                   !add_events(w, i)) {
            return false;
        }
    }
    return true;
}

static int by_time(const void *left, const void *right)
{
    const event *a = left, *b = right;

    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns ? -1 : 1;
    return (a->kind > b->kind) - (a->kind < b->kind);
}

static bool close_unit(work *w, unit *u, int64_t time_ns, bool is_behind_optimizer)
{
    u->to_ns = time_ns;
    if ((u->has_forward || u->has_backward) && !hu_vec_push(w->arena, &w->units, *u))
        return false;
    *u = (unit){.is_behind_optimizer = is_behind_optimizer ||
                                       (u->is_behind_optimizer && !u->has_forward && !u->has_backward)};
    return true;
}

static bool find_units(work *w)
{
    unit u = {0};

    if (w->events.n)
        qsort(w->events.at, w->events.n, sizeof *w->events.at, by_time);
    for (size_t i = 0; i < w->events.n; i++) {
        const event *e = &w->events.at[i];

        if (e->kind == FORWARD) {
            u.from_ns = u.has_forward ? u.from_ns : e->time_ns;
            u.begins_forward = u.begins_forward || !u.has_backward;
            u.has_forward = true;
        } else if (e->kind == BACKWARD) {
            u.has_backward = true;
        } else if (!close_unit(w, &u, e->time_ns, e->kind == CUT_OPTIMIZER)) {
            return false;
        }
    }
    return close_unit(w, &u, INT64_MAX, false);
}

/* From the first product of a unit to the end of the last operator or call in it; none where autograd recorded one. */
static bool add_forward(work *w, const unit *u, hu_train_parts *out)
{
    const hu_ask *ask = w->g->ask;
    int64_t       end = u->from_ns, n = 0;

    for (uint32_t k = 0; k < w->main_track->count; k++) {
        const uint32_t i = ask->order[w->main_track->first + k];

        if (ask->s.start_ns[i] >= u->to_ns)
            break;
        if (ask->s.start_ns[i] < u->from_ns ||
            !(ask->s.kind[i] == HU_KIND_CPU_OP || hu_kind_in(ask->s.kind[i], HU_KINDS_CALL)))
            continue;
        if (ask->s.kind[i] == HU_KIND_CPU_OP && is_recorded(ask, i))
            return true;
        n += is_forward(w, i);
        end = hu_ask_end(ask, i) > end ? hu_ask_end(ask, i) : end;
    }
    out->first_ops += n;
    return hu_intervals_add(w->arena, &out->forwards, u->from_ns, end);
}

static bool find_forwards(work *w, hu_train_parts *out)
{
    size_t trained = 0;

    if (!find_units(w))
        return false;
    for (size_t i = 0; i < w->units.n; i++)
        trained += w->units.at[i].has_backward;
    for (size_t i = 0; i < w->units.n && trained > 1; i++) {
        const unit *u = &w->units.at[i];
        const bool  is_last = i + 1 == w->units.n;

        if (u->has_backward ||
            (is_last ? !u->is_behind_optimizer || out->forwards.n == 0 : !w->units.at[i + 1].begins_forward))
            continue;
        if (!add_forward(w, u, out))
            return false;
    }
    return true;
}

/* Operators of one parameter in an optimizer's range, and what is between them. */
static bool find_loops(work *w, hu_train_parts *out)
{
    const hu_ask *ask = w->g->ask;
    int64_t       until = INT64_MIN, last = 0;

    for (uint32_t k = 0; k < w->main_track->count && ask->n_work == 0; k++) {
        const uint32_t i = ask->order[w->main_track->first + k];

        if (is_optimizer(w, i)) {
            until = hu_ask_end(ask, i);
            last = 0;
        }
        if (ask->s.start_ns[i] >= until || ask->s.kind[i] != HU_KIND_CPU_OP)
            continue;
        if (!says(w, i, SAYS_LOOP)) {
            last = hu_ask_end(ask, i); /* foreach, fused: what it calls itself is its own */
            continue;
        }
        if (ask->s.start_ns[i] < last)
            continue;
        out->loop_calls++;
        if (!hu_intervals_add(w->arena, &out->loops, last ? last : ask->s.start_ns[i], hu_ask_end(ask, i)))
            return false;
        last = hu_ask_end(ask, i);
    }
    return hu_intervals_unite(w->arena, &out->loops);
}

bool hu_train_parts_find(const hu_graph *g, hu_arena *arena, hu_train_parts *out)
{
    const hu_ask  *ask = g->ask;
    work           w = {.g = g, .arena = arena};
    const uint32_t track = hu_graph_main_track(g);

    *out = (hu_train_parts){0};
    if (track == HU_NONE)
        return true;
    w.main_track = &ask->tracks[track];
    w.said = hu_arena_calloc(arena, hu_trace_string_count(ask->trace) + 1, 1);
    if (!w.said)
        return false;
    for (uint32_t i = 0; i < ask->s.n; i++)
        if (&ask->tracks[ask->s.track[i]] != w.main_track && is_node_of_backward(&w, i) &&
            !add_event(&w, ask->s.start_ns[i], BACKWARD))
            return false;
    if (!add_main_thread(&w))
        return false;
    return find_forwards(&w, out) && hu_intervals_unite(arena, &out->forwards) && find_loops(&w, out);
}
