/* SPDX-License-Identifier: Apache-2.0
 * log_probe.c - a text that no other reader knows is one as soon as it tells what a log is read for. */
#include "ingest/log_probe.h"

#include <ctype.h>
#include <string.h>

#include "base/utf8.h"
#include "ingest/format.h"
#include "ingest/log_json.h"
#include "ingest/step_log.h"
#include "ingest/strangers.h"

/* An object in each line, as programs write metrics. */
static bool is_json_lines(hu_str head)
{
    const char *end = memchr(head.p, '\n', head.n);

    return end && end > head.p + 1 && (end[-1] == '}' || (end[-1] == '\r' && end[-2] == '}')) &&
           hu_str_starts((hu_str){end + 1, (size_t)(head.p + head.n - end) - 1}, HU_STR("{\""));
}

/* "[2023-11-29 08:50:46,232] [INFO] …" and "{'loss': 2.1}" begin like JSON. */
static bool is_known(hu_str head)
{
    size_t i = 0;

    while (i < head.n && isspace((unsigned char)head.p[i]))
        i++;
    if (i + 1 < head.n && ((head.p[i] == '[' && isalnum((unsigned char)head.p[i + 1])) || memcmp(head.p + i, "{'", 2) == 0))
        return false;
    if (i == 0 && is_json_lines(head))
        return false;
    if (i + 1 < head.n && head.p[i] == '{' && strchr("\"\n\r ", head.p[i + 1])) /* JSON: no need to ask each format */
        return true;
    return hu_format_find(head) != NULL;
}

static bool is_log(hu_input *in, bool any_text, bool is_brief)
{
    const hu_str head = hu_input_head(in);

    return hu_looks_like_text(head) &&
           ((!any_text && hu_log_json_probe(head)) ||
            (!is_known(head) && !hu_stranger_words(head) && (any_text || hu_step_log_tells(in, is_brief))));
}

bool hu_log_probe(hu_input *in, bool any_text)
{
    return is_log(in, any_text, false);
}

bool hu_log_probe_beginning(hu_input *in)
{
    return is_log(in, false, true);
}
