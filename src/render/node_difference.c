/* SPDX-License-Identifier: Apache-2.0
 * node_difference.c - what changed over all GPUs in a sentence, then all of it, and troubles that are gone or new. */
#include "render/node_difference.h"

#include <math.h>
#include <stdarg.h>

#include "advise/say.h"

enum { NUMBER = 12, LINE = HU_NODE_DIFFERENCE_LINE, ROWS = 16, NOTE = HU_NODE_DIFFERENCE_NOTE, NAME = 40 };

#define MINUS "\xe2\x88\x92"

static const double MUCH = 5; /* percent, or points: below it a change is in the table alone */

static const double LEAST_SAID = 0.05; /* what is not "0.0" with a digit behind the point */

static const struct {
    const char *key, *words, *unit;
    bool        is_share;
} kinds[] = {
#define C(id, key, words, unit, is_share) {key, words, unit, is_share},
    HU_NODE_CHANGES(C)
#undef C
};

static hu_said say_value(hu_node_change_kind kind, double value)
{
    hu_said s;

    if (isnan(value))
        snprintf(s.t, sizeof s.t, "\xe2\x80\x93");
    else if (kind == HU_NODE_CHANGE_MEMORY)
        hu_units_bytes(s.t, value);
    else if (kinds[kind].is_share && value > 0)
        s = hu_say_pct(value);
    else
        snprintf(s.t, sizeof s.t, "%.20s %s", hu_say_count((int64_t)llround(value)).t, kinds[kind].unit);
    return s;
}

/* In points of a share, else in percent of A; NaN: A is 0. */
static double size_of(const hu_node_change *c, hu_node_change_kind kind)
{
    return kinds[kind].is_share ? c->b - c->a : c->a > 0 ? 100 * (c->b - c->a) / c->a : (double)NAN;
}

static hu_said say_size(double by, hu_node_change_kind kind)
{
    hu_said s;

    if (isnan(by))
        snprintf(s.t, sizeof s.t, "\xe2\x80\x93");
    else if (kinds[kind].is_share)
        snprintf(s.t, sizeof s.t, "%.*f point%s", fabs(by) < 9.95, fabs(by), fabs(fabs(by) - 1) < 0.05 ? "" : "s");
    else
        s = hu_say_pct(fabs(by));
    return s;
}

/* ---- sentences --------------------------------------------------------------------------------------------------- */

__attribute__((format(printf, 3, 4))) static void put(char line[HU_NODE_DIFFERENCE_LINE], size_t *n, const char *format, ...)
{
    va_list list;
    int     more;

    va_start(list, format);
    more = vsnprintf(line + *n, LINE - *n, format, list);
    va_end(list);
    *n = more < 0 || *n + (size_t)more >= LINE ? LINE - 1 : *n + (size_t)more;
}

static size_t fewest_looks(const hu_node_answer *a)
{
    size_t n = a->looks;

    for (size_t i = 0; i < a->n; i++)
        n = a->at[i].looks < n ? a->at[i].looks : n;
    return n;
}

/* Is there a quantity of which both have enough samples? */
static bool knows_any(const hu_node_change of[HU_NODE_CHANGE_KINDS])
{
    for (hu_node_change_kind k = 0; k < HU_NODE_CHANGE_KINDS; k++)
        if (!isnan(of[k].error))
            return true;
    return false;
}

/* Over all, or of any GPU where the runs have not the same ones. */
static bool can_tell(const hu_node_difference *x)
{
    for (size_t i = 0; !x->has_all && i < x->n; i++)
        if (knows_any(x->at[i].of))
            return true;
    return x->has_all && knows_any(x->all);
}

/* "utilization rose by 32 points to 93 %" */
static void say_changes(const hu_node_difference *x, char line[HU_NODE_DIFFERENCE_LINE])
{
    size_t n = 0, said = 0, of = 0;

    for (hu_node_change_kind k = 0; k < HU_NODE_CHANGE_KINDS; k++)
        of += x->all[k].is_clear && !(fabs(size_of(&x->all[k], k)) < MUCH);
    put(line, &n, "%s ", x->n == 1 ? "On the GPU" : "Over all GPUs,");
    if (of == 0) {
        put(line, &n, "nothing changed beyond its own variation by %.0f %% or more.", MUCH);
        return;
    }
    for (hu_node_change_kind k = 0; k < HU_NODE_CHANGE_KINDS; k++) {
        const hu_node_change *c = &x->all[k];
        const double          by = size_of(c, k);

        if (!c->is_clear || fabs(by) < MUCH)
            continue;
        put(line, &n, "%s%s %s ",
            said == 0        ? ""
            : said + 1 == of ? " and "
                             : ", ",
            kinds[k].words, c->b > c->a ? "rose" : "fell");
        if (isnan(by))
            put(line, &n, "from %s to %s", say_value(k, c->a).t, say_value(k, c->b).t);
        else
            put(line, &n, "by %s to %s", say_size(by, k).t, say_value(k, c->b).t);
        said++;
    }
    put(line, &n, ".");
}

void hu_node_difference_words(const hu_node_difference *x, char line[HU_NODE_DIFFERENCE_LINE])
{
    size_t n = 0;

    if (x->n == 0)
        put(line, &n, "Cannot compare: no GPU is in both files (%zu in A, %zu in B).", x->run[0]->n, x->run[1]->n);
    else if (!can_tell(x))
        put(line, &n,
            "Cannot tell what changed: the GPUs have %s sample%s in A and %s in B, and fewer than %d of each run do not "
            "show how much it varies.",
            hu_say_count((int64_t)fewest_looks(x->run[0])).t, hu_plural((int64_t)fewest_looks(x->run[0])),
            hu_say_count((int64_t)fewest_looks(x->run[1])).t, HU_NODE_LEAST_SAMPLES);
    else if (!x->has_all)
        put(line, &n,
            "Cannot tell what changed over all: the runs have different GPUs (%zu in A, %zu in B); those that both have are "
            "compared one by one.",
            x->run[0]->n, x->run[1]->n);
    else
        say_changes(x, line);
}

/* Of every kind that one run alone has, on any GPU. */
static void note_one_sided(const hu_node_difference *x, int run, char note[NOTE])
{
    size_t n = 0;
    bool   any = false;

    for (hu_node_change_kind k = 0; k < HU_NODE_CHANGE_KINDS; k++) {
        bool is = x->n > 0;

        for (size_t i = 0; i < x->n; i++) {
            const hu_node_change *c = &x->at[i].of[k];

            is &= run == 0 ? !isnan(c->a) && isnan(c->b) : isnan(c->a) && !isnan(c->b);
        }
        if (!is)
            continue;
        n += (size_t)snprintf(note + n, NOTE - n, "%s%s",
                              any        ? ", "
                              : run == 0 ? "only A tells of "
                                         : "only B tells of ",
                              kinds[k].words);
        any = true;
    }
    if (!any)
        note[0] = '\0';
}

size_t hu_node_difference_notes(const hu_node_difference *x, char notes[HU_NODE_DIFFERENCE_NOTES][HU_NODE_DIFFERENCE_NOTE])
{
    size_t n = 0;

    if (x->are_others)
        snprintf(notes[n++], NOTE, "the GPUs of A are others than those of B; they are compared by their numbers");
    if (x->is_by_number)
        snprintf(notes[n++], NOTE, "the files do not both name GPUs by their UUIDs; they are compared by their numbers");
    for (int k = 0; k < 2 && x->n; k++)
        if (x->only[k])
            snprintf(notes[n++], NOTE, "%zu GPU%s in %c alone", x->only[k], x->only[k] == 1 ? " is" : "s are", 'A' + k);
    for (size_t i = 0; i < x->n; i++) {
        const hu_node_gpu *a = x->at[i].a->gpu, *b = x->at[i].b->gpu;

        if (a->name.n && b->name.n && !hu_str_equal(a->name, b->name)) {
            snprintf(notes[n++], NOTE, "GPU %lld is a %.*s in A and a %.*s in B", (long long)a->number,
                     a->name.n < NAME ? (int)a->name.n : NAME, a->name.p, b->name.n < NAME ? (int)b->name.n : NAME,
                     b->name.p);
            break;
        }
    }
    for (int k = 0; k < 2; k++) {
        note_one_sided(x, k, notes[n]);
        n += notes[n][0] != '\0';
    }
    return n;
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

static void write_row(const hu_node_change *c, hu_node_change_kind kind, hu_out *out)
{
    const double by = size_of(c, kind);
    char         text[HU_UNIT_BYTES + 8];

    if (!hu_node_change_is_of_both(c))
        return;
    snprintf(text, sizeof text, "%s%.40s",
             isnan(by) || fabs(by) < LEAST_SAID ? ""
             : by > 0                           ? "+"
                                                : MINUS,
             say_size(by, kind).t);
    hu_units_right(out, say_value(kind, c->a).t, NUMBER);
    hu_units_right(out, say_value(kind, c->b).t, NUMBER);
    hu_units_right(out, text, NUMBER);
    hu_out_printf(out, "  %s%s\n", kinds[kind].words,
                  c->is_clear                ? ""
                  : isnan(c->error)          ? " (cannot tell)"
                  : !(fabs(c->b - c->a) > 0) ? ""
                                             : " (within its variation)");
}

static void write_changes(const hu_node_change of[HU_NODE_CHANGE_KINDS], hu_out *out)
{
    for (hu_node_change_kind k = 0; k < HU_NODE_CHANGE_KINDS; k++)
        write_row(&of[k], k, out);
}

static void write_gpu(const hu_node_gpu_change *g, hu_out *out)
{
    const hu_node_gpu *gpu = g->a->gpu;

    if (gpu->is_unnumbered)
        hu_out_printf(out, "\nGPU %.*s  ", HU_FMT(gpu->bus));
    else
        hu_out_printf(out, "\nGPU %lld  ", (long long)gpu->number);
    if (gpu->name.n) {
        hu_units_clip(out, gpu->name, NAME);
        hu_out_text(out, ", ");
    }
    if (gpu->host.n) {
        hu_units_clip(out, gpu->host, NAME);
        hu_out_text(out, ", ");
    }
    hu_out_printf(out, "%s and %s samples\n", hu_say_count((int64_t)g->a->looks).t, hu_say_count((int64_t)g->b->looks).t);
    write_changes(g->of, out);
}

static const hu_node_trouble *trouble_of(const hu_node_answer *a, hu_node_says kind, size_t *i)
{
    for (*i = 0; *i < a->n_troubles; ++*i)
        if (a->troubles[*i].kind == kind)
            return &a->troubles[*i];
    return NULL;
}

const char *hu_node_difference_trouble(const hu_node_report run[2], hu_node_says kind, size_t *of, size_t *i)
{
    size_t     at[2];
    const bool in_a = trouble_of(run[0].answer, kind, &at[0]) != NULL,
               in_b = trouble_of(run[1].answer, kind, &at[1]) != NULL;

    *of = in_b ? 1 : 0;
    *i = at[*of];
    return in_a && in_b ? "both" : in_a ? "gone" : in_b ? "new" : NULL;
}

static void write_troubles(const hu_node_report run[2], size_t width, hu_out *out)
{
    bool any = false;

    for (hu_node_says kind = 0; kind < HU_NODE_SAYS_KINDS; kind++) {
        size_t      of, i;
        const char *words = hu_node_difference_trouble(run, kind, &of, &i);

        if (!words)
            continue;
        hu_out_printf(out, "%s%-6s", any ? "" : "\nTROUBLE\n", words);
        hu_units_wrap(out, hu_node_trouble_sentence(&run[of], i), 6, 6, width);
        hu_out_text(out, "\n");
        any = true;
    }
}

void hu_node_difference_text(const hu_node_difference *x, const hu_node_report run[2], const hu_str name[2], hu_out *out)
{
    const size_t width = run[0].width;
    char         line[LINE], notes[HU_NODE_DIFFERENCE_NOTES][NOTE];
    const size_t n_notes = hu_node_difference_notes(x, notes);

    for (int k = 0; k < 2; k++) {
        hu_out_printf(out, "%c  ", 'A' + k);
        hu_units_clip_file(out, name[k], width - 3);
        hu_out_text(out, "\n");
    }
    hu_node_difference_words(x, line);
    hu_out_text(out, "\n");
    hu_units_paragraph(out, line, 0, width);
    for (size_t i = 0; i < n_notes; i++) {
        snprintf(line, sizeof line, "note: %s", notes[i]);
        hu_units_paragraph(out, line, 0, width);
    }
    if (x->n) {
        hu_out_text(out, "\n");
        hu_units_right(out, "A", NUMBER);
        hu_units_right(out, "B", NUMBER);
        hu_units_right(out, "change", NUMBER);
        hu_out_text(out, "  means\n");
    }
    if (x->has_all && x->n > 1) {
        hu_out_printf(out, "\nALL %zu GPUs\n", x->n);
        write_changes(x->all, out);
    }
    for (size_t i = 0; i < x->n && i < ROWS; i++)
        write_gpu(&x->at[i], out);
    if (x->n > ROWS)
        hu_out_printf(out, "\n%zu more GPUs; --json has all\n", x->n - ROWS);
    write_troubles(run, width, out);
    hu_out_text(out, "\n");
    hu_units_paragraph(
        out, "Whether the job got faster, and what the GPUs waited for, samples do not say: compare traces or logs of both.",
        0, width);
}
