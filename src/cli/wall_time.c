/* SPDX-License-Identifier: Apache-2.0
 * wall_time.c - digits at fixed places, and an offset. */
#include "cli/wall_time.h"

#include <time.h>

#include "base/number.h"

int64_t hu_wall_time_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static bool take_number(hu_str *s, size_t digits, int *out)
{
    *out = 0;
    if (s->n < digits)
        return false;
    for (size_t i = 0; i < digits; i++) {
        if (s->p[i] < '0' || s->p[i] > '9')
            return false;
        *out = *out * 10 + (s->p[i] - '0');
    }
    *s = (hu_str){s->p + digits, s->n - digits};
    return true;
}

static bool take_sign(hu_str *s, const char *signs, char *out)
{
    if (!s->n || !strchr(signs, s->p[0]))
        return false;
    *out = s->p[0];
    *s = (hu_str){s->p + 1, s->n - 1};
    return true;
}

/* ".5" in front of the zone, to ms. */
static bool take_fraction(hu_str *s, int64_t *ms)
{
    size_t  n = 1;
    int64_t value = 0;

    *ms = 0;
    if (!s->n || s->p[0] != '.')
        return true;
    while (n < s->n && s->p[n] >= '0' && s->p[n] <= '9')
        n++;
    if (n == 1 || !hu_parse_scaled((hu_str){s->p, n}, 3, &value))
        return false;
    *ms = value;
    *s = (hu_str){s->p + n, s->n - n};
    return true;
}

static bool parse_zone(hu_str s, int *seconds)
{
    char sign, colon;
    int  hours, minutes;

    *seconds = 0;
    if (!take_sign(&s, "Zz+-", &sign))
        return false;
    if (sign == 'Z' || sign == 'z')
        return s.n == 0;
    if (!take_number(&s, 2, &hours) || !take_sign(&s, ":", &colon) || !take_number(&s, 2, &minutes) || s.n || hours > 23 ||
        minutes > 59)
        return false;
    *seconds = (sign == '-' ? -1 : 1) * (hours * 3600 + minutes * 60);
    return true;
}

static bool parse_date(hu_str s, int64_t *out_ms)
{
    struct tm t = {0}, again;
    char      sign;
    int64_t   ms;
    time_t    seconds;
    int       zone;

    if (!take_number(&s, 4, &t.tm_year) || !take_sign(&s, "-", &sign) || !take_number(&s, 2, &t.tm_mon) ||
        !take_sign(&s, "-", &sign) || !take_number(&s, 2, &t.tm_mday) || !take_sign(&s, "Tt ", &sign) ||
        !take_number(&s, 2, &t.tm_hour) || !take_sign(&s, ":", &sign) || !take_number(&s, 2, &t.tm_min) ||
        !take_sign(&s, ":", &sign) || !take_number(&s, 2, &t.tm_sec) || !take_fraction(&s, &ms) || !parse_zone(s, &zone))
        return false;
    t.tm_year -= 1900;
    t.tm_mon -= 1;
    again = t;
    seconds = timegm(&again);
    if (again.tm_mon != t.tm_mon || again.tm_mday != t.tm_mday || again.tm_hour != t.tm_hour || again.tm_min != t.tm_min)
        return false; /* there is no 31st of February, and no 25th hour */
    *out_ms = ((int64_t)seconds - zone) * 1000 + ms;
    return true;
}

bool hu_wall_time_parse(const char *text, int64_t now_ms, int64_t *out_ms)
{
    hu_str  s = hu_str_of(text);
    int64_t value, factor = 1;

    if (s.n < 2 || s.p[0] != '+')
        return parse_date(s, out_ms);
    if (hu_str_ends(s, HU_STR("m")))
        factor = 60;
    if (hu_str_ends(s, HU_STR("m")) || hu_str_ends(s, HU_STR("s")))
        s.n--;
    if (!hu_parse_scaled((hu_str){s.p + 1, s.n - 1}, 3, &value) || value < 0 || value > INT64_MAX / 120)
        return false;
    *out_ms = now_ms + value * factor;
    return true;
}
