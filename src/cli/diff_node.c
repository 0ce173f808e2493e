/* SPDX-License-Identifier: Apache-2.0
 * diff_node.c - each run is read and measured as `holdup report` does. */
#include "cli/diff_node.h"

#include <unistd.h>

#include "cli/outputs.h"
#include "cli/report_node.h"
#include "cli/terminal.h"
#include "render/node_difference.h"

bool hu_is_node_run(const hu_inputs *run)
{
    hu_error          unused;
    const hu_glance **seen = run->n ? hu_glances_each(run->glances, run->at, run->n, &unused) : NULL;

    if (!seen)
        return false;
    for (size_t i = 0; i < run->n; i++)
        if (seen[i]->kind != HU_INPUT_NODE)
            return false;
    return true;
}

static int write_answer(const hu_shared *shared, const hu_node_difference *x, const hu_node_report run[2],
                        const hu_str *names, hu_error *err)
{
    hu_out *out = hu_output_open(shared->output, err);

    if (!out)
        return err->code;
    if (shared->json)
        hu_node_difference_json(x, run, names, out);
    else
        hu_node_difference_text(x, run, names, out);
    return hu_out_close(out, err);
}

int hu_diff_node(const hu_shared *shared, char **paths, const hu_diff_run of[2], hu_arena *arena, hu_error *err)
{
    hu_node_log        log[2];
    hu_node_answer     answer[2];
    hu_node_report     run[2];
    hu_node_difference x;
    const hu_str       names[2] = {hu_str_of(paths[0]), hu_str_of(paths[1])};

    for (int k = 0; k < 2; k++) {
        if (hu_node_files_read(&of[k].inputs, &shared->limits, arena, &log[k], err) < 0)
            return err->code;
        if (!hu_node_measure(&log[k], arena, &answer[k]))
            return hu_fail_memory(err);
        if (answer[k].n == 0)
            return hu_fail(err, HU_EUSAGE, paths[k], HU_NO_OFFSET,
                           "holds no sample of a GPU that could be compared; `holdup report FILE` tells what it says");
        run[k] = (hu_node_report){.answer = &answer[k],
                                  .xid_words = hu_report_xid_words,
                                  .scratch = arena,
                                  .width = hu_terminal_width(STDOUT_FILENO, shared->output)};
    }
    if (!hu_node_difference_measure(&answer[0], &answer[1], arena, &x))
        return hu_fail_memory(err);
    return write_answer(shared, &x, run, names, err);
}
