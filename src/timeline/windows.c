/* SPDX-License-Identifier: Apache-2.0
 * windows.c - steps are chosen by what somebody would look at first: a usual one, and the worst. */
#include "timeline/windows.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct {
    int64_t start_ns, end_ns, length_ns;
    size_t  index, n_slices, rank; /* rank: the smaller, the sooner it is taken */
    bool    is_taken, counts;
} candidate;

static int by_length(const void *left, const void *right)
{
    const candidate *a = left, *b = right;

    if (a->counts != b->counts)
        return a->counts ? -1 : 1;
    if (a->length_ns != b->length_ns)
        return a->length_ns < b->length_ns ? -1 : 1;
    return a->index < b->index ? -1 : 1;
}

static int by_rank(const void *left, const void *right)
{
    const candidate *a = left, *b = right;

    return a->rank != b->rank ? (a->rank < b->rank ? -1 : 1) : (a->index < b->index ? -1 : 1);
}

static int by_start(const void *left, const void *right)
{
    const hu_interval *a = left, *b = right;

    return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

/* How many slices begin in each step; steps are sorted by start. */
static void count_slices(const hu_slices *s, int64_t origin_ns, candidate *c, size_t n)
{
    for (size_t i = 0; i < s->n; i++) {
        const int64_t start = s->start_ns[i] - origin_ns;
        size_t        low = 0, high = n;

        while (low < high) {
            const size_t middle = (low + high) / 2;

            if (c[middle].start_ns <= start)
                low = middle + 1;
            else
                high = middle;
        }
        if (low && start < c[low - 1].end_ns)
            c[low - 1].n_slices++;
    }
}

/* Ranks: the median of those that count, the slowest of them, then by distance from the median one. */
static void rank_steps(candidate *c, size_t n)
{
    size_t counted = 0, median, index;

    qsort(c, n, sizeof *c, by_length);
    while (counted < n && c[counted].counts)
        counted++;
    median = counted ? (counted - 1) / 2 : (n - 1) / 2;
    index = c[median].index;
    for (size_t i = 0; i < n; i++)
        c[i].rank = 2 + (c[i].index > index ? c[i].index - index : index - c[i].index);
    c[counted ? counted - 1 : n - 1].rank = 1;
    c[median].rank = 0;
    qsort(c, n, sizeof *c, by_rank);
}

static int choose_steps(const hu_slices *s, const hu_steps *steps, int64_t origin_ns, size_t most, hu_arena *arena,
                        hu_windows *out, hu_error *err)
{
    candidate *c = hu_arena_calloc(arena, steps->n, sizeof *c);
    size_t     sum = 0;

    out->at = hu_arena_calloc(arena, steps->n, sizeof *out->at);
    if (!c || !out->at)
        return hu_fail_memory(err);
    for (size_t i = 0; i < steps->n; i++)
        c[i] = (candidate){.start_ns = steps->at[i].start_ns - origin_ns,
                           .end_ns = steps->at[i].end_ns - origin_ns,
                           .length_ns = steps->at[i].end_ns - steps->at[i].start_ns,
                           .index = i,
                           .counts = hu_step_counts(&steps->at[i])};
    count_slices(s, origin_ns, c, steps->n);
    rank_steps(c, steps->n);
    for (size_t i = 0; i < steps->n; i++) {
        if (i && sum + c[i].n_slices > most)
            continue;
        sum += c[i].n_slices;
        out->at[out->n++] = (hu_interval){c[i].start_ns, c[i].end_ns};
    }
    out->n_steps = out->n;
    qsort(out->at, out->n, sizeof *out->at, by_start);
    return sum <= most ? 0 : 1;
}

/* From the start, as long as about `most` slices take. */
static int choose_beginning(const hu_slices *s, int64_t origin_ns, size_t most, hu_arena *arena, hu_windows *out,
                            hu_error *err)
{
    enum { PIECES = 4096 };
    size_t *count = hu_arena_calloc(arena, PIECES, sizeof *count), sum = 0, i;
    int64_t last = origin_ns, piece;

    out->at = hu_arena_calloc(arena, 1, sizeof *out->at);
    if (!count || !out->at)
        return hu_fail_memory(err);
    for (size_t k = 0; k < s->n; k++)
        last = s->start_ns[k] > last ? s->start_ns[k] : last;
    piece = (last - origin_ns) / PIECES + 1;
    for (size_t k = 0; k < s->n; k++)
        count[(s->start_ns[k] - origin_ns) / piece]++;
    for (i = 0; i < PIECES && sum + count[i] <= most; i++)
        sum += count[i];
    out->at[0] = (hu_interval){0, (int64_t)(i ? i : 1) * piece};
    out->n = 1;
    out->n_steps = 0;
    return 0;
}

int hu_windows_choose(const hu_trace *trace, const hu_steps *steps, int64_t origin_ns, int64_t from_ns, int64_t to_ns,
                      size_t most, hu_arena *arena, hu_windows *out, hu_error *err)
{
    const hu_slices s = hu_trace_slices(trace);
    int             rc = 1;

    *out = (hu_windows){.n_slices = s.n};
    if (to_ns > from_ns) {
        out->at = hu_arena_calloc(arena, 1, sizeof *out->at);
        if (!out->at)
            return hu_fail_memory(err);
        out->at[0] = (hu_interval){from_ns, to_ns};
        out->n = 1;
        out->is_asked = true;
        return 0;
    }
    if (most == 0 || s.n <= most)
        return 0;
    if (steps->source != HU_STEPS_NONE && steps->n > 1)
        rc = choose_steps(&s, steps, origin_ns, most, arena, out, err);
    return rc > 0 ? choose_beginning(&s, origin_ns, most, arena, out, err) : rc;
}

void hu_windows_say(const hu_windows *w, const hu_steps *steps, size_t kept, char *out, size_t room)
{
    out[0] = '\0';
    if (w->n == 0 || w->is_asked)
        return;
    if (w->n_steps)
        snprintf(out, room, "%zu of %zu steps (%zu of %zu slices): a typical one, the slowest, and their neighbours",
                 w->n_steps, steps->n, kept, w->n_slices);
    else
        snprintf(out, room, "the beginning: %zu of %zu slices", kept, w->n_slices);
}
