/* SPDX-License-Identifier: Apache-2.0
 * main.c - finds the command's row and runs it. */
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/command.h"
#include "base/units.h"

struct sigaction hu_command_sigpipe;

void hu_command_say(const char *format, ...)
{
    const struct timespec now = {0};
    char                  text[2048];
    va_list               args;
    sigset_t              pipe, before;
    hu_out               *out = hu_out_open_fd(STDERR_FILENO);

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (!out)
        return;
    /* talk that nobody hears ends nothing: the answer may go into a file */
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, &before);
    hu_out_text(out, "holdup: ");
    hu_units_clip(out, hu_str_of(text), sizeof text);
    hu_out_text(out, "\n");
    hu_out_close(out, NULL);
    while (!sigismember(&before, SIGPIPE) && sigtimedwait(&pipe, NULL, &now) < 0 && errno == EINTR)
        ;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

int hu_command_fail(const hu_error *err)
{
    char at[48] = "";

    fflush(stdout);
    if (err->file[0] && err->offset > 0)
        snprintf(at, sizeof at, ": at byte %lld", (long long)err->offset);
    hu_command_say("%s%s%s%s", err->file, at, err->file[0] ? ": " : "", err->text);
    return hu_error_exit_status(err->code);
}

static const hu_command *find(const char *name)
{
    for (size_t i = 0; hu_commands[i]; i++)
        if (strcmp(hu_commands[i]->name, name) == 0)
            return hu_commands[i];
    return NULL;
}

static int fail_unknown(const char *name)
{
    const char *names[32], *near;
    size_t      n = 0;
    hu_error    err;
    struct stat st;

    for (; hu_commands[n] && n + 1 < HU_COUNT(names); n++)
        names[n] = hu_commands[n]->name;
    names[n++] = "help";
    near = hu_options_suggest(name, names, n);
    if (stat(name, &st) == 0) /* most who type a file first want to know what is in it */
        hu_fail(&err, HU_EUSAGE, NULL, HU_NO_OFFSET, "no command \"%.200s\"; did you mean `holdup report %.200s`", name,
                name);
    else if (near)
        hu_fail(&err, HU_EUSAGE, NULL, HU_NO_OFFSET, "no command \"%.64s\"; did you mean `holdup %s`", name, near);
    else
        hu_fail(&err, HU_EUSAGE, NULL, HU_NO_OFFSET, "no command \"%.64s\"; `holdup help` lists them", name);
    return hu_command_fail(&err);
}

/* Help on a full disk is no success either. */
static int written(void)
{
    return fflush(stdout) == 0 && !ferror(stdout) ? HU_EXIT_OK : HU_EXIT_UNREADABLE;
}

static int help(const char *name)
{
    const hu_command *c = name ? find(name) : NULL;

    if (name && !c)
        return fail_unknown(name);
    if (c)
        hu_help_command(c);
    else
        hu_help_all();
    return written();
}

static bool asks_for_help(const hu_command *c, int argc, char **argv)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0 && !(c->starts_another && argv[i][0] != '-'); i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    return false;
}

/* As git does: who prints ends with its reader, whatever a parent said of the signal. */
static void end_with_reader(void)
{
    const struct sigaction ends = {.sa_handler = SIG_DFL};
    sigset_t               set;

    sigaction(SIGPIPE, &ends, &hu_command_sigpipe);
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
}

void hu_command_outlive_reader(void)
{
    const struct sigaction ignored = {.sa_handler = SIG_IGN};

    sigaction(SIGPIPE, &ignored, NULL);
}

int main(int argc, char **argv)
{
    const hu_command *c;

    end_with_reader();
    if (argc < 2) {
        hu_help_all();
        return HU_EXIT_USAGE;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("holdup %s\n", HU_VERSION);
        return written();
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0)
        return help(argc > 2 ? argv[2] : NULL);
    c = find(argv[1]);
    if (!c)
        return fail_unknown(argv[1]);
    if (asks_for_help(c, argc - 2, argv + 2))
        return help(c->name);
    if (c->outlives_reader)
        hu_command_outlive_reader();
    return c->run(argc - 2, argv + 2);
}
