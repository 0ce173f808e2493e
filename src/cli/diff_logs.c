/* SPDX-License-Identifier: Apache-2.0
 * diff_logs.c - by what each file holds; two of one kind are compared. */
#include "cli/diff_logs.h"

#include <unistd.h>

#include "cli/command.h"
#include "cli/diff_node.h"
#include "cli/outputs.h"
#include "cli/terminal.h"
#include "ingest/step_log.h"
#include "job/sorted.h"
#include "render/log_difference.h"

static const char *const kinds[HU_INPUT_KINDS] = {
    [HU_INPUT_RANK] = "a trace",
    [HU_INPUT_COUNTERS] = "a report of Nsight Compute",
    [HU_INPUT_DUMP] = "a Flight Recorder dump",
    [HU_INPUT_RAS] = "an answer of NCCL's RAS",
    [HU_INPUT_LOG] = "a log",
    [HU_INPUT_SUMS] = "sums of nsys stats",
    [HU_INPUT_PROFILE] = "a profile of stacks",
    [HU_INPUT_NODE] = "samples of a monitor",
    [HU_INPUT_EXECUTION] = "an execution trace, which has no times",
};

static int write_answer(const hu_shared *shared, const hu_log_difference *x, const hu_str *names, hu_error *err)
{
    hu_out *out = hu_output_open(shared->output, err);

    if (!out)
        return err->code;
    if (shared->json)
        hu_log_difference_json(x, names, out);
    else
        hu_log_difference_text(x, names, hu_terminal_width(STDOUT_FILENO, shared->output), out);
    return hu_out_close(out, err);
}

static int compare(const hu_shared *shared, char **paths, hu_arena *arena, hu_error *err)
{
    hu_step_log          log[2];
    hu_log_answer        answer[2];
    hu_log_difference    x;
    const hu_step_log   *logs[2] = {&log[0], &log[1]};
    const hu_log_answer *answers[2] = {&answer[0], &answer[1]};
    const hu_str         names[2] = {hu_str_of(paths[0]), hu_str_of(paths[1])};

    for (int k = 0; k < 2; k++) {
        log[k] = (hu_step_log){.writer = HU_STR("")};
        if (hu_step_log_read_path(paths[k], NULL, &shared->limits, arena, &log[k], err) < 0)
            return err->code;
        if (!hu_step_log_measure(&log[k], arena, &answer[k]))
            return hu_fail_memory(err);
    }
    if (!hu_log_difference_measure(logs, answers, arena, &x))
        return hu_fail_memory(err);
    return write_answer(shared, &x, names, err);
}

int hu_diff_logs(const hu_shared *shared, char **paths, const hu_diff_run run[2], hu_arena *arena)
{
    hu_error err = {0};

    if (hu_is_node_run(&run[0].inputs) && hu_is_node_run(&run[1].inputs)) {
        hu_diff_node(shared, paths, run, arena, &err);
        return err.code < 0 ? hu_command_fail(&err) : 0;
    }
    if (run[0].kind == HU_INPUT_RANK && run[1].kind == HU_INPUT_RANK)
        return -1;
    if (run[0].kind != HU_INPUT_LOG || run[1].kind != HU_INPUT_LOG)
        hu_fail(&err, HU_EUSAGE, NULL, HU_NO_OFFSET,
                "A is %s and B is %s: two traces, two memory snapshots, two logs or two files of samples can be compared; "
                "`holdup report` explains each of these",
                kinds[run[0].kind], kinds[run[1].kind]);
    else
        compare(shared, paths, arena, &err);
    return err.code < 0 ? hu_command_fail(&err) : 0;
}
