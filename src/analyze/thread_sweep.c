/* SPDX-License-Identifier: Apache-2.0
 * thread_sweep.c - calls come in the order of time, and so do windows and states: each list is walked once. */
#include "analyze/thread_sweep.h"

bool hu_thread_sweep_begin(hu_thread_sweep *s, const hu_intervals *windows, const hu_intervals state[HU_THREAD_STATE_COUNT],
                           hu_arena *arena, hu_thread_places *out)
{
    *out = (hu_thread_places){0};
    *s = (hu_thread_sweep){.windows = windows, .end_ns = INT64_MIN, .out = out};
    for (size_t k = 0; k < HU_THREAD_UNKNOWN; k++)
        if (!hu_intervals_intersect(arena, &state[k], windows, &s->state[k]))
            return false;
    return true;
}

/* What of a call lies in a list; *from moves on to the first item that may reach into later calls. */
static int64_t common(const hu_intervals *list, size_t *from, int64_t start_ns, int64_t end_ns)
{
    int64_t sum = 0;

    while (*from < list->n && list->at[*from].end_ns <= start_ns)
        ++*from;
    for (size_t k = *from; k < list->n && list->at[k].start_ns < end_ns; k++) {
        const int64_t begin = list->at[k].start_ns > start_ns ? list->at[k].start_ns : start_ns;
        const int64_t end = list->at[k].end_ns < end_ns ? list->at[k].end_ns : end_ns;

        sum += end - begin;
    }
    return sum;
}

bool hu_thread_sweep_call(hu_thread_sweep *s, hu_within in, int64_t start_ns, int64_t end_ns)
{
    if (end_ns <= start_ns)
        return true;
    if (start_ns < s->end_ns)
        return false;
    s->end_ns = end_ns;
    s->out->in_ns[in] += common(s->windows, &s->window, start_ns, end_ns);
    for (size_t k = 0; k < HU_THREAD_UNKNOWN; k++)
        s->out->common_ns[k][in] += common(&s->state[k], &s->at[k], start_ns, end_ns);
    return true;
}

void hu_thread_sweep_end(hu_thread_sweep *s)
{
    hu_thread_places *p = s->out;

    p->in_ns[HU_WITHIN_CODE] = hu_intervals_length(s->windows);
    for (size_t k = 0; k < HU_THREAD_UNKNOWN; k++)
        p->common_ns[k][HU_WITHIN_CODE] = hu_intervals_length(&s->state[k]);
    for (size_t w = 0; w < HU_WITHIN_CODE; w++) {
        p->in_ns[HU_WITHIN_CODE] -= p->in_ns[w];
        for (size_t k = 0; k < HU_THREAD_UNKNOWN; k++)
            p->common_ns[k][HU_WITHIN_CODE] -= p->common_ns[k][w];
    }
}
