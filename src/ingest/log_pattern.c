/* SPDX-License-Identifier: Apache-2.0
 * log_pattern.c - each of a few patterns reads the beginning of the log, as --pattern would.
 *
 * A pattern that reads another time than a step's is worse than none: a line with two times (one may be what remains) has
 * none, nor have times that rise from line to line, which are those since the start.
 */
#include "ingest/log_pattern.h"

#include "ingest/step_log.h"

enum { LEAST_STEPS = 3, LOOKED_AT = 1 << 15 };

#define TIMED(word) word "[ #:=]*([0-9]+)[^0-9.].*[^0-9.]([0-9.]+) ?(ms|us|s|sec|seconds)([^A-Za-z/]|$)"

static const char *const patterns[] = {
    "([0-9]+)/[0-9]+ \\[.* ([0-9.]+)(s/it|it/s)",
    TIMED("[Ss]tep"),
    TIMED("[Ii]ter"),
    TIMED("[Ii]teration"),
    TIMED("[Bb]atch"),
    TIMED("[Uu]pdate"),
    TIMED("it"),
};

/* How many times with a unit a line has. */
static size_t count_times(const regex_t *times, const char *line)
{
    regmatch_t found;
    size_t     n = 0;

    for (; regexec(times, line, 1, &found, 0) == 0 && found.rm_eo > 0; line += found.rm_eo)
        n++;
    return n;
}

/* No line of those that the pattern fits has a second time.  Lines are copied, as regexec wants them ended. */
static bool has_one_time(hu_str head, const regex_t *pattern, const regex_t *times, hu_arena *arena)
{
    while (head.n) {
        const char  *end = memchr(head.p, '\n', head.n);
        const hu_str line = {head.p, end ? (size_t)(end - head.p) : head.n};
        const hu_str text = hu_arena_copy(arena, line);

        if (!text.p || (regexec(pattern, text.p, 0, NULL, 0) == 0 && count_times(times, text.p) > 1))
            return false;
        head = (hu_str){head.p + line.n + (end != NULL), head.n - line.n - (end != NULL)};
    }
    return true;
}

/* It finds steps whose numbers rise, and whose times have a unit and do not rise from each to the next. */
static bool finds_steps(hu_str head, const regex_t *pattern, hu_arena *arena)
{
    const hu_log_how       how = {.pattern = pattern};
    const hu_input_options options = {.limits = hu_limits_default()};
    hu_input              *in = hu_input_open_memory(head, "", &options, NULL);
    hu_step_log            log = {.writer = HU_STR("")};
    bool                   is = in && hu_step_log_read(in, &how, arena, &log, NULL) == 0 && log.steps.n >= LEAST_STEPS;
    bool                   does_rise = true;

    if (in)
        hu_input_close(in);
    for (size_t i = 1; is && i < log.steps.n; i++)
        does_rise &= log.steps.at[i].ns > log.steps.at[i - 1].ns;
    return is && !does_rise && log.unit == HU_LOG_UNIT_TOLD &&
           log.steps.at[log.steps.n - 1].iteration > log.steps.at[0].iteration;
}

static bool fits(hu_str head, const char *pattern, const regex_t *times, bool is_bar, hu_arena *arena)
{
    regex_t compiled;
    bool    is;

    if (regcomp(&compiled, pattern, REG_EXTENDED) != 0)
        return false;
    is = finds_steps(head, &compiled, arena) && (is_bar || has_one_time(head, &compiled, times, arena));
    regfree(&compiled);
    return is;
}

const char *hu_log_pattern_for(hu_str head)
{
    hu_arena   *arena = hu_arena_new();
    regex_t     times;
    const char *found = NULL;

    head.n = head.n < LOOKED_AT ? head.n : LOOKED_AT;
    if (!arena || regcomp(&times, "[0-9] ?(ms|us|s|sec|seconds|min|h)([^A-Za-z/]|$)|[0-9]:[0-9][0-9]", REG_EXTENDED) != 0) {
        hu_arena_free(arena);
        return NULL;
    }
    for (size_t i = 0; i < HU_COUNT(patterns) && !found; i++)
        if (fits(head, patterns[i], &times, i == 0, arena))
            found = patterns[i];
    regfree(&times);
    hu_arena_free(arena);
    return found;
}
