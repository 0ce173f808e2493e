/* SPDX-License-Identifier: Apache-2.0
 * interval.c - one sweep over two sorted lists that always drops the interval ending first sees every pair.
 *
 * Lists are made of the streams of a device one after the other, each in order, so that sorting them means merging a few
 * runs; that is what the sort does, and it costs nothing where there is one.
 */
#include "base/interval.h"

bool hu_intervals_add(hu_arena *arena, hu_intervals *list, int64_t start_ns, int64_t end_ns)
{
    if (end_ns <= start_ns)
        return true;
    if (list->n && start_ns >= list->at[list->n - 1].start_ns && start_ns <= list->at[list->n - 1].end_ns) {
        if (end_ns > list->at[list->n - 1].end_ns)
            list->at[list->n - 1].end_ns = end_ns;
        return true;
    }
    return hu_vec_push(arena, list, ((hu_interval){start_ns, end_ns}));
}

void hu_intervals_drop(hu_arena *arena, hu_intervals *list)
{
    hu_arena_drop(arena, list->at);
    *list = (hu_intervals){0};
}

static size_t run_end(const hu_interval *at, size_t from, size_t n)
{
    size_t end = from + 1;

    while (end < n && at[end - 1].start_ns <= at[end].start_ns)
        end++;
    return end;
}

/* Natural merge sort by start: passes over pairs of runs until one is left. */
static void sort_runs(hu_interval *at, size_t n, hu_interval *spare)
{
    for (bool merged = true; merged;) {
        merged = false;
        for (size_t from = 0; from < n;) {
            const size_t middle = run_end(at, from, n);
            size_t       end, i = 0, j = middle, to = from;

            if (middle == n)
                break;
            end = run_end(at, middle, n);
            memcpy(spare, at + from, (middle - from) * sizeof *at);
            while (i < middle - from && j < end)
                at[to++] = at[j].start_ns < spare[i].start_ns ? at[j++] : spare[i++];
            while (i < middle - from)
                at[to++] = spare[i++];
            from = end;
            merged = true;
        }
    }
}

bool hu_intervals_unite(hu_arena *arena, hu_intervals *list)
{
    size_t kept = 0;

    if (list->n && run_end(list->at, 0, list->n) < list->n) {
        hu_interval *spare = hu_arena_grow(arena, NULL, list->n * sizeof *spare);

        if (!spare)
            return false;
        sort_runs(list->at, list->n, spare);
        hu_arena_drop(arena, spare);
    }
    for (size_t i = 0; i < list->n; i++) {
        if (kept && list->at[i].start_ns <= list->at[kept - 1].end_ns) {
            if (list->at[i].end_ns > list->at[kept - 1].end_ns)
                list->at[kept - 1].end_ns = list->at[i].end_ns;
        } else {
            list->at[kept++] = list->at[i];
        }
    }
    list->n = kept;
    return true;
}

int64_t hu_intervals_length(const hu_intervals *a)
{
    int64_t sum = 0;

    for (size_t i = 0; i < a->n; i++)
        sum += a->at[i].end_ns - a->at[i].start_ns;
    return sum;
}

static hu_interval overlap_of(hu_interval x, hu_interval y)
{
    return (hu_interval){x.start_ns > y.start_ns ? x.start_ns : y.start_ns, x.end_ns < y.end_ns ? x.end_ns : y.end_ns};
}

int64_t hu_intervals_common(const hu_intervals *a, const hu_intervals *b)
{
    int64_t sum = 0;

    for (size_t i = 0, j = 0; i < a->n && j < b->n;) {
        const hu_interval both = overlap_of(a->at[i], b->at[j]);

        if (both.end_ns > both.start_ns)
            sum += both.end_ns - both.start_ns;
        if (a->at[i].end_ns < b->at[j].end_ns)
            i++;
        else
            j++;
    }
    return sum;
}

void hu_intervals_split(const hu_intervals *a, const hu_interval *windows, size_t n, int64_t *out_ns)
{
    for (size_t i = 0, j = 0; i < a->n && j < n;) {
        const hu_interval both = overlap_of(a->at[i], windows[j]);

        if (both.end_ns > both.start_ns)
            out_ns[j] += both.end_ns - both.start_ns;
        if (a->at[i].end_ns < windows[j].end_ns)
            i++;
        else
            j++;
    }
}

bool hu_intervals_intersect(hu_arena *arena, const hu_intervals *a, const hu_intervals *b, hu_intervals *out)
{
    *out = (hu_intervals){0};
    for (size_t i = 0, j = 0; i < a->n && j < b->n;) {
        const hu_interval both = overlap_of(a->at[i], b->at[j]);

        if (!hu_intervals_add(arena, out, both.start_ns, both.end_ns))
            return false;
        if (a->at[i].end_ns < b->at[j].end_ns)
            i++;
        else
            j++;
    }
    return true;
}

bool hu_intervals_subtract(hu_arena *arena, const hu_intervals *a, const hu_intervals *b, hu_intervals *out)
{
    size_t j = 0;

    *out = (hu_intervals){0};
    for (size_t i = 0; i < a->n; i++) {
        int64_t from = a->at[i].start_ns;

        while (j < b->n && b->at[j].end_ns <= from)
            j++;
        for (size_t k = j; k < b->n && b->at[k].start_ns < a->at[i].end_ns; k++) {
            if (!hu_intervals_add(arena, out, from, b->at[k].start_ns))
                return false;
            from = b->at[k].end_ns;
        }
        if (!hu_intervals_add(arena, out, from, a->at[i].end_ns))
            return false;
    }
    return true;
}

bool hu_intervals_join(hu_arena *arena, const hu_intervals *a, const hu_intervals *b, hu_intervals *out)
{
    *out = (hu_intervals){0};
    for (size_t i = 0, j = 0; i < a->n || j < b->n;) {
        const bool        left = j == b->n || (i < a->n && a->at[i].start_ns <= b->at[j].start_ns);
        const hu_interval next = left ? a->at[i++] : b->at[j++];

        if (!hu_intervals_add(arena, out, next.start_ns, next.end_ns))
            return false;
    }
    return true;
}
