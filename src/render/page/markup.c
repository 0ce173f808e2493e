/* SPDX-License-Identifier: Apache-2.0
 * markup.c - the four characters that markup is made of, and those that nobody sees. */
#include "render/page/markup.h"

#include "base/utf8.h"

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
