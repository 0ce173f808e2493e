/* SPDX-License-Identifier: Apache-2.0
 * say.c - what a command says on stderr, and what becomes of it when nobody reads its answer. */
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "base/units.h"
#include "cli/command.h"
#include "cli/terminal.h"

struct sigaction hu_command_sigpipe;

void hu_command_say(const char *format, ...)
{
    static const char     who[] = "holdup: ";
    const struct timespec now = {0};
    const size_t          width = hu_terminal_width_of_talk(STDERR_FILENO);
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
    hu_out_text(out, who);
    if (width)
        hu_units_wrap_whole(out, hu_str_of(text), strlen(who), strlen(who), width);
    else
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

void hu_command_end_with_reader(void)
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
