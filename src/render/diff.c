/* SPDX-License-Identifier: Apache-2.0
 * diff.c - what changed between two runs: one sentence first, then what it is made of, then what cannot be compared. */
#include "render/diff.h"

#include <math.h>

#include "advise/say.h"
#include "base/units.h"

enum { ROWS = 8, NUMBER = 11, NUMBERS = 4, LEAST_NAME = 20, LINE = 1024 };

#define MINUS "\xe2\x88\x92"

/* "+3.21 ms", with a true minus. */
static hu_said signed_time(double ns)
{
    hu_said s;

    snprintf(s.t, sizeof s.t, "%s%.24s", ns > 0 ? "+" : ns < 0 ? MINUS : "", hu_say_time(fabs(ns)).t);
    return s;
}

static hu_said signed_pct(double pct)
{
    hu_said s;

    snprintf(s.t, sizeof s.t, "%s%.24s", pct > 0 ? "+" : pct < 0 ? MINUS : "", hu_say_pct(fabs(pct)).t);
    return s;
}

/* Which run it is, and what holds it up. */
static void write_side(const hu_diff_report *r, int k, size_t width, hu_out *out)
{
    const hu_job *job = r->x->job[k];
    char          line[LINE + 64];

    hu_out_printf(out, "%c  ", 'A' + k);
    hu_units_clip_file(out, r->name[k], width - 3);
    hu_out_text(out, "\n   ");
    snprintf(line, sizeof line, "%s (confidence: %s)", job->verdict.text, hu_confidence_name(job->verdict.confidence));
    hu_units_paragraph(out, line, 3, width);
}

/* The class that makes most of the difference, in its direction. */
static const hu_class_change *main_class(const hu_difference *x)
{
    const double           all = x->step_ns[1] - x->step_ns[0];
    const hu_class_change *most = NULL;

    for (size_t i = 0; i < x->n_classes; i++) {
        const double change = x->class[i].b_ns - x->class[i].a_ns;

        if (change * all > 0 && (!most || fabs(change) > fabs(most->b_ns - most->a_ns)))
            most = &x->class[i];
    }
    return most;
}

static void say_steps(const hu_difference *x, char *out, size_t room)
{
    const double           a = x->step_ns[0], b = x->step_ns[1];
    const hu_class_change *most = main_class(x);
    size_t n = (size_t)snprintf(out, room, "A step takes %s in A and %s in B", hu_say_time(a).t, hu_say_time(b).t);

    if (x->spread_is_known && !x->is_clear) {
        snprintf(out + n, room - n, ": no difference that is larger than the steps of each vary.");
        return;
    }
    n += (size_t)snprintf(out + n, room - n, ": %s (%s)", signed_time(b - a).t,
                          signed_pct(a > 0 ? 100 * (b - a) / a : (double)NAN).t);
    if (most)
        n += (size_t)snprintf(out + n, room - n, ", most of it %s (%s)", most->words,
                              signed_time(most->b_ns - most->a_ns).t);
    snprintf(out + n, room - n, ".%s", x->spread_is_known ? "" : " Of one step alone nobody knows how much steps vary.");
}

/* A, B, B - A and B / A; what one of them lacks is not a time of 0. */
static void write_numbers(hu_out *out, double a_ns, double b_ns)
{
    char         text[HU_UNIT_BYTES];
    const bool   is_both = !isnan(a_ns) && !isnan(b_ns);
    const double ratio = is_both && a_ns > 0 ? b_ns / a_ns : (double)NAN;

    hu_units_time(text, a_ns);
    hu_units_right(out, text, NUMBER);
    hu_units_time(text, b_ns);
    hu_units_right(out, text, NUMBER);
    hu_units_right(out, is_both ? signed_time(b_ns - a_ns).t : isnan(a_ns) ? "only B" : "only A", NUMBER);
    if (isnan(ratio))
        hu_units_right(out, "\xe2\x80\x93", NUMBER);
    else {
        const size_t n = hu_format_fixed(text, ratio, ratio < 9.995 ? 2 : 0);

        memcpy(text + n, "\xc3\x97", sizeof "\xc3\x97");
        hu_units_right(out, text, NUMBER);
    }
}

static void open_table(hu_out *out, const char *title, const char *about)
{
    static const char *const heads[NUMBERS] = {"A", "B", "B " MINUS " A", "B / A"};

    hu_out_printf(out, "\n%s   %s\n", title, about);
    for (size_t i = 0; i < NUMBERS; i++)
        hu_units_right(out, heads[i], NUMBER);
    hu_out_text(out, "\n");
}

static void write_classes(const hu_difference *x, hu_out *out)
{
    if (x->n_classes == 0)
        return;
    open_table(out, "WHERE", "mean of the counted steps");
    for (size_t i = 0; i < x->n_classes; i++) {
        write_numbers(out, x->class[i].a_ns, x->class[i].b_ns);
        hu_out_printf(out, "  %s\n", x->class[i].words);
    }
}

/* "+1.2 GB", with a true minus. */
static void say_bytes(char *out, double bytes)
{
    char text[HU_UNIT_BYTES];

    hu_units_bytes(text, fabs(bytes));
    snprintf(out, HU_UNIT_BYTES, "%s%.24s", bytes > 0 ? "+" : bytes < 0 ? MINUS : "", text);
}

static void write_bytes(hu_out *out, const hu_bytes_change *c)
{
    const double values[] = {c->a_bytes, c->b_bytes};
    char         text[HU_UNIT_BYTES];
    const double ratio = c->a_bytes > 0 ? c->b_bytes / c->a_bytes : (double)NAN;

    for (size_t i = 0; i < HU_COUNT(values); i++) {
        if (isnan(values[i]))
            snprintf(text, sizeof text, "\xe2\x80\x93");
        else
            hu_units_bytes(text, values[i]);
        hu_units_right(out, text, NUMBER);
    }
    if (isnan(c->a_bytes) || isnan(c->b_bytes))
        snprintf(text, sizeof text, "\xe2\x80\x93");
    else
        say_bytes(text, c->b_bytes - c->a_bytes);
    hu_units_right(out, text, NUMBER);
    if (isnan(ratio)) {
        hu_units_right(out, "\xe2\x80\x93", NUMBER);
    } else {
        const size_t n = hu_format_fixed(text, ratio, ratio < 9.995 ? 2 : 0);

        memcpy(text + n, "\xc3\x97", sizeof "\xc3\x97");
        hu_units_right(out, text, NUMBER);
    }
}

/* Pools one behind the other, then who holds it. */
static void write_memory(const hu_difference *x, size_t width, hu_out *out)
{
    const hu_memory_difference *m = &x->memory;
    const size_t numbers = (size_t)NUMBERS * NUMBER + 2, room = width > numbers + LEAST_NAME ? width - numbers : LEAST_NAME;

    bool is_one = true;

    if (m->sums.n == 0)
        return;
    for (size_t i = 1; i < m->sums.n; i++)
        is_one &= hu_str_equal(m->sums.at[i].pool, m->sums.at[0].pool);
    open_table(out, "MEMORY", "kinds and holders are at the peak of their pool");
    for (size_t i = 0; i < m->sums.n; i++) {
        const hu_bytes_change *c = &m->sums.at[i];
        char                   words[200];

        write_bytes(out, c);
        if (is_one)
            snprintf(words, sizeof words, "%s", c->words);
        else
            snprintf(words, sizeof words, "%.*s %s", (int)(c->pool.n < 40 ? c->pool.n : 40), c->pool.p, c->words);
        hu_out_text(out, "  ");
        hu_units_clip(out, hu_str_of(words), room);
        hu_out_text(out, "\n");
    }
    for (size_t i = 0; i < m->holders.n && i < ROWS; i++) {
        write_bytes(out, &m->holders.at[i]);
        hu_out_text(out, "  ");
        hu_units_clip(out, m->holders.at[i].name, room);
        hu_out_text(out, "\n");
    }
    if (m->holders.n > ROWS)
        hu_out_printf(out, "  %zu more holders; --json has all\n", m->holders.n - ROWS);
}

/* The pool that holds most. */
static void say_memory(const hu_difference *x, char *out, size_t room)
{
    const hu_bytes_change *peak = &x->memory.sums.at[0];
    char                   a[HU_UNIT_BYTES], b[HU_UNIT_BYTES], more[HU_UNIT_BYTES];

    hu_units_bytes(a, peak->a_bytes);
    hu_units_bytes(b, peak->b_bytes);
    say_bytes(more, peak->b_bytes - peak->a_bytes);
    snprintf(out, room, "%.*s holds %s at its peak in A and %s in B: %s (%s).", (int)(peak->pool.n < 40 ? peak->pool.n : 40),
             peak->pool.p, a, b, more,
             signed_pct(peak->a_bytes > 0 ? 100 * (peak->b_bytes - peak->a_bytes) / peak->a_bytes : (double)NAN).t);
}

static void write_names(const hu_name_changes *names, const char *title, const char *about, size_t width, hu_out *out)
{
    const size_t numbers = (size_t)NUMBERS * NUMBER + 2, room = width > numbers + LEAST_NAME ? width - numbers : LEAST_NAME;

    if (names->n == 0)
        return;
    open_table(out, title, about);
    for (size_t i = 0; i < names->n && i < ROWS; i++) {
        const hu_name_change *c = &names->at[i];

        write_numbers(out, c->a_ns, c->b_ns);
        hu_out_text(out, "  ");
        hu_units_clip(out, c->short_name.n ? c->short_name : c->name, room);
        hu_out_text(out, "\n");
    }
    if (names->n > ROWS)
        hu_out_printf(out, "  %zu more; --json has all\n", names->n - ROWS);
}

/* "-51 % of the step", or that it is not known. */
static hu_said gain_of(const hu_finding *f)
{
    hu_said s;

    if (isnan(f->gain_pct))
        snprintf(s.t, sizeof s.t, "gain unknown");
    else
        snprintf(s.t, sizeof s.t, "%.24s %%", hu_say_saving(f->gain_pct).t);
    return s;
}

static void write_findings(const hu_difference *x, size_t width, hu_out *out)
{
    char line[LINE];

    if (x->n_findings)
        hu_out_text(out, "\nWHY     findings, with what a fix would change\n");
    for (size_t i = 0; i < x->n_findings; i++) {
        const hu_finding_change *c = &x->finding[i];
        const char              *title = hu_rule_title((c->a ? c->a : c->b)->rule);

        if (c->a && c->b)
            snprintf(line, sizeof line, "%s: %s in A, %s in B", title, gain_of(c->a).t, gain_of(c->b).t);
        else
            snprintf(line, sizeof line, "%s: %s in %c", title, gain_of(c->a ? c->a : c->b).t, c->a ? 'A' : 'B');
        hu_out_printf(out, "  %-6s", c->a && c->b ? "both" : c->a ? "gone" : "new");
        hu_units_paragraph(out, line, 8, width);
    }
}

/* "not compared (steps and classes of time; host times of operators): WHY", or a note. */
static void write_obstacle(const hu_obstacle *o, size_t width, hu_out *out)
{
    char   line[LINE];
    size_t n = 0;

    for (hu_difference_part p = 0; p < HU_DIFFERENCE_COUNT; p++)
        if (o->parts >> p & 1u)
            n += (size_t)snprintf(line + n, sizeof line - n, "%s%s", n ? "; " : "not compared (",
                                  hu_difference_part_words(p));
    snprintf(line + n, sizeof line - n, "%s%s", n ? "): " : "note: ", o->why);
    hu_units_paragraph(out, line, 0, width);
}

void hu_diff_text(const hu_diff_report *r, size_t width, hu_out *out)
{
    const hu_difference *x = r->x;
    char                 line[LINE], missing[2][HU_UNREAD_TEXT];
    const char          *of = x->is_per_step ? "of a step" : "mean of a call";

    for (int k = 0; k < 2; k++)
        write_side(r, k, width, out);
    hu_out_text(out, "\n");
    if (hu_difference_has(x, HU_DIFFERENCE_STEPS)) {
        say_steps(x, line, sizeof line);
        hu_units_paragraph(out, line, 0, width);
    }
    if (x->of_memory && x->memory.sums.n) {
        say_memory(x, line, sizeof line);
        hu_units_paragraph(out, line, 0, width);
    } else if (x->of_memory) {
        hu_units_paragraph(out, "nothing to compare: the snapshots have no pool in common", 0, width);
    }
    for (size_t i = 0; i < x->n_obstacles; i++)
        write_obstacle(&x->obstacle[i], width, out);
    hu_unread_say(&r->unread, r->n_read, missing[0], sizeof missing[0]);
    hu_unread_say_partial(&r->partial, r->n_read, missing[1], sizeof missing[1]);
    for (size_t i = 0; i < HU_COUNT(missing); i++)
        if (missing[i][0])
            hu_units_paragraph(out, missing[i], 0, width);
    write_classes(x, out);
    write_memory(x, width, out);
    snprintf(line, sizeof line, "host time without what is inside, %s; most changed first", of);
    write_names(&x->operators, "OPERATORS", line, width, out);
    snprintf(line, sizeof line, "GPU time, %s; most changed first", of);
    write_names(&x->kernels, "KERNELS", line, width, out);
    write_findings(x, width, out);
    hu_out_text(out, "\nnext  holdup view A B      shows the same with its slices (view Compare)\n");
}
