/* SPDX-License-Identifier: Apache-2.0
 * hta_sort.c - quicksort by the median of three, insertion sort to 16 rows, heap sort where it goes too deep.
 *
 * Any sort gives the same keys; only this one gives the same order of equal keys, because it makes the same swaps.
 */
#include "analyze/hta_sort.h"

#include <stdbool.h>

enum { SMALL = 15, MOST_DEPTH = 128 };

typedef struct {
    const double *keys;
    uint32_t     *at;
} sorter;

static bool less(const sorter *s, uint32_t a, uint32_t b)
{
    return s->keys[a] < s->keys[b];
}

static void swap(uint32_t *a, uint32_t *b)
{
    const uint32_t kept = *a;

    *a = *b;
    *b = kept;
}

static void insertion_sort(const sorter *s, ptrdiff_t from, ptrdiff_t to)
{
    for (ptrdiff_t i = from + 1; i <= to; i++) {
        const uint32_t moved = s->at[i];
        ptrdiff_t      k = i;

        for (; k > from && less(s, moved, s->at[k - 1]); k--)
            s->at[k] = s->at[k - 1];
        s->at[k] = moved;
    }
}

static void sink(const sorter *s, uint32_t *heap, size_t n, size_t i, uint32_t moved)
{
    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && less(s, heap[child], heap[child + 1]))
            child++;
        if (!less(s, moved, heap[child]))
            break;
        heap[i] = heap[child];
    }
    heap[i] = moved;
}

static void heap_sort(const sorter *s, ptrdiff_t from, ptrdiff_t to)
{
    uint32_t *heap = s->at + from;
    size_t    n = (size_t)(to - from + 1);

    for (size_t i = n / 2; i > 0; i--)
        sink(s, heap, n, i - 1, heap[i - 1]);
    while (n > 1) {
        const uint32_t last = heap[--n];

        heap[n] = heap[0];
        sink(s, heap, n, 0, last);
    }
}

/* Returns the place of the pivot: what is before is not greater, what is behind is not less. */
static ptrdiff_t partition(const sorter *s, ptrdiff_t from, ptrdiff_t to)
{
    uint32_t *const at = s->at;
    const ptrdiff_t middle = from + (to - from) / 2;
    ptrdiff_t       i = from, k = to - 1;
    double          pivot;

    if (less(s, at[middle], at[from]))
        swap(&at[middle], &at[from]);
    if (less(s, at[to], at[middle]))
        swap(&at[to], &at[middle]);
    if (less(s, at[middle], at[from]))
        swap(&at[middle], &at[from]);
    pivot = s->keys[at[middle]];
    swap(&at[middle], &at[k]);
    for (;;) {
        do
            i++;
        while (s->keys[at[i]] < pivot);
        do
            k--;
        while (pivot < s->keys[at[k]]);
        if (i >= k)
            break;
        swap(&at[i], &at[k]);
    }
    swap(&at[i], &at[to - 1]);
    return i;
}

static int depth_limit(size_t n)
{
    int bits = 0;

    while (n >>= 1)
        bits++;
    return 2 * bits;
}

void hu_hta_order(const double *keys, size_t n, uint32_t *order)
{
    const sorter s = {keys, order};
    struct {
        ptrdiff_t from, to;
        int       depth;
    } later[MOST_DEPTH];
    ptrdiff_t from = 0, to = (ptrdiff_t)n - 1;
    int       depth = depth_limit(n), waiting = 0;

    for (size_t i = 0; i < n; i++)
        order[i] = (uint32_t)i;
    for (;;) {
        if (depth < 0) {
            heap_sort(&s, from, to);
        } else {
            for (; to - from > SMALL; depth--) {
                const ptrdiff_t pivot = partition(&s, from, to);
                const bool      left_is_smaller = pivot - from < to - pivot;

                later[waiting].from = left_is_smaller ? pivot + 1 : from;
                later[waiting].to = left_is_smaller ? to : pivot - 1;
                later[waiting++].depth = depth - 1;
                if (left_is_smaller)
                    to = pivot - 1;
                else
                    from = pivot + 1;
            }
            insertion_sort(&s, from, to);
        }
        if (waiting == 0)
            return;
        waiting--;
        from = later[waiting].from;
        to = later[waiting].to;
        depth = later[waiting].depth;
    }
}
