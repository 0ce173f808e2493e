/* SPDX-License-Identifier: Apache-2.0
 * cmd_print_env.c - `holdup print-env`: what a launcher must set that cannot be wrapped.
 *
 * It makes a session that no supervisor watches: rings stay as they are (so they hold at most --max-memory of each
 * process), and `holdup finish DIR` makes the files afterwards.
 */
#include <stdio.h>
#include <unistd.h>

#include "base/out.h"
#include "cli/arm.h"
#include "cli/command.h"
#include "cli/library.h"
#include "record/torch_hook.h"

enum { PATH_BYTES = 4096 };

extern char **environ;

/* export NAME='VALUE'; */
static void print_export(hu_out *out, const char *pair)
{
    const size_t n = strcspn(pair, "=");

    hu_out_printf(out, "export %.*s='", (int)n, pair);
    for (const char *at = pair + n + 1; *at; at++) {
        if (*at == '\'')
            hu_out_text(out, "'\\''");
        else
            hu_out_write(out, at, 1);
    }
    hu_out_text(out, "'\n");
}

static bool is_new(const char *pair)
{
    for (char **at = environ; *at; at++)
        if (strcmp(*at, pair) == 0)
            return false;
    return true;
}

static int print(char *const *environment, const char *session, hu_error *err)
{
    hu_out *out = hu_out_open_fd(STDOUT_FILENO);

    if (!out)
        return hu_fail_memory(err);
    hu_out_printf(out, "# afterwards: holdup finish %s\n", session);
    for (; *environment; environment++)
        if (is_new(*environment))
            print_export(out, *environment);
    return hu_out_close(out, err);
}

static int arm(const hu_run_options *o, hu_arena *arena)
{
    char            library[PATH_BYTES], python[PATH_BYTES];
    const bool      has_python = (o->doors & HU_DOOR_USER) && hu_library_python(python, sizeof python);
    hu_launch_plan  plan = {.library = library,
                            .python = has_python ? python : NULL,
                            .has_hook = o->doors & HU_DOOR_PYTORCH,
                            .assignments = o->assignments,
                            .n_assignments = o->n_assignments,
                            .wants_nvtx = o->doors & HU_DOOR_NVTX,
                            .wants_cuda = o->doors & HU_DOOR_CUDA,
                            .wants_nccl = o->doors & HU_DOOR_NCCL,
                            .wants_opencl = o->doors & HU_DOOR_OPENCL,
                            .wants_openmp = o->doors & HU_DOOR_OPENMP};
    hu_launch_notes notes = {0};
    hu_session      session;
    hu_facts        facts;
    hu_error        err = {0};
    char          **environment;
    int             rc;

    if (!hu_library_find(library, sizeof library)) {
        hu_command_say("libholdup-inject.so is neither next to this program nor in ../lib/holdup; nothing is recorded "
                       "without it: install it, or set HOLDUP_LIBRARY=/path");
        return HU_EXIT_RUN_FAILED;
    }
    if (hu_arm(o, NULL, &session, &facts, &err) < 0)
        return hu_command_fail(&err);
    plan.session = session.path;
    if (plan.has_hook && hu_torch_hook_write(session.path, &err) < 0) {
        hu_command_say("--pytorch: the hook cannot be written: %s: %s", err.file, err.text);
        err = (hu_error){0};
    }
    session.control->sample_hz = o->doors & HU_DOOR_CPU ? o->sample_hz : 0; /* timers inside of the programs */
    environment = hu_launch_environment(environ, &plan, arena, &notes);
    for (size_t i = 0; i < notes.n; i++)
        hu_command_say("%s", notes.at[i]);
    for (size_t i = 0; i < o->n_notes; i++)
        hu_command_say("%s", o->notes[i]);
    rc = environment ? print(environment, session.path, &err) : hu_fail_memory(&err);
    if (rc == 0 && !o->shared.quiet)
        hu_command_say("after the job, run: holdup finish %s", session.path);
    hu_session_close(&session);
    return rc < 0 ? hu_command_fail(&err) : 0;
}

static int run(hu_cli_call *call)
{
    return arm(call->options, call->arena);
}

static int check(hu_cli_call *call, hu_error *err)
{
    hu_run_options *o = call->options;

    if (hu_run_options_finish(o, &call->n, &call->argv, err) < 0)
        return err->code;
    if (call->n)
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "print-env takes no command; use `holdup run` to start one");
    if (o->duration_ns || o->delay_ns)
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "--delay and --duration need `holdup run`; use --start-later");
    return 0;
}

const hu_command hu_command_print_env = {
    .name = "print-env",
    .group = HU_GROUP_RECORD,
    .summary = "print variables that record a job whose launcher cannot be wrapped",
    .usage = "[options of run]",
    .about = "Makes a session and prints the variables with which any program records into it, for\n"
             "launchers that `holdup run` cannot wrap.  No process drains the rings, so each process\n"
             "keeps at most --max-memory (64M: 2 million records).  start, stop and status work;\n"
             "CPU samples come from timers.",
    .examples = "  eval \"$(holdup print-env -o run.pftrace --scratch /shared/run)\"\n"
                "  launcher train.py\n"
                "  holdup finish \"$HOLDUP_SESSION\"",
    .needs = HU_NEEDS_FRONT | HU_NEEDS_LONGER_LIFE,
    .shared = HU_RUN_SHARED,
    .closer = (const hu_option_help[]){HU_RUN_CLOSER},
    .options = hu_run_rows,
    .n_options = HU_RUN_ROWS,
    .options_size = sizeof(hu_run_options),
    .defaults = &hu_run_defaults,
    .excludes = (const hu_option_pair[]){{"start-later", "delay"}, {NULL, NULL}},
    .hidden = hu_run_hidden_rows,
    .check = check,
    .run = run,
};
