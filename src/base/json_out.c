/* SPDX-License-Identifier: Apache-2.0
 * json_out.c - two spaces of indent, one member per line, so that two reports can be compared with diff; or one line. */
#include "base/json_out.h"

#include <math.h>

#include "base/utf8.h"

/* Bytes at the front that stand for themselves. */
static size_t plain_run(hu_str s)
{
    size_t n = 0;

    while (n < s.n && s.p[n] >= 0x20 && s.p[n] < 0x7f && s.p[n] != '"' && s.p[n] != '\\')
        n++;
    return n;
}

void hu_json_quote(hu_out *out, hu_str s)
{
    hu_out_text(out, "\"");
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
        if (c == '"' || c == '\\')
            hu_out_printf(out, "\\%c", (int)c);
        else if (c == HU_UTF8_BAD)
            hu_out_text(out, "\xef\xbf\xbd");
        else if (c < 0x20 || c == 0x7f || c == 0x2028 || c == 0x2029)
            hu_out_printf(out, "\\u%04x", (unsigned)c);
        else
            hu_out_write(out, bytes, hu_utf8_put(bytes, c));
    }
    hu_out_text(out, "\"");
}

static void new_line(hu_json_out *j)
{
    if (j->is_line)
        return;
    hu_out_text(j->out, "\n");
    for (int i = 0; i < j->depth; i++)
        hu_out_text(j->out, "  ");
}

static void begin(hu_json_out *j, const char *key)
{
    if (!j->is_empty)
        hu_out_text(j->out, ",");
    if (j->depth)
        new_line(j);
    j->is_empty = false;
    if (key) {
        hu_json_quote(j->out, hu_str_of(key));
        hu_out_text(j->out, ": ");
    }
}

void hu_json_open(hu_json_out *j, const char *key, char bracket)
{
    begin(j, key);
    hu_out_write(j->out, &bracket, 1);
    j->depth++;
    j->is_empty = true;
}

void hu_json_close(hu_json_out *j, char bracket)
{
    j->depth--;
    if (!j->is_empty)
        new_line(j);
    hu_out_write(j->out, &bracket, 1);
    j->is_empty = false;
    if (j->depth == 0)
        hu_out_text(j->out, "\n");
}

void hu_json_str(hu_json_out *j, const char *key, hu_str value)
{
    begin(j, key);
    hu_json_quote(j->out, value);
}

void hu_json_int(hu_json_out *j, const char *key, int64_t value)
{
    begin(j, key);
    hu_out_i64(j->out, value);
}

void hu_json_fixed(hu_json_out *j, const char *key, double value, int decimals)
{
    if (!isfinite(value) || fabs(value) > 1e15) {
        hu_json_null(j, key);
        return;
    }
    begin(j, key);
    hu_out_fixed(j->out, value, fabs(value) > 1e9 ? 0 : decimals);
}

void hu_json_ns(hu_json_out *j, const char *key, double value)
{
    if (isfinite(value) && fabs(value) < 9e18)
        hu_json_int(j, key, (int64_t)llround(value));
    else
        hu_json_null(j, key);
}

void hu_json_digits(hu_json_out *j, const char *key, const char *number)
{
    begin(j, key);
    hu_out_text(j->out, number);
}

void hu_json_bool(hu_json_out *j, const char *key, bool value)
{
    begin(j, key);
    hu_out_text(j->out, value ? "true" : "false");
}

void hu_json_null(hu_json_out *j, const char *key)
{
    begin(j, key);
    hu_out_text(j->out, "null");
}

void hu_json_unread(hu_json_out *j, const char *key, const hu_unread_list *list)
{
    hu_json_open(j, key, '[');
    for (size_t i = 0; i < list->n; i++) {
        hu_json_open(j, NULL, '{');
        hu_json_str(j, "file", list->at[i].file);
        hu_json_str(j, "error", list->at[i].error);
        hu_json_close(j, '}');
    }
    hu_json_close(j, ']');
}
