/* SPDX-License-Identifier: Apache-2.0
 * plain.c - the one table of columns speaks to programs by keys and to people by headings: here keys become headings. */
#include "render/table/plain.h"

#include <string.h>

static void put(hu_plain *out, hu_str s)
{
    const size_t room = sizeof out->t - out->n, n = s.n < room ? s.n : room;

    memcpy(out->t + out->n, s.p, n);
    out->n += n;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_of_word(char c)
{
    return is_letter(c) || (c >= '0' && c <= '9') || c == '_';
}

/* How much of it is one word. */
static size_t word_bytes(hu_str s)
{
    size_t n = 0;

    while (n < s.n && is_of_word(s.p[n]))
        n++;
    return n;
}

static bool has_letter(const char *text)
{
    for (; text && *text; text++)
        if (is_letter(*text))
            return true;
    return false;
}

/* A unit at the end of a key is said by each value, but for those whose values are bare numbers. */
static void put_key(hu_plain *out, hu_str key)
{
    static const struct {
        const char *end, *unit;
    } units[] = {{"_ns", ""}, {"_pct", " %"}, {"_gbps", " GB/s"}};
    hu_str unit = HU_STR("");

    for (size_t i = 0; i < HU_COUNT(units) && unit.n == 0; i++) {
        const size_t n = strlen(units[i].end);

        if (key.n <= n || memcmp(key.p + key.n - n, units[i].end, n) != 0)
            continue;
        key.n -= n;
        unit = hu_str_of(units[i].unit);
    }
    for (size_t i = 0; i < key.n; i++)
        put(out, key.p[i] == '_' ? HU_STR(" ") : (hu_str){key.p + i, 1});
    put(out, unit);
}

static void put_name(hu_plain *out, const hu_column *column)
{
    if (has_letter(column->head))
        put(out, hu_str_of(column->head));
    else
        put_key(out, hu_str_of(column->key));
}

hu_str hu_plain_name(hu_plain *out, const hu_column *column)
{
    out->n = 0;
    put_name(out, column);
    return (hu_str){out->t, out->n};
}

static const hu_column *find(const hu_column *columns, size_t n, hu_str key)
{
    for (size_t i = 0; i < n; i++)
        if (columns[i].key && hu_str_equal(hu_str_of(columns[i].key), key))
            return &columns[i];
    return NULL;
}

/* In the column's own table, then among the facts, then in the other tables. */
static const hu_column *find_near(const hu_view *view, const hu_table *table, hu_str key)
{
    const hu_column *found = table ? find(table->columns, table->n_columns, key) : NULL;

    found = found ? found : find(view->facts, view->n_facts, key);
    for (size_t t = 0; t < view->n_tables && !found; t++)
        found = find(view->tables[t]->columns, view->tables[t]->n_columns, key);
    return found;
}

static void put_word(hu_plain *out, const hu_view *view, const hu_table *table, const hu_column *column, hu_str word)
{
    const bool       is_key = memchr(word.p, '_', word.n) != NULL; /* others are words of the language, too */
    const hu_column *named = is_key ? find_near(view, table, word) : NULL;

    if (named) {
        put(out, HU_STR("“"));
        put_name(out, named);
        put(out, HU_STR("”"));
    } else if (hu_str_equal(word, HU_STR("null")))
        put(out, HU_STR("–"));
    else
        put(out, hu_plain_value(column, word));
}

hu_str hu_plain_help(hu_plain *out, const hu_view *view, const hu_table *table, const hu_column *column)
{
    hu_str rest = hu_str_of(column->help);

    out->n = 0;
    while (rest.n) {
        const size_t n = word_bytes(rest), step = n ? n : 1;

        if (n)
            put_word(out, view, table, column, (hu_str){rest.p, n});
        else
            put(out, (hu_str){rest.p, 1});
        rest = (hu_str){rest.p + step, rest.n - step};
    }
    return (hu_str){out->t, out->n};
}

hu_str hu_plain_value(const hu_column *column, hu_str value)
{
    for (const hu_term *t = column->terms; t && t->key; t++)
        if (hu_str_equal(hu_str_of(t->key), value))
            return hu_str_of(t->words);
    return value;
}
