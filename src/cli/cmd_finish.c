/* SPDX-License-Identifier: Apache-2.0
 * cmd_finish.c - `holdup finish`: traces of a recording that nobody finished, because all died. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/command.h"
#include "record/naming.h"
#include "record/registry.h"
#include "base/units.h"

extern char **environ;

typedef struct {
    hu_shared shared;
    bool      keep, force;
} options;

static const hu_option rows[] = {
    {"keep", 'k', HU_OPTION_FLAG, NULL, "keep the session (default: remove it once its traces are written)",
     offsetof(options, keep)},
    {"force", 'f', HU_OPTION_FLAG, NULL, "finish a session that is still being recorded, and replace existing files",
     offsetof(options, force)},
};

/* is somebody at it? */

static bool read_control(const char *session, hu_control *out)
{
    char          path[PATH_MAX];
    const int     fd = snprintf(path, sizeof path, "%s/control", session) < (int)sizeof path
                           ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW)
                           : -1;
    const ssize_t n = fd < 0 ? -1 : pread(fd, out, sizeof *out, 0);

    if (fd >= 0)
        close(fd);
    return n == (ssize_t)sizeof *out && out->magic == HU_CONTROL_MAGIC;
}

static bool is_holdup(uint32_t pid)
{
    char    path[48], name[32] = "";
    int     fd;
    ssize_t n;

    snprintf(path, sizeof path, "/proc/%u/comm", pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    n = read(fd, name, sizeof name - 1);
    close(fd);
    return n > 0 && strncmp(name, "holdup", 6) == 0 && pid != (uint32_t)getpid();
}

/* What another version wrote is not guessed at; no page, or a damaged one: there may be rings all the same. */
static int check_version(const char *session, hu_error *err)
{
    hu_control control = {0};

    if (!read_control(session, &control) || control.version == HU_FORMAT_VERSION)
        return 0;
    return hu_session_judge(&control, session, err);
}

/* Another user's session would choose which file is written with our rights, and where. */
static int check_owner(const options *o, const char *session, hu_error *err)
{
    struct stat st;

    if (o->shared.output || stat(session, &st) < 0 || st.st_uid == geteuid())
        return 0;
    return hu_fail(err, HU_EUSAGE, session, HU_NO_OFFSET,
                   "belongs to user %u, whose word on where to write is not taken; choose the file with -o",
                   (unsigned)st.st_uid);
}

/* Its heart beats some fifty times a second, also where it has a process number of another container. */
static bool is_recording(const char *session, hu_control *control)
{
    enum { LOOKS = 6, PAUSE_NS = 50000000 };

    hu_control first;

    if (!read_control(session, &first))
        return false;
    *control = first;
    if (first.state == HU_SESSION_WRITTEN || first.state == HU_SESSION_FAILED)
        return false;
    for (int i = 0; i < LOOKS; i++) {
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
        if (read_control(session, control) && control->heartbeat != first.heartbeat)
            return true;
    }
    return is_holdup(first.supervisor);
}

/* one session */

static void say_result(const options *o, const char *session, const hu_pftrace_result *r)
{
    char bytes[HU_UNIT_BYTES], count[HU_UNIT_BYTES];

    for (size_t i = 0; i < r->files.n && !o->shared.quiet; i++) {
        hu_units_bytes(bytes, (double)r->files.at[i].bytes);
        hu_units_short_count(count, (double)r->files.at[i].events);
        hu_command_say("wrote %s (%s, %s events)", r->files.at[i].path.p, bytes, count);
    }
    if (r->lost)
        hu_command_say("%llu records were lost while recording: there was no space for them", (unsigned long long)r->lost);
    if (r->torn)
        hu_command_say("torn records: %llu; their process died while writing them", (unsigned long long)r->torn);
    if (r->gaps + r->odd + r->cut_bytes)
        hu_command_say("damaged: %llu records missing, %llu invalid, %llu bytes cut off", (unsigned long long)r->gaps,
                       (unsigned long long)r->odd, (unsigned long long)r->cut_bytes);
    if (r->unfinished && !o->shared.quiet)
        hu_command_say("open ranges and calls: %llu; they end with their process", (unsigned long long)r->unfinished);
    if (r->unreadable)
        hu_command_say("not ring files: %zu; the first: %s", r->unreadable, r->first_unreadable);
    if (r->alive)
        hu_command_say(
            "processes of %s still running: %zu; what they record from now on is not in the trace; the session is kept",
            session, r->alive);
}

/* The arguments of the run as one line; they hold no secrets.  NULL: not known. */
static const char *command_line(const hu_facts *facts, hu_arena *arena)
{
    char *text = hu_arena_calloc(arena, 1, sizeof facts->command + 1);

    if (!text || facts->command_bytes == 0)
        return NULL;
    memcpy(text, facts->command, facts->command_bytes);
    for (uint32_t i = 0; i + 1 < facts->command_bytes; i++)
        text[i] = text[i] ? text[i] : ' ';
    return text;
}

typedef struct {
    hu_naming   naming;
    const char *session;
} outside;

/* A file's name.  All that is in the session goes with it, so the file must not be there. */
static int name_outside(void *context, const hu_pftrace_file *file, char *out, size_t room, hu_error *err)
{
    outside *o = context;
    char     session[PATH_MAX], folder[PATH_MAX], path[PATH_MAX];
    size_t   n;

    if (hu_naming_file(&o->naming, file, out, room, err) < 0)
        return err->code;
    snprintf(path, sizeof path, "%s%s", out[0] == '/' ? "" : "./", out);
    *strrchr(path, '/') = '\0';
    if (!realpath(o->session, session) || !realpath(path[0] ? path : "/", folder))
        return 0; /* writing will say what is wrong */
    n = strlen(session);
    if (strncmp(folder, session, n) != 0 || (folder[n] != '\0' && folder[n] != '/'))
        return 0;
    if (folder[n])
        rmdir(folder); /* just made */
    return hu_fail(err, HU_EUSAGE, out, HU_NO_OFFSET,
                   "is in the session, which is removed when its traces are written; choose another directory with -o");
}

static int finish(const options *o, const char *session, hu_arena *arena, hu_error *err)
{
    hu_facts *facts = hu_arena_calloc(arena, 1, sizeof *facts);
    outside   names = {
          .naming = {.facts = facts, .output = o->shared.output, .environment = environ, .forces = o->force, .arena = arena},
          .session = session};
    hu_pftrace_options how = {.session = session, .name = name_outside, .context = &names};
    hu_pftrace_result  done;
    hu_control         control = {0};
    int                rc;

    if (!facts)
        return hu_fail_memory(err);
    if (check_version(session, err) < 0 || check_owner(o, session, err) < 0)
        return err->code;
    if (is_recording(session, &control) && !o->force)
        return hu_fail(err, HU_EUSAGE, session, HU_NO_OFFSET,
                       "is being recorded by process %u, which will finish it; end that process first, or pass --force",
                       control.supervisor);
    if (hu_facts_read(session, facts, NULL) < 0)
        *facts = (hu_facts){.status = -1};
    how.host = facts->host[0] ? facts->host : NULL;
    how.command = command_line(facts, arena);
    how.status = facts->status;
    rc = hu_pftrace_write(&how, arena, &done, err);
    say_result(o, session, &done);
    if (rc < 0 || o->keep || done.alive || done.unreadable || control.magic != HU_CONTROL_MAGIC)
        return rc;
    hu_naming_remove_partials(&names.naming);
    control.state = HU_SESSION_WRITTEN;
    control.name[sizeof control.name - 1] = '\0';
    if (control.name[0])
        hu_registry_end(control.name, session, &control);
    return hu_session_remove(session, err);
}

static int run(hu_cli_call *call)
{
    int status = 0;

    for (int i = 0; i < call->n; i++) {
        hu_error err = {0};

        if (finish(call->options, call->argv[i], call->arena, &err) < 0) {
            const int failed = hu_command_fail(&err);

            status = status ? status : failed;
        }
    }
    return status;
}

const hu_command hu_command_finish = {
    .name = "finish",
    .group = HU_GROUP_RECORD,
    .summary = "write the traces of a recording whose job and recorder were killed",
    .usage = "[options] SESSION ...",
    .about = "Writes the traces of a session, the directory that `holdup run` records into.  When a\n"
             "job dies, and its recorder with it, everything recorded until then is in the\n"
             "session; `holdup status` shows its path.  The session is removed once its traces are\n"
             "written; on any failure it is kept as it is.",
    .examples = "  holdup finish /tmp/holdup-1000-4711\n"
                "  holdup finish /scratch/job/node*/session -o run/     several nodes of one job\n"
                "  holdup report run/",
    .wants = "a session directory",
    .example = "holdup finish DIRECTORY",
    .least = 1,
    .words = HU_WORDS_PATHS,
    .needs = HU_NEEDS_LONGER_LIFE,
    .shared = HU_SHARED_OUTPUT | HU_SHARED_QUIET,
    .closer = (const hu_option_help[]){{"output", "write to FILE, as `holdup run -o` does (default: where that run would"
                                                  " have written)"},
                                       {NULL, NULL}},
    .options = rows,
    .n_options = HU_COUNT(rows),
    .options_size = sizeof(options),
    .run = run,
};
