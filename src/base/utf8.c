/* SPDX-License-Identifier: Apache-2.0
 * utf8.c - the well-formed sequences of the Unicode Standard, table 3-7. */
#include "base/utf8.h"

#include <string.h>

uint32_t hu_utf8_next(hu_str *s)
{
    static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
    const unsigned char  *p = (const unsigned char *)s->p;
    size_t                more;
    uint32_t              code;

    if (p[0] < 0x80) {
        more = 0;
        code = p[0];
    } else if (p[0] >= 0xc2 && p[0] < 0xe0) {
        more = 1;
        code = p[0] & 0x1fu;
    } else if (p[0] >= 0xe0 && p[0] < 0xf0) {
        more = 2;
        code = p[0] & 0x0fu;
    } else if (p[0] >= 0xf0 && p[0] < 0xf5) {
        more = 3;
        code = p[0] & 0x07u;
    } else {
        goto bad;
    }
    if (s->n < more + 1)
        goto bad;
    for (size_t i = 1; i <= more; i++) {
        if ((p[i] & 0xc0) != 0x80)
            goto bad;
        code = code << 6 | (p[i] & 0x3fu);
    }
    if (code < least[more] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        goto bad;
    s->p += more + 1;
    s->n -= more + 1;
    return code;
bad:
    s->p++;
    s->n--;
    return HU_UTF8_BAD;
}

bool hu_utf8_is_valid(hu_str s)
{
    while (s.n) {
        uint64_t word;

        if (s.n >= sizeof word) {
            memcpy(&word, s.p, sizeof word);
            if (!(word & 0x8080808080808080u)) {
                s.p += sizeof word;
                s.n -= sizeof word;
                continue;
            }
        }
        if (hu_utf8_next(&s) == HU_UTF8_BAD)
            return false;
    }
    return true;
}

size_t hu_utf8_put(char out[4], uint32_t code)
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (char)(0xc0 | code >> 6);
        out[1] = (char)(0x80 | (code & 0x3f));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (char)(0xe0 | code >> 12);
        out[1] = (char)(0x80 | (code >> 6 & 0x3f));
        out[2] = (char)(0x80 | (code & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | code >> 18);
    out[1] = (char)(0x80 | (code >> 12 & 0x3f));
    out[2] = (char)(0x80 | (code >> 6 & 0x3f));
    out[3] = (char)(0x80 | (code & 0x3f));
    return 4;
}

bool hu_looks_like_text(hu_str head)
{
    enum { LOOKED_AT = 4096 };

    for (size_t i = 0; i < head.n && i < LOOKED_AT; i++)
        if ((unsigned char)head.p[i] < ' ' && !memchr("\b\t\n\r\f\x1b", head.p[i], 6))
            return false;
    return head.n > 0;
}
