/* SPDX-License-Identifier: Apache-2.0
 * cmd_whatif.c - `holdup whatif`: how long a step takes with changed costs. */
#include <math.h>
#include <stdio.h>

#include "advise/say.h"
#include "cli/command.h"
#include "job/inputs.h"
#include "cli/outputs.h"
#include "cli/reading.h"
#include "cli/unread.h"
#include "base/json_out.h"
#include "base/units.h"

enum { MOST_EDITS = HU_PRICE_EDITS, FACTS_WIDTH = 26 };

typedef struct {
    const char *text[MOST_EDITS];
    hu_edit     edit[MOST_EDITS];
    size_t      n;
} edit_list;

typedef struct {
    hu_shared shared;
    edit_list edits;
    bool      list;
} options;

/* The closest word, with the rest as it was written: "dat=0" is "data=0".  Leaves the error alone where none is close. */
static int suggest_edit(const char *text, hu_error *err)
{
    const char *words[HU_EDIT_KINDS], *near;
    char        word[32];
    size_t      n = strspn(text, "abcdefghijklmnopqrstuvwxyz");

    if (n > 1 && text[n - 1] == 'x') /* of a factor */
        n--;
    if (n == 0 || n >= sizeof word)
        return err->code;
    snprintf(word, sizeof word, "%.*s", (int)n, text);
    for (hu_edit_kind k = 0; k < HU_EDIT_KINDS; k++) {
        words[k] = hu_edit_word(k);
        if (strcmp(words[k], word) == 0)
            return err->code;
    }
    near = hu_options_suggest(word, words, HU_EDIT_KINDS);
    return near ? hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "no edit \"%.64s\"; did you mean %s%.64s?", text, near,
                          text + n)
                : err->code;
}

static int parse_edit(void *field, const char *text, hu_error *err)
{
    edit_list *list = field;

    if (list->n == MOST_EDITS)
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "more than %d edits", MOST_EDITS);
    if (hu_edit_parse(text, &list->edit[list->n], err) < 0)
        return suggest_edit(text, err);
    list->text[list->n++] = text;
    return 0;
}

static size_t edit_words(const char **out, size_t room)
{
#define BEGIN_OFF                 "=0"
#define BEGIN_FACTOR              "=0"
#define BEGIN_GLOB                ":"
#define BEGIN_RANK                "=0"
#define E(id, word, shape, about) word BEGIN_##shape,
    static const char *const           words[] = {HU_EDITS(E)};
#undef E
    size_t n = 0;

    for (; n < HU_COUNT(words) && n < room; n++)
        out[n] = words[n];
    return n;
}

static const hu_option rows[] = {
    {"edit", 'e', HU_OPTION_SPECIAL, "EDIT", "change a cost, such as data=0 or kernel:*gemm*x1.5; may be repeated",
     offsetof(options, edits), .parse = parse_edit, .words = edit_words},
    {"list-edits", 0, HU_OPTION_FLAG, NULL, "list all edits", offsetof(options, list)},
};

enum { TEXT_BYTES = 128 };

typedef struct {
    char     text[TEXT_BYTES];
    hu_price price;
} priced;

typedef struct {
    const options  *o;
    double          seen_ns, replayed_ns;
    size_t          steps;
    size_t          ranks;       /* 1: one alone */
    size_t          collectives; /* in which several meet */
    hu_unread_list  unread, partial;
    const hu_check *check; /* of the rank whose graph is worst */
    priced          at[MOST_EDITS];
    priced          together; /* without text when there is only one edit */
} answer;

/* An edit that changes nothing is not wrong, but it is worth a word. */
static void warn_untouched(const answer *a, const hu_edit *edit, const priced *x)
{
    if (x->price.touched)
        return;
    if (hu_edit_is_joint(edit->kind) && a->ranks == 1)
        hu_command_say("%s needs several ranks; pass the traces of all ranks", x->text);
    else
        hu_command_say("%s matches nothing in these steps", x->text);
}

static void price_rank(answer *a, hu_simulation *s)
{
    const edit_list *list = &a->o->edits;

    a->ranks = 1;
    a->seen_ns = s->graph.step_ns;
    a->replayed_ns = hu_pricer_step_ns(s->pricer);
    a->steps = s->graph.n_marks - 1;
    a->check = &s->check;
    for (size_t i = 0; i < list->n; i++) {
        snprintf(a->at[i].text, TEXT_BYTES, "%s", list->text[i]);
        hu_price_edits(s->pricer, &list->edit[i], 1, &a->at[i].price);
        warn_untouched(a, &list->edit[i], &a->at[i]);
    }
    if (list->n > 1) {
        snprintf(a->together.text, TEXT_BYTES, "together");
        hu_price_edits(s->pricer, list->edit, list->n, &a->together.price);
    }
}

/* The row of the rank that an edit names, or of the one that is worth most. */
static int find_rank(const hu_together *all, hu_edit *e, char *text, hu_error *err)
{
    const int64_t wanted = e->rank;
    double        step_ns[HU_JOINT_REPLAY_RANKS];

    if (e->kind != HU_EDIT_STRAGGLER)
        return 0;
    if (wanted < 0) {
        e->rank = (int64_t)hu_joint_pricers_worst(all->pricers, all->job.n, step_ns);
        snprintf(text, TEXT_BYTES, "straggler:%lld", (long long)hu_digest_rank_of(all->job.digests, (size_t)e->rank));
        return 0;
    }
    for (size_t i = 0; i < all->job.n; i++)
        if (hu_digest_rank_of(all->job.digests, i) == wanted) {
            e->rank = (int64_t)i;
            return 0;
        }
    return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "no trace of rank %lld", (long long)wanted);
}

static int price_together(answer *a, const hu_together *all, hu_error *err)
{
    edit_list list = a->o->edits;

    a->ranks = all->job.n;
    a->collectives = hu_joint_count(all->joint);
    a->seen_ns = hu_joint_pricer_seen_ns(all->pricer);
    a->replayed_ns = hu_joint_pricer_step_ns(all->pricer);
    a->steps = all->simulations[0]->graph.n_marks - 1;
    a->check = &all->simulations[0]->check;
    for (size_t i = 1; i < all->job.n; i++)
        if (all->simulations[i]->check.worst > a->check->worst)
            a->check = &all->simulations[i]->check;
    for (size_t i = 0; i < list.n; i++) {
        snprintf(a->at[i].text, TEXT_BYTES, "%s", list.text[i]);
        if (find_rank(all, &list.edit[i], a->at[i].text, err) < 0)
            return err->code;
        hu_joint_price_edits(all->pricer, &list.edit[i], 1, &a->at[i].price);
        warn_untouched(a, &list.edit[i], &a->at[i]);
    }
    if (list.n > 1) {
        snprintf(a->together.text, TEXT_BYTES, "together");
        hu_joint_price_edits(all->pricer, list.edit, list.n, &a->together.price);
    }
    return 0;
}

static void write_line(hu_out *out, const priced *x)
{
    const hu_said gain = hu_say_change(x->price.gain_pct, 1);
    const size_t  width = hu_units_width(hu_str_of(gain.t));

    hu_out_text(out, "  ");
    for (size_t n = hu_units_clip(out, hu_str_of(x->text), FACTS_WIDTH); n < FACTS_WIDTH; n++)
        hu_out_text(out, " ");
    hu_out_printf(out, " %10s  %*s%s %%  [%s … %s]\n", hu_say_time(x->price.after_ns).t, width < 7 ? (int)(7 - width) : 0,
                  "", gain.t, hu_say_change(x->price.high_pct, 1).t, hu_say_change(x->price.low_pct, 1).t);
}

/* Above the numbers: of whom and of what they say nothing. */
static void write_missing(const answer *a, hu_out *out)
{
    char text[HU_UNREAD_TEXT];

    hu_unread_say(&a->unread, a->ranks, text, sizeof text);
    if (text[0])
        hu_out_printf(out, "%s\n", text);
    hu_unread_say_partial(&a->partial, a->ranks, text, sizeof text);
    if (text[0])
        hu_out_printf(out, "%s\n  the gains below have low confidence\n", text);
}

static void write_text(const answer *a, hu_out *out)
{
    const double off = 100 * fabs(a->replayed_ns / a->seen_ns - 1);

    write_missing(a, out);
    hu_out_printf(out, "%s per step as measured, %s as replayed (%s off, %zu step%s)\n", hu_say_time(a->seen_ns).t,
                  hu_say_time(a->replayed_ns).t, hu_say_pct(off).t, a->steps, hu_plural((int64_t)a->steps));
    if (a->ranks > 1)
        hu_out_printf(out, "mean of %zu ranks, joined by %zu collectives\n", a->ranks, a->collectives);
    hu_out_text(out, "\n");
    hu_out_text(out, "  edit                             step      change  interval\n");
    for (size_t i = 0; i < a->o->edits.n; i++)
        write_line(out, &a->at[i]);
    if (a->together.text[0])
        write_line(out, &a->together);
    for (hu_check_id i = 0; i < HU_CHECK_COUNT; i++) {
        char value[HU_NUMBER_BYTES];

        if (a->check->grade[i] != HU_GRADE_RED)
            continue;
        hu_format_fixed(value, a->check->value[i], 1);
        hu_out_printf(out, "\n  warning: %s %s %s\n", value, hu_check_unit(i), hu_check_what(i));
    }
}

static void write_price(hu_json_out *j, const answer *a, const priced *x)
{
    hu_json_open(j, NULL, '{');
    hu_json_str(j, "edit", hu_str_of(x->text));
    hu_json_ns(j, "step_before_ns", x->price.before_ns);
    hu_json_ns(j, "step_after_ns", x->price.after_ns);
    hu_json_fixed(j, "gain_pct", x->price.gain_pct, 3);
    hu_json_fixed(j, "gain_low_pct", x->price.low_pct, 3);
    hu_json_fixed(j, "gain_high_pct", x->price.high_pct, 3);
    hu_json_int(j, "touched", (int64_t)x->price.touched);
    if (a->ranks == 1) /* of several ranks nobody looks */
        hu_json_bool(j, "is_feasible", x->price.is_feasible);
    else
        hu_json_null(j, "is_feasible");
    hu_json_close(j, '}');
}

static void write_json(const answer *a, hu_out *out)
{
    hu_json_out j = {.out = out, .is_empty = true};

    hu_json_open(&j, NULL, '{');
    hu_json_ns(&j, "measured_step_ns", a->seen_ns);
    hu_json_ns(&j, "replayed_step_ns", a->replayed_ns);
    hu_json_int(&j, "steps", (int64_t)a->steps);
    hu_json_int(&j, "ranks", (int64_t)a->ranks);
    hu_json_int(&j, "collectives", (int64_t)a->collectives);
    hu_json_unread(&j, "unread", &a->unread);
    hu_json_unread(&j, "partial", &a->partial);
    hu_json_str(&j, "grade", hu_str_of(hu_grade_name(a->check->worst)));
    hu_json_open(&j, "edits", '[');
    for (size_t i = 0; i < a->o->edits.n; i++)
        write_price(&j, a, &a->at[i]);
    if (a->together.text[0])
        write_price(&j, a, &a->together);
    hu_json_close(&j, ']');
    hu_json_close(&j, '}');
}

static int write_answer(const answer *a, hu_error *err)
{
    hu_out *out = hu_output_open(a->o->shared.output, err);

    if (!out)
        return err->code;
    if (a->o->shared.json)
        write_json(a, out);
    else
        write_text(a, out);
    return hu_out_close(out, err);
}

static void write_edits(hu_out *out)
{
    for (hu_edit_kind k = 0; k < HU_EDIT_KINDS; k++) {
        char text[64];

        snprintf(text, sizeof text, "%s%s", hu_edit_word(k), hu_edit_shape(k));
        hu_out_printf(out, "%-14s %s\n", text, hu_edit_about(k));
    }
}

/* One glob of operators is looked for while the graph is built. */
static int find_focus(const edit_list *list, hu_str *out, hu_error *err)
{
    *out = HU_STR("");
    for (size_t i = 0; i < list->n; i++) {
        if (list->edit[i].kind != HU_EDIT_OP)
            continue;
        if (out->n && !hu_str_equal(*out, list->edit[i].glob))
            return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "only one op: pattern at a time; run whatif once for each");
        *out = list->edit[i].glob;
    }
    return 0;
}

static int whatif(const options *o, const hu_inputs *inputs, hu_arena *arena)
{
    hu_graph_options graph = {0};
    answer           a = {.o = o};
    hu_error         err = {0};
    hu_simulation   *s;
    hu_traces        traces;
    int              status, rc = find_focus(&o->edits, &graph.focus, &err);

    if (rc < 0)
        return hu_command_fail(&err);
    if ((status = hu_read_traces(inputs, hu_limits_with_storms(o->shared.limits), o->shared.quiet, arena, &traces)) != 0)
        return status;
    a.unread = traces.unread;
    a.partial = traces.partial;
    s = hu_simulation_new(traces.at[0], &o->shared.steps, &graph, &err);
    if (s) {
        price_rank(&a, s);
        rc = write_answer(&a, &err);
    } else {
        rc = err.code;
        if (!err.file[0])
            snprintf(err.file, sizeof err.file, "%s", inputs->at[0]);
    }
    hu_simulation_free(s);
    hu_traces_free(&traces);
    return rc < 0 ? hu_command_fail(&err) : hu_strict_status(o->shared.strict, &a.unread, &a.partial, 0);
}

static int whatif_together(const options *o, const hu_inputs *inputs, hu_arena *arena)
{
    hu_together_options how = {.limits = hu_limits_with_storms(o->shared.limits), .steps = o->shared.steps};
    answer              a = {.o = o};
    hu_error            err = {0};
    hu_together         all;
    int                 status;

    if (find_focus(&o->edits, &how.graph.focus, &err) < 0)
        return hu_command_fail(&err);
    status = hu_read_together(inputs, how, o->shared.quiet, arena, &all);
    a.unread = all.job.unread;
    a.partial = all.job.partial;
    if (status == 0 && (price_together(&a, &all, &err) < 0 || write_answer(&a, &err) < 0))
        status = hu_command_fail(&err);
    hu_together_free(&all);
    return hu_strict_status(o->shared.strict, &a.unread, &a.partial, status);
}

static int run(hu_cli_call *call)
{
    return call->inputs.n == 1 ? whatif(call->options, &call->inputs, call->arena)
                               : whatif_together(call->options, &call->inputs, call->arena);
}

static int check(hu_cli_call *call, hu_error *err)
{
    return ((const options *)call->options)->edits.n ? 0 : hu_command_fail_words(call, err);
}

const hu_command hu_command_whatif = {
    .name = "whatif",
    .group = HU_GROUP_COMPARE,
    .summary = "predict how long a step takes with changed costs",
    .usage = "[options] FILE|DIRECTORY|- ... --edit EDIT ...",
    .about = "Replays the steps of a trace with changed costs: every wait, launch and queue\n"
             "is simulated again, so that a gain shows only where it reaches the end of the\n"
             "step.  Several edits are priced one by one and together.  Several traces, or a\n"
             "directory of them, are the ranks of one job and are replayed together.",
    .examples = "  holdup whatif --list-edits\n"
                "  holdup whatif trace.json.gz --edit data=0\n"
                "  holdup whatif trace.json.gz -e 'kernel:*gemm*x1.5' -e sync=0 -e comm=overlap\n"
                "  holdup whatif DIR -e straggler=0 -e hiccups=0 -e comm=overlap",
    .wants = "a trace and an edit",
    .example = "holdup whatif trace.json.gz --edit data=0",
    .least = 1,
    .words = HU_WORDS_PATHS,
    .needs = HU_NEEDS_INPUTS,
    .shared = HU_SHARED_STEPS | HU_SHARED_JSON | HU_SHARED_OUTPUT | HU_SHARED_QUIET | HU_SHARED_STRICT | HU_SHARED_READING |
              HU_SHARED_CPUS,
    .options = rows,
    .n_options = HU_COUNT(rows),
    .options_size = sizeof(options),
    .lists = (const hu_listing[]){{offsetof(options, list), write_edits}, {0, NULL}},
    .check = check,
    .run = run,
};
