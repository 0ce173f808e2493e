/* SPDX-License-Identifier: Apache-2.0
 * str.h - a pointer and a length; the text behind it is never expected to end in a NUL. */
#ifndef HU_BASE_STR_H
#define HU_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

typedef struct {
    const char *p;
    size_t      n;
} hu_str;

#define HU_STR(literal) ((hu_str){(literal), sizeof(literal) - 1})
#define HU_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* For printf's "%.*s". */
#define HU_FMT(s) (int)((s).n > 4096 ? 4096 : (s).n), (s).p

static inline hu_str hu_str_of(const char *text)
{
    return (hu_str){text, text ? strlen(text) : 0};
}

static inline bool hu_str_equal(hu_str a, hu_str b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

static inline bool hu_str_starts(hu_str s, hu_str prefix)
{
    return s.n >= prefix.n && (prefix.n == 0 || (s.p[0] == prefix.p[0] && memcmp(s.p, prefix.p, prefix.n) == 0));
}

/* The same, of a text that ends in a NUL: most lists of prefixes differ from a name in the first byte. */
static inline bool hu_str_starts_with(hu_str s, const char *prefix)
{
    size_t k = 0;

    while (k < s.n && prefix[k] && s.p[k] == prefix[k])
        k++;
    return prefix[k] == '\0';
}

static inline bool hu_str_ends(hu_str s, hu_str suffix)
{
    return s.n >= suffix.n && memcmp(s.p + s.n - suffix.n, suffix.p, suffix.n) == 0;
}

/* memmem() fills a table before it looks, which takes longer than to look through a name: it is left to what has many
   false starts. */
static inline bool hu_str_has(hu_str s, hu_str part)
{
    const char *p = s.p, *end;

    if (part.n == 0)
        return true;
    if (!s.p || s.n < part.n)
        return false;
    end = s.p + s.n; /* of a text that is there */
    for (unsigned starts = 0; starts < 32; starts++, p++) {
        if ((size_t)(end - p) < part.n || !(p = memchr(p, part.p[0], (size_t)(end - p) - part.n + 1)))
            return false;
        if (memcmp(p, part.p, part.n) == 0)
            return true;
    }
    return memmem(p, (size_t)(end - p), part.p, part.n) != NULL;
}

/* Without blanks and tabs around it, nor the end of a line of Windows. */
static inline hu_str hu_str_trim(hu_str s)
{
    while (s.n && (s.p[0] == ' ' || s.p[0] == '\t'))
        s = (hu_str){s.p + 1, s.n - 1};
    while (s.n && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t' || s.p[s.n - 1] == '\r'))
        s.n--;
    return s;
}

/* What stands behind the last slash. */
static inline hu_str hu_str_base_name(hu_str path)
{
    const char *slash = path.n ? memrchr(path.p, '/', path.n) : NULL;

    return slash ? (hu_str){slash + 1, (size_t)(path.p + path.n - slash) - 1} : path;
}

static inline char hu_char_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

static inline bool hu_char_is_letter(char c)
{
    return hu_char_lower(c) >= 'a' && hu_char_lower(c) <= 'z';
}

/* Begins s with `part`, capitals of ASCII read as small letters?  `part` is in lower case. */
static inline bool hu_str_starts_lower(hu_str s, hu_str part)
{
    size_t k = 0;

    while (k < part.n && k < s.n && hu_char_lower(s.p[k]) == part.p[k])
        k++;
    return k == part.n;
}

/* The same, anywhere in s. */
static inline bool hu_str_has_lower(hu_str s, hu_str part)
{
    for (size_t i = 0; i + part.n <= s.n; i++)
        if (hu_str_starts_lower((hu_str){s.p + i, s.n - i}, part))
            return true;
    return false;
}

/* The same, and no letter stands on either side of it: "Forward 3" has the word forward, "straightforward" has not. */
static inline bool hu_str_has_word(hu_str s, hu_str word)
{
    for (size_t i = 0; i + word.n <= s.n; i++) {
        size_t k = 0;

        if (i && hu_char_is_letter(s.p[i - 1]))
            continue;
        while (k < word.n && hu_char_lower(s.p[i + k]) == word.p[k])
            k++;
        if (k == word.n && (i + k == s.n || !hu_char_is_letter(s.p[i + k])))
            return true;
    }
    return false;
}

/* Bytes in lexical order; a shorter string comes before its extension. */
static inline int hu_str_compare(hu_str a, hu_str b)
{
    const size_t n = a.n < b.n ? a.n : b.n;
    const int    c = n ? memcmp(a.p, b.p, n) : 0;

    return c ? c : (a.n > b.n) - (a.n < b.n);
}

#endif
