/* SPDX-License-Identifier: Apache-2.0
 * report_flight.c - dumps have no timeline, so there is no job to read: they are compared as they are. */
#include "cli/report_flight.h"

#include <unistd.h>

#include "cli/command.h"
#include "cli/outputs.h"
#include "cli/terminal.h"
#include "cli/unread.h"
#include "job/beside.h"
#include "render/flight.h"

static int write_answer(const hu_shared *shared, const hu_dumps *d, const hu_flight_answer *answer, hu_arena *arena,
                        hu_error *err)
{
    const hu_flight_report r = {.answer = answer,
                                .dumps = d->at,
                                .n_dumps = d->n,
                                .unread = &d->unread,
                                .scratch = arena,
                                .top = (size_t)shared->top,
                                .width = hu_terminal_width(STDOUT_FILENO, shared->output)};
    hu_out                *out = hu_output_open(shared->output, err);

    if (!out)
        return err->code;
    if (shared->json)
        hu_flight_json(&r, out);
    else
        hu_flight_text(&r, out);
    return hu_out_close(out, err);
}

int hu_report_flight(const hu_shared *shared, const hu_inputs *inputs, const char *other, hu_arena *arena)
{
    hu_dumps         d = {0};
    hu_flight_answer answer;
    hu_error         err = {0};
    int              rc = 0;

    if (other)
        rc = hu_fail(&err, HU_EUSAGE, NULL, HU_NO_OFFSET,
                     "--%s is not for Flight Recorder dumps, which have no timeline; they take --json, --output and --top",
                     other);
    if (rc == 0)
        rc = hu_dumps_read(inputs, &shared->limits, arena, &d, &err);
    if (rc == 0)
        rc = hu_flight_measure(d.at, d.n, arena, &answer, &err);
    if (rc == 0)
        hu_unread_warn(&d.unread, shared->quiet);
    if (rc == 0)
        rc = write_answer(shared, &d, &answer, arena, &err);
    hu_dumps_free(&d);
    if (rc < 0)
        return hu_command_fail(&err);
    return hu_strict_status(shared->strict, &d.unread, &(hu_unread_list){0}, 0);
}
