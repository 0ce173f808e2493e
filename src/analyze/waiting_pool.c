/* SPDX-License-Identifier: Apache-2.0
 * waiting_pool.c - a pool is threads that do the same: waits as long as each other's in the same call, one after the other.
 *
 * The critical path tells whom the main thread waits for, so that a thread that listens all the time, or sends a sign of
 * life now and then, is no part of it.
 */
#include "analyze/waiting_pool.h"

#include "analyze/host_calls.h"
#include "analyze/thread_states.h"
#include "base/map.h"

enum { LEAST_WAIT_NS = 100000 };

static const double WAITS = 0.66; /* of a thread's life while the main thread waits: there is nothing else that it does */
static const double ALIKE = 0.33; /* of a wait of another thread of the pool, that one takes at least on average */

typedef struct {
    int64_t  waited_ns, lived_ns, waits;
    uint32_t name, path; /* of the longest wait */
    unsigned class;
} member;

static unsigned class_of(const hu_ask *ask, const uint8_t *inner, uint32_t slice)
{
    return ask->s.kind[slice] == HU_KIND_OS_CALL && !inner[slice] ? (unsigned)hu_host_calls_class(ask, slice)
                                                                  : HU_HOST_CLASS_COUNT;
}

static bool is_of(const hu_ask *ask, uint32_t track, uint32_t main)
{
    const hu_track *t = &ask->tracks[track], *of = &ask->tracks[main];

    return t->type == HU_TRACK_HOST && t->pid == of->pid && t->pid_is_text == of->pid_is_text;
}

/* When a thread is in calls of some classes (bits of hu_host_class), inside of a window. */
static bool find_calls(const hu_ask *ask, uint32_t track, unsigned classes, hu_interval window, const uint8_t *inner,
                       hu_intervals *out)
{
    const hu_track *t = &ask->tracks[track];

    *out = (hu_intervals){0};
    for (uint32_t k = 0; k < t->count; k++) {
        const uint32_t i = ask->order[t->first + k];
        const int64_t  start = ask->s.start_ns[i] > window.start_ns ? ask->s.start_ns[i] : window.start_ns;
        const int64_t  end = hu_ask_end(ask, i) < window.end_ns ? hu_ask_end(ask, i) : window.end_ns;

        if (end > start && classes >> class_of(ask, inner, i) & 1 && !hu_intervals_add(ask->scratch, out, start, end))
            return false;
    }
    return hu_intervals_unite(ask->scratch, out);
}

static bool measure(const hu_ask *ask, uint32_t track, const hu_intervals *main_waits, const uint8_t *inner, member *out)
{
    const hu_track *t = &ask->tracks[track];
    hu_interval     life = hu_thread_life(ask->trace, track);
    const unsigned  classes = 1u << HU_HOST_NETWORK | 1u << HU_HOST_POLL;
    hu_intervals    calls;
    int64_t         longest_ns = 0;

    *out = (member){0};
    if (life.end_ns <= life.start_ns)
        return true;
    out->lived_ns = hu_intervals_common(main_waits, &(hu_intervals){.at = &life, .n = 1, .cap = 1});
    if (!find_calls(ask, track, classes, life, inner, &calls))
        return false;
    out->waited_ns = hu_intervals_common(main_waits, &calls);
    for (uint32_t k = 0; k < t->count; k++) {
        const uint32_t i = ask->order[t->first + k];
        const unsigned class = class_of(ask, inner, i);

        if (!(classes >> class & 1) || ask->s.dur_ns[i] < LEAST_WAIT_NS)
            continue;
        out->waits++;
        if (ask->s.dur_ns[i] <= longest_ns)
            continue;
        longest_ns = ask->s.dur_ns[i];
        out->name = ask->s.name[i];
        out->class = class;
        out->path = ask->s.detail[i] == HU_NONE ? 0 : hu_trace_os_detail(ask->trace, ask->s.detail[i])->path;
    }
    return true;
}

static bool only_waits(const member *m)
{
    return m->waits > 0 && m->waited_ns > 0 && (double)m->waited_ns >= WAITS * (double)m->lived_ns;
}

/* Threads that listen wait longer than those that ask. */
static bool is_alike(const member *a, const member *b)
{
    const double one = (double)a->waited_ns / (double)a->waits, other = (double)b->waited_ns / (double)b->waits;

    return a->name == b->name && one >= ALIKE * other && other >= ALIKE * one;
}

bool hu_waiting_pool_find(const hu_ask *ask, uint32_t main_track, hu_interval window, const int64_t *path_ns,
                          const uint8_t *inner, hu_waiting_pool *out)
{
    member      *members = hu_arena_calloc(ask->scratch, ask->n_tracks + 1, sizeof *members);
    hu_intervals main_waits;
    int64_t      main_ns;
    uint32_t     first = HU_NONE;

    *out = (hu_waiting_pool){.call = HU_STR(""), .peer = HU_STR("")};
    if (!members || !find_calls(ask, main_track, 1u << HU_HOST_WAIT | 1u << HU_HOST_LOCK | 1u << HU_HOST_POLL, window, inner,
                                &main_waits))
        return false;
    main_ns = hu_intervals_length(&main_waits);
    for (uint32_t t = 0; main_ns && t < ask->n_tracks; t++) {
        if (t == main_track || !is_of(ask, t, main_track))
            continue;
        if (!measure(ask, t, &main_waits, inner, &members[t]))
            return false;
        if (only_waits(&members[t]) && path_ns[t] > 0 && (first == HU_NONE || path_ns[t] > path_ns[first]))
            first = t;
    }
    for (uint32_t t = 0; first != HU_NONE && t < ask->n_tracks; t++) {
        const member *m = &members[t];

        if (!only_waits(m) || !is_alike(m, &members[first]))
            continue;
        out->threads++;
        out->waits += m->waits;
        out->waited_ns += m->waited_ns;
        out->lived_ns += m->lived_ns;
        out->path_ns += path_ns[t];
    }
    if (first == HU_NONE)
        return true;
    out->track = first;
    out->at_once = (double)out->lived_ns / (double)main_ns;
    out->class = members[first].class;
    out->call = hu_trace_text(ask->trace, members[first].name);
    out->peer = hu_trace_text(ask->trace, members[first].path);
    return true;
}
