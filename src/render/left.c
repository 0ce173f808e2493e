/* SPDX-License-Identifier: Apache-2.0
 * left.c - a few by name, and what would take in those that look like traces. */
#include "render/left.h"

#include <stdio.h>

#include "base/number.h"
#include "base/str.h"

void hu_left_say(const hu_left *left, char out[HU_LEFT_TEXT])
{
    const size_t room = HU_LEFT_TEXT;
    size_t       n;

    out[0] = '\0';
    if (left->n == 0)
        return;
    n = (size_t)snprintf(out, room, "%zu other file%s of the directory:", left->n, hu_plural((int64_t)left->n));
    for (size_t i = 0; i < left->n && i < HU_LEFT_NAMED && n < room; i++)
        n += (size_t)snprintf(out + n, room - n, "%s %.200s", i ? "," : "", hu_str_base_name(hu_str_of(left->at[i])).p);
    if (n < room && left->n > HU_LEFT_NAMED)
        n += (size_t)snprintf(out + n, room - n, " …");
    if (n < room && left->n_traces)
        n += (size_t)snprintf(out + n, room - n, ". %zu of them %s in a directory below and may be of another run: pass %s",
                              left->n_traces,
                              left->n_traces == 1 ? "is a trace by its name, lies" : "are traces by their names, lie",
                              left->n_traces == 1 ? "it by name" : "that directory, or both");
    if (n < room)
        snprintf(out + n, room - n, ". `holdup info DIRECTORY` says what each is.");
}
