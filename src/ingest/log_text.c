/* SPDX-License-Identifier: Apache-2.0
 * log_text.c - a line as the readers of lines want it. */
#include "ingest/log_text.h"

#include <ctype.h>

/* Without colours and without the blanks at its end. */
hu_str hu_log_cleaned(hu_str line, char *room)
{
    size_t n = 0;

    if (!memchr(line.p, '\x1b', line.n)) {
        while (line.n && isspace((unsigned char)line.p[line.n - 1]))
            line.n--;
        return line;
    }
    for (size_t i = 0; i < line.n; i++) {
        if (line.p[i] == '\x1b' && i + 1 < line.n && line.p[i + 1] == '[') {
            for (i += 2; i < line.n && !isalpha((unsigned char)line.p[i]); i++)
                continue;
            continue;
        }
        room[n++] = line.p[i];
    }
    return (hu_str){room, n};
}

/* {"step": 5, "step_time_ms": 512.5}: without the quotes it is a line as others are. */
hu_str hu_log_unquoted(hu_str line, char *room)
{
    size_t n = 0;

    if (!hu_str_starts(line, HU_STR("{\"")))
        return line;
    for (size_t i = 0; i < line.n; i++)
        if (line.p[i] != '"')
            room[n++] = line.p[i];
    return (hu_str){room, n};
}

/* As regexec wants it: not every C library takes a length. */
hu_str hu_log_ended(hu_str line, char *room)
{
    if (line.p != room)
        memcpy(room, line.p, line.n);
    room[line.n] = '\0';
    return (hu_str){room, line.n};
}
