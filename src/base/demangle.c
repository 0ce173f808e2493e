/* SPDX-License-Identifier: Apache-2.0
 * demangle.c - a recursive descent over the grammar of the Itanium C++ ABI ("External Names"), in the spelling of c++filt.
 *
 * What was read is text at once: a pool to which each piece is appended, so that a substitution is a piece of it.  Template
 * parameters are the arguments of the function whose signature is read; those of a lambda's own parameters are "auto".  A
 * name may hold itself over and over, so the pool, the depth and the number of pieces are limited: what is over them is
 * no name.
 */
#include "base/demangle.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { MOST_SUBSTITUTIONS = 400, MOST_ARGUMENTS = 600, MOST_DEPTH = 100, MOST_STEPS = 20000 };

/* Text of the pool; of a function or an array "mod" is where a pointer to it has its star, in brackets. */
typedef struct {
    uint32_t at, n;
    uint32_t mod; /* 0: none */
    bool     is_bracketed;
} piece;

/* A type that holds parameters is another one where these mean others: it is read again. */
typedef struct {
    piece       text;
    const char *from; /* NULL: the same everywhere */
    int         first_arg;
} substitution;

typedef struct {
    piece text;
    int   first, n; /* of a pack: its elements among the arguments; n -1: it is none */
} argument;

typedef struct {
    const char  *p, *end;
    char        *pool;
    uint32_t     n;
    substitution subs[MOST_SUBSTITUTIONS];
    int          n_subs;
    argument     args[MOST_ARGUMENTS];
    int          n_args, first_arg, n_current; /* those that parameters mean are n_current from first_arg on */
    int          depth, steps, pack_at;        /* pack_at: which element of a pack; -1: all */
    int          pack_n;                       /* elements of the pack that was met last; -1: none was */
    bool         has_parameter;                /* one was met */
    bool         is_lambda, binds, failed;     /* binds: arguments that are met become those of the parameters */
    bool         is_template, is_plain; /* of the name read last: ends with arguments; has no return type all the same */
    const char  *method;                /* what stands behind its parameters: " const" */
} reader;

static piece read_type(reader *r);
static piece read_name(reader *r);
static piece read_encoding(reader *r, bool is_whole);
static piece read_arguments(reader *r);
static piece read_expression(reader *r);

static piece fail(reader *r)
{
    r->failed = true;
    r->p = r->end;
    return (piece){0};
}

static char peek(const reader *r)
{
    return r->p < r->end ? *r->p : '\0';
}

static char peek_next(const reader *r)
{
    return r->p + 1 < r->end ? r->p[1] : '\0';
}

static bool take(reader *r, char c)
{
    if (r->failed || peek(r) != c)
        return false;
    r->p++;
    return true;
}

static bool take_two(reader *r, const char *two)
{
    if (r->failed || peek(r) != two[0] || peek_next(r) != two[1])
        return false;
    r->p += 2;
    return true;
}

static void put(reader *r, const char *text, size_t n)
{
    if (r->failed || n > (size_t)HU_DEMANGLE_BYTES - r->n) {
        fail(r);
        return;
    }
    memmove(r->pool + r->n, text, n);
    r->n += (uint32_t)n;
}

static void put_text(reader *r, const char *text)
{
    put(r, text, strlen(text));
}

static void put_piece(reader *r, piece x)
{
    put(r, r->pool + x.at, x.n);
}

static piece begin(const reader *r)
{
    return (piece){.at = r->n};
}

static piece end(const reader *r, piece x)
{
    x.n = r->n - x.at;
    return x;
}

static piece text_of(reader *r, const char *text)
{
    const piece x = begin(r);

    put_text(r, text);
    return end(r, x);
}

/* The piece with a text behind it; at the end of the pool it is not copied. */
static piece with_text(reader *r, piece x, const char *text)
{
    piece out = x;

    if (x.at + x.n != r->n) {
        out.at = r->n;
        put_piece(r, x);
    }
    put_text(r, text);
    return end(r, out);
}

static piece with_piece(reader *r, piece x, const char *between, piece y)
{
    piece out = begin(r);

    put_piece(r, x);
    put_text(r, between);
    put_piece(r, y);
    out.mod = x.mod;
    out.is_bracketed = x.is_bracketed;
    return end(r, out);
}

static piece remember(reader *r, piece x)
{
    if (r->failed || r->n_subs == MOST_SUBSTITUTIONS)
        return fail(r);
    r->subs[r->n_subs++] = (substitution){.text = x};
    return x;
}

static piece remember_type(reader *r, piece x, const char *from)
{
    x = remember(r, x);
    if (!r->failed && r->has_parameter) {
        r->subs[r->n_subs - 1].from = from;
        r->subs[r->n_subs - 1].first_arg = r->first_arg;
    }
    return x;
}

static bool begin_step(reader *r)
{
    if (r->failed || r->depth >= MOST_DEPTH || ++r->steps > MOST_STEPS) {
        fail(r);
        return false;
    }
    r->depth++;
    return true;
}

/* Decimal digits; -1: there are none. */
static long read_number(reader *r)
{
    long n = 0;

    if (!isdigit((unsigned char)peek(r)))
        return -1;
    for (; isdigit((unsigned char)peek(r)) && n < 1000000; r->p++)
        n = n * 10 + (*r->p - '0');
    return n;
}

/* "_" is 0, "0_" is 1; in base 36 for substitutions. */
static long read_sequence(reader *r, int base)
{
    long n = 0;

    if (take(r, '_'))
        return 0;
    for (; !r->failed && peek(r) != '_' && n < 1000000; r->p++) {
        const char c = peek(r);
        const int  digit = isdigit((unsigned char)c) ? c - '0' : isupper((unsigned char)c) ? c - 'A' + 10 : 99;

        if (digit >= base)
            return fail(r), 0;
        n = n * base + digit;
    }
    return take(r, '_') ? n + 1 : (fail(r), 0);
}

static piece read_source_name(reader *r)
{
    const long n = read_number(r);
    piece      x;

    if (n <= 0 || n > r->end - r->p)
        return fail(r);
    x = begin(r);
    if (n >= 10 && memcmp(r->p, "_GLOBAL_", 8) == 0 && r->p[9] == 'N')
        put_text(r, "(anonymous namespace)");
    else
        put(r, r->p, (size_t)n);
    r->p += n;
    return end(r, x);
}

static piece number_with(reader *r, const char *before, long n)
{
    char text[48];

    snprintf(text, sizeof text, "%s%ld", before, n);
    return text_of(r, text);
}

static bool ends_types(const reader *r)
{
    return r->failed || r->p >= r->end || peek(r) == 'E' || peek(r) == '.';
}

/* "(int, float)"; a single void is none. */
static piece read_parameters(reader *r)
{
    piece out = text_of(r, "("), type;
    bool  is_first = true;

    if (peek(r) == 'v' && (r->p + 1 == r->end || peek_next(r) == 'E' || peek_next(r) == '.')) {
        r->p++;
        return with_text(r, out, ")");
    }
    while (!ends_types(r)) {
        type = read_type(r);
        if (type.n == 0)
            continue; /* an empty pack */
        out = with_piece(r, out, is_first ? "" : ", ", type);
        is_first = false;
    }
    return with_text(r, out, ")");
}

static piece read_closure(reader *r)
{
    const bool  was_lambda = r->is_lambda;
    const char *what = "{lambda";
    piece       out, parameters = {0};
    char        number[32];

    if (take_two(r, "Ul")) {
        r->is_lambda = true;
        parameters = read_parameters(r);
        r->is_lambda = was_lambda;
        if (!take(r, 'E'))
            return fail(r);
    } else if (take_two(r, "Ut")) {
        what = "{unnamed type";
    } else {
        return fail(r);
    }
    snprintf(number, sizeof number, "#%ld}", read_sequence(r, 10) + 1);
    out = begin(r);
    put_text(r, what);
    put_piece(r, parameters);
    put_text(r, number);
    return end(r, out);
}

static const char *operator_of(const char *two)
{
    static const char *const operators[][2] = {
        {"nw", " new"}, {"na", " new[]"}, {"dl", " delete"}, {"da", " delete[]"}, {"ng", "-"},  {"ad", "&"},  {"de", "*"},
        {"co", "~"},    {"pl", "+"},      {"mi", "-"},       {"ml", "*"},         {"dv", "/"},  {"rm", "%"},  {"an", "&"},
        {"or", "|"},    {"eo", "^"},      {"aS", "="},       {"pL", "+="},        {"mI", "-="}, {"mL", "*="}, {"dV", "/="},
        {"rM", "%="},   {"aN", "&="},     {"oR", "|="},      {"eO", "^="},        {"ls", "<<"}, {"rs", ">>"}, {"lS", "<<="},
        {"rS", ">>="},  {"eq", "=="},     {"ne", "!="},      {"lt", "<"},         {"gt", ">"},  {"le", "<="}, {"ge", ">="},
        {"nt", "!"},    {"aa", "&&"},     {"oo", "||"},      {"pp", "++"},        {"mm", "--"}, {"cm", ","},  {"pm", "->*"},
        {"pt", "->"},   {"cl", "()"},     {"ix", "[]"},      {"qu", "?"},         {"ss", "<=>"}};

    for (size_t i = 0; i < HU_COUNT(operators); i++)
        if (memcmp(operators[i][0], two, 2) == 0)
            return operators[i][1];
    return NULL;
}

/* The last identifier of a prefix, without arguments: what its constructor is called. */
static piece last_component(const reader *r, piece prefix)
{
    uint32_t from, to = prefix.at + prefix.n;
    int      depth = 0;

    for (from = to; from > prefix.at; from--) {
        const char c = r->pool[from - 1];

        depth += (c == '>') - (c == '<');
        if (c == '<' && depth == 0)
            to = from - 1;
        if (c == ':' && depth == 0)
            break;
    }
    return (piece){.at = from, .n = to - from};
}

static piece read_unqualified(reader *r, piece prefix)
{
    const char *op;
    piece       out;

    while (take(r, 'L'))
        ;
    if (isdigit((unsigned char)peek(r))) {
        out = read_source_name(r);
    } else if (peek(r) == 'U') {
        out = read_closure(r);
    } else if ((peek(r) == 'C' || peek(r) == 'D') && isdigit((unsigned char)peek_next(r)) && prefix.n) {
        const bool  is_end = peek(r) == 'D';
        const piece name = last_component(r, prefix);

        r->p += 2;
        out = begin(r);
        put_text(r, is_end ? "~" : "");
        put_piece(r, name);
        out = end(r, out);
        r->is_plain = true;
    } else if (take_two(r, "cv")) {
        const piece to = read_type(r);

        r->is_plain = true;
        out = with_piece(r, text_of(r, "operator "), "", to);
    } else if (r->end - r->p >= 2 && (op = operator_of(r->p))) {
        r->p += 2;
        out = with_text(r, text_of(r, "operator"), op);
    } else {
        return fail(r);
    }
    while (take(r, 'B')) { /* tags of the ABI */
        const piece tag = read_source_name(r);

        out = with_text(r, with_piece(r, out, "[abi:", tag), "]");
    }
    return out;
}

static piece read_parameter(reader *r)
{
    const long      i = take(r, 'T') ? read_sequence(r, 10) : -1;
    const argument *a;

    if (r->failed || i < 0)
        return fail(r);
    r->has_parameter = true;
    if (r->is_lambda)
        return number_with(r, "auto:", i + 1);
    if (i >= r->n_current)
        return fail(r);
    a = &r->args[r->first_arg + i];
    if (a->n < 0)
        return a->text;
    r->pack_n = a->n;
    if (r->pack_at < 0)
        return a->text;
    return r->pack_at < a->n ? r->args[a->first + r->pack_at].text : (piece){0};
}

static piece read_again(reader *r, const char *from)
{
    const char *behind = r->p;
    const int   n_subs = r->n_subs;
    piece       out;

    r->p = from;
    out = read_type(r);
    r->n_subs = n_subs;
    if (!r->failed)
        r->p = behind;
    return out;
}

static piece read_substitution(reader *r)
{
    static const char *const known[][2] = {{"St", "std"},          {"Sa", "std::allocator"}, {"Sb", "std::basic_string"},
                                           {"Ss", "std::string"},  {"Si", "std::istream"},   {"So", "std::ostream"},
                                           {"Sd", "std::iostream"}};
    const substitution      *s;
    long                     i;

    for (size_t k = 0; k < HU_COUNT(known); k++)
        if (take_two(r, known[k][0]))
            return text_of(r, known[k][1]);
    if (!take(r, 'S'))
        return fail(r);
    i = read_sequence(r, 36);
    if (r->failed || i >= r->n_subs)
        return fail(r);
    s = &r->subs[i];
    r->has_parameter |= s->from != NULL;
    return s->from && s->first_arg != r->first_arg ? read_again(r, s->from) : s->text;
}

static piece read_nested(reader *r)
{
    piece       out = {0};
    const char *method = "";
    bool        is_const = false;

    if (!take(r, 'N'))
        return fail(r);
    for (; peek(r) == 'r' || peek(r) == 'V' || peek(r) == 'K'; r->p++)
        is_const |= peek(r) == 'K';
    method = is_const ? " const" : "";
    if (peek(r) == 'R' || peek(r) == 'O') {
        method = peek(r) == 'O' ? (is_const ? " const &&" : " &&") : is_const ? " const &" : " &";
        r->p++;
    }
    while (!r->failed && peek(r) != 'E') {
        bool is_known = false;

        if (peek(r) == 'S') {
            is_known = true;
            out = read_substitution(r);
        } else if (peek(r) == 'T') {
            out = read_parameter(r);
        } else if (peek(r) == 'I') {
            const piece list = out.n ? read_arguments(r) : fail(r);

            out = with_piece(r, out, "", list);
            r->is_template = true;
        } else {
            const piece part = read_unqualified(r, out);

            out = out.n ? with_piece(r, out, "::", part) : part;
            r->is_template = false;
        }
        if (!is_known && peek(r) != 'E')
            remember(r, out);
    }
    r->method = method;
    return take(r, 'E') ? out : fail(r);
}

static piece read_local(reader *r)
{
    piece around, name;

    if (!take(r, 'Z'))
        return fail(r);
    around = read_encoding(r, false);
    if (!take(r, 'E'))
        return fail(r);
    if (take(r, 's')) {
        name = text_of(r, "string literal");
    } else {
        if (take(r, 'd'))
            read_sequence(r, 10);
        r->is_template = r->is_plain = false;
        r->method = "";
        name = read_name(r);
    }
    if (take(r, '_')) { /* which of several in one function */
        if (take(r, '_'))
            read_number(r), take(r, '_');
        else if (isdigit((unsigned char)peek(r)))
            r->p++;
    }
    return with_piece(r, around, "::", name);
}

static piece read_name(reader *r)
{
    piece out = {0};

    if (!begin_step(r))
        return out;
    if (peek(r) == 'N') {
        out = read_nested(r);
    } else if (peek(r) == 'Z') {
        out = read_local(r);
    } else {
        bool is_known = false;

        if (take_two(r, "St")) {
            const piece part = read_unqualified(r, (piece){0});

            out = with_piece(r, text_of(r, "std::"), "", part);
        } else if (peek(r) == 'S') {
            is_known = true;
            out = read_substitution(r);
        } else {
            out = read_unqualified(r, (piece){0});
        }
        if (peek(r) == 'I') {
            piece list;

            if (!is_known)
                remember(r, out);
            list = read_arguments(r);
            out = with_piece(r, out, "", list);
            r->is_template = true;
        }
    }
    r->depth--;
    return out;
}

static piece read_literal(reader *r)
{
    static const char *const suffixes[][2] = {{"unsigned int", "u"},         {"long", "l"},
                                              {"unsigned long", "ul"},       {"long long", "ll"},
                                              {"unsigned long long", "ull"}, {"int", ""}};
    piece                    type, out;
    const char              *from, *suffix = NULL;
    bool                     is_negative;

    if (take_two(r, "_Z") || take(r, 'Z')) {
        out = read_encoding(r, false);
        return take(r, 'E') ? out : fail(r);
    }
    type = read_type(r);
    is_negative = take(r, 'n');
    for (from = r->p; r->p < r->end && *r->p != 'E';)
        r->p++;
    if (r->failed || r->p == r->end)
        return fail(r);
    out = begin(r);
    for (size_t i = 0; i < HU_COUNT(suffixes); i++)
        if (strlen(suffixes[i][0]) == type.n && memcmp(suffixes[i][0], r->pool + type.at, type.n) == 0)
            suffix = suffixes[i][1];
    if (type.n == 4 && memcmp(r->pool + type.at, "bool", 4) == 0 && r->p - from == 1 && (*from == '0' || *from == '1')) {
        put_text(r, *from == '1' ? "true" : "false");
    } else {
        if (!suffix) {
            put_text(r, "(");
            put_piece(r, type);
            put_text(r, ")");
        }
        put_text(r, is_negative ? "-" : "");
        put(r, from, (size_t)(r->p - from));
        put_text(r, suffix ? suffix : "");
    }
    r->p++;
    return end(r, out);
}

static piece in_brackets(reader *r, piece x)
{
    const piece out = begin(r);

    put_text(r, "(");
    put_piece(r, x);
    put_text(r, ")");
    return end(r, out);
}

/* Parameters, literals, sizes, names of a class, and operators between them. */
static piece read_expression(reader *r)
{
    const char *op;
    piece       a, b;

    if (!begin_step(r))
        return (piece){0};
    if (peek(r) == 'T') {
        a = read_parameter(r);
    } else if (take(r, 'L')) {
        a = read_literal(r);
    } else if (take_two(r, "sZ")) {
        read_parameter(r);
        a = number_with(r, "", r->pack_n);
    } else if (take_two(r, "st")) {
        b = read_type(r);
        a = with_text(r, with_piece(r, text_of(r, "sizeof ("), "", b), ")");
    } else if (take_two(r, "sr")) {
        a = read_type(r);
        b = read_unqualified(r, (piece){0});
        if (peek(r) == 'I') {
            const piece list = read_arguments(r);

            b = with_piece(r, b, "", list);
        }
        a = with_piece(r, a, "::", b);
    } else if (r->end - r->p >= 2 && (op = operator_of(r->p)) && op[0] != ' ') {
        const bool is_unary = memcmp(r->p, "ng", 2) == 0 || memcmp(r->p, "nt", 2) == 0 || memcmp(r->p, "co", 2) == 0 ||
                              memcmp(r->p, "ad", 2) == 0 || memcmp(r->p, "de", 2) == 0;

        if (op[0] == '(' || op[0] == '[' || op[0] == '?')
            return fail(r);
        r->p += 2;
        a = in_brackets(r, read_expression(r));
        if (is_unary) {
            a = with_piece(r, text_of(r, op), "", a);
        } else {
            b = in_brackets(r, read_expression(r));
            a = with_piece(r, a, op, b);
        }
    } else {
        a = fail(r);
    }
    r->depth--;
    return a;
}

static piece read_argument(reader *r)
{
    piece out;

    if (take(r, 'X')) {
        out = read_expression(r);
        return take(r, 'E') ? out : fail(r);
    }
    return take(r, 'L') ? read_literal(r) : read_type(r);
}

/* Elements up to E, behind each other among the arguments; their text is joined by commas. */
static argument read_pack(reader *r)
{
    argument a = {.text = text_of(r, ""), .first = r->n_args, .n = 0};
    argument list[64];
    int      n = 0;

    while (!r->failed && !take(r, 'E')) {
        if (n == (int)HU_COUNT(list))
            return fail(r), a;
        list[n++] = (argument){.text = read_argument(r), .n = -1};
    }
    if (r->failed || r->n_args + n > MOST_ARGUMENTS)
        return fail(r), a;
    a.first = r->n_args;
    a.n = n;
    for (int i = 0; i < n; i++) {
        r->args[r->n_args++] = list[i];
        a.text = with_piece(r, a.text, i ? ", " : "", list[i].text);
    }
    return a;
}

/* "<int, 4>"; where the reader binds they become what parameters mean. */
static piece read_arguments(reader *r)
{
    const bool  binds = r->binds, is_plain = r->is_plain, was_lambda = r->is_lambda;
    const int   first = r->first_arg, current = r->n_current;
    const char *method = r->method;
    argument    list[64];
    int         n = 0;
    piece       out;
    bool        is_first = true;

    if (!begin_step(r) || !take(r, 'I'))
        return fail(r);
    r->binds = r->is_lambda = false;
    while (!r->failed && !take(r, 'E')) {
        if (n == (int)HU_COUNT(list))
            return fail(r);
        list[n] = take(r, 'J') ? read_pack(r) : (argument){.text = read_argument(r), .n = -1};
        n++;
        r->first_arg = first;
        r->n_current = current;
    }
    if (r->failed || r->n_args + n > MOST_ARGUMENTS)
        return fail(r);
    if (binds) {
        r->first_arg = r->n_args;
        r->n_current = n;
        for (int i = 0; i < n; i++)
            r->args[r->n_args++] = list[i];
    }
    r->binds = binds;
    r->is_lambda = was_lambda;
    r->is_plain = is_plain;
    r->method = method;
    r->depth--;
    out = begin(r);
    put_text(r, "<");
    for (int i = 0; i < n; i++) {
        if (list[i].text.n == 0)
            continue;
        put_text(r, is_first ? "" : ", ");
        put_piece(r, list[i].text);
        is_first = false;
    }
    put_text(r, r->n > out.at && r->pool[r->n - 1] == '>' ? " >" : ">");
    return end(r, out);
}

static const char *builtin_of(char c)
{
    static const char *const names[26] = {"signed char",
                                          "bool",
                                          "char",
                                          "double",
                                          "long double",
                                          "float",
                                          "__float128",
                                          "unsigned char",
                                          "int",
                                          "unsigned int",
                                          NULL,
                                          "long",
                                          "unsigned long",
                                          "__int128",
                                          "unsigned __int128",
                                          NULL,
                                          NULL,
                                          NULL,
                                          "short",
                                          "unsigned short",
                                          NULL,
                                          "void",
                                          "wchar_t",
                                          "long long",
                                          "unsigned long long",
                                          "..."};

    return c >= 'a' && c <= 'z' ? names[c - 'a'] : NULL;
}

/* A star, an ampersand or the like behind a type, or where a function or an array has it. */
static piece point(reader *r, piece x, const char *star)
{
    const size_t n = strlen(star);
    piece        out;

    if (!x.mod) {
        const bool is_reference = star[0] == '&' && x.n && r->pool[x.at + x.n - 1] == '&';

        if (is_reference) { /* what refers to a reference is one: && only where both are */
            const bool is_double = x.n > 1 && r->pool[x.at + x.n - 2] == '&';

            if (is_double && n == 1)
                x.n--;
            return x;
        }
        return with_text(r, x, star);
    }
    out = (piece){.at = r->n, .mod = x.mod + (uint32_t)n + (x.is_bracketed ? 0 : 1), .is_bracketed = true};
    put(r, r->pool + x.at, x.mod);
    put_text(r, x.is_bracketed ? "" : "(");
    put_text(r, star);
    put_text(r, x.is_bracketed ? "" : r->pool[x.at + x.mod] == '[' ? ") " : ")");
    put(r, r->pool + x.at + x.mod, x.n - x.mod);
    return end(r, out);
}

static piece read_function(reader *r)
{
    piece result, parameters, out = {0};

    take(r, 'Y');
    result = read_type(r);
    parameters = read_parameters(r);
    if (!take(r, 'E'))
        return fail(r);
    out = begin(r);
    put_piece(r, result);
    put_text(r, " ");
    out.mod = r->n - out.at;
    put_piece(r, parameters);
    return end(r, out);
}

static piece read_array(reader *r)
{
    piece size = {0}, of, out;

    if (isdigit((unsigned char)peek(r)))
        size = number_with(r, "", read_number(r));
    else if (peek(r) != '_')
        size = read_expression(r);
    if (!take(r, '_'))
        return fail(r);
    of = read_type(r);
    out = begin(r);
    put_piece(r, of);
    put_text(r, " ");
    out.mod = r->n - out.at;
    put_text(r, "[");
    put_piece(r, size);
    put_text(r, "]");
    return end(r, out);
}

/* The pattern once for each element of the pack in it. */
static piece read_expansion(reader *r)
{
    const char *from = r->p;
    const int   was_at = r->pack_at, was_n = r->pack_n;
    piece       out = text_of(r, "");
    int         n, n_subs;

    r->pack_n = -1;
    r->pack_at = 0;
    n_subs = r->n_subs;
    {
        const piece first = read_type(r);
        const char *behind = r->p;

        n_subs = r->n_subs - n_subs;
        n = r->pack_n;
        out = n != 0 ? first : out;
        for (int i = 1; i < n && !r->failed; i++) {
            const int kept = r->n_subs;
            piece     next;

            r->p = from;
            r->pack_at = i;
            next = read_type(r);
            r->n_subs = kept;
            out = with_piece(r, out, ", ", next);
        }
        if (!r->failed)
            r->p = behind;
    }
    r->pack_at = was_at;
    r->pack_n = was_n;
    return out;
}

static piece read_d_type(reader *r)
{
    static const char *const names[][2] = {
        {"Dn", "decltype(nullptr)"}, {"Di", "char32_t"}, {"Ds", "char16_t"},  {"Du", "char8_t"},   {"Da", "auto"},
        {"Dc", "decltype(auto)"},    {"Dh", "half"},     {"Df", "decimal32"}, {"Dd", "decimal64"}, {"De", "decimal128"}};
    long bits;

    for (size_t i = 0; i < HU_COUNT(names); i++)
        if (take_two(r, names[i][0]))
            return text_of(r, names[i][1]);
    if (take_two(r, "Dp"))
        return remember(r, read_expansion(r));
    if (take_two(r, "DF")) {
        bits = read_number(r);
        if (take(r, 'b'))
            return bits == 16 ? text_of(r, "std::bfloat16_t") : fail(r);
        return take(r, '_') && bits > 0 ? number_with(r, "_Float", bits) : fail(r);
    }
    if (take_two(r, "DT") || take_two(r, "Dt")) {
        const piece of = read_expression(r);
        piece       out;

        if (!take(r, 'E'))
            return fail(r);
        out = begin(r);
        put_text(r, "decltype (");
        put_piece(r, of);
        put_text(r, ")");
        return remember(r, end(r, out));
    }
    if (take_two(r, "Dv")) {
        const long n = read_number(r);
        piece      of;
        char       text[48];

        if (n < 0 || !take(r, '_'))
            return fail(r);
        of = read_type(r);
        snprintf(text, sizeof text, " __vector(%ld)", n);
        return remember(r, with_text(r, of, text));
    }
    return fail(r);
}

/* Modifiers before a type. */
static piece read_modified(reader *r)
{
    const char c = *r->p++;

    switch (c) {
    case 'P':
        return point(r, read_type(r), "*");
    case 'R':
        return point(r, read_type(r), "&");
    case 'O':
        return point(r, read_type(r), "&&");
    case 'C':
        return with_text(r, read_type(r), " _Complex");
    case 'G':
        return with_text(r, read_type(r), " _Imaginary");
    case 'F':
        return read_function(r);
    case 'A':
        return read_array(r);
    case 'M': {
        const piece class = read_type(r), of = read_type(r);
        char star[512];

        if (r->failed || class.n + 5 > sizeof star)
            return fail(r);
        snprintf(star, sizeof star, "%s%.*s::*", of.mod ? "" : " ", (int)class.n, r->pool + class.at);
        return point(r, of, star);
    }
    default: /* U: a qualifier of the vendor */
        break;
    }
    {
        const piece qualifier = read_source_name(r), of = read_type(r);

        return with_piece(r, of, " ", qualifier);
    }
}

static piece read_qualified(reader *r)
{
    bool  is_const = false, is_volatile = false, is_restrict = false;
    piece of, out;

    for (;; r->p++) {
        if (peek(r) == 'K')
            is_const = true;
        else if (peek(r) == 'V')
            is_volatile = true;
        else if (peek(r) == 'r')
            is_restrict = true;
        else
            break;
    }
    of = read_type(r);
    if (of.mod && !of.is_bracketed) { /* elements are const, not the array */
        out = (piece){.at = r->n};
        put(r, r->pool + of.at, of.mod - 1);
        put_text(r, is_const ? " const" : "");
        put_text(r, is_volatile ? " volatile" : "");
        out.mod = r->n - out.at + 1;
        put(r, r->pool + of.at + of.mod - 1, of.n - of.mod + 1);
        return end(r, out);
    }
    if (is_restrict)
        of = point(r, of, " __restrict");
    if (is_volatile)
        of = with_text(r, of, " volatile");
    /* what is const already is not said to be so twice */
    if (is_const && !(of.n > 6 && memcmp(r->pool + of.at + of.n - 6, " const", 6) == 0))
        of = with_text(r, of, " const");
    return of;
}

static piece read_type(reader *r)
{
    const bool  binds = r->binds, is_template = r->is_template, is_plain = r->is_plain;
    const bool  had_parameter = r->has_parameter;
    const char *method = r->method, *from = r->p, c = peek(r);
    piece       out;

    if (!begin_step(r))
        return (piece){0};
    r->has_parameter = false;
    r->binds = false;
    if (builtin_of(c) && c != 'r') {
        r->p++;
        out = text_of(r, builtin_of(c));
    } else if (c == 'u') {
        r->p++;
        out = remember_type(r, read_source_name(r), from);
    } else if (c == 'K' || c == 'V' || c == 'r') {
        out = remember_type(r, read_qualified(r), from);
    } else if ((c == 'U' && peek_next(r) != 'l' && peek_next(r) != 't') || (c && strchr("PROCGFAM", c))) {
        out = remember_type(r, read_modified(r), from);
    } else if (c == 'D' && peek_next(r) != 'C') {
        out = read_d_type(r);
    } else if (c == 'T') {
        out = remember_type(r, read_parameter(r), from);
        if (peek(r) == 'I') {
            const piece list = read_arguments(r);

            out = remember_type(r, with_piece(r, out, "", list), from);
        }
    } else if (c == 'S' && peek_next(r) != 't') {
        out = read_substitution(r);
        if (peek(r) == 'I') {
            const piece list = read_arguments(r);

            out = remember_type(r, with_piece(r, out, "", list), from);
        }
    } else if (c == 'N' || c == 'Z' || c == 'S' || c == 'U' || isdigit((unsigned char)c)) {
        out = remember_type(r, read_name(r), from);
    } else {
        out = fail(r);
    }
    r->has_parameter |= had_parameter;
    r->binds = binds;
    r->is_template = is_template;
    r->is_plain = is_plain;
    r->method = method;
    r->depth--;
    return out;
}

/* A function with its parameters, at the outside with what it returns; or the name of something else. */
static piece read_encoding(reader *r, bool is_whole)
{
    const char *method;
    piece       name, result = {0}, parameters, out;
    bool        is_lambda = r->is_lambda;

    if (!begin_step(r))
        return (piece){0};
    r->is_template = r->is_plain = r->is_lambda = false;
    r->method = "";
    r->binds = true;
    r->first_arg = r->n_args;
    r->n_current = 0;
    name = read_name(r);
    r->binds = false;
    method = r->method;
    if (!ends_types(r)) {
        if (r->is_template && !r->is_plain)
            result = read_type(r);
        parameters = read_parameters(r);
        out = begin(r);
        if (is_whole && result.n) {
            put_piece(r, result);
            put_text(r, " ");
        }
        put_piece(r, name);
        put_piece(r, parameters);
        put_text(r, method);
        name = end(r, out);
    }
    r->is_lambda = is_lambda;
    r->depth--;
    return name;
}

/* Parts behind dots are what a compiler made of the function. */
static piece read_clones(reader *r, piece name)
{
    while (!r->failed && peek(r) == '.') {
        const char *from = r->p++;
        piece       out = begin(r);

        while (r->p < r->end && *r->p != '.')
            r->p++;
        put_piece(r, name);
        put_text(r, " [clone ");
        put(r, from, (size_t)(r->p - from));
        put_text(r, "]");
        name = end(r, out);
    }
    return name;
}

hu_str hu_demangle(hu_str name, char out[HU_DEMANGLE_BYTES])
{
    reader r = {.p = name.p, .end = name.p + name.n, .pool = out, .pack_at = -1, .pack_n = -1, .method = ""};
    piece  text;

    if (!take_two(&r, "_Z"))
        return (hu_str){out, 0};
    text = read_encoding(&r, true);
    text = read_clones(&r, text);
    return r.failed || r.p != r.end ? (hu_str){out, 0} : (hu_str){out + text.at, text.n};
}
