/* SPDX-License-Identifier: Apache-2.0
 * text.c - one line at a time: name{key="value",...} number [time].
 *
 * Another node wrote it, or something that took its place: each length is looked at, and only keys that a series has are
 * kept.
 */
#include "top/text.h"

#include <stdio.h>
#include <string.h>

#include "base/number.h"

enum { VALUE_ROOM = 2 * HU_TOP_TEXT };

typedef struct {
    char value[HU_TOP_KEYS_MOST][VALUE_ROOM];
} label_values;

static bool is_name_char(char c, bool is_first)
{
    return hu_char_is_letter(c) || c == '_' || c == ':' || (!is_first && c >= '0' && c <= '9');
}

/* The name at the front of the line, which is taken off. */
static hu_str cut_name(hu_str *rest)
{
    hu_str name = {rest->p, 0};

    while (name.n < rest->n && is_name_char(rest->p[name.n], name.n == 0))
        name.n++;
    rest->p += name.n;
    rest->n -= name.n;
    return name;
}

static void skip_blanks(hu_str *rest)
{
    while (rest->n && (rest->p[0] == ' ' || rest->p[0] == '\t')) {
        rest->p++;
        rest->n--;
    }
}

static bool cut_char(hu_str *rest, char c)
{
    if (rest->n == 0 || rest->p[0] != c)
        return false;
    rest->p++;
    rest->n--;
    return true;
}

/* A quoted value; what does not fit into `room` is cut off. */
static bool cut_quoted(hu_str *rest, char *out, size_t room)
{
    size_t n = 0;

    if (!cut_char(rest, '"'))
        return false;
    while (rest->n && rest->p[0] != '"') {
        char c = *rest->p++;

        rest->n--;
        if (c == '\\') {
            if (rest->n == 0)
                return false;
            c = *rest->p++;
            rest->n--;
            c = c == 'n' ? '\n' : c;
        }
        if (n + 1 < room)
            out[n++] = c;
    }
    out[n] = '\0';
    return cut_char(rest, '"');
}

/* The place of a key in a list with commas; HU_TOP_KEYS_MOST: it is not there. */
static size_t place_of(const char *keys, hu_str key)
{
    for (size_t i = 0; *keys && i < HU_TOP_KEYS_MOST; i++) {
        const size_t n = strcspn(keys, ",");

        if (hu_str_equal((hu_str){keys, n}, key))
            return i;
        keys += n + (keys[n] == ',');
    }
    return HU_TOP_KEYS_MOST;
}

/* `keys` NULL: of a series that nobody wants. */
static bool cut_labels(hu_str *rest, const char *keys, label_values *values)
{
    char unwanted[1];

    if (!cut_char(rest, '{'))
        return true;
    for (skip_blanks(rest); !cut_char(rest, '}'); skip_blanks(rest)) {
        const hu_str key = cut_name(rest);
        const size_t at = keys && key.n ? place_of(keys, key) : HU_TOP_KEYS_MOST;

        skip_blanks(rest);
        if (key.n == 0 || !cut_char(rest, '='))
            return false;
        skip_blanks(rest);
        if (!(at < HU_TOP_KEYS_MOST ? cut_quoted(rest, values->value[at], VALUE_ROOM)
                                    : cut_quoted(rest, unwanted, sizeof unwanted)))
            return false;
        skip_blanks(rest);
        if (!cut_char(rest, ',') && (rest->n == 0 || rest->p[0] != '}'))
            return false;
    }
    return true;
}

static bool take_line(hu_top_look *l, hu_str line, size_t *last)
{
    static const label_values none;
    const size_t              count = hu_top_series_count();
    const char               *labels[HU_TOP_KEYS_MOST];
    label_values              values;
    hu_str                    name, word;
    size_t                    series = *last;
    double                    value;

    skip_blanks(&line);
    if (line.n && line.p[line.n - 1] == '\r')
        line.n--;
    if (line.n == 0 || line.p[0] == '#')
        return true;
    name = cut_name(&line);
    if (name.n == 0)
        return false;
    /* lines of one series follow one another */
    if (series >= count || !hu_str_equal(hu_str_of(hu_top_series_name(series)), name))
        series = hu_top_series_find(name.p, name.n);
    if (series < count)
        memcpy(&values, &none, sizeof values);
    if (!cut_labels(&line, series < count ? hu_top_series_keys(series) : NULL, &values))
        return false;
    skip_blanks(&line);
    word = (hu_str){line.p, 0};
    while (word.n < line.n && line.p[word.n] != ' ' && line.p[word.n] != '\t')
        word.n++;
    if (word.n == 0)
        return false;
    if (series >= count || !hu_parse_f64(word, &value)) /* NaN and +Inf are no values that a look takes */
        return true;
    for (size_t i = 0; i < HU_TOP_KEYS_MOST; i++)
        labels[i] = values.value[i];
    hu_top_look_put(l, series, value, labels);
    *last = series;
    return true;
}

bool hu_top_text_take(hu_top_look *l, hu_str text, size_t *line)
{
    size_t last = 0;

    for (*line = 1; text.n; ++*line) {
        const char  *end = memchr(text.p, '\n', text.n);
        const size_t n = end ? (size_t)(end - text.p) : text.n;

        if (!end || !take_line(l, (hu_str){text.p, n}, &last))
            return false;
        text.p += n + 1;
        text.n -= n + 1;
    }
    return true;
}
