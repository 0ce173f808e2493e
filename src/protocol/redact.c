/* SPDX-License-Identifier: Apache-2.0
 * redact.c - reads a text from left to right; where a name, an option or a token says that a secret follows, leaves it out.
 *
 * Shells inside of shells, addresses, headers and JSON all come down to the same few forms: NAME=value, NAME: value,
 * --name value, with or without quotes.  So nothing here parses a language.  In doubt more is left out, not less.
 */
#include "protocol/redact.h"

#include <string.h>

#include "protocol/secrets.h"
#include "base/banned.h"

_Static_assert(HU_COUNT(hu_secret_options) <= 32, "hu_redactor.options has a bit for each");

/* characters; those of ASCII alone: a locale says nothing about secrets */

static bool is_letter(char c)
{
    return hu_char_is_letter(c);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_capital(char c)
{
    return c >= 'A' && c <= 'Z';
}

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r') || c == '\0';
}

static bool is_quote(char c)
{
    return c == '"' || c == '\'' || c == '`';
}

/* Of a name: also of options and of headers. */
static bool is_name(char c)
{
    return is_letter(c) || is_digit(c) || c == '_' || c == '-' || c == '.';
}

static bool same_letter(char a, char b)
{
    return hu_char_lower(a) == hu_char_lower(b);
}

static bool equals(hu_str s, const char *word)
{
    size_t i = 0;

    while (i < s.n && word[i] && same_letter(s.p[i], word[i]))
        i++;
    return i == s.n && !word[i];
}

/* Is the word in a list " A B "? */
static bool is_in(hu_str word, const char *list)
{
    while (word.n && *list) {
        const char  *begin = list + 1, *end = strchr(begin, ' ');
        const hu_str one = {begin, end ? (size_t)(end - begin) : 0};
        size_t       i = 0;

        while (i < one.n && i < word.n && same_letter(one.p[i], word.p[i]))
            i++;
        if (one.n && i == one.n && i == word.n)
            return true;
        list = end ? end : "";
    }
    return false;
}

static hu_str part(hu_str s, size_t from, size_t to)
{
    return (hu_str){s.p + from, to - from};
}

/* names */

/* The word that begins at `at` or behind it; it ends at what is no letter, and before a capital behind a small letter. */
static hu_str next_word(hu_str name, size_t at)
{
    size_t n = 1;

    while (at < name.n && !is_letter(name.p[at]))
        at++;
    if (at >= name.n)
        return (hu_str){name.p + name.n, 0};
    while (at + n < name.n && is_letter(name.p[at + n]) && (is_capital(name.p[at + n - 1]) || !is_capital(name.p[at + n])))
        n++;
    return (hu_str){name.p + at, n};
}

static bool matches(const hu_secret_word *row, hu_str word)
{
    const size_t n = strlen(row->word);

    if (word.n < n || word.n < row->least)
        return false;
    switch (row->match) {
    case HU_WORD_WHOLE:
        return equals(word, row->word);
    case HU_WORD_END:
    case HU_WORD_COUNT:
        return equals(part(word, word.n - n, word.n), row->word);
    case HU_WORD_PART:
        for (size_t i = 0; i + n <= word.n; i++)
            if (equals(part(word, i, i + n), row->word))
                return true;
    }
    return false;
}

typedef enum { PLAIN, COUNT, WEAK, STRONG } suspicion; /* COUNT: weak, and no number */

static suspicion judge_word(hu_str before, hu_str word, hu_str after)
{
    if (is_in(word, HU_INNOCENT_WORDS))
        return PLAIN;
    for (size_t i = 0; i < HU_COUNT(hu_secret_words); i++) {
        const hu_secret_word *row = &hu_secret_words[i];

        if (!matches(row, word))
            continue;
        if (!row->before)
            return STRONG;
        if (is_in(before, HU_GUILTY_WORDS) || (!is_in(before, row->before) && !is_in(after, row->after)))
            return row->match == HU_WORD_COUNT ? COUNT : WEAK;
    }
    return PLAIN;
}

static suspicion judge(hu_str name)
{
    hu_str    before = {name.p, 0}, word = next_word(name, 0);
    suspicion worst = PLAIN;

    while (word.n) {
        const hu_str    after = next_word(name, (size_t)(word.p - name.p) + word.n);
        const suspicion s = judge_word(before, word, after);

        worst = s > worst ? s : worst;
        before = word;
        word = after;
    }
    return worst;
}

bool hu_redact_is_secret(hu_str name)
{
    return judge(name) != PLAIN;
}

/* tokens that are known by their beginning */

/* The length of the token that the text begins with; 0: none.  `shown` of it is an address, which may stay. */
static size_t token_at(hu_str s, size_t *shown)
{
    for (size_t i = 0; i < HU_COUNT(hu_secret_starts); i++) {
        const hu_secret_start *row = &hu_secret_starts[i];
        bool                   has_digit = false, has_small = false, has_capital = false;
        size_t                 start, n;

        if (s.n == 0 || s.p[0] != row->start[0])
            continue;
        n = start = strlen(row->start);
        if (!hu_str_starts(s, (hu_str){row->start, start}))
            continue;
        for (; n < s.n && s.p[n] && (is_letter(s.p[n]) || is_digit(s.p[n]) || strchr(row->also, s.p[n])); n++) {
            has_digit |= is_digit(s.p[n]);
            has_capital |= is_capital(s.p[n]);
            has_small |= is_letter(s.p[n]) && !is_capital(s.p[n]);
        }
        if (n - start >= row->least && (has_digit || (has_small && has_capital) || n - start >= 24)) {
            *shown = strchr(row->start, '/') ? start : 0;
            return n;
        }
    }
    return 0;
}

/* "-----BEGIN RSA PRIVATE KEY-----": all of it, or what is there of it. */
static size_t private_key_at(hu_str s)
{
    static const char begin[] = "-----BEGIN ", kind[] = "PRIVATE KEY", end[] = "-----END ";
    const char       *p, *line;

    if (!hu_str_starts(s, HU_STR(begin)))
        return 0;
    line = memmem(s.p + sizeof begin - 1, s.n - (sizeof begin - 1), "-----", 5);
    p = memmem(s.p, line ? (size_t)(line - s.p) : s.n, kind, sizeof kind - 1);
    if (!p)
        return 0;
    p = memmem(s.p, s.n, end, sizeof end - 1);
    line = p ? memmem(p + sizeof end - 1, s.n - (size_t)(p + sizeof end - 1 - s.p), "-----", 5) : NULL;
    return line ? (size_t)(line + 5 - s.p) : s.n;
}

/* the reader */

typedef struct {
    hu_str       text;
    size_t       at;
    char        *out;
    size_t       room, used;
    char         open; /* the quote that we are inside of; 0: none */
    bool         is_argument;
    hu_redactor *r;
} reader;

static void put(reader *s, const char *p, size_t n)
{
    const size_t left = s->room - s->used;

    n = n < left ? n : left;
    memcpy(s->out + s->used, p, n);
    s->used += n;
}

static void copy_to(reader *s, size_t to)
{
    if (to <= s->at) /* a token went further */
        return;
    put(s, s->text.p + s->at, to - s->at);
    s->at = to;
}

static void hide_to(reader *s, size_t to)
{
    if (to <= s->at)
        return;
    put(s, "***", 3);
    s->at = to;
}

static char char_at(const reader *s, size_t i)
{
    return i < s->text.n ? s->text.p[i] : '\0';
}

/* Copies a name, but for tokens in it: they may begin behind anything that is no letter or digit. */
static void copy_name(reader *s, size_t to)
{
    for (size_t i = s->at; i < to; i++) {
        const char   before = i ? s->text.p[i - 1] : ' ';
        size_t       shown = 0;
        const size_t n = is_letter(before) || is_digit(before) ? 0 : token_at(part(s->text, i, s->text.n), &shown);

        if (n == 0)
            continue;
        copy_to(s, i + shown);
        hide_to(s, i + n);
        i = s->at - 1;
    }
    if (s->at < to)
        copy_to(s, to);
}

/* Behind the quoted piece at `i` that begins with `slashes` backslashes and a quote. */
static size_t behind_quoted(const reader *s, size_t i, size_t slashes)
{
    const char quote = char_at(s, i + slashes);
    size_t     run = 0;

    for (i += slashes + 1; i < s->text.n; i++) {
        if (s->text.p[i] == quote && run <= slashes)
            return i + 1;
        run = s->text.p[i] == '\\' && quote != '\'' ? run + 1 : 0;
        if (run > slashes + 1)
            run = 0; /* a backslash that is meant itself */
    }
    return s->text.n;
}

/* Where the word at `i` ends, quoted or not; `stop` ends it too. */
static size_t end_of_word(const reader *s, size_t i, char stop)
{
    bool is_first = true;

    while (i < s->text.n) {
        const char c = s->text.p[i];
        size_t     slashes = 0;

        while (char_at(s, i + slashes) == '\\')
            slashes++;
        if (is_quote(char_at(s, i + slashes))) {
            if (slashes == 0 && c == s->open)
                return i; /* it closes what the word is in */
            i = behind_quoted(s, i, slashes);
            if (is_first && strchr(",}]);&", char_at(s, i))) /* of JSON, or of a shell; NUL too */
                return i;
        } else if (slashes) {
            i += slashes + 1;
        } else if (is_blank(c) || (stop && c == stop)) {
            return i;
        } else {
            i++;
        }
        is_first = false;
    }
    return s->text.n;
}

/* Leaves out a word, but not its quotes. */
static void hide_word(reader *s, size_t end)
{
    size_t slashes = 0;

    while (char_at(s, s->at + slashes) == '\\')
        slashes++;
    if (is_quote(char_at(s, s->at + slashes)) && end >= s->at + 2 * (slashes + 1) &&
        behind_quoted(s, s->at, slashes) == end && s->text.p[end - 1] == char_at(s, s->at + slashes)) {
        copy_to(s, s->at + slashes + 1);
        put(s, "***", 3);
        s->at = end - slashes - 1;
    } else {
        hide_to(s, end);
        return;
    }
    copy_to(s, end);
}

static size_t end_of_line(const reader *s, size_t i)
{
    for (; i < s->text.n && s->text.p[i] != '\n' && s->text.p[i] != '\r' && s->text.p[i] != '\0'; i++)
        if (s->open && s->text.p[i] == s->open)
            break;
    return i;
}

static size_t skip_blanks(const reader *s, size_t i)
{
    while (i < s->text.n && is_blank(s->text.p[i]))
        i++;
    return i;
}

/* 512, 1_000, 4.5e3, 8k, and the first of [1, 2]. */
static bool is_amount_at(const reader *s, size_t from)
{
    size_t i = from;

    while (char_at(s, i) == '[' || char_at(s, i) == '(' || is_quote(char_at(s, i)))
        i++;
    if (!is_digit(char_at(s, i)))
        return false;
    while (is_digit(char_at(s, i)) || char_at(s, i) == '.' || char_at(s, i) == '_' ||
           (char_at(s, i) == 'e' && is_digit(char_at(s, i + 1))))
        i++;
    i += is_letter(char_at(s, i));
    return i >= s->text.n || !is_name(s->text.p[i]);
}

static bool has_innocent_value(const reader *s, size_t from, suspicion how)
{
    size_t n = 0;

    if (how == STRONG)
        return false;
    if (how == COUNT && is_amount_at(s, from))
        return true;
    while (from + n < s->text.n && is_letter(s->text.p[from + n]))
        n++;
    return (from + n == s->text.n || !is_name(s->text.p[from + n])) &&
           is_in(part(s->text, from, from + n), HU_INNOCENT_VALUES);
}

/* PWD=/home/x is where a shell is; a password is seldom a path. */
static bool is_folder(const reader *s, hu_str name, size_t value)
{
    return (equals(name, "PWD") || equals(name, "OLDPWD")) && char_at(s, value) == '/';
}

/* "Bearer x" behind a header's name, or alone: the scheme stays. */
static size_t behind_scheme(const reader *s, size_t i)
{
    size_t n = 0;

    while (i + n < s->text.n && is_letter(s->text.p[i + n]))
        n++;
    return n && is_in(part(s->text, i, i + n), HU_TOKEN_SCHEMES) && is_blank(char_at(s, i + n)) ? skip_blanks(s, i + n) : i;
}

/* NAME: value.  Without a blank a word, with one all of the line, as headers have it; of JSON the quoted value. */
static void take_colon(reader *s, size_t colon)
{
    const size_t value = skip_blanks(s, colon + 1), token = behind_scheme(s, value);
    size_t       slashes = 0;

    while (char_at(s, value + slashes) == '\\')
        slashes++;
    copy_to(s, token);
    if (is_quote(char_at(s, value + slashes)) && (slashes || char_at(s, value) != s->open))
        hide_word(s, end_of_word(s, value, '\0'));
    else if (value > colon + 1 || token > value)
        hide_to(s, end_of_line(s, token));
    else
        hide_word(s, end_of_word(s, token, '\0'));
}

/* NAME=value. */
static void take_equals(reader *s, size_t name, size_t sign)
{
    const char before = name ? s->text.p[name - 1] : ' ';
    const bool is_query = before == '?' || before == '&' || before == '#' || before == ';';
    const bool is_spaced = is_blank(s->text.p[sign - 1]);
    size_t     value = sign + 1;

    if (is_spaced) /* of a program: it may also compare */
        value = skip_blanks(s, value + (char_at(s, value) == '='));
    copy_to(s, behind_scheme(s, value));
    if (s->is_argument && name == 0)
        hide_to(s, s->text.n); /* one argument is one value, blanks and all */
    else
        hide_word(s, end_of_word(s, s->at, is_query ? '&' : '\0'));
}

/* Where the '=' or ':' of a name that ends at `i` is, behind quotes, brackets and blanks: "token": x, d["token"] = x. */
static size_t find_sign(const reader *s, size_t i)
{
    size_t at = i;

    while (char_at(s, at) == '\\' || is_quote(char_at(s, at)) || char_at(s, at) == ']')
        at++;
    at = at < s->text.n ? skip_blanks(s, at) : at;
    if (char_at(s, at) == '=')
        return at;
    if (char_at(s, at) != ':' || char_at(s, at + 1) == ':' || hu_str_starts(part(s->text, at, s->text.n), HU_STR("://")))
        return s->text.n;
    return at;
}

/* The quote that we are inside of may be between the two. */
static void close_quote(reader *s, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        if (is_quote(s->text.p[i]) && s->text.p[i] == s->open)
            s->open = 0;
}

/* NAME=value and NAME: value of a secret.  False: it is none. */
static bool take_pair(reader *s, size_t end)
{
    const hu_str    name = part(s->text, s->at, end);
    const size_t    from = s->at, sign = find_sign(s, end);
    const suspicion how = sign < s->text.n ? judge(name) : PLAIN;

    if (how == PLAIN || has_innocent_value(s, skip_blanks(s, sign + 1), how) || is_folder(s, name, sign + 1))
        return false;
    if (s->text.p[sign] == ':' && from > 0 && s->text.p[from - 1] == '/')
        return false; /* of a list of folders */
    copy_name(s, end);
    close_quote(s, end, sign);
    if (s->text.p[sign] == '=')
        take_equals(s, from, sign);
    else
        take_colon(s, sign);
    return true;
}

/* Is it a port, a number, a list or a range of them? */
static bool is_numeric(hu_str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!is_digit(s.p[i]) && !strchr(".,:/-", s.p[i]))
            return false;
    return true;
}

/* Has "VALUE" of -pVALUE the look of a password?  -pthread, -pix_fmt, -p8080:80, -p./x and -preset=fast have not. */
static bool looks_random(hu_str s)
{
    bool is_odd = false;

    if (s.n == 0 || is_numeric(s) || strchr("./~=", s.p[0]) || hu_str_ends(s, HU_STR("/tcp")) ||
        hu_str_ends(s, HU_STR("/udp")))
        return false;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '=' || s.p[i] == ':')
            return is_odd;
        is_odd |= !(is_letter(s.p[i]) && !is_capital(s.p[i])) && !strchr("_-.,", s.p[i]);
    }
    return is_odd;
}

/* The row of an option of one letter whose program was named; NULL: none. */
static const hu_secret_option *find_option(const reader *s, char letter)
{
    for (size_t i = 0; i < HU_COUNT(hu_secret_options); i++)
        if ((s->r->options >> i & 1) && hu_secret_options[i].letter == letter)
            return &hu_secret_options[i];
    return NULL;
}

static void remember_program(reader *s, hu_str word)
{
    for (size_t i = 0; i < HU_COUNT(hu_secret_options); i++)
        if (word.p[0] == hu_secret_options[i].program[0] && hu_str_equal(word, hu_str_of(hu_secret_options[i].program)))
            s->r->options |= 1u << i;
    if (equals(word, "login"))
        s->r->login = 1;
}

/* What is said about the word behind a name or an option. */
static void expect_secret(reader *s, suspicion how)
{
    s->r->hides_next = how != PLAIN;
    s->r->is_weak = how == COUNT || how == WEAK;
    s->r->is_count = how == COUNT;
}

/* A name that a value follows: `setenv NAME value`, setdefault('NAME', 'value').  False: it speaks of no secret. */
static bool take_named(reader *s, size_t end)
{
    const suspicion how = judge(part(s->text, s->at, end));
    size_t          at = end;

    s->r->is_naming = false;
    if (how == PLAIN)
        return false;
    while (char_at(s, at) == '\\' || is_quote(char_at(s, at)))
        at++;
    at = at < s->text.n ? skip_blanks(s, at) : at;
    copy_name(s, end);
    if (char_at(s, at) != ',') {
        expect_secret(s, how);
        return true;
    }
    at = skip_blanks(s, at + 1);
    close_quote(s, end, at);
    copy_to(s, at);
    if (!has_innocent_value(s, at + is_quote(char_at(s, at)), how))
        hide_word(s, end_of_word(s, at, ')'));
    return true;
}

/* Does a name and then its value follow this word? */
static bool is_naming(const reader *s, hu_str word, size_t end)
{
    const char *dot = memrchr(word.p, '.', word.n);
    const char  next = char_at(s, end);

    if (dot && next == '(')
        word = part(word, (size_t)(dot + 1 - word.p), word.n);
    return is_in(word, HU_NAMING_WORDS) && (end >= s->text.n || is_blank(next) || next == '(');
}

/* -u, and behind flags: -sSu.  Where its value begins; 0: it is none. */
static size_t behind_user_flag(hu_str option)
{
    size_t i = 1;

    while (i < option.n && strchr(HU_FLAGS_BEFORE_USER, option.p[i]))
        i++;
    return i < option.n && (option.p[i] == 'u' || option.p[i] == 'U') ? i + 1 : 0;
}

/* -uNAME:VALUE; the name at hand ends at `end`. */
static bool take_user(reader *s, size_t end, const hu_secret_option *row)
{
    const size_t user = row && row->separator ? 2 : behind_user_flag(part(s->text, s->at, end));
    const size_t value = s->at + user;
    const char   sign = char_at(s, end);
    size_t       over;

    if (user == 0 || end <= value || (sign != ':' && !(row && sign && sign == row->separator)) ||
        (sign == ':' && char_at(s, end + 1) == ':'))
        return false;
    over = end_of_word(s, value, '\0');
    if (is_numeric(part(s->text, value, over)))
        return false;
    copy_to(s, end + 1);
    hide_to(s, over);
    return true;
}

/* -p, -pVALUE; the name at hand ends at `end`.  False: none of them. */
static bool take_short(reader *s, size_t end)
{
    const char              letter = char_at(s, s->at + 1);
    const hu_secret_option *row = find_option(s, letter);
    const size_t            value = s->at + 2;
    size_t                  over;

    if (take_user(s, end, row))
        return true;
    if ((!row && letter != 'p') || (row && row->separator))
        return false;
    over = end_of_word(s, value, '\0');
    if (end == value && !is_blank(char_at(s, end)) && end < s->text.n)
        end = over; /* -p!x: what follows belongs to it */
    if (end == value) {
        s->r->hides_next = row && row->is_next;
        return false;
    }
    if (row ? row->is_glued : looks_random(part(s->text, value, over))) {
        copy_to(s, value);
        hide_to(s, over);
        return true;
    }
    return false;
}

/* An option that says of the next word that it is a secret, or NAME:PASSWORD, or a name. */
static void take_long(reader *s, size_t end)
{
    const hu_str            option = part(s->text, s->at, end);
    const hu_secret_option *row = option.n == 2 ? find_option(s, option.p[1]) : NULL;
    const char              next = char_at(s, end);
    const bool              is_user = is_in(option, HU_USER_OPTIONS) || behind_user_flag(option) == option.n;

    if (end < s->text.n && !is_blank(next) && !is_quote(next) && next != '\\') { /* a part of a longer word */
        s->r->hides_next = s->r->is_naming = false;
        s->r->user_sign = 0;
        return;
    }
    s->r->user_sign = row && row->separator ? row->separator : is_user ? ':' : '\0';
    expect_secret(s, judge(option));
    s->r->is_naming |= is_in(option, HU_NAMING_OPTIONS);
}

/* me:password@host without a scheme; not name:tag@sha256:... */
static bool take_login(reader *s, size_t end)
{
    size_t at = end + 1;

    if (char_at(s, end) != ':' || is_quote(char_at(s, at)) || char_at(s, at) == '/')
        return false;
    while (at < s->text.n && !is_blank(s->text.p[at]) && !is_quote(s->text.p[at]) && s->text.p[at] != '@' &&
           s->text.p[at] != '/')
        at++;
    if (char_at(s, at) != '@' || at == end + 1 || !is_name(char_at(s, at + 1)) ||
        hu_str_starts(part(s->text, at + 1, s->text.n), HU_STR("sha256:")))
        return false;
    copy_name(s, end);
    copy_to(s, end + 1);
    hide_to(s, at);
    return true;
}

/* A name or an option begins here. */
static void take_name(reader *s)
{
    size_t end = s->at;
    hu_str name;

    while (end < s->text.n && is_name(s->text.p[end]))
        end++;
    name = part(s->text, s->at, end);
    if (take_pair(s, end))
        return;
    if (name.p[0] == '-' && name.n > 1) {
        if (name.p[1] != '-' && take_short(s, end))
            return;
        if (name.n > 2 || !s->r->hides_next)
            take_long(s, end);
    } else {
        if (s->r->is_naming && take_named(s, end))
            return;
        s->r->is_naming = is_naming(s, name, end);
        if (char_at(s, end) != ':') /* http: of an address */
            remember_program(s, name);
        if (take_login(s, end))
            return;
        if (is_in(name, HU_VALUE_WORDS) && is_blank(char_at(s, end)))
            s->r->hides_next = end < s->text.n || (s->is_argument && !equals(name, "Bearer"));
    }
    copy_name(s, end);
}

static bool is_option_at(const reader *s, size_t at)
{
    return char_at(s, at) == '-' && (is_letter(char_at(s, at + 1)) || char_at(s, at + 1) == '-');
}

/* NAME:PASSWORD, or with the sign of the program; false: it is none. */
static bool take_user_word(reader *s, char sign, size_t end)
{
    size_t colon = s->at, n = 0;

    while (colon < end && s->text.p[colon] != ':' && s->text.p[colon] != sign)
        colon++;
    if (colon == end || is_numeric(part(s->text, s->at, end)))
        return false;
    while (s->at + n < end && (is_name(s->text.p[s->at + n]) || is_quote(s->text.p[s->at + n])))
        n++;
    if (s->at + n == colon) { /* else it is no plain name, and no part of it is shown */
        end -= is_quote(s->text.p[s->at]) && s->text.p[end - 1] == s->text.p[s->at] && end - 1 > colon;
        copy_to(s, colon + 1);
    }
    hide_to(s, end);
    return true;
}

/* The next word, of which something was said before.  False: it is an option itself, or innocent. */
static bool take_expected(reader *s)
{
    const hu_redactor was = *s->r;
    const size_t      end = s->is_argument && s->at == 0 ? s->text.n : end_of_word(s, s->at, '\0');

    s->r->hides_next = s->r->is_weak = s->r->is_count = false;
    s->r->user_sign = 0;
    if (is_option_at(s, s->at))
        return false;
    if (was.user_sign && take_user_word(s, was.user_sign, end))
        return true;
    if (!was.hides_next || (was.is_weak && has_innocent_value(s, s->at, was.is_count ? COUNT : WEAK)))
        return false;
    if (end == s->text.n && s->at == 0 && s->is_argument)
        hide_to(s, end);
    else
        hide_word(s, end);
    return true;
}

/* A word behind `login`: 32 letters and digits or more are a secret.  Another one ends that, unless an option is before. */
static bool take_behind_login(reader *s)
{
    size_t from = s->at, n = 0;

    if (s->at > 0 && !is_blank(s->text.p[s->at - 1]))
        return false; /* inside of a word */
    if (is_option_at(s, s->at)) {
        s->r->login = 2;
        return false;
    }
    while (char_at(s, from) == '\\' || is_quote(char_at(s, from)))
        from++;
    while (is_letter(char_at(s, from + n)) || is_digit(char_at(s, from + n)))
        n++;
    s->r->login = s->r->login == 2;
    if (n < 32)
        return false;
    hide_word(s, end_of_word(s, s->at, '\0'));
    return true;
}

/* scheme://user:password@host */
static bool take_address(reader *s)
{
    const size_t host = s->at + 3;
    size_t       end = host;
    const char  *at, *colon;

    if (!hu_str_starts(part(s->text, s->at, s->text.n), HU_STR("://")))
        return false;
    while (end < s->text.n && !is_blank(s->text.p[end]) && !is_quote(s->text.p[end]) && !strchr("/?#", s->text.p[end]))
        end++;
    at = memrchr(s->text.p + host, '@', end - host);
    colon = memchr(s->text.p + host, ':', end - host);
    if (!at && colon && !is_numeric(part(s->text, (size_t)(colon + 1 - s->text.p), end))) /* a '/' in a password */
        at = memrchr(s->text.p + host, '@', end_of_word(s, host, '\0') - host);
    copy_to(s, host);
    if (at)
        hide_to(s, (size_t)(at - s->text.p));
    return true;
}

static void take_other(reader *s)
{
    const char c = s->text.p[s->at];

    if (is_quote(c) && (s->at == 0 || s->text.p[s->at - 1] != '\\'))
        s->open = s->open == c ? 0 : s->open ? s->open : c;
    if (c == ';' || c == '|' || c == '&' || c == '\n') { /* another command */
        s->r->login = 0;
        s->r->is_naming = false;
    }
    if (c == ';' || c == '|' || c == '\n') {
        s->r->hides_next = false;
        s->r->user_sign = 0;
    }
    copy_to(s, s->at + 1);
}

static size_t read_all(reader *s)
{
    while (s->at < s->text.n) {
        const hu_str here = part(s->text, s->at, s->text.n);
        const char   c = here.p[0];
        size_t       n;

        if ((n = private_key_at(here)) != 0)
            hide_to(s, s->at + n);
        else if (s->r->login && !is_blank(c) && c != s->open && take_behind_login(s))
            continue;
        else if ((s->r->hides_next || s->r->user_sign) && !is_blank(c) && c != s->open && !strchr(",;|]", c) &&
                 take_expected(s))
            continue;
        else if (is_name(c))
            take_name(s);
        else if (!take_address(s))
            take_other(s);
    }
    return s->used;
}

size_t hu_redact_text(hu_str text, char *out, size_t room)
{
    hu_redactor r = {0};
    reader      s = {.text = text, .out = out, .room = room, .r = &r};

    return read_all(&s);
}

size_t hu_redact_argument(hu_redactor *r, hu_str argument, char *out, size_t room)
{
    reader s = {.text = argument, .out = out, .room = room, .is_argument = true, .r = r};

    return read_all(&s);
}

size_t hu_redact_arguments(hu_str arguments, char *out, size_t room)
{
    hu_redactor r = {0};
    size_t      used = 0;

    for (size_t from = 0, n; from < arguments.n && used < room; from += n + 1) {
        n = strnlen(arguments.p + from, arguments.n - from);
        used += hu_redact_argument(&r, part(arguments, from, from + n), out + used, room - used);
        if (used < room)
            out[used++] = '\0';
    }
    return used;
}
