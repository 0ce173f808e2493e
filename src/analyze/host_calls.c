/* SPDX-License-Identifier: Apache-2.0
 * host_calls.c - the outermost calls of each thread, added up by class, by function, and by what they are made on.
 *
 * A recorder leaves out what is shorter than its threshold, but for runs of fast calls, which it counts in one slice: so
 * counts are of calls that waited or were many, not of all calls.  Times of
 * several threads are sums; what counts for a step is main_ns, the time of the main thread inside of the steps.
 */
#include "analyze/host_calls.h"

#include <stdlib.h>

#include "analyze/join.h"
#include "base/hash.h"
#include "base/map.h"

static const unsigned ENCLOSING = HU_BIT(USER) | HU_BIT(PYTHON) | HU_BIT(CPU_OP) | HU_KINDS_CALL;

typedef struct {
    const hu_ask *ask;
    hu_map        call_of, place_of;
    HU_VEC(hu_host_call) calls;
    HU_VEC(hu_host_place) places;
    size_t         window; /* of the steps that count: the first that ends behind the last call */
    hu_host_calls *out;
} work;

hu_host_class hu_host_calls_class(const hu_ask *ask, uint32_t slice)
{
    const uint32_t      row = ask->s.detail[slice];
    const hu_os_detail *d;

    if (ask->s.kind[slice] == HU_KIND_MPI)
        return HU_HOST_MPI;
    if (row == HU_NONE)
        return HU_HOST_OTHER;
    d = hu_trace_os_detail(ask->trace, row);
    /* Thread.sleep and its like; elsewhere a wait that times out may be one of many looks at something */
    return d->is_timed_out && d->class == HU_HOST_WAIT && ask->has_jvm ? HU_HOST_SLEEP : (hu_host_class)d->class;
}

const uint8_t *hu_host_calls_find_inner(const hu_ask *ask, hu_arena *scratch)
{
    uint8_t *inner = hu_arena_calloc(scratch, ask->s.n + 1, 1);

    for (size_t k = 0; inner && k < ask->s.n && ask->kinds & (HU_BIT(OS_CALL) | HU_BIT(MPI));
         k++) { /* parents come before their children */
        const uint32_t i = ask->order[k], above = ask->s.parent[i];

        if (above != HU_NONE && hu_kind_in(ask->s.kind[i], HU_KINDS_HOST))
            inner[i] = inner[above] || hu_kind_in(ask->s.kind[above], HU_BIT(OS_CALL) | HU_BIT(MPI));
    }
    return inner;
}

static void add(hu_host_sum *sum, int64_t calls, int64_t dur_ns, int64_t bytes, int64_t main_ns, bool is_outside)
{
    sum->calls += calls;
    sum->total_ns += dur_ns;
    sum->longest_ns = dur_ns / calls > sum->longest_ns ? dur_ns / calls : sum->longest_ns;
    sum->bytes += bytes > 0 ? bytes : 0;
    sum->main_ns += main_ns;
    sum->outside_ns += is_outside ? dur_ns : 0;
}

bool hu_host_sum_is_outside(const hu_host_sum *sum)
{
    return sum->outside_ns > sum->total_ns / 2;
}

/* Of a call, what lies in the steps that count; calls come in the order of time. */
static int64_t in_steps(work *w, uint32_t i)
{
    const hu_intervals *steps = w->ask->counted;
    const int64_t       start = w->ask->s.start_ns[i], end = hu_ask_end(w->ask, i);
    int64_t             sum = 0;

    if (!steps)
        return end - start;
    while (w->window < steps->n && steps->at[w->window].end_ns <= start)
        w->window++;
    for (size_t k = w->window; k < steps->n && steps->at[k].start_ns < end; k++) {
        const int64_t from = steps->at[k].start_ns > start ? steps->at[k].start_ns : start;
        const int64_t to = steps->at[k].end_ns < end ? steps->at[k].end_ns : end;

        sum += to - from;
    }
    return sum;
}

/* The step itself is none: by its number, each step would be a place of its own. */
static uint32_t enclosing(const hu_ask *ask, uint32_t i)
{
    for (uint32_t at = ask->s.parent[i]; at != HU_NONE; at = ask->s.parent[at])
        if (hu_kind_in(ask->s.kind[at], ENCLOSING) && !(ask->names[ask->s.name[at]] & HU_NAME_STEP) &&
            !hu_steps_has_name(ask->steps, hu_ask_name(ask, at)))
            return at;
    return HU_NONE;
}

static int64_t bytes_of_mpi(const hu_ask *ask, uint32_t i)
{
    if (ask->s.kind[i] != HU_KIND_MPI || ask->s.detail[i] == HU_NONE)
        return -1;
    return hu_trace_mpi_detail(ask->trace, ask->s.detail[i])->bytes;
}

static bool add_call(work *w, uint32_t i, int64_t main_ns)
{
    const hu_ask       *ask = w->ask;
    const bool          is_os = ask->s.kind[i] == HU_KIND_OS_CALL && ask->s.detail[i] != HU_NONE;
    const hu_os_detail *d = is_os ? hu_trace_os_detail(ask->trace, ask->s.detail[i]) : NULL;
    const bool          is_outside = d && d->is_outside;
    const int64_t       bytes = d ? d->bytes : bytes_of_mpi(ask, i), calls = d && d->calls ? d->calls : 1;
    const hu_host_class class = hu_host_calls_class(ask, i);
    const uint32_t path = d ? d->path : 0, within = enclosing(ask, i), name = ask->s.name[i];
    const uint32_t within_name = within == HU_NONE ? 0 : ask->s.name[within];
    uint32_t      *call = hu_map_put(&w->call_of, (uint64_t) class << 32 | name), *place;

    if (call && *call == HU_MAP_NONE) {
        if (!hu_vec_push(ask->arena, &w->calls, ((hu_host_call){.name = hu_ask_name(ask, i), .class = class})))
            return false;
        *call = (uint32_t)w->calls.n - 1;
    }
    place = hu_map_put(&w->place_of,
                       hu_hash_u64(hu_hash_u64((uint64_t)path << 32 | within_name) ^ ((uint64_t) class << 32 | name)));
    if (place && *place == HU_MAP_NONE) {
        const hu_host_place fresh = {.call = hu_ask_name(ask, i),
                                     .path = hu_trace_text(ask->trace, path),
                                     .within = hu_trace_text(ask->trace, within_name),
                                     .class = class};

        if (!hu_vec_push(ask->scratch, &w->places, fresh))
            return false;
        *place = (uint32_t)w->places.n - 1;
    }
    if (!call || !place)
        return false;
    add(&w->out->by_class[class], calls, ask->s.dur_ns[i], bytes, main_ns, is_outside);
    add(&w->calls.at[*call].sum, calls, ask->s.dur_ns[i], bytes, main_ns, is_outside);
    add(&w->places.at[*place].sum, calls, ask->s.dur_ns[i], bytes, main_ns, is_outside);
    return true;
}

static int compare_sums(const hu_host_sum *a, const hu_host_sum *b)
{
    if (a->main_ns != b->main_ns)
        return a->main_ns > b->main_ns ? -1 : 1;
    if (a->total_ns != b->total_ns)
        return a->total_ns > b->total_ns ? -1 : 1;
    return 0;
}

static int by_call(const void *left, const void *right)
{
    const hu_host_call *a = left, *b = right;
    int                 c = compare_sums(&a->sum, &b->sum);

    c = c ? c : hu_str_compare(a->name, b->name);
    return c ? c : (a->class > b->class) - (a->class < b->class);
}

static int by_place(const void *left, const void *right)
{
    const hu_host_place *a = left, *b = right;
    int                  c = compare_sums(&a->sum, &b->sum);

    c = c ? c : hu_str_compare(a->call, b->call);
    c = c ? c : hu_str_compare(a->path, b->path);
    c = c ? c : hu_str_compare(a->within, b->within);
    return c ? c : (a->class > b->class) - (a->class < b->class);
}

static int by_total(const void *left, const void *right)
{
    const hu_host_place *a = left, *b = right;

    if (a->sum.total_ns != b->sum.total_ns)
        return a->sum.total_ns > b->sum.total_ns ? -1 : 1;
    return by_place(left, right);
}

/* Of rows by_place those that are kept: half for what the main thread waits in, half for what any thread does, so that the
   few files of a pool of threads do not stand behind all that the main thread once looked up.  Returns how many. */
static size_t keep_places(hu_host_place *at, size_t n)
{
    enum { HALF = HU_HOST_PLACES / 2 };

    if (n <= HU_HOST_PLACES)
        return n;
    qsort(at + HALF, n - HALF, sizeof *at, by_total);
    qsort(at, HU_HOST_PLACES, sizeof *at, by_place);
    return HU_HOST_PLACES;
}

int hu_host_calls_measure(const hu_ask *ask, hu_host_calls *out, hu_error *err)
{
    hu_host_calls  result = {.at = NULL};
    const uint8_t *inner = hu_host_calls_find_inner(ask, ask->scratch);
    work           w = {.ask = ask, .out = &result};

    if (!inner || !hu_map_init(&w.call_of, ask->scratch, 64) || !hu_map_init(&w.place_of, ask->scratch, 64))
        return hu_fail_memory(err);
    for (size_t k = 0; k < ask->s.n && ask->kinds & (HU_BIT(OS_CALL) | HU_BIT(MPI)); k++) {
        const uint32_t i = ask->order[k];

        if (hu_kind_in(ask->s.kind[i], HU_BIT(OS_CALL) | HU_BIT(MPI)) && !inner[i] && hu_ask_has(ask, i) &&
            !add_call(&w, i, ask->s.track[i] == ask->main_track ? in_steps(&w, i) : 0))
            return hu_fail_memory(err);
    }
    if (w.calls.n)
        qsort(w.calls.at, w.calls.n, sizeof *w.calls.at, by_call);
    if (w.places.n)
        qsort(w.places.at, w.places.n, sizeof *w.places.at, by_place);
    result.at = w.calls.at;
    result.n = w.calls.n;
    result.n_places = keep_places(w.places.at, w.places.n);
    result.places = hu_arena_alloc(ask->arena, (result.n_places + 1) * sizeof *result.places);
    if (!result.places)
        return hu_fail_memory(err);
    if (result.n_places)
        memcpy(result.places, w.places.at, result.n_places * sizeof *result.places);
    *out = result;
    return 0;
}

static void call_key(const void *row, hu_str *a, hu_str *b)
{
    *a = ((const hu_host_call *)row)->name;
    *b = hu_str_of(hu_host_class_key(((const hu_host_call *)row)->class));
}

static void merge_sum(hu_host_sum *into, const hu_host_sum *from)
{
    into->calls += from->calls;
    into->total_ns += from->total_ns;
    into->longest_ns = from->longest_ns > into->longest_ns ? from->longest_ns : into->longest_ns;
    into->bytes += from->bytes;
    into->main_ns += from->main_ns;
    into->outside_ns += from->outside_ns;
}

static void merge_call(void *into, const void *from)
{
    merge_sum(&((hu_host_call *)into)->sum, &((const hu_host_call *)from)->sum);
}

/* Ranks that read one file are one row, wherever they do it from. */
static void place_key(const void *row, hu_str *a, hu_str *b)
{
    *a = ((const hu_host_place *)row)->call;
    *b = ((const hu_host_place *)row)->path;
}

static void merge_place(void *into, const void *from)
{
    merge_sum(&((hu_host_place *)into)->sum, &((const hu_host_place *)from)->sum);
}

bool hu_host_calls_merge(hu_host_calls *into, const hu_host_calls *from, hu_arena *arena)
{
    static const hu_join_rule calls = {sizeof(hu_host_call), call_key, merge_call, by_call};
    static const hu_join_rule places = {sizeof(hu_host_place), place_key, merge_place, by_place};
    bool                      ok;

    for (hu_host_class c = 0; c < HU_HOST_CLASS_COUNT; c++)
        merge_sum(&into->by_class[c], &from->by_class[c]);
    ok = hu_join_rows(&calls, (void **)&into->at, &into->n, from->at, from->n, arena) &&
         hu_join_rows(&places, (void **)&into->places, &into->n_places, from->places, from->n_places, arena);
    if (ok)
        into->n_places = keep_places(into->places, into->n_places);
    return ok;
}

const hu_host_place *hu_host_calls_place(const hu_host_calls *c, unsigned classes, size_t nth)
{
    for (size_t i = 0; i < c->n_places; i++)
        if (classes >> c->places[i].class & 1 && nth-- == 0)
            return &c->places[i];
    return NULL;
}
