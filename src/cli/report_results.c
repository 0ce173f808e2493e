/* SPDX-License-Identifier: Apache-2.0
 * report_results.c - results have no timeline, so there is no job to read: they are listed, or two files compared. */
#include "cli/report_results.h"

#include <unistd.h>

#include "cli/command.h"
#include "cli/outputs.h"
#include "cli/terminal.h"
#include "ingest/results.h"
#include "render/results.h"

int hu_report_results(const hu_shared *shared, const hu_inputs *inputs, const char *other, hu_arena *arena)
{
    hu_results *files = hu_arena_calloc(arena, inputs->n, sizeof *files);
    hu_error    err = {0};
    hu_out     *out;
    int         rc = files ? 0 : hu_fail_memory(&err);

    if (other)
        rc = hu_fail(&err, HU_EUSAGE, NULL, HU_NO_OFFSET,
                     "--%s is not for results of benchmarks, which have no timeline; they take --json, --output and --top",
                     other);
    for (size_t i = 0; rc == 0 && i < inputs->n; i++)
        rc = hu_results_read_path(inputs->at[i], &shared->limits, arena, &files[i], &err);
    if (rc < 0 || !(out = hu_output_open(shared->output, &err)))
        return hu_command_fail(&err);
    if (shared->json)
        hu_results_json(files, inputs->n, out);
    else
        hu_results_text(files, inputs->n, (size_t)shared->top, hu_terminal_width(STDOUT_FILENO, shared->output), out);
    return hu_out_close(out, &err) < 0 ? hu_command_fail(&err) : HU_EXIT_OK;
}

int hu_diff_results(const hu_shared *shared, char **paths, const hu_diff_run run[2], hu_arena *arena)
{
    hu_results files[2];
    hu_error   err = {0};
    hu_out    *out;
    bool       has_memory;

    for (size_t k = 0; k < HU_COUNT(files); k++)
        if (run[k].kind != HU_INPUT_RESULTS)
            hu_fail(&err, HU_EUSAGE, paths[k], HU_NO_OFFSET,
                    "holds no results of benchmarks, which the other one does; pass two files of one kind");
    if (err.code)
        return hu_command_fail(&err);
    for (size_t k = 0; k < HU_COUNT(files); k++)
        if (hu_results_read_path(paths[k], &shared->limits, arena, &files[k], &err) < 0)
            return hu_command_fail(&err);
    if (files[0].memory.n_samples && files[1].memory.n_samples) {
        hu_fail(&err, HU_EUSAGE, NULL, HU_NO_OFFSET,
                "curves of memory_profiler are not compared; `holdup report FILE` tells the peak of each");
        return hu_command_fail(&err);
    }
    if (files[0].rows.n == 0 || !hu_str_equal(files[0].tool, files[1].tool)) {
        hu_fail(&err, HU_EUSAGE, NULL, HU_NO_OFFSET,
                "two files of benchmarks of one tool are compared; these are of %.*s and %.*s", HU_FMT(files[0].tool),
                HU_FMT(files[1].tool));
        return hu_command_fail(&err);
    }
    if (!(out = hu_output_open(shared->output, &err)))
        return hu_command_fail(&err);
    has_memory = shared->json ? hu_results_diff_json(&files[0], &files[1], arena, out)
                              : hu_results_diff_text(&files[0], &files[1], arena,
                                                     hu_terminal_width(STDOUT_FILENO, shared->output), out);
    if (!has_memory)
        hu_fail_memory(&err);
    if (hu_out_close(out, has_memory ? &err : NULL) < 0 || !has_memory)
        return hu_command_fail(&err);
    return HU_EXIT_OK;
}
