/* SPDX-License-Identifier: Apache-2.0
 * stray.c - the beginning tells most; a tokenizer is larger than that, and so are the settings before a trace's events. */
#include "job/stray.h"

#include "base/input.h"
#include "ingest/format.h"
#include "ingest/strangers.h"
#include "job/inputs.h"
#include "job/kind.h"

enum { KEPT = 16 }; /* bytes of a word that a span's end may cut */

/* Whole, and without events to its end? */
static bool has_none(hu_input *in)
{
    hu_span  span;
    hu_error unused;
    char     last = '\0';

    for (size_t keep = 0;; keep = span.n < KEPT ? span.n : KEPT) {
        if (hu_input_next(in, keep, &span, &unused) < 0 || hu_inputs_names_events((hu_str){span.p, span.n}))
            return false;
        for (size_t i = span.n; i-- > 0;)
            if ((unsigned char)span.p[i] > ' ') {
                last = span.p[i];
                break;
            }
        if (span.is_last)
            break;
    }
    return hu_input_status(in, &unused) == 0 && (last == '}' || last == ']');
}

static bool is_json(hu_str head)
{
    return head.n && (head.p[0] == '{' || head.p[0] == '[');
}

/* Of a format of traces, by its beginning; chrome-json is what any JSON may be. */
static bool may_be_none(hu_str head)
{
    const hu_format *format = hu_format_find(head);

    return !format || hu_str_equal(hu_str_of(format->name), HU_STR("chrome-json"));
}

bool hu_is_stray(const char *path)
{
    const hu_input_options how = {.limits = hu_limits_default()};
    hu_error               unused;
    hu_input              *in = hu_input_open(path, &how, &unused);
    const hu_str           head = in ? hu_input_head(in) : HU_STR("");
    bool                   is = false;

    if (in && may_be_none(head)) {
        const bool          has_events = hu_inputs_names_events(head);
        const hu_input_kind kind = has_events ? HU_INPUT_RANK : hu_input_kind_of(path, &how.limits);

        is = has_events ? hu_stranger_impostor_words(head) != NULL
                        : kind != HU_INPUT_EXECUTION && (kind != HU_INPUT_RANK || (is_json(head) && has_none(in)));
    }
    if (in)
        hu_input_close(in);
    return is;
}
