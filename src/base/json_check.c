/* SPDX-License-Identifier: Apache-2.0
 * json_check.c - the grammar of RFC 8259, one bit of memory for each level: inside an object, or inside an array. */
#include "base/json_check.h"

#include "base/utf8.h"

typedef struct {
    const char *p, *end;
} cursor;

static void skip_blanks(cursor *c)
{
    while (c->p < c->end && (*c->p == ' ' || *c->p == '\n' || *c->p == '\r' || *c->p == '\t'))
        c->p++;
}

static bool take(cursor *c, char want)
{
    if (c->p == c->end || *c->p != want)
        return false;
    c->p++;
    return true;
}

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* Behind a backslash. */
static bool take_escape(cursor *c)
{
    if (c->p == c->end)
        return false;
    if (*c->p != 'u')
        return memchr("\"\\/bfnrt", *c->p++, 8) != NULL;
    c->p++;
    for (int i = 0; i < 4; i++, c->p++)
        if (c->p == c->end || !is_hex(*c->p))
            return false;
    return true;
}

static bool take_string(cursor *c)
{
    if (!take(c, '"'))
        return false;
    while (c->p < c->end) {
        const unsigned char at = (unsigned char)*c->p++;

        if (at == '"')
            return true;
        if (at < 0x20 || (at == '\\' && !take_escape(c)))
            return false;
    }
    return false;
}

static bool take_digits(cursor *c)
{
    const char *from = c->p;

    while (c->p < c->end && *c->p >= '0' && *c->p <= '9')
        c->p++;
    return c->p > from;
}

static bool take_number(cursor *c)
{
    take(c, '-');
    if (!take(c, '0') && !take_digits(c))
        return false;
    if (take(c, '.') && !take_digits(c))
        return false;
    if (take(c, 'e') || take(c, 'E')) {
        if (!take(c, '+'))
            take(c, '-');
        return take_digits(c);
    }
    return true;
}

static bool take_word(cursor *c, hu_str word)
{
    if ((size_t)(c->end - c->p) < word.n || memcmp(c->p, word.p, word.n) != 0)
        return false;
    c->p += word.n;
    return true;
}

static bool take_scalar(cursor *c)
{
    if (c->p < c->end && *c->p == '"')
        return take_string(c);
    return take_word(c, HU_STR("true")) || take_word(c, HU_STR("false")) || take_word(c, HU_STR("null")) || take_number(c);
}

/* The name of a member and its colon. */
static bool take_key(cursor *c)
{
    skip_blanks(c);
    if (!take_string(c))
        return false;
    skip_blanks(c);
    return take(c, ':');
}

/* Behind a value: closes what ends here.  False when it is neither an end nor followed by another value. */
static bool take_ends(cursor *c, uint64_t is_object, int *depth)
{
    while (*depth) {
        const bool inside_object = is_object >> (*depth - 1) & 1;

        skip_blanks(c);
        if (take(c, ','))
            return !inside_object || take_key(c);
        if (!take(c, inside_object ? '}' : ']'))
            return false;
        --*depth;
    }
    return true;
}

bool hu_json_is_value(hu_str text)
{
    cursor   c = {text.p, text.p + text.n};
    uint64_t is_object = 0;
    int      depth = 0;

    if (!hu_utf8_is_valid(text))
        return false;
    do {
        skip_blanks(&c);
        if (c.p < c.end && (*c.p == '[' || *c.p == '{')) {
            const bool opens_object = *c.p++ == '{';

            if (depth == HU_JSON_DEEPEST)
                return false;
            is_object = (is_object & ~(UINT64_C(1) << depth)) | (uint64_t)opens_object << depth;
            depth++;
            skip_blanks(&c);
            if (c.p < c.end && *c.p != (opens_object ? '}' : ']')) {
                if (opens_object && !take_key(&c))
                    return false;
                continue;
            }
        } else if (!take_scalar(&c)) {
            return false;
        }
        if (!take_ends(&c, is_object, &depth))
            return false;
    } while (depth);
    skip_blanks(&c);
    return c.p == c.end;
}
