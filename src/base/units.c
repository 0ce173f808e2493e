/* SPDX-License-Identifier: Apache-2.0
 * units.c - one place for rounding, so that text and page agree. */
#include "base/units.h"

#include <math.h>

#include "base/number.h"
#include "base/utf8.h"

#define MINUS "\xe2\x88\x92"

/* hu_format_fixed with the true minus that sentences have. */
static size_t fixed(char *out, double value, int decimals)
{
    size_t n = hu_format_fixed(out, value, decimals);

    if (out[0] != '-' || !isfinite(value))
        return n;
    memmove(out + sizeof MINUS - 1, out + 1, n);
    memcpy(out, MINUS, sizeof MINUS - 1);
    return n + sizeof MINUS - 2;
}

static size_t join(char *out, double value, int decimals, const char *unit)
{
    size_t n = fixed(out, value, decimals);

    memcpy(out + n, unit, strlen(unit) + 1);
    return n + strlen(unit);
}

static int decimals_for(double value)
{
    return value < 9.995 ? 2 : value < 999.95 ? 1 : 0;
}

static size_t absent(char *out)
{
    memcpy(out, "–", sizeof "–");
    return sizeof "–" - 1;
}

size_t hu_units_time(char *out, double ns)
{
    const double size = fabs(ns);

    if (isnan(ns))
        return absent(out);
    if (size < 999.5)
        return join(out, ns, 0, " ns");
    if (size < 999.95e3)
        return join(out, ns / 1e3, decimals_for(size / 1e3), " µs");
    if (size < 999.95e6)
        return join(out, ns / 1e6, decimals_for(size / 1e6), " ms");
    return join(out, ns / 1e9, decimals_for(size / 1e9), " s");
}

size_t hu_units_bytes(char *out, double bytes)
{
    static const char *const units[] = {" B", " kB", " MB", " GB", " TB", " PB"};
    size_t                   i = 0;

    if (isnan(bytes))
        return absent(out);
    while (fabs(bytes) >= 999.95 && i + 1 < HU_COUNT(units)) {
        bytes /= 1000;
        i++;
    }
    return join(out, bytes, i == 0 ? 0 : decimals_for(fabs(bytes)), units[i]);
}

size_t hu_units_count(char *out, int64_t value)
{
    char   digits[HU_NUMBER_BYTES];
    size_t n = hu_format_i64(digits, value), to = 0, first = digits[0] == '-';

    for (size_t i = 0; i < n; i++) {
        if (i > first && (n - i) % 3 == 0)
            out[to++] = ',';
        out[to++] = digits[i];
    }
    out[to] = '\0';
    return to;
}

size_t hu_units_short_count(char *out, double value)
{
    static const char *const units[] = {"", "k", "M", "G", "T", "P"};
    size_t                   i = 0;

    while (fabs(value) >= 999.5 && i + 1 < HU_COUNT(units)) {
        value /= 1000;
        i++;
    }
    return join(out, value, fabs(value) < 9.95 && i ? 1 : 0, units[i]);
}

size_t hu_units_percent(char *out, double share)
{
    return isnan(share) ? absent(out) : fixed(out, 100 * share, 1);
}

size_t hu_units_number(char *out, double value)
{
    static const char tiny[] = "<0.01", tiny_below[] = ">" MINUS "0.01";

    if (isnan(value))
        return absent(out);
    if (value == 0 || fabs(value) >= 0.005)
        return fixed(out, value, value != floor(value) && fabs(value) < 100 ? 2 : 0);
    memcpy(out, value > 0 ? tiny : tiny_below, value > 0 ? sizeof tiny : sizeof tiny_below);
    return strlen(out);
}

size_t hu_units_width(hu_str s)
{
    size_t width = 0;

    for (; s.n; width++)
        hu_utf8_next(&s);
    return width;
}

/* Characters that move, reorder or hide other text. */
static bool is_unsafe(uint32_t c)
{
    return c == HU_UTF8_BAD || c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x200b && c <= 0x200f) ||
           (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c == 0xfeff;
}

size_t hu_units_clip(hu_out *out, hu_str s, size_t width)
{
    const size_t whole = hu_units_width(s);
    const size_t keep = whole <= width ? whole : width ? width - 1 : 0;
    char         bytes[4];

    for (size_t i = 0; i < keep; i++) {
        const uint32_t c = hu_utf8_next(&s);

        hu_out_write(out, bytes, hu_utf8_put(bytes, is_unsafe(c) ? 0xfffd : c));
    }
    if (keep == whole || width == 0)
        return keep;
    hu_out_text(out, "…");
    return keep + 1;
}

size_t hu_units_clip_file(hu_out *out, hu_str s, size_t width)
{
    const char  *mark = s.n ? memmem(s.p, s.n, "#pid=", 5) : NULL;
    const hu_str tail = mark ? (hu_str){mark, (size_t)(s.p + s.n - mark)} : HU_STR("");

    if (!tail.n || hu_units_width(s) <= width || 2 * tail.n > width)
        return hu_units_clip(out, s, width);
    return hu_units_clip(out, (hu_str){s.p, (size_t)(mark - s.p)}, width - tail.n) + hu_units_clip(out, tail, tail.n);
}

/* Does a unit begin the text, which belongs to the number before it?  What follows may be punctuation. */
static bool is_unit(hu_str s)
{
    static const char *const units[] = {"%",   "ns",  "µs",  "ms",   "s",    "B",       "kB", "MB", "GB", "TB",  "PB",
                                        "KiB", "MiB", "GiB", "GB/s", "MB/s", "TFLOP/s", "W",  "J",  "kJ", "kWh", "MHz"};

    for (size_t i = 0; i < HU_COUNT(units); i++) {
        const size_t n = strlen(units[i]);

        if (hu_str_starts_with(s, units[i]) && (s.n == n || strchr(" .,;:)\"", s.p[n])))
            return true;
    }
    return false;
}

/* To the next blank; a number goes with its unit. */
static size_t word_length(hu_str s)
{
    const char  *blank = memchr(s.p, ' ', s.n), *next;
    const size_t n = blank ? (size_t)(blank - s.p) : s.n;
    const hu_str rest = {s.p + n + 1, blank ? s.n - n - 1 : 0};

    if (n == 0 || s.p[n - 1] < '0' || s.p[n - 1] > '9' || !is_unit(rest))
        return n;
    next = memchr(rest.p, ' ', rest.n);
    return next ? (size_t)(next - s.p) : s.n;
}

/* No word is longer than `most`. */
static void wrap(hu_out *out, hu_str s, size_t column, size_t indent, size_t width, size_t most)
{
    bool is_first = true;

    while (s.n) {
        const hu_str word = {s.p, word_length(s)};

        s = word.n < s.n ? (hu_str){s.p + word.n + 1, s.n - word.n - 1} : (hu_str){s.p + s.n, 0};
        if (word.n == 0)
            continue;
        if (!is_first && column + 1 + hu_units_width(word) > width) {
            hu_out_printf(out, "\n%*s", (int)indent, "");
            column = indent;
        } else if (!is_first) {
            hu_out_text(out, " ");
            column++;
        }
        column += hu_units_clip(out, word, most);
        is_first = false;
    }
}

void hu_units_wrap(hu_out *out, hu_str s, size_t column, size_t indent, size_t width)
{
    wrap(out, s, column, indent, width, width > indent ? width - indent : 1);
}

void hu_units_wrap_whole(hu_out *out, hu_str s, size_t column, size_t indent, size_t width)
{
    wrap(out, s, column, indent, width, SIZE_MAX);
}

void hu_units_paragraph(hu_out *out, const char *text, size_t indent, size_t width)
{
    hu_units_wrap(out, hu_str_of(text), indent, indent, width);
    hu_out_text(out, "\n");
}

void hu_units_right(hu_out *out, const char *text, size_t width)
{
    for (size_t have = hu_units_width(hu_str_of(text)); have < width; have++)
        hu_out_text(out, " ");
    hu_out_text(out, text);
}
