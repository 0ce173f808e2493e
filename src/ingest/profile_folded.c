/* SPDX-License-Identifier: Apache-2.0
 * profile_folded.c - collapsed stacks: a line for each, from the outermost function on, and how often it was seen.
 *
 *     main;train (train.py:31);step (train.py:12) 12
 *
 * Tools print the line of a function that runs: of one function, lines are summed.
 */
#include "base/number.h"
#include "ingest/profile.h"
#include "ingest/profile_parts.h"

enum { LOOKED_AT = 10, MALFORMED_MOST = 100 /* one line of so many */ };

static bool split(hu_str line, hu_str *stack, int64_t *count)
{
    const char *blank;

    line = hu_str_trim(line);
    blank = line.n ? memrchr(line.p, ' ', line.n) : NULL;
    if (!blank || blank == line.p || blank[-1] == ',' || blank[-1] == ';') {
        *stack = HU_STR(""); /* py-spy: a thread without a frame */
        return line.n && !blank && hu_parse_i64(line, count) && *count >= 0;
    }
    *stack = hu_str_trim((hu_str){line.p, (size_t)(blank - line.p)});
    return hu_parse_i64((hu_str){blank + 1, (size_t)(line.p + line.n - blank) - 1}, count) && *count >= 0;
}

static hu_str take_line(hu_str *text)
{
    const char  *newline = memchr(text->p, '\n', text->n);
    const hu_str line = {text->p, newline ? (size_t)(newline - text->p) : text->n};

    *text = newline ? (hu_str){newline + 1, text->n - line.n - 1} : (hu_str){text->p + text->n, 0};
    return line;
}

/* All of the first lines are, and most have a caller. */
bool hu_profile_is_folded(hu_str head)
{
    size_t n = 0, deep = 0;

    while (n < LOOKED_AT && head.n) {
        const bool   is_cut = !memchr(head.p, '\n', head.n);
        const hu_str line = take_line(&head);
        hu_str       stack;
        int64_t      count;

        if (is_cut && n)
            break;
        if (!split(line, &stack, &count))
            return false;
        deep += stack.n && memchr(stack.p, ';', stack.n);
        n++;
    }
    return n && 2 * deep > n;
}

/* "step (train.py:12)" is "step (train.py)". */
static uint32_t function_of(profile_sums *s, hu_str frame)
{
    size_t i = frame.n - 1;
    char   text[512];

    if (frame.n < 4 || frame.n > sizeof text || frame.p[i] != ')')
        return profile_function(s, frame, HU_STR(""));
    while (i && frame.p[i - 1] >= '0' && frame.p[i - 1] <= '9')
        i--;
    if (i == frame.n - 1 || i < 2 || frame.p[i - 1] != ':' || !memchr(frame.p, '(', i))
        return profile_function(s, frame, HU_STR(""));
    memcpy(text, frame.p, i - 1);
    text[i - 1] = ')';
    return profile_function(s, (hu_str){text, i}, HU_STR(""));
}

static int take_stack(profile_sums *s, hu_str stack, int64_t count, hu_error *err)
{
    s->stack.n = 0;
    while (stack.n) {
        const char  *end = memchr(stack.p, ';', stack.n);
        const hu_str frame = {stack.p, end ? (size_t)(end - stack.p) : stack.n};
        uint32_t     function;

        stack = (hu_str){stack.p + frame.n + (end != NULL), stack.n - frame.n - (end != NULL)};
        if (frame.n == 0)
            continue;
        function = function_of(s, frame);
        if (function == UINT32_MAX || !hu_vec_push(s->arena, &s->stack, function))
            return hu_fail_memory(err);
    }
    return profile_add(s, (double)count, err);
}

int profile_read_folded(profile_sums *s, hu_str text, hu_error *err)
{
    int64_t n = 0;
    int     rc = 0;

    s->out->format = "collapsed stacks";
    while (rc == 0 && text.n) {
        const hu_str line = take_line(&text);
        hu_str       stack;
        int64_t      count;

        if (hu_str_trim(line).n == 0 || line.p[0] == '#')
            continue;
        n++;
        if (split(line, &stack, &count))
            rc = take_stack(s, stack, count, err);
        else
            s->out->n_malformed++;
    }
    if (rc == 0 && s->out->n_malformed > 1 && s->out->n_malformed > n / MALFORMED_MOST)
        rc = hu_fail(err, HU_EFORMAT, s->file, HU_NO_OFFSET,
                     "begins like collapsed stacks, but %lld of its %lld lines are none; pass the stacks alone",
                     (long long)s->out->n_malformed, (long long)n);
    return rc;
}
