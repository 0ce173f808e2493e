/* SPDX-License-Identifier: Apache-2.0
 * report_profile.c - sums of stacks have no timeline, so there is no job to read: their functions are listed. */
#include "cli/report_profile.h"

#include <unistd.h>

#include "cli/command.h"
#include "cli/terminal.h"
#include "cli/unread.h"
#include "ingest/profile.h"
#include "render/profile.h"

/* One that is damaged leaves the others; alone, it is the error.  Returns 0 or an error. */
static int read_files(const hu_inputs *inputs, const hu_limits *limits, hu_arena *arena, hu_profile_report *r,
                      hu_profile_file *files, hu_unread_list *unread, hu_error *err)
{
    for (size_t i = 0; i < inputs->n; i++) {
        hu_error why = {0};

        files[r->n].path = inputs->at[i];
        if (hu_profile_read_path(inputs->at[i], limits, arena, &files[r->n].sums, &why) == 0) {
            r->n++;
        } else if (why.code == HU_ENOMEM || inputs->n == 1) {
            *err = why;
            return why.code;
        } else if (hu_unread_add_error(unread, arena, inputs->at[i], &why, err) < 0) {
            return err->code;
        }
    }
    if (r->n == 0)
        return hu_fail(err, HU_EFORMAT, NULL, HU_NO_OFFSET, "none of the %zu profiles can be read", inputs->n);
    return 0;
}

int hu_report_profile(const hu_shared *shared, const hu_inputs *inputs, const char *other, hu_arena *arena)
{
    hu_profile_file  *files = hu_arena_calloc(arena, inputs->n, sizeof *files);
    hu_unread_list    unread = inputs->unread;
    hu_profile_report r = {.files = files, .unread = &unread, .left = &inputs->left, .top = (size_t)shared->top};
    hu_error          err = {0};
    hu_out           *out;
    bool              is_cut = false;
    int               rc = files ? 0 : hu_fail_memory(&err);

    if (other)
        rc = hu_fail(&err, HU_EUSAGE, NULL, HU_NO_OFFSET,
                     "--%s is not for profiles of stacks, which have no timeline; they take --json, --output and --top",
                     other);
    if (rc == 0)
        rc = read_files(inputs, &shared->limits, arena, &r, files, &unread, &err);
    hu_unread_warn(&unread, shared->quiet);
    if (rc < 0)
        return hu_command_fail(&err);
    for (size_t i = 0; i < r.n; i++)
        is_cut |= files[i].sums.n_malformed > 0;
    out = shared->output ? hu_out_open_file(shared->output, &err) : hu_out_open_fd(STDOUT_FILENO);
    if (!out && !shared->output)
        hu_fail_memory(&err);
    if (!out)
        return hu_command_fail(&err);
    r.width = hu_terminal_width(STDOUT_FILENO, shared->output);
    if (shared->json)
        hu_profile_json(&r, arena, out);
    else
        hu_profile_text(&r, arena, out);
    if (hu_out_close(out, &err) < 0)
        return hu_command_fail(&err);
    return shared->strict && (is_cut || unread.n) ? HU_EXIT_PARTIAL : HU_EXIT_OK;
}
