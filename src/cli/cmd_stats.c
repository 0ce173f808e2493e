/* SPDX-License-Identifier: Apache-2.0
 * cmd_stats.c - `holdup stats`: the summaries that people know from `nsys stats`, of any trace. */
#include <stdio.h>
#include <unistd.h>

#include "base/number.h"
#include "cli/command.h"
#include "cli/outputs.h"
#include "cli/reading.h"
#include "cli/terminal.h"
#include "cli/unread.h"
#include "render/sheet.h"
#include "render/sums.h"

typedef struct {
    hu_shared   shared;
    const char *reports;
    bool        list;
} options;

static const hu_option rows[] = {
    {"report", 'r', HU_OPTION_TEXT, "NAMES",
     "only these reports, separated by commas (default: the first nine of --help-reports), with arguments as "
     "nsys takes them (cuda_gpu_kern_sum:nvtx-name:base)",
     offsetof(options, reports)},
    {"help-reports", 0, HU_OPTION_FLAG, NULL, "list the reports", offsetof(options, list)},
};

static const char *arguments_of(unsigned takes)
{
    if (takes == HU_NAMING_ROWS)
        return "[:rows=N]";
    return takes == HU_NAMING_KERNELS ? "[:nvtx-name][:base|:mangled]" : takes == HU_NAMING_FORMS ? "[:base|:mangled]" : "";
}

/* Arguments that do not fit behind the title stand below it. */
static void write_row(hu_out *out, const char *key, const char *title, const char *arguments)
{
    enum { KEY = 22, TITLE = KEY + 2 };
    const bool fits = TITLE + strlen(title) + 2 + strlen(arguments) <= HU_TERMINAL_PLAIN;

    hu_out_printf(out, "%-*s  %s", KEY, key, title);
    if (arguments[0] && fits)
        hu_out_printf(out, "  %s", arguments);
    else if (arguments[0])
        hu_out_printf(out, "\n%*s%s", TITLE, "", arguments);
    hu_out_text(out, "\n");
}

static void write_list(hu_out *out)
{
    for (size_t i = 0; i < hu_sums_n_reports; i++)
        write_row(out, hu_sums_reports[i].key, hu_sums_reports[i].title, arguments_of(hu_sums_reports[i].takes));
    for (size_t i = 0; i < hu_sheet_n_reports; i++)
        write_row(out, hu_sheet_reports[i].key, hu_sheet_reports[i].title, arguments_of(hu_sheet_reports[i].takes));
}

/* The next name of a list; false at its end. */
static bool next_name(hu_str *list, hu_str *name)
{
    const char *comma = list->n ? memchr(list->p, ',', list->n) : NULL;

    *name = (hu_str){list->p, comma ? (size_t)(comma - list->p) : list->n};
    if (list->n == 0)
        return false;
    *list = (hu_str){list->p + name->n + (comma != NULL), list->n - name->n - (comma != NULL)};
    return true;
}

static int fail_unknown(hu_str name, hu_error *err)
{
    char   known[512] = "";
    size_t n = 0;

    for (size_t i = 0; i < hu_sums_n_reports && n < sizeof known; i++)
        n += (size_t)snprintf(known + n, sizeof known - n, "%s%s", i ? ", " : "", hu_sums_reports[i].key);
    for (size_t i = 0; i < hu_sheet_n_reports && n < sizeof known; i++)
        n += (size_t)snprintf(known + n, sizeof known - n, ", %s", hu_sheet_reports[i].key);
    return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "unknown report \"%.*s\"; there are %s", HU_FMT(name), known);
}

/* A report and its arguments: "cuda_gpu_kern_sum:nvtx-name:base". */
typedef struct {
    hu_str                 text;
    const hu_sums_report  *sums;  /* NULL: */
    const hu_sheet_report *sheet; /* this one */
    unsigned               how;   /* bits of HU_NAMING_… */
    size_t                 rows;  /* at most, of a report that has a limit */
} asked;

enum { DEFAULT_ROWS = 10 }; /* as nsys */

static const struct {
    hu_str   word;
    unsigned bit;
} arguments[] = {
    {{"base", 4}, HU_NAMING_BASE}, {{"mangled", 7}, HU_NAMING_MANGLED}, {{"nvtx-name", 9}, HU_NAMING_NVTX_NAME}};

static int fail_argument(hu_str name, hu_str argument, unsigned takes, hu_error *err)
{
    char   known[64] = "";
    size_t n = 0;

    if (takes & HU_NAMING_ROWS)
        n += (size_t)snprintf(known, sizeof known, ":rows=N");
    for (size_t i = 0; i < HU_COUNT(arguments); i++)
        if (takes & arguments[i].bit)
            n += (size_t)snprintf(known + n, sizeof known - n, "%s:%s", n ? ", " : "", arguments[i].word.p);
    return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "report %.*s has no argument \"%.*s\"; it takes %s", HU_FMT(name),
                   HU_FMT(argument), n ? known : "none");
}

static int parse_report(hu_str text, asked *out, hu_error *err)
{
    const char  *colon = text.n ? memchr(text.p, ':', text.n) : NULL;
    const hu_str name = {text.p, colon ? (size_t)(colon - text.p) : text.n};
    hu_str       rest = {text.p + name.n, text.n - name.n};
    uint64_t     limit;
    unsigned     takes;

    *out = (asked){
        .text = text, .sums = hu_sums_find(name), .sheet = hu_sheet_find(hu_sheet_reports, hu_sheet_n_reports, name)};
    if (!out->sums && !out->sheet)
        return fail_unknown(name, err);
    takes = out->sums ? out->sums->takes : out->sheet->takes;
    out->rows = takes & HU_NAMING_ROWS ? DEFAULT_ROWS : 0;
    while (rest.n) {
        hu_str   word = {rest.p + 1, rest.n - 1};
        unsigned bit = 0;

        colon = word.n ? memchr(word.p, ':', word.n) : NULL;
        word.n = colon ? (size_t)(colon - word.p) : word.n;
        for (size_t i = 0; i < HU_COUNT(arguments); i++)
            bit |= hu_str_equal(word, arguments[i].word) ? arguments[i].bit & takes : 0;
        if (takes & HU_NAMING_ROWS && hu_str_starts(word, HU_STR("rows=")) &&
            hu_parse_u64((hu_str){word.p + 5, word.n - 5}, &limit) && limit > 0) {
            out->rows = (size_t)limit;
            bit = HU_NAMING_ROWS;
        }
        if (!bit)
            return fail_argument(name, word, takes, err);
        out->how |= bit;
        rest = (hu_str){rest.p + 1 + word.n, rest.n - 1 - word.n};
    }
    if ((out->how & HU_NAMING_FORMS) == HU_NAMING_FORMS)
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "report %.*s takes :base or :mangled, not both", HU_FMT(name));
    return 0;
}

static int check(hu_cli_call *call, hu_error *err)
{
    const options *o = call->options;
    hu_str         list = hu_str_of(o->reports ? o->reports : ""), name;
    asked          one;
    size_t         n = 0;

    for (; next_name(&list, &name); n++)
        if (parse_report(name, &one, err) < 0)
            return err->code;
    if (o->shared.csv && n != 1)
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "--csv writes one table: choose it with --report NAME");
    return 0;
}

/* Where a report of each face goes. */
typedef struct {
    const options   *o;
    const hu_traces *traces;
    hu_json_out     *json;
    hu_out          *out;
} target;

static bool write_sums(const target *to, const asked *one, const char *key, hu_naming *naming, hu_arena *arena)
{
    hu_sums sums;

    if (!hu_sums_measure(one->sums, to->traces->at, to->traces->n, naming, arena, &sums))
        return false;
    if (to->o->shared.json)
        hu_sums_write_json(to->json, key, one->sums, &sums);
    else if (to->o->shared.csv)
        hu_sums_write_csv(to->out, one->sums, &sums);
    else if (sums.n)
        hu_sums_write_text(to->out, one->sums, key, &sums, hu_terminal_width(STDOUT_FILENO, to->o->shared.output));
    else if (to->o->reports)
        hu_out_printf(to->out, "%s: the trace has nothing of it\n", key);
    return true;
}

static bool write_sheet(const target *to, const asked *one, const char *key, hu_naming *naming, hu_arena *arena)
{
    hu_sheet sheet;

    if (!hu_sheet_measure(one->sheet, to->traces->at, to->traces->n, one->rows, naming, arena, &sheet))
        return false;
    if (to->o->shared.json) {
        hu_sheet_write_json_as(to->json, key, &sheet);
    } else if (to->o->shared.csv) {
        hu_sheet_write_csv(to->out, &sheet);
    } else if (sheet.n) {
        hu_out_printf(to->out, " ** %s (%s):\n\n", one->sheet->title, key);
        hu_sheet_write_text(to->out, &sheet, 0, hu_terminal_width(STDOUT_FILENO, to->o->shared.output));
        hu_out_text(to->out, "\n");
    } else {
        hu_out_printf(to->out, "%s: the trace has nothing of it\n", key);
    }
    return naming->has_memory;
}

static void say_names(const target *to, const char *key, const hu_naming *naming)
{
    if (to->o->shared.quiet)
        return;
    if (naming->is_unknown)
        hu_command_say("%s: the trace does not hold mangled names of all kernels; those without keep their own", key);
    if (naming->is_ambiguous)
        hu_command_say("%s: kernels of one name have several mangled names; they keep their own and count together", key);
}

/* One report, whose memory goes with it. */
static int write_one(const target *to, const asked *one, hu_error *err)
{
    hu_arena   *arena = hu_arena_new();
    hu_naming   naming;
    const char *key = arena ? hu_arena_copy(arena, one->text).p : NULL;
    const bool  ok = key && hu_naming_init(&naming, one->how, arena) &&
                    (one->sums ? write_sums(to, one, key, &naming, arena) : write_sheet(to, one, key, &naming, arena));

    if (ok)
        say_names(to, key, &naming);
    hu_arena_free(arena);
    return ok ? 0 : hu_fail_memory(err);
}

/* In the order in which they were asked for. */
static int write_all(const target *to, hu_error *err)
{
    hu_str list = hu_str_of(to->o->reports ? to->o->reports : ""), name;
    asked  one;
    int    rc = 0;

    for (size_t i = 0; rc == 0 && !to->o->reports && i < hu_sums_n_reports; i++)
        if (!hu_sums_reports[i].on_demand)
            rc = write_one(to, &(asked){.text = hu_str_of(hu_sums_reports[i].key), .sums = &hu_sums_reports[i]}, err);
    while (rc == 0 && next_name(&list, &name)) {
        rc = parse_report(name, &one, err);
        rc = rc < 0 ? rc : write_one(to, &one, err);
    }
    return rc;
}

static int write_answer(const options *o, const hu_traces *traces)
{
    hu_error    err = {0};
    hu_out     *out = hu_output_open(o->shared.output, &err);
    hu_json_out json = {.out = out, .is_empty = true};
    int         rc = 0;

    if (!out)
        return hu_command_fail(&err);
    if (o->shared.json)
        hu_json_open(&json, NULL, '{');
    rc = write_all(&(target){o, traces, &json, out}, &err);
    if (rc < 0) {
        hu_out_abandon(out);
        return hu_command_fail(&err);
    }
    if (o->shared.json)
        hu_json_close(&json, '}');
    rc = hu_out_close(out, &err);
    return rc < 0 ? hu_command_fail(&err) : 0;
}

static int run(hu_cli_call *call)
{
    const options *o = call->options;
    hu_traces      traces;
    int            status = hu_read_traces(&call->inputs, o->shared.limits, o->shared.quiet, call->arena, &traces);

    if (status)
        return status;
    status = write_answer(o, &traces);
    hu_traces_free(&traces);
    return hu_strict_status(o->shared.strict, &traces.unread, &traces.partial, status);
}

const hu_command hu_command_stats = {
    .name = "stats",
    .group = HU_GROUP_INSIDE,
    .summary = "print the summaries of `nsys stats`, of any trace",
    .usage = "[options] FILE|DIRECTORY|- ...",
    .about = "Sums kernels, calls, copies, ranges and calls of the C library under the names and\n"
             "columns of Nsight Systems' reports, or lists them one by one (cuda_gpu_trace,\n"
             "cuda_kern_exec_trace).  Several inputs are summed together.",
    .examples = "  holdup stats report.sqlite\n"
                "  holdup stats trace.json.gz -r cuda_gpu_kern_sum,cuda_api_sum\n"
                "  holdup stats trace.json.gz -r cuda_kern_exec_sum,nvtx_gpu_proj_sum\n"
                "  holdup stats report.sqlite -r cuda_gpu_kern_sum:nvtx-name:base\n"
                "  holdup stats report.sqlite -r osrt_sum --csv",
    .wants = "a trace",
    .example = "holdup stats report.sqlite",
    .least = 1,
    .words = HU_WORDS_PATHS,
    .needs = HU_NEEDS_INPUTS,
    .shared = HU_SHARED_JSON | HU_SHARED_CSV | HU_SHARED_OUTPUT | HU_SHARED_QUIET | HU_SHARED_STRICT | HU_SHARED_READING,
    .closer = (const hu_option_help[]){{"json", "write an object with an array for each report"},
                                       {"csv", "write one report as CSV, as nsys does"},
                                       {NULL, NULL}},
    .options = rows,
    .n_options = HU_COUNT(rows),
    .options_size = sizeof(options),
    .excludes = (const hu_option_pair[]){{"json", "csv"}, {NULL, NULL}},
    .lists = (const hu_listing[]){{offsetof(options, list), write_list, NULL, NULL}, {0, NULL}},
    .check = check,
    .run = run,
};
