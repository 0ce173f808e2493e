/* SPDX-License-Identifier: Apache-2.0
 * markup.c - the four characters that markup is made of, and those that nobody sees. */
#include "render/page/markup.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

enum { SAY_BYTES = 512 };

void hu_markup_text(hu_out *out, hu_str s)
{
    while (s.n) {
        char           bytes[4];
        const uint32_t c = hu_utf8_next(&s);

        switch (c) {
        case '&':
            hu_out_text(out, "&amp;");
            break;
        case '<':
            hu_out_text(out, "&lt;");
            break;
        case '>':
            hu_out_text(out, "&gt;");
            break;
        case '"':
            hu_out_text(out, "&quot;");
            break;
        default:
            if (c == HU_UTF8_BAD || c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x200b && c <= 0x200f) ||
                (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069))
                hu_out_text(out, "\xef\xbf\xbd");
            else
                hu_out_write(out, bytes, hu_utf8_put(bytes, c));
        }
    }
}

/* How long the unit is that it begins with: "s" is one, "sec" is not; 0: none. */
static size_t unit_bytes(hu_str s)
{
    static const char *const units[] = {"%",  "ns",  "\xc2\xb5s", "ms",  "s", "B", "kB", "MB",  "GB",      "TB",
                                        "PB", "KiB", "MiB",       "GiB", "W", "J", "kJ", "kWh", "TFLOP/s", "MHz"};

    for (size_t i = 0; i < HU_COUNT(units); i++) {
        const size_t n = strlen(units[i]);
        const char   behind = s.n > n ? s.p[n] : ' ';

        if (s.n >= n && memcmp(s.p, units[i], n) == 0 && !(behind >= 'a' && behind <= 'z') &&
            !(behind >= 'A' && behind <= 'Z') && !(behind >= '0' && behind <= '9'))
            return n;
    }
    return 0;
}

/* Where the number begins that ends before `at`, with its sign. */
static size_t number_start(hu_str s, size_t from, size_t at)
{
    static const char minus[] = "\xe2\x88\x92";
    const size_t      n = sizeof minus - 1;

    while (at > from && ((s.p[at - 1] >= '0' && s.p[at - 1] <= '9') || s.p[at - 1] == '.' || s.p[at - 1] == ','))
        at--;
    return at >= from + n && memcmp(s.p + at - n, minus, n) == 0 ? at - n : at;
}

/* `write` gets the pieces of the text. */
static void bind(hu_out *out, hu_str s, void (*write)(hu_out *out, hu_str piece))
{
    size_t from = 0;

    for (size_t i = 1; i + 1 < s.n; i++) {
        const bool   is_behind_digit = s.p[i] == ' ' && s.p[i - 1] >= '0' && s.p[i - 1] <= '9';
        const size_t unit = is_behind_digit ? unit_bytes((hu_str){s.p + i + 1, s.n - i - 1}) : 0;
        const size_t start = unit ? number_start(s, from, i) : 0;

        if (!unit)
            continue;
        write(out, (hu_str){s.p + from, start - from});
        hu_out_text(out, "<n-u>");
        hu_out_write(out, s.p + start, i + 1 + unit - start);
        hu_out_text(out, "</n-u>");
        from = i + 1 + unit;
    }
    write(out, (hu_str){s.p + from, s.n - from});
}

static void write_raw(hu_out *out, hu_str piece)
{
    hu_out_write(out, piece.p, piece.n);
}

void hu_markup_sentence(hu_out *out, hu_str s)
{
    bind(out, s, hu_markup_text);
}

void hu_markup_say(hu_out *out, const char *format, ...)
{
    char    text[SAY_BYTES];
    va_list arguments;
    int     n;

    va_start(arguments, format);
    n = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (n > 0)
        bind(out, (hu_str){text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1}, write_raw);
}
