/* SPDX-License-Identifier: Apache-2.0
 * cmd_check.c - `holdup check`: compares a run with limits.  The gate of a CI: exits with 1 when one is breached. */
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "advise/checklist.h"
#include "base/json.h"
#include "base/number.h"
#include "cli/check_rules.h"
#include "cli/command.h"
#include "cli/outputs.h"
#include "cli/reading.h"
#include "cli/terminal.h"
#include "cli/text_file.h"
#include "cli/unread.h"
#include "base/json_out.h"
#include "render/page/markup.h"
#include "base/units.h"

typedef struct {
    hu_shared    shared;
    hu_checklist named; /* by the command line: stronger than the file */
    bool         has_named;
    const char  *config, *junit, *rules;
    bool         no_defaults, allow_missing, list;
} options;

static int take_limit(options *o, bool is_least, const char *text, hu_error *err)
{
    if (!o->has_named)
        hu_checklist_none(&o->named);
    o->has_named = true;
    return hu_checklist_set(&o->named, is_least, text, err);
}

static int parse_max(void *field, const char *text, hu_error *err)
{
    return take_limit(field, false, text, err);
}

static int parse_min(void *field, const char *text, hu_error *err)
{
    return take_limit(field, true, text, err);
}

static size_t limit_words(const char **out, size_t room)
{
    size_t n = 0;

    for (; n < HU_LIMIT_COUNT && n < room; n++)
        out[n] = hu_limit_name((hu_limit_id)n);
    return n;
}

#define AT(member) offsetof(options, member)

static const hu_option rows[] = {
    {"max", 0, HU_OPTION_SPECIAL, "NAME=N", "allow at most N: idle=10%, comm=20%, data=10%, step-ms=120 …", 0,
     .parse = parse_max, .heading = "limits", .words = limit_words},
    {"min", 0, HU_OPTION_SPECIAL, "NAME=N", "require at least N: gpu-busy=80%, memory-headroom=10% …", 0, .parse = parse_min,
     .heading = "limits", .words = limit_words},
    {"config", 0, HU_OPTION_TEXT, "FILE", "read limits from FILE: TOML with [max] and [min], or the same as JSON",
     AT(config), .heading = "limits", .value = HU_VALUE_READ},
    {"list-limits", 0, HU_OPTION_FLAG, NULL, "list all limits, their defaults and what they mean", AT(list),
     .heading = "limits"},
    {"rules", 0, HU_OPTION_TEXT, "NAMES",
     "in place of limits, apply the rules of `nsys analyze`: nsys (all), or names separated by commas", AT(rules),
     .heading = "limits"},
    {"only-named", 0, HU_OPTION_FLAG, NULL, "ignore the default limits", AT(no_defaults), .heading = "limits"},
    {"junit", 0, HU_OPTION_TEXT, "FILE", "also write the result as JUnit XML", AT(junit), .heading = "output",
     .value = HU_VALUE_WRITE},
    {"allow-missing", 0, HU_OPTION_FLAG, NULL,
     "check the readable ranks (default: exit with status 3 if an input is unreadable)", AT(allow_missing),
     .heading = "input"},
};

enum { LIST_COLUMN = 29 };

static void format_value(char *out, double value)
{
    if (isnan(value))
        memcpy(out, "–", sizeof "–");
    else
        hu_format_fixed(out, value, value == floor(value) ? 0 : 1);
}

/* --list-limits */
static void write_limits(hu_out *out)
{
    const size_t width = hu_terminal_width(STDOUT_FILENO, NULL);
    hu_checklist list;

    hu_checklist_defaults(&list);
    for (hu_limit_id i = 0; i < HU_LIMIT_COUNT; i++) {
        const bool   is_least = !isnan(list.least[i]), has_default = is_least || !isnan(list.most[i]);
        const double value = is_least ? list.least[i] : list.most[i];
        char         number[HU_NUMBER_BYTES], bound[HU_NUMBER_BYTES + 24] = "no default", words[200];

        format_value(number, value);
        if (has_default)
            snprintf(bound, sizeof bound, "%s %s%s%s", is_least ? "min" : "max", number, hu_limit_unit(i)[0] ? " " : "",
                     hu_limit_unit(i));
        snprintf(words, sizeof words, "%s%s", hu_limit_what(i),
                 has_default && !hu_limit_fails(i) ? "; advice unless you name it" : "");
        hu_out_printf(out, "%-16s %-11s ", hu_limit_name(i), bound);
        hu_units_wrap(out, hu_str_of(words), LIST_COLUMN, LIST_COLUMN, width);
        hu_out_text(out, "\n");
    }
}

/* the configuration file */

/* "name" and "10%" or 10 as one text that hu_checklist_set reads. */
static int set_pair(hu_checklist *list, bool is_least, hu_str name, hu_str value, hu_error *err)
{
    char text[160];

    snprintf(text, sizeof text, "%.*s=%.*s", HU_FMT(name), HU_FMT(value));
    return hu_checklist_set(list, is_least, text, err);
}

static hu_str trim(hu_str s)
{
    while (s.n && (s.p[0] == ' ' || s.p[0] == '\t' || s.p[0] == '"' || s.p[0] == '\''))
        s = (hu_str){s.p + 1, s.n - 1};
    while (s.n && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t' || s.p[s.n - 1] == '\r' || s.p[s.n - 1] == '"' ||
                   s.p[s.n - 1] == '\''))
        s.n--;
    return s;
}

static int read_json(hu_checklist *list, hu_str text, hu_error *err)
{
    static const char *const groups[] = {"max", "min"};

    for (int least = 0; least < 2; least++) {
        hu_json j = hu_json_enter(hu_json_get(text, hu_str_of(groups[least])));
        hu_str  key, value;

        while (hu_json_member(&j, &key, &value))
            if (set_pair(list, least == 1, trim(key), trim(value), err) < 0)
                return err->code;
        if (j.is_broken)
            return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "is not valid JSON");
    }
    return 0;
}

/* As much of TOML as limits need: tables, keys, numbers and strings, comments. */
static int read_toml(hu_checklist *list, hu_str text, hu_error *err)
{
    int least = -1, number = 0;

    while (text.n) {
        const char *newline = memchr(text.p, '\n', text.n), *sign;
        hu_str      line = {text.p, newline ? (size_t)(newline - text.p) : text.n};

        text = newline ? (hu_str){newline + 1, text.n - line.n - 1} : (hu_str){text.p + text.n, 0};
        number++;
        sign = memchr(line.p, '#', line.n);
        line = trim(sign ? (hu_str){line.p, (size_t)(sign - line.p)} : line);
        if (line.n == 0)
            continue;
        if (line.p[0] == '[') {
            least = hu_str_equal(line, HU_STR("[min]")) ? 1 : hu_str_equal(line, HU_STR("[max]")) ? 0 : -1;
            if (least < 0)
                return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "line %d: only the tables [max] and [min] are supported",
                               number);
            continue;
        }
        sign = memchr(line.p, '=', line.n);
        if (!sign || least < 0)
            return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "line %d: write limits as name = 10 below [max] or [min]",
                           number);
        if (set_pair(list, least == 1, trim((hu_str){line.p, (size_t)(sign - line.p)}),
                     trim((hu_str){sign + 1, line.n - (size_t)(sign - line.p) - 1}), err) < 0)
            return err->code;
    }
    return 0;
}

static int read_config(hu_checklist *list, const char *path, hu_arena *arena, hu_error *err)
{
    enum { MOST = 1 << 16 };
    hu_str s = hu_text_file_read(path, MOST, arena, err);
    int    rc;

    if (!s.p)
        return err->code;
    s = trim(s);
    while (s.n && s.p[0] == '\n')
        s = trim((hu_str){s.p + 1, s.n - 1});
    rc = s.n && s.p[0] == '{' ? read_json(list, s, err) : read_toml(list, s, err);
    if (rc < 0)
        snprintf(err->file, sizeof err->file, "%s", path);
    return rc;
}

/* Defaults, then the file, then the command line. */
static int merge_limits(const options *o, hu_arena *arena, hu_checklist *out, hu_error *err)
{
    if (o->no_defaults)
        hu_checklist_none(out);
    else
        hu_checklist_defaults(out);
    if (o->config && read_config(out, o->config, arena, err) < 0)
        return err->code;
    for (hu_limit_id i = 0; o->has_named && i < HU_LIMIT_COUNT; i++) {
        if (!o->named.is_named[i])
            continue;
        out->is_named[i] = true;
        out->may_be_share[i] = o->named.may_be_share[i];
        if (!isnan(o->named.least[i]))
            out->least[i] = o->named.least[i];
        if (!isnan(o->named.most[i]))
            out->most[i] = o->named.most[i];
    }
    return 0;
}

/* the result */

/* What was judged, and of what nothing is known. */
typedef struct {
    const options      *o;
    hu_checklist_result limits;
    const hu_findings  *findings; /* of the slowest rank */
    const hu_job       *job;
} judged;

static bool is_missing_wrong(const judged *x)
{
    return x->job->unread.n && !x->o->allow_missing;
}

/* Missing data first: what it would have said of the limits, nobody knows.  A limit of the user's that cannot be told is no
   better, but a breach is one whatever else is not known. */
static int status_of(const judged *x)
{
    const int partial = hu_strict_status(x->o->shared.strict, &x->job->unread, &x->job->partial, HU_EXIT_OK);

    if (partial)
        return partial;
    return is_missing_wrong(x)                              ? HU_EXIT_UNREADABLE
           : x->limits.failed                               ? HU_EXIT_BREACHED
           : x->o->shared.strict && x->limits.unknown_named ? HU_EXIT_PARTIAL
                                                            : HU_EXIT_OK;
}

/* What passes because nobody can say that it fails is said aloud. */
static void say_unknown(const judged *x)
{
    const hu_checklist_result *r = &x->limits;

    if (r->unknown_named && !x->o->shared.quiet)
        hu_command_say("%zu of the limits that you named cannot be told from this trace%s", r->unknown_named,
                       x->o->shared.strict ? "" : "; --strict exits with 4 then");
}

static void write_missing(const judged *x, hu_out *out)
{
    char line[HU_UNREAD_TEXT];

    hu_unread_say(&x->job->unread, x->job->n, line, sizeof line);
    if (line[0])
        hu_out_printf(out, "%-7s %s\n", x->o->allow_missing ? "advice" : "fail", line);
    hu_unread_say_partial(&x->job->partial, x->job->n, line, sizeof line);
    if (line[0])
        hu_out_printf(out, "%-7s %s\n", x->o->shared.strict ? "fail" : "advice", line);
}

enum { LIMIT_COLUMN = 46, CHECK_COLUMN = 39 };

/* Words behind a row of numbers, from `column` on, whole: what is too long goes on below. */
static void sentence(hu_out *out, const char *words, size_t at, size_t column, size_t width)
{
    hu_out_printf(out, "%*s", at < column ? (int)(column - at) : 1, "");
    hu_units_wrap(out, hu_str_of(words), at < column ? column : at + 1, column, width);
    hu_out_text(out, "\n");
}

static void write_text(const judged *x, hu_out *out)
{
    const size_t               width = hu_terminal_width(STDOUT_FILENO, x->o->shared.output);
    const hu_checklist_result *r = &x->limits;
    const hu_findings         *f = x->findings;

    write_missing(x, out);
    for (size_t i = 0; i < r->n; i++) {
        const hu_checked *c = &r->at[i];
        char              value[HU_NUMBER_BYTES], limit[HU_NUMBER_BYTES], bound[HU_NUMBER_BYTES + 8];

        format_value(value, c->value);
        format_value(limit, c->limit);
        snprintf(bound, sizeof bound, "(%s %s)", c->is_least ? "min" : "max", limit);
        hu_out_printf(out, "%-7s %-15s ", hu_limit_state_name(c->state), hu_limit_name(c->id));
        for (size_t n = hu_units_width(hu_str_of(value)); n < 7; n++)
            hu_out_text(out, " ");
        hu_out_printf(out, "%s %-2s %s", value, hu_limit_unit(c->id), bound);
        sentence(out, c->evidence[0] ? c->evidence : hu_limit_what(c->id), 35 + strlen(bound), LIMIT_COLUMN, width);
    }
    hu_out_printf(out, "\n%zu of %zu limits breached, %zu unknown from this trace\n", r->failed, r->n, r->unknown);
    if (!f || !f->is_replayed)
        return;
    hu_out_text(out, "\nself-check of the replay behind gains\n");
    for (hu_check_id i = 0; i < HU_CHECK_COUNT; i++) {
        char value[HU_NUMBER_BYTES];

        format_value(value, f->check.value[i]);
        hu_out_printf(out, "%-7s %-15s ", hu_grade_name(f->check.grade[i]), hu_check_key(i));
        for (size_t n = hu_units_width(hu_str_of(value)); n < 7; n++)
            hu_out_text(out, " ");
        hu_out_printf(out, "%s %-6s", value, hu_check_unit(i));
        sentence(out, hu_check_what(i), CHECK_COLUMN - 1, CHECK_COLUMN, width);
    }
}

static void write_json(const judged *x, hu_out *out)
{
    const hu_checklist_result *r = &x->limits;
    const hu_findings         *f = x->findings;
    hu_json_out                j = {.out = out, .is_empty = true};

    hu_json_open(&j, NULL, '{');
    hu_json_bool(&j, "passed", status_of(x) == HU_EXIT_OK);
    hu_json_int(&j, "failed", (int64_t)r->failed);
    hu_json_int(&j, "unknown", (int64_t)r->unknown);
    hu_json_int(&j, "ranks", (int64_t)x->job->n);
    hu_json_unread(&j, "unread", &x->job->unread);
    hu_json_unread(&j, "partial", &x->job->partial);
    hu_json_open(&j, "limits", '[');
    for (size_t i = 0; i < r->n; i++) {
        const hu_checked *c = &r->at[i];

        hu_json_open(&j, NULL, '{');
        hu_json_str(&j, "name", hu_str_of(hu_limit_name(c->id)));
        hu_json_str(&j, "state", hu_str_of(hu_limit_state_name(c->state)));
        hu_json_fixed(&j, "value", c->value, 4);
        hu_json_fixed(&j, c->is_least ? "min" : "max", c->limit, 4);
        hu_json_str(&j, "unit", hu_str_of(hu_limit_unit(c->id)));
        hu_json_str(&j, "evidence", hu_str_of(c->evidence));
        hu_json_close(&j, '}');
    }
    hu_json_close(&j, ']');
    hu_json_open(&j, "self_check", '[');
    for (hu_check_id i = 0; f && f->is_replayed && i < HU_CHECK_COUNT; i++) {
        hu_json_open(&j, NULL, '{');
        hu_json_str(&j, "name", hu_str_of(hu_check_key(i)));
        hu_json_str(&j, "grade", hu_str_of(hu_grade_name(f->check.grade[i])));
        hu_json_fixed(&j, "value", f->check.value[i], 4);
        hu_json_close(&j, '}');
    }
    hu_json_close(&j, ']');
    hu_json_close(&j, '}');
}

/* A case of its own for what could not be read, and for what was read in part; a limit is judged by the rest. */
static void write_junit_inputs(const char *name, const char *line, bool is_wrong, hu_out *out)
{
    if (!line[0])
        return;
    hu_out_printf(out, "  <testcase classname=\"holdup\" name=\"%s\"><%s message=\"", name,
                  is_wrong ? "failure" : "skipped");
    hu_markup_text(out, hu_str_of(line));
    hu_out_text(out, "\"/></testcase>\n");
}

/* The form that CI servers read: a case for each limit; what cannot be told is skipped. */
static void write_junit(const judged *x, hu_out *out)
{
    const hu_checklist_result *r = &x->limits;
    const bool                 unread = x->job->unread.n > 0, partial = x->job->partial.n > 0;
    const bool                 unread_wrong = unread && (x->o->shared.strict || !x->o->allow_missing);
    const size_t more = (size_t)unread + partial, wrong = (size_t)unread_wrong + (partial && x->o->shared.strict);
    char         line[HU_UNREAD_TEXT];

    hu_out_text(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    hu_out_printf(out, "<testsuite name=\"holdup check\" tests=\"%zu\" failures=\"%zu\" skipped=\"%zu\">\n", r->n + more,
                  r->failed + wrong, r->unknown + more - wrong);
    hu_unread_say(&x->job->unread, x->job->n, line, sizeof line);
    write_junit_inputs("inputs", line, unread_wrong, out);
    hu_unread_say_partial(&x->job->partial, x->job->n, line, sizeof line);
    write_junit_inputs("complete inputs", line, x->o->shared.strict, out);
    for (size_t i = 0; i < r->n; i++) {
        const hu_checked *c = &r->at[i];
        char              value[HU_NUMBER_BYTES], limit[HU_NUMBER_BYTES];

        format_value(value, c->value);
        format_value(limit, c->limit);
        hu_out_printf(out, "  <testcase classname=\"holdup\" name=\"%s\">", hu_limit_name(c->id));
        if (c->state == HU_LIMIT_FAIL) {
            hu_out_printf(out, "<failure message=\"%s %s, %s %s %s\">", value, hu_limit_unit(c->id),
                          c->is_least ? "at least" : "at most", limit, hu_limit_unit(c->id));
            hu_markup_text(out, hu_str_of(c->evidence));
            hu_out_text(out, "</failure>");
        } else if (c->state == HU_LIMIT_UNKNOWN) {
            hu_out_text(out, "<skipped");
            if (c->evidence[0]) {
                hu_out_text(out, " message=\"");
                hu_markup_text(out, hu_str_of(c->evidence));
                hu_out_text(out, "\"");
            }
            hu_out_text(out, "/>");
        }
        hu_out_text(out, "</testcase>\n");
    }
    hu_out_text(out, "</testsuite>\n");
}

static int write_result(const options *o, const judged *x, hu_error *err)
{
    hu_out *out;

    if (o->junit) { /* the file first: printing may end the program */
        if (!(out = hu_out_open_file(o->junit, err)))
            return err->code;
        write_junit(x, out);
        if (hu_out_close(out, err) < 0)
            return err->code;
    }
    out = hu_output_open(o->shared.output, err);
    if (!out)
        return err->code;
    if (o->shared.json)
        write_json(x, out);
    else
        write_text(x, out);
    return hu_out_close(out, err);
}

/* "idle=0.9" is 0.9 %, as it is written; whoever thinks in shares means 90 %. */
static void say_shares(const hu_checklist *list)
{
    for (hu_limit_id i = 0; i < HU_LIMIT_COUNT; i++) {
        const double value = isnan(list->least[i]) ? list->most[i] : list->least[i];
        char         number[HU_NUMBER_BYTES], percent[HU_NUMBER_BYTES];

        if (!list->may_be_share[i])
            continue;
        hu_format_fixed(number, value, value * 10 == floor(value * 10) ? 1 : 3);
        hu_format_fixed(percent, value * 100, value * 100 == floor(value * 100) ? 0 : 1);
        hu_command_say("%s=%s means %s %%; for %s %% write %s=%s%%", hu_limit_name(i), number, number, percent,
                       hu_limit_name(i), percent);
    }
}

static int check(const options *o, const hu_inputs *inputs, hu_arena *arena)
{
    const hu_job_options how = {.limits = hu_limits_with_storms(o->shared.limits),
                                .digest = {.steps = o->shared.steps, .threads = 1},
                                .replays = true};
    hu_checklist         list;
    hu_error             err = {0};
    hu_job               job;
    judged               x = {.o = o, .job = &job};
    int                  status, rc = merge_limits(o, arena, &list, &err);

    if (rc < 0)
        return hu_command_fail(&err);
    if (!o->shared.quiet)
        say_shares(&list);
    rc = hu_read_job(inputs, how, o->shared.quiet, arena, &job);
    if (rc)
        return rc;
    hu_checklist_measure(&list, job.digests, job.findings, job.n, &x.limits);
    x.findings = hu_job_shown(&job)->findings;
    rc = write_result(o, &x, &err);
    say_unknown(&x);
    status = status_of(&x);
    hu_job_free(&job);
    return rc < 0 ? hu_command_fail(&err) : status;
}

static int check_words(hu_cli_call *call, hu_error *err)
{
    const options *o = call->options;

    return o->rules ? hu_check_rules_parse(o->rules, err) : 0;
}

static int run(hu_cli_call *call)
{
    const options *o = call->options;

    if (o->rules)
        return hu_check_rules_run(o->rules, &o->shared, &call->inputs, call->arena);
    return check(call->options, &call->inputs, call->arena);
}

const hu_command hu_command_check = {
    .name = "check",
    .group = HU_GROUP_COMPARE,
    .summary = "compare a run with limits; exit status 1 if one is breached (CI)",
    .usage = "[options] FILE|DIRECTORY|- ...",
    .about = "Compares a run with limits: how busy the GPU is, how much of a step goes to data\n"
             "loading, communication and copies, how much memory is left.  Of several ranks the\n"
             "worst counts.  Prints pass, fail, advice (fails only if you name the limit) or\n"
             "unknown for each limit, and how far the replay can be trusted.  Unknown is what the\n"
             "trace cannot tell; with --strict, exits with 4 if that is a limit that you named.",
    .examples = "  holdup check --list-limits\n"
                "  holdup check trace.json.gz\n"
                "  holdup check run/ --max idle=10% --max comm=20% --min gpu-busy=80%\n"
                "  holdup check run/ --config holdup.toml --junit holdup.xml\n"
                "  holdup check trace.json.gz --rules nsys\n"
                "  holdup check report.sqlite --rules cuda_api_sync,gpu_gaps",
    .wants = "a trace",
    .example = "holdup check trace.json.gz --max idle=20%",
    .least = 1,
    .words = HU_WORDS_PATHS,
    .needs = HU_NEEDS_INPUTS,
    .shared = HU_SHARED_STEPS | HU_SHARED_JSON | HU_SHARED_OUTPUT | HU_SHARED_QUIET | HU_SHARED_STRICT | HU_SHARED_READING |
              HU_SHARED_CPUS,
    .options = rows,
    .n_options = HU_COUNT(rows),
    .options_size = sizeof(options),
    .lists = (const hu_listing[]){{offsetof(options, list), write_limits}, {0, NULL}},
    .excludes = (const hu_option_pair[]){{"strict", "allow-missing"},
                                         {"rules", "max"},
                                         {"rules", "min"},
                                         {"rules", "config"},
                                         {"rules", "only-named"},
                                         {"rules", "junit"},
                                         {"rules", "steps"},
                                         {NULL, NULL}},
    .check = check_words,
    .run = run,
};
