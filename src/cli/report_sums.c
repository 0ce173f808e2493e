/* SPDX-License-Identifier: Apache-2.0
 * report_sums.c - tables of sums have no timeline, so there is no job to read: they are sorted as they are. */
#include "cli/report_sums.h"

#include <unistd.h>

#include "cli/command.h"
#include "cli/outputs.h"
#include "cli/terminal.h"
#include "ingest/nsys_stats.h"
#include "render/nsys_sums.h"

static int read_one(const char *path, const hu_limits *limits, hu_arena *arena, hu_nsys_sums *out, hu_error *err)
{
    const hu_input_options how = {.limits = *limits};
    hu_input              *in = hu_input_open(path, &how, err);
    int                    rc;

    if (!in)
        return err->code;
    rc = hu_nsys_stats_read(in, arena, out, err);
    hu_input_close(in);
    return rc;
}

static int write_answer(const hu_shared *shared, const hu_nsys_sums *sums, hu_arena *arena, hu_error *err)
{
    hu_nsys_answer       answer;
    const hu_nsys_report r = {.sums = sums,
                              .answer = &answer,
                              .top = (size_t)shared->top,
                              .width = hu_terminal_width(STDOUT_FILENO, shared->output)};
    hu_out              *out;

    if (!hu_nsys_sums_measure(sums, arena, &answer))
        return hu_fail_memory(err);
    out = hu_output_open(shared->output, err);
    if (!out)
        return err->code;
    if (shared->json)
        hu_nsys_json(&r, arena, out);
    else
        hu_nsys_text(&r, arena, out);
    return hu_out_close(out, err);
}

int hu_report_sums(const hu_shared *shared, const hu_inputs *inputs, const char *other, hu_arena *arena)
{
    hu_nsys_sums sums = {.sqlite = HU_STR(""), .report = HU_STR("")};
    hu_error     err = {0};
    int          rc = 0;

    if (other)
        rc = hu_fail(&err, HU_EUSAGE, NULL, HU_NO_OFFSET,
                     "--%s is not for sums of nsys stats, which have no timeline; they take --json, --output and --top",
                     other);
    for (size_t i = 0; rc == 0 && i < inputs->n; i++)
        rc = read_one(inputs->at[i], &shared->limits, arena, &sums, &err);
    if (rc == 0)
        rc = write_answer(shared, &sums, arena, &err);
    if (rc < 0)
        return hu_command_fail(&err);
    return shared->strict && sums.is_cut ? HU_EXIT_PARTIAL : HU_EXIT_OK;
}
