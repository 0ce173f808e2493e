/* SPDX-License-Identifier: Apache-2.0
 * mount_word.c - a backslash with three octal digits behind it is a byte; any other one is itself. */
#include "base/mount_word.h"

static bool is_octal(char c)
{
    return c >= '0' && c <= '7';
}

bool hu_mount_word(hu_str word, char *out, size_t room)
{
    size_t n = 0;

    for (size_t i = 0; i < word.n; n++) {
        const char *c = word.p + i;
        const bool  is_code = c[0] == '\\' && i + 3 < word.n && is_octal(c[1]) && is_octal(c[2]) && is_octal(c[3]);

        if (n + 1 >= room)
            return false;
        out[n] = is_code ? (char)((c[1] - '0') << 6 | (c[2] - '0') << 3 | (c[3] - '0')) : c[0];
        i += is_code ? 4 : 1;
    }
    if (n >= room)
        return false;
    out[n] = '\0';
    return true;
}
