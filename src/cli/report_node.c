/* SPDX-License-Identifier: Apache-2.0
 * report_node.c - samples of a monitor are of GPUs and of no job: there is nothing to read but them. */
#include "cli/report_node.h"

#include <unistd.h>

#include "cli/command.h"
#include "cli/outputs.h"
#include "cli/terminal.h"
#include "gpu/xid.h"
#include "render/node.h"

const char *hu_report_xid_words(int64_t code)
{
    const hu_xid *xid = code > 0 ? hu_xid_find((unsigned long)code) : NULL;

    return xid ? xid->name : NULL;
}

static int write_answer(const hu_shared *shared, const hu_node_log *log, hu_arena *arena, hu_error *err)
{
    hu_node_answer       answer;
    const hu_node_report r = {.answer = &answer,
                              .xid_words = hu_report_xid_words,
                              .scratch = arena,
                              .top = (size_t)shared->top,
                              .width = hu_terminal_width(STDOUT_FILENO, shared->output)};
    hu_out              *out;

    if (!hu_node_measure(log, arena, &answer))
        return hu_fail_memory(err);
    out = hu_output_open(shared->output, err);
    if (!out)
        return err->code;
    if (shared->json)
        hu_node_json(&r, out);
    else
        hu_node_text(&r, out);
    return hu_out_close(out, err);
}

int hu_report_node(const hu_shared *shared, const hu_inputs *inputs, const char *other, hu_arena *arena)
{
    hu_node_log log = {0};
    hu_error    err = {0};
    int         rc = 0;

    if (other)
        rc = hu_fail(
            &err, HU_EUSAGE, NULL, HU_NO_OFFSET,
            "--%s is not for samples of a monitor alone, which have no timeline; they take --json, --output and --top",
            other);
    if (rc == 0)
        rc = hu_node_files_read(inputs, &shared->limits, arena, &log, &err);
    if (rc == 0)
        rc = write_answer(shared, &log, arena, &err);
    return rc < 0 ? hu_command_fail(&err) : HU_EXIT_OK;
}
