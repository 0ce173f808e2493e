/* SPDX-License-Identifier: Apache-2.0
 * report_ras.c - answers of NCCL's RAS subsystem have no timeline: of several, the first and the last are compared. */
#include "cli/report_ras.h"

#include <unistd.h>

#include "cli/command.h"
#include "cli/outputs.h"
#include "cli/terminal.h"
#include "cli/unread.h"
#include "job/beside.h"
#include "render/ras.h"
#include "render/report.h"

static int write_answer(const hu_shared *shared, const hu_ras_answer *answer, size_t n, hu_arena *arena, hu_error *err)
{
    const hu_ras_report r = {.answer = answer,
                             .n_queries = n,
                             .scratch = arena,
                             .top = (size_t)shared->top,
                             .width = hu_terminal_width(STDOUT_FILENO, shared->output)};
    hu_out             *out = hu_output_open(shared->output, err);

    if (!out)
        return err->code;
    if (shared->json)
        hu_ras_json(&r, out);
    else
        hu_ras_text(&r, out);
    return hu_out_close(out, err);
}

int hu_report_ras(const hu_shared *shared, const hu_inputs *inputs, const char *other, hu_arena *arena)
{
    hu_ras_files  files = {0};
    hu_ras_answer answer;
    hu_error      err = {0};
    int           rc = 0;

    if (other)
        rc = hu_fail(&err, HU_EUSAGE, NULL, HU_NO_OFFSET,
                     "--%s is not for answers of RAS, which have no timeline; they take --json, --output and --top", other);
    if (rc == 0)
        rc = hu_ras_files_read(inputs, &shared->limits, arena, &files, NULL, &err);
    if (rc == 0) {
        hu_ras_measure(files.at, files.n, &answer);
        rc = write_answer(shared, &answer, files.n, arena, &err);
    }
    hu_ras_files_free(&files);
    return rc < 0 ? hu_command_fail(&err) : 0;
}

static int write_hang(const hu_shared *shared, const hu_beside *beside, const hu_unread_list *unread, hu_arena *arena,
                      hu_error *err)
{
    const hu_report r = {.beside = beside,
                         .scratch = arena,
                         .top = shared->top,
                         .color = hu_terminal_has_color(STDOUT_FILENO, shared->output, shared->color),
                         .width = hu_terminal_width(STDOUT_FILENO, shared->output)};
    hu_out         *out = hu_output_open(shared->output, err);
    int             rc = 0;

    if (!out)
        return err->code;
    if (shared->json)
        rc = hu_json_write_hang(&r, unread, out, err);
    else
        hu_text_write_hang(&r, out);
    if (rc < 0) {
        hu_out_abandon(out);
        return rc;
    }
    return hu_out_close(out, err);
}

int hu_report_hang(const hu_shared *shared, const hu_sorted_inputs *inputs, const char *other, hu_arena *arena)
{
    hu_unread_list unread = inputs->of[HU_INPUT_RANK].unread;
    hu_beside      beside = {0};
    hu_error       err = {0};
    int            rc = 0;

    if (other)
        rc = hu_fail(
            &err, HU_EUSAGE, NULL, HU_NO_OFFSET,
            "--%s is not for dumps and answers of RAS, which have no timeline; they take --json, --output and --top", other);
    if (rc == 0)
        rc = hu_beside_read(inputs, &shared->limits, arena, &beside, &unread, &err);
    if (rc == 0 && beside.dumps.n + beside.ras.n == 0)
        rc = hu_fail(&err, HU_EFORMAT, NULL, HU_NO_OFFSET, "none of these dumps and answers of RAS can be read");
    if (rc == 0) {
        hu_unread_warn(&unread, shared->quiet);
        rc = write_hang(shared, &beside, &unread, arena, &err);
    }
    hu_beside_free(&beside);
    if (rc < 0)
        return hu_command_fail(&err);
    return hu_strict_status(shared->strict, &unread, &(hu_unread_list){0}, 0);
}
