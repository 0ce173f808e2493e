/* SPDX-License-Identifier: Apache-2.0
 * log_time.c - "YYYY-MM-DD hh:mm:ss", with a fraction and a zone where they are there. */
#include "ingest/log_time.h"

#include <time.h>

#define SECOND INT64_C(1000000000)

enum { LOOKED_AT = 96, LENGTH = 19, FIRST_YEAR = 2000, LAST_YEAR = 2199 };

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* `n` digits; negative: others. */
static int digits(const char *p, size_t n)
{
    int value = 0;

    for (size_t i = 0; i < n; i++) {
        if (!is_digit(p[i]))
            return -1;
        value = 10 * value + (p[i] - '0');
    }
    return value;
}

/* By its shape alone: "dddd-dd-dd dd:dd:dd". */
static bool is_time(const char *p)
{
    return (p[4] == '-' || p[4] == '/') && p[7] == p[4] && (p[10] == ' ' || p[10] == 'T') && p[13] == ':' && p[16] == ':' &&
           is_digit(p[0]);
}

/* ",232" or ".232104" as ns; *at goes on behind it. */
static int64_t fraction(hu_str s, size_t *at)
{
    int64_t ns = 0, unit = 100000000;

    if (*at + 1 >= s.n || (s.p[*at] != '.' && s.p[*at] != ',') || !is_digit(s.p[*at + 1]))
        return 0;
    for (++*at; *at < s.n && is_digit(s.p[*at]); ++*at, unit /= 10)
        ns += unit * (s.p[*at] - '0');
    return ns;
}

/* "Z", "+08:00" or "+0800" in seconds east of Greenwich.  False: no zone. */
static bool zone(hu_str s, size_t at, int *seconds)
{
    const size_t colon = at + 3 < s.n && s.p[at + 3] == ':';
    int          hours, minutes;

    *seconds = 0;
    if (at < s.n && s.p[at] == 'Z')
        return true;
    if (at + 5 + colon > s.n || (s.p[at] != '+' && s.p[at] != '-'))
        return false;
    hours = digits(s.p + at + 1, 2);
    minutes = digits(s.p + at + 3 + colon, 2);
    if (hours < 0 || hours > 14 || minutes < 0 || minutes > 59)
        return false;
    *seconds = (s.p[at] == '-' ? -1 : 1) * (hours * 3600 + minutes * 60);
    return true;
}

static int64_t read_at(hu_str s, size_t at, bool *has_zone)
{
    const char *p = s.p + at;
    const int   year = digits(p, 4), month = digits(p + 5, 2), day = digits(p + 8, 2), hour = digits(p + 11, 2),
              minute = digits(p + 14, 2), second = digits(p + 17, 2);
    struct tm t = {
        .tm_year = year - 1900, .tm_mon = month - 1, .tm_mday = day, .tm_hour = hour, .tm_min = minute, .tm_sec = second};
    int64_t ns, seconds;
    int     east;

    if (year < FIRST_YEAR || year > LAST_YEAR || month < 1 || month > 12 || day < 1 || day > 31 || hour < 0 || hour > 23 ||
        minute < 0 || minute > 59 || second < 0 || second > 60)
        return 0;
    at += LENGTH;
    ns = fraction(s, &at);
    *has_zone = zone(s, at, &east);
    seconds = timegm(&t) - east;
    return seconds > 0 ? seconds * SECOND + ns : 0;
}

int64_t hu_log_time(hu_str line, bool *has_zone)
{
    for (size_t i = 0; i + LENGTH <= line.n && i < LOOKED_AT; i++)
        if (is_time(line.p + i))
            return read_at(line, i, has_zone);
    return 0;
}

int64_t hu_log_time_here(int64_t ns)
{
    const time_t at = (time_t)(ns / SECOND);
    struct tm    t;
    time_t       here;

    if (!gmtime_r(&at, &t))
        return ns;
    t.tm_isdst = -1;
    here = mktime(&t);
    return here > 0 ? here * SECOND + ns % SECOND : ns;
}
