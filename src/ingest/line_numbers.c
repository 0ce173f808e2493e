/* SPDX-License-Identifier: Apache-2.0
 * line_numbers.c - a number belongs to the key before it, or to the unit behind it; what sticks to it may make it none. */
#include "ingest/line_numbers.h"

#include <math.h>

#include "base/number.h"

enum { DIGITS = 40 };

/* Digits with commas between thousands, a point and an exponent; how many bytes it has.  0: none. */
size_t hu_line_number_from(hu_str line, size_t from, double *out)
{
    char   digits[DIGITS];
    size_t n = 0, i = from;

    for (; i < line.n && n + 1 < sizeof digits; i++) {
        const char c = line.p[i];
        const bool is_exponent = (c == 'e' || c == 'E') && n && i + 1 < line.n &&
                                 (isdigit((unsigned char)line.p[i + 1]) || line.p[i + 1] == '-' || line.p[i + 1] == '+');
        const bool is_sign = (c == '-' || c == '+') && n && (digits[n - 1] == 'e' || digits[n - 1] == 'E');
        const bool is_thousand = c == ',' && n && i + 3 < line.n && isdigit((unsigned char)line.p[i + 1]) &&
                                 isdigit((unsigned char)line.p[i + 2]) && isdigit((unsigned char)line.p[i + 3]);

        if (is_thousand)
            continue;
        if (!isdigit((unsigned char)c) && c != '.' && !is_exponent && !is_sign)
            break;
        digits[n++] = c;
    }
    while (n && digits[n - 1] == '.') { /* the end of a sentence */
        n--;
        i--;
    }
    return n && isdigit((unsigned char)digits[0]) && hu_parse_f64((hu_str){digits, n}, out) && isfinite(*out) ? i - from : 0;
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Where a key (in lower case) stands as a word of its own from `from` on, and *end behind it.  False: nowhere. */
bool hu_line_find(hu_str line, size_t from, const char *key, size_t *end)
{
    const size_t n = strlen(key);
    const char   upper = key[0] >= 'a' && key[0] <= 'z' ? (char)(key[0] - 'a' + 'A') : key[0];

    for (size_t i = from; i + n <= line.n; i++) {
        size_t k = 1;

        if (line.p[i] != key[0] && line.p[i] != upper) /* nearly always: keys are many, and lines long */
            continue;
        if (i && hu_line_is_word(line.p[i - 1]) && hu_line_is_word(key[0]))
            continue;
        while (k < n && lower(line.p[i + k]) == key[k])
            k++;
        if (k < n || (i + n < line.n && hu_line_is_word(line.p[i + n]) && hu_line_is_word(key[n - 1])))
            continue;
        *end = i + n;
        return true;
    }
    return false;
}

size_t hu_line_skip(hu_str line, size_t at, const char *what)
{
    while (at < line.n && strchr(what, line.p[at]) && line.p[at])
        at++;
    return at;
}

/* The number behind a key, and *at where it begins, *end where it ends. */
bool hu_line_number_behind(hu_str line, const char *key, double *out, size_t *end)
{
    size_t from = 0, n;

    while (hu_line_find(line, from, key, &from)) {
        const size_t at = hu_line_skip(line, from, " \t:=#");

        n = hu_line_number_from(line, at, out);
        if (n) {
            *end = at + n;
            return true;
        }
    }
    return false;
}

size_t hu_line_number_at(hu_str text, double *out)
{
    const size_t from = hu_line_skip(text, 0, " ");
    const size_t n = hu_line_number_from(text, from, out);

    return n ? from + n : 0;
}

bool hu_line_quoted(hu_str line, const char *key, double *out)
{
    size_t from = 0;

    while (hu_line_find(line, from, key, &from))
        if (hu_line_number_from(line, hu_line_skip(line, from, " \t:='\""), out))
            return true;
    return false;
}

bool hu_line_number(hu_str line, const char *key, double *out)
{
    size_t end;

    return hu_line_number_behind(line, key, out, &end);
}

/* A count with what sticks to it ("1.73M", "1.21K", "3.5k"); NaN: that is no prefix. */
static double count_of(hu_str line, double number, size_t end)
{
    static const char   letters[] = "kKmMgGbB";
    static const double factors[] = {1e3, 1e6, 1e9, 1e9};
    const char         *at = end < line.n && line.p[end] ? strchr(letters, line.p[end]) : NULL;

    if (end == line.n || !isalpha((unsigned char)line.p[end]))
        return end < line.n && line.p[end] == '%' ? (double)NAN : number;
    return at && (end + 1 == line.n || !hu_line_is_word(line.p[end + 1])) ? number * factors[(at - letters) / 2]
                                                                          : (double)NAN;
}

/* Does a word without digits, or what ends in : or =, end at `end`? */
static bool has_key_before(hu_str line, size_t end)
{
    size_t from = end;

    while (from && line.p[from - 1] != ' ')
        from--;
    if (strchr(":=", line.p[end - 1]))
        return true;
    for (; from < end; from++)
        if (!isalpha((unsigned char)line.p[from]) && line.p[from] != '_')
            return false;
    return true;
}

/*
 * A rate behind its unit ("tok/s: 1,518") or before it ("171547 tok/s 42.6% MFU").  Where there is a number on both sides,
 * the one before is meant if no key stands in front of it.
 */
static bool rate_around(hu_str line, const char *key, double *out)
{
    size_t end = 0, from, at, behind, n;
    double before;

    while (hu_line_find(line, end, key, &end)) {
        const size_t start = end - strlen(key);

        from = at = start;
        while (at && line.p[at - 1] == ' ')
            at--;
        for (from = at; from && (isdigit((unsigned char)line.p[from - 1]) || strchr(".,", line.p[from - 1])); from--)
            continue;
        while (from < at && !isdigit((unsigned char)line.p[from]))
            from++;
        behind = hu_line_skip(line, end, " \t:=#");
        n = behind < line.n ? hu_line_number_from(line, behind, out) : 0;
        if (n)
            *out = count_of(line, *out, behind + n);
        else
            behind = 0;
        if (from < at && hu_line_number_from(line, from, &before) == at - from &&
            (!from || strchr(" \t(|,:=", line.p[from - 1]))) {
            while (from && line.p[from - 1] == ' ')
                from--;
            if (!behind || (memchr(line.p + end, ' ', behind - end) && !memchr(line.p + end, ':', behind - end) &&
                            !memchr(line.p + end, '=', behind - end) && from && !has_key_before(line, from))) {
                *out = before;
                return true;
            }
        }
        if (behind)
            return true;
    }
    return false;
}

double hu_line_rate(hu_str line, const char *const *keys)
{
    double value;

    for (; *keys; keys++)
        if (rate_around(line, *keys, &value))
            return value;
    return NAN;
}

double hu_line_count(hu_str line, const char *const *keys)
{
    double value;
    size_t end;

    for (; *keys; keys++)
        if (hu_line_number_behind(line, *keys, &value, &end))
            return count_of(line, value, end);
    return NAN;
}

/* The seconds of a unit; NaN: it is none. */
double hu_line_unit(hu_str word)
{
    static const struct {
        const char *word;
        double      seconds;
    } units[] = {
        {"ns", 1e-9},
        {"nanosecond", 1e-9},
        {"nanoseconds", 1e-9},
        {"us", 1e-6},
        {"usec", 1e-6},
        {"usecs", 1e-6},
        {"microsecond", 1e-6},
        {"microseconds", 1e-6},
        {"ms", 1e-3},
        {"msec", 1e-3},
        {"msecs", 1e-3},
        {"millis", 1e-3},
        {"millisecond", 1e-3},
        {"milliseconds", 1e-3},
        {"s", 1},
        {"sec", 1},
        {"secs", 1},
        {"second", 1},
        {"seconds", 1},
        {"min", 60},
        {"mins", 60},
        {"minute", 60},
        {"minutes", 60},
        {"h", 3600},
        {"hr", 3600},
        {"hrs", 3600},
        {"hour", 3600},
        {"hours", 3600},
        {"\xc2\xb5s", 1e-6},
        {"\xce\xbcs", 1e-6},
    };

    for (size_t i = 0; i < HU_COUNT(units); i++) {
        size_t k = 0;

        while (k < word.n && units[i].word[k] == lower(word.p[k]))
            k++;
        if (k == word.n && units[i].word[k] == '\0')
            return units[i].seconds;
    }
    return NAN;
}

/*
 * A time with its unit behind it ("345.1ms", "0.35 s"), or in `unit` seconds.  What sticks to the number and is no unit
 * makes it none: "1h2m3s", "1.21K", "2024-05-01"; a word behind a blank may be the next key ("0.35 min: 0.31").  NaN: none.
 */
double hu_line_seconds_at(hu_str line, double number, size_t end, double unit, bool *has_unit)
{
    const size_t at = hu_line_skip(line, end, " ");
    size_t       to = at;
    double       factor;

    while (to < line.n && (isalpha((unsigned char)line.p[to]) || (unsigned char)line.p[to] >= 0x80))
        to++;
    factor = hu_line_unit((hu_str){line.p + at, to - at});
    *has_unit = false;
    if (at == end && to == at)
        return to < line.n && strchr("-:/%_", line.p[to]) && line.p[to] ? (double)NAN : number * unit;
    if (isnan(factor) || (to < line.n && (hu_line_is_word(line.p[to]) || line.p[to] == '/')))
        return at == end ? (double)NAN : number * unit;
    if (at > end) { /* a key, or one in front of its number: cannot tell */
        const size_t next = hu_line_skip(line, to, " ");

        if (next < line.n && strchr(":=", line.p[next]) && line.p[next])
            return number * unit;
        if (next > to && next < line.n && isdigit((unsigned char)line.p[next]))
            return NAN;
    }
    *has_unit = true;
    return number * factor;
}

double hu_line_time(hu_str line, double number, size_t end, bool *is_bare)
{
    bool         has_unit;
    const double seconds = hu_line_seconds_at(line, number, end, 1, &has_unit);

    *is_bare = !has_unit;
    return seconds;
}

hu_str hu_line_behind(hu_str line, const char *text)
{
    const size_t n = strlen(text);
    const char  *at = line.n >= n ? memmem(line.p, line.n, text, n) : NULL;

    return at ? (hu_str){at + n, (size_t)(line.p + line.n - at) - n} : (hu_str){line.p, 0};
}
