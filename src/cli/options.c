/* SPDX-License-Identifier: Apache-2.0
 * options.c - a parser that knows nothing but the table. */
#include "cli/options.h"

#include <stdio.h>

#include "base/number.h"

enum { LONGEST_WORD = 40, CLOSE_ENOUGH = 3 };

static size_t least(size_t a, size_t b, size_t c)
{
    const size_t ab = a < b ? a : b;

    return ab < c ? ab : c;
}

/* Insertions, deletions and replacements from one word to the other; two letters swapped count as two. */
static size_t distance(const char *a, const char *b)
{
    size_t       row[LONGEST_WORD + 1];
    const size_t n = strlen(b);

    if (n > LONGEST_WORD || strlen(a) > LONGEST_WORD)
        return LONGEST_WORD;
    for (size_t j = 0; j <= n; j++)
        row[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t diagonal = row[0];

        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            const size_t above = row[j];

            row[j] = least(above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
            diagonal = above;
        }
    }
    return row[n];
}

/* The only word that begins so, or NULL. */
static const char *begun(const char *text, const char *const *words, size_t n)
{
    const char *found = NULL;

    for (size_t i = 0; i < n; i++) {
        if (strncmp(words[i], text, strlen(text)) != 0)
            continue;
        if (found)
            return NULL;
        found = words[i];
    }
    return found;
}

/* A short word has few letters that may be wrong: one of up to five, then two. */
const char *hu_options_suggest(const char *text, const char *const *words, size_t n)
{
    const size_t length = strlen(text);
    const char  *best = length > 1 ? begun(text, words, n) : NULL;
    size_t       best_distance = length < 6 ? 2 : CLOSE_ENOUGH;

    if (best)
        return best;
    for (size_t i = 0; i < n; i++) {
        const size_t d = distance(text, words[i]);

        if (d < best_distance && d < length) {
            best_distance = d;
            best = words[i];
        }
    }
    return best;
}

/* A letter that people try for an option that has none, or another. */
static const hu_option *find_lost(const hu_option_table *t, char letter)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->rows[i].lost_letter == letter)
            return &t->rows[i];
    return NULL;
}

static int unknown_letter(const hu_option_table *t, char letter, hu_error *err)
{
    const hu_option *o = find_lost(t, letter);

    if (o)
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "unknown option -%c; it is --%s%s%s here", letter, o->name,
                       o->argument ? " " : "", o->argument ? o->argument : "");
    return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "unknown option -%c; --help lists the options", letter);
}

static int unknown(const hu_option_table *t, const char *text, hu_error *err)
{
    const char *names[HU_OPTIONS_MOST], *near;
    size_t      n = 0;

    for (; n < t->n && n < HU_COUNT(names); n++)
        names[n] = t->rows[n].name;
    near = hu_options_suggest(text, names, n);
    if (near)
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "unknown option --%s; did you mean --%s?", text, near);
    return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "unknown option --%s; --help lists the options", text);
}

static int choose(const hu_option *o, const char *text, int *field, hu_error *err)
{
    char   list[256];
    size_t used = 0;

    for (int i = 0; o->choices[i]; i++) {
        if (strcmp(o->choices[i], text) == 0) {
            *field = i;
            return 0;
        }
    }
    for (int i = 0; o->choices[i] && used + strlen(o->choices[i]) + 3 < sizeof list; i++) {
        if (used) {
            memcpy(list + used, ", ", 2);
            used += 2;
        }
        memcpy(list + used, o->choices[i], strlen(o->choices[i]));
        used += strlen(o->choices[i]);
    }
    list[used] = '\0';
    return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "--%s needs one of %s, not \"%s\"", o->name, list, text);
}

/* "true" or "false", as nsys spells them. */
static bool is_truth(const char *text, bool *out)
{
    const bool is_true = strcmp(text, "true") == 0;

    if (!is_true && strcmp(text, "false") != 0)
        return false;
    *out = is_true;
    return true;
}

static int store_switch(const hu_option *o, const char *text, bool *field, hu_error *err)
{
    if (!is_truth(text, field))
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "--%s needs true or false, not \"%s\"", o->name, text);
    return 0;
}

/* A parser of several options does not know whose value it refuses: "soon" is not a time. */
static int parse_special(const hu_option *o, const char *text, void *field, hu_error *err)
{
    const int rc = o->parse(field, text, err);
    char      why[sizeof err->text];

    if (rc == 0 || err->text[0] != '"')
        return rc;
    snprintf(why, sizeof why, "%s", err->text);
    return hu_fail(err, rc, NULL, HU_NO_OFFSET, "--%s: %s", o->name, why);
}

static int store(const hu_option *o, const char *text, void *fields, hu_error *err)
{
    void *field = (char *)fields + o->offset;

    switch (o->type) {
    case HU_OPTION_FLAG:
        *(bool *)field = true;
        return 0;
    case HU_OPTION_SWITCH:
        return store_switch(o, text, field, err);
    case HU_OPTION_TEXT:
        if (!text[0] && (o->value == HU_VALUE_READ || o->value == HU_VALUE_WRITE || o->value == HU_VALUE_OUTPUT))
            return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "--%s needs the name of a file", o->name);
        if (strcmp(text, "-") == 0 && o->value == HU_VALUE_WRITE)
            return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET,
                           "--%s needs the name of a file: standard output is for the answer (./- is a file of that name)",
                           o->name);
        *(const char **)field = strcmp(text, "-") == 0 && o->value == HU_VALUE_OUTPUT ? NULL : text;
        return 0;
    case HU_OPTION_COUNT:
        if (!hu_parse_i64(hu_str_of(text), field) || *(int64_t *)field < 1)
            return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "--%s needs a whole number of at least 1, not \"%s\"",
                           o->name, text);
        return 0;
    case HU_OPTION_CHOICE:
        return choose(o, text, field, err);
    case HU_OPTION_SPECIAL:
    case HU_OPTION_MAYBE:
        return parse_special(o, text, field, err);
    }
    return 0;
}

static const hu_option *find_long(const hu_option_table *t, const char *name, size_t length)
{
    for (size_t i = 0; i < t->n; i++)
        if (strlen(t->rows[i].name) == length && memcmp(t->rows[i].name, name, length) == 0)
            return &t->rows[i];
    return NULL;
}

static const hu_option *find_short(const hu_option_table *t, char letter)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->rows[i].letter == letter)
            return &t->rows[i];
    return NULL;
}

static bool is_boolean(const hu_option *o)
{
    return o->type == HU_OPTION_FLAG || o->type == HU_OPTION_SWITCH;
}

/* "--no-NAME" of a flag; false: it is something else. */
static bool take_back(const hu_option_table *t, const char *text, size_t length)
{
    const hu_option *o = strncmp(text, "no-", 3) == 0 ? find_long(t, text + 3, length - 3) : NULL;

    if (!o || !is_boolean(o))
        return false;
    *(bool *)((char *)t->fields + o->offset) = false;
    t->given[o - t->rows] = false;
    return true;
}

/* An option with a value, which *i moves on to when it is the next argument; `glued` is what follows a letter or "=". */
static int take_value(const hu_option_table *t, const hu_option *o, const char *glued, int argc, char **argv, int *i,
                      hu_error *err)
{
    bool is_true = true;

    if (glued)
        return store(o, glued, t->fields, err);
    if (o->type == HU_OPTION_MAYBE)
        return store(o, "", t->fields, err);
    if (o->type == HU_OPTION_SWITCH) { /* a last word "true" is the command of that name */
        if (*i + 2 < argc && is_truth(argv[*i + 1], &is_true))
            ++*i;
        *(bool *)((char *)t->fields + o->offset) = is_true;
        return 0;
    }
    if (*i + 1 >= argc)
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "--%s needs a value: --%s %s", o->name, o->name, o->argument);
    return store(o, argv[++*i], t->fields, err);
}

/* One argument that begins with a dash; *i moves on when it takes its value from the next one. */
static int take(const hu_option_table *t, int argc, char **argv, int *i, hu_error *err)
{
    const bool       is_long = argv[*i][1] == '-';
    const char      *text = argv[*i] + 1 + is_long, *equals = is_long ? strchr(text, '=') : NULL, *glued;
    const size_t     length = equals ? (size_t)(equals - text) : strlen(text);
    const hu_option *found = is_long ? find_long(t, text, length) : find_short(t, text[0]);
    hu_option        o;

    if (!found && is_long && !equals && take_back(t, text, length))
        return 0;
    if (!found)
        return is_long ? unknown(t, text, err) : unknown_letter(t, text[0], err);
    o = *found;
    if (!is_long && o.parse_short)
        o.parse = o.parse_short;
    t->given[found - t->rows] = true;
    glued = equals ? equals + 1 : !is_long && text[1] ? text + 1 : NULL;
    if (o.type != HU_OPTION_FLAG)
        return take_value(t, &o, glued, argc, argv, i, err);
    if (glued)
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "--%s takes no value", o.name);
    return store(&o, NULL, t->fields, err);
}

int hu_options_parse(const hu_option_table *t, int argc, char **argv, hu_error *err)
{
    int left = 0;

    for (int i = 0; i < argc; i++) {
        if (strcmp(argv[i], "--") == 0) {
            while (++i < argc)
                argv[left++] = argv[i];
        } else if (argv[i][0] != '-' || argv[i][1] == '\0') {
            argv[left++] = argv[i];
        } else if (take(t, argc, argv, &i, err) < 0) {
            return err->code;
        }
    }
    return left;
}

int hu_options_parse_front(const hu_option_table *t, int argc, char **argv, hu_error *err)
{
    for (int i = 0; i < argc; i++) {
        if (strcmp(argv[i], "--") == 0)
            return i + 1;
        if (argv[i][0] != '-' || argv[i][1] == '\0')
            return i;
        if (take(t, argc, argv, &i, err) < 0)
            return err->code;
    }
    return argc;
}

int hu_options_seconds(int64_t *ns, const char *text, const char *least, int most, hu_error *err)
{
    enum { DIGITS_OF_NS = 9 };
    hu_str  s = hu_str_of(text);
    int64_t from, to;

    if (hu_str_ends(s, HU_STR("s")))
        s.n--;
    if (!hu_parse_scaled(hu_str_of(least), DIGITS_OF_NS, &from) || !hu_parse_scaled(s, DIGITS_OF_NS, &to) || to < from ||
        to > most * INT64_C(1000000000))
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "\"%s\" is not a number of seconds from %s to %d", text, least,
                       most);
    *ns = to;
    return 0;
}
