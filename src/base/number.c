/* SPDX-License-Identifier: Apache-2.0
 * number.c - why not strtod: a double holds absolute microseconds only to 0.25 µs, and strtod obeys the locale.
 */
#include "base/number.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    bool     negative;
    bool     has_fraction;
    bool     overflow; /* more than 19 significant digits: `digits` holds the first 19 */
    uint64_t digits;   /* all digits as one integer, the point ignored */
    int32_t  exponent; /* value = digits * 10^exponent */
} decimal;

static bool read_exponent(hu_str *s, int32_t *out)
{
    bool    negative = false;
    int32_t value = 0;

    if (s->n && (s->p[0] == '+' || s->p[0] == '-')) {
        negative = s->p[0] == '-';
        s->p++;
        s->n--;
    }
    if (!s->n)
        return false;
    for (; s->n; s->p++, s->n--) {
        if (s->p[0] < '0' || s->p[0] > '9')
            return false;
        if (value < 100000)
            value = value * 10 + (s->p[0] - '0');
    }
    *out = negative ? -value : value;
    return true;
}

static bool read_decimal(hu_str s, decimal *d)
{
    int  significant = 0;
    bool any = false;

    *d = (decimal){0};
    if (s.n && (s.p[0] == '-' || s.p[0] == '+')) {
        d->negative = s.p[0] == '-';
        s.p++;
        s.n--;
    }
    for (; s.n; s.p++, s.n--) {
        const char c = s.p[0];

        if (c == '.' && !d->has_fraction) {
            d->has_fraction = true;
            continue;
        }
        if (c < '0' || c > '9')
            break;
        any = true;
        if (significant < 19) {
            d->digits = d->digits * 10 + (uint64_t)(c - '0');
            significant += d->digits != 0;
            d->exponent -= d->has_fraction;
        } else {
            d->overflow |= c != '0';
            d->exponent += !d->has_fraction;
        }
    }
    if (!any)
        return false;
    if (s.n && (s.p[0] == 'e' || s.p[0] == 'E')) {
        int32_t e;

        s.p++;
        s.n--;
        if (!read_exponent(&s, &e))
            return false;
        d->exponent += e;
    }
    return s.n == 0;
}

bool hu_parse_u64(hu_str s, uint64_t *out)
{
    uint64_t value = 0;

    if (!s.n)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] < '0' || s.p[i] > '9' || __builtin_mul_overflow(value, 10u, &value) ||
            __builtin_add_overflow(value, (uint64_t)(s.p[i] - '0'), &value))
            return false;
    }
    *out = value;
    return true;
}

bool hu_parse_i64(hu_str s, int64_t *out)
{
    const bool negative = s.n && s.p[0] == '-';
    uint64_t   value;

    if (negative) {
        s.p++;
        s.n--;
    }
    if (!hu_parse_u64(s, &value) || value > (uint64_t)INT64_MAX + negative)
        return false;
    *out = negative ? (int64_t)(0 - value) : (int64_t)value;
    return true;
}

/* Those that a double holds exactly need no function. */
static double power_of_ten(int32_t n)
{
    static const double exact[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                   1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

    return n < (int32_t)HU_COUNT(exact) ? exact[n] : pow(10.0, n);
}

bool hu_parse_f64(hu_str s, double *out)
{
    decimal d;
    double  value;

    if (!read_decimal(s, &d))
        return false;
    value = (double)d.digits;
    if (d.exponent > 0)
        value *= power_of_ten(d.exponent);
    else if (d.exponent < 0)
        value /= power_of_ten(-d.exponent);
    if (!isfinite(value))
        return false;
    *out = d.negative ? -value : value;
    return true;
}

bool hu_parse_scaled(hu_str s, int power, int64_t *out)
{
    decimal  d;
    uint64_t value;
    int32_t  exponent;

    if (!read_decimal(s, &d))
        return false;
    value = d.digits;
    exponent = d.exponent + power;
    for (; exponent > 0 && value; exponent--)
        if (__builtin_mul_overflow(value, 10u, &value))
            return false;
    if (exponent < 0) {
        uint64_t divisor = 1;

        if (exponent < -19)
            value = 0;
        else {
            while (exponent++ < 0)
                if (__builtin_mul_overflow(divisor, 10u, &divisor))
                    divisor = UINT64_MAX;
            value = value / divisor + (value % divisor >= divisor - divisor / 2);
        }
    }
    if (value > INT64_MAX)
        return false;
    *out = d.negative ? -(int64_t)value : (int64_t)value;
    return true;
}

bool hu_parse_us_as_ns(hu_str s, int64_t *out_ns)
{
    return hu_parse_scaled(s, 3, out_ns);
}

size_t hu_format_u64(char *out, uint64_t value)
{
    char   digits[24];
    size_t n = 0;

    do {
        digits[n++] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    for (size_t i = 0; i < n; i++)
        out[i] = digits[n - 1 - i];
    out[n] = '\0';
    return n;
}

size_t hu_format_i64(char *out, int64_t value)
{
    if (value >= 0)
        return hu_format_u64(out, (uint64_t)value);
    out[0] = '-';
    return 1 + hu_format_u64(out + 1, 0 - (uint64_t)value);
}

size_t hu_format_fixed(char *out, double value, int decimals)
{
    static const uint64_t power[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000};
    const double          scaled = value < 0 ? -value : value;
    uint64_t              whole, fraction;
    double                rounded;
    size_t                n = 0;

    if (!isfinite(value)) {
        memcpy(out, "-", 2);
        return 1;
    }
    rounded = floor(scaled * (double)power[decimals] + 0.5);
    if (rounded >= 1.8e19) { /* beyond uint64: nobody reads the decimals of such a number */
        memcpy(out, value < 0 ? "-huge" : "huge", value < 0 ? 6 : 5);
        return value < 0 ? 5 : 4;
    }
    whole = (uint64_t)rounded / power[decimals];
    fraction = (uint64_t)rounded % power[decimals];
    if (value < 0 && rounded > 0)
        out[n++] = '-';
    n += hu_format_u64(out + n, whole);
    if (decimals > 0) {
        out[n++] = '.';
        for (int i = decimals - 1; i >= 0; i--)
            out[n++] = (char)('0' + fraction / power[i] % 10);
        out[n] = '\0';
    }
    return n;
}

static bool same(double a, double b, bool is_float)
{
    return is_float ? (float)a == (float)b : a == b;
}

/* `digits` with a point before the last `decimals` of them. */
static size_t format_scaled(char *out, uint64_t digits, int decimals)
{
    static const uint64_t power[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000};
    const int             first = decimals > 9 ? 9 : decimals;
    const uint64_t        high = digits / power[first];
    uint64_t              low = digits % power[first];
    size_t                n;

    if (decimals > first) { /* the rest of the decimals lie in `high` */
        n = format_scaled(out, high, decimals - first);
    } else {
        n = hu_format_u64(out, high);
        if (decimals)
            out[n++] = '.';
    }
    for (int i = first - 1; i >= 0; i--) {
        out[n++] = (char)('0' + low / power[i]);
        low %= power[i];
    }
    out[n] = '\0';
    return n;
}

size_t hu_format_f64(char *out, double value, bool is_float)
{
    enum { MOST_DECIMALS = 18 };
    static const double exact = 9007199254740992; /* 2^53: whole numbers up to here are doubles */
    const double        positive = fabs(value);
    const size_t        sign = value < 0 ? 1 : 0;
    double              scale = 1;
    int                 exponent;
    size_t              n;

    if (!isfinite(value))
        return hu_format_fixed(out, value, 0);
    out[0] = '-';
    for (int decimals = 0; decimals <= MOST_DECIMALS && positive * scale < exact; decimals++, scale *= 10)
        if (same(rint(positive * scale) / scale, positive, is_float))
            return sign + format_scaled(out + sign, (uint64_t)rint(positive * scale), decimals);
    exponent = (int)floor(log10(positive));
    n = hu_format_fixed(out, value / pow(10, exponent), 9);
    out[n++] = 'e';
    return n + hu_format_i64(out + n, exponent);
}

enum { DIGITS_EXACT = 15, DIGITS_MOST = 17 }; /* that a double keeps; that tell it from all others */

/*
 * Digits of a number without its point, and the power of ten of the first one.  printf's point, whatever it is, is passed
 * over, and the text is read back by a C locale, so that the host's plays no part.
 */
static int shortest_digits(double positive, char digits[DIGITS_MOST + 1], int *power)
{
    const locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    char           text[HU_NUMBER_BYTES];
    int            n = positive < DBL_MIN ? 1 : DIGITS_EXACT;

    for (;; n++) {
        const char *e;

        snprintf(text, sizeof text, "%.*e", n - 1, positive);
        if (n > 1)
            text[1] = '.';
        if (n == DIGITS_MOST || strtod_l(text, NULL, plain) == positive) {
            e = strchr(text, 'e');
            digits[0] = text[0];
            if (n > 1)
                memcpy(digits + 1, text + 2, (size_t)n - 1);
            *power = 0;
            for (const char *p = e + 2; *p; p++)
                *power = 10 * *power + (*p - '0');
            *power = e[1] == '-' ? -*power : *power;
            break;
        }
    }
    if (plain)
        freelocale(plain);
    while (n > 1 && digits[n - 1] == '0')
        n--;
    return n;
}

size_t hu_format_shortest(char *out, double value)
{
    enum { LEAST_POWER = -5, MOST_POWER = 17 }; /* in plain digits */
    char   digits[DIGITS_MOST + 1];
    size_t n = 0;
    int    count, power;

    if (!isfinite(value))
        return hu_format_fixed(out, value, 0);
    if (signbit(value))
        out[n++] = '-';
    if (value == 0) {
        out[n++] = '0';
        out[n] = '\0';
        return n;
    }
    count = shortest_digits(fabs(value), digits, &power);
    if (power < LEAST_POWER || power >= MOST_POWER) {
        out[n++] = digits[0];
        if (count > 1)
            out[n++] = '.';
        for (int i = 1; i < count; i++)
            out[n++] = digits[i];
        return n + (size_t)snprintf(out + n, HU_NUMBER_BYTES - n, "e%c%02d", power < 0 ? '-' : '+', abs(power));
    }
    if (power < 0) {
        out[n++] = '0';
        out[n++] = '.';
        for (int i = power + 1; i < 0; i++)
            out[n++] = '0';
    }
    for (int i = 0; i < count || i <= power; i++) {
        out[n++] = i < count ? digits[i] : '0';
        if (i == power && i + 1 < count)
            out[n++] = '.';
    }
    out[n] = '\0';
    return n;
}
