/* SPDX-License-Identifier: Apache-2.0
 * glob.c - only the last star needs a way back: what an earlier one took can stay as short as it was. */
#include "base/glob.h"

bool hu_glob_match(hu_str pattern, hu_str text)
{
    size_t p = 0, t = 0, star = SIZE_MAX, from = 0;

    while (t < text.n) {
        if (p < pattern.n && pattern.p[p] == '*') {
            star = p++;
            from = t;
        } else if (p < pattern.n && (pattern.p[p] == '?' || pattern.p[p] == text.p[t])) {
            p++;
            t++;
        } else if (star != SIZE_MAX) {
            p = star + 1;
            t = ++from;
        } else {
            return false;
        }
    }
    while (p < pattern.n && pattern.p[p] == '*')
        p++;
    return p == pattern.n;
}
