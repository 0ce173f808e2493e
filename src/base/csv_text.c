/* SPDX-License-Identifier: Apache-2.0
 * csv_text.c - RFC 4180; a spreadsheet takes a cell that begins with = + - or @ for a formula, so a text that does gets an
 * apostrophe in front, which spreadsheets hide.
 */
#include "base/csv_text.h"

#include "base/utf8.h"

static bool is_formula(hu_str s)
{
    return s.n && memchr("=+-@\t\r", s.p[0], 6) != NULL;
}

/* Bytes at the front that stand for themselves between quotes. */
static size_t plain_run(hu_str s)
{
    size_t n = 0;

    while (n < s.n && s.p[n] > 0 && s.p[n] != '"')
        n++;
    return n;
}

static void write_quoted(hu_out *out, hu_str s)
{
    hu_out_text(out, is_formula(s) ? "\"'" : "\"");
    while (s.n) {
        const size_t plain = plain_run(s);
        char         bytes[4];
        uint32_t     c;

        hu_out_write(out, s.p, plain);
        s.p += plain;
        s.n -= plain;
        if (s.n == 0)
            break;
        c = hu_utf8_next(&s);
        if (c == HU_UTF8_BAD || c == 0)
            hu_out_text(out, "\xef\xbf\xbd");
        else if (c == '"')
            hu_out_text(out, "\"\"");
        else
            hu_out_write(out, bytes, hu_utf8_put(bytes, c));
    }
    hu_out_text(out, "\"");
}

void hu_csv_text(hu_out *out, hu_str s)
{
    bool is_quoted = is_formula(s);

    for (size_t i = 0; i < s.n && !is_quoted; i++)
        is_quoted = s.p[i] == ',' || s.p[i] == '"' || s.p[i] == '\n' || s.p[i] == '\r';
    if (!is_quoted && hu_utf8_is_valid(s) && !(s.n && memchr(s.p, '\0', s.n))) {
        hu_out_str(out, s);
        return;
    }
    write_quoted(out, s);
}
