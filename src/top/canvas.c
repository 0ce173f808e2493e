/* SPDX-License-Identifier: Apache-2.0
 * canvas.c - characters at places. */
#include "top/canvas.h"

#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "base/utf8.h"

enum { REPLACEMENT = 0xfffd, ELLIPSIS = 0x2026, DASH = 0x2013, MICRO = 0xb5, BLOCK_FIRST = 0x2581, BLOCK_LAST = 0x2588 };
enum { ASCII_FIRST = 0x20, ASCII_LAST = 0x7e };

bool hu_top_canvas_clear(hu_top_canvas *c, int width, int height)
{
    const size_t n = width > 0 && height > 0 ? (size_t)width * (size_t)height : 0;

    if (n > c->room) {
        hu_top_cell *more = realloc(c->cell, n * sizeof *more);

        if (!more) {
            c->width = c->height = 0;
            return false;
        }
        c->cell = more;
        c->room = n;
    }
    c->width = n ? width : 0;
    c->height = n ? height : 0;
    for (size_t i = 0; i < n; i++)
        c->cell[i] = (hu_top_cell){.code = ' '};
    return true;
}

void hu_top_canvas_free(hu_top_canvas *c)
{
    free(c->cell);
    memset(c, 0, sizeof *c);
}

/* A character that takes one column; others become U+FFFD: controls, marks that combine, directions, wide ones. */
static uint32_t next_code(hu_str *s)
{
    const uint32_t code = hu_utf8_next(s);

    if (code >= ASCII_FIRST && code <= ASCII_LAST)
        return code;
    if (code == HU_UTF8_BAD || code < 0xa0 || (code >= 0xd800 && code <= 0xdfff))
        return REPLACEMENT;
    if (code == ELLIPSIS || code == DASH || code == MICRO || (code >= BLOCK_FIRST && code <= BLOCK_LAST))
        return code; /* ours, also where the locale knows no such character */
    return wcwidth((wchar_t)code) == 1 ? code : REPLACEMENT;
}

int hu_top_width(const char *text)
{
    hu_str s = hu_str_of(text);
    int    n = 0;

    for (; s.n; n++)
        (void)next_code(&s);
    return n;
}

static void put_code(hu_top_canvas *c, int y, int x, hu_top_tone tone, uint32_t code)
{
    if (y < 0 || x < 0 || y >= c->height || x >= c->width)
        return;
    c->cell[y * c->width + x].code = code;
    c->cell[y * c->width + x].tone = (uint8_t)tone;
}

int hu_top_put(hu_top_canvas *c, int y, int x, int width, hu_top_tone tone, const char *text)
{
    hu_str s = hu_str_of(text);
    int    n = 0;

    for (; s.n && n < width; n++) {
        const uint32_t code = next_code(&s);

        put_code(c, y, x + n, tone, n == width - 1 && s.n ? ELLIPSIS : code);
    }
    return n;
}

void hu_top_put_right(hu_top_canvas *c, int y, int x, int width, hu_top_tone tone, const char *text)
{
    const int n = hu_top_width(text);

    if (n >= width)
        hu_top_put(c, y, x, width, tone, text);
    else
        hu_top_put(c, y, x + width - n, n, tone, text);
}

void hu_top_select_line(hu_top_canvas *c, int y)
{
    for (int x = 0; y >= 0 && y < c->height && x < c->width; x++)
        c->cell[y * c->width + x].is_selected = true;
}

char hu_top_ascii(uint32_t code)
{
    static const char blocks[] = "_.-=+*##";

    if (code >= ASCII_FIRST && code <= ASCII_LAST)
        return (char)code;
    if (code >= BLOCK_FIRST && code <= BLOCK_LAST)
        return blocks[code - BLOCK_FIRST];
    return code == DASH ? '-' : code == ELLIPSIS ? '~' : code == MICRO ? 'u' : '?';
}

void hu_top_canvas_write(const hu_top_canvas *c, int y, hu_out *out)
{
    int last = -1;

    if (y < 0 || y >= c->height)
        return;
    for (int x = 0; x < c->width; x++)
        if (c->cell[y * c->width + x].code != ' ')
            last = x;
    for (int x = 0; x <= last; x++) {
        const uint32_t code = c->cell[y * c->width + x].code;
        char           bytes[4];

        if (c->has_utf8) {
            hu_out_write(out, bytes, hu_utf8_put(bytes, code));
        } else {
            bytes[0] = hu_top_ascii(code);
            hu_out_write(out, bytes, 1);
        }
    }
}
