/* SPDX-License-Identifier: Apache-2.0
 * cmd_session.c - `holdup start|stop|cancel|status`: runs of this user on this machine, seen and told from outside. */
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/number.h"
#include "cli/command.h"
#include "cli/tell.h"
#include "record/registry.h"
#include "record/tally.h"
#include "base/json_out.h"
#include "base/units.h"

typedef struct {
    hu_shared   shared;
    const char *session;
    bool        all;
} options;

static const hu_option rows[] = {
    {"session", 0, HU_OPTION_TEXT, "NAME", "select the run of this name (from --session-new or `holdup status`)",
     offsetof(options, session), .lost_letter = 's'},
    {"all", 'a', HU_OPTION_FLAG, NULL, "select all active runs", offsetof(options, all)},
};

static const hu_option status_rows[] = {
    {"session", 0, HU_OPTION_TEXT, "NAME", "show only the run of this name", offsetof(options, session), .lost_letter = 's'},
    {"all", 'a', HU_OPTION_FLAG, NULL, "show all runs that ended in the last day, not only the newest 8",
     offsetof(options, all)},
};

static const char *state_name(const hu_registry_entry *e)
{
    static const char *const names[] = {"new", "armed", "recording", "paused", "writing", "written", "failed"};

    if (e->is_foreign)
        return "foreign";
    if (e->control.state < HU_SESSION_WRITTEN && !e->is_alive)
        return "failed";
    return e->control.state < HU_COUNT(names) ? names[e->control.state] : "?";
}

static const char *failure(const hu_registry_entry *e)
{
    if (e->is_foreign)
        return "made by another version of holdup, which alone can start, stop and finish it";
    if (e->control.state < HU_SESSION_WRITTEN && !e->is_alive)
        return "its supervisor was killed; holdup finish writes what there is";
    return e->control.state == HU_SESSION_FAILED ? e->control.failure : "";
}

static int none_running(hu_error *err)
{
    return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "you have no active run on this machine; `holdup run` starts one");
}

/* What is meant is a run of another version: its own holdup must be asked. */
static int fail_foreign(const hu_registry_entry *e, hu_error *err)
{
    return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET,
                   "run \"%s\" is one of holdup %s (format %u), and this is holdup " HU_VERSION
                   " (format %d): use holdup %s for it",
                   e->name, e->control.made_by, e->control.version, HU_FORMAT_VERSION, e->control.made_by);
}

/* Those that are meant: the named one, all, or the only one.  Moved to the front; returns how many. */
static int choose(const options *o, hu_registry_entry *list, size_t n, hu_error *err)
{
    const hu_registry_entry *foreign = NULL;
    hu_registry_entry        last;
    int                      kept = 0;

    for (size_t i = 0; i < n; i++) {
        if (o->session && strcmp(o->session, list[i].name) != 0)
            continue;
        if (list[i].is_foreign) {
            last = list[i];
            foreign = &last;
        } else if (list[i].is_alive && list[i].path[0]) {
            list[kept++] = list[i];
        }
    }
    if (kept == 0 && foreign)
        return fail_foreign(foreign, err);
    if (kept == 0 && o->session)
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "no active run \"%.64s\"; `holdup status` lists the runs",
                       o->session);
    if (kept == 0)
        return none_running(err);
    if (kept > 1 && !o->all && !o->session)
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "%d runs are active: %s, %s%s; pass --session NAME or --all",
                       kept, list[0].name, list[1].name, kept > 2 ? " …" : "");
    return kept;
}

/* Its only word is the name of a run, as --session is. */
static int take_name(hu_cli_call *call, hu_error *err)
{
    options *o = call->options;

    (void)err;
    if (call->n && !o->session)
        o->session = call->argv[0];
    return 0;
}

static int tell_all(hu_cli_call *call, hu_told command)
{
    static const char *const done[] = {"", "is recording", "has stopped recording", "is cancelled: nothing will be written"};
    const options           *o = call->options;
    hu_error                 err = {0};
    hu_registry_entry       *list;
    size_t                   n;
    int                      rc = hu_registry_list(call->arena, &list, &n, &err), status = 0;

    if (rc >= 0)
        rc = choose(o, list, n, &err);
    if (rc < 0)
        return hu_command_fail(&err);
    for (int i = 0; i < rc; i++) {
        if (hu_tell_session(&list[i], command, &err) < 0)
            status = hu_command_fail(&err);
        else if (!o->shared.quiet)
            hu_command_say("%s %s", list[i].name, done[command]);
    }
    return status;
}

static int run_start(hu_cli_call *call)
{
    return tell_all(call, HU_TOLD_START);
}

static int run_stop(hu_cli_call *call)
{
    return tell_all(call, HU_TOLD_STOP);
}

static int run_cancel(hu_cli_call *call)
{
    return tell_all(call, HU_TOLD_CANCEL);
}

/* status */

static void text_row(hu_out *out, const hu_registry_entry *e, const hu_tally *t)
{
    char records[HU_UNIT_BYTES], bytes[HU_UNIT_BYTES];

    hu_units_count(records, (int64_t)t->records);
    hu_units_bytes(bytes, (double)t->bytes);
    hu_out_printf(out, "%-24s %-10s", e->name, state_name(e));
    if (e->is_foreign)
        hu_out_printf(out, " holdup %s, format %u", e->control.made_by, e->control.version);
    else if (e->path[0])
        hu_out_printf(out, " %u processes, %s records, %s, %" PRIu64 " lost", t->processes, records, bytes, t->lost_in_all);
    if (failure(e)[0]) {
        hu_out_text(out, "  ");
        hu_units_clip(out, hu_str_of(failure(e)), sizeof e->control.failure);
    }
    if (e->control.state == HU_SESSION_WRITTEN) {
        hu_out_text(out, " ");
        hu_units_clip(out, hu_str_of(e->control.output), sizeof e->control.output);
    }
    if (e->path[0] && !e->is_alive)
        hu_out_printf(out, "  %s", e->path);
    hu_out_text(out, "\n");
}

static void json_row(hu_json_out *j, const hu_registry_entry *e, const hu_tally *t)
{
    hu_json_open(j, NULL, '{');
    hu_json_str(j, "name", hu_str_of(e->name));
    hu_json_str(j, "state", hu_str_of(state_name(e)));
    hu_json_str(j, "failure", hu_str_of(failure(e)));
    hu_json_str(j, "session", hu_str_of(e->path));
    hu_json_str(j, "made_by", hu_str_of(e->control.made_by));
    hu_json_str(j, "output", hu_str_of(e->control.output));
    hu_json_int(j, "supervisor", e->control.supervisor);
    hu_json_int(j, "processes", t->processes);
    hu_json_int(j, "running", t->running);
    hu_json_int(j, "records", (int64_t)t->records);
    hu_json_int(j, "lost", (int64_t)t->lost_in_all);
    hu_json_int(j, "bytes", (int64_t)t->bytes);
    hu_json_int(j, "told", (int64_t)e->control.live_sent); /* datagrams for monitors */
    hu_json_int(j, "not_told", (int64_t)e->control.live_failed);
    hu_json_close(j, '}');
}

/* Of a day's runs that are over and written, only the newest are of interest. */
static bool is_old(const hu_registry_entry *list, size_t n, const hu_registry_entry *e)
{
    enum { NEWEST = 8 };
    size_t newer = 0;

    if (e->is_alive || e->path[0])
        return false;
    for (size_t i = 0; i < n; i++)
        newer += !list[i].is_alive && !list[i].path[0] && list[i].control.heartbeat > e->control.heartbeat;
    return newer >= NEWEST;
}

static int write_status(const options *o, const hu_registry_entry *list, size_t n, hu_error *err)
{
    hu_out     *out = hu_out_open_fd(STDOUT_FILENO);
    hu_json_out j = {.out = out, .is_empty = true};
    char        count[HU_UNIT_BYTES];
    size_t      n_old = 0;
    int         rc;

    if (!out)
        return hu_fail_memory(err);
    if (o->shared.json)
        hu_json_open(&j, NULL, '[');
    for (size_t i = 0; i < n; i++) {
        hu_tally t = {0};

        if (o->session && strcmp(o->session, list[i].name) != 0)
            continue;
        if (!o->session && !o->all && is_old(list, n, &list[i])) {
            n_old++;
            continue;
        }
        if (list[i].path[0] && !list[i].is_foreign)
            hu_tally_session(list[i].path, &t);
        if (o->shared.json)
            json_row(&j, &list[i], &t);
        else
            text_row(out, &list[i], &t);
    }
    if (o->shared.json)
        hu_json_close(&j, ']');
    rc = hu_out_close(out, err);
    if (n_old && !o->shared.json) {
        hu_units_count(count, (int64_t)n_old);
        hu_command_say("%s more run%s ended in the last day (--all shows them)", count, hu_plural((int64_t)n_old));
    }
    return rc;
}

static int run_status(hu_cli_call *call)
{
    const options     *o = call->options;
    hu_error           err = {0};
    hu_registry_entry *list = NULL;
    size_t             n = 0, named = 0;
    int                rc = hu_registry_list(call->arena, &list, &n, &err);

    for (size_t i = 0; rc >= 0 && i < n; i++)
        named += !o->session || strcmp(o->session, list[i].name) == 0;
    if (rc >= 0 && o->session && !named)
        rc = hu_fail(&err, HU_EUSAGE, NULL, HU_NO_OFFSET, "no run \"%.64s\"; `holdup status` lists the runs", o->session);
    if (rc >= 0 && n == 0 && !o->shared.json)
        hu_command_say("you have no active run on this machine");
    if (rc >= 0)
        rc = write_status(o, list, n, &err);
    return rc < 0 ? hu_command_fail(&err) : 0;
}

const hu_command hu_command_start = {
    .name = "start",
    .group = HU_GROUP_CONTROL,
    .summary = "start recording in a `holdup run` that waits or is paused",
    .usage = "[--session NAME|--all]",
    .about = "Starts recording in a run that was started with --start-later or paused with stop,\n"
             "without restarting the job.  Returns when the run records.",
    .examples = "  holdup run --start-later -- python train.py &\n"
                "  holdup start; sleep 10; holdup stop\n"
                "  srun --overlap --jobid 123 holdup start --all      on all nodes of a job",
    .most = 1,
    .shared = HU_SHARED_QUIET,
    .options = rows,
    .n_options = HU_COUNT(rows),
    .options_size = sizeof(options),
    .check = take_name,
    .run = run_start,
};

const hu_command hu_command_stop = {
    .name = "stop",
    .group = HU_GROUP_CONTROL,
    .summary = "pause a recording; the job keeps running",
    .usage = "[--session NAME|--all]",
    .about = "Pauses a recording: programs of the run record nothing until `holdup start`.  What\n"
             "they recorded before is written when the command ends.",
    .most = 1,
    .shared = HU_SHARED_QUIET,
    .options = rows,
    .n_options = HU_COUNT(rows),
    .options_size = sizeof(options),
    .check = take_name,
    .run = run_stop,
};

const hu_command hu_command_cancel = {
    .name = "cancel",
    .group = HU_GROUP_CONTROL,
    .summary = "stop a recording and discard it; the job keeps running",
    .usage = "[--session NAME|--all]",
    .about = "Stops a recording, and writes nothing when the command ends.",
    .most = 1,
    .shared = HU_SHARED_QUIET,
    .options = rows,
    .n_options = HU_COUNT(rows),
    .options_size = sizeof(options),
    .check = take_name,
    .run = run_cancel,
};

const hu_command hu_command_status = {
    .name = "status",
    .group = HU_GROUP_CONTROL,
    .summary = "list active and recent runs, and what they recorded",
    .usage = "[--session NAME] [--json]",
    .about = "Lists your runs on this machine, including those that ended in the last day: armed,\n"
             "recording, paused, writing, written (and where), or failed (and why).",
    .most = 1,
    .shared = HU_SHARED_JSON,
    .options = status_rows,
    .n_options = HU_COUNT(status_rows),
    .options_size = sizeof(options),
    .check = take_name,
    .run = run_status,
};
