/* SPDX-License-Identifier: Apache-2.0
 * shared_options.c - the one place where these options are named, explained and given their letters. */
#include "cli/shared_options.h"

#include <string.h>

#include "base/number.h"
#include "base/thread.h"

static const char *const colors[] = {"auto", "always", "never", NULL}; /* as HU_COLOR_* */

static size_t limit_words(const char **out, size_t room)
{
    static const char *const names[] = {
#define L(name, value, text) #name,
        HU_LIMITS(L)
#undef L
    };
    size_t n = 0;

    for (; n < HU_COUNT(names) && n < room; n++)
        out[n] = names[n];
    return n;
}

/* NAME=N; the field is a hu_limits. */
static int parse_limit(void *field, const char *text, hu_error *err)
{
    hu_limits   *limits = field;
    const char  *equals = strchr(text, '=');
    const hu_str name = {text, equals ? (size_t)(equals - text) : 0};
    int64_t      value;

    if (equals && hu_parse_i64(hu_str_of(equals + 1), &value) && value > 0) {
#define L(limit, initial, words)              \
    if (hu_str_equal(name, HU_STR(#limit))) { \
        limits->limit = value;                \
        return 0;                             \
    }
        HU_LIMITS(L)
#undef L
    }
    return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET,
                   "--limit needs NAME=N, not \"%s\"; NAME is events, nesting, event_bytes, string_bytes,"
                   " inflate_ratio or os_calls",
                   text);
}

/* "3..7" or "5"; the field is a hu_step_range. */
static int parse_steps(void *field, const char *text, hu_error *err)
{
    hu_step_range *range = field;
    const char    *dots = strstr(text, "..");
    const hu_str   first = {text, dots ? (size_t)(dots - text) : strlen(text)};
    const hu_str   last = dots ? hu_str_of(dots + 2) : first;

    if (!hu_parse_i64(first, &range->first) || !hu_parse_i64(last, &range->last) || range->last < range->first)
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "--steps needs a range such as 3..7 or one number, not \"%s\"",
                       text);
    range->is_limited = true;
    return 0;
}

static int parse_threads(void *field, const char *text, hu_error *err)
{
    int64_t *n = field;

    if (hu_parse_i64(hu_str_of(text), n) && *n >= 1 && *n <= HU_THREADS_MOST)
        return 0;
    return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "--threads needs a number from 1 to %d, not \"%.64s\"",
                   HU_THREADS_MOST, text);
}

#define AT(member) offsetof(hu_shared, member)

/* In the order of the bits. */
static const hu_option rows[HU_SHARED_COUNT] = {
    {"steps", 's', HU_OPTION_SPECIAL, "A..B", "use only steps A to B, by the numbers of their marks, else counted from 0",
     AT(steps), .parse = parse_steps, .heading = "input"},
    {"top", 'n', HU_OPTION_COUNT, "N", "limit each table to N rows", AT(top), .heading = "output"},
    {"json", 'j', HU_OPTION_FLAG, NULL, "write JSON", AT(json), .heading = "output"},
    {"csv", 0, HU_OPTION_FLAG, NULL, "write CSV", AT(csv), .heading = "output", .lost_letter = 'c'},
    {"output", 'o', HU_OPTION_TEXT, "FILE", "write to FILE instead of standard output", AT(output), .heading = "output",
     .value = HU_VALUE_OUTPUT},
    {"color", 0, HU_OPTION_CHOICE, "WHEN", "colour the output: auto (default), always or never", AT(color), colors,
     .heading = "output"},
    {"quiet", 'q', HU_OPTION_FLAG, NULL, "print no progress and no notes on stderr", AT(quiet), .heading = "output"},
    {"strict", 0, HU_OPTION_FLAG, NULL, "exit with status 4 if an input is unread, cut or missing events", AT(strict),
     .heading = "input"},
    {"limit", 0, HU_OPTION_SPECIAL, "NAME=N",
     "raise or lower a limit against hostile files: events, nesting, event_bytes, string_bytes, inflate_ratio, os_calls",
     AT(limits), .parse = parse_limit, .heading = "input", .words = limit_words},
    {"cpus", 0, HU_OPTION_COUNT, "N", "CPUs that each process of the job may use, where the trace does not say",
     AT(limits.cpus), .heading = "input"},
    {"threads", 0, HU_OPTION_SPECIAL, "N",
     "use N threads, 1 to 256 (default: HOLDUP_THREADS, else the processors that this process may use)", AT(threads),
     .parse = parse_threads, .heading = "input"},
};

static const hu_option help = {"help", 'h', HU_OPTION_FLAG, NULL, "show this help", AT(help), .heading = "output"};

size_t hu_shared_rows(uint32_t which, hu_option *out)
{
    size_t n = 0;

    for (size_t i = 0; i < HU_SHARED_COUNT; i++)
        if (which >> i & 1)
            out[n++] = rows[i];
    out[n++] = help;
    return n;
}
