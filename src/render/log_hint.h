/* SPDX-License-Identifier: Apache-2.0
 * log_hint.h - a sentence about what holds a job up, as far as its log tells. */
#ifndef HU_RENDER_LOG_HINT_H
#define HU_RENDER_LOG_HINT_H

#include <stddef.h>
#include <stdio.h>

#include "base/out.h"

enum { HU_LOG_HINTS = 24, HU_LOG_HINT_BYTES = 1200 };

typedef struct {
    const char *id;         /* stable, for --json */
    double      most_saved; /* ns of a step, at most; INFINITY: nothing else matters; NaN: cannot be told */
    char        words[HU_LOG_HINT_BYTES];
} hu_log_hint;

/* One more of HU_LOG_HINTS at most; where there is no room, the last is overwritten. */
static inline hu_log_hint *hu_log_hint_add(hu_log_hint *out, size_t *n, const char *id, double most_saved)
{
    hu_log_hint *hint = &out[*n < HU_LOG_HINTS ? *n : HU_LOG_HINTS - 1];

    *n += *n < HU_LOG_HINTS;
    hint->id = id;
    hint->most_saved = most_saved;
    return hint;
}

/* Ends a text in memory, of which `out` gets what fits; NULL, or no memory: "". */
static inline void hu_log_hint_take(hu_out *text, char *out, size_t room)
{
    hu_str words = HU_STR("");

    if (text && hu_out_take(text, &words, NULL) < 0)
        words = HU_STR("");
    snprintf(out, room, "%.*s", (int)(words.n < room ? words.n : room - 1), words.n ? words.p : "");
}

#define HU_LOG_SAY(hint, ...) snprintf((hint)->words, sizeof(hint)->words, __VA_ARGS__)

#endif
