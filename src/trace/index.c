/* SPDX-License-Identifier: Apache-2.0
 * index.c - what links the rows: order on each track, parents, launches, forward and backward.  Built once, at freeze.
 *
 * Order.  Profilers write each kind of event of a thread in order, one kind after the other, so a track is a few sorted
 * runs; merging the runs that are there costs a fraction of sorting from nothing.
 *
 * Parents.  On a host thread a slice belongs to the innermost one that contains it (nest.h).
 *
 * Launches.  `correlation` links a call to its GPU work: one call, or thousands of kernels for one graph launch; where
 * several calls have one id, see repeats.h.
 * Where the call was not recorded, "External id" still names the operator, or a flow does (launch_flows.h).
 *
 * Order and parents of host slices on one thread, what ids and numbers link on another: neither reads what the other writes.
 */
#include <stdlib.h>

#include "base/thread.h"
#include "trace/columns.h"
#include "trace/launch_flows.h"
#include "trace/nest.h"
#include "trace/repeats.h"

enum {
    FEW_SLICES = 20000, /* not worth a thread */
};

/* Which of two slices with the same start and length is outside. */
static const uint8_t depth_of_kind[HU_KIND_COUNT] = {
    [HU_KIND_USER] = 0,   [HU_KIND_PYTHON] = 1, [HU_KIND_CPU_OP] = 2,  [HU_KIND_RUNTIME] = 3,
    [HU_KIND_DRIVER] = 4, [HU_KIND_MPI] = 5,    [HU_KIND_OS_CALL] = 6,
};

static bool comes_before(const hu_trace *t, uint32_t a, uint32_t b)
{
    if (t->start_ns[a] != t->start_ns[b])
        return t->start_ns[a] < t->start_ns[b];
    if (t->dur_ns[a] != t->dur_ns[b])
        return t->dur_ns[a] > t->dur_ns[b];
    if (t->kind[a] != t->kind[b] && depth_of_kind[t->kind[a]] != depth_of_kind[t->kind[b]])
        return depth_of_kind[t->kind[a]] < depth_of_kind[t->kind[b]];
    return a < b;
}

static size_t run_end(const hu_trace *t, const uint32_t *at, size_t from, size_t n)
{
    size_t end = from + 1;

    while (end < n && comes_before(t, at[end - 1], at[end]))
        end++;
    return end;
}

/* Merges at[0, middle) and at[middle, n); `spare` has room for the first part. */
static void merge_runs(const hu_trace *t, uint32_t *at, size_t middle, size_t n, uint32_t *spare)
{
    size_t i = 0, j = middle, to = 0;

    memcpy(spare, at, middle * sizeof *at);
    while (i < middle && j < n)
        at[to++] = comes_before(t, at[j], spare[i]) ? at[j++] : spare[i++];
    while (i < middle)
        at[to++] = spare[i++];
}

/* Natural merge sort: passes over pairs of runs until one is left. */
void hu_trace_sort(const hu_trace *t, uint32_t *at, size_t n, uint32_t *spare)
{
    for (;;) {
        size_t from = 0, merged = 0;

        while (from < n) {
            const size_t middle = run_end(t, at, from, n);
            size_t       end;

            if (middle == n)
                break;
            end = run_end(t, at, middle, n);
            merge_runs(t, at + from, middle - from, end - from, spare);
            from = end;
            merged++;
        }
        if (!merged)
            return;
    }
}

static bool order_tracks(hu_trace *t, hu_arena *scratch)
{
    uint32_t *spare = hu_arena_grow(scratch, NULL, (t->n + 1) * sizeof *spare);
    uint32_t  at = 0;

    if (!spare)
        return false;
    for (size_t i = 0; i < t->tracks.n; i++)
        t->tracks.at[i].last_ns = INT64_MIN;
    for (size_t i = 0; i < t->n; i++) {
        hu_track     *track = &t->tracks.at[t->track[i]];
        const int64_t end = t->start_ns[i] + t->dur_ns[i];

        track->count++;
        track->last_ns = end > track->last_ns ? end : track->last_ns;
        if (t->kind[i] == HU_KIND_OS_CALL && t->detail[i] != HU_NONE && t->os_calls.at[t->detail[i]].class == HU_HOST_CHILD)
            track->child_ns += t->dur_ns[i];
    }
    for (size_t i = 0; i < t->tracks.n; i++) {
        t->tracks.at[i].first = at;
        at += t->tracks.at[i].count;
        t->tracks.at[i].count = 0;
    }
    for (uint32_t i = 0; i < t->n; i++) {
        hu_track *track = &t->tracks.at[t->track[i]];

        t->order[track->first + track->count++] = i;
    }
    for (size_t i = 0; i < t->tracks.n; i++)
        hu_trace_sort(t, t->order + t->tracks.at[i].first, t->tracks.at[i].count, spare);
    hu_arena_drop(scratch, spare);
    return true;
}

static bool link_parents(hu_trace *t, hu_nest_pairs *after, hu_arena *scratch)
{
    const hu_slices s = hu_trace_slices(t);
    hu_nest nest = {.kinds = HU_KINDS_HOST, .parent = t->parent, .quality = &t->quality, .after = after, .arena = scratch};

    for (size_t k = 0; k < t->tracks.n; k++) {
        const hu_track *track = &t->tracks.at[k];

        if (track->type == HU_TRACK_HOST && !hu_nest_thread(&nest, &s, t->order + track->first, track->count))
            return false;
    }
    return true;
}

static bool keep_after(hu_trace *t, const hu_nest_pairs *after)
{
    if (!hu_map_init(&t->after, t->arena, after->n))
        return false;
    for (size_t i = 0; i < after->n; i++) {
        uint32_t *place = hu_map_put(&t->after, after->at[i].from);

        if (!place)
            return false;
        *place = after->at[i].to + 1; /* of HU_NONE 0 */
    }
    t->n_after = after->n;
    return true;
}

/* Correlation and external ids count up from somewhere, so a plain array is usually the smallest and fastest map. */
typedef struct {
    uint32_t *dense;
    uint32_t  low;
    size_t    n;
    hu_map    sparse;
} id_map;

static bool id_map_init(id_map *m, hu_arena *arena, const hu_trace *t, const uint32_t *id, unsigned kinds)
{
    uint32_t low = UINT32_MAX, high = 0;
    size_t   count = 0;

    *m = (id_map){0};
    for (size_t i = 0; i < t->n; i++) {
        if (id[i] && hu_kind_in(t->kind[i], kinds)) {
            low = id[i] < low ? id[i] : low;
            high = id[i] > high ? id[i] : high;
            count++;
        }
    }
    if (count == 0)
        return hu_map_init(&m->sparse, arena, 0);
    if ((size_t)(high - low) / 8 > count)
        return hu_map_init(&m->sparse, arena, count);
    m->low = low;
    m->n = (size_t)(high - low) + 1;
    m->dense = hu_arena_grow(arena, NULL, m->n * sizeof *m->dense);
    if (m->dense)
        memset(m->dense, 0xff, m->n * sizeof *m->dense);
    return m->dense != NULL;
}

static void id_map_drop(id_map *m, hu_arena *arena)
{
    hu_arena_drop(arena, m->dense);
    if (!m->dense)
        hu_map_drop(&m->sparse);
}

static uint32_t id_map_get(const id_map *m, uint32_t id)
{
    if (!m->dense)
        return hu_map_get(&m->sparse, id);
    return id >= m->low && id - m->low < m->n ? m->dense[id - m->low] : HU_NONE;
}

static uint32_t *id_map_put(id_map *m, uint32_t id)
{
    return m->dense ? &m->dense[id - m->low] : hu_map_put(&m->sparse, id);
}

/* Which of two calls with the same correlation launched the work: the runtime call, which contains the driver call. */
static bool is_better_call(const hu_trace *t, uint32_t now, uint32_t before)
{
    return before == HU_NONE || (t->kind[now] == HU_KIND_RUNTIME && t->kind[before] == HU_KIND_DRIVER);
}

/* One call after another with one id: the trace was made of several captures. */
static bool is_repeat(const hu_trace *t, uint32_t now, uint32_t before)
{
    return t->kind[now] == HU_KIND_RUNTIME && t->kind[before] == HU_KIND_RUNTIME &&
           (t->start_ns[now] >= t->start_ns[before] + t->dur_ns[before] ||
            t->start_ns[before] >= t->start_ns[now] + t->dur_ns[now]);
}

static bool link_by_correlation(hu_trace *t, hu_arena *scratch)
{
    id_map calls;
    bool   has_repeats = false;

    if (!id_map_init(&calls, scratch, t, t->correlation, HU_KINDS_CALL))
        return false;
    for (uint32_t i = 0; i < t->n; i++) {
        uint32_t *place;

        if (!t->correlation[i] || !hu_kind_in(t->kind[i], HU_KINDS_CALL))
            continue;
        place = id_map_put(&calls, t->correlation[i]);
        if (!place)
            return false;
        if (is_better_call(t, i, *place))
            *place = i;
        else
            has_repeats |= is_repeat(t, i, *place);
    }
    for (uint32_t i = 0; i < t->n; i++)
        if (t->correlation[i] && hu_kind_in(t->kind[i], HU_KINDS_DEVICE | HU_BIT(SYNC)))
            t->parent[i] = id_map_get(&calls, t->correlation[i]);
    id_map_drop(&calls, scratch);
    return !has_repeats || hu_trace_link_repeats(t, scratch);
}

static bool needs_operator(const hu_trace *t, uint32_t i)
{
    return hu_kind_in(t->kind[i], HU_KINDS_DEVICE) && t->external[i] && t->parent[i] == HU_NONE;
}

static bool link_by_external_id(hu_trace *t, hu_arena *scratch)
{
    id_map   ops;
    uint32_t i = 0;

    while (i < t->n && !needs_operator(t, i))
        i++;
    if (i == t->n)
        return true;
    if (!id_map_init(&ops, scratch, t, t->external, HU_BIT(CPU_OP)))
        return false;
    for (i = 0; i < t->n; i++) {
        if (t->external[i] && t->kind[i] == HU_KIND_CPU_OP) {
            uint32_t *place = id_map_put(&ops, t->external[i]);

            if (!place)
                return false;
            *place = i;
        }
    }
    for (i = 0; i < t->n; i++)
        if (needs_operator(t, i))
            t->parent[i] = id_map_get(&ops, t->external[i]);
    id_map_drop(&ops, scratch);
    return true;
}

/* Device slices by the call that launched them: a counting sort by call, then by time where a graph used several streams. */
static bool list_work(hu_trace *t, hu_arena *scratch)
{
    uint32_t *start = hu_arena_calloc(scratch, t->n + 2, sizeof *start);
    uint32_t *spare = hu_arena_alloc(scratch, (t->n + 1) * sizeof *spare);

    if (!start || !spare)
        return false;
    for (size_t i = 0; i < t->n; i++) {
        if (t->parent[i] != HU_NONE && hu_kind_in(t->kind[i], HU_KINDS_DEVICE)) {
            start[t->parent[i] + 1]++;
            t->n_work++;
        }
    }
    for (size_t i = 0; i < t->n; i++)
        start[i + 1] += start[i];
    t->work = hu_arena_grow(t->arena, NULL, (t->n_work + 1) * sizeof *t->work);
    if (!t->work)
        return false;
    for (size_t k = 0; k < t->n; k++) {
        const uint32_t i = t->order[k];

        if (t->parent[i] != HU_NONE && hu_kind_in(t->kind[i], HU_KINDS_DEVICE))
            t->work[start[t->parent[i]]++] = i;
    }
    for (size_t from = 0, end; from < t->n_work; from = end) {
        for (end = from + 1; end < t->n_work && t->parent[t->work[end]] == t->parent[t->work[from]];)
            end++;
        if (end - from > 1)
            hu_trace_sort(t, t->work + from, end - from, spare);
    }
    return true;
}

/* The operator on `track` that starts at `time`, by binary search in the track's order. */
static uint32_t op_at(const hu_trace *t, uint32_t track, int64_t time_ns)
{
    const hu_track *tr = &t->tracks.at[track];
    uint32_t        low = tr->first, high = tr->first + tr->count;

    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;

        if (t->start_ns[t->order[middle]] < time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < tr->first + tr->count && t->start_ns[t->order[low]] == time_ns; low++)
        if (t->kind[t->order[low]] == HU_KIND_CPU_OP)
            return t->order[low];
    return HU_NONE;
}

static bool link_flows(hu_trace *t, hu_arena *scratch)
{
    hu_map starts;

    if (!hu_map_init(&starts, scratch, t->flows.n / 2))
        return false;
    for (size_t i = 0; i < t->flows.n; i++) {
        hu_flow *f = &t->flows.at[i];

        f->slice = op_at(t, f->track, f->time_ns);
        if (!f->is_end && f->slice != HU_NONE) {
            uint32_t *place = hu_map_put(&starts, f->id);

            if (!place)
                return false;
            *place = f->slice;
        }
    }
    for (size_t i = 0; i < t->flows.n; i++) {
        const hu_flow *f = &t->flows.at[i];
        const uint32_t from = f->is_end && f->slice != HU_NONE ? hu_map_get(&starts, f->id) : HU_NONE;

        if (from != HU_NONE && from != f->slice) {
            uint32_t *place = hu_map_put(&t->forward, f->slice);

            if (!place)
                return false;
            *place = from;
        }
    }
    return true;
}

/* The range of the sequence numbers of forward operators, and how many operators of backward have one. */
typedef struct {
    int64_t low, high;
    size_t  forward, backward;
} numbers;

/* The sequence number of an operator, or -1. */
static int64_t sequence_of(const hu_trace *t, uint32_t i)
{
    return t->kind[i] == HU_KIND_CPU_OP && t->detail[i] != HU_NONE ? t->ops.at[t->detail[i]].sequence : -1;
}

static bool is_backward(const hu_trace *t, uint32_t i)
{
    return t->ops.at[t->detail[i]].forward_thread != 0;
}

static numbers count_numbers(const hu_trace *t)
{
    numbers k = {.low = INT64_MAX, .high = -1};

    for (uint32_t i = 0; i < t->n; i++) {
        const int64_t number = sequence_of(t, i);

        if (number < 0)
            continue;
        if (is_backward(t, i)) {
            k.backward++;
            continue;
        }
        k.forward++;
        k.low = number < k.low ? number : k.low;
        k.high = number > k.high ? number : k.high;
    }
    return k;
}

/* An operator of backward -> that of forward with its number. */
static bool link_numbers(hu_trace *t, const numbers *k, const id_map *forward)
{
    for (uint32_t i = 0; i < t->n; i++) {
        const int64_t number = sequence_of(t, i);
        uint32_t     *place, from;

        if (number < k->low || number > k->high || !is_backward(t, i))
            continue;
        from = forward->dense ? forward->dense[number - k->low] : hu_map_get(&forward->sparse, (uint64_t)number);
        if (from == HU_NONE)
            continue;
        place = hu_map_put(&t->forward, i);
        if (!place)
            return false;
        *place = from;
    }
    return true;
}

/* Without flows, the autograd sequence number pairs a forward operator with the backward one that names a thread. */
static bool link_sequences(hu_trace *t, hu_arena *scratch)
{
    const numbers k = count_numbers(t);
    const bool    is_dense = k.forward && (uint64_t)(k.high - k.low) / 8 <= k.forward;
    id_map        forward = {0};

    if (!hu_map_init(&t->forward, t->arena, k.forward ? k.backward : 0))
        return false;
    if (!k.forward || !k.backward)
        return true;
    forward.n = is_dense ? (size_t)(k.high - k.low) + 1 : 0;
    if (is_dense)
        forward.dense = hu_arena_grow(scratch, NULL, forward.n * sizeof *forward.dense);
    if (is_dense ? !forward.dense : !hu_map_init(&forward.sparse, scratch, k.forward))
        return false;
    if (is_dense)
        memset(forward.dense, 0xff, forward.n * sizeof *forward.dense);
    for (uint32_t i = 0; i < t->n; i++) {
        const int64_t number = sequence_of(t, i);
        uint32_t     *place;

        if (number < 0 || is_backward(t, i))
            continue;
        place = is_dense ? &forward.dense[number - k.low] : hu_map_put(&forward.sparse, (uint64_t)number);
        if (!place)
            return false;
        *place = i;
    }
    if (!link_numbers(t, &k, &forward))
        return false;
    id_map_drop(&forward, scratch);
    return true;
}

static int by_wake(const void *left, const void *right)
{
    const hu_wakeup *a = left, *b = right;

    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns ? -1 : 1;
    return (a->track > b->track) - (a->track < b->track);
}

typedef struct {
    hu_trace     *t;
    hu_arena     *scratch[2];
    hu_nest_pairs after;
    bool          ok[2];
} halves;

/* Slices on the host by time; all others, and operators among each other, by numbers.  Only the second takes memory of the
   trace itself. */
static void link_half(void *context, size_t half)
{
    halves   *h = context;
    hu_arena *scratch = h->scratch[half];

    if (half == 0)
        h->ok[half] = order_tracks(h->t, scratch) && link_parents(h->t, &h->after, scratch);
    else
        h->ok[half] = link_by_correlation(h->t, scratch) && link_by_external_id(h->t, scratch) &&
                      (h->t->flows.n ? hu_map_init(&h->t->forward, h->t->arena, 0) : link_sequences(h->t, scratch));
}

int hu_index_build(hu_trace *t, hu_error *err)
{
    halves h = {.t = t, .scratch = {hu_arena_new(), hu_arena_new()}};
    bool   ok = h.scratch[0] && h.scratch[1];

    hu_stretches_settle(t);
    if (t->wakes.n)
        qsort(t->wakes.at, t->wakes.n, sizeof *t->wakes.at, by_wake);
    ok = ok && (t->parent = hu_arena_grow(t->arena, NULL, (t->n + 1) * sizeof *t->parent)) != NULL;
    ok = ok && (t->order = hu_arena_grow(t->arena, NULL, (t->n + 1) * sizeof *t->order)) != NULL;
    if (ok) {
        memset(t->parent, 0xff, (t->n + 1) * sizeof *t->parent);
        hu_thread_each(2, t->n > FEW_SLICES ? hu_thread_count() : 1, link_half, &h);
        ok = h.ok[0] && h.ok[1];
    }
    hu_arena_free(h.scratch[1]);
    ok = ok && keep_after(t, &h.after) && hu_trace_link_launches(t, h.scratch[0]) && list_work(t, h.scratch[0]) &&
         (!t->flows.n || link_flows(t, h.scratch[0]));
    hu_arena_free(h.scratch[0]);
    hu_arena_drop(t->arena, t->flows.at); /* what they say is in `forward` */
    t->flows.at = NULL;
    t->flows.n = t->flows.cap = 0;
    return ok ? 0 : hu_fail_memory(err);
}
