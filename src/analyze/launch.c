/* SPDX-License-Identifier: Apache-2.0
 * launch.c - each launching call beside the work that it launched.
 *
 *     call  = duration of the runtime call            delay = max(0, start of the work - end of the call)
 *     queue = work launched and not begun: +1 at the start of the call, -1 at the start of its work
 *
 * Source: HolisticTraceAnalysis ("CUDA kernel launch stats", "queue length"), and `nsys stats` cuda_kern_exec_sum, which
 * calls the delay "queue time".  Both leave out HIP or graph launches; here a graph launch counts with all its work in the
 * queue, but is kept out of the statistics of single launches.  HTA's mean of the queue is over its changes; this one is
 * over time.  A long delay is no fault by itself: it is what lets a device run on while the host is late.
 */
#include "analyze/launch.h"

#include <math.h>
#include <stdlib.h>

#include "analyze/join.h"

enum { MOST_OUTLIERS = 64 * HU_LAUNCH_OUTLIERS }; /* at once, before those that are not listed are dropped */

typedef struct {
    const hu_ask *ask;
    hu_launches  *out;
    uint32_t     *row_of_name;
    HU_VEC(hu_launch) list;
    HU_VEC(uint32_t) starts;  /* work whose launch is known, by start */
    HU_VEC(uint32_t) singles; /* of that, what a call launched alone */
    HU_VEC(hu_launch_outlier) outliers;
    uint32_t *launches; /* `starts`, by the start of the call */
} work;

static int by_call(const void *left, const void *right)
{
    const hu_launch_outlier *a = left, *b = right;

    if (a->call_ns != b->call_ns)
        return a->call_ns > b->call_ns ? -1 : 1;
    return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

static void keep_longest(work *w)
{
    if (w->outliers.n)
        qsort(w->outliers.at, w->outliers.n, sizeof *w->outliers.at, by_call);
    w->outliers.n = w->outliers.n < HU_LAUNCH_OUTLIERS ? w->outliers.n : HU_LAUNCH_OUTLIERS;
}

static hu_launch *row_of(work *w, uint32_t piece)
{
    uint32_t *place = &w->row_of_name[w->ask->s.name[piece]];

    if (*place == HU_NONE) {
        if (!hu_vec_push(w->ask->arena, &w->list, (hu_launch){.name = hu_ask_name(w->ask, piece)}))
            return NULL;
        *place = (uint32_t)w->list.n - 1;
    }
    return &w->list.at[*place];
}

static bool add_outlier(work *w, uint32_t call, uint32_t piece, int64_t delay)
{
    const hu_ask  *ask = w->ask;
    const uint32_t op = hu_trace_op_of(ask->trace, call);

    if (w->outliers.n == MOST_OUTLIERS)
        keep_longest(w);
    return hu_vec_push(ask->arena, &w->outliers,
                       ((hu_launch_outlier){.call = hu_ask_name(ask, call),
                                            .work = hu_ask_name(ask, piece),
                                            .op = op != HU_NONE ? hu_ask_name(ask, op) : HU_STR(""),
                                            .start_ns = ask->s.start_ns[call],
                                            .call_ns = ask->s.dur_ns[call],
                                            .delay_ns = delay,
                                            .work_ns = ask->s.dur_ns[piece]}));
}

static int64_t delay_of(const hu_ask *ask, uint32_t call, uint32_t piece)
{
    const int64_t late = ask->s.start_ns[piece] - hu_ask_end(ask, call);

    return late > 0 ? late : 0;
}

static bool add_single(work *w, uint32_t call, uint32_t piece)
{
    const hu_slices *s = &w->ask->s;
    const int64_t    delay = delay_of(w->ask, call, piece);
    hu_launch       *row = row_of(w, piece);

    if (!row || !hu_vec_push(w->ask->scratch, &w->singles, piece))
        return false;
    row->launches++;
    row->call_ns += s->dur_ns[call];
    row->delay_ns += delay;
    row->most_delay_ns = delay > row->most_delay_ns ? delay : row->most_delay_ns;
    row->work_ns += s->dur_ns[piece];
    if (s->dur_ns[piece] < s->dur_ns[call]) {
        row->shorter++;
        w->out->shorter++;
        w->out->shorter_ns += s->dur_ns[piece];
    }
    w->out->launches++;
    w->out->long_calls += s->dur_ns[call] > HU_LAUNCH_LONG_CALL_NS;
    w->out->long_delays += delay > HU_LAUNCH_LONG_DELAY_NS;
    return s->dur_ns[call] <= HU_LAUNCH_LONG_CALL_NS || add_outlier(w, call, piece, delay);
}

/* Every piece of work finds its call, so that no call needs to be searched. */
static bool add_work(work *w)
{
    const hu_ask *ask = w->ask;
    uint32_t      last_graph = HU_NONE;

    for (size_t k = 0; k < ask->n_work; k++) {
        const uint32_t i = ask->work[k], call = hu_trace_launch_of(ask->trace, i);
        size_t         n;

        if (call == HU_NONE || !hu_ask_has(ask, i))
            continue;
        if (!hu_vec_push(ask->scratch, &w->starts, i))
            return false;
        hu_trace_work_of(ask->trace, call, &n);
        if (n > 1) {
            w->out->graph_launches += call != last_graph && hu_trace_work_of(ask->trace, call, &n)[0] == i;
            w->out->graph_work++;
            w->out->graph_work_ns += ask->s.dur_ns[i];
            last_graph = call;
        } else if (!add_single(w, call, i)) {
            return false;
        }
    }
    return true;
}

static int compare_queues(const void *left, const void *right)
{
    const hu_launch_queue *a = left, *b = right;

    if (a->device != b->device)
        return a->device < b->device ? -1 : 1;
    return (a->stream > b->stream) - (a->stream < b->stream);
}

typedef struct {
    int64_t         now, since_ns, first_ns;
    double          area;
    hu_launch_queue row;
} stream_queue;

/* When a piece of work was launched. */
static int64_t launched_ns(const work *w, uint32_t piece)
{
    return w->ask->s.start_ns[w->ask->s.parent[piece]];
}

/* Streams run their launches in order, so the list is a few sorted runs; those are merged until one is left. */
static bool sort_launches(work *w)
{
    const size_t n = w->starts.n;
    uint32_t    *spare = hu_arena_grow(w->ask->scratch, NULL, (n + 1) * sizeof *spare), *at;

    at = w->launches = hu_arena_grow(w->ask->scratch, NULL, (n + 1) * sizeof *at);
    if (!spare || !at)
        return false;
    if (n)
        memcpy(at, w->starts.at, n * sizeof *at);
    for (bool merged = true; merged;) {
        merged = false;
        for (size_t from = 0, middle, end; from < n; from = end) {
            size_t i = 0, j, to = from;

            for (middle = from + 1; middle < n && launched_ns(w, at[middle - 1]) <= launched_ns(w, at[middle]); middle++)
                ;
            for (end = middle + 1; end < n && launched_ns(w, at[end - 1]) <= launched_ns(w, at[end]); end++)
                ;
            if (middle >= n)
                break;
            memcpy(spare, at + from, (middle - from) * sizeof *at);
            for (j = middle; i < middle - from && j < end;)
                at[to++] = launched_ns(w, at[j]) < launched_ns(w, spare[i]) ? at[j++] : spare[i++];
            while (i < middle - from)
                at[to++] = spare[i++];
            merged = true;
        }
    }
    hu_arena_drop(w->ask->scratch, spare);
    return true;
}

static void change_queue(stream_queue *s, int64_t time_ns, int change)
{
    if (s->row.launches == 0)
        s->first_ns = s->since_ns = time_ns;
    s->area += (double)s->now * (double)(time_ns - s->since_ns);
    if (s->now >= HU_LAUNCH_QUEUE_FULL)
        s->row.full_ns += time_ns - s->since_ns;
    s->since_ns = time_ns;
    s->now += change;
    s->row.launches += change > 0;
    s->row.most = s->now > s->row.most ? s->now : s->row.most;
}

/* Launches and starts in time; launches first where both fall together, so that no queue is negative. */
static void walk_queues(work *w, stream_queue *q)
{
    const hu_slices *s = &w->ask->s;
    const size_t     n = w->starts.n;
    int64_t          before = 0;
    size_t           i = 0, j = 0;

    while (j < n) {
        const int64_t start_ns = s->start_ns[w->starts.at[j]];
        const bool    is_launch = i < n && launched_ns(w, w->launches[i]) <= start_ns;
        const int64_t now = is_launch ? launched_ns(w, w->launches[i]) : start_ns;

        if (i + j)
            hu_series_add(&w->out->queue, before, now, i > j ? (double)(i - j) : 0); /* clocks may disagree */
        before = now;
        change_queue(&q[s->track[is_launch ? w->launches[i] : w->starts.at[j]]], now, is_launch ? 1 : -1);
        i += is_launch;
        j += !is_launch;
    }
}

static int measure_queues(work *w, hu_error *err)
{
    const hu_ask *ask = w->ask;
    const size_t  n = w->starts.n;
    stream_queue *q = hu_arena_calloc(ask->scratch, ask->n_tracks + 1, sizeof *q);

    w->out->queues = hu_arena_calloc(ask->arena, ask->n_tracks + 1, sizeof *w->out->queues);
    if (!q || !w->out->queues || !sort_launches(w))
        return hu_fail_memory(err);
    if (n == 0)
        return 0;
    hu_series_init(&w->out->queue, launched_ns(w, w->launches[0]), ask->s.start_ns[w->starts.at[n - 1]]);
    walk_queues(w, q);
    hu_arena_drop(ask->scratch, w->launches);
    hu_arena_drop(ask->scratch, w->starts.at);
    for (size_t t = 0; t < ask->n_tracks; t++) {
        const double length = (double)(q[t].since_ns - q[t].first_ns);

        if (q[t].row.launches == 0)
            continue;
        q[t].row.device = ask->tracks[t].device;
        q[t].row.stream = ask->tracks[t].stream;
        q[t].row.mean = length > 0 ? q[t].area / length : 0;
        w->out->queues[w->out->n_queues++] = q[t].row;
    }
    qsort(w->out->queues, w->out->n_queues, sizeof *w->out->queues, compare_queues);
    return 0;
}

static int by_cost(const void *left, const void *right)
{
    const hu_launch *a = left, *b = right;

    if (a->call_ns != b->call_ns)
        return a->call_ns > b->call_ns ? -1 : 1;
    return hu_str_compare(a->name, b->name);
}

/* Of single launches; one list of numbers serves both. */
static bool sum_up(work *w)
{
    const hu_ask *ask = w->ask;
    const size_t  n = w->singles.n;
    int64_t      *values = hu_arena_grow(ask->scratch, NULL, (n + 1) * sizeof *values);

    if (!values)
        return false;
    for (size_t i = 0; i < n; i++)
        values[i] = ask->s.dur_ns[ask->s.parent[w->singles.at[i]]];
    w->out->call = hu_stats_of(values, n);
    for (size_t i = 0; i < n; i++)
        values[i] = delay_of(ask, ask->s.parent[w->singles.at[i]], w->singles.at[i]);
    w->out->delay = hu_stats_of(values, n);
    hu_arena_drop(ask->scratch, values);
    return true;
}

int hu_launches_measure(const hu_ask *ask, hu_launches *out, hu_error *err)
{
    const size_t names = hu_trace_string_count(ask->trace);
    hu_launches  result = {0};
    work         w = {.ask = ask, .out = &result};
    int          rc;

    w.row_of_name = hu_arena_alloc(ask->scratch, (names + 1) * sizeof *w.row_of_name);
    if (!w.row_of_name)
        return hu_fail_memory(err);
    memset(w.row_of_name, 0xff, (names + 1) * sizeof *w.row_of_name);
    if (!add_work(&w))
        return hu_fail_memory(err);
    rc = measure_queues(&w, err);
    if (rc < 0)
        return rc;
    if (!sum_up(&w))
        return hu_fail_memory(err);
    if (w.list.n)
        qsort(w.list.at, w.list.n, sizeof *w.list.at, by_cost);
    keep_longest(&w);
    result.at = w.list.at;
    result.n = w.list.n;
    result.outliers = w.outliers.at;
    result.n_outliers = w.outliers.n;
    *out = result;
    return 0;
}

static void row_key(const void *row, hu_str *a, hu_str *b)
{
    (void)b;
    *a = ((const hu_launch *)row)->name;
}

static void add_row(void *left, const void *right)
{
    hu_launch       *into = left;
    const hu_launch *from = right;

    into->launches += from->launches;
    into->call_ns += from->call_ns;
    into->delay_ns += from->delay_ns;
    into->most_delay_ns = from->most_delay_ns > into->most_delay_ns ? from->most_delay_ns : into->most_delay_ns;
    into->work_ns += from->work_ns;
    into->shorter += from->shorter;
}

bool hu_launches_merge(hu_launches *into, const hu_launches *from, hu_arena *arena)
{
    static const hu_join_rule rule = {sizeof(hu_launch), row_key, add_row, by_cost};

    if (!hu_join_rows(&rule, (void **)&into->at, &into->n, from->at, from->n, arena) ||
        !hu_join_chain((void **)&into->queues, &into->n_queues, from->queues, from->n_queues, sizeof *into->queues, arena) ||
        !hu_join_chain((void **)&into->outliers, &into->n_outliers, from->outliers, from->n_outliers, sizeof *into->outliers,
                       arena))
        return false;
    qsort(into->outliers, into->n_outliers, sizeof *into->outliers, by_call);
    into->n_outliers = into->n_outliers < HU_LAUNCH_OUTLIERS ? into->n_outliers : HU_LAUNCH_OUTLIERS;
    into->launches += from->launches;
    into->graph_launches += from->graph_launches;
    into->graph_work += from->graph_work;
    into->graph_work_ns += from->graph_work_ns;
    into->shorter += from->shorter;
    into->shorter_ns += from->shorter_ns;
    into->long_calls += from->long_calls;
    into->long_delays += from->long_delays;
    hu_stats_merge(&into->call, &from->call);
    hu_stats_merge(&into->delay, &from->delay);
    into->queue = (hu_series){0};
    return true;
}
