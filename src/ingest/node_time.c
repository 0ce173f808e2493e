/* SPDX-License-Identifier: Apache-2.0
 * node_time.c - digits by digits: strptime would take what is no time of a monitor. */
#include "ingest/node_time.h"

#include <ctype.h>
#include <time.h>

#include "base/number.h"

enum { SECONDS_DIGITS = 10 };

/* `n` digits and, behind them, one of `ends` ("" nothing is taken); *at goes on behind.  Negative: something else. */
static int take_digits(hu_str s, size_t *at, size_t n, const char *ends)
{
    int value = 0;

    for (size_t i = 0; i < n; i++) {
        if (*at >= s.n || !isdigit((unsigned char)s.p[*at]))
            return -1;
        value = 10 * value + (s.p[(*at)++] - '0');
    }
    if (!*ends)
        return value;
    return *at < s.n && strchr(ends, s.p[(*at)++]) ? value : -1;
}

/* ".123" as ns; 0 without. */
static int64_t take_fraction(hu_str s, size_t *at)
{
    int64_t ns = 0, unit = 100000000;

    if (*at >= s.n || s.p[*at] != '.')
        return 0;
    for (++*at; *at < s.n && isdigit((unsigned char)s.p[*at]); ++*at, unit /= 10)
        ns += unit * (s.p[*at] - '0');
    return ns;
}

static int64_t with_ns(int64_t seconds, int64_t ns)
{
    return seconds > 0 && seconds < INT64_MAX / 1000000000 ? seconds * 1000000000 + ns : 0;
}

static bool is_clock(const struct tm *t)
{
    return t->tm_year >= 100 && t->tm_mon >= 0 && t->tm_mday >= 1 && t->tm_hour >= 0 && t->tm_min >= 0 && t->tm_sec >= 0;
}

/* "2024/05/01 12:00:00.123" with or without a zone, and "20240501 12:00:00" of dmon. */
static int64_t read_numbers(hu_str s)
{
    size_t    at = 0;
    struct tm t = {.tm_isdst = -1};
    int64_t   ns;

    t.tm_year = take_digits(s, &at, 4, "") - 1900;
    if (at < s.n && (s.p[at] == '/' || s.p[at] == '-')) {
        at++;
        t.tm_mon = take_digits(s, &at, 2, "/-") - 1;
    } else {
        t.tm_mon = take_digits(s, &at, 2, "") - 1;
    }
    t.tm_mday = take_digits(s, &at, 2, " T");
    while (at < s.n && s.p[at] == ' ')
        at++;
    t.tm_hour = take_digits(s, &at, 2, ":");
    t.tm_min = take_digits(s, &at, 2, ":");
    t.tm_sec = take_digits(s, &at, 2, "");
    if (!is_clock(&t))
        return 0;
    ns = take_fraction(s, &at);
    if (at == s.n)
        return with_ns(mktime(&t), ns);
    if (s.p[at] == 'Z' && at + 1 == s.n)
        return with_ns(timegm(&t), ns);
    if (s.p[at] == '+' || s.p[at] == '-') {
        const int sign = s.p[at++] == '-' ? -1 : 1, hours = take_digits(s, &at, 2, ":"),
                  minutes = take_digits(s, &at, 2, "");

        return hours < 0 || minutes < 0 || at != s.n ? 0 : with_ns(timegm(&t) - sign * (hours * 3600 + minutes * 60), ns);
    }
    return 0;
}

static hu_str next_word(hu_str s, size_t *at)
{
    size_t from;

    while (*at < s.n && s.p[*at] == ' ')
        ++*at;
    for (from = *at; *at < s.n && s.p[*at] != ' '; ++*at)
        continue;
    return (hu_str){s.p + from, *at - from};
}

/* "Fri Jul  3 22:11:09 2026", with "UTC" or "PM UTC" before the year as `date` writes it; other zones say too little. */
static int64_t read_words(hu_str s)
{
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    struct tm         t = {.tm_isdst = -1, .tm_mon = -1};
    size_t            at = 0, clock = 0;
    hu_str            word, zone = {0};
    int64_t           day, year;

    if (next_word(s, &at).n != 3)
        return 0;
    word = next_word(s, &at);
    for (int m = 0; m < 12 && word.n == 3; m++)
        if (memcmp(word.p, months + 3 * m, 3) == 0)
            t.tm_mon = m;
    if (t.tm_mon < 0 || !hu_parse_i64(next_word(s, &at), &day) || day < 1 || day > 31)
        return 0;
    word = next_word(s, &at);
    t.tm_mday = (int)day;
    t.tm_hour = take_digits(word, &clock, 2, ":");
    t.tm_min = take_digits(word, &clock, 2, ":");
    t.tm_sec = take_digits(word, &clock, 2, "");
    word = next_word(s, &at);
    if (hu_str_equal(word, HU_STR("AM")) || hu_str_equal(word, HU_STR("PM"))) {
        if (t.tm_hour < 1 || t.tm_hour > 12)
            return 0;
        t.tm_hour = t.tm_hour % 12 + (word.p[0] == 'P' ? 12 : 0);
        word = next_word(s, &at);
    }
    if (word.n == 3 && isalpha((unsigned char)word.p[0])) {
        zone = word;
        word = next_word(s, &at);
    }
    if (clock != 8 || !hu_parse_i64(word, &year) || year < 2000 || year > 9999 || at != s.n)
        return 0;
    t.tm_year = (int)year - 1900;
    if (!is_clock(&t) || (zone.n && !hu_str_equal(zone, HU_STR("UTC")) && !hu_str_equal(zone, HU_STR("GMT"))))
        return 0;
    return with_ns(zone.n ? timegm(&t) : mktime(&t), 0);
}

int64_t hu_node_time(hu_str s)
{
    size_t  digits = 0;
    int64_t ns;

    s = hu_str_trim(s);
    if (s.n && isalpha((unsigned char)s.p[0]))
        return read_words(s);
    while (digits < s.n && isdigit((unsigned char)s.p[digits]))
        digits++;
    if (digits == SECONDS_DIGITS && (digits == s.n || s.p[digits] == '.'))
        return hu_parse_scaled(s, 9, &ns) && ns > 0 ? ns : 0;
    return read_numbers(s);
}
