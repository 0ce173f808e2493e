/* SPDX-License-Identifier: Apache-2.0
 * cmd_stragglers.c - `holdup stragglers`: how much slower a job is than it would be if all its workers were alike. */
#include <unistd.h>

#include "base/thread.h"
#include "cli/command.h"
#include "job/inputs.h"
#include "cli/outputs.h"
#include "cli/terminal.h"
#include "cli/unread.h"
#include "ingest/operation_rows.h"
#include "render/slowdown.h"

typedef struct {
    hu_shared shared;
    bool      has_steps;
    int       unit;
} options;

static const char *const units[] = {"s", "ms", "us", "ns", NULL};
static const int         unit_powers[] = {9, 6, 3, 0};

static const hu_option rows[] = {
    {"unit", 0, HU_OPTION_CHOICE, "UNIT", "read start_ts and duration in s (default), ms, us or ns", offsetof(options, unit),
     units},
    {"per-step", 0, HU_OPTION_FLAG, NULL, "add the slowdown of each step by stage, dp rank and type (with --json)",
     offsetof(options, has_steps)},
};

static int read_tables(const options *o, const hu_inputs *inputs, hu_arena *arena, hu_operations *table, hu_error *err)
{
    const hu_input_options how = {.limits = o->shared.limits, .threads = 2};

    for (size_t i = 0; i < inputs->n; i++) {
        hu_input *in = hu_input_open(inputs->at[i], &how, err);
        int       rc;

        if (!in)
            return err->code;
        rc = hu_operation_rows_read(in, unit_powers[o->unit], arena, table, err);
        hu_input_close(in);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* Only what the user wants to see.  Returns 0 or HU_EUSAGE. */
static int keep_steps(const hu_step_range *range, hu_operations *table, hu_error *err)
{
    int64_t first = INT64_MAX, last = INT64_MIN;
    size_t  n = 0;

    for (size_t i = 0; i < table->n; i++) {
        const int64_t step = table->at[i].step;

        first = step < first ? step : first;
        last = step > last ? step : last;
        if (step >= range->first && step <= range->last)
            table->at[n++] = table->at[i];
    }
    if (n == 0)
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET,
                       "no operation in steps %lld..%lld; the table has steps %lld..%lld", (long long)range->first,
                       (long long)range->last, (long long)first, (long long)last);
    table->n = n;
    return 0;
}

static int write_answer(const options *o, const hu_slowdown *s, hu_error *err)
{
    const hu_slowdown_report r = {.slowdown = s,
                                  .top = (size_t)o->shared.top,
                                  .width = hu_terminal_width(STDOUT_FILENO, o->shared.output),
                                  .has_steps = o->has_steps};
    hu_out                  *out = hu_output_open(o->shared.output, err);

    if (!out)
        return err->code;
    if (o->shared.json)
        hu_slowdown_json(&r, out);
    else
        hu_slowdown_text(&r, out);
    return hu_out_close(out, err);
}

static int stragglers(const options *o, const hu_inputs *inputs, hu_arena *arena)
{
    hu_operations table = {0};
    hu_pipeline   pipeline;
    hu_slowdown   slowdown;
    hu_error      err = {0};

    if (inputs->unread.n) { /* workers of a table that is missing cannot be left out: the others wait for them */
        hu_unread_warn(&inputs->unread, false);
        return HU_EXIT_UNREADABLE;
    }
    if (read_tables(o, inputs, arena, &table, &err) < 0 ||
        (o->shared.steps.is_limited && keep_steps(&o->shared.steps, &table, &err) < 0))
        return hu_command_fail(&err);
    hu_operations_sort(&table);
    if (table.is_cut && !o->shared.quiet)
        hu_command_say("the table is cut: its end is missing");
    if (hu_pipeline_build(&table, arena, &pipeline, &err) < 0 ||
        hu_slowdown_measure(&pipeline, hu_thread_count(), arena, &slowdown, &err) < 0 ||
        write_answer(o, &slowdown, &err) < 0)
        return hu_command_fail(&err);
    return o->shared.strict && table.is_cut ? HU_EXIT_PARTIAL : HU_EXIT_OK;
}

static int run(hu_cli_call *call)
{
    return stragglers(call->options, &call->inputs, call->arena);
}

const hu_command hu_command_stragglers = {
    .name = "stragglers",
    .group = HU_GROUP_COMPARE,
    .summary = "find the worker or stage that slows down a pipeline-parallel job",
    .usage = "[options] ROWS.csv|- ...",
    .about = "Reads the operations of all workers of a job with data, tensor and pipeline\n"
             "parallelism: one row for each pass, send, receive, collective and optimizer\n"
             "step, comma- or tab-separated.  Replays the steps and prints how much slower\n"
             "they are than with equally fast workers, and which worker, stage, dp rank or type\n"
             "of operation causes that.  docs/stragglers.md describes the columns.",
    .examples = "  holdup stragglers rows.csv\n"
                "  holdup stragglers rows.csv.gz --json --per-step",
    .wants = "a table of operations",
    .example = "holdup stragglers rows.csv",
    .least = 1,
    .words = HU_WORDS_PATHS,
    .needs = HU_NEEDS_INPUTS,
    .shared = HU_SHARED_STEPS | HU_SHARED_TOP | HU_SHARED_JSON | HU_SHARED_OUTPUT | HU_SHARED_QUIET | HU_SHARED_STRICT |
              HU_SHARED_READING,
    .closer = (const hu_option_help[]){{"steps", "use only steps A to B of the job"},
                                       {"top", "limit each table to N rows (default: 8)"},
                                       {"json", "write JSON, with all workers and steps"},
                                       {"limit", "raise or lower a limit against hostile files: events (rows),"
                                                 " inflate_ratio"},
                                       {NULL, NULL}},
    .options = rows,
    .n_options = HU_COUNT(rows),
    .options_size = sizeof(options),
    .requires = (const hu_option_pair[]){{"per-step", "json"}, {NULL, NULL}},
    .run = run,
};
