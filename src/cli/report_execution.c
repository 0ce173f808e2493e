/* SPDX-License-Identifier: Apache-2.0
 * report_execution.c - execution traces have no times, so there is no job to read: their operators are counted. */
#include "cli/report_execution.h"

#include <unistd.h>

#include "across/roster.h"
#include "cli/command.h"
#include "cli/outputs.h"
#include "cli/terminal.h"
#include "ingest/execution_trace.h"
#include "render/execution.h"

static int read_one(const char *path, const hu_limits *limits, hu_arena *arena, hu_execution *out, hu_error *err)
{
    const hu_input_options how = {.limits = *limits};
    hu_input              *in = hu_input_open(path, &how, err);
    int                    rc;

    if (!in)
        return err->code;
    rc = hu_execution_trace_read(in, arena, out, err);
    hu_input_close(in);
    return rc;
}

static int write_answer(const hu_shared *shared, const hu_execution_answer *answer, hu_error *err)
{
    const hu_execution_report r = {
        .answer = answer, .top = (size_t)shared->top, .width = hu_terminal_width(STDOUT_FILENO, shared->output)};
    hu_out *out = hu_output_open(shared->output, err);

    if (!out)
        return err->code;
    if (shared->json)
        hu_execution_json(&r, out);
    else
        hu_execution_text(&r, out);
    return hu_out_close(out, err);
}

int hu_report_executions(const hu_shared *shared, const hu_inputs *inputs, const char *other, hu_arena *arena)
{
    hu_execution       *files = hu_arena_calloc(arena, inputs->n + 1, sizeof *files);
    hu_execution_answer answer;
    hu_error            err = {0};
    int                 rc = files ? 0 : hu_fail_memory(&err);

    if (rc == 0 && other)
        rc = hu_fail(&err, HU_EUSAGE, NULL, HU_NO_OFFSET,
                     "--%s is not for execution traces, which have no times; they take --json, --output and --top", other);
    for (size_t i = 0; rc == 0 && i < inputs->n; i++) {
        rc = read_one(inputs->at[i], &shared->limits, arena, &files[i], &err);
        files[i].rank = hu_roster_rank_of_name(hu_str_of(inputs->at[i]), inputs->n);
    }
    if (rc == 0 && !hu_execution_measure(files, inputs->n, arena, &answer))
        rc = hu_fail_memory(&err);
    if (rc == 0)
        rc = write_answer(shared, &answer, &err);
    if (rc < 0)
        return hu_command_fail(&err);
    return shared->strict && answer.is_cut ? HU_EXIT_PARTIAL : HU_EXIT_OK;
}
