/* SPDX-License-Identifier: Apache-2.0
 * slowdown.c - the answer of `holdup stragglers` for people: a paragraph, then the tables that it is made of. */
#include "render/slowdown.h"

#include <math.h>

#include "advise/say.h"
#include "render/text/text.h"
#include "base/units.h"

enum { SENTENCE = 2048, NAMED_STEPS = 5, NAME_WIDTH = 27 };

/* "1.97x" */
static hu_said times(double value)
{
    hu_said s;
    char    number[HU_NUMBER_BYTES];

    if (!isfinite(value)) {
        snprintf(s.t, sizeof s.t, "\xe2\x80\x93");
        return s;
    }
    hu_format_fixed(number, value, value < 99.5 ? 2 : 0);
    snprintf(s.t, sizeof s.t, "%s\xc3\x97", number);
    return s;
}

/* "108 %", or a dash */
static hu_said share(double value)
{
    hu_said s;

    if (isfinite(value))
        return hu_say_pct(100 * value);
    snprintf(s.t, sizeof s.t, "\xe2\x80\x93");
    return s;
}

static hu_said step_time(double ns)
{
    hu_said s;
    char    text[HU_UNIT_BYTES];

    hu_units_time(text, ns);
    snprintf(s.t, sizeof s.t, "%.*s", (int)sizeof s.t - 1, text);
    return s;
}

static const hu_pipeline_worker *worker_of(const hu_slowdown *s, const hu_slowdown_part *part)
{
    return &s->pipeline->workers[part->id];
}

/* Who it is, as the subject of a sentence. */
static void name_suspect(const hu_slowdown *s, const hu_suspect *x, char *out, size_t room)
{
    const hu_pipeline_worker *w;

    switch (x->blame) {
    case HU_BLAME_WORKER:
        w = worker_of(s, x->part);
        if (w->rank >= 0)
            snprintf(out, room, "rank %d (dp %u, stage %u)", w->rank, w->dp, w->stage);
        else
            snprintf(out, room, "the worker of dp %u, stage %u", w->dp, w->stage);
        break;
    case HU_BLAME_WORKERS:
        snprintf(out, room, "the top %zu workers together", x->count);
        break;
    case HU_BLAME_STAGE:
        snprintf(out, room, "stage %u", x->part->id);
        break;
    case HU_BLAME_DP_RANK:
        snprintf(out, room, "dp rank %u", x->part->id);
        break;
    case HU_BLAME_LENGTHS:
        snprintf(out, room, "microbatches of unequal length");
        break;
    case HU_BLAME_TYPE:
        snprintf(out, room, "%s", x->part->name);
        break;
    }
}

/* What would mend it, and what to look at. */
static const char *advice(const hu_slowdown *s, const hu_suspect *x)
{
    switch (x->blame) {
    case HU_BLAME_WORKER:
        return "Check its GPUs, clocks, links and host, or remove it from the job.";
    case HU_BLAME_WORKERS:
        return "Check what their machines have in common.";
    case HU_BLAME_STAGE:
        return x->part->id + 1 == s->pipeline->n_stages
                   ? "It has more work than the others: give it fewer layers, since it also computes the loss."
                   : "It has more work than the others: give it fewer layers.";
    case HU_BLAME_DP_RANK:
        return "All its stages are late: check its data and what its machines have in common.";
    case HU_BLAME_LENGTHS:
        return "Balance the sequences so that microbatches take the same time.";
    default:
        return "";
    }
}

/* Where launch delays cost as much as would make somebody a suspect. */
static void say_delays(const hu_slowdown *s, char *out, size_t room)
{
    const hu_slowdown_part *most = s->launch_types.n ? &s->launch_types.at[0] : NULL;

    if (!(s->launch_slowdown >= HU_SLOWDOWN_LEAST) || !most)
        return;
    snprintf(out, room,
             " As recorded it takes %s: operations also start later than the table explains (host, data). Most of that is "
             "the delay of %s, %s of a step.",
             step_time(s->measured_ns).t, strcmp(most->name, "first-op") == 0 ? "the first operation of a step" : most->name,
             share((most->delayed_ns - s->original_ns) / s->measured_ns).t);
}

void hu_slowdown_sentence(const hu_slowdown *s, char *out, size_t room)
{
    hu_suspect   suspects[HU_SUSPECTS];
    const size_t n_suspects = hu_slowdown_suspects(s, suspects);
    char         who[96];
    size_t       n;

    n = (size_t)snprintf(out, room, "A step takes %s; with equal workers it would take %s: a slowdown of %s.",
                         step_time(s->original_ns).t, step_time(s->ideal_ns).t, times(s->slowdown).t);
    if (n_suspects == 0 && n < room)
        n += (size_t)snprintf(out + n, room - n, "%s",
                              s->slowdown >= HU_SLOWDOWN_LEAST
                                  ? " No single worker, stage or operation type explains half of that."
                                  : " No straggler found.");
    for (size_t i = 0; i < n_suspects && n < room; i++) {
        name_suspect(s, &suspects[i], who, sizeof who);
        if (i == 0)
            n += (size_t)snprintf(
                out + n, room - n, " Cause: %s. If it matched the mean, a step would take %s, %s less (%s of the loss).%s%s",
                who, step_time(suspects[i].fixed_ns).t, share((s->original_ns - suspects[i].fixed_ns) / s->original_ns).t,
                share(suspects[i].explained).t, *advice(s, &suspects[i]) ? " " : "", advice(s, &suspects[i]));
        else
            n += (size_t)snprintf(out + n, room - n, "%s %s (%s)%s",
                                  i == 1 ? " Half of it or more is also explained by:" : ",", who,
                                  share(suspects[i].explained).t, i + 1 == n_suspects ? "." : "");
    }
    if (n < room)
        say_delays(s, out + n, room - n);
}

static void head(hu_text_page *p, const char *title, const char *columns)
{
    hu_out_text(p->out, "\n");
    hu_text_heading(p, title);
    hu_text_right(p, columns, NAME_WIDTH + 2 - hu_units_width(hu_str_of(title)));
    hu_text_right(p, "slowdown", 10);
    hu_text_right(p, "step then", 12);
    hu_text_right(p, "less", 10);
    hu_text_right(p, "explains", 10);
    hu_out_text(p->out, "\n");
}

/* The four columns that all tables have. */
static void numbers(hu_text_page *p, const hu_slowdown *s, const hu_slowdown_part *x)
{
    hu_text_right(p, times(x->slowdown).t, 10);
    hu_text_right(p, step_time(x->fixed_ns).t, 12);
    hu_text_right(p, isfinite(x->fixed_ns) ? share((s->original_ns - x->fixed_ns) / s->original_ns).t : "\xe2\x80\x93", 10);
    hu_text_right(p, share(x->explained).t, 10);
    hu_out_text(p->out, "\n");
}

static void more(hu_text_page *p, size_t n, size_t shown)
{
    if (n > shown)
        hu_out_printf(p->out, "  \xe2\x80\xa6 %zu more (--top %zu shows all)\n", n - shown, n);
}

static size_t rows_of(const hu_slowdown_report *r, size_t n)
{
    const size_t most = r->top ? r->top : HU_TEXT_SHORT;

    return n < most ? n : most;
}

static void write_workers(hu_text_page *p, const hu_slowdown_report *r)
{
    const hu_slowdown *s = r->slowdown;
    const size_t       n = rows_of(r, s->workers.n);

    head(p, "WORKERS", "rank    dp stage");
    for (size_t i = 0; i < n; i++) {
        const hu_pipeline_worker *w = worker_of(s, &s->workers.at[i]);
        char                      text[HU_NUMBER_BYTES] = "\xe2\x80\x93";

        if (w->rank >= 0)
            hu_format_i64(text, w->rank);
        hu_text_right(p, text, 17);
        hu_format_u64(text, w->dp);
        hu_text_right(p, text, 6);
        hu_format_u64(text, w->stage);
        hu_text_right(p, text, 6);
        numbers(p, s, &s->workers.at[i]);
    }
    more(p, s->workers.n, n);
}

static void write_parts(hu_text_page *p, const hu_slowdown_report *r, const char *title, const hu_slowdown_parts *parts)
{
    const size_t n = rows_of(r, parts->n);

    head(p, title, "");
    for (size_t i = 0; i < n; i++) {
        char text[HU_NUMBER_BYTES];

        hu_out_text(p->out, "  ");
        if (parts->at[i].name) {
            hu_text_left(p, hu_str_of(parts->at[i].name), NAME_WIDTH);
        } else {
            hu_format_u64(text, parts->at[i].id);
            hu_text_right(p, text, NAME_WIDTH);
        }
        numbers(p, r->slowdown, &parts->at[i]);
    }
    more(p, parts->n, n);
}

static void write_trust(hu_text_page *p, const hu_slowdown *s)
{
    const hu_pipeline   *j = s->pipeline;
    const hu_operations *t = j->table;
    size_t               named = 0, unpaired = 0;
    char                 line[512];

    hu_out_text(p->out, "\n");
    snprintf(line, sizeof line,
             "As recorded a step takes %s: late starts that the table does not explain (host, data) cost %s of it. With "
             "them the replay is %s off.",
             step_time(s->measured_ns).t, share((s->measured_ns - s->original_ns) / s->measured_ns).t,
             share(s->replay_error).t);
    hu_text_paragraph(p, line, 2);
    if (isfinite(s->correlation)) {
        char r2[HU_NUMBER_BYTES];

        hu_format_fixed(r2, s->correlation, 2);
        snprintf(line, sizeof line,
                 "Forward passes of one worker vary by %s of their mean; their correlation with the backward passes of "
                 "the same microbatches is %s. With equal passes a step would take %s (%s of the loss).",
                 share(s->variation).t, r2, step_time(s->levelled_ns).t, share(s->levelled_explained).t);
        hu_text_paragraph(p, line, 2);
    }
    if (s->stages.n > 1) {
        snprintf(line, sizeof line, "With balanced stages a step would take %s (%s of the loss).",
                 step_time(s->balanced_ns).t, share(s->balanced_explained).t);
        hu_text_paragraph(p, line, 2);
    }
    for (size_t k = 0; k < j->n_steps; k++) {
        unpaired += j->steps[k].unpaired;
        if (!j->steps[k].left_out || named++ >= NAMED_STEPS)
            continue;
        snprintf(line, sizeof line, "step %lld is excluded: %s", (long long)j->steps[k].step, j->steps[k].left_out);
        hu_text_paragraph(p, line, 2);
    }
    if (named > NAMED_STEPS)
        hu_out_printf(p->out, "  \xe2\x80\xa6 and %zu more step%s\n", named - NAMED_STEPS,
                      hu_plural((int64_t)(named - NAMED_STEPS)));
    if (unpaired)
        hu_out_printf(p->out, "  sends or receives whose peer has no row: %zu\n", unpaired);
    if (t->unknown_rows) {
        hu_out_printf(p->out, "  %llu row%s of unknown kinds excluded, such as ", (unsigned long long)t->unknown_rows,
                      hu_plural((int64_t)t->unknown_rows));
        hu_units_clip(p->out, hu_str_of(t->unknown_kind), 24);
        hu_out_text(p->out, "\n");
    }
    if (t->is_cut)
        hu_out_text(p->out, "  the table is cut: its end is missing\n");
}

void hu_slowdown_text(const hu_slowdown_report *r, hu_out *out)
{
    const hu_slowdown *s = r->slowdown;
    const hu_pipeline *j = s->pipeline;
    const hu_report    page = {.width = r->width};
    hu_text_page       p = {&page, out};
    char               line[SENTENCE];

    hu_out_printf(out, "%zu worker%s (%u dp rank%s \xc3\x97 %u stage%s", j->n_workers, hu_plural((int64_t)j->n_workers),
                  j->n_dp_seen, hu_plural(j->n_dp_seen), j->n_stages, hu_plural(j->n_stages));
    if (j->n_model_chunks > j->n_stages)
        hu_out_printf(out, ", %lld model chunks", (long long)j->n_model_chunks);
    hu_out_printf(out, ") \xc2\xb7 %zu step%s\n\n", s->n_steps, hu_plural((int64_t)s->n_steps));
    hu_slowdown_sentence(s, line, sizeof line);
    hu_text_paragraph(&p, line, 0);
    write_workers(&p, r);
    if (s->stages.n > 1)
        write_parts(&p, r, "STAGES", &s->stages);
    if (s->dp_ranks.n > 1)
        write_parts(&p, r, "DP RANKS", &s->dp_ranks);
    write_parts(&p, r, "TYPES", &s->types);
    hu_out_text(out, "\n");
    hu_text_paragraph(&p,
                      "slowdown: of a job that is ideal except for this part; step then: with this part ideal; explains: "
                      "share of the loss it would recover. docs/stragglers.md",
                      2);
    write_trust(&p, s);
}
