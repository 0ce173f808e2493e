/* SPDX-License-Identifier: Apache-2.0
 * stray.c - the beginning tells most; a tokenizer is larger than that, and so are the settings before a trace's events. */
#include "job/stray.h"

enum { KEPT = 16 }; /* bytes of a word that a span's end may cut */

static bool ends_json(char last)
{
    return last == '}' || last == ']';
}

/* Whole, and without events to its end? */
static bool has_none(hu_input *in)
{
    hu_span  span;
    hu_error unused;
    char     last = '\0';

    for (size_t keep = 0;; keep = span.n < KEPT ? span.n : KEPT) {
        if (hu_input_next(in, keep, &span, &unused) < 0 || hu_glance_names_events((hu_str){span.p, span.n}))
            return false;
        for (size_t i = span.n; i-- > 0;)
            if ((unsigned char)span.p[i] > ' ') {
                last = span.p[i];
                break;
            }
        if (span.is_last)
            break;
    }
    return hu_input_status(in, &unused) == 0 && ends_json(last);
}

static bool file_has_none(const char *path, const hu_limits *limits)
{
    const hu_input_options how = {.limits = *limits};
    hu_input              *in = hu_input_open(path, &how, NULL);
    const bool             is = in && has_none(in);

    hu_input_close(in);
    return is;
}

/* Of JSON whose beginning names no events. */
static bool is_without_events(const char *path, const hu_limits *limits, const hu_glance *seen)
{
    return seen->is_whole ? ends_json(seen->last) : file_has_none(path, limits);
}

bool hu_is_stray(const char *path, const hu_limits *limits, const hu_glance *seen)
{
    if (seen->format && !hu_glance_is_of(seen, "chrome-json")) /* which any JSON may be */
        return false;
    if (seen->has_events)
        return seen->impostor != NULL;
    if (seen->kind != HU_INPUT_RANK)
        return seen->kind != HU_INPUT_EXECUTION;
    return seen->is_json && is_without_events(path, limits, seen);
}
