/* SPDX-License-Identifier: Apache-2.0
 * report_text.c - what `holdup doctor` prints: what is worst first, each with its evidence, why it matters and a fix. */
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/units.h"
#include "doctor/diagnosis.h"

enum { INDENT = 6, FIX = 11, LIST_COLUMN = 24, MOST_REASONS = 64 };

static const struct {
    const char *word, *color;
} faces[] = {
    [HU_VERDICT_NOT_CHECKED] = {"?", "2"}, [HU_VERDICT_NONE] = {"–", "2"},        [HU_VERDICT_OK] = {"ok", "32"},
    [HU_VERDICT_NOTE] = {"note", "36"},    [HU_VERDICT_WARNING] = {"WARN", "33"}, [HU_VERDICT_FAILURE] = {"FAIL", "1;31"},
};

typedef struct {
    const hu_diagnosis       *d;
    const hu_diagnosis_style *style;
    hu_out                   *out;
} printer;

static void put_face(const printer *p, hu_verdict_of_check v)
{
    const size_t width = hu_units_width(hu_str_of(faces[v].word));

    if (p->style->color)
        hu_out_printf(p->out, "\033[%sm", faces[v].color);
    hu_out_text(p->out, faces[v].word);
    if (p->style->color)
        hu_out_text(p->out, "\033[0m");
    for (size_t i = width; i < INDENT; i++)
        hu_out_text(p->out, " ");
}

static void put_line(const printer *p, const char *label, const char *text)
{
    const size_t indent = label[0] ? FIX : INDENT;

    hu_out_printf(p->out, "%*s%-*s", INDENT, "", label[0] ? FIX - INDENT : 0, label);
    hu_units_wrap_whole(p->out, hu_str_of(text), indent, indent, p->style->width);
    hu_out_text(p->out, "\n");
}

/* Subject and evidence as one text. */
static void put_answer(const printer *p, const hu_answer *a)
{
    char text[5000];

    snprintf(text, sizeof text, "%s%s%s", a->subject ? a->subject : "", a->subject ? ": " : "", a->text);
    put_line(p, "", text);
}

/* All answers of a check that have this verdict; fixes that are the same stand once, behind them. */
static void put_check(const printer *p, const hu_examined *x, hu_verdict_of_check v)
{
    const bool is_bad = v >= HU_VERDICT_NOTE;

    put_face(p, v);
    hu_out_printf(p->out, "%s  [%s]\n", x->check->title, x->check->id);
    for (size_t i = 0; i < x->answers.n; i++) {
        const hu_answer *a = &x->answers.at[i];

        if (a->verdict != v)
            continue;
        put_answer(p, a);
        if (!is_bad || !a->fix[0])
            continue;
        for (size_t k = i + 1; k < x->answers.n; k++)
            if (x->answers.at[k].verdict == v && strcmp(x->answers.at[k].fix, a->fix) == 0)
                goto said_later;
        put_line(p, "fix:", a->fix);
    said_later:;
    }
    if (v >= HU_VERDICT_WARNING)
        put_line(p, "why:", x->check->why);
}

static bool has(const hu_examined *x, hu_verdict_of_check v)
{
    for (size_t i = 0; i < x->answers.n; i++)
        if (x->answers.at[i].verdict == v)
            return true;
    return false;
}

static void put_all_of(const printer *p, hu_verdict_of_check v)
{
    for (size_t i = 0; i < p->d->checks.n; i++)
        if (has(&p->d->checks.at[i], v))
            put_check(p, &p->d->checks.at[i], v);
}

/* -- the last lines ---------------------------------------------------------------------------------------------------- */

typedef struct {
    const char *why;
    size_t      n;
} reason;

/* Why checks could not look: the first reason of each, the most frequent one first. */
static size_t gather(const hu_diagnosis *d, reason *out)
{
    size_t n = 0;

    for (size_t i = 0; i < d->checks.n; i++) {
        const hu_examined *x = &d->checks.at[i];

        if (x->verdict != HU_VERDICT_NOT_CHECKED)
            continue;
        for (size_t k = 0; k < x->answers.n; k++) {
            size_t r = 0;

            if (x->answers.at[k].verdict != HU_VERDICT_NOT_CHECKED)
                continue;
            while (r < n && strcmp(out[r].why, x->answers.at[k].text) != 0)
                r++;
            if (r == n && n == MOST_REASONS)
                break;
            out[r] = r == n ? (reason){x->answers.at[k].text, 1} : (reason){out[r].why, out[r].n + 1};
            n += r == n;
            break;
        }
    }
    for (size_t i = 1; i < n; i++)
        for (size_t k = i; k > 0 && out[k].n > out[k - 1].n; k--) {
            const reason swap = out[k];

            out[k] = out[k - 1];
            out[k - 1] = swap;
        }
    return n;
}

static void put_count(char *text, size_t room, const char *before, size_t n, const char *one, const char *many)
{
    const size_t used = strlen(text);

    snprintf(text + used, room - used, "%s%zu %s", before, n, n == 1 ? one : many);
}

static void put_sum(const printer *p)
{
    const size_t *n = p->d->counts;
    reason        reasons[MOST_REASONS];
    const size_t  n_reasons = gather(p->d, reasons);
    char          text[8192] = "";

    put_count(text, sizeof text, "", n[HU_VERDICT_FAILURE], "failure", "failures");
    put_count(text, sizeof text, ", ", n[HU_VERDICT_WARNING], "warning", "warnings");
    put_count(text, sizeof text, ", ", n[HU_VERDICT_NOTE], "note", "notes");
    put_count(text, sizeof text, ", ", n[HU_VERDICT_OK], "ok", "ok");
    put_count(text, sizeof text, ", ", n[HU_VERDICT_NOT_CHECKED], "not checked", "not checked");
    for (size_t i = 0; i < n_reasons; i++) {
        const size_t used = strlen(text);

        snprintf(text + used, sizeof text - used, "%s%s", i ? "; " : ": ", reasons[i].why);
        if (reasons[i].n > 1)
            put_count(text, sizeof text, " (", reasons[i].n, "checks)", "checks)");
    }
    hu_units_wrap_whole(p->out, hu_str_of(text), 0, 2, p->style->width);
    hu_out_text(p->out, "\n");
}

static void put_heading(const printer *p)
{
    char text[1024];

    snprintf(text, sizeof text, "holdup doctor: %s%s%zu checks of %s", p->d->host, p->d->host[0] ? ", " : "", p->d->checks.n,
             strcmp(p->d->scope, "job") == 0 ? "the node and this process' place on it" : "the node");
    if (p->d->root) {
        const size_t used = strlen(text);

        snprintf(text + used, sizeof text - used, ", read from %s", p->d->root);
    }
    hu_units_wrap_whole(p->out, hu_str_of(text), 0, 2, p->style->width);
    hu_out_text(p->out, "\n\n");
}

void hu_diagnosis_write_text(const hu_diagnosis *d, const hu_diagnosis_style *style, hu_out *out)
{
    const printer p = {d, style, out};

    if (style->failures_only) {
        put_all_of(&p, HU_VERDICT_FAILURE);
        return;
    }
    put_heading(&p);
    put_all_of(&p, HU_VERDICT_FAILURE);
    put_all_of(&p, HU_VERDICT_WARNING);
    put_all_of(&p, HU_VERDICT_NOTE);
    if (style->all) {
        put_all_of(&p, HU_VERDICT_OK);
        for (size_t i = 0; i < d->checks.n; i++)
            for (hu_verdict_of_check v = HU_VERDICT_NOT_CHECKED; v <= HU_VERDICT_NONE; v++)
                if (has(&d->checks.at[i], v))
                    put_check(&p, &d->checks.at[i], v);
    }
    if (style->all || d->counts[HU_VERDICT_FAILURE] + d->counts[HU_VERDICT_WARNING] + d->counts[HU_VERDICT_NOTE])
        hu_out_text(out, "\n");
    put_sum(&p);
}

void hu_checks_write_text(size_t width, hu_out *out)
{
    for (const hu_topic_of_checks *t = hu_doctor_topics; t->name; t++) {
        if (!t->checks->id)
            continue;
        hu_out_printf(out, "%s\n", t->name);
        for (const hu_check *c = t->checks; c->id; c++) {
            char text[512];

            snprintf(text, sizeof text, "%s%s%s", c->title, c->when & HU_CHECK_OF_NODE ? "" : " (with --job)",
                     c->when & HU_CHECK_IN_PROLOG ? " (also with --prolog)" : "");
            hu_out_printf(out, "  %-*s", LIST_COLUMN - 2, c->id);
            hu_units_wrap(out, hu_str_of(text), LIST_COLUMN, LIST_COLUMN, width);
            hu_out_text(out, "\n");
        }
    }
}
