/* SPDX-License-Identifier: Apache-2.0
 * report_profile.c - sums of stacks have no timeline, so there is no job to read: their functions are listed. */
#include "cli/report_profile.h"

#include <unistd.h>

#include "cli/command.h"
#include "cli/terminal.h"
#include "ingest/profile.h"
#include "render/profile.h"

int hu_report_profile(const hu_shared *shared, const hu_inputs *inputs, const char *other, hu_arena *arena)
{
    hu_profile_file *files = hu_arena_calloc(arena, inputs->n, sizeof *files);
    hu_error         err = {0};
    hu_out          *out;
    bool             is_cut = false;
    int              rc = files ? 0 : hu_fail_memory(&err);

    if (other)
        rc = hu_fail(&err, HU_EUSAGE, NULL, HU_NO_OFFSET,
                     "--%s is not for profiles of stacks, which have no timeline; they take --json, --output and --top",
                     other);
    for (size_t i = 0; rc == 0 && i < inputs->n; i++) {
        files[i].path = inputs->at[i];
        rc = hu_profile_read_path(inputs->at[i], &shared->limits, arena, &files[i].sums, &err);
        is_cut |= files[i].sums.n_malformed > 0;
    }
    if (rc < 0)
        return hu_command_fail(&err);
    out = shared->output ? hu_out_open_file(shared->output, &err) : hu_out_open_fd(STDOUT_FILENO);
    if (!out && !shared->output)
        hu_fail_memory(&err);
    if (!out)
        return hu_command_fail(&err);
    if (shared->json)
        hu_profile_json(files, inputs->n, arena, out);
    else
        hu_profile_text(files, inputs->n, (size_t)shared->top, hu_terminal_width(STDOUT_FILENO, shared->output), arena, out);
    if (hu_out_close(out, &err) < 0)
        return hu_command_fail(&err);
    return shared->strict && is_cut ? HU_EXIT_PARTIAL : HU_EXIT_OK;
}
