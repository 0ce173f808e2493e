/* SPDX-License-Identifier: Apache-2.0
 * main_thread.c - the thread with steps, with launches, or of the process that waits for all the others.
 *
 * A recording of a command holds all its processes: a shell and the ends of its pipes, a training script and its loaders.
 * The one that was started first is the answer's subject.  Its number is no sure sign, since numbers wrap, and its first
 * recorded call may come after those of its children, so what counts is who waits for children, or who lives longest.
 */
#include "analyze/main_thread.h"

#include <stdlib.h>

#include "analyze/names.h"
#include "base/map.h"

enum { STEP_WEIGHT = 1 << 20, LAUNCH_WEIGHT = 16 };

static const double LEAST_CHILD = 0.5; /* of the capture, that a parent waits for its children */

static int by_pid(const void *left, const void *right)
{
    const hu_process_span *a = left, *b = right;

    return (a->pid > b->pid) - (a->pid < b->pid);
}

static bool is_child_wait(const hu_trace *trace, const hu_slices *s, uint32_t i)
{
    return s->kind[i] == HU_KIND_OS_CALL && s->detail[i] != HU_NONE &&
           hu_trace_os_detail(trace, s->detail[i])->class == HU_HOST_CHILD;
}

static void add_track(const hu_trace *trace, const hu_slices *s, const hu_track *t, uint32_t number, hu_process_span *p)
{
    const uint32_t *order = hu_trace_order(trace) + t->first;
    const int64_t   start = s->start_ns[order[0]];

    p->threads++;
    p->name = p->name ? p->name : t->process;
    p->first_ns = start < p->first_ns ? start : p->first_ns;
    for (uint32_t k = 0; k < t->count; k++) {
        const int64_t end = s->start_ns[order[k]] + s->dur_ns[order[k]];

        p->last_ns = end > p->last_ns ? end : p->last_ns;
        if (is_child_wait(trace, s, order[k]))
            p->child_ns += s->dur_ns[order[k]];
    }
    if (t->tid == p->pid && !t->tid_is_text) {
        p->main = number;
        p->main_ns = INT64_MIN;
    } else if (p->main == HU_NONE || start < p->main_ns) {
        p->main = number;
        p->main_ns = start;
    }
}

bool hu_main_thread_processes(const hu_trace *trace, hu_arena *scratch, hu_process_span **out, size_t *n)
{
    const hu_slices s = hu_trace_slices(trace);
    size_t          n_tracks;
    const hu_track *tracks = hu_trace_tracks(trace, &n_tracks);
    HU_VEC(hu_process_span) list = {0};
    hu_map place;

    if (!hu_map_init(&place, scratch, 16))
        return false;
    for (uint32_t t = 0; t < n_tracks; t++) {
        uint32_t *at;

        if (tracks[t].type != HU_TRACK_HOST || tracks[t].pid_is_text || tracks[t].count == 0)
            continue;
        at = hu_map_put(&place, (uint64_t)tracks[t].pid);
        if (!at)
            return false;
        if (*at == HU_MAP_NONE) {
            const hu_process_span fresh = {
                .pid = tracks[t].pid, .first_ns = INT64_MAX, .last_ns = INT64_MIN, .main = HU_NONE};

            if (!hu_vec_push(scratch, &list, fresh))
                return false;
            *at = (uint32_t)list.n - 1;
        }
        add_track(trace, &s, &tracks[t], t, &list.at[*at]);
    }
    if (list.n)
        qsort(list.at, list.n, sizeof *list.at, by_pid);
    for (size_t i = 0; i < list.n; i++)
        list.at[i].main_ns = s.start_ns[hu_trace_order(trace)[tracks[list.at[i].main].first]];
    *out = list.at;
    *n = list.n;
    return true;
}

uint32_t hu_main_thread_of_job(const hu_trace *trace, hu_arena *scratch)
{
    hu_process_span *p = NULL, *longest = NULL, *parent = NULL;
    size_t           n = 0;
    int64_t          first = INT64_MAX, last = INT64_MIN;

    if (!hu_main_thread_processes(trace, scratch, &p, &n) || n == 0)
        return HU_NONE;
    longest = parent = &p[0];
    for (size_t i = 0; i < n; i++) {
        first = p[i].first_ns < first ? p[i].first_ns : first;
        last = p[i].last_ns > last ? p[i].last_ns : last;
        if (p[i].last_ns - p[i].first_ns > longest->last_ns - longest->first_ns)
            longest = &p[i];
        if (p[i].child_ns > parent->child_ns)
            parent = &p[i];
    }
    return (double)parent->child_ns >= LEAST_CHILD * (double)(last - first) && parent->child_ns > 0 ? parent->main
                                                                                                    : longest->main;
}

static bool is_recorded(const hu_slices *s)
{
    for (size_t i = 0; i < s->n; i++)
        if (hu_kind_in(s->kind[i], HU_BIT(OS_CALL) | HU_BIT(MPI)))
            return true;
    return false;
}

uint32_t hu_main_thread_find(const hu_trace *trace, const uint8_t *names, hu_str step, hu_arena *scratch)
{
    const hu_slices s = hu_trace_slices(trace);
    const uint32_t *order = hu_trace_order(trace);
    const bool      recorded = is_recorded(&s);
    const uint32_t  marked = recorded && step.n ? hu_trace_find_text(trace, step) : HU_NONE;
    size_t          n_tracks, most = 0;
    const hu_track *tracks = hu_trace_tracks(trace, &n_tracks);
    uint32_t        best = HU_NONE;
    bool            is_sure = false;

    for (uint32_t t = 0; t < n_tracks; t++) {
        size_t count = 0;

        if (tracks[t].type != HU_TRACK_HOST)
            continue;
        for (uint32_t k = 0; k < tracks[t].count; k++) {
            const uint32_t i = order[tracks[t].first + k];

            if (names[s.name[i]] & HU_NAME_STEP || s.name[i] == marked)
                count += STEP_WEIGHT;
            else if (hu_kind_in(s.kind[i], HU_KINDS_CALL) && names[s.name[i]] & HU_NAME_LAUNCH)
                count += LAUNCH_WEIGHT;
            else
                count += hu_kind_in(s.kind[i], HU_KINDS_HOST) && !recorded;
        }
        is_sure |= count > 0;
        if (count > most) {
            most = count;
            best = t;
        }
    }
    return recorded && !is_sure ? hu_main_thread_of_job(trace, scratch) : best;
}
