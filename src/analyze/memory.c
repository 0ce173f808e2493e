/* SPDX-License-Identifier: Apache-2.0
 * memory.c - follows every allocation from its birth to its death.
 *
 * An allocation belongs to the code that asked for it, where the recorder says so (memory snapshots), else to the innermost
 * operator of its thread.  Its category is a judgement from when it was taken and
 * when it was given back, because a trace does not name tensors:
 *
 *     optimizer    taken inside Optimizer.step               input        taken inside the data loader
 *     temporary    given back before its operator ended      gradient     taken inside a backward operator
 *     activation   taken elsewhere, given back in backward   other        everything else, weights for instance
 *     before       what the recorder's total has beyond these: taken before the capture
 *
 * torch's own memory profiler knows tensors and tells more (export_memory_timeline, memory snapshots).
 *
 * Growth: held bytes at the end of each step; the slope is Theil's and Sen's (the median over all pairs of steps), which one
 * outlier cannot move, and its significance Mann's and Kendall's test with the normal approximation, corrected for ties.
 */
#include "analyze/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyze/groups.h"
#include "analyze/join.h"
#include "analyze/memory_work.h"
#include "base/sort.h"

enum { PHASE_UNASKED, PHASE_NONE, PHASE_BACKWARD, PHASE_OPTIMIZER, PHASE_INPUT };

enum { DEAD = UINT32_MAX - 1, MOST_STEPS = 2000 };

static bool sort_events(hu_memory_work *w)
{
    uint32_t *spare = hu_arena_alloc(w->ask->scratch, (w->n + 1) * sizeof *spare);

    w->order = hu_arena_alloc(w->ask->scratch, (w->n + 1) * sizeof *w->order);
    if (!spare || !w->order)
        return false;
    for (uint32_t i = 0; i < w->n; i++)
        w->order[i] = i;
    for (size_t width = 1; width < w->n; width *= 2) {
        for (size_t from = 0; from < w->n; from += 2 * width) {
            const size_t middle = from + width < w->n ? from + width : w->n;
            const size_t end = from + 2 * width < w->n ? from + 2 * width : w->n;
            size_t       i = from, j = middle;

            for (size_t k = from; k < end; k++)
                spare[k] = i < middle && (j >= end || w->events[w->order[i]].time_ns <= w->events[w->order[j]].time_ns)
                               ? w->order[i++]
                               : w->order[j++];
        }
        memcpy(w->order, spare, w->n * sizeof *spare);
    }
    return true;
}

static hu_str pool_name(const hu_memory_event *e, hu_arena *arena)
{
    static const struct {
        int         type;
        const char *name;
    } types[] = {{0, "cpu"}, {1, "cuda"}, {6, "hip"}, {12, "xpu"}, {20, "privateuse1"}};
    char        text[48];
    const char *name = "device";

    for (size_t i = 0; i < HU_COUNT(types); i++)
        if (types[i].type == e->device_type)
            name = types[i].name;
    if (e->device < 0)
        return hu_arena_copy(arena, hu_str_of(name));
    snprintf(text, sizeof text, "%s:%d", name, (int)e->device);
    return hu_arena_copy(arena, hu_str_of(text));
}

static uint32_t pool_of(hu_memory_work *w, const hu_memory_event *e)
{
    hu_memory_pool fresh = {.device_type = e->device_type, .device = e->device, .reserved_bytes = -1, .peak_ns = INT64_MIN};

    for (uint32_t i = 0; i < w->pools.n; i++)
        if (w->pools.at[i].device_type == e->device_type && w->pools.at[i].device == e->device)
            return i;
    fresh.name = pool_name(e, w->ask->arena);
    fresh.is_relative = true;
    return fresh.name.p && hu_vec_push(w->ask->arena, &w->pools, fresh) ? (uint32_t)w->pools.n - 1 : HU_NONE;
}

static uint8_t phase_of_name(hu_str name)
{
    if (hu_str_starts(name, HU_STR("autograd::engine::evaluate_function")) || hu_str_ends(name, HU_STR("Backward")) ||
        hu_str_ends(name, HU_STR("Backward0")) || hu_str_ends(name, HU_STR("Backward1")))
        return PHASE_BACKWARD;
    if (hu_str_starts(name, HU_STR("Optimizer.step")))
        return PHASE_OPTIMIZER;
    return PHASE_NONE;
}

static uint8_t phase_of(hu_memory_work *w, uint32_t slice)
{
    uint8_t found = PHASE_NONE;

    for (uint32_t at = slice; at != HU_NONE && found == PHASE_NONE; at = w->ask->s.parent[at]) {
        const uint32_t name = w->ask->s.name[at];

        if (!w->phase[name]) {
            w->phase[name] = phase_of_name(hu_ask_name(w->ask, at));
            if (w->ask->names[name] & HU_NAME_DATA_LOADER)
                w->phase[name] = PHASE_INPUT;
        }
        found = w->phase[name];
    }
    return found;
}

static uint32_t slice_at(const hu_memory_work *w, const hu_memory_event *e)
{
    return hu_ask_slice_at(w->ask, e->track, e->time_ns, HU_BIT(CPU_OP) | HU_BIT(USER));
}

static bool is_inside(const hu_memory_work *w, uint32_t slice, const hu_memory_event *e)
{
    return slice != HU_NONE && w->ask->s.kind[slice] == HU_KIND_CPU_OP && w->ask->s.track[slice] == e->track &&
           e->time_ns <= hu_ask_end(w->ask, slice);
}

static uint8_t phase_of_code(const hu_memory_event *e)
{
    return e->phase == HU_MEMORY_IN_BACKWARD    ? PHASE_BACKWARD
           : e->phase == HU_MEMORY_IN_OPTIMIZER ? PHASE_OPTIMIZER
                                                : PHASE_NONE;
}

/* What a recorder says that knows tensors. */
hu_memory_category hu_memory_category_of(hu_memory_use use)
{
    static const uint8_t categories[] = {
        [HU_MEMORY_USE_UNSAID] = HU_MEMORY_OTHER,        [HU_MEMORY_USE_PARAMETER] = HU_MEMORY_PARAMETER,
        [HU_MEMORY_USE_OPTIMIZER] = HU_MEMORY_OPTIMIZER, [HU_MEMORY_USE_INPUT] = HU_MEMORY_INPUT,
        [HU_MEMORY_USE_TEMPORARY] = HU_MEMORY_TEMPORARY, [HU_MEMORY_USE_ACTIVATION] = HU_MEMORY_ACTIVATION,
        [HU_MEMORY_USE_GRADIENT] = HU_MEMORY_GRADIENT,   [HU_MEMORY_USE_AUTOGRAD] = HU_MEMORY_AUTOGRAD,
        [HU_MEMORY_USE_UNKNOWN] = HU_MEMORY_OTHER,
    };

    return (hu_memory_category)categories[use];
}

void hu_memory_judge(hu_memory_work *w, hu_memory_life *a)
{
    const hu_memory_event *death = a->died != HU_NONE ? &w->events[w->order[a->died]] : NULL;
    const hu_memory_event *birth = &w->events[w->order[a->born]];
    const uint8_t          phase = birth->site ? phase_of_code(birth) : phase_of(w, a->op);

    if (death && is_inside(w, a->op, death))
        a->category = HU_MEMORY_TEMPORARY;
    else if (phase == PHASE_BACKWARD)
        a->category = HU_MEMORY_GRADIENT;
    else if (phase == PHASE_OPTIMIZER)
        a->category = HU_MEMORY_OPTIMIZER;
    else if (phase == PHASE_INPUT)
        a->category = HU_MEMORY_INPUT;
    else if (death && (death->site ? phase_of_code(death) : phase_of(w, slice_at(w, death))) == PHASE_BACKWARD)
        a->category = HU_MEMORY_ACTIVATION;
    else
        a->category = HU_MEMORY_OTHER;
}

static bool take(hu_memory_work *w, uint32_t place, uint32_t pool, const hu_memory_event *e)
{
    uint32_t *at = e->use ? NULL : hu_map_put(&w->live, hu_hash_u64(e->address) ^ pool);

    if (!at && !e->use)
        return false;
    if (e->use != HU_MEMORY_USE_UNSAID)
        return true; /* it has no address: sums by category are all there is */
    if (e->bytes > 0) {
        if (!hu_vec_push(w->ask->scratch, &w->list,
                         ((hu_memory_life){.born = place, .died = HU_NONE, .op = slice_at(w, e), .pool = pool})))
            return false;
        *at = (uint32_t)w->list.n - 1;
    } else {
        if (*at != HU_NONE && *at != DEAD)
            w->list.at[*at].died = place;
        *at = DEAD;
    }
    return true;
}

static void note_total(hu_memory_work *w, uint32_t place, hu_memory_pool *p, const hu_memory_event *e)
{
    const int64_t before = p->last_bytes;
    const bool    is_first = p->peak_ns == INT64_MIN;

    if (e->total_allocated > 0)
        p->is_relative = false;
    p->last_bytes = e->total_allocated > 0 || (!p->is_relative && e->total_allocated == 0) ? e->total_allocated
                                                                                           : before + e->bytes;
    w->held[place] = p->last_bytes;
    if (is_first)
        p->first_bytes = p->last_bytes - e->bytes;
    if (e->bytes > 0 && !e->is_move) {
        p->allocations++;
        p->allocated_bytes += e->bytes;
    }
    p->frees += e->bytes <= 0 && !e->is_move;
    if (p->last_bytes > p->peak_bytes || is_first) {
        p->peak_bytes = p->last_bytes;
        p->peak_ns = e->time_ns;
        w->peak_at[p - w->pools.at] = place;
    }
    p->reserved_bytes = e->total_reserved > p->reserved_bytes ? e->total_reserved : p->reserved_bytes;
}

enum { MOST_POOLS = 256 };

static int follow(hu_memory_work *w, hu_error *err)
{
    for (uint32_t place = 0; place < w->n; place++) {
        const hu_memory_event *e = &w->events[w->order[place]];
        const uint32_t         pool = pool_of(w, e);

        if (pool == HU_NONE)
            return hu_fail_memory(err);
        w->pool_of[place] = pool < MOST_POOLS ? pool : HU_NONE;
        if (pool >= MOST_POOLS)
            continue; /* no machine has as many; a hostile file may */
        note_total(w, place, &w->pools.at[pool], e);
        if (!take(w, place, pool, e))
            return hu_fail_memory(err);
    }
    w->pools.n = w->pools.n < MOST_POOLS ? w->pools.n : MOST_POOLS;
    return 0;
}

static void draw(hu_memory_work *w)
{
    const int64_t first = w->events[w->order[0]].time_ns, last = w->events[w->order[w->n - 1]].time_ns;
    int64_t       since[MOST_POOLS];
    double        allocated[MOST_POOLS], reserved[MOST_POOLS];

    for (size_t p = 0; p < w->pools.n; p++) {
        hu_series_init(&w->pools.at[p].allocated, first, last + 1);
        hu_series_init(&w->pools.at[p].reserved, first, last + 1);
        since[p] = first;
        allocated[p] = (double)w->pools.at[p].first_bytes;
        reserved[p] = 0;
    }
    for (uint32_t place = 0; place < w->n; place++) {
        const hu_memory_event *e = &w->events[w->order[place]];
        const uint32_t         p = w->pool_of[place];

        if (p == HU_NONE)
            continue;
        hu_series_add(&w->pools.at[p].allocated, since[p], e->time_ns, allocated[p]);
        hu_series_add(&w->pools.at[p].reserved, since[p], e->time_ns, reserved[p]);
        since[p] = e->time_ns;
        allocated[p] = (double)w->held[place];
        reserved[p] = e->total_reserved > 0 ? (double)e->total_reserved : reserved[p];
    }
    for (size_t p = 0; p < w->pools.n; p++) {
        hu_series_add(&w->pools.at[p].allocated, since[p], last + 1, allocated[p]);
        hu_series_add(&w->pools.at[p].reserved, since[p], last + 1, reserved[p]);
    }
}

/* the peak */

static int by_bytes(const void *left, const void *right)
{
    const hu_memory_holder *a = left, *b = right;
    int                     c;

    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    c = hu_str_compare(a->op, b->op);
    c = c ? c : hu_str_compare(a->module, b->module);
    return c ? c : hu_str_compare(a->device, b->device);
}

/* Of a recorder that says what tensors are for: sums at the peaks. */
static void sum_said(hu_memory_work *w)
{
    for (uint32_t place = 0; place < w->n; place++) {
        const hu_memory_event *e = &w->events[w->order[place]];
        hu_memory_pool        *p = w->pool_of[place] != HU_NONE ? &w->pools.at[w->pool_of[place]] : NULL;

        if (!p || !e->use || place > w->peak_at[w->pool_of[place]])
            continue;
        p->peak_by[HU_MEMORY_BEFORE] -= e->bytes;
        p->peak_by[hu_memory_category_of((hu_memory_use)e->use)] += e->bytes;
    }
}

/* The largest pool over time, by category. */
static void draw_categories(hu_memory_work *w, hu_memory *out)
{
    const int64_t first = w->events[w->order[0]].time_ns, last = w->events[w->order[w->n - 1]].time_ns;
    int64_t       since[HU_MEMORY_CATEGORY_COUNT];
    double        held[HU_MEMORY_CATEGORY_COUNT] = {0};
    uint8_t      *of = hu_arena_calloc(w->ask->scratch, w->n + 1, 1); /* by place: 1 + category */
    uint32_t      largest = 0;

    for (uint32_t p = 1; p < w->pools.n; p++)
        if (w->pools.at[p].peak_bytes > w->pools.at[largest].peak_bytes)
            largest = p;
    for (size_t i = 0; of && i < w->list.n; i++) {
        if (w->list.at[i].pool != largest)
            continue;
        of[w->list.at[i].born] = (uint8_t)(1 + w->list.at[i].category);
        if (w->list.at[i].died != HU_NONE)
            of[w->list.at[i].died] = (uint8_t)(1 + w->list.at[i].category);
    }
    for (int c = 0; c < HU_MEMORY_CATEGORY_COUNT; c++) {
        hu_series_init(&out->by[c], first, last + 1);
        since[c] = first;
    }
    held[HU_MEMORY_BEFORE] = (double)w->pools.at[largest].first_bytes;
    for (uint32_t place = 0; of && place < w->n; place++) {
        const hu_memory_event *e = &w->events[w->order[place]];
        const int              c = e->use      ? (int)hu_memory_category_of((hu_memory_use)e->use)
                                   : of[place] ? of[place] - 1
                                               : HU_MEMORY_BEFORE;

        if (w->pool_of[place] != largest)
            continue;
        hu_series_add(&out->by[c], since[c], e->time_ns, held[c]);
        since[c] = e->time_ns;
        held[c] += (double)e->bytes;
    }
    for (int c = 0; c < HU_MEMORY_CATEGORY_COUNT; c++)
        hu_series_add(&out->by[c], since[c], last + 1, held[c]);
}

static int find_holders(hu_memory_work *w, hu_memory *out, hu_error *err)
{
    const hu_ask *ask = w->ask;
    HU_VEC(hu_memory_holder) list = {0};
    hu_map rows;

    if (!hu_map_init(&rows, ask->scratch, 256))
        return hu_fail_memory(err);
    for (size_t p = 0; p < w->pools.n; p++)
        w->pools.at[p].peak_by[HU_MEMORY_BEFORE] = w->pools.at[p].peak_bytes;
    for (size_t i = 0; i < w->list.n; i++) {
        hu_memory_life *a = &w->list.at[i];
        const uint32_t  peak = w->peak_at[a->pool];
        const int64_t   bytes = w->events[w->order[a->born]].bytes;
        hu_memory_pool *p = &w->pools.at[a->pool];
        uint32_t       *place, site;
        uint64_t        key;

        hu_memory_judge(w, a);
        if (!hu_memory_is_held(a, peak))
            continue;
        p->peak_by[HU_MEMORY_BEFORE] -= bytes;
        p->peak_by[a->category] += bytes;
        site = w->events[w->order[a->born]].site;
        key = hu_hash_u64(site               ? (uint64_t)site << 32
                          : a->op != HU_NONE ? ask->s.name[a->op]
                                             : 0) ^
              (a->op != HU_NONE ? hu_hash_u64(hu_group_key(ask, HU_GROUP_MODULE, 0, a->op) + 1) : 0);
        place = hu_map_put(&rows, hu_hash_u64(key ^ ((uint64_t)a->pool << 8 | a->category)));
        if (!place)
            return hu_fail_memory(err);
        if (*place == HU_NONE) {
            hu_memory_holder h = {.device = p->name, .category = a->category, .op = HU_STR(""), .module = HU_STR("")};

            if (site) {
                h.op = hu_trace_text(ask->trace, site);
            } else if (a->op != HU_NONE) {
                h.op = hu_ask_name(ask, a->op);
                h.module = hu_group_text(ask, HU_GROUP_MODULE, 0, a->op, ask->arena);
            }
            if (!h.module.p || !hu_vec_push(ask->arena, &list, h))
                return hu_fail_memory(err);
            *place = (uint32_t)list.n - 1;
        }
        list.at[*place].bytes += bytes;
        list.at[*place].allocations++;
    }
    if (list.n)
        qsort(list.at, list.n, sizeof *list.at, by_bytes);
    out->holders = list.at;
    out->n_holders = list.n < HU_MEMORY_HOLDERS ? list.n : HU_MEMORY_HOLDERS;
    return 0;
}

/* growth */

static int by_value(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

static double median_slope(const int64_t *v, size_t n, double *spare)
{
    size_t k = 0;

    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++)
            spare[k++] = (double)(v[j] - v[i]) / (double)(j - i);
    qsort(spare, k, sizeof *spare, by_value);
    return k % 2 ? spare[k / 2] : (spare[k / 2 - 1] + spare[k / 2]) / 2;
}

/* Two-sided p of Mann's and Kendall's S; ties make its variance smaller. */
static double trend_p(int64_t *v, size_t n)
{
    const double m = (double)n;
    double       s = 0, variance = m * (m - 1) * (2 * m + 5), z;

    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++)
            s += (v[j] > v[i]) - (v[j] < v[i]);
    hu_sort_i64(v, n); /* equal values become neighbours */
    for (size_t i = 0, end; i < n; i = end) {
        double t;

        for (end = i + 1; end < n && v[end] == v[i]; end++)
            ;
        t = (double)(end - i);
        variance -= t * (t - 1) * (2 * t + 5);
    }
    if (variance <= 0)
        return 1;
    z = (s > 0 ? s - 1 : s < 0 ? s + 1 : 0) / sqrt(variance / 18);
    return erfc(fabs(z) / sqrt(2));
}

static hu_leak judge_growth(const hu_memory_pool *p)
{
    const double grown = p->slope_bytes * (double)p->steps;
    const double least = 0.005 * (double)p->peak_bytes;

    if (p->steps < 3)
        return HU_LEAK_UNKNOWN;
    if (!(p->slope_bytes > 0) || grown < least)
        return HU_LEAK_NO;
    if (p->steps < 5)
        return HU_LEAK_MAYBE; /* so few steps cannot be significant */
    return p->growth_p < 0.01 ? HU_LEAK_YES : p->growth_p < 0.05 ? HU_LEAK_MAYBE : HU_LEAK_NO;
}

bool hu_memory_step_ends(const hu_memory_work *w, uint32_t pool, size_t most, int64_t **out, size_t *n)
{
    const hu_steps       *steps = w->ask->steps;
    size_t                n_marks;
    const hu_memory_mark *marks = hu_trace_memory_marks(w->ask->trace, &n_marks);
    const size_t          n_steps = steps && steps->source != HU_STEPS_NONE ? steps->n : 0;

    *out = hu_arena_alloc(w->ask->scratch, ((n_steps > n_marks ? n_steps : n_marks) + 1) * sizeof **out);
    *n = 0;
    if (!*out)
        return false;
    for (size_t i = 0; i < n_steps && *n < most; i++)
        if (!steps->at[i].is_warm_up)
            (*out)[(*n)++] = steps->at[i].host_end_ns;
    for (size_t i = 0; n_steps == 0 && i < n_marks && *n < most; i++)
        if (marks[i].is_end && marks[i].device == w->pools.at[pool].device &&
            hu_str_starts(hu_trace_text(w->ask->trace, marks[i].name), HU_STR("Optimizer.step")))
            (*out)[(*n)++] = marks[i].time_ns;
    hu_sort_i64(*out, *n);
    return true;
}

static int measure_growth(hu_memory_work *w, uint32_t pool, hu_error *err)
{
    hu_memory_pool *p = &w->pools.at[pool];
    int64_t        *v, now = p->first_bytes;
    double         *spare;
    size_t          n;
    uint32_t        place = 0;

    p->slope_bytes = p->growth_p = (double)NAN;
    if (!hu_memory_step_ends(w, pool, MOST_STEPS, &v, &n) ||
        !(spare = hu_arena_alloc(w->ask->scratch, (n * n + 1) * sizeof *spare)))
        return hu_fail_memory(err);
    for (size_t i = 0; i < n; i++) {
        for (; place < w->n && w->events[w->order[place]].time_ns < v[i]; place++)
            if (w->pool_of[place] == pool)
                now = w->held[place];
        v[i] = now;
    }
    p->steps = (int64_t)n;
    if (n >= 3) {
        p->slope_bytes = median_slope(v, n, spare);
        p->growth_p = trend_p(v, n);
    }
    p->leak = judge_growth(p);
    return 0;
}

static int list_steps(hu_memory_work *w, hu_memory *out, hu_error *err)
{
    uint32_t largest = 0, place = 0;
    int64_t *ends, now;

    for (uint32_t p = 1; p < w->pools.n; p++)
        if (w->pools.at[p].peak_bytes > w->pools.at[largest].peak_bytes)
            largest = p;
    if (!hu_memory_step_ends(w, largest, MOST_STEPS, &ends, &out->n_steps))
        return hu_fail_memory(err);
    out->steps = hu_arena_calloc(w->ask->arena, out->n_steps + 1, sizeof *out->steps);
    if (!out->steps)
        return hu_fail_memory(err);
    now = w->pools.at[largest].first_bytes;
    for (size_t i = 0; i < out->n_steps; i++) {
        for (; place < w->n && w->events[w->order[place]].time_ns < ends[i]; place++)
            if (w->pool_of[place] == largest)
                now = w->held[place];
        out->steps[i] = (hu_memory_step){ends[i], now};
    }
    return 0;
}

static int by_peak(const void *left, const void *right)
{
    const hu_memory_pool *a = left, *b = right;

    if (a->peak_bytes != b->peak_bytes)
        return a->peak_bytes > b->peak_bytes ? -1 : 1;
    return hu_str_compare(a->name, b->name);
}

static void find_capacity(const hu_memory_work *w)
{
    for (size_t p = 0; p < w->pools.n; p++) {
        const hu_device *d = hu_trace_device(w->ask->trace, w->pools.at[p].device);

        if (w->pools.at[p].device_type != 0 && d)
            w->pools.at[p].capacity_bytes = d->memory_bytes;
    }
}

/* What the allocator had at the end, and in how many pieces. */
static void find_segments(const hu_memory_work *w)
{
    size_t                   n;
    const hu_memory_segment *at = hu_trace_segments(w->ask->trace, &n);

    for (size_t i = 0; i < n; i++)
        for (size_t p = 0; p < w->pools.n; p++) {
            hu_memory_pool *pool = &w->pools.at[p];

            if (pool->device_type != at[i].device_type || pool->device != at[i].device)
                continue;
            pool->segments++;
            pool->graph_free_bytes += at[i].pool ? at[i].total_bytes - at[i].allocated_bytes : 0;
            pool->free_bytes += at[i].total_bytes - at[i].allocated_bytes;
            pool->free_blocks += at[i].n_free;
            pool->is_expandable |= at[i].is_expandable;
            if (at[i].largest_free_bytes > pool->largest_free_bytes)
                pool->largest_free_bytes = at[i].largest_free_bytes;
        }
}

/* What was asked for of what is held: the allocator rounds sizes up. */
static void find_requested(const hu_memory_work *w)
{
    size_t                   n, n_segments;
    const hu_memory_block   *at = hu_trace_blocks(w->ask->trace, &n);
    const hu_memory_segment *segments = hu_trace_segments(w->ask->trace, &n_segments);

    for (size_t p = 0; p < w->pools.n; p++) {
        hu_memory_pool *pool = &w->pools.at[p];

        pool->requested_bytes = -1;
        for (size_t i = 0; i < n; i++)
            if (at[i].state == HU_MEMORY_HELD && at[i].requested_bytes && segments[at[i].segment].device == pool->device &&
                segments[at[i].segment].device_type == pool->device_type)
                pool->requested_bytes = (pool->requested_bytes < 0 ? 0 : pool->requested_bytes) + at[i].requested_bytes;
    }
}

int hu_memory_follow(hu_memory_work *w, hu_error *err)
{
    const size_t names = hu_trace_string_count(w->ask->trace);

    w->phase = hu_arena_calloc(w->ask->scratch, names + 1, 1);
    w->held = hu_arena_calloc(w->ask->scratch, w->n, sizeof *w->held);
    w->pool_of = hu_arena_calloc(w->ask->scratch, w->n, sizeof *w->pool_of);
    w->peak_at = hu_arena_calloc(w->ask->scratch, w->n, sizeof *w->peak_at);
    if (!w->phase || !w->held || !w->pool_of || !w->peak_at || !sort_events(w) ||
        !hu_map_init(&w->live, w->ask->scratch, w->n / 4))
        return hu_fail_memory(err);
    return follow(w, err);
}

const uint32_t *hu_memory_partners(const hu_ask *ask, hu_arena *arena)
{
    hu_memory_work w = {.ask = ask};
    hu_error       err = {0};
    uint32_t      *out;

    w.events = hu_trace_memory(ask->trace, &w.n);
    out = hu_arena_alloc(arena, (w.n + 1) * sizeof *out);
    for (size_t i = 0; out && i < w.n; i++)
        out[i] = HU_NONE;
    if (!out || w.n == 0)
        return out;
    if (hu_memory_follow(&w, &err) < 0)
        return NULL;
    for (size_t i = 0; i < w.list.n; i++)
        if (w.list.at[i].died != HU_NONE) {
            out[w.order[w.list.at[i].born]] = w.order[w.list.at[i].died];
            out[w.order[w.list.at[i].died]] = w.order[w.list.at[i].born];
        }
    return out;
}

int hu_memory_measure(const hu_ask *ask, hu_memory *out, hu_error *err)
{
    hu_memory      result = {.ooms = hu_trace_get_info(ask->trace)->out_of_memory,
                             .failed_bytes = hu_trace_get_info(ask->trace)->failed_bytes};
    hu_memory_work w = {.ask = ask};
    int            rc;

    w.events = hu_trace_memory(ask->trace, &w.n);
    if (w.n == 0) {
        *out = result;
        return 0;
    }
    rc = hu_memory_follow(&w, err);
    if (rc < 0)
        return rc;
    draw(&w);
    find_capacity(&w);
    find_segments(&w);
    find_requested(&w);
    rc = find_holders(&w, &result, err);
    if (rc == 0) {
        sum_said(&w);
        draw_categories(&w, &result);
        rc = hu_memory_find_code(&w, &result, err);
    }
    if (rc == 0)
        rc = hu_memory_find_failures(&w, &result, err);
    if (rc == 0)
        rc = hu_memory_find_segments(&w, &result, err);
    if (rc == 0)
        rc = list_steps(&w, &result, err);
    for (uint32_t p = 0; rc == 0 && p < w.pools.n; p++)
        rc = measure_growth(&w, p, err);
    if (rc < 0)
        return rc;
    qsort(w.pools.at, w.pools.n, sizeof *w.pools.at, by_peak);
    result.at = w.pools.at;
    result.n = w.pools.n;
    *out = result;
    return 0;
}

static void holder_key(const void *row, hu_str *a, hu_str *b)
{
    const hu_memory_holder *h = row;

    *a = h->op;
    *b = h->module;
}

static void add_holder(void *left, const void *right)
{
    hu_memory_holder       *into = left;
    const hu_memory_holder *from = right;

    into->bytes += from->bytes;
    into->allocations += from->allocations;
}

bool hu_memory_merge(hu_memory *into, const hu_memory *from, hu_arena *arena)
{
    static const hu_join_rule rule = {sizeof(hu_memory_holder), holder_key, add_holder, by_bytes};

    into->ooms += from->ooms;
    into->failed_bytes = into->failed_bytes ? into->failed_bytes : from->failed_bytes;
    return hu_join_chain((void **)&into->stacks, &into->n_stacks, from->stacks, from->n_stacks, sizeof *into->stacks,
                         arena) &&
           hu_join_chain((void **)&into->code, &into->n_code, from->code, from->n_code, sizeof *into->code, arena) &&
           hu_join_chain((void **)&into->change, &into->n_change, from->change, from->n_change, sizeof *into->change,
                         arena) &&
           hu_join_chain((void **)&into->failures, &into->n_failures, from->failures, from->n_failures,
                         sizeof *into->failures, arena) &&
           hu_join_chain((void **)&into->at, &into->n, from->at, from->n, sizeof *into->at, arena) &&
           hu_join_rows(&rule, (void **)&into->holders, &into->n_holders, from->holders, from->n_holders, arena);
}

static const struct {
    const char *key, *words;
} categories[] = {
#define C(id, key, words) [HU_MEMORY_##id] = {key, words},
    HU_MEMORY_CATEGORIES(C)
#undef C
};

const char *hu_memory_category_key(hu_memory_category c)
{
    return categories[c].key;
}

const char *hu_memory_category_words(hu_memory_category c)
{
    return categories[c].words;
}

const char *hu_leak_name(hu_leak leak)
{
    static const char *const names[] = {"unknown", "no", "maybe", "yes"};

    return names[leak];
}

const char *hu_memory_why_key(hu_memory_why why)
{
    static const char *const keys[] = {
#define C(id, key, words) [HU_MEMORY_WHY_##id] = key,
        HU_MEMORY_WHYS(C)
#undef C
    };

    return keys[why];
}
