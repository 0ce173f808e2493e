/* SPDX-License-Identifier: Apache-2.0
 * bursts.c - the stretches in which another thread works while the main thread waits for it: backward() and the threads of
 * the autograd engine, and threads that are used like them.
 *
 * A thread of the engine never starts by itself.  It is idle until somebody calls backward(), so each time that it is idle
 * while the main thread does something, the main thread wakes it afterwards, however short its work is beside the time that
 * the main thread is silent.  What the main thread does before, recorded or not, is its own; so is what it needs to go on.
 *
 * Of other threads nothing is known.  One that launches kernels is taken for such a helper if it works inside of one silence
 * of the main thread, and either fills it or never works beside the main thread at all.  Threads that prefetch or pin
 * batches run when their queue has room: beside the main thread, or while that one waits in its loader.
 *
 * Whatever else launches work is not waited for.  It still keeps pace with the main thread, since its queue gets room when
 * that one takes something out of it, so its work begins when the main thread is as far as it was.
 *
 * The main thread's nodes are cut where a burst begins and ends, so that what lies between is a wait and the rest its own.
 */
#include <stdlib.h>

#include "graph/build.h"

enum {
    LEAST_WAKE_NS = 5000, /* nobody goes to sleep and is woken in less */
    FEWEST_BURSTS = 3,    /* that tell how a thread works */
};

/* clang-format off */
enum {
    KERNEL_CALLS = 1u << HU_CALL_KERNEL | 1u << HU_CALL_GRAPH,
    DEVICE_CALLS = KERNEL_CALLS | 1u << HU_CALL_COPY | 1u << HU_CALL_SET,
};
/* clang-format on */

static const double FILLS = 0.7;       /* of a silence, that a burst covers which is its reason */
static const double BESIDE = 0.02;     /* of its time, that a helper works beside the main thread: the ends of calls */
static const double ALWAYS = 0.9;      /* of a thread's time, that the main thread waits for, if it does at all */
static const double MOST_BESIDE = 0.5; /* of its time beside the main thread: somebody else called backward() */

typedef struct {
    uint32_t first, end; /* rows of nodes, in order */
} run;

bool hu_build_is_idle(const hu_node *n)
{
    return n->call == HU_CALL_NONE && (n->slice == HU_NONE || n->class == HU_CLASS_WAIT);
}

bool hu_build_is_silent(const hu_node *n)
{
    return n->call == HU_CALL_NONE &&
           (n->class == HU_CLASS_PYTHON || n->class == HU_CLASS_UNRECORDED || n->class == HU_CLASS_WAIT);
}

/* The first node of a run that ends behind a time. */
static uint32_t node_at(const hu_building *b, run r, int64_t time_ns)
{
    while (r.first < r.end) {
        const uint32_t middle = r.first + (r.end - r.first) / 2;

        if (hu_build_node_end(b, middle) <= time_ns)
            r.first = middle + 1;
        else
            r.end = middle;
    }
    return r.first;
}

/* Does the main thread begin or end anything of its own in a stretch? */
static bool acts_in(const hu_building *b, run main_run, int64_t from_ns, int64_t to_ns)
{
    for (uint32_t i = node_at(b, main_run, from_ns); i < main_run.end && b->nodes.at[i].start_ns < to_ns; i++)
        if (!hu_build_is_silent(&b->nodes.at[i]) && (b->nodes.at[i].start_ns >= from_ns || hu_build_node_end(b, i) <= to_ns))
            return true;
    return false;
}

/* For how long the main thread does something of its own in a stretch; a range around all of it is none. */
static int64_t beside_in(const hu_building *b, run main_run, const hu_burst *u)
{
    int64_t sum = 0;

    for (uint32_t i = node_at(b, main_run, u->start_ns); i < main_run.end && b->nodes.at[i].start_ns < u->end_ns; i++) {
        const int64_t start = b->nodes.at[i].start_ns, end = hu_build_node_end(b, i);

        if (hu_build_is_silent(&b->nodes.at[i]) || (start <= u->start_ns && end >= u->end_ns))
            continue;
        sum += (end < u->end_ns ? end : u->end_ns) - (start > u->start_ns ? start : u->start_ns);
    }
    return sum;
}

/*
 * The bursts of a lane.  For one that the main thread may wait for, a rest in which that one does nothing is part of a
 * burst: nobody else could have woken it.
 */
static bool list_bursts(const hu_building *b, run main_run, run lane, bool is_waited, hu_bursts *out)
{
    hu_burst at = {.start_ns = INT64_MIN};

    for (uint32_t i = lane.first; i < lane.end; i++) {
        const hu_node *n = &b->nodes.at[i];

        if (hu_build_is_idle(n))
            continue;
        if (at.start_ns != INT64_MIN && n->start_ns - at.end_ns >= LEAST_WAKE_NS &&
            (!is_waited || acts_in(b, main_run, at.end_ns, n->start_ns))) {
            if (!hu_vec_push(b->ask->scratch, out, at))
                return false;
            at.start_ns = INT64_MIN;
        }
        if (at.start_ns == INT64_MIN)
            at = (hu_burst){.start_ns = n->start_ns, .lane = n->lane};
        at.end_ns = hu_build_node_end(b, i);
    }
    return at.start_ns == INT64_MIN || hu_vec_push(b->ask->scratch, out, at);
}

/* Bits of the calls on a lane. */
static unsigned calls_of(const hu_building *b, run lane)
{
    unsigned calls = 0;

    for (uint32_t i = lane.first; i < lane.end; i++)
        calls |= 1u << b->nodes.at[i].call;
    return calls;
}

/* Does a burst of a thread that nothing is known of lie in one silence of the main thread, and fill it if it has to? */
static bool explains_silence(const hu_building *b, run main_run, const hu_burst *u, bool has_to_fill)
{
    const uint32_t i = node_at(b, main_run, u->start_ns);

    return i < main_run.end && hu_build_is_silent(&b->nodes.at[i]) && b->nodes.at[i].start_ns <= u->start_ns &&
           hu_build_node_end(b, i) >= u->end_ns &&
           (!has_to_fill || (double)(u->end_ns - u->start_ns) >= FILLS * (double)b->nodes.at[i].seen_ns);
}

/* Of the bursts of a thread that nothing is known of, those that the main thread waits for, if that is all it does. */
static void keep_waited(const hu_building *b, run main_run, hu_bursts *list, int64_t busy_ns, int64_t beside_ns)
{
    const bool is_helper = list->n >= FEWEST_BURSTS && (double)beside_ns <= BESIDE * (double)busy_ns;
    int64_t    waited_ns = 0;
    size_t     n = 0;

    for (size_t k = 0; k < list->n; k++) {
        if (!explains_silence(b, main_run, &list->at[k], !is_helper))
            continue;
        waited_ns += list->at[k].end_ns - list->at[k].start_ns;
        list->at[n++] = list->at[k];
    }
    list->n = (double)waited_ns >= ALWAYS * (double)busy_ns ? n : 0;
}

/* Adds the bursts that the main thread waits for; *is_waited: are there any? */
static bool add_waited(hu_building *b, run main_run, run lane, bool is_engine, bool *is_waited)
{
    hu_bursts list = {0};
    int64_t   busy = 0, beside = 0;

    if (!list_bursts(b, main_run, lane, true, &list))
        return false;
    for (size_t k = 0; k < list.n; k++) {
        busy += list.at[k].end_ns - list.at[k].start_ns;
        beside += beside_in(b, main_run, &list.at[k]);
    }
    if (!is_engine)
        keep_waited(b, main_run, &list, busy, beside);
    else if ((double)beside > MOST_BESIDE * (double)busy)
        return true;
    *is_waited = list.n > 0;
    for (size_t k = 0; k < list.n; k++)
        if (list.at[k].end_ns > list.at[k].start_ns && !hu_vec_push(b->ask->scratch, &b->bursts, list.at[k]))
            return false;
    return true;
}

/* Adds what a thread does: work that the main thread waits for, or work in parallel. */
static bool add_lane(hu_building *b, run main_run, run lane, bool is_engine)
{
    const unsigned calls = calls_of(b, lane);
    bool           is_waited = false;

    if ((is_engine || calls & KERNEL_CALLS) && !add_waited(b, main_run, lane, is_engine, &is_waited))
        return false;
    return is_waited || !(calls & DEVICE_CALLS) || list_bursts(b, main_run, lane, false, &b->asides);
}

static int earlier(const void *left, const void *right)
{
    const hu_burst *a = left, *b = right;

    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    return (a->lane > b->lane) - (a->lane < b->lane);
}

static int by_time(const void *left, const void *right)
{
    const int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

    return (a > b) - (a < b);
}

/* Nodes of the main thread begin where bursts begin and end, unless it does something of its own there. */
static bool cut_main(hu_building *b, run main_run)
{
    int64_t *times = hu_arena_alloc(b->ask->scratch, (2 * b->bursts.n + b->asides.n + 1) * sizeof *times);
    size_t   n = 0, next = 0;

    if (!times)
        return false;
    for (size_t k = 0; k < b->bursts.n; k++) {
        times[n++] = b->bursts.at[k].start_ns;
        times[n++] = b->bursts.at[k].end_ns;
    }
    for (size_t k = 0; k < b->asides.n; k++)
        times[n++] = b->asides.at[k].start_ns;
    qsort(times, n, sizeof *times, by_time);
    for (uint32_t i = main_run.first; i < main_run.end; i++) {
        const hu_node whole = b->nodes.at[i];
        const int64_t end = whole.start_ns + whole.seen_ns;
        uint32_t      piece = i;

        while (next < n && times[next] <= whole.start_ns)
            next++;
        if (whole.call != HU_CALL_NONE)
            continue;
        for (; next < n && times[next] < end; next++) {
            hu_node rest = whole;

            if (times[next] == b->nodes.at[piece].start_ns)
                continue;
            rest.start_ns = times[next];
            rest.seen_ns = end - rest.start_ns;
            b->nodes.at[piece].seen_ns = rest.start_ns - b->nodes.at[piece].start_ns;
            if (!hu_vec_push(b->ask->arena, &b->nodes, rest))
                return false;
            piece = (uint32_t)b->nodes.n - 1;
        }
    }
    return true;
}

bool hu_build_bursts(hu_building *b, const uint8_t *is_engine)
{
    const uint32_t n = (uint32_t)b->nodes.n;
    run            main_run = {n, n};

    /* as they were walked: each thread's nodes behind each other */
    for (uint32_t i = 0; i < n; i++) {
        if (b->nodes.at[i].lane != b->g->main_lane)
            continue;
        main_run.first = main_run.first == n ? i : main_run.first;
        main_run.end = i + 1;
    }
    for (uint32_t i = 0; i < n;) {
        run lane = {i, i};

        while (lane.end < n && b->nodes.at[lane.end].lane == b->nodes.at[i].lane)
            lane.end++;
        if (b->nodes.at[i].lane != b->g->main_lane && !add_lane(b, main_run, lane, is_engine[b->nodes.at[i].lane] != 0))
            return false;
        i = lane.end;
    }
    if (b->bursts.n + b->asides.n == 0 || main_run.first == main_run.end)
        return true;
    if (b->bursts.n)
        qsort(b->bursts.at, b->bursts.n, sizeof *b->bursts.at, earlier);
    return cut_main(b, main_run);
}
