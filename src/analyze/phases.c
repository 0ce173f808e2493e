/* SPDX-License-Identifier: Apache-2.0
 * phases.c - marks the outermost slices whose name tells a phase, on every thread, then fills the gaps between them.
 *
 * Marks, as PyTorch and what is built on it write them: "autograd::engine::evaluate_function: …" and operators with a
 * forward thread are backward; operators with a sequence number but no forward thread are forward, if a backward follows;
 * "Optimizer.step#…" is the optimizer, and where nobody wrote that, operators that only optimizers call.  Ranges count by
 * the words in them: "FSDP::pre_forward", "FullyShardedDataParallel._post_backward_hook", "DeepSpeedEngine.backward".  A
 * range with both words is no mark.  Recomputed layers lie inside of backward nodes, so the outermost slice decides.
 *
 * Gaps within a step: before backward they are forward (the loss), between backward and optimizer they are backward
 * (gradients are reduced and clipped there), between backward and another forward too (the next micro-batch).  All
 * others are nobody's.  Device work belongs to the phase in which it was launched; what was launched before the capture
 * began to none of them.
 */
#include "analyze/phases.h"

#include "analyze/names.h"
typedef enum {
    MARK_UNKNOWN,
    MARK_NONE,
    MARK_FORWARD,
    MARK_BACKWARD,
    MARK_OPTIMIZER,
    MARK_UPDATE,
    MARK_GRAPH,
    MARK_MODULE,
    MARK_CALL_BACKWARD,
    MARK_OF_USER
} mark; /* MARK_OF_USER + hu_phase */

typedef struct {
    const hu_ask *ask;
    uint8_t      *mark_of_name;
    HU_VEC(uint32_t) marks;
    HU_VEC(hu_phase_span) spans;
    HU_VEC(uint8_t) is_weak; /* by span: forward if a backward follows */
    HU_VEC(hu_phase_node) nodes;
    unsigned sources;
    bool     has_optimizer;
    size_t   step; /* where the search for boundaries stands */
} work;

static mark mark_of_frame(hu_str name)
{
    if (!hu_str_ends(name, HU_STR(": backward")))
        return MARK_NONE;
    return hu_str_has(name, HU_STR("torch/_tensor.py(")) || hu_str_has(name, HU_STR("torch/autograd/__init__.py("))
               ? MARK_CALL_BACKWARD
               : MARK_NONE;
}

static mark mark_of_words(hu_str name)
{
    enum { LONGEST = 200 };
    bool forward, backward;

    if (name.n > LONGEST)
        return MARK_NONE;
    forward = hu_str_has_word(name, hu_str_of("forward")) || hu_str_has_word(name, hu_str_of("fwd"));
    backward = hu_str_has_word(name, hu_str_of("backward")) || hu_str_has_word(name, hu_str_of("bwd"));
    if (forward || backward)
        return forward == backward ? MARK_NONE : forward ? MARK_FORWARD : MARK_BACKWARD;
    if (hu_str_has_word(name, hu_str_of("optimizer")) || hu_str_ends(name, HU_STR("zero_grad")))
        return MARK_OPTIMIZER;
    return hu_str_starts(name, HU_STR("DeepSpeed")) && hu_str_ends(name, HU_STR(".step")) ? MARK_OPTIMIZER : MARK_NONE;
}

static mark mark_of_name(hu_str name)
{
    static const char *const updates[] = {"aten::_fused_adam", "aten::_fused_sgd",        "aten::_fused_adagrad",
                                          "aten::addcdiv_",    "aten::_foreach_addcdiv_", "aten::_foreach_addcmul_",
                                          "aten::addcmul_"};

    if (hu_names_is_autograd_node(name))
        return MARK_GRAPH;
    if (hu_str_starts(name, HU_STR("nn.Module: ")))
        return MARK_MODULE;
    if (hu_str_has(name, HU_STR(".py(")))
        return mark_of_frame(name);
    if (hu_str_starts(name, HU_STR("aten::"))) {
        for (size_t i = 0; i < HU_COUNT(updates); i++)
            if (hu_str_starts_with(name, updates[i]))
                return MARK_UPDATE;
        return MARK_NONE;
    }
    return mark_of_words(name);
}

/* A range that is called like a phase of the pipeline that is none of training's three, or MARK_NONE. */
static mark mark_of_range(hu_str name)
{
    for (hu_phase p = HU_PHASE_DATA; p < HU_PHASE_OTHER; p++)
        if (hu_str_equal(name, hu_str_of(hu_phase_name(p))))
            return (mark)(MARK_OF_USER + (int)p);
    return MARK_NONE;
}

static mark mark_of(work *w, uint32_t i)
{
    const hu_ask *ask = w->ask;
    uint8_t      *known = &w->mark_of_name[ask->s.name[i]];

    if (ask->s.kind[i] == HU_KIND_USER && (*known == MARK_UNKNOWN || *known >= MARK_OF_USER)) {
        const mark own = mark_of_range(hu_ask_name(ask, i));

        if (own != MARK_NONE) {
            *known = (uint8_t)own;
            return own;
        }
    }
    if (*known >= MARK_OF_USER) /* of another kind, but the same name */
        return MARK_NONE;
    if (!hu_kind_in(ask->s.kind[i], HU_BIT(CPU_OP) | HU_BIT(USER) | HU_BIT(PYTHON)) ||
        ask->names[ask->s.name[i]] & (HU_NAME_STEP | HU_NAME_COMM | HU_NAME_DATA_LOADER))
        return MARK_NONE;
    if (*known == MARK_UNKNOWN)
        *known = (uint8_t)mark_of_name(hu_ask_name(ask, i));
    return (mark)*known;
}

static const hu_op_detail *op_of(const hu_ask *ask, uint32_t i)
{
    return ask->s.kind[i] == HU_KIND_CPU_OP && ask->s.detail[i] != HU_NONE ? hu_trace_op_detail(ask->trace, ask->s.detail[i])
                                                                           : NULL;
}

/* The phase of a slice, or HU_PHASE_COUNT; *weak: only if a backward follows. */
static hu_phase phase_of(work *w, uint32_t i, bool *weak)
{
    const hu_op_detail *d = op_of(w->ask, i);
    const mark          own = mark_of(w, i);

    *weak = false;
    if (own >= MARK_OF_USER) {
        w->sources |= HU_PHASE_BY_RANGE;
        return (hu_phase)(own - MARK_OF_USER);
    }
    switch (own) {
    case MARK_FORWARD:
        w->sources |= HU_PHASE_BY_RANGE;
        return HU_PHASE_FORWARD;
    case MARK_MODULE:
        w->sources |= HU_PHASE_BY_STACK;
        return HU_PHASE_FORWARD;
    case MARK_GRAPH:
        w->sources |= HU_PHASE_BY_AUTOGRAD;
        return HU_PHASE_BACKWARD;
    case MARK_BACKWARD:
        w->sources |= HU_PHASE_BY_RANGE;
        return HU_PHASE_BACKWARD;
    case MARK_CALL_BACKWARD:
        w->sources |= HU_PHASE_BY_STACK;
        return HU_PHASE_BACKWARD;
    case MARK_OPTIMIZER:
        w->sources |= HU_PHASE_BY_OPTIMIZER;
        return HU_PHASE_OPTIMIZER;
    case MARK_UPDATE:
        if (d && d->forward_thread)
            return HU_PHASE_BACKWARD;
        if (w->has_optimizer)
            break;
        w->sources |= HU_PHASE_BY_UPDATE;
        return HU_PHASE_OPTIMIZER;
    default:
        break;
    }
    if (!d || (d->sequence < 0 && !d->forward_thread))
        return HU_PHASE_COUNT;
    w->sources |= HU_PHASE_BY_AUTOGRAD;
    *weak = !d->forward_thread;
    return d->forward_thread ? HU_PHASE_BACKWARD : HU_PHASE_FORWARD;
}

/* "Optimizer.step#" anywhere makes single operators no evidence. */
static void look_for_optimizer(work *w)
{
    for (uint32_t i = 0; i < w->ask->s.n && !w->has_optimizer; i++)
        w->has_optimizer = hu_kind_in(w->ask->s.kind[i], HU_BIT(CPU_OP) | HU_BIT(USER)) && mark_of(w, i) == MARK_OPTIMIZER;
}

/* The outermost marks of each thread. */
static bool collect(work *w)
{
    const hu_ask *ask = w->ask;

    for (size_t t = 0; t < ask->n_tracks; t++) {
        int64_t covered = INT64_MIN;
        bool    weak;

        if (ask->tracks[t].type != HU_TRACK_HOST)
            continue;
        for (uint32_t k = 0; k < ask->tracks[t].count; k++) {
            const uint32_t i = ask->order[ask->tracks[t].first + k];

            if (ask->s.start_ns[i] < covered || !hu_kind_in(ask->s.kind[i], HU_BIT(CPU_OP) | HU_BIT(USER) | HU_BIT(PYTHON)))
                continue;
            if (phase_of(w, i, &weak) == HU_PHASE_COUNT)
                continue;
            if (!hu_vec_push(ask->scratch, &w->marks, i))
                return false;
            covered = hu_ask_end(ask, i);
        }
    }
    return true;
}

/* Does a step begin in (from, to]?  Times must not fall from call to call, but for the reset of `step`. */
static bool has_boundary(work *w, int64_t from, int64_t to)
{
    const hu_steps *s = w->ask->steps;

    if (!s || (s->source != HU_STEPS_PROFILER && s->source != HU_STEPS_ANNOTATION))
        return false;
    while (w->step < s->n && s->at[w->step].host_start_ns <= from)
        w->step++;
    return w->step < s->n && s->at[w->step].host_start_ns <= to;
}

static bool add_span(work *w, hu_phase_span span, bool weak)
{
    hu_phase_span *last = w->spans.n ? &w->spans.at[w->spans.n - 1] : NULL;

    if (last && span.start_ns < last->end_ns) {
        if (span.phase != last->phase)
            span.start_ns = last->end_ns;
        if (span.end_ns <= last->end_ns)
            return true;
    }
    if (last && last->phase == span.phase && !has_boundary(w, last->start_ns, span.start_ns)) {
        last->end_ns = span.end_ns;
        w->is_weak.at[w->spans.n - 1] &= weak;
        return true;
    }
    return span.start_ns >= span.end_ns ||
           (hu_vec_push(w->ask->scratch, &w->spans, span) && hu_vec_push(w->ask->scratch, &w->is_weak, weak));
}

static bool add_spans(work *w)
{
    const hu_ask *ask = w->ask;
    uint32_t     *spare = hu_arena_grow(ask->scratch, NULL, (w->marks.n + 1) * sizeof *spare);

    if (!spare)
        return false;
    if (w->marks.n)
        hu_trace_sort(ask->trace, w->marks.at, w->marks.n, spare);
    hu_arena_drop(ask->scratch, spare);
    for (size_t k = 0; k < w->marks.n; k++) {
        const uint32_t      i = w->marks.at[k];
        const hu_op_detail *d = op_of(ask, i);
        bool                weak;
        const hu_phase      phase = phase_of(w, i, &weak);

        if (!add_span(w, (hu_phase_span){ask->s.start_ns[i], hu_ask_end(ask, i), phase}, weak))
            return false;
        if (phase == HU_PHASE_BACKWARD && d && d->sequence >= 0 &&
            !hu_vec_push(ask->scratch, &w->nodes, ((hu_phase_node){ask->s.start_ns[i], d->sequence})))
            return false;
    }
    return true;
}

/* Operators with a sequence number that no backward follows were no forward pass; then what they kept apart is joined. */
static void drop_weak(work *w)
{
    size_t n = 0;

    w->step = 0;
    for (size_t i = 0; i < w->spans.n; i++) {
        const hu_phase_span  span = w->spans.at[i];
        const hu_phase_span *next = i + 1 < w->spans.n ? &w->spans.at[i + 1] : NULL;

        if (w->is_weak.at[i] &&
            (!next || next->phase != HU_PHASE_BACKWARD || has_boundary(w, span.start_ns, next->start_ns)))
            continue;
        if (n && w->spans.at[n - 1].phase == span.phase && !has_boundary(w, w->spans.at[n - 1].start_ns, span.start_ns)) {
            w->spans.at[n - 1].end_ns = span.end_ns;
            continue;
        }
        w->spans.at[n++] = span;
    }
    w->spans.n = n;
}

static void fill_gaps(work *w)
{
    const bool knows_steps = w->ask->steps &&
                             (w->ask->steps->source == HU_STEPS_PROFILER || w->ask->steps->source == HU_STEPS_ANNOTATION);

    w->step = 0;
    for (size_t i = 0; i + 1 < w->spans.n; i++) {
        hu_phase_span       *a = &w->spans.at[i];
        const hu_phase_span *b = a + 1;

        if (has_boundary(w, a->start_ns, b->start_ns))
            continue;
        if ((a->phase == HU_PHASE_FORWARD && b->phase == HU_PHASE_BACKWARD) ||
            (a->phase == HU_PHASE_BACKWARD && b->phase == HU_PHASE_OPTIMIZER) ||
            (a->phase == HU_PHASE_BACKWARD && b->phase == HU_PHASE_FORWARD && knows_steps))
            a->end_ns = b->start_ns;
    }
}

int hu_phase_spans_find(const hu_ask *ask, hu_phase_spans *out, hu_error *err)
{
    work w = {.ask = ask};

    if (ask->phases) {
        *out = *ask->phases;
        return 0;
    }
    w.mark_of_name = hu_arena_calloc(ask->scratch, hu_trace_string_count(ask->trace) + 1, 1);
    if (!w.mark_of_name)
        return hu_fail_memory(err);
    look_for_optimizer(&w);
    if (!collect(&w) || !add_spans(&w))
        return hu_fail_memory(err);
    drop_weak(&w);
    fill_gaps(&w);
    hu_arena_drop(ask->scratch, w.marks.at); /* spans may be kept, and these were only the way to them */
    hu_arena_drop(ask->scratch, w.is_weak.at);
    *out = (hu_phase_spans){
        .at = w.spans.at, .n = w.spans.n, .nodes = w.nodes.at, .n_nodes = w.nodes.n, .sources = w.sources};
    for (size_t i = 0; i < out->n; i++)
        out->has_backward |= out->at[i].phase == HU_PHASE_BACKWARD;
    for (size_t k = 0; k < ask->n_work && !out->has_launches; k++)
        out->has_launches = hu_trace_launch_of(ask->trace, ask->work[k]) != HU_NONE;
    return 0;
}

uint32_t hu_phase_span_before(const hu_phase_spans *spans, int64_t time_ns)
{
    size_t low = 0, high = spans->n;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (spans->at[middle].start_ns <= time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? (uint32_t)low - 1 : HU_NONE;
}

bool hu_phase_started(const hu_ask *ask, const hu_phase_spans *spans, uint32_t slice, int64_t *time_ns)
{
    uint32_t op;

    *time_ns = hu_select_time(ask->trace, &ask->s, slice);
    if (!spans->has_launches || hu_trace_launch_of(ask->trace, slice) != HU_NONE)
        return true;
    op = hu_trace_op_of(ask->trace, slice);
    if (op == HU_NONE)
        return false;
    *time_ns = ask->s.start_ns[op];
    return true;
}

hu_phase hu_phase_of_work(const hu_ask *ask, const hu_phase_spans *spans, uint32_t slice)
{
    int64_t time_ns;

    return hu_phase_started(ask, spans, slice, &time_ns) ? hu_phase_at(spans, time_ns) : HU_PHASE_OTHER;
}

const char *hu_phase_name(hu_phase phase)
{
    static const char *const names[HU_PHASE_COUNT] = {"forward",       "backward", "optimizer",  "data",
                                                      "preprocessing", "transfer", "checkpoint", "other"};

    return phase < HU_PHASE_COUNT ? names[phase] : "other";
}
