/* SPDX-License-Identifier: Apache-2.0
 * sort.c - quicksort with the median of three; what it cannot halve it hands to a heap sort, so that no input is slow. */
#include "base/sort.h"

enum { FEW = 24 };

static void insert(int64_t *v, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        const int64_t x = v[i];
        size_t        k = i;

        for (; k > 0 && v[k - 1] > x; k--)
            v[k] = v[k - 1];
        v[k] = x;
    }
}

static void sift(int64_t *v, size_t at, size_t n)
{
    const int64_t x = v[at];

    for (size_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && v[child + 1] > v[child])
            child++;
        if (v[child] <= x)
            break;
        v[at] = v[child];
    }
    v[at] = x;
}

static void heap(int64_t *v, size_t n)
{
    for (size_t i = n / 2; i-- > 0;)
        sift(v, i, n);
    for (size_t i = n; i-- > 1;) {
        const int64_t most = v[0];

        v[0] = v[i];
        v[i] = most;
        sift(v, 0, i);
    }
}

static int64_t median_of_three(int64_t a, int64_t b, int64_t c)
{
    if (a < b)
        return b < c ? b : a < c ? c : a;
    return a < c ? a : b < c ? c : b;
}

/* Moves what is below `limit` in front of the rest, and says how much that is.  No branch depends on a value: of durations
   no processor can guess it. */
static size_t part(int64_t *v, size_t n, int64_t limit)
{
    size_t below = 0;

    for (size_t i = 0; i < n; i++) {
        const int64_t x = v[i];

        v[i] = v[below];
        v[below] = x;
        below += x < limit;
    }
    return below;
}

/*
 * Splits what is longer than FEW: v[0, *below) < v[*below, *above) <= v[*above, n), all in the middle equal to one value,
 * and neither side the whole.  Equal values are looked for only where few lie below the pivot: with many of them that is
 * often enough.
 */
static void split(int64_t *v, size_t n, size_t *below, size_t *above)
{
    const int64_t pivot = median_of_three(v[0], v[n / 2], v[n - 1]);

    *below = *above = part(v, n, pivot);
    if (*below < n / 4)
        *above += pivot < INT64_MAX ? part(v + *below, n - *below, pivot + 1) : n - *below;
}

static void quick(int64_t *v, size_t n, int depth)
{
    while (n > FEW) {
        size_t below, above;

        if (depth-- == 0) {
            heap(v, n);
            return;
        }
        split(v, n, &below, &above);
        quick(v, below, depth);
        v += above;
        n -= above;
    }
    insert(v, n);
}

/* How often halves may be uneven. */
static int depth_of(size_t n)
{
    int depth = 2;

    for (size_t k = n; k > 1; k /= 2)
        depth += 2;
    return depth;
}

void hu_sort_i64(int64_t *values, size_t n)
{
    quick(values, n, depth_of(n));
}

int64_t hu_sort_nth_i64(int64_t *v, size_t n, size_t place)
{
    for (int depth = depth_of(n); n > FEW && depth > 0; depth--) {
        size_t below, above;

        split(v, n, &below, &above);
        if (place >= below && place < above)
            return v[place];
        if (place < below) {
            n = below;
        } else {
            v += above;
            n -= above;
            place -= above;
        }
    }
    hu_sort_i64(v, n);
    return v[place];
}
