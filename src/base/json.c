/* SPDX-License-Identifier: Apache-2.0
 * json.c - every loop is bounded by the end of the text, so hostile input costs linear time and no stack. */
#include "base/json.h"

#include "base/utf8.h"

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static void skip_space(hu_json *j)
{
    while (j->p < j->end && is_space(*j->p))
        j->p++;
}

/* From the opening quote to behind the closing one. */
static bool skip_string(hu_json *j)
{
    for (j->p++; j->p < j->end; j->p++) {
        if (*j->p == '\\')
            j->p++;
        else if (*j->p == '"') {
            j->p++;
            return true;
        }
    }
    return false;
}

static bool skip_value(hu_json *j)
{
    size_t depth = 0;

    do {
        skip_space(j);
        if (j->p >= j->end)
            return false;
        switch (*j->p) {
        case '"':
            if (!skip_string(j))
                return false;
            break;
        case '{':
        case '[':
            depth++;
            j->p++;
            break;
        case '}':
        case ']':
            if (depth == 0)
                return false;
            depth--;
            j->p++;
            break;
        case ',':
        case ':':
            if (depth == 0)
                return false;
            j->p++;
            break;
        default:
            while (j->p < j->end && !memchr(",:[]{}\" \n\r\t", *j->p, 11))
                j->p++;
        }
    } while (depth);
    return true;
}

hu_json hu_json_enter(hu_str value)
{
    hu_json j = {value.p, value.n ? value.p + value.n : value.p, false}; /* NULL: of what is not there */

    skip_space(&j);
    if (j.p < j.end && (*j.p == '{' || *j.p == '['))
        j.p++;
    else
        j.p = j.end;
    return j;
}

/* Moves to the next item; false at the closing bracket or the end. */
static bool next_item(hu_json *j)
{
    skip_space(j);
    while (j->p < j->end && *j->p == ',') {
        j->p++;
        skip_space(j);
    }
    return j->p < j->end && *j->p != '}' && *j->p != ']';
}

static bool take_value(hu_json *j, hu_str *value)
{
    const char *from;

    skip_space(j);
    from = j->p;
    if (!skip_value(j)) {
        j->is_broken = true;
        j->p = j->end;
        return false;
    }
    *value = (hu_str){from, (size_t)((j->p < j->end ? j->p : j->end) - from)};
    return true;
}

bool hu_json_member(hu_json *j, hu_str *key, hu_str *value)
{
    const char *from;

    if (!next_item(j))
        return false;
    from = j->p;
    if (*from != '"' || !skip_string(j)) {
        j->is_broken = true;
        j->p = j->end;
        return false;
    }
    *key = (hu_str){from + 1, (size_t)(j->p - from) - 2};
    skip_space(j);
    if (j->p >= j->end || *j->p != ':') {
        j->is_broken = true;
        j->p = j->end;
        return false;
    }
    j->p++;
    return take_value(j, value);
}

bool hu_json_element(hu_json *j, hu_str *value)
{
    return next_item(j) && take_value(j, value);
}

hu_str hu_json_get(hu_str object, hu_str key)
{
    hu_json j = hu_json_enter(object);
    hu_str  name, value;

    while (hu_json_member(&j, &name, &value))
        if (hu_str_equal(name, key))
            return value;
    return (hu_str){NULL, 0};
}

hu_str hu_json_text(hu_arena *arena, hu_str value)
{
    uint64_t bad = 0;
    char    *out;

    if (value.n < 2 || value.p[0] != '"')
        return hu_arena_copy(arena, value);
    value.p++;
    value.n -= 2;
    out = hu_arena_alloc(arena, value.n + 1);
    if (!out)
        return (hu_str){NULL, 0};
    value.n = hu_json_unescape(value, out, &bad);
    out[value.n] = '\0';
    return (hu_str){out, value.n};
}

static bool read_hex4(hu_str s, uint32_t *out)
{
    uint32_t code = 0;

    if (s.n < 4)
        return false;
    for (size_t i = 0; i < 4; i++) {
        const char c = s.p[i];

        code <<= 4;
        if (c >= '0' && c <= '9')
            code |= (uint32_t)(c - '0');
        else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
            code |= (uint32_t)((c | 0x20) - 'a' + 10);
        else
            return false;
    }
    *out = code;
    return true;
}

/* raw.p is behind "\u"; returns how many bytes were used, 0 when they are no code point. */
static size_t read_unicode(hu_str raw, uint32_t *code, uint64_t *bad)
{
    uint32_t low;

    if (!read_hex4(raw, code))
        return 0;
    if (*code >= 0xd800 && *code < 0xdc00 && raw.n >= 10 && raw.p[4] == '\\' && raw.p[5] == 'u' &&
        read_hex4((hu_str){raw.p + 6, raw.n - 6}, &low) && low >= 0xdc00 && low < 0xe000) {
        *code = 0x10000 + ((*code - 0xd800) << 10) + (low - 0xdc00);
        return 10;
    }
    if (*code >= 0xd800 && *code < 0xe000) {
        *code = 0xfffd;
        ++*bad;
    }
    return 4;
}

size_t hu_json_unescape(hu_str raw, char *out, uint64_t *bad)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    size_t            n = 0;

    for (size_t i = 0; i < raw.n; i++) {
        const char *known;
        uint32_t    code;
        size_t      used;

        if (raw.p[i] != '\\' || i + 1 >= raw.n) {
            out[n++] = raw.p[i];
            continue;
        }
        i++;
        known = raw.p[i] ? strchr(from, raw.p[i]) : NULL;
        if (known) {
            out[n++] = to[known - from];
        } else if (raw.p[i] == 'u' && (used = read_unicode((hu_str){raw.p + i + 1, raw.n - i - 1}, &code, bad)) > 0) {
            n += hu_utf8_put(out + n, code);
            i += used;
        } else { /* Windows paths and regular expressions that nobody escaped */
            out[n++] = '\\';
            out[n++] = raw.p[i];
            ++*bad;
        }
    }
    return n;
}
