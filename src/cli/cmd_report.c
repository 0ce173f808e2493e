/* SPDX-License-Identifier: Apache-2.0
 * cmd_report.c - `holdup report`: reads traces, asks every question, draws one face. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/number.h"
#include "cli/browser.h"
#include "cli/command.h"
#include "cli/outputs.h"
#include "job/inputs.h"
#include "cli/paste.h"
#include "cli/reading.h"
#include "cli/report.h"
#include "cli/report_execution.h"
#include "cli/report_flight.h"
#include "cli/report_node.h"
#include "cli/report_ras.h"
#include "cli/report_results.h"
#include "cli/report_profile.h"
#include "cli/report_kernels.h"
#include "cli/report_log.h"
#include "cli/report_sums.h"
#include "cli/standard_input.h"
#include "job/sorted.h"
#include "job/spread.h"
#include "cli/terminal.h"
#include "cli/unread.h"
#include "render/report.h"
#include "render/suggest.h"
#include "render/table/describe.h"
#include "base/units.h"

enum { DEFAULT_FRAMES = 5, DEFAULT_SUGGESTED = 3 };

/* Files of --with. */
typedef struct {
    const char *at[16];
    size_t      n;
} hu_with;

typedef struct {
    hu_shared   shared;
    hu_with     with;
    bool        merge, to_stderr;
    const char *html, *sort, *pattern;
    hu_show     show;
    hu_part     part;
    bool        list, full, open;
    int         group_by, compat, suggest, time_unit;
    int64_t     frames, batch;
    const char *unit;
} options;

static const char *const groups[] = {"name", "shapes", "stack", "module", NULL}; /* as hu_grouping */
static const char *const profilers[] = {"none", "ncu", NULL};
static const char *const time_units[] = {"log", "s", "ms", "us", NULL};
static const char *const tools[] = {"none", "hta", "tracelens", NULL}; /* as hu_compat */

static size_t view_words(const char **out, size_t room)
{
    static const char *const parts[] = {"all", "overview", "health", "list"};
    size_t                   n = 0;

    for (; n < HU_COUNT(parts) && n < room; n++)
        out[n] = parts[n];
    for (size_t i = 0; hu_views[i] && n < room; i++)
        out[n++] = hu_views[i]->word;
    for (size_t i = 0; hu_compat_views[i] && n < room; i++)
        out[n++] = hu_compat_views[i]->word;
    return n;
}

static size_t sort_words(const char **out, size_t room)
{
    return hu_views_columns(&(hu_part){0}, out, room);
}

static int unknown_view(const char *text, hu_error *err)
{
    const char *words[64], *near = hu_options_suggest(text, words, view_words(words, HU_COUNT(words)));

    return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "unknown view \"%.64s\"; %s%s%s", text,
                   near ? "did you mean " : "holdup report --view list lists them", near ? near : "", near ? "?" : "");
}

/* "all", "overview", "health", "list", a view of hu_views, or a part of one */
static int parse_view(void *field, const char *text, hu_error *err)
{
    options     *o = field;
    const hu_str word = hu_str_of(text);

    o->list = hu_str_equal(word, HU_STR("list"));
    o->part = (hu_part){0};
    if (o->list || hu_str_equal(word, HU_STR("all")))
        o->show = HU_SHOW_ALL;
    else if (hu_str_equal(word, HU_STR("overview")))
        o->show = HU_SHOW_OVERVIEW;
    else if (hu_str_equal(word, HU_STR("health")))
        o->show = HU_SHOW_HEALTH;
    else if (hu_views_find(word, &o->part))
        o->show = HU_SHOW_VIEW;
    else
        return unknown_view(text, err);
    return 0;
}

static int parse_with(void *field, const char *text, hu_error *err)
{
    hu_with *w = field;

    if (w->n == HU_COUNT(w->at))
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "--with can be given at most %zu times", HU_COUNT(w->at));
    w->at[w->n++] = text;
    return 0;
}

#define AT(member) offsetof(options, member)

static const hu_option rows[] = {
    {"view", 'v', HU_OPTION_SPECIAL, "VIEW",
     "show this view: overview, ops, kernels, idle, memory …; list: list all views, with --csv every column", 0,
     .parse = parse_view, .heading = "tables", .words = view_words},
    {"group-by", 'g', HU_OPTION_CHOICE, "WHAT", "group operators by name (default), or by name and shapes, stack or module",
     AT(group_by), groups, .heading = "tables"},
    {"frames", 0, HU_OPTION_COUNT, "N", "take the N innermost Python frames as a stack (default: 5)", AT(frames),
     .heading = "tables"},
    {"merge", 'm', HU_OPTION_FLAG, NULL, "print one table over all ranks instead of one for each rank", AT(merge),
     .heading = "tables"},
    {"sort", 0, HU_OPTION_TEXT, "COLUMN",
     "order tables by COLUMN, named as in --csv: host_self_ns, calls, name … (not the call tree, nor process groups)",
     AT(sort), .heading = "tables", .words = sort_words},
    {"compat", 0, HU_OPTION_CHOICE, "TOOL",
     "print the numbers of hta (HolisticTraceAnalysis) or tracelens, with their rounding and filters", AT(compat), tools,
     .heading = "tables"},
    {"suggest", 0, HU_OPTION_CHOICE, "TOOL",
     "print only the command line of ncu (Nsight Compute) for the --top kernels (default: 3)", AT(suggest), profilers,
     .heading = "tables"},
    {"batch-size", 'b', HU_OPTION_COUNT, "N",
     "print throughput, before and after each fix, for N samples per step of the whole job", AT(batch), .heading = "input"},
    {"unit", 0, HU_OPTION_TEXT, "WORD", "name what --batch-size counts: samples (default), tokens, images", AT(unit),
     .heading = "input"},
    {"with", 0, HU_OPTION_SPECIAL, "FILE",
     "lay what a monitor sampled beside the traces: a log of `holdup monitor --jsonl`, output of nvidia-smi, dcgmi or "
     "amd-smi, a scrape of an exporter, or an answer of Prometheus; may be repeated",
     AT(with), .parse = parse_with, .heading = "input"},
    {"pattern", 0, HU_OPTION_TEXT, "REGEX",
     "of a log: find steps by this extended regular expression, whose groups are number, time and, if you like, unit "
     "(s, ms, us)",
     AT(pattern), .heading = "input"},
    {"time-unit", 0, HU_OPTION_CHOICE, "UNIT",
     "of a log: read times of steps that say no unit in s, ms or us (default: as the rest of the log tells)", AT(time_unit),
     time_units, .heading = "input"},
    {"html", 0, HU_OPTION_TEXT, "FILE", "also write a page that opens offline in any browser", AT(html), .heading = "page",
     .value = HU_VALUE_WRITE},
    {"full", 0, HU_OPTION_FLAG, NULL, "put every slice of every rank into the page (default: up to 2 million slices)",
     AT(full), .heading = "page"},
    {"open", 0, HU_OPTION_FLAG, NULL, "open the page of --html in a browser", AT(open), .heading = "page"},
};

static int descriptor(const options *o)
{
    return o->to_stderr ? STDERR_FILENO : STDOUT_FILENO;
}

static int write_report(const options *o, const hu_report *r, hu_error *err)
{
    hu_out *out = hu_output_open_or(o->shared.output, descriptor(o), err);
    int     rc = 0;

    if (!out)
        return err->code;
    if (o->suggest)
        rc = hu_suggest_ncu((r->merged ? r->merged : hu_job_shown(r->job))->digest,
                            r->top ? (size_t)r->top : DEFAULT_SUGGESTED, out, err);
    else if (o->shared.json)
        rc = hu_json_write(r, out, err);
    else if (o->shared.csv)
        rc = hu_csv_write(r, out, err);
    else
        hu_text_write(r, out);
    if (rc < 0) {
        hu_out_abandon(out);
        return rc;
    }
    return hu_out_close(out, err);
}

/* "wrote report.html (2.1 MB, 412k slices)" */
static void say_page(const char *path, const hu_report *r, uint64_t bytes)
{
    char   size[HU_UNIT_BYTES], slices[HU_UNIT_BYTES];
    size_t n = 0;

    for (size_t i = 0; i < r->job->n; i++)
        n += r->job->ranks[i].timeline.n;
    hu_units_bytes(size, (double)bytes);
    hu_units_short_count(slices, (double)n);
    hu_command_say("wrote %s (%s, %s slices)", path, size, slices);
}

static int write_page(const options *o, const hu_report *r, uint64_t *bytes, hu_error *err)
{
    hu_out *out = hu_out_open_file(o->html, err);
    int     rc;

    if (!out)
        return err->code;
    rc = hu_html_write(r, out, err);
    if (rc < 0) {
        hu_out_abandon(out);
        return rc;
    }
    *bytes = hu_out_bytes(out);
    return hu_out_close(out, err);
}

/* The page first, since printing may end the program; the word about it last, where it is seen. */
static int write_faces(const options *o, const hu_report *r, hu_error *err)
{
    hu_error  why = {0};
    uint64_t  bytes = 0;
    const int page = o->html ? write_page(o, r, &bytes, &why) : 0, rc = write_report(o, r, err);

    if (page < 0) {
        *err = why;
        return page;
    }
    if (rc == 0 && o->html && !o->shared.quiet)
        say_page(o->html, r, bytes);
    if (rc == 0 && o->open)
        hu_browser_open(o->html);
    return rc;
}

static int check_sort(const options *o, hu_error *err)
{
    const char *keys[512], *near;

    if (!o->sort || hu_views_have_column(&o->part, hu_str_of(o->sort)))
        return 0;
    near = hu_options_suggest(o->sort, keys, hu_views_columns(&o->part, keys, HU_COUNT(keys)));
    return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "unknown column \"%.64s\"; %s%s%s", o->sort,
                   near ? "did you mean " : "the heading of --csv lists them", near ? near : "", near ? "?" : "");
}

/* " word.part", on a new line where this one would pass the width of a terminal. */
static void list_part(hu_out *out, size_t *column, const char *word, const char *part)
{
    const size_t width = strlen(word) + strlen(part) + 2;

    if (*column + width > HU_TERMINAL_PLAIN) {
        hu_out_text(out, "\n           ");
        *column = 11;
    }
    hu_out_printf(out, " %s.%s", word, part);
    *column += width;
}

/* A view on one line, its parts below. */
static void list_view(hu_out *out, const hu_view *v)
{
    size_t column = HU_TERMINAL_PLAIN;

    hu_out_printf(out, "%-11s %s", v->word, v->about);
    if (v->n_tables > 1 || (v->n_facts && !v->is_list)) {
        if (v->n_facts)
            list_part(out, &column, v->word, "facts");
        for (size_t t = 0; t < v->n_tables; t++)
            list_part(out, &column, v->word, v->tables[t]->key);
    }
    hu_out_text(out, "\n");
}

/* Every view and its parts. */
static void write_views(hu_out *out)
{
    hu_out_printf(out, "%-11s %s\n", "all", "overview, main operators, kernels and copies, health (default)");
    hu_out_printf(out, "%-11s %s\n", "overview", "what holds the job up, and where the time of a step goes");
    hu_out_printf(out, "%-11s %s\n", "health", "what was read, what was lost, what the capture left out");
    for (size_t i = 0; hu_views[i]; i++)
        list_view(out, hu_views[i]);
    for (size_t i = 0; hu_compat_views[i]; i++)
        list_view(out, hu_compat_views[i]);
}

/* Prices are for those who see them: a single other table does not wait for them. */
static bool wants_replays(const options *o)
{
    return o->shared.json || o->html || (o->show == HU_SHOW_ALL && !o->suggest) || o->show == HU_SHOW_OVERVIEW ||
           (o->part.view && hu_str_equal(hu_str_of(o->part.view->word), HU_STR("why")));
}

/* The text as a whole has few tables; what is beside traces is joined to their kernels. */
static bool is_brief(const options *o, const hu_beside *beside, const hu_crew *crew)
{
    return !o->shared.json && !o->html && !o->shared.csv && !o->suggest && !crew &&
           !(beside && beside->counters.kernels.n) && (o->show == HU_SHOW_ALL || o->show == HU_SHOW_OVERVIEW);
}

/* A table of the traces has no place for what is beside them. */
static bool prints_tables(const options *o)
{
    return o->shared.csv || o->suggest || o->show == HU_SHOW_VIEW || o->show == HU_SHOW_HEALTH;
}

static void say_left_out(const options *o, const hu_inputs *files)
{
    if (files->n && !o->shared.quiet)
        hu_command_say("%s%s: not in what these options print; `holdup report` without them, or --json, has it",
                       files->at[0], files->n > 1 ? " and others" : "");
}

/* Of a crew, which measures traces before anybody knows what the other files are: not if all are named as traces are. */
static bool may_hold_counters(const hu_inputs *inputs)
{
    static const hu_str traces[] = {{".json", 5},   {".pftrace", 8},    {".perfetto-trace", 15}, {".sqlite", 7},
                                    {".pickle", 7}, {"results.db", 10}, {"_trace.csv", 10}};

    for (size_t i = 0; i < inputs->n; i++) {
        bool is_trace = false;

        for (size_t k = 0; k < HU_COUNT(traces); k++)
            is_trace |= hu_str_has(hu_str_base_name(hu_str_of(inputs->at[i])), traces[k]);
        if (!is_trace)
            return true;
    }
    return false;
}

/* `beside`: what was given beside the traces, and of a crew what is found; NULL: nothing. */
static int report(const options *o, const hu_inputs *inputs, hu_beside *beside, const char *arguments, hu_crew *crew,
                  hu_arena *arena)
{
    const hu_job_options how = {.crew = crew,
                                .limits = hu_limits_with_storms(o->shared.limits),
                                .replays = wants_replays(o),
                                .draws = o->html,
                                .draws_all = o->full,
                                .beside = beside,
                                .node = beside && hu_node_log_has_any(&beside->node) ? &beside->node : NULL,
                                .finds_beside = crew != NULL,
                                .keeps_snapshots = true,
                                .digest = {.steps = o->shared.steps,
                                           .grouping = (hu_grouping)o->group_by,
                                           .frames = (int)o->frames,
                                           .compat = (hu_compat)o->compat,
                                           .threads = 1,
                                           .shapes = crew ? may_hold_counters(inputs) : beside && beside->counters.kernels.n,
                                           .is_brief = is_brief(o, beside, crew)}};
    hu_job               job;
    hu_rank              merged = {0};
    hu_report            r = {.job = &job,
                              .beside = beside,
                              .show = o->show,
                              .part = o->part,
                              .top = o->shared.top,
                              .sort = o->sort,
                              .scratch = arena,
                              .batch = o->batch,
                              .unit = o->unit ? o->unit : "samples",
                              .color = hu_terminal_has_color(descriptor(o), o->shared.output, o->shared.color),
                              .arguments = arguments,
                              .width = hu_terminal_width(descriptor(o), o->shared.output)};
    hu_error             err = {0};
    int                  rc = hu_read_job(inputs, how, o->shared.quiet, arena, &job);

    if (rc)
        return rc == HU_READ_SENT ? 0 : rc;
    if (crew && prints_tables(o))
        for (hu_input_kind k = HU_INPUT_RANK + 1; k < HU_INPUT_KINDS; k++)
            say_left_out(o, hu_beside_files(beside, k));
    if (o->merge) {
        merged.digest = hu_digest_merge(job.digests, job.n, &err);
        r.merged = &merged;
    }
    if (rc == 0)
        rc = o->merge && !merged.digest ? err.code : write_faces(o, &r, &err);
    hu_digest_free(merged.digest);
    hu_job_free(&job);
    if (rc < 0)
        return hu_command_fail(&err);
    if (o->shared.strict && beside && beside->counters.is_cut)
        return HU_EXIT_PARTIAL;
    return hu_strict_status(o->shared.strict, &job.unread, &job.partial, 0);
}

/* `--compat hta` shows the view hta, and `--view hta.kernels` needs its numbers. */
static void match_compat(options *o)
{
    for (int i = 0; hu_compat_views[i]; i++)
        if (o->part.view == hu_compat_views[i])
            o->compat = HU_COMPAT_HTA + i;
    if (o->compat && o->part.view != hu_compat_views[o->compat - HU_COMPAT_HTA]) {
        o->show = HU_SHOW_VIEW;
        o->part = (hu_part){.view = hu_compat_views[o->compat - HU_COMPAT_HTA]};
    }
}

int hu_report_paths(char **paths, size_t n, bool is_whole)
{
    const options o = {.shared = {.limits = hu_limits_default(), .quiet = true},
                       .frames = DEFAULT_FRAMES,
                       .to_stderr = true,
                       .show = is_whole ? HU_SHOW_ALL : HU_SHOW_OVERVIEW};
    hu_arena     *arena = hu_arena_new();
    hu_error      err = {0};
    hu_inputs     inputs;
    int           status;

    if (!arena) {
        hu_fail_memory(&err);
        return hu_command_fail(&err);
    }
    status = hu_inputs_expand(paths, (int)n, &o.shared.limits, arena, &inputs, &err) < 0
                 ? hu_command_fail(&err)
                 : report(&o, &inputs, NULL, hu_paste_inputs(paths, n, arena), NULL, arena);
    hu_arena_free(arena);
    return status;
}

/* Counters of single kernels have neither tables nor a page. */
static int report_kernels(const options *o, const hu_cli_call *call)
{
    hu_error err = {0};

    if (!o->html && !o->shared.csv && !o->merge && !o->sort && !o->compat && !o->suggest && o->show == HU_SHOW_ALL)
        return hu_report_kernels(&call->inputs, &o->shared, call->arena);
    hu_fail(&err, HU_EUSAGE, call->inputs.at[0], HU_NO_OFFSET,
            "is a report of Nsight Compute, of which holdup prints text or --json; leave out other options");
    return hu_command_fail(&err);
}

/* An option of this command line that asks for what dumps do not have; NULL: none. */
static const char *option_of_traces(const options *o)
{
    return o->html                      ? "html"
           : o->show != HU_SHOW_ALL     ? "view"
           : o->merge                   ? "merge"
           : o->sort                    ? "sort"
           : o->compat                  ? "compat"
           : o->batch                   ? "batch-size"
           : o->group_by                ? "group-by"
           : o->shared.csv              ? "csv"
           : o->shared.steps.is_limited ? "steps"
                                        : NULL;
}

static int report_beside(const options *o, const hu_cli_call *call, hu_sorted_inputs *sorted)
{
    hu_inputs *ranks = &sorted->of[HU_INPUT_RANK];
    hu_beside  beside;
    hu_error   err = {0};
    int        rc;

    if (prints_tables(o))
        for (hu_input_kind k = HU_INPUT_RANK + 1; k < HU_INPUT_NODE; k++) /* what a monitor sampled has tables */
            say_left_out(o, &sorted->of[k]);
    rc = hu_beside_read(sorted, &o->shared.limits, call->arena, &beside, &ranks->unread, &err);
    rc = rc < 0 ? hu_command_fail(&err) : report(o, ranks, &beside, call->source, NULL, call->arena);
    hu_beside_free(&beside);
    return rc;
}

/* Processes of a crew divide all files between them; what is no rank process 0 reads when they are through. */
static int report_crew(const options *o, const hu_cli_call *call)
{
    hu_beside beside = {0};
    const int rc = report(o, &call->inputs, &beside, call->source, call->crew, call->arena);

    hu_beside_free(&beside);
    return rc;
}

/* Why a file cannot be what a monitor sampled. */
static int fail_with(const char *path, const hu_limits *limits, hu_error *err)
{
    const hu_input_options how = {.limits = *limits};
    hu_input              *in = hu_input_open(path, &how, err);

    if (!in)
        return err->code;
    hu_input_close(in);
    return hu_fail(err, HU_EFORMAT, path, 0, "%s", hu_node_log_none);
}

/* Files of --with become inputs like others, whose content says what they are. */
static int add_with(const options *o, hu_cli_call *call, hu_error *err)
{
    const hu_with *with = &o->with;
    const size_t   n = call->inputs.n;
    const char   **at = hu_arena_calloc(call->arena, n + with->n + 1, sizeof *at);

    if (!at)
        return hu_fail_memory(err);
    for (size_t i = 0; i < with->n; i++) {
        const hu_glance *seen = hu_glances_at(call->inputs.glances, with->at[i], err);

        if (!seen)
            return err->code;
        if (seen->kind != HU_INPUT_NODE)
            return fail_with(with->at[i], &o->shared.limits, err);
        at[n + i] = with->at[i];
    }
    memcpy(at, call->inputs.at, n * sizeof *at);
    call->inputs.at = at;
    call->inputs.n += with->n;
    return 0;
}

/* Files of one kind without a trace are an answer of their own.  Returns an exit status; negative: they are not of one. */
static int report_one_kind(const options *o, const hu_cli_call *call, const hu_sorted_inputs *sorted)
{
    const size_t n = call->inputs.n;
    hu_error     err = {0};

    if (sorted->of[HU_INPUT_SUMS].n == n)
        return hu_report_sums(&o->shared, &call->inputs, option_of_traces(o), call->arena);
    if (sorted->of[HU_INPUT_EXECUTION].n == n)
        return hu_report_executions(&o->shared, &call->inputs, option_of_traces(o), call->arena);
    if (sorted->of[HU_INPUT_LOG].n == n)
        return hu_report_log(&o->shared, &call->inputs, &sorted->logs, option_of_traces(o), call->arena);
    if (sorted->of[HU_INPUT_COUNTERS].n == n)
        return report_kernels(o, call);
    if (sorted->of[HU_INPUT_DUMP].n == n)
        return hu_report_flight(&o->shared, &call->inputs, option_of_traces(o), call->arena);
    if (sorted->of[HU_INPUT_RAS].n == n)
        return hu_report_ras(&o->shared, &call->inputs, option_of_traces(o), call->arena);
    if (sorted->of[HU_INPUT_RAS].n + sorted->of[HU_INPUT_DUMP].n == n)
        return hu_report_hang(&o->shared, sorted, option_of_traces(o), call->arena);
    if (sorted->of[HU_INPUT_RESULTS].n == n)
        return hu_report_results(&o->shared, &call->inputs, option_of_traces(o), call->arena);
    if (sorted->of[HU_INPUT_PROFILE].n == n)
        return hu_report_profile(&o->shared, &call->inputs, option_of_traces(o), call->arena);
    if (sorted->of[HU_INPUT_NODE].n == n)
        return hu_report_node(&o->shared, &call->inputs, option_of_traces(o), call->arena);
    if (sorted->of[HU_INPUT_RANK].n == 0)
        hu_fail(&err, HU_EUSAGE, NULL, HU_NO_OFFSET,
                "without a trace these files have nothing in common; give the trace too, or report them one by one");
    return err.code ? hu_command_fail(&err) : -1;
}

/* By what they are, as soon as each was looked at. */
static int report_sorted(const options *o, hu_cli_call *call, const regex_t *pattern)
{
    static const double seconds[] = {0, 1, 1e-3, 1e-6}; /* as time_units */
    hu_sorted_inputs    sorted;
    hu_error            err = {0};
    int                 status;

    if (hu_standard_input_prepare(&call->inputs, &o->shared.limits, &err) < 0 ||
        hu_inputs_add_beside(call->argv, (size_t)call->n, call->arena, &call->inputs, &err) < 0 ||
        hu_inputs_sort(&call->inputs, pattern != NULL, call->arena, &sorted, &err) < 0)
        return hu_command_fail(&err);
    sorted.logs = (hu_log_how){pattern, seconds[o->time_unit]};
    if (pattern && sorted.of[HU_INPUT_LOG].n == 0) {
        hu_fail(&err, HU_EUSAGE, NULL, HU_NO_OFFSET, "--pattern is for logs, and none of these files is text");
        return hu_command_fail(&err);
    }
    if (o->time_unit && sorted.of[HU_INPUT_LOG].n == 0) {
        hu_fail(&err, HU_EUSAGE, NULL, HU_NO_OFFSET, "--time-unit is for logs, and none of these files is one");
        return hu_command_fail(&err);
    }
    status = report_one_kind(o, call, &sorted);
    return status >= 0 ? status : report_beside(o, call, &sorted);
}

static int run(hu_cli_call *call)
{
    const options *o = call->options;
    regex_t        pattern;
    hu_error       err = {0};
    int            status;

    if (call->crew && o->with.n) {
        hu_fail(&err, HU_EUSAGE, NULL, HU_NO_OFFSET, "--with is read by one process; report without mpirun");
        return hu_command_fail(&err);
    }
    if (call->crew)
        return report_crew(o, call);
    if (add_with(o, call, &err) < 0 || (o->pattern && hu_log_pattern_compile(o->pattern, &pattern, &err) < 0))
        return hu_command_fail(&err);
    status = report_sorted(o, call, o->pattern ? &pattern : NULL);
    if (o->pattern)
        regfree(&pattern);
    return status;
}

static int check(hu_cli_call *call, hu_error *err)
{
    options *o = call->options;

    match_compat(o);
    if (o->compat && o->merge)
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "--compat and --merge cannot be used together");
    return check_sort(o, err);
}

const hu_command hu_command_report = {
    .name = "report",
    .group = HU_GROUP_EXPLAIN,
    .summary = "show where the time of a job goes, why, and what a fix would save",
    .usage = "[options] FILE|DIRECTORY|- ...",
    .about = "Reads traces of torch.profiler (.json, .json.gz, .json.zst) or `holdup run` (.pftrace), or\n"
             "any of what is named below from standard input (-).  Prints where the time of a step goes, what holds\n"
             "it up, what each fix would save, which operators, kernels and copies take the time,\n"
             "and how far the trace can be trusted.  Several files, or a directory, are the ranks\n"
             "of one job; mpirun divides them over processes and machines (docs/many-ranks.md).\n"
             "A report of Nsight Compute (.ncu-rep) is explained kernel by kernel (docs/formats/ncu.md),\n"
             "Flight Recorder dumps of PyTorch and what `ncclras` prints say why a job hangs, memory\n"
             "snapshots who holds its memory.  Beside traces of the same run they become part of one\n"
             "answer (docs/one-run.md), as do logs of training runs and of NCCL, and samples of\n"
             "nvidia-smi or a monitor; of a directory all that lies in it and below.  A log alone tells\n"
             "how long its steps take, and what it cannot tell (docs/formats/step-log.md), output of\n"
             "nccl-tests how fast the links are (docs/formats/nccl-tests.md), files of NCCL's Inspector\n"
             "which rank the others wait for (docs/formats/nccl-inspector.md), samples alone what held\n"
             "the GPUs up (docs/formats/node-log.md).",
    .examples = "  holdup report trace.json.gz\n"
                "  holdup report trace.json.gz --view kernels --top 20\n"
                "  holdup report trace.json.gz --view ops --group-by shapes --sort host_self_ns\n"
                "  holdup report run/ --html report.html\n"
                "  mpirun -n 4 holdup report run/\n"
                "  holdup report dumps/\n"
                "  holdup report train.log\n"
                "  kubectl logs job | holdup report -\n"
                "  holdup report smi.csv\n"
                "  holdup report trace.json.gz profile.ncu-rep memory.pickle slurm.out smi.csv\n"
                "  holdup report trace.json.gz --json | jq '.ranks[0].gpu.busy_ns'",
    .wants = "a trace",
    .example = "holdup report trace.json.gz",
    .least = 1,
    .words = HU_WORDS_PATHS,
    .needs = HU_NEEDS_INPUTS | HU_NEEDS_CREW | HU_NEEDS_BESIDE,
    .shared = HU_SHARED_STEPS | HU_SHARED_TOP | HU_SHARED_JSON | HU_SHARED_CSV | HU_SHARED_OUTPUT | HU_SHARED_COLOR |
              HU_SHARED_QUIET | HU_SHARED_STRICT | HU_SHARED_READING | HU_SHARED_CPUS,
    .closer = (const hu_option_help[]){{"json", "write everything as JSON (docs/report.schema.json)"},
                                       {"csv", "write the table of --view as CSV"},
                                       {NULL, NULL}},
    .options = rows,
    .n_options = HU_COUNT(rows),
    .options_size = sizeof(options),
    .defaults = &(const options){.frames = DEFAULT_FRAMES},
    .excludes = (const hu_option_pair[]){{"json", "csv"}, {"suggest", "json"}, {"suggest", "csv"}, {NULL, NULL}},
    .requires = (const hu_option_pair[]){{"full", "html"}, {"open", "html"}, {"unit", "batch-size"}, {NULL, NULL}},
    .lists = (const hu_listing[]){{offsetof(options, list), write_views, hu_describe_csv, hu_describe_json}, {0, NULL}},
    .check = check,
    .run = run,
};
