/* SPDX-License-Identifier: Apache-2.0
 * reading.c - a bar while it lasts, then what could not be read. */
#include "cli/reading.h"

#include "cli/command.h"
#include "cli/progress.h"
#include "cli/unread.h"

/* The only input is what the command was asked for: why it cannot be read is said even where warnings are not. */
static int fail_unread(const hu_inputs *inputs, const hu_error *first, bool quiet)
{
    return quiet && inputs->n == 1 ? hu_command_fail(first) : hu_error_exit_status(first->code);
}

int hu_read_job(const hu_inputs *inputs, hu_job_options how, bool quiet, hu_arena *arena, hu_job *out)
{
    hu_progress      progress = {.total_bytes = inputs->bytes};
    hu_progress_bar *bar = hu_progress_start(&progress, quiet || !hu_crew_is_first(how.crew));
    hu_error         err = {0};
    int              rc;

    how.progress = &progress;
    rc = hu_job_read(inputs, &how, arena, out, &err);
    hu_progress_stop(bar);
    hu_unread_warn(&out->unread, quiet);
    if (rc < 0)
        return hu_command_fail(&err);
    if (rc == HU_JOB_SENT)
        return HU_READ_SENT;
    return out->n ? 0 : fail_unread(inputs, &out->ranks[0].error, quiet);
}

int hu_read_traces(const hu_inputs *inputs, hu_limits limits, bool quiet, hu_arena *arena, hu_traces *out)
{
    hu_progress      progress = {.total_bytes = inputs->bytes};
    hu_progress_bar *bar = hu_progress_start(&progress, quiet);
    hu_error         err = {0};
    const int        rc = hu_traces_read(inputs, limits, &progress, arena, out, &err);

    hu_progress_stop(bar);
    hu_unread_warn(&out->unread, false);
    hu_unread_warn(&out->partial, false);
    if (rc == 0)
        return 0;
    return out->unread.n && rc != HU_ENOMEM ? hu_error_exit_status(rc) : hu_command_fail(&err);
}

int hu_read_together(const hu_inputs *inputs, hu_together_options how, bool quiet, hu_arena *arena, hu_together *out)
{
    hu_progress      progress = {.total_bytes = inputs->bytes};
    hu_progress_bar *bar = hu_progress_start(&progress, quiet);
    hu_error         err = {0};
    int              rc;

    how.progress = &progress;
    rc = hu_together_read(inputs, &how, arena, out, &err);
    hu_progress_stop(bar);
    hu_unread_warn(&out->job.unread, quiet);
    if (rc < 0 && rc != HU_ENOMEM && out->job.unread.n && out->job.n == 0)
        return fail_unread(inputs, &err, quiet);
    return rc < 0 ? hu_command_fail(&err) : 0;
}
