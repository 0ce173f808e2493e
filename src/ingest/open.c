/* SPDX-License-Identifier: Apache-2.0
 * open.c - asks each format of the table whether the beginning is its own, then lets that one read. */
#include "ingest/open.h"

#include <stdio.h>

#include "base/utf8.h"
#include "ingest/format.h"
#include "ingest/log_pattern.h"
#include "ingest/log_probe.h"
#include "ingest/strangers.h"

/* A dictionary as Python prints it, which trainers do into logs: "{'loss': 2.1, 'epoch': 0.02}". */
static bool is_python(hu_str head)
{
    return hu_str_starts(head, HU_STR("{'"));
}

/* `head` is looked at again, so whoever reads on in `in` comes later. */
static int fail_text(hu_input *in, hu_str head, hu_error *err)
{
    const char *pattern = hu_log_pattern_for(head);

    if (hu_log_probe_beginning(in))
        return hu_fail(err, HU_EFORMAT, hu_input_name(in), 0,
                       "this is a log, which has no timeline; `holdup report FILE` tells what it says%s",
                       hu_input_path(in) ? "" : ", and `holdup report -` what a pipe does");
    if (pattern && hu_str_has(hu_str_of(pattern), HU_STR("s/it")))
        return hu_fail(
            err, HU_EFORMAT, hu_input_name(in), 0,
            "this is a log with a progress bar, by whose elapsed time no steps can be told; the rates that it prints, "
            "running means, are read by: holdup report FILE --pattern '%s'",
            pattern);
    if (pattern)
        return hu_fail(
            err, HU_EFORMAT, hu_input_name(in), 0,
            "this is text, not a format that holdup reads (docs/formats.md); its times of steps are read by: holdup "
            "report FILE --pattern '%s'",
            pattern);
    return hu_fail(
        err, HU_EFORMAT, hu_input_name(in), 0,
        "this is text, not a format that holdup reads (docs/formats.md); of a log, --pattern tells how it prints the "
        "number and the time of a step (docs/formats/step-log.md)");
}

static int fail_unknown(hu_input *in, hu_str head, hu_error *err)
{
    const char *stranger = hu_stranger_words(head);
    const bool  is_text = hu_looks_like_text(head);
    char        known[640] = "";
    size_t      n = 0;

    for (size_t i = 0; hu_formats[i] && n < sizeof known; i++)
        n += (size_t)snprintf(known + n, sizeof known - n, "%s%s", i ? "; " : "", hu_formats[i]->what);
    if (head.n == 0)
        return hu_fail(err, HU_EEMPTY, hu_input_name(in), 0,
                       "the file is empty; was the profiler stopped before it exported the trace?");
    if (!stranger)
        stranger = hu_stranger_mark_words(head);
    if (!stranger)
        stranger = hu_stranger_name_words(hu_str_of(hu_input_name(in)));
    if (stranger)
        return hu_fail(err, HU_EFORMAT, hu_input_name(in), 0, "this is %s", stranger);
    if (is_text)
        return fail_text(in, head, err);
    return hu_fail(err, HU_EFORMAT, hu_input_name(in), 0,
                   "not a format that holdup reads (it begins with byte 0x%02x); it reads %s",
                   (unsigned)(unsigned char)head.p[0], known);
}

hu_builder *hu_open_input(hu_input *in, const hu_input_options *options, hu_error *err)
{
    const hu_str     head = hu_input_head(in);
    const hu_format *format = is_python(head) ? NULL : hu_format_find(head);
    hu_builder      *b = NULL;

    if (hu_stranger_impostor_words(head)) {
        hu_fail(err, HU_EFORMAT, hu_input_name(in), 0, "this is %s", hu_stranger_impostor_words(head));
    } else if (!format) {
        fail_unknown(in, head, err);
    } else if (!(b = hu_builder_new(hu_input_name(in), &options->limits))) {
        hu_fail_memory(err);
    } else {
        hu_builder_info(b)->format = hu_str_of(format->name);
        hu_builder_info(b)->compression = hu_str_of(hu_input_compression(in));
        if (format->import(in, b, err) < 0) {
            hu_builder_free(b);
            b = NULL;
        }
    }
    hu_input_close(in);
    return b;
}

hu_builder *hu_open_builder(const char *path, const hu_input_options *options, hu_error *err)
{
    hu_input *in = hu_input_open(path, options, err);

    return in ? hu_open_input(in, options, err) : NULL;
}

hu_trace *hu_open_trace(const char *path, const hu_input_options *options, hu_error *err)
{
    hu_builder *b = hu_open_builder(path, options, err);

    return b ? hu_builder_freeze(b, err) : NULL;
}
