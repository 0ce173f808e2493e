/* SPDX-License-Identifier: Apache-2.0
 * negotiate.c - lists of words with parameters: "a/b;version=1;q=0.5, c/d". */
#include "monitor/serve/negotiate.h"

#include <strings.h>

#include "base/str.h"

enum { FULL_WEIGHT = 1000 };

/* Takes what stands before the next `mark` off the front of *s; false at the end. */
static bool next(hu_str *s, char mark, hu_str *out)
{
    const char *end = s->n ? memchr(s->p, mark, s->n) : NULL;

    if (!s->p)
        return false;
    *out = hu_str_trim((hu_str){s->p, end ? (size_t)(end - s->p) : s->n});
    *s = end ? (hu_str){end + 1, s->n - (size_t)(end + 1 - s->p)} : (hu_str){NULL, 0};
    return true;
}

static bool is_word(hu_str s, const char *word)
{
    return s.n == strlen(word) && strncasecmp(s.p, word, s.n) == 0;
}

/* The value of "name=value", which may stand in quotes; false: it is another one. */
static bool is_parameter(hu_str s, const char *name, hu_str *value)
{
    const size_t n = strlen(name);

    if (s.n <= n || strncasecmp(s.p, name, n) != 0 || s.p[n] != '=')
        return false;
    *value = hu_str_trim((hu_str){s.p + n + 1, s.n - n - 1});
    if (value->n >= 2 && value->p[0] == '"' && value->p[value->n - 1] == '"')
        *value = (hu_str){value->p + 1, value->n - 2};
    return true;
}

/* "0.75" in thousandths: at most three decimals; what is no weight is none. */
static int weight_of(hu_str s)
{
    int weight = 0, worth = FULL_WEIGHT;

    for (size_t i = 0; i < s.n; i++) {
        if (i == 1 && s.p[i] == '.')
            continue;
        if (s.p[i] < '0' || s.p[i] > '9' || worth == 0)
            return 0;
        weight += worth * (s.p[i] - '0');
        worth /= 10;
    }
    return s.n && weight <= FULL_WEIGHT ? weight : 0;
}

typedef struct {
    hu_str name, version;
    int    weight;
} wanted;

static bool next_wanted(hu_str *list, wanted *out)
{
    hu_str item, part, value;

    if (!next(list, ',', &item))
        return false;
    *out = (wanted){.weight = FULL_WEIGHT};
    next(&item, ';', &out->name);
    while (next(&item, ';', &part)) {
        if (is_parameter(part, "q", &value))
            out->weight = weight_of(value);
        else if (is_parameter(part, "version", &value))
            out->version = value;
    }
    return true;
}

hu_text_format hu_negotiate_format(const char *accept)
{
    hu_str list = hu_str_of(accept);
    int    open = 0, plain = 0;
    wanted w;

    while (next_wanted(&list, &w)) {
        if (is_word(w.name, "application/openmetrics-text")) {
            if ((w.version.n == 0 || is_word(w.version, "1.0.0")) && w.weight > open)
                open = w.weight;
        } else if (is_word(w.name, "text/plain") || is_word(w.name, "text/*") || is_word(w.name, "*/*")) {
            if (w.weight > plain)
                plain = w.weight;
        }
    }
    return open > 0 && open >= plain ? HU_TEXT_OPENMETRICS : HU_TEXT_PROMETHEUS;
}

bool hu_negotiate_gzip(const char *accept_encoding)
{
    hu_str list = hu_str_of(accept_encoding);
    wanted w;

    while (next_wanted(&list, &w))
        if (is_word(w.name, "gzip") || is_word(w.name, "x-gzip"))
            return w.weight > 0;
    return false;
}
