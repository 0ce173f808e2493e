/* SPDX-License-Identifier: Apache-2.0
 * lives.c - a process's life from the heads of its rings: an exec makes a new image of the same process, which goes on.
 *
 * Ticks become CLOCK_MONOTONIC, the clock of samples, by the distance of the clocks at the last snapshot: they differ by
 * how long the machine was suspended.
 */
#include "record/lives.h"

#include <stdlib.h>

#include "record/perf_threads.h"

static int64_t monotonic_ns(hu_process_list *list, uint64_t ticks)
{
    const hu_clock_snapshot *last = list->clock.n ? &list->clock.knots[list->clock.n - 1] : NULL;

    return hu_clock_map_ns(&list->clock, ticks) - (last ? last->boottime_ns - last->monotonic_ns : 0);
}

static int by_time(const void *left, const void *right)
{
    const hu_perf_change *a = left, *b = right;

    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns ? -1 : 1;
    return a->thread != b->thread ? (a->thread < b->thread ? -1 : 1) : (int)b->state - (int)a->state;
}

static bool add_life(hu_process_list *list, const hu_process_image *p, hu_perf_files *f, int64_t session_end_ns)
{
    const int64_t  start_ns = monotonic_ns(list, p->started);
    const uint64_t ended = p->exited > p->end.ticks ? p->exited : p->end.ticks;
    const int64_t  end_ns = ended && !p->is_alive ? monotonic_ns(list, ended) : session_end_ns;
    const uint32_t thread = hu_perf_threads_find(f, p->pid, p->pid, start_ns);

    if (thread == UINT32_MAX || !hu_perf_threads_name(f, thread, p->name))
        return false;
    if (!hu_vec_push(f->arena, &f->changes,
                     ((hu_perf_change){.time_ns = start_ns, .thread = thread, .state = HU_TASK_ALIVE})))
        return false;
    if (p->state == HU_PROCESS_REPLACED) /* what it became goes on */
        return true;
    f->threads.at[thread].has_ended = true;
    return hu_vec_push(f->arena, &f->changes,
                       ((hu_perf_change){.time_ns = end_ns, .thread = thread, .state = HU_TASK_DEAD}));
}

void hu_lives_parents(const hu_process_list *list, hu_perf_files *f)
{
    for (size_t i = 0; i < list->n; i++) {
        const uint32_t at = hu_map_get(&f->thread_of, list->at[i].pid);

        if (at != HU_MAP_NONE && f->threads.at[at].pid == f->threads.at[at].tid && !f->threads.at[at].parent)
            f->threads.at[at].parent = list->at[i].ppid;
    }
}

bool hu_lives_add(hu_process_list *list, hu_perf_files *f)
{
    int64_t end_ns = 0;

    if (f->changes.n)
        return true;
    for (size_t i = 0; i < list->clock.n; i++)
        end_ns = list->clock.knots[i].monotonic_ns > end_ns ? list->clock.knots[i].monotonic_ns : end_ns;
    for (size_t i = 0; i < list->n; i++) /* by beginning */
        if ((list->at[i].path.n || list->at[i].is_outsider) && !add_life(list, &list->at[i], f, end_ns))
            return false;
    if (f->changes.n)
        qsort(f->changes.at, f->changes.n, sizeof *f->changes.at, by_time);
    f->n_files += f->n_files == 0;
    return true;
}
