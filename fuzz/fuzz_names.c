/* SPDX-License-Identifier: Apache-2.0
 * fuzz_names.c - names below each other in a column: the first byte is its width, and the lines behind it are names.  Each
 * has a buffer of its own, so that reading past one shows. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/short_name.h"
#include "base/units.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_NAMES = 100 };

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
    hu_str    names[MOST_NAMES], *one, *two;
    hu_arena *arena;
    size_t    n, width;

    if (size == 0 || size > 1 << 14)
        return 0;
    width = data[0];
    arena = hu_arena_new();
    n = split(data + 1, size - 1, names);
    one = arena ? hu_short_names(names, n, width, arena) : NULL;
    two = arena ? hu_short_names(names, n, width, arena) : NULL;
    for (size_t i = 0; one && two && i < n; i++) {
        assert(hu_units_width(one[i]) <= width);
        assert(hu_units_width(names[i]) > width || names[i].n == 0 || one[i].n);
        assert(one[i].n == 0 || !memchr(one[i].p, 0, one[i].n));
        assert(hu_str_equal(one[i], two[i]));
    }
    hu_arena_free(arena);
    for (size_t i = 0; i < n; i++)
        free((void *)names[i].p);
    return 0;
}
