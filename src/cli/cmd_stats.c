/* SPDX-License-Identifier: Apache-2.0
 * cmd_stats.c - `holdup stats`: the summaries that people know from `nsys stats`, of any trace. */
#include <stdio.h>
#include <unistd.h>

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
     "only these reports, separated by commas (default: the first seven of --help-reports)", offsetof(options, reports)},
    {"help-reports", 0, HU_OPTION_FLAG, NULL, "list the reports", offsetof(options, list)},
};

static void write_list(hu_out *out)
{
    for (size_t i = 0; i < hu_sums_n_reports; i++)
        hu_out_printf(out, "%-22s  %s\n", hu_sums_reports[i].key, hu_sums_reports[i].title);
    for (size_t i = 0; i < hu_sheet_n_reports; i++)
        hu_out_printf(out, "%-22s  %s\n", hu_sheet_reports[i].key, hu_sheet_reports[i].title);
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

static int check(hu_cli_call *call, hu_error *err)
{
    const options *o = call->options;
    hu_str         list = hu_str_of(o->reports ? o->reports : ""), name;
    size_t         n = 0;

    for (; next_name(&list, &name); n++)
        if (!hu_sums_find(name) && !hu_sheet_find(hu_sheet_reports, hu_sheet_n_reports, name))
            return fail_unknown(name, err);
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

static bool write_sums(const target *to, const hu_sums_report *report, hu_arena *arena)
{
    hu_sums sums;

    if (!hu_sums_measure(report, to->traces->at, to->traces->n, arena, &sums))
        return false;
    if (to->o->shared.json)
        hu_sums_write_json(to->json, report, &sums);
    else if (to->o->shared.csv)
        hu_sums_write_csv(to->out, report, &sums);
    else if (sums.n)
        hu_sums_write_text(to->out, report, &sums, hu_terminal_width(STDOUT_FILENO, to->o->shared.output));
    else if (to->o->reports)
        hu_out_printf(to->out, "%s: the trace has nothing of it\n", report->key);
    return true;
}

static bool write_sheet(const target *to, const hu_sheet_report *report, hu_arena *arena)
{
    hu_sheet sheet;

    if (!hu_sheet_measure(report, to->traces->at, to->traces->n, arena, &sheet))
        return false;
    if (to->o->shared.json) {
        hu_sheet_write_json_as(to->json, report->key, &sheet);
    } else if (to->o->shared.csv) {
        hu_sheet_write_csv(to->out, &sheet);
    } else if (sheet.n) {
        hu_out_printf(to->out, " ** %s (%s):\n\n", report->title, report->key);
        hu_sheet_write_text(to->out, &sheet, 0, hu_terminal_width(STDOUT_FILENO, to->o->shared.output));
        hu_out_text(to->out, "\n");
    } else {
        hu_out_printf(to->out, "%s: the trace has nothing of it\n", report->key);
    }
    return true;
}

/* One report, whose memory goes with it. */
static int write_one(const target *to, const hu_sums_report *sums, const hu_sheet_report *sheet, hu_error *err)
{
    hu_arena  *arena = hu_arena_new();
    const bool ok = arena && (sums ? write_sums(to, sums, arena) : write_sheet(to, sheet, arena));

    hu_arena_free(arena);
    return ok ? 0 : hu_fail_memory(err);
}

/* In the order in which they were asked for. */
static int write_all(const target *to, hu_error *err)
{
    hu_str list = hu_str_of(to->o->reports ? to->o->reports : ""), name;
    int    rc = 0;

    for (size_t i = 0; rc == 0 && !to->o->reports && i < hu_sums_n_reports; i++)
        if (!hu_sums_reports[i].on_demand)
            rc = write_one(to, &hu_sums_reports[i], NULL, err);
    while (rc == 0 && next_name(&list, &name))
        rc = write_one(to, hu_sums_find(name), hu_sheet_find(hu_sheet_reports, hu_sheet_n_reports, name), err);
    return rc;
}

static int write_answer(const options *o, const hu_traces *traces)
{
    hu_error    err = {0};
    hu_out     *out = o->shared.output ? hu_out_open_file(o->shared.output, &err) : hu_out_open_fd(STDOUT_FILENO);
    hu_json_out json = {.out = out, .is_empty = true};
    int         rc = 0;

    if (!out) {
        if (!err.code)
            hu_fail_memory(&err);
        return hu_command_fail(&err);
    }
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
                "  holdup stats report.sqlite -r osrt_sum --csv",
    .wants = "a trace",
    .example = "holdup stats report.sqlite",
    .least = 1,
    .words = HU_WORDS_PATHS,
    .needs = HU_NEEDS_INPUTS,
    .shared = HU_SHARED_JSON | HU_SHARED_CSV | HU_SHARED_OUTPUT | HU_SHARED_QUIET | HU_SHARED_STRICT | HU_SHARED_LIMIT,
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
