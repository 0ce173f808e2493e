/* SPDX-License-Identifier: Apache-2.0
 * short_name.c - names of C++ functions in a narrow column.
 *
 * Kernels of one template are told apart by an argument that stands far behind what a column shows.  Names whose short
 * forms are equal are compared with each other; where two part, there begins a piece that both must show:
 *
 *     void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, …>    …_kernel<…FillFunctor…
 *     void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>, …>     …_kernel<…AddFunctor…
 */
#include "base/short_name.h"

#include <assert.h>

#include "base/map.h"
#include "base/units.h"
#include "base/utf8.h"

/* Whatever is no ASCII counts, so that a word neither begins nor ends inside a character. */
static bool is_word(char c)
{
    return hu_char_is_letter(c) || (c >= '0' && c <= '9') || (c & 0x80);
}

static bool begins_name(char c)
{
    return hu_char_is_letter(c) || c == '_';
}

static hu_str rest_of(hu_str s, size_t from)
{
    return (hu_str){s.p + from, s.n - from};
}

static const char anonymous[] = "(anonymous namespace)";

/* How many characters at `i` are "(anonymous namespace)". */
static size_t anonymous_at(hu_str s, size_t i)
{
    return hu_str_starts(rest_of(s, i), HU_STR(anonymous)) ? sizeof anonymous - 1 : 0;
}

/* The end of template arguments that begin at `i`, which may compare numbers in parentheses; s.n: they do not end. */
static size_t skip_arguments(hu_str s, size_t i)
{
    size_t depth = 0, parentheses = 0;

    for (; i < s.n; i++) {
        parentheses += s.p[i] == '(';
        parentheses -= s.p[i] == ')' && parentheses;
        if (parentheses)
            continue;
        depth += s.p[i] == '<';
        if (s.p[i] == '>' && --depth == 0)
            return i + 1;
    }
    return s.n;
}

/* "void a::b<c<d>>::e(f)" to "a::b<…>::e" */
static hu_str shorten(hu_str s, char out[HU_SHORT_NAME_BYTES])
{
    size_t n = 0, skip;

    for (size_t i = 0; i < s.n && n + sizeof anonymous + 8 < HU_SHORT_NAME_BYTES; i++) {
        const char c = s.p[i];

        if (c == '<') {
            memcpy(out + n, "<…>", sizeof "<…>" - 1);
            n += sizeof "<…>" - 1;
            i = skip_arguments(s, i) - 1;
        } else if ((skip = anonymous_at(s, i))) {
            memcpy(out + n, anonymous, skip);
            n += skip;
            i += skip - 1;
        } else if (c == '(' && n) {
            break;
        } else if (c == ' ' && i + 1 < s.n && (begins_name(s.p[i + 1]) || anonymous_at(s, i + 1))) {
            n = 0; /* what stood here is the return type */
        } else {
            out[n++] = c;
        }
    }
    return n ? (hu_str){out, n} : s;
}

/* Drops "at::native::" and the like from the front, as long as it does not fit. */
static hu_str drop_namespaces(hu_str s, size_t width)
{
    size_t has = hu_units_width(s); /* counted once: a name may have many thousand namespaces */

    while (has > width) {
        const char *colons = memmem(s.p, s.n, "::", 2);
        size_t      n;

        if (!colons || (size_t)(s.p + s.n - colons) < 6)
            break;
        n = (size_t)(colons - s.p) + 2;
        has -= hu_units_width((hu_str){s.p, n});
        s = rest_of(s, n);
    }
    return s;
}

static bool is_function(hu_str s)
{
    return hu_str_has(s, HU_STR("::")) || (hu_str_starts(s, HU_STR("void ")) && hu_str_has(s, HU_STR("(")));
}

hu_str hu_short_name(hu_str name, size_t width, char out[HU_SHORT_NAME_BYTES])
{
    const bool has_signature = hu_str_has(name, HU_STR("<")) || hu_str_has(name, HU_STR("("));

    if (hu_units_width(name) <= width || !is_function(name))
        return name;
    return drop_namespaces(has_signature ? shorten(name, out) : name, width);
}

size_t hu_short_name_clip(hu_out *out, hu_str name, size_t width)
{
    char text[HU_SHORT_NAME_BYTES];

    return hu_units_clip(out, hu_short_name(name, width, text), width);
}

/* names below each other */

enum { MOST_PIECES = 3, MOST_RIVALS = 64, ROUNDS = 2 };

typedef struct {
    size_t from, to;
} piece;

/* A name that others read like, and the pieces that tell it from them. */
typedef struct {
    hu_str name; /* all of it */
    size_t base; /* where its own name begins, behind return type and namespaces */
    size_t head; /* and ends: arguments follow */
    size_t end;  /* of those of the template; parameters follow */
    piece  at[MOST_PIECES];
    size_t n;
} alike;

/* Where the function's own name begins, behind return type and namespaces, and where its arguments do. */
static alike read_parts(hu_str s)
{
    alike a = {.name = s, .head = s.n, .end = s.n};

    for (size_t i = 0; i < s.n; i++) {
        const char   c = s.p[i];
        const size_t skip = anonymous_at(s, i);

        if (skip) {
            i += skip - 1;
        } else if (c == '(') {
            a.head = i < a.head ? i : a.head;
            a.end = i;
            break;
        } else if (c == '<') {
            a.head = i < a.head ? i : a.head;
            i = skip_arguments(s, i) - 1;
        } else if ((c == ' ' || c == ':') && i + 1 < s.n && (begins_name(s.p[i + 1]) || anonymous_at(s, i + 1))) {
            a.base = i + 1;
            a.head = s.n;
        }
    }
    return a;
}

static alike read_name(hu_str s)
{
    return is_function(s) ? read_parts(s) : (alike){.name = s, .head = s.n, .end = s.n};
}

hu_str hu_short_name_own(hu_str name)
{
    const alike a = read_parts(name);

    if (!hu_str_has(name, HU_STR("(")) && !hu_str_has(name, HU_STR("<")))
        return name; /* blanks of a name that is no function's part no result */
    return a.head > a.base ? (hu_str){name.p + a.base, a.head - a.base} : name;
}

/* The word around byte `i`, or behind it where that is none.  With `divide`, underscores divide words. */
static piece find_word(hu_str s, size_t least, size_t i, bool divide)
{
#define INSIDE(at) (is_word(s.p[at]) || (!divide && s.p[at] == '_'))
    piece p = {i, i};

    while (p.from > least && i < s.n && INSIDE(i) && INSIDE(p.from - 1))
        p.from--;
    while (p.to < s.n && !INSIDE(p.to))
        p.to++;
    while (p.to < s.n && INSIDE(p.to))
        p.to++;
    return p;
#undef INSIDE
}

/* Where the character begins that byte `i` is in. */
static size_t begin_of(hu_str s, size_t i)
{
    for (int k = 0; k < 3 && i > 0 && i < s.n && ((unsigned char)s.p[i] & 0xc0) == 0x80; k++)
        i--;
    return i;
}

/*
 * The word of `a` in which it parts from `b`: "BFloat16" of "c10::BFloat16".  Of a long one, the part of it.  It lies before
 * a->base where they part in return type or namespaces.
 */
static piece find_piece(const alike *a, const alike *b)
{
    enum { LONG_WORD = 20, BEFORE = 4 };
    const hu_str s = a->name;
    size_t       i = 0, least, skip;
    piece        p;

    while (i < s.n && i < b->name.n && s.p[i] == b->name.p[i])
        i++;
    i = begin_of(s, i);
    least = i < a->base ? 0 : a->base;
    p = find_word(s, least, i, i <= a->head);
    if (p.to - p.from > LONG_WORD)
        p = find_word(s, least, i, true);
    if (p.to - p.from > LONG_WORD && i > p.from + BEFORE)
        p.from = begin_of(s, i - BEFORE);
    while (p.from > a->head && ((skip = anonymous_at(s, p.from)) || (p.to + 2 < s.n && memcmp(s.p + p.to, "::", 2) == 0))) {
        const size_t behind = skip ? p.from + skip + 2 : p.to + 2;

        if (behind >= s.n)
            break;
        p = find_word(s, behind, behind, false);
    }
    return p;
}

/* Keeps pieces in order, apart from each other. */
static void add_piece(alike *a, piece p)
{
    size_t k = 0;

    while (k < a->n && a->at[k].to < p.from)
        k++;
    if (k < a->n && a->at[k].from <= p.to) {
        a->at[k].from = p.from < a->at[k].from ? p.from : a->at[k].from;
        a->at[k].to = p.to > a->at[k].to ? p.to : a->at[k].to;
        while (k + 1 < a->n && a->at[k + 1].from <= a->at[k].to) { /* it may now reach the next ones */
            a->at[k].to = a->at[k + 1].to > a->at[k].to ? a->at[k + 1].to : a->at[k].to;
            a->n--;
            memmove(&a->at[k + 1], &a->at[k + 2], (a->n - k - 1) * sizeof a->at[0]);
        }
        return;
    }
    if (a->n == MOST_PIECES || p.from >= p.to)
        return;
    memmove(&a->at[k + 1], &a->at[k], (a->n - k) * sizeof a->at[0]);
    a->at[k] = p;
    a->n++;
}

/* What parts in return type or namespaces shows its own name, too: "one::kernel" or "one…kernel". */
static void keep_own_name(alike *a)
{
    if (a->n == 0 || a->at[0].from >= a->base)
        return;
    if (a->n == MOST_PIECES)
        a->n--;
    for (size_t k = 0; k < a->n; k++)
        if (a->at[k].to < a->base && a->at[k].to + 2 >= a->base)
            a->at[k].to = a->base; /* "::" is no longer than what would stand for it */
    add_piece(a, (piece){a->base, a->head});
}

typedef struct {
    char  *p;
    size_t n, room; /* bytes */
    size_t width;   /* characters that may follow, as hu_units_width counts them */
} line;

/* At most `most` characters of `s`, and never more than there is room for.  Returns how many bytes were put. */
static size_t put(line *l, hu_str s, size_t most)
{
    hu_str rest = s;
    size_t characters = 0, bytes;

    most = most < l->width ? most : l->width;
    for (; rest.n && characters < most; characters++)
        hu_utf8_next(&rest);
    bytes = s.n - rest.n;
    assert(bytes <= l->room - l->n);
    if (bytes == 0 || bytes > l->room - l->n)
        return 0;
    memcpy(l->p + l->n, s.p, bytes);
    l->n += bytes;
    l->width -= characters;
    return bytes;
}

/* One for all that is left out between two pieces. */
static void put_dots(line *l)
{
    static const char dots[] = "…";
    const size_t      n = sizeof dots - 1;

    if (l->n < n || memcmp(l->p + l->n - n, dots, n) != 0)
        put(l, (hu_str){dots, n}, 1);
}

/* Of what stands before the first piece: the function's own name, as far as that piece is not in front of it. */
static hu_str head_of(const alike *a)
{
    const size_t to = a->at[0].from < a->head ? a->at[0].from : a->head;

    return (hu_str){a->name.p + a->base, to > a->base ? to - a->base : 0};
}

static bool is_inside_word(hu_str s, size_t i)
{
    return i > 0 && (is_word(s.p[i - 1]) || s.p[i - 1] == '_');
}

enum { DIVIDERS_BYTES = (MOST_PIECES + 2) * sizeof "…" }; /* a bound of what compose adds to a name */

/* "vectorized_elementwise_kernel<…AddFunctor…"; `out` has room for the name and DIVIDERS_BYTES. */
static hu_str compose(const alike *a, size_t width, char *out)
{
    const hu_str head = head_of(a);
    const size_t least = width < 12 ? width / 2 : width / 3 > 6 ? width / 3 : 6;
    line         l = {out, 0, a->name.n + DIVIDERS_BYTES, width};
    size_t       pieces = a->n, taken; /* by the pieces and what divides them */

    for (size_t i = 0; i < a->n; i++)
        pieces += a->at[i].to - a->at[i].from;
    taken = pieces + 2;
    if (head.n + taken <= width || head.n <= least) {
        put(&l, head, head.n);
        if (a->at[0].from > a->head)
            put(&l, HU_STR("<"), 1);
        if (a->at[0].from > a->head + 1 || (a->at[0].from < a->base && is_inside_word(a->name, a->at[0].from)))
            put_dots(&l);
    } else {
        put(&l, head, taken + least <= width ? width - taken : least);
        put_dots(&l);
    }
    for (size_t i = 0; i < a->n; i++) {
        const piece  p = a->at[i];
        const size_t others = a->n - i - 1, room = l.width > 6 * others + 1 ? l.width - 6 * others - 1 : 0;
        const size_t to = others || p.to > a->end ? p.to : a->end; /* the last one goes on as far as there is room */
        const bool   is_whole = put(&l, (hu_str){a->name.p + p.from, to - p.from}, room) == to - p.from;

        if ((to != a->end && to < a->name.n) || !is_whole)
            put_dots(&l);
    }
    return (hu_str){out, l.n};
}

/* What a column of that width shows of it, which may be part of `s`.  NULL: no memory. */
static hu_str fit(hu_str s, size_t width, hu_arena *arena)
{
    line l = {.room = s.n, .width = width ? width - 1 : 0};

    if (hu_units_width(s) <= width)
        return s;
    if (width == 0)
        return (hu_str){s.p, 0};
    l.p = hu_arena_alloc(arena, s.n + sizeof "…");
    if (!l.p)
        return (hu_str){0};
    put(&l, s, width);
    memcpy(l.p + l.n, "…", sizeof "…" - 1);
    return (hu_str){l.p, l.n + sizeof "…" - 1};
}

/* Of each name the next one behind it with the same short form; HU_MAP_NONE: there is none.  NULL: no memory. */
static uint32_t *chain_equal(const hu_str *shorts, size_t n, hu_arena *arena)
{
    uint32_t *next = hu_arena_alloc(arena, (n + 1) * sizeof *next);
    hu_map    last;

    if (!next || !hu_map_init(&last, arena, n))
        return NULL;
    for (size_t i = n; i-- > 0;) {
        uint32_t *place = hu_map_put(&last, hu_hash_bytes(shorts[i].p, shorts[i].n));

        if (!place)
            return NULL;
        next[i] = *place;
        *place = (uint32_t)i;
    }
    return next;
}

/* Tells those apart that read like number `first`, and takes them out of the chain. */
static bool tell_apart(const hu_str *names, hu_str *shorts, uint32_t first, uint32_t *next, size_t width, hu_arena *arena)
{
    uint32_t rows[MOST_RIVALS];
    size_t   n = 0;
    alike   *all;
    char    *text;

    for (uint32_t i = first, after; i != HU_MAP_NONE; i = after) {
        after = next[i];
        next[i] = HU_MAP_NONE;
        if (n < MOST_RIVALS)
            rows[n++] = i;
    }
    all = hu_arena_calloc(arena, n, sizeof *all);
    if (!all)
        return false;
    for (size_t i = 0; i < n; i++)
        all[i] = read_name(names[rows[i]]);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < n; k++)
            if (!hu_str_equal(names[rows[i]], names[rows[k]]))
                add_piece(&all[i], find_piece(&all[i], &all[k]));
        if (all[i].n == 0 || hu_units_width(all[i].name) <= width)
            continue; /* equal to all of them, or shown whole as it is */
        keep_own_name(&all[i]);
        text = hu_arena_alloc(arena, all[i].name.n + DIVIDERS_BYTES);
        if (!text)
            return false;
        shorts[rows[i]] = fit(compose(&all[i], width, text), width, arena);
        if (!shorts[rows[i]].p)
            return false;
    }
    return true;
}

hu_str *hu_short_names(const hu_str *names, size_t n, size_t width, hu_arena *arena)
{
    hu_str *shorts = hu_arena_calloc(arena, n + 1, sizeof *shorts);
    char    text[HU_SHORT_NAME_BYTES];

    if (!shorts)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        const hu_str s = fit(hu_short_name(names[i], width, text), width, arena);

        shorts[i] = s.p >= text && s.p < text + sizeof text ? hu_arena_copy(arena, s) : s;
        if (!shorts[i].p && names[i].n)
            return NULL;
    }
    for (int round = 0; round < ROUNDS; round++) {
        uint32_t *next = chain_equal(shorts, n, arena);

        if (!next)
            return NULL;
        for (size_t i = 0; i < n; i++)
            if (next[i] != HU_MAP_NONE && !tell_apart(names, shorts, (uint32_t)i, next, width, arena))
                return NULL;
    }
    return shorts;
}
