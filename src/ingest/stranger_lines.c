/* SPDX-License-Identifier: Apache-2.0
 * stranger_lines.c - recognised by the form of a line, where no word is a sure sign.
 *
 * A log may quote any of them, so the form stands in the first line, or is that of many columns.
 */
#include "base/number.h"
#include "ingest/strangers.h"

#define RECORD "`holdup run -- COMMAND` records what threads and the GPU do, and what they wait for"

enum { FIRST_LINES = 8, FIELDS = 64 };

static bool next_line(hu_str *text, hu_str *line)
{
    const char *end = text->n ? memchr(text->p, '\n', text->n) : NULL;

    if (!text->n)
        return false;
    line->p = text->p;
    line->n = end ? (size_t)(end - text->p) : text->n;
    *text = (hu_str){text->p + line->n + (end != NULL), text->n - line->n - (end != NULL)};
    while (line->n && line->p[line->n - 1] == '\r')
        line->n--;
    return true;
}

static hu_str first_line(hu_str head)
{
    hu_str line = {0};

    while (next_line(&head, &line) && !hu_str_trim(line).n)
        continue;
    return line;
}

/* The next piece before `by`, which is not at its end; blanks count as one. */
static bool cut(hu_str *rest, char by, hu_str *out)
{
    size_t n = 0;

    while (by == ' ' && rest->n && rest->p[0] == ' ')
        *rest = (hu_str){rest->p + 1, rest->n - 1};
    if (!rest->n)
        return false;
    while (n < rest->n && rest->p[n] != by)
        n++;
    *out = (hu_str){rest->p, n};
    *rest = (hu_str){rest->p + n + (n < rest->n), rest->n - n - (n < rest->n)};
    return true;
}

static bool is_number(hu_str s)
{
    size_t digits = 0;

    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] >= '0' && s.p[i] <= '9')
            digits++;
        else if (s.p[i] != '.' && !(i == 0 && s.p[i] == '-'))
            return false;
    return digits > 0;
}

/* "     0.049 ( 0.012 ms): ls/10329 brk()": the first call of all was often made before perf looked. */
static bool is_perf_trace(hu_str head)
{
    hu_str line;

    for (int i = 0; i < FIRST_LINES && next_line(&head, &line); i++) {
        hu_str word;

        if (!cut(&line, ' ', &word) || !is_number(word) || !cut(&line, '(', &word) || hu_str_trim(word).n)
            continue;
        if (cut(&line, ' ', &word) && is_number(word) && hu_str_starts(line, HU_STR("ms): ")) &&
            hu_str_has((hu_str){line.p + 5, line.n - 5}, HU_STR("(")) && hu_str_has(line, HU_STR(" = ")))
            return true;
    }
    return false;
}

/* Headings of ps: words of capitals, one of them PID, and what was started at the end. */
static bool is_ps(hu_str line)
{
    hu_str word = {0};
    bool   has_pid = false;

    for (int n = 0; cut(&line, ' ', &word); n++) {
        for (size_t i = 0; i < word.n; i++)
            if (!((word.p[i] >= 'A' && word.p[i] <= 'Z') || word.p[i] == '%' || word.p[i] == '+'))
                return false;
        has_pid |= hu_str_equal(word, HU_STR("PID"));
    }
    return has_pid && (hu_str_equal(word, HU_STR("CMD")) || hu_str_equal(word, HU_STR("COMMAND")));
}

/* "node1 \t 60 \t 2026-11-29 11:06:54 UTC \t all \t %user \t 78.61": host, seconds, time, device, what, value. */
static bool is_sadf(hu_str line)
{
    hu_str at[6];
    int    n = 0;

    while (n < 6 && cut(&line, '\t', &at[n]))
        n++;
    return n == 6 && !line.n && is_number(at[1]) && (hu_str_ends(at[2], HU_STR(" UTC")) || is_number(at[2])) && at[4].n &&
           (at[4].p[0] == '%' || hu_str_ends(at[4], HU_STR("/s")) || hu_str_starts(at[4], HU_STR("kb"))) && is_number(at[5]);
}

/* Is a column named so that it may hold how long a step took? */
static bool may_time(hu_str column)
{
    static const hu_str words[] = {{"time", 4},  {"sec", 3},  {"duration", 8}, {"_ms", 3},
                                   {"speed", 5}, {"per_", 4}, {"/s", 2}};

    for (size_t i = 0; i < HU_COUNT(words); i++)
        if (hu_str_has_lower(column, words[i]))
            return true;
    return false;
}

/* "epoch,step,train_loss", in any order. */
static bool is_metrics(hu_str line)
{
    hu_str column;
    bool   has_epoch = false, has_step = false;
    int    n = 0;

    for (; cut(&line, ',', &column); n++) {
        if (n == FIELDS || may_time(column))
            return false;
        has_epoch |= hu_str_equal(column, HU_STR("epoch"));
        has_step |= hu_str_equal(column, HU_STR("step"));
    }
    return has_epoch && has_step && n > 2;
}

/* "     24684092 K total memory" */
static bool is_vmstat_sums(hu_str line)
{
    hu_str number;

    return cut(&line, ' ', &number) && is_number(number) && hu_str_equal(line, HU_STR("K total memory"));
}

const char *hu_stranger_line_words(hu_str head)
{
    const hu_str line = first_line(head);

    if (is_perf_trace(head))
        return "the output of `perf trace`: system calls, and nothing of what they are for; " RECORD;
    if (is_ps(line))
        return "the output of ps: processes at one moment, and not what they wait for; " RECORD;
    if (is_sadf(line))
        return "the output of sadf -p (sysstat), samples of a whole machine, which say nothing of what a job waits "
               "for; " RECORD;
    if (is_vmstat_sums(line))
        return "the output of vmstat -s: sums of a whole machine since it started; " RECORD;
    if (is_metrics(line))
        return "a table of values by epoch and step, as Lightning's CSVLogger writes it, without times of steps; " RECORD;
    return NULL;
}
