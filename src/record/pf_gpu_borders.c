/* SPDX-License-Identifier: Apache-2.0
 * pf_gpu_borders.c - the borders of a step or range are instants; CUPTI is switched off a little later, by another thread.
 *
 * What it gives of that while is cut off here: a call belongs to the step that it began in, and GPU work to that of its
 * call, however late it ran.  The marks of the gate (inject/gate.c) have the instants.  Where one of them may be missing
 * (records were lost, or are overwritten by design), nothing is cut: too much is better than too little.
 *
 * Correlations are given in the order of calls.  So work whose own call is not recorded was launched no earlier than the
 * recorded call with the next lower number, and before all that are recorded if there is none: CUPTI also gives work that
 * was in flight when it was switched on.
 */
#include "record/pf_gpu_borders.h"

#include <stdlib.h>

typedef struct {
    uint64_t ticks;
    bool     opens;
} mark;

typedef HU_VEC(mark) mark_list;

static int by_time(const void *left, const void *right)
{
    const mark *a = left, *b = right;

    return (a->ticks > b->ticks) - (a->ticks < b->ticks);
}

static bool is_whole(const hu_ring_head *head)
{
    for (int i = 0; i < HU_LOSS_REASONS; i++)
        if (head->lost[i] && i != HU_LOSS_STRINGS)
            return false;
    return true;
}

static bool collect(hu_pf *p, mark_list *out)
{
    size_t                n;
    const hu_ring_thread *threads = hu_ring_threads(p->ring, &n);

    for (size_t i = 0; i < n; i++) {
        hu_ring_cursor c;
        hu_ring_event  e;

        hu_ring_start(p->ring, &threads[i], NULL, &c);
        while (hu_ring_next(&c, &e))
            if ((e.record->type == HU_RECORD_PAUSE || e.record->type == HU_RECORD_RESUME) &&
                !hu_vec_push(p->scratch, out, ((mark){e.record->time, e.record->type == HU_RECORD_RESUME})))
                return false;
    }
    return true;
}

bool hu_gpu_borders_find(hu_pf *p, hu_gpu_borders *out)
{
    mark_list found = {0};

    *out = (hu_gpu_borders){0};
    if (!p->is_limited || !is_whole(hu_ring_get_head(p->ring)))
        return true;
    if (!collect(p, &found))
        return false;
    if (found.n)
        qsort(found.at, found.n, sizeof *found.at, by_time);
    for (size_t i = 0; i < found.n; i++) {
        if (i && found.at[i].opens == found.at[i - 1].opens) { /* one is missing */
            out->marks.n = 0;
            return true;
        }
        if (!hu_vec_push(p->scratch, &out->marks, found.at[i].ticks))
            return false;
    }
    out->is_open_before = found.n && !found.at[0].opens;
    return true;
}

bool hu_gpu_borders_add_call(hu_pf *p, hu_gpu_borders *b, uint32_t correlation, uint64_t ticks)
{
    return b->marks.n == 0 || hu_vec_push(p->scratch, &b->calls, ((hu_gpu_call){ticks, correlation}));
}

/* Of one number, a call of the runtime comes before that of the driver inside of it. */
static int by_correlation(const void *left, const void *right)
{
    const hu_gpu_call *a = left, *b = right;

    if (a->correlation != b->correlation)
        return a->correlation < b->correlation ? -1 : 1;
    return (a->ticks > b->ticks) - (a->ticks < b->ticks);
}

void hu_gpu_borders_sort(hu_gpu_borders *b)
{
    if (b->calls.n)
        qsort(b->calls.at, b->calls.n, sizeof *b->calls.at, by_correlation);
}

/* When its call began, or the one before; 0: before all of them. */
static uint64_t launch_of(const hu_gpu_borders *b, uint32_t correlation)
{
    size_t low = 0, high = b->calls.n;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (b->calls.at[middle].correlation <= correlation)
            low = middle + 1;
        else
            high = middle;
    }
    while (low > 1 && b->calls.at[low - 2].correlation == b->calls.at[low - 1].correlation)
        low--;
    return low ? b->calls.at[low - 1].ticks : 0;
}

bool hu_gpu_borders_have(const hu_gpu_borders *b, bool is_work, uint32_t correlation, uint64_t ticks)
{
    size_t low = 0, high = b->marks.n;

    if (b->marks.n == 0)
        return true;
    ticks = is_work && b->calls.n ? launch_of(b, correlation) : ticks;
    while (low < high) { /* marks no later than that */
        const size_t middle = low + (high - low) / 2;

        if (b->marks.at[middle] <= ticks)
            low = middle + 1;
        else
            high = middle;
    }
    return (low % 2 == 1) != b->is_open_before;
}
