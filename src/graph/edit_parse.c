/* SPDX-License-Identifier: Apache-2.0
 * edit_parse.c - edits as people write them: data=0, kernel:*gemm*x1.5, comm=overlap, launch/4. */
#include <math.h>

#include "base/number.h"
#include "graph/edit.h"

enum { SHAPE_OFF, SHAPE_FACTOR, SHAPE_GLOB, SHAPE_RANK };

static const struct {
    const char *word, *about;
    int         shape;
} words[] = {
#define E(id, word, shape, about) [HU_EDIT_##id] = {word, about, SHAPE_##shape},
    HU_EDITS(E)
#undef E
};

const char *hu_edit_word(hu_edit_kind kind)
{
    return words[kind].word;
}

const char *hu_edit_about(hu_edit_kind kind)
{
    return words[kind].about;
}

const char *hu_edit_shape(hu_edit_kind kind)
{
    static const char *const shapes[] = {
        [SHAPE_OFF] = "=0", [SHAPE_FACTOR] = "xN", [SHAPE_GLOB] = ":GLOBxN", [SHAPE_RANK] = ":N"};

    return shapes[words[kind].shape];
}

bool hu_edit_has_name(hu_edit_kind kind)
{
    return words[kind].shape == SHAPE_GLOB;
}

/* Behind the word: "=0", "=off", "=overlap", "x1.5", "*1.5", "/4", "×1.5". */
static bool parse_how(hu_str how, hu_edit *e)
{
    static const struct {
        const char     *text;
        hu_edit_kind    kind; /* HU_EDIT_KINDS: any */
        hu_edit_flavour flavour;
    } named[] = {
        {"0", HU_EDIT_KINDS, HU_EDIT_FREE},           {"off", HU_EDIT_KINDS, HU_EDIT_FREE},
        {"free", HU_EDIT_KINDS, HU_EDIT_FREE},        {"real", HU_EDIT_KINDS, HU_EDIT_REALISTIC},
        {"workers", HU_EDIT_DATA, HU_EDIT_REALISTIC}, {"async", HU_EDIT_COPY, HU_EDIT_REALISTIC},
        {"graph", HU_EDIT_LAUNCH, HU_EDIT_REALISTIC}, {"overlap", HU_EDIT_COMM, HU_EDIT_REALISTIC},
        {"on", HU_EDIT_TENSOR, HU_EDIT_REALISTIC},    {"on", HU_EDIT_FUSE, HU_EDIT_REALISTIC},
    };
    static const char *const times[] = {"x", "*", "/", "\xc3\x97", "\xc3\xb7"};
    double                   factor;

    if (hu_str_starts(how, HU_STR("="))) {
        const hu_str word = {how.p + 1, how.n - 1};

        for (size_t i = 0; i < HU_COUNT(named); i++) {
            if ((named[i].kind != HU_EDIT_KINDS && named[i].kind != e->kind) ||
                !hu_str_equal(word, hu_str_of(named[i].text)))
                continue;
            e->factor = INFINITY;
            e->flavour = named[i].flavour;
            return true;
        }
        return false;
    }
    for (size_t i = 0; i < HU_COUNT(times); i++) {
        const hu_str sign = hu_str_of(times[i]);

        if (hu_str_starts(how, sign) && hu_parse_f64((hu_str){how.p + sign.n, how.n - sign.n}, &factor) && factor > 0 &&
            isfinite(factor)) {
            e->factor = factor;
            return words[e->kind].shape != SHAPE_OFF && words[e->kind].shape != SHAPE_RANK;
        }
    }
    return false;
}

/* Where the glob ends: the last sign before a number or a word that parse_how takes. */
static bool parse_glob(hu_str rest, hu_edit *e)
{
    for (size_t n = rest.n; n-- > 2 && rest.p[0] == ':';) {
        if (!parse_how((hu_str){rest.p + n, rest.n - n}, e))
            continue;
        e->glob = (hu_str){rest.p + 1, n - 1};
        return true;
    }
    return false;
}

/* ":5" */
static bool parse_rank(hu_str rest, hu_edit *e)
{
    return rest.n > 1 && rest.p[0] == ':' && hu_parse_i64((hu_str){rest.p + 1, rest.n - 1}, &e->rank) && e->rank >= 0;
}

/* "comm=x2" and "comm=2": a factor where the word asks for "=0" or "x2". */
static bool is_factor(hu_edit_kind kind, hu_str rest, hu_str *number)
{
    hu_edit e = {.kind = kind};
    double  factor;

    if (words[kind].shape != SHAPE_FACTOR || !hu_str_starts(rest, HU_STR("=")))
        return false;
    rest = (hu_str){rest.p + 1, rest.n - 1};
    *number = rest;
    if (parse_how(rest, &e) && rest.p[0] == 'x')
        *number = (hu_str){rest.p + 1, rest.n - 1};
    return hu_parse_f64(*number, &factor) && factor > 0 && isfinite(factor);
}

/* How the edit is written: the shape that its row of --list-edits has, and words that can be copied. */
static int fail_shape(hu_edit_kind kind, const char *text, hu_error *err)
{
    static const char *const examples[] = {
        [SHAPE_OFF] = "=0", [SHAPE_FACTOR] = "x2", [SHAPE_GLOB] = ":*gemm*x1.5", [SHAPE_RANK] = ":5"};
    const char *word = words[kind].word;
    const int   shape = words[kind].shape;
    hu_str      number;

    if (is_factor(kind, hu_str_of(text + strlen(word)), &number))
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "cannot read the edit \"%.64s\"; did you mean %sx%.*s?", text,
                       word, HU_FMT(number));
    if (shape == SHAPE_OFF)
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "cannot read the edit \"%.64s\"; write %s=0", text, word);
    if (shape == SHAPE_GLOB)
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "cannot read the edit \"%.64s\"; write %s%s, such as %s%s", text,
                       word, hu_edit_shape(kind), word, examples[shape]);
    return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "cannot read the edit \"%.64s\"; write %s%s, such as %s%s, or %s=0",
                   text, word, hu_edit_shape(kind), word, examples[shape], word);
}

int hu_edit_parse(const char *text, hu_edit *out, hu_error *err)
{
    const hu_str s = hu_str_of(text);

    for (hu_edit_kind k = 0; k < HU_EDIT_KINDS; k++) {
        const size_t n = strlen(words[k].word);
        const hu_str rest = {s.p + n, s.n > n ? s.n - n : 0};
        hu_edit      e = {.kind = k, .factor = INFINITY, .rank = -1};

        /* the word ends where its argument begins: "op:" is not "optimizer" */
        if (!hu_str_starts(s, hu_str_of(words[k].word)) ||
            (rest.n && rest.p[0] >= 'a' && rest.p[0] <= 'z' && rest.p[0] != 'x'))
            continue;
        if (words[k].shape == SHAPE_GLOB   ? !parse_glob(rest, &e)
            : words[k].shape == SHAPE_RANK ? !parse_rank(rest, &e) && !parse_how(rest, &e)
                                           : !parse_how(rest, &e))
            return fail_shape(k, text, err);
        *out = e;
        return 0;
    }
    return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "no edit \"%.64s\"; holdup whatif --list-edits lists them", text);
}
