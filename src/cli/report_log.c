/* SPDX-License-Identifier: Apache-2.0
 * report_log.c - a log has times of steps and no timeline, so there is no job to read. */
#include "cli/report_log.h"

#include <unistd.h>

#include "cli/command.h"
#include "cli/outputs.h"
#include "cli/terminal.h"
#include "ingest/step_log.h"
#include "render/step_log.h"

int hu_log_pattern_compile(const char *pattern, regex_t *out, hu_error *err)
{
    char      why[128];
    const int code = regcomp(out, pattern, REG_EXTENDED);

    if (code != 0) {
        regerror(code, out, why, sizeof why);
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "--pattern: %s", why);
    }
    if (out->re_nsub >= 2)
        return 0;
    regfree(out);
    return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET,
                   "--pattern needs two groups, of the step's number and its time: 'step ([0-9]+) took ([0-9.]+) (ms)'");
}

static int write_answer(const hu_shared *shared, const hu_step_log *log, hu_arena *arena, hu_error *err)
{
    hu_log_answer       answer;
    const hu_log_report r = {.log = log,
                             .answer = &answer,
                             .scratch = arena,
                             .top = (size_t)shared->top,
                             .width = hu_terminal_width(STDOUT_FILENO, shared->output)};
    hu_out             *out;

    if (!hu_step_log_measure(log, arena, &answer))
        return hu_fail_memory(err);
    out = hu_output_open(shared->output, err);
    if (!out)
        return err->code;
    if (shared->json)
        hu_log_json(&r, out);
    else
        hu_log_text(&r, out);
    return hu_out_close(out, err);
}

int hu_report_log(const hu_shared *shared, const hu_inputs *inputs, const hu_log_how *how, const char *other,
                  hu_arena *arena)
{
    hu_step_log log = {.writer = HU_STR("")};
    hu_error    err = {0};
    int         rc = 0;

    if (other)
        rc = hu_fail(
            &err, HU_EUSAGE, NULL, HU_NO_OFFSET,
            "--%s is not for logs, which have no timeline; they take --pattern, --time-unit, --json, --output and --top",
            other);
    for (size_t i = 0; rc == 0 && i < inputs->n; i++)
        rc = hu_step_log_read_path(inputs->at[i], how, &shared->limits, arena, &log, &err);
    if (rc == 0 && how->pattern && log.steps.n == 0)
        rc = hu_fail(&err, HU_EFORMAT, inputs->at[0], HU_NO_OFFSET,
                     "no line fits --pattern; its groups are the step's number, its time and, if you like, s, ms or us");
    if (rc == 0)
        rc = write_answer(shared, &log, arena, &err);
    return rc < 0 ? hu_command_fail(&err) : HU_EXIT_OK;
}
