/* SPDX-License-Identifier: Apache-2.0
 * viztracer.c - from its end, since a file's name may hold blanks and brackets, too. */
#include "ingest/viztracer.h"

#include <stdio.h>
#include <string.h>

/* Where " (" stands first, which no name of a function holds; `n`: nowhere. */
static size_t place_of(hu_str name)
{
    size_t at = 0;

    while (at + 1 < name.n && (name.p[at] != ' ' || name.p[at + 1] != '('))
        at++;
    return at + 1 < name.n ? at : name.n;
}

size_t hu_viztracer_python_name(hu_str name, char out[HU_VIZTRACER_NAME_BYTES])
{
    const size_t function = place_of(name);
    size_t       line = name.n;

    if (!function || function == name.n || name.n >= HU_VIZTRACER_NAME_BYTES - 4 || name.p[name.n - 1] != ')')
        return 0;
    for (line--; line > function + 2 && name.p[line - 1] >= '0' && name.p[line - 1] <= '9';)
        line--;
    if (line == name.n - 1 || line < function + 4 || name.p[line - 1] != ':')
        return 0;
    return (size_t)snprintf(out, HU_VIZTRACER_NAME_BYTES, "%.*s(%.*s): %.*s", (int)(line - function - 3),
                            name.p + function + 2, (int)(name.n - 1 - line), name.p + line, (int)function, name.p);
}
