/* SPDX-License-Identifier: Apache-2.0
 * autograd_threads.c - recognises a thread of the autograd engine by what runs on it, since it has no name of its own.
 *
 * Backward nodes say so by name, or by the thread of their forward operator.  What lies in them is theirs: hooks of
 * distributed training, checkpoints that run forward again.  Forward operators outside of them belong to a thread of the
 * program, whatever else runs there.
 */
#include "analyze/autograd_threads.h"

#include "analyze/names.h"

static const double LEAST_SHARE = 0.5;   /* of the time in operators, that backward nodes take */
static const double MOST_FORWARD = 0.02; /* forward operators to a backward node: hooks may call some */

typedef struct {
    const hu_trace *trace;
    hu_slices       s;
    uint8_t        *is_node; /* by string id: UNKNOWN, NO, YES */
} work;

enum { UNKNOWN, NO, YES };

static bool is_backward(work *w, uint32_t i, const hu_op_detail *d)
{
    uint8_t *known = &w->is_node[w->s.name[i]];

    if (d && d->forward_thread)
        return true;
    if (*known == UNKNOWN)
        *known = hu_names_is_autograd_node(hu_trace_text(w->trace, w->s.name[i])) ? YES : NO;
    return *known == YES;
}

static bool is_engine(work *w, const hu_track *t)
{
    const uint32_t *order = hu_trace_order(w->trace) + t->first;
    int64_t         covered = INT64_MIN, node_ns = 0, operator_ns = 0;
    size_t          nodes = 0, forward = 0;

    for (uint32_t k = 0; k < t->count; k++) {
        const uint32_t      i = order[k];
        const hu_op_detail *d = w->s.kind[i] == HU_KIND_CPU_OP && w->s.detail[i] != HU_NONE
                                    ? hu_trace_op_detail(w->trace, w->s.detail[i])
                                    : NULL;
        bool                is_node;

        if (w->s.kind[i] != HU_KIND_CPU_OP || w->s.start_ns[i] < covered)
            continue;
        is_node = is_backward(w, i, d);
        covered = w->s.start_ns[i] + w->s.dur_ns[i];
        operator_ns += w->s.dur_ns[i];
        node_ns += is_node ? w->s.dur_ns[i] : 0;
        nodes += is_node;
        forward += !is_node && d && d->sequence >= 0;
    }
    return nodes > 0 && (double)node_ns >= LEAST_SHARE * (double)operator_ns &&
           (double)forward <= MOST_FORWARD * (double)nodes;
}

uint8_t *hu_autograd_threads_find(const hu_trace *trace, hu_arena *arena)
{
    work            w = {.trace = trace, .s = hu_trace_slices(trace)};
    size_t          n_tracks;
    const hu_track *tracks = hu_trace_tracks(trace, &n_tracks);
    uint8_t        *found = hu_arena_calloc(arena, n_tracks + 1, 1);

    w.is_node = hu_arena_calloc(arena, hu_trace_string_count(trace) + 1, 1);
    if (!found || !w.is_node)
        return NULL;
    for (size_t t = 0; t < n_tracks; t++)
        found[t] = tracks[t].type == HU_TRACK_HOST && is_engine(&w, &tracks[t]);
    return found;
}
