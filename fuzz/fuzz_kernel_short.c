/* SPDX-License-Identifier: Apache-2.0
 * fuzz_kernel_short.c - names of kernels, a line each, as one report has them.  Each has a buffer of its own, so that
 * reading past one shows. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/kernel_short.h"
#include "base/units.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_NAMES = 60 };

static size_t split(const uint8_t *data, size_t size, hu_str *names)
{
    size_t n = 0;

    for (size_t i = 0, from = 0; i <= size && n < MOST_NAMES; i++) {
        char *copy;

        if (i < size && data[i] != '\n' && data[i] != '\0')
            continue;
        copy = malloc(i - from + !(i - from));
        if (!copy)
            break;
        if (i > from)
            memcpy(copy, data + from, i - from);
        names[n++] = (hu_str){copy, i - from};
        from = i + 1;
    }
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hu_str    names[MOST_NAMES], *shorts;
    hu_arena *arena;
    size_t    n;

    if (size == 0 || size > 1 << 14)
        return 0;
    arena = hu_arena_new();
    n = split(data, size, names);
    shorts = arena ? hu_kernel_shorts(names, n, arena) : NULL;
    for (size_t i = 0; shorts && i < n; i++) {
        assert(hu_units_width(shorts[i]) <= HU_KERNEL_SHORT_WIDTH);
        assert(names[i].n == 0 || shorts[i].n);
        for (size_t k = 0; k < i; k++)
            assert(hu_str_equal(names[i], names[k]) == hu_str_equal(shorts[i], shorts[k]));
    }
    hu_arena_free(arena);
    for (size_t i = 0; i < n; i++)
        free((void *)names[i].p);
    return 0;
}
