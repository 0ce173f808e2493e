/* SPDX-License-Identifier: Apache-2.0
 * cut.c - writers put all operators first, then calls and GPU work in the order of the profiler's buffers.
 *
 * So a file that was cut inside its list of events has the host's side of every step and the device's side of some.  Buffers
 * are not in the order of time: the first one often holds the end of the capture, and its beginning follows.  "Behind the
 * last device event" is therefore not enough; a step is whole only if nothing in it says that records are missing:
 *
 *   - the last record of the file belongs to another step;
 *   - it has GPU work;
 *   - its launches have their work: all of them, for a missing stream of communication is few launches and much time;
 *     but for cudaMemsetAsync inside libraries, whose work CUPTI leaves out of whole files too, and for copies under an
 *     operator that never have work in this file, which may have been of no bytes;
 *   - operators that launch do so here: no HOLE of them in a row without a launch.  Only those count that in some step
 *     launch nearly always: aten::copy_ launches on a device and not on the host, and says nothing;
 *   - where no launches are recorded at all, it has about as much device work as the others.
 */
#include "analyze/cut.h"

#include "analyze/names.h"
#include "analyze/select.h"
#include "base/map.h"

enum { HOLE = 16 };

static const double LEAST_WORK = 0.8;    /* of the step with the most */
static const double NEARLY_ALWAYS = 0.9; /* of an operator's calls in a step */
static const double ENOUGH_KNOWN = 0.5;  /* of all launches, by operators that nearly always launch */

typedef struct {
    uint32_t name, calls, launches;
} operator_in_step;

typedef struct {
    const hu_trace *trace;
    const uint8_t  *names;
    hu_slices       s;
    hu_step        *at;
    size_t          n;
    hu_intervals    host;
    int64_t        *unlinked;      /* launches without their work, by step */
    uint8_t        *launching;     /* by name of an operator: some of them launch */
    uint8_t        *always;        /* by name of an operator: a call without a launch is odd */
    uint8_t        *launches_here; /* by slice: this operator does */
    hu_map          has_work;      /* by kind of launch: 1 where one of them has */
    bool            has_device, has_launches;
} work;

static bool is_launch(const work *w, uint32_t i)
{
    return hu_kind_in(w->s.kind[i], HU_KINDS_CALL) && (w->names[w->s.name[i]] & HU_NAME_LAUNCH) != 0;
}

static bool prepare(work *w, hu_arena *scratch)
{
    const size_t strings = hu_trace_string_count(w->trace);

    w->host.at = hu_arena_calloc(scratch, w->n + 1, sizeof *w->host.at);
    w->unlinked = hu_arena_calloc(scratch, w->n + 1, sizeof *w->unlinked);
    w->launching = hu_arena_calloc(scratch, strings + 1, 1);
    w->always = hu_arena_calloc(scratch, strings + 1, 1);
    w->launches_here = hu_arena_calloc(scratch, w->s.n + 1, 1);
    if (!w->host.at || !w->unlinked || !w->launching || !w->always || !w->launches_here ||
        !hu_map_init(&w->has_work, scratch, 0))
        return false;
    for (size_t i = 0; i < w->n; i++)
        w->host.at[i] = (hu_interval){w->at[i].host_start_ns, w->at[i].host_end_ns};
    w->host.n = w->host.cap = w->n;
    return true;
}

/* The call within its operator. */
static uint64_t kind_of_launch(const work *w, uint32_t i)
{
    const uint32_t above = w->s.parent[i];

    return (uint64_t)w->s.name[i] << 32 | (above != HU_NONE ? w->s.name[above] : 0);
}

/* The operators that launches are in, and which kinds of launches have work. */
static bool find_launches(work *w)
{
    for (uint32_t i = 0; i < w->s.n; i++) {
        const uint32_t above = w->s.parent[i];
        uint32_t      *place;
        size_t         n;

        w->has_device |= hu_kind_in(w->s.kind[i], HU_KINDS_DEVICE);
        if (!is_launch(w, i))
            continue;
        w->has_launches = true;
        if (above != HU_NONE && w->s.kind[above] == HU_KIND_CPU_OP) {
            w->launching[w->s.name[above]] = 1;
            w->launches_here[above] = 1;
        }
        place = hu_map_put(&w->has_work, kind_of_launch(w, i));
        if (!place)
            return false;
        if (*place != 1)
            *place = hu_trace_work_of(w->trace, i, &n) != NULL;
    }
    return true;
}

static void count_unlinked(work *w)
{
    for (uint32_t i = 0; i < w->s.n; i++) {
        hu_str name;
        size_t n, at;

        if (!is_launch(w, i) || !w->s.correlation[i] || w->s.kind[i] != HU_KIND_RUNTIME || hu_trace_work_of(w->trace, i, &n))
            continue;
        name = hu_trace_text(w->trace, w->s.name[i]);
        if (hu_str_has(name, HU_STR("Memset")) ||
            (hu_str_has(name, HU_STR("Memcpy")) && hu_map_get(&w->has_work, kind_of_launch(w, i)) != 1))
            continue;
        at = hu_select_find(&w->host, w->s.start_ns[i]);
        if (at < w->n)
            w->unlinked[at]++;
    }
}

/* How often each operator that launches somewhere was called in each step, and launched. */
static bool count_operators(const work *w, hu_arena *scratch, operator_in_step **out, size_t *n)
{
    HU_VEC(operator_in_step) list = {0};
    hu_map by_key;

    if (!hu_map_init(&by_key, scratch, 0))
        return false;
    for (uint32_t i = 0; i < w->s.n; i++) {
        const operator_in_step fresh = {.name = w->s.name[i]};
        uint32_t              *place;
        size_t                 at;

        if (w->s.kind[i] != HU_KIND_CPU_OP || !w->launching[w->s.name[i]])
            continue;
        at = hu_select_find(&w->host, w->s.start_ns[i]);
        if (at == w->n)
            continue;
        place = hu_map_put(&by_key, (uint64_t)w->s.name[i] << 32 | at);
        if (!place)
            return false;
        if (*place == HU_MAP_NONE) {
            if (!hu_vec_push(scratch, &list, fresh))
                return false;
            *place = (uint32_t)list.n - 1;
        }
        list.at[*place].calls++;
        list.at[*place].launches += w->launches_here[i];
    }
    *out = list.at;
    *n = list.n;
    return true;
}

/*
 * Operators that launch nearly always, in one of the steps with most of their calls: there may be no such step that is
 * whole.  Then few are known, and every operator that launches anywhere counts.
 */
static bool find_always(work *w, hu_arena *scratch)
{
    uint32_t         *most = hu_arena_calloc(scratch, hu_trace_string_count(w->trace) + 1, sizeof *most);
    operator_in_step *list;
    size_t            n;
    int64_t           all = 0, known = 0;

    if (!most || !count_operators(w, scratch, &list, &n))
        return false;
    for (size_t i = 0; i < n; i++)
        if (list[i].calls > most[list[i].name])
            most[list[i].name] = list[i].calls;
    for (size_t i = 0; i < n; i++)
        if (list[i].calls >= most[list[i].name] / 2 && list[i].launches >= NEARLY_ALWAYS * list[i].calls)
            w->always[list[i].name] = 1;
    for (size_t i = 0; i < n; i++) {
        all += list[i].launches;
        known += w->always[list[i].name] ? list[i].launches : 0;
    }
    if ((double)known < ENOUGH_KNOWN * (double)all)
        w->always = w->launching;
    return true;
}

/* Operators in a row, on one thread, that launch elsewhere and not here: their calls are missing. */
static void find_holes(work *w)
{
    const uint32_t *order = hu_trace_order(w->trace);
    size_t          n_tracks;
    const hu_track *tracks = hu_trace_tracks(w->trace, &n_tracks);

    for (size_t t = 0; t < n_tracks; t++) {
        uint32_t run = 0;

        for (uint32_t k = 0; tracks[t].type == HU_TRACK_HOST && k < tracks[t].count; k++) {
            const uint32_t i = order[tracks[t].first + k];
            size_t         at;

            if (w->s.kind[i] != HU_KIND_CPU_OP || !w->always[w->s.name[i]])
                continue;
            run = w->launches_here[i] ? 0 : run + 1;
            at = hu_select_find(&w->host, w->s.start_ns[i]);
            if (run >= HOLE && at < w->n)
                w->at[at].is_incomplete = true;
        }
    }
}

/* The record that the file ends with: of the device's side where there is one.  HU_NONE in an empty trace. */
static uint32_t last_record(const work *w)
{
    for (uint32_t i = (uint32_t)w->s.n; i-- > 0;)
        if (w->has_device || w->has_launches ? hu_kind_in(w->s.kind[i], HU_KINDS_DEVICE) || is_launch(w, i)
                                             : hu_kind_in(w->s.kind[i], HU_KINDS_HOST))
            return i;
    return HU_NONE;
}

/* Without a device the file is in the order of time, more or less: nothing behind its last record counts. */
static void judge_host(work *w)
{
    const uint32_t last = last_record(w);

    for (size_t i = 0; last != HU_NONE && i < w->n; i++)
        if (w->at[i].host_end_ns >= w->s.start_ns[last])
            w->at[i].is_incomplete = true;
}

static void judge_device(work *w)
{
    const uint32_t last = last_record(w);
    const int64_t  time = hu_select_time(w->trace, &w->s, last);
    int64_t        most = 0;

    for (size_t i = 0; i < w->n; i++)
        most = w->at[i].n_device > most ? w->at[i].n_device : most;
    for (size_t i = 0; i < w->n; i++) {
        hu_step *s = &w->at[i];

        s->is_incomplete |= s->n_device == 0 || (s->host_start_ns <= time && time <= s->host_end_ns) || w->unlinked[i] > 0 ||
                            (!w->has_launches && (double)s->n_device < LEAST_WORK * (double)most);
    }
    find_holes(w);
}

int hu_cut_judge(const hu_trace *trace, const uint8_t *names, hu_step *at, size_t n, hu_arena *scratch, bool *is_device,
                 hu_error *err)
{
    const hu_quality *q = hu_trace_get_quality(trace);
    work              w = {.trace = trace, .names = names, .s = hu_trace_slices(trace), .at = at, .n = n};

    *is_device = false;
    if (!q->is_truncated || q->has_all_events || n == 0)
        return 0;
    if (!prepare(&w, scratch) || !find_launches(&w) || !find_always(&w, scratch))
        return hu_fail_memory(err);
    count_unlinked(&w);
    *is_device = w.has_device || w.has_launches;
    if (*is_device)
        judge_device(&w);
    else
        judge_host(&w);
    return 0;
}
